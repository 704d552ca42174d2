#include "apiserver/ownership.h"

#include "apiserver/patch.h"
#include "base/auto.h"
#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool resets(const json_t *object);
static bool is_key(const struct owner *owner, const struct owner *key);
static int by_entry_order(const void *a, const void *b);
static void drop(struct owners *owners, size_t at);
static void cap_updaters(struct owners *owners);
static bool merge_oldest(struct owners *owners);
static char *text_of(const json_t *entry, const char *key);
static json_t *entry_new(const struct owner *owner);

void patch_own(const json_t *live, json_t *updated, const struct schema *schema,
               const char *api_version, const char *manager, const char *subresource,
               const char *now_rfc3339) {
    const struct owner key = {.manager = (char *)(uintptr_t)manager,
                              .api_version = (char *)(uintptr_t)api_version,
                              .subresource = (char *)(uintptr_t)subresource,
                              .time = (char *)(uintptr_t)now_rfc3339};
    json_auto_t *nothing = json_object();
    struct owners owners = {0};
    struct fieldset changed;
    struct fieldset removed;

    if (!resets(updated)) {
        owners = owners_read(live);
        fieldset_compare(live ? live : nothing, updated, schema, &changed, &removed);
        owners_lose(&owners, NULL, &removed);
        if (!fieldset_is_empty(&changed)) {
            struct owner *mine = owners_get(&owners, &key);

            owners_lose(&owners, mine, &changed);
            owner_replace(mine, fieldset_union(&mine->set, &changed), &key);
        }
        fieldset_done(&changed);
        fieldset_done(&removed);
    }
    owners_write(&owners, updated);
    owners_done(&owners);
}

void owners_done(struct owners *owners) {
    if (!owners)
        return;
    while (owners->count)
        drop(owners, owners->count - 1);
    free(owners->at);
    *owners = (struct owners){0};
}

struct owners owners_read(const json_t *object) {
    const json_t *entries = json_object_get(json_object_get(object, "metadata"), "managedFields");
    struct owners owners = {0};
    size_t i;
    const json_t *entry;

    json_array_foreach(entries, i, entry) {
        const char *operation = json_string_value(json_object_get(entry, "operation"));
        struct fieldset set;

        if (!operation || fieldset_parse(json_object_get(entry, "fieldsV1"), &set, NULL) < 0)
            continue;
        struct owner key = {.manager = text_of(entry, "manager"),
                            .api_version = text_of(entry, "apiVersion"),
                            .subresource = text_of(entry, "subresource"),
                            .time = text_of(entry, "time"),
                            .applies = strcmp(operation, "Apply") == 0};

        owner_replace(owners_get(&owners, &key), set, &key);
        free(key.manager);
        free(key.api_version);
        free(key.subresource);
        free(key.time);
    }
    return owners;
}

void owners_write(struct owners *owners, json_t *object) {
    json_t *metadata = json_object_get(object, "metadata");

    for (size_t i = owners->count; i-- > 0;)
        if (fieldset_is_empty(&owners->at[i].set))
            drop(owners, i);
    cap_updaters(owners);
    if (owners->count == 0) {
        json_object_del(metadata, "managedFields");
        return;
    }
    qsort(owners->at, owners->count, sizeof *owners->at, by_entry_order);
    json_t *entries = json_array();

    for (size_t i = 0; i < owners->count; i++)
        json_array_append_new(entries, entry_new(&owners->at[i]));
    if (!json_is_object(metadata)) {
        metadata = json_object();
        json_object_set_new(object, "metadata", metadata);
    }
    json_object_set_new(metadata, "managedFields", entries);
}

struct owner *owners_get(struct owners *owners, const struct owner *key) {
    for (size_t i = 0; i < owners->count; i++)
        if (is_key(&owners->at[i], key))
            return &owners->at[i];
    if (owners->count == owners->room_count) {
        owners->room_count = owners->room_count ? owners->room_count * 2 : 4;
        owners->at = str_resize(owners->at, owners->room_count, sizeof *owners->at);
    }
    struct owner *owner = &owners->at[owners->count++];

    *owner = (struct owner){.manager = str_dup(key->manager),
                            .api_version = str_dup(key->api_version),
                            .subresource = str_dup(key->subresource),
                            .time = str_dup(key->time),
                            .applies = key->applies};
    return owner;
}

void owner_replace(struct owner *owner, struct fieldset set, const struct owner *key) {
    if (!fieldset_equals(&owner->set, &set) || strcmp(owner->api_version, key->api_version) != 0) {
        free(owner->time);
        free(owner->api_version);
        owner->time = str_dup(key->time);
        owner->api_version = str_dup(key->api_version);
    }
    fieldset_done(&owner->set);
    owner->set = set;
}

void owners_lose(struct owners *owners, const struct owner *except, const struct fieldset *lost) {
    for (size_t i = 0; i < owners->count; i++) {
        if (&owners->at[i] == except)
            continue;
        struct fieldset left = fieldset_difference(&owners->at[i].set, lost);

        fieldset_done(&owners->at[i].set);
        owners->at[i].set = left;
    }
}

/* The list of one empty entry is how a client clears the table; an empty list is what clients send
 * that know nothing of it. */
static bool resets(const json_t *object) {
    const json_t *entries = json_object_get(json_object_get(object, "metadata"), "managedFields");
    const json_t *first = json_array_get(entries, 0);

    return json_array_size(entries) == 1 && json_is_object(first) && json_object_size(first) == 0;
}

static bool is_key(const struct owner *owner, const struct owner *key) {
    return owner->applies == key->applies && strcmp(owner->manager, key->manager) == 0 &&
           strcmp(owner->subresource, key->subresource) == 0 &&
           (key->applies || strcmp(owner->api_version, key->api_version) == 0);
}

/* As kube-apiserver sorts. Times are UTC to the second, so their text sorts. */
static int by_entry_order(const void *a, const void *b) {
    const struct owner *x = a;
    const struct owner *y = b;
    int order = (int)y->applies - (int)x->applies;

    if (order == 0)
        order = strcmp(x->time, y->time);
    if (order == 0)
        order = strcmp(x->manager, y->manager);
    if (order == 0)
        order = strcmp(x->api_version, y->api_version);
    return order ? order : strcmp(x->subresource, y->subresource);
}

static void drop(struct owners *owners, size_t at) {
    struct owner *owner = &owners->at[at];

    free(owner->manager);
    free(owner->api_version);
    free(owner->subresource);
    free(owner->time);
    fieldset_done(&owner->set);
    owners->count--;
    memmove(owner, owner + 1, (owners->count - at) * sizeof *owner);
}

static void cap_updaters(struct owners *owners) {
    size_t updaters = 0;

    for (size_t i = 0; i < owners->count; i++)
        updaters += !owners->at[i].applies;
    if (owners->count)
        qsort(owners->at, owners->count, sizeof *owners->at, by_entry_order);
    while (updaters > OWNERS_UPDATERS_MAX && merge_oldest(owners))
        updaters--;
}

/* Makes the oldest two updaters of one API version one; false if no two have the same. */
static bool merge_oldest(struct owners *owners) {
    for (size_t i = 0; i < owners->count; i++) {
        struct owner *old = &owners->at[i];

        for (size_t j = i + 1; j < owners->count && !old->applies; j++) {
            struct owner *next = &owners->at[j];

            if (strcmp(old->api_version, next->api_version) != 0)
                continue;
            struct fieldset both = fieldset_union(&old->set, &next->set);

            fieldset_done(&next->set);
            next->set = both;
            free(next->manager);
            next->manager = str_dup("ancient-changes");
            free(next->subresource);
            next->subresource = str_dup("");
            drop(owners, i);
            return true;
        }
    }
    return false;
}

/* A text of an entry, "" if there is none. Caller frees. */
static char *text_of(const json_t *entry, const char *key) {
    const char *text = json_string_value(json_object_get(entry, key));

    return str_dup(text ? text : "");
}

static json_t *entry_new(const struct owner *owner) {
    json_t *entry = json_object();

    json_object_set_new(entry, "manager", json_string(owner->manager));
    json_object_set_new(entry, "operation", json_string(owner->applies ? "Apply" : "Update"));
    json_object_set_new(entry, "apiVersion", json_string(owner->api_version));
    if (*owner->time)
        json_object_set_new(entry, "time", json_string(owner->time));
    json_object_set_new(entry, "fieldsType", json_string("FieldsV1"));
    json_object_set_new(entry, "fieldsV1", fieldset_json_new(&owner->set));
    if (*owner->subresource)
        json_object_set_new(entry, "subresource", json_string(owner->subresource));
    return entry;
}
