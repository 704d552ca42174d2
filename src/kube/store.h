/* store.h - the objects of one resource type by key, and the difference of two such sets.
 *
 * Decides nothing and reads no object: an object is an opaque pointer.
 * Ownership: the store owns every object it accepted and releases it through the free callback;
 *            texts are copied.
 * Limits:    at most max_items items; one more is ERR_RETRY and changes nothing.
 * Threads:   control only.
 */
#ifndef BULKHEAD_KUBE_STORE_H
#define BULKHEAD_KUBE_STORE_H

#include "base/err.h"

#include <stddef.h>

struct store;

struct store_item {
    const char *key; /* namespace/name, or name alone */
    const char *uid;
    const char *rv;
    void *object; /* the store's; may be NULL */
};

enum store_change {
    STORE_ADD,
    STORE_UPDATE,
    STORE_DELETE, /* the item is the last known content: it may be stale */
};

/* Told of each change; item is borrowed for the call. The callee must not touch the stores. */
typedef void (*store_sink)(void *context, enum store_change change, const struct store_item *item);

/* An empty store of at most max_items items. free_object may be NULL. Release: store_free(). */
struct store *store_new(size_t max_items, void (*free_object)(void *object));

/* Releases the store and its objects; NULL is fine. */
void store_free(struct store *store);

/* Adds or replaces the item of this key; takes the object over only on 0. ERR_RETRY when full. */
int store_put(struct store *store, const struct store_item *item, struct err *err);

/* The item of key, borrowed until the next change of the store; NULL if there is none. */
const struct store_item *store_get(const struct store *store, const char *key);

/* Removes the item of key and releases its object. Returns 1, or 0 if there was none. */
int store_remove(struct store *store, const char *key);

/* Number of items; 0 for NULL. */
size_t store_count(const struct store *store);

/* Calls visit for each item, in no order of keys. It must not change the store. */
void store_each(const struct store *store,
                void (*visit)(void *context, const struct store_item *item), void *context);

/* How many of the items of `before` have no item with the same key and uid in `after`. */
size_t store_vanished(const struct store *before, const struct store *after);

/* Tells what turns `before` into `after`, in no order of keys: a key that is gone is a delete, one
 * with a new uid a delete and then an add, one with another rv an update. Of an unchanged item the
 * objects change places, so that the one a handler was told of lives on in `after`. */
void store_diff(const struct store *before, const struct store *after, store_sink sink,
                void *context);

#endif
