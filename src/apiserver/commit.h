/* commit.h - the last steps of every write: system metadata, admission, ownership, storing.
 *
 * All take the object over, answer the call on success, and fill its refusal otherwise.
 */
#ifndef BULKHEAD_APISERVER_COMMIT_H
#define BULKHEAD_APISERVER_COMMIT_H

#include "apiserver/server.h"

#include <jansson.h>
#include <stdbool.h>

/* Stores a new object and answers 201. applied: managedFields are made already. */
int commit_create(struct call *call, json_t *object, bool applied);

/* Stores a new state of live, of which subresource ("", "status", "scale") may change only its
 * part. ret_object (may be NULL: the call is answered with the object) gets the outcome as a new
 * reference in the kind's version. */
int commit_update(struct call *call, struct object *live, json_t *updated, const char *subresource,
                  bool applied, json_t **ret_object);

#endif
