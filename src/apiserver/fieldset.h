/* fieldset.h - sets of paths into an object, as metadata.managedFields writes them (FieldsV1).
 *
 * A path is made of steps: "f:name" into a map, k:{"name":"a"} to the item of a list with keys,
 * v:"a" to a value of a set. What a set holds follows the object's schema; without one, maps are
 * granular and lists are one field. Deeper than FIELDSET_DEPTH_MAX everything is one field.
 * Ownership: a set owns its steps; the empty set is all zero. Release with fieldset_done().
 */
#ifndef BULKHEAD_APISERVER_FIELDSET_H
#define BULKHEAD_APISERVER_FIELDSET_H

#include "apiserver/schema.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define FIELDSET_DEPTH_MAX 64
#define FIELDSET_PATH_SIZE 256

struct fieldset_step;

struct fieldset {
    bool has;                    /* the path that leads here is in the set */
    struct fieldset_step *steps; /* sorted by name */
    size_t count;
    size_t room_count;
};

struct fieldset_step {
    char *name;
    struct fieldset below;
};

/* Releases it; all-zero and NULL are fine. */
void fieldset_done(struct fieldset *set);

/* Reads FieldsV1. ERR_INVALID for what is none. */
int fieldset_parse(const json_t *fields_v1, struct fieldset *ret_set, struct err *err);

/* Writes FieldsV1, keys in order. New reference. */
json_t *fieldset_json_new(const struct fieldset *set);

/* Whether it holds no path at all. */
bool fieldset_is_empty(const struct fieldset *set);

/* Whether both hold the same paths. */
bool fieldset_equals(const struct fieldset *a, const struct fieldset *b);

/* All paths of either. Release the result. */
struct fieldset fieldset_union(const struct fieldset *a, const struct fieldset *b);

/* The paths in both. Release the result. */
struct fieldset fieldset_intersection(const struct fieldset *a, const struct fieldset *b);

/* The paths of a that are not in b; a path does not stand for what is below it. */
struct fieldset fieldset_difference(const struct fieldset *a, const struct fieldset *b);

/* What is below a step; NULL if nothing is, or set is NULL. Borrowed. */
const struct fieldset *fieldset_below(const struct fieldset *set, const char *step);

/* Drops what nobody owns: apiVersion, kind and the metadata that the server sets. */
void fieldset_strip(struct fieldset *set);

/* The fields that an applied object states. ERR_INVALID for a list with an item that has no key or
 * the key of another. */
int fieldset_of(const json_t *object, const struct schema *schema, struct fieldset *ret_set,
                struct err *err);

/* What was added or changed from before (NULL: nothing) to after, and what is gone. */
void fieldset_compare(const json_t *before, const json_t *after, const struct schema *schema,
                      struct fieldset *ret_changed, struct fieldset *ret_removed);

/* Told each path of a set in words: ".spec.ports[port=80].name". */
typedef void fieldset_path(void *arg, const char *path);

/* Calls taker for each path, in order; a path longer than FIELDSET_PATH_SIZE is cut. */
void fieldset_each(const struct fieldset *set, fieldset_path *taker, void *arg);

/* Whether value, depth steps below the root, is a map or list whose parts are fields of their own.
 */
bool fieldset_is_granular(const json_t *value, const struct schema *schema, int depth);

/* Whether key is an entry of a map of equals, not a property that the schema names. */
bool fieldset_is_entry(const struct schema *schema, const char *key);

/* The step to an item of a list of sort keys or set; defaults stand for absent keys. NULL with err
 * filled if it has none. Caller frees. */
char *fieldset_item_step(const struct schema *list, const json_t *item, struct err *err);

/* The items of such a list by their steps, in order; of those with the same one, the first. Items
 * without a step are left out. New reference. */
json_t *fieldset_index_new(const struct schema *list, const json_t *items);

#endif
