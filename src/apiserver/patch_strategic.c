#include "apiserver/patch.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64
#define DELETE_PREFIX "$deleteFromPrimitiveList/"
#define ORDER_PREFIX "$setElementOrder/"

/* An item of a list that is put in order. */
struct rank {
    json_t *item;
    size_t place;  /* where it stands */
    size_t wanted; /* where the order has it */
};

static int merge_map(json_t *target, const json_t *patch, const struct schema *schema, int depth,
                     struct err *err);
static int directives(json_t *target, const json_t *patch, bool *ret_done, struct err *err);
static int retain(json_t *target, const json_t *patch, const json_t *keys, struct err *err);
static bool is_directive(const char *key);
static int delete_values(json_t *target, const char *field, const json_t *values, struct err *err);
static int merge_field(json_t *target, const char *key, const json_t *value,
                       const struct schema *schema, const json_t *order, int depth,
                       struct err *err);
static int merge_list(json_t *list, const json_t *patch, const struct schema *schema,
                      size_t *ret_old_count, int depth, struct err *err);
static int merge_item(json_t *list, const json_t *item, const struct schema *schema,
                      size_t *old_count, int depth, struct err *err);
static const char *directive_of(const json_t *item);
static bool contains(const json_t *list, const json_t *value);
static bool matches(const struct schema *list, const json_t *item, const json_t *wanted);
static int put_in_order(json_t *list, const json_t *order, const struct schema *schema,
                        size_t old_count, struct err *err);
static int by_wanted(const void *a, const void *b);

int patch_strategic(const json_t *object, const json_t *patch, const struct schema *schema,
                    json_t **ret_object, struct err *err) {
    if (!json_is_object(patch))
        return err_set(err, ERR_INVALID, "a strategic merge patch is an object");
    json_t *target = json_is_object(object) ? json_deep_copy(object) : json_object();
    const int r = merge_map(target, patch, schema, 0, err);

    if (r < 0)
        json_decref(target);
    else
        *ret_object = target;
    return r;
}

static int merge_map(json_t *target, const json_t *patch, const struct schema *schema, int depth,
                     struct err *err) {
    bool done = false;
    const char *key;
    const json_t *value;
    int r;

    if (depth > DEPTH_MAX)
        return err_set(err, ERR_INVALID, "the patch is nested too deeply");
    r = directives(target, patch, &done, err);
    if (r < 0 || done)
        return r;
    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        if (strncmp(key, DELETE_PREFIX, strlen(DELETE_PREFIX)) == 0)
            r = delete_values(target, key + strlen(DELETE_PREFIX), value, err);
        if (r < 0)
            return r;
    }
    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        const bool orders = strncmp(key, ORDER_PREFIX, strlen(ORDER_PREFIX)) == 0;
        const char *field = orders ? key + strlen(ORDER_PREFIX) : key;
        auto_free char *order_key = str_printf(ORDER_PREFIX "%s", field);

        if (is_directive(key) && !orders)
            continue;
        if (orders && json_object_get(patch, field))
            continue; /* together with the field */
        r = merge_field(target, field, orders ? NULL : value, schema_property(schema, field),
                        json_object_get(patch, order_key), depth + 1, err);
        if (r < 0)
            return err_wrap(err, r, "%.60s", field);
    }
    return 0;
}

/* Obeys $patch and $retainKeys; tells whether nothing of the patch is left to merge. */
static int directives(json_t *target, const json_t *patch, bool *ret_done, struct err *err) {
    const json_t *keys = json_object_get(patch, "$retainKeys");
    const char *what = directive_of(patch);

    if (json_object_get(patch, "$patch") && !what)
        return err_set(err, ERR_INVALID, "$patch: not a string");
    if (what && strcmp(what, "replace") != 0 && strcmp(what, "delete") != 0 &&
        strcmp(what, "merge") != 0)
        return err_set(err, ERR_INVALID, "unknown patch type: %.80s", what);
    if (what && strcmp(what, "merge") != 0)
        json_object_clear(target);
    *ret_done = what && strcmp(what, "delete") == 0;
    return keys && !*ret_done ? retain(target, patch, keys, err) : 0;
}

/* Removes the fields that are not among keys. */
static int retain(json_t *target, const json_t *patch, const json_t *keys, struct err *err) {
    const char *key;
    json_t *value;
    void *next;

    if (!json_is_array(keys))
        return err_set(err, ERR_INVALID, "$retainKeys: not a list");
    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        json_auto_t *name = json_string(key);

        if (!is_directive(key) && !json_is_null(value) && !contains(keys, name))
            return err_set(err, ERR_INVALID,
                           "$retainKeys directive must contain all keys in the patch: %.80s", key);
    }
    json_object_foreach_safe(target, next, key, value) {
        json_auto_t *name = json_string(key);

        if (!contains(keys, name))
            json_object_del(target, key);
    }
    return 0;
}

static bool is_directive(const char *key) {
    return strcmp(key, "$patch") == 0 || strcmp(key, "$retainKeys") == 0 ||
           strncmp(key, DELETE_PREFIX, strlen(DELETE_PREFIX)) == 0 ||
           strncmp(key, ORDER_PREFIX, strlen(ORDER_PREFIX)) == 0;
}

static int delete_values(json_t *target, const char *field, const json_t *values, struct err *err) {
    json_t *list = json_object_get(target, field);

    if (!json_is_array(values))
        return err_set(err, ERR_INVALID, DELETE_PREFIX "%.80s: not a list", field);
    for (size_t i = json_array_size(list); i-- > 0;)
        if (contains(values, json_array_get(list, i)))
            json_array_remove(list, i);
    return 0;
}

/* Merges one field; value NULL: only its order is given. */
static int merge_field(json_t *target, const char *key, const json_t *value,
                       const struct schema *schema, const json_t *order, int depth,
                       struct err *err) {
    const char *keys[SCHEMA_KEYS_MAX];
    const bool merges = schema_list_kind(schema, keys) != SCHEMA_LIST_ATOMIC;
    json_t *at = json_object_get(target, key);
    size_t old_count = json_array_size(at);
    int r = 0;

    if (json_is_null(value)) {
        json_object_del(target, key);
        return 0;
    }
    if (json_is_object(value)) {
        if (!json_is_object(at)) {
            at = json_object();
            json_object_set_new(target, key, at);
        }
        return merge_map(at, value, schema, depth, err);
    }
    if (value && (!json_is_array(value) || !merges)) {
        json_object_set_new(target, key, json_deep_copy(value));
        return 0;
    }
    if (value) {
        if (!json_is_array(at)) {
            at = json_array();
            json_object_set_new(target, key, at);
        }
        r = merge_list(at, value, schema, &old_count, depth, err);
    }
    if (r == 0 && order && merges && json_is_array(at))
        r = put_in_order(at, order, schema, old_count, err);
    return r;
}

/* Merges items or values into list; ret_old_count: how many of the first were there before. */
static int merge_list(json_t *list, const json_t *patch, const struct schema *schema,
                      size_t *ret_old_count, int depth, struct err *err) {
    const char *keys[SCHEMA_KEYS_MAX];
    const bool is_set = schema_list_kind(schema, keys) == SCHEMA_LIST_SET;
    size_t i;
    const json_t *item;

    json_array_foreach(patch, i, item) {
        const char *what = directive_of(item);

        if (what && strcmp(what, "replace") == 0)
            json_array_clear(list);
    }
    *ret_old_count = json_array_size(list);
    json_array_foreach(patch, i, item) {
        int r = 0;

        if (directive_of(item) && strcmp(directive_of(item), "replace") == 0)
            continue;
        if (!is_set)
            r = merge_item(list, item, schema, ret_old_count, depth, err);
        else if (!contains(list, item))
            json_array_append_new(list, json_deep_copy(item));
        if (r < 0)
            return r;
    }
    return 0;
}

static int merge_item(json_t *list, const json_t *item, const struct schema *schema,
                      size_t *old_count, int depth, struct err *err) {
    const char *keys[SCHEMA_KEYS_MAX];
    const char *what = directive_of(item);
    json_t *at = NULL;

    schema_list_kind(schema, keys);
    if (!json_is_object(item))
        return err_set(err, ERR_INVALID, "an item is not an object");
    if (!json_object_get(item, keys[0]))
        return err_set(err, ERR_INVALID, "map does not contain declared merge key: %.80s", keys[0]);
    for (size_t i = json_array_size(list); i-- > 0;) {
        if (!matches(schema, json_array_get(list, i), item))
            continue;
        at = json_array_get(list, i);
        if (what && strcmp(what, "delete") == 0) {
            json_array_remove(list, i);
            *old_count -= i < *old_count;
        }
    }
    if (what && strcmp(what, "delete") == 0)
        return 0;
    if (!at) {
        at = json_object();
        json_array_append_new(list, at);
    }
    return merge_map(at, item, schema_items(schema), depth + 1, err);
}

static const char *directive_of(const json_t *item) {
    return json_string_value(json_object_get(item, "$patch"));
}

static bool contains(const json_t *list, const json_t *value) {
    size_t i;
    const json_t *each;

    json_array_foreach(list, i, each) {
        if (json_equal(each, value))
            return true;
    }
    return false;
}

/* Whether item has the keys of wanted; a key that wanted leaves out has its default, or any value.
 */
static bool matches(const struct schema *list, const json_t *item, const json_t *wanted) {
    const char *keys[SCHEMA_KEYS_MAX];

    schema_list_kind(list, keys);
    for (int i = 0; i < SCHEMA_KEYS_MAX && keys[i]; i++) {
        const struct schema *key = schema_property(schema_items(list), keys[i]);
        const json_t *preset = json_object_get(schema_openapi(key), "default");
        const json_t *has = json_object_get(item, keys[i]);
        const json_t *wants = json_object_get(wanted, keys[i]);

        has = has ? has : preset;
        wants = wants ? wants : preset;
        if (wants && (!has || !json_equal(has, wants)))
            return false;
    }
    return json_is_object(item);
}

/* Orders what the order names; the rest keeps its place relative to what was there before. */
static int put_in_order(json_t *list, const json_t *order, const struct schema *schema,
                        size_t old_count, struct err *err) {
    const char *keys[SCHEMA_KEYS_MAX];
    const bool is_set = schema_list_kind(schema, keys) == SCHEMA_LIST_SET;
    const size_t count = json_array_size(list);
    size_t named = 0;
    size_t rest = 0;

    if (!json_is_array(order))
        return err_set(err, ERR_INVALID, "$setElementOrder: not a list");
    struct rank *ranks = str_alloc(count + 1, sizeof *ranks);
    struct rank *others = str_alloc(count + 1, sizeof *others);

    for (size_t i = 0; i < count; i++) {
        json_t *item = json_array_get(list, i);
        size_t at = 0;

        while (at < json_array_size(order) &&
               !(is_set ? json_equal(item, json_array_get(order, at))
                        : matches(schema, item, json_array_get(order, at))))
            at++;
        if (at < json_array_size(order))
            ranks[named++] = (struct rank){json_incref(item), i, at};
        else
            others[rest++] = (struct rank){json_incref(item), i, at};
    }
    qsort(ranks, named, sizeof *ranks, by_wanted);
    json_array_clear(list);
    for (size_t i = 0, j = 0; i < named || j < rest;) {
        const bool rest_first = i == named || (j < rest && ranks[i].place < old_count &&
                                               others[j].place < ranks[i].place);

        json_array_append_new(list, rest_first ? others[j++].item : ranks[i++].item);
    }
    free(ranks);
    free(others);
    return 0;
}

static int by_wanted(const void *a, const void *b) {
    const struct rank *x = a;
    const struct rank *y = b;

    return x->wanted != y->wanted ? (x->wanted < y->wanted ? -1 : 1)
                                  : (x->place > y->place) - (x->place < y->place);
}
