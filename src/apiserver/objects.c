#include "apiserver/objects.h"

#include "base/str.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct objects {
    struct object_set **sets;
    size_t set_count;
    size_t count;
    size_t max_count;
    struct change *history; /* a ring, in order of rv */
    size_t history_first;
    size_t history_count;
    size_t history_max;
    size_t history_bytes; /* of the JSON that only the history may hold */
    uint64_t rv;
    uint64_t oldest_rv;
    objects_changed *changed;
    void *arg;
};

static struct object *object_new(struct objects *objects, struct object_set *set, json_t *tree,
                                 struct err *err);
static size_t place(struct object *const *at, size_t count, const char *ns, const char *name,
                    bool *ret_found);
static void insert(struct object_set *set, size_t index, struct object *object);
static void record(struct objects *objects, enum change_type type, struct object *now,
                   struct object *before);
static void drop_oldest(struct objects *objects);
static size_t change_bytes(const struct change *change);
static void undo(struct object_set *set, const struct change *change);

struct objects *objects_new(size_t max_count, size_t history_count, objects_changed *changed,
                            void *arg) {
    struct objects *objects = str_alloc(1, sizeof *objects);

    objects->max_count = max_count;
    objects->history_max = history_count;
    objects->history = str_alloc(history_count, sizeof *objects->history);
    objects->rv = objects->oldest_rv = 1; /* 0 has a meaning of its own to clients */
    objects->changed = changed;
    objects->arg = arg;
    return objects;
}

void objects_free(struct objects *objects) {
    if (!objects)
        return;
    objects_compact(objects);
    for (size_t i = 0; i < objects->set_count; i++) {
        struct object_set *set = objects->sets[i];

        object_list_free(set->at, set->count);
        free(set->group);
        free(set->resource);
        free(set);
    }
    free(objects->sets);
    free(objects->history);
    free(objects);
}

struct object_set *objects_set(struct objects *objects, const char *group, const char *resource) {
    for (size_t i = 0; i < objects->set_count; i++) {
        struct object_set *set = objects->sets[i];

        if (strcmp(set->resource, resource) == 0 && strcmp(set->group, group) == 0)
            return set;
    }
    struct object_set *set = str_alloc(1, sizeof *set);

    set->group = str_dup(group);
    set->resource = str_dup(resource);
    objects->sets = str_resize(objects->sets, objects->set_count + 1, sizeof(struct object_set *));
    objects->sets[objects->set_count++] = set;
    return set;
}

struct object_set *objects_set_at(const struct objects *objects, size_t at) {
    return at < objects->set_count ? objects->sets[at] : NULL;
}

uint64_t objects_rv(const struct objects *objects) {
    return objects->rv;
}

size_t objects_count(const struct objects *objects) {
    return objects->count;
}

struct object *object_set_get(const struct object_set *set, const char *ns, const char *name) {
    bool found;
    const size_t index = place(set->at, set->count, ns, name, &found);

    return found ? set->at[index] : NULL;
}

void object_set_range(const struct object_set *set, const char *ns, size_t *ret_first,
                      size_t *ret_end) {
    bool found;

    *ret_first = 0;
    *ret_end = set->count;
    if (*ns == '\0')
        return;
    *ret_first = place(set->at, set->count, ns, "", &found);
    size_t low = *ret_first;
    size_t high = set->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strcmp(set->at[middle]->ns, ns) == 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_end = low;
}

size_t object_set_after(const struct object_set *set, const char *ns, const char *name) {
    bool found;
    const size_t index = place(set->at, set->count, ns, name, &found);

    return found ? index + 1 : index;
}

int objects_put(struct objects *objects, struct object_set *set, json_t *tree,
                struct object **ret_object, struct err *err) {
    struct object *object = object_new(objects, set, tree, err);
    bool found;

    if (!object)
        return ERR_INVALID;
    const size_t index = place(set->at, set->count, object->ns, object->name, &found);

    if (!found && objects->count >= objects->max_count) {
        object_unref(object);
        return err_set(err, ERR_RETRY, "the server holds %zu objects, the most it may",
                       objects->max_count);
    }
    struct object *before = found ? set->at[index] : NULL;

    if (found)
        set->at[index] = object;
    else
        insert(set, index, object);
    objects->count += !found;
    objects->rv = object->rv;
    if (ret_object)
        *ret_object = object_ref(object);
    record(objects, found ? CHANGE_MODIFIED : CHANGE_ADDED, object_ref(object), before);
    return 0;
}

struct object *objects_remove(struct objects *objects, struct object_set *set, const char *ns,
                              const char *name) {
    bool found;
    const size_t index = place(set->at, set->count, ns, name, &found);

    if (!found)
        return NULL;
    struct object *before = set->at[index];
    /* It was stored before, and differs in the digits of its version only: it fits. */
    json_t *tree = json_copy(before->tree);

    json_object_set_new(tree, "metadata", json_copy(json_object_get(tree, "metadata")));
    struct object *last = object_new(objects, set, tree, NULL);

    if (!last)
        last = object_ref(before);
    memmove(&set->at[index], &set->at[index + 1], (set->count - index - 1) * sizeof(*set->at));
    set->count--;
    objects->count--;
    objects->rv++;
    record(objects, CHANGE_DELETED, object_ref(last), before);
    return last;
}

struct object *object_ref(struct object *object) {
    object->refs++;
    return object;
}

void object_unref(struct object *object) {
    if (!object || --object->refs > 0)
        return;
    free(object->ns);
    free(object->name);
    free(object->json);
    json_decref(object->tree);
    free(object);
}

int objects_as_of(const struct objects *objects, const struct object_set *set, uint64_t rv,
                  struct object ***ret_list, size_t *ret_count, struct err *err) {
    if (rv < objects->oldest_rv)
        return err_set(err, ERR_NOTFOUND, "The resourceVersion for the provided list is too old.");
    if (rv > objects->rv)
        return err_set(err, ERR_INVALID, "Too large resource version: %llu, current: %llu",
                       (unsigned long long)rv, (unsigned long long)objects->rv);
    struct object_set then = {.count = set->count, .room_count = set->count + 1};

    then.at = str_alloc(then.room_count, sizeof *then.at);
    for (size_t i = 0; i < set->count; i++)
        then.at[i] = object_ref(set->at[i]);
    for (size_t i = objects->history_count; i-- > 0;) {
        const struct change *change =
            &objects->history[(objects->history_first + i) % objects->history_max];

        if (change->rv <= rv)
            break;
        if (change->now->set == set)
            undo(&then, change);
    }
    *ret_list = then.at;
    *ret_count = then.count;
    return 0;
}

void object_list_free(struct object **list, size_t count) {
    for (size_t i = 0; i < count; i++)
        object_unref(list[i]);
    free(list);
}

uint64_t objects_oldest_rv(const struct objects *objects) {
    return objects->oldest_rv;
}

const struct change *objects_change_after(const struct objects *objects, uint64_t rv) {
    size_t low = 0;
    size_t high = objects->history_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (objects->history[(objects->history_first + middle) % objects->history_max].rv <= rv)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == objects->history_count)
        return NULL;
    return &objects->history[(objects->history_first + low) % objects->history_max];
}

void objects_compact(struct objects *objects) {
    while (objects->history_count > 0)
        drop_oldest(objects);
    objects->oldest_rv = objects->rv;
}

/* The revision that the next change stores. Takes tree over. */
static struct object *object_new(struct objects *objects, struct object_set *set, json_t *tree,
                                 struct err *err) {
    json_t *metadata = json_object_get(tree, "metadata");
    const char *ns = json_string_value(json_object_get(metadata, "namespace"));
    const char *name = json_string_value(json_object_get(metadata, "name"));
    char rv[24];

    if (!name || *name == '\0') {
        json_decref(tree);
        err_set(err, ERR_INVALID, "an object without a name cannot be stored");
        return NULL;
    }
    snprintf(rv, sizeof rv, "%llu", (unsigned long long)objects->rv + 1);
    json_object_set_new(metadata, "resourceVersion", json_string(rv));
    char *json = json_dumps(tree, JSON_COMPACT);

    if (!json || strlen(json) > OBJECT_MAX_BYTES) {
        json_decref(tree);
        err_set(err, ERR_INVALID, "%s is larger than %zu bytes", json ? "the object" : "it",
                OBJECT_MAX_BYTES);
        free(json);
        return NULL;
    }
    struct object *object = str_alloc(1, sizeof *object);
    const char *api_version = json_string_value(json_object_get(tree, "apiVersion"));

    *object = (struct object){
        .refs = 1,
        .set = set,
        .ns = str_dup(ns ? ns : ""),
        .name = str_dup(name),
        .tree = tree,
        .api_version = api_version ? api_version : "",
        .json = json,
        .json_bytes = strlen(json),
        .rv = objects->rv + 1,
    };
    return object;
}

/* Where an object of this namespace and name stands, or would. */
static size_t place(struct object *const *at, size_t count, const char *ns, const char *name,
                    bool *ret_found) {
    size_t low = 0;
    size_t high = count;

    *ret_found = false;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        int order = strcmp(at[middle]->ns, ns);

        if (order == 0)
            order = strcmp(at[middle]->name, name);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct object_set *set, size_t index, struct object *object) {
    if (set->count == set->room_count) {
        set->room_count = set->room_count * 2 + 8;
        set->at = str_resize(set->at, set->room_count, sizeof(struct object *));
    }
    memmove(&set->at[index + 1], &set->at[index], (set->count - index) * sizeof(*set->at));
    set->at[index] = object;
    set->count++;
}

/* Keeps a change, dropping the oldest one if need be, and tells it. Takes both references. */
static void record(struct objects *objects, enum change_type type, struct object *now,
                   struct object *before) {
    const struct change change = {type, objects->rv, now, before};

    while (objects->history_count == objects->history_max ||
           objects->history_bytes > OBJECTS_HISTORY_MAX_BYTES)
        drop_oldest(objects);
    objects->history[(objects->history_first + objects->history_count) % objects->history_max] =
        change;
    objects->history_count++;
    objects->history_bytes += change_bytes(&change);
    if (!objects->changed)
        return;
    object_ref(now);
    if (before)
        object_ref(before);
    objects->changed(objects->arg, &change);
    object_unref(now);
    object_unref(before);
}

static void drop_oldest(struct objects *objects) {
    struct change *oldest = &objects->history[objects->history_first];

    objects->oldest_rv = oldest->rv;
    objects->history_bytes -= change_bytes(oldest);
    object_unref(oldest->now);
    object_unref(oldest->before);
    *oldest = (struct change){0};
    objects->history_first = (objects->history_first + 1) % objects->history_max;
    objects->history_count--;
}

/* What a change keeps alive that the store no longer needs. */
static size_t change_bytes(const struct change *change) {
    return (change->before ? change->before->json_bytes : 0) +
           (change->type == CHANGE_DELETED ? change->now->json_bytes : 0);
}

static void undo(struct object_set *set, const struct change *change) {
    bool found;
    const size_t index = place(set->at, set->count, change->now->ns, change->now->name, &found);

    if (change->type == CHANGE_DELETED) {
        insert(set, index, object_ref(change->before));
        return;
    }
    object_unref(set->at[index]);
    if (change->type == CHANGE_MODIFIED) {
        set->at[index] = object_ref(change->before);
        return;
    }
    memmove(&set->at[index], &set->at[index + 1], (set->count - index - 1) * sizeof(*set->at));
    set->count--;
}
