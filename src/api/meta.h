/* meta.h - an object's metadata, read in one pass, for the cache and for our own kinds.
 *
 * Keeps what a cache needs of it and offers the labels, annotations and field managers that the
 * caller names; everything else, what managedFields says of fields above all, is skipped and never
 * copied.
 * Ownership: struct meta holds its texts itself. What a sink is given is borrowed for the call.
 * Units:     unix milliseconds.
 * Errors:    ERR_INVALID for broken JSON, a field of another type, a missing name, and a text that
 *            does not fit. Outputs are then untouched; a sink may have been called.
 */
#ifndef BULKHEAD_API_META_H
#define BULKHEAD_API_META_H

#include "base/err.h"
#include "base/jsonpull.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define META_VALUE_MAX 256 /* bytes of a wanted label's or annotation's value */

struct meta {
    char key[320]; /* "namespace/name", or "name" for what has no namespace */
    char ns[64];   /* "" when it has none */
    char name[254];
    char uid[64];
    char rv[128];
    int64_t generation; /* 0: none */
    int64_t created_ms; /* 0: none */
    bool deleting;      /* deletionTimestamp is set */
};

/* Told of each wanted label, annotation and field manager, in the document's order. For a listed
 * one key is the pointer from the list. A repeated key comes again: the last one counts. The value
 * of a manager is the subresource it wrote through, "" for the object itself. */
typedef int (*meta_sink)(void *arg, const char *key, const char *value, struct err *err);

/* All-zero wants nothing. A value longer than META_VALUE_MAX is passed over, as if absent. */
struct meta_wanted {
    const char *const *labels; /* ends in NULL; NULL: none */
    const char *const *annotations;
    const char *const *managers; /* of managedFields: whose writes the object shows */
    bool all_labels;             /* every label, listed or not */
    meta_sink sink;              /* a negative result ends the reading with it */
    void *arg;
};

/* Reads the object that comes next in pull, which is the value of "metadata". wanted may be NULL.
 */
int meta_read(struct jsonpull *pull, const struct meta_wanted *wanted, struct meta *ret_meta,
              struct err *err);

/* As meta_read() for a whole object that jansson has read: root is the object around "metadata". */
int meta_read_json(const json_t *root, const struct meta_wanted *wanted, struct meta *ret_meta,
                   struct err *err);

#endif
