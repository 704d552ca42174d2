/* projection.h - reads an object's JSON once into the little that a cache keeps of it.
 *
 * Knows the outline that all objects share: metadata, spec, status, in any order. What stands in
 * spec and status is the caller's business, field by field; what it does not read is skipped, and
 * validated all the same.
 * Errors: those of meta.h and of the callbacks, with the path before them.
 */
#ifndef BULKHEAD_API_PROJECTION_H
#define BULKHEAD_API_PROJECTION_H

#include "api/meta.h"
#include "base/err.h"
#include "base/jsonpull.h"

#include <stddef.h>

/* Told of each field of spec or status: reads its value, or leaves it. Negative ends the reading.
 */
typedef int (*projection_field)(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                                struct err *err);

struct projection {
    struct meta_wanted wanted;
    projection_field read_spec;
    projection_field read_status;
    void *arg; /* of these two */
};

/* Reads one whole document. On failure *ret_meta is untouched; callbacks may have been called. */
int projection_read(const struct projection *projection, const char *bytes, size_t size_bytes,
                    struct meta *ret_meta, struct err *err);

#endif
