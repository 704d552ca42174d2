#include "kube/store.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct entry {
    struct store_item item; /* its texts are owned here */
    char *key;
    char *uid;
    char *rv;
    UT_hash_handle hh;
};

struct store {
    struct entry *entries;
    size_t max_items;
    void (*free_object)(void *object);
};

static void entry_clear(const struct store *store, struct entry *entry);
static void entry_fill(struct entry *entry, const struct store_item *item);
static void entry_swap_objects(struct entry *one, struct entry *two);
static struct entry *entry_find(const struct store *store, const char *key);

struct store *store_new(size_t max_items, void (*free_object)(void *object)) {
    struct store *store = str_alloc(1, sizeof *store);

    store->max_items = max_items;
    store->free_object = free_object;
    return store;
}

void store_free(struct store *store) {
    struct entry *entry, *next;

    if (!store)
        return;
    HASH_ITER(hh, store->entries, entry, next) {
        HASH_DEL(store->entries, entry);
        entry_clear(store, entry);
        free(entry);
    }
    free(store);
}

int store_put(struct store *store, const struct store_item *item, struct err *err) {
    struct entry *entry = entry_find(store, item->key);

    if (entry) {
        struct entry old = *entry;

        /* The hash table points at the key's bytes, hence the key stays. */
        entry->uid = str_dup(item->uid ? item->uid : "");
        entry->rv = str_dup(item->rv ? item->rv : "");
        entry_fill(entry, item);
        free(old.uid);
        free(old.rv);
        if (store->free_object && old.item.object && old.item.object != item->object)
            store->free_object(old.item.object);
        return 0;
    }
    if (store_count(store) >= store->max_items)
        return err_set(err, ERR_RETRY, "more than %zu items", store->max_items);
    entry = str_alloc(1, sizeof *entry);
    entry->key = str_dup(item->key);
    entry->uid = str_dup(item->uid ? item->uid : "");
    entry->rv = str_dup(item->rv ? item->rv : "");
    entry_fill(entry, item);
    HASH_ADD_KEYPTR(hh, store->entries, entry->key, strlen(entry->key), entry);
    return 0;
}

const struct store_item *store_get(const struct store *store, const char *key) {
    const struct entry *entry = entry_find(store, key);

    return entry ? &entry->item : NULL;
}

int store_remove(struct store *store, const char *key) {
    struct entry *entry = entry_find(store, key);

    if (!entry)
        return 0;
    HASH_DEL(store->entries, entry);
    entry_clear(store, entry);
    free(entry);
    return 1;
}

size_t store_count(const struct store *store) {
    return store ? HASH_COUNT(store->entries) : 0;
}

void store_each(const struct store *store,
                void (*visit)(void *context, const struct store_item *item), void *context) {
    for (const struct entry *e = store->entries; e; e = e->hh.next)
        visit(context, &e->item);
}

size_t store_vanished(const struct store *before, const struct store *after) {
    size_t count = 0;

    for (const struct entry *e = before->entries; e; e = e->hh.next) {
        const struct store_item *other = store_get(after, e->key);

        if (!other || strcmp(other->uid, e->uid) != 0)
            count++;
    }
    return count;
}

void store_diff(const struct store *before, const struct store *after, store_sink sink,
                void *context) {
    for (const struct entry *e = before->entries; e; e = e->hh.next)
        if (!entry_find(after, e->key))
            sink(context, STORE_DELETE, &e->item);
    for (struct entry *e = after->entries; e; e = e->hh.next) {
        struct entry *known = entry_find(before, e->key);
        const struct store_item *old = known ? &known->item : NULL;

        if (old && strcmp(old->uid, e->uid) != 0) {
            sink(context, STORE_DELETE, old);
            old = NULL;
        }
        if (!old)
            sink(context, STORE_ADD, &e->item);
        else if (strcmp(old->rv, e->rv) != 0)
            sink(context, STORE_UPDATE, &e->item);
        else
            entry_swap_objects(known, e);
    }
}

static void entry_swap_objects(struct entry *one, struct entry *two) {
    void *object = one->item.object;

    one->item.object = two->item.object;
    two->item.object = object;
}

static void entry_fill(struct entry *entry, const struct store_item *item) {
    entry->item = (struct store_item){entry->key, entry->uid, entry->rv, item->object};
}

static void entry_clear(const struct store *store, struct entry *entry) {
    if (store->free_object && entry->item.object)
        store->free_object(entry->item.object);
    free(entry->key);
    free(entry->uid);
    free(entry->rv);
}

static struct entry *entry_find(const struct store *store, const char *key) {
    struct entry *entry = NULL;

    HASH_FIND(hh, store->entries, key, strlen(key), entry);
    return entry;
}
