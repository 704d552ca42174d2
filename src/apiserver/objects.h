/* objects.h - every object of a server: by resource, namespace and name, and how it came to be.
 *
 * One counter numbers all changes: an object's resourceVersion is the number of its last one. The
 * last changes are kept, so that a watch can start in the past and a list be read as of then.
 * A revision never changes once it is stored; a change stores a new one.
 * Ownership: revisions are counted; what is kept beyond the next change takes object_ref().
 * Limits:    objects of all resources together, their size, and the history's length.
 */
#ifndef BULKHEAD_APISERVER_OBJECTS_H
#define BULKHEAD_APISERVER_OBJECTS_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECTS_MAX 200000
#define OBJECTS_HISTORY_MAX 20000
#define OBJECTS_HISTORY_MAX_BYTES ((size_t)128 << 20) /* of states that are history only */
#define OBJECT_MAX_BYTES ((size_t)3 << 20)

struct object_set;

/* One revision of one object. Read only. */
struct object {
    size_t refs;
    struct object_set *set;
    char *ns; /* "" for cluster-scoped ones */
    char *name;
    json_t *tree;
    const char *api_version; /* in tree */
    char *json;              /* tree, serialised once */
    size_t json_bytes;
    uint64_t rv;
};

/* The objects of one group and resource, whatever the version, sorted by namespace and name. */
struct object_set {
    char *group;
    char *resource;
    struct object **at;
    size_t count;
    size_t room_count;
};

enum change_type { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };

struct change {
    enum change_type type;
    uint64_t rv;
    struct object *now;    /* of a deletion: the last state, with the deletion's version */
    struct object *before; /* NULL for an addition */
};

struct objects;

/* Told each change after it was made; may change objects itself. */
typedef void objects_changed(void *arg, const struct change *change);

/* An empty store. Release with objects_free(). */
struct objects *objects_new(size_t max_count, size_t history_count, objects_changed *changed,
                            void *arg);

/* Releases it; NULL is fine. */
void objects_free(struct objects *objects);

/* The set of this group and resource, made if there is none. It lives as long as objects. */
struct object_set *objects_set(struct objects *objects, const char *group, const char *resource);

/* The at-th set in order of making; NULL beyond the last. */
struct object_set *objects_set_at(const struct objects *objects, size_t at);

/* The number of the last change. */
uint64_t objects_rv(const struct objects *objects);

/* How many objects there are in all. */
size_t objects_count(const struct objects *objects);

/* The current revision; NULL if there is none. ns is "" for a cluster-scoped one. Borrowed. */
struct object *object_set_get(const struct object_set *set, const char *ns, const char *name);

/* Where a namespace's objects stand: indexes first to end - 1. ns "" is all of them. */
void object_set_range(const struct object_set *set, const char *ns, size_t *ret_first,
                      size_t *ret_end);

/* The index of the first object behind the one of this namespace and name. */
size_t object_set_after(const struct object_set *set, const char *ns, const char *name);

/* Stores tree (taken over, also on failure) under its metadata's namespace and name, as a new
 * object or a new revision, and writes its resourceVersion. ERR_RETRY when the store is full,
 * ERR_INVALID when the object is too large. ret_object (may be NULL) gets a counted reference. */
int objects_put(struct objects *objects, struct object_set *set, json_t *tree,
                struct object **ret_object, struct err *err);

/* Removes it; returns the last state as a counted reference, NULL if there is no such object. */
struct object *objects_remove(struct objects *objects, struct object_set *set, const char *ns,
                              const char *name);

/* One more reference. */
struct object *object_ref(struct object *object);

/* One reference less; NULL is fine. */
void object_unref(struct object *object);

/* The set as it was after change number rv: an array of counted references in order. Returns 0, or
 * ERR_NOTFOUND if that is too long ago, ERR_INVALID if it is still to come. Release with
 * object_list_free(). */
int objects_as_of(const struct objects *objects, const struct object_set *set, uint64_t rv,
                  struct object ***ret_list, size_t *ret_count, struct err *err);

/* Releases a list of counted references. */
void object_list_free(struct object **list, size_t count);

/* The oldest version from which the history is whole. */
uint64_t objects_oldest_rv(const struct objects *objects);

/* The first change of any set after rv; NULL if there is none. Borrowed until the next change. */
const struct change *objects_change_after(const struct objects *objects, uint64_t rv);

/* Forgets all history. */
void objects_compact(struct objects *objects);

#endif
