/* admit.h - what an object must be before it is stored: named, complete, valid.
 *
 * Errors: ERR_INVALID with the call's refusal filled.
 */
#ifndef BULKHEAD_APISERVER_ADMIT_H
#define BULKHEAD_APISERVER_ADMIT_H

#include "apiserver/server.h"

#include <jansson.h>

/* Checks that a body is of the call's kind and fills in apiVersion, kind and metadata. */
int admit_type(struct call *call, json_t *object);

/* Checks the name and the namespace of a new object, and makes a name from generateName. */
int admit_name(struct call *call, json_t *object);

/* Drops or refuses unknown fields, fills in defaults and validates, in place. old is NULL for a
 * new object. */
int admit_object(struct call *call, json_t *object, const json_t *old);

#endif
