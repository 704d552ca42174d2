#include "apiserver/fieldset.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum combine { UNION, INTERSECTION, DIFFERENCE };

/* How paths are collected. */
enum collect {
    STATED, /* what an applied object says: leaves, items, entries */
    EVERY,  /* what came or went as a whole: everything on the way too */
};

static const struct fieldset EMPTY;

static struct fieldset *step_add(struct fieldset *set, const char *name);
static void step_put(struct fieldset *set, const char *name, struct fieldset below);
static void step_drop(struct fieldset *set, const char *name);
static int parse(const json_t *fields_v1, struct fieldset *set, int depth, struct err *err);
static char *canonical_step(const char *name);
static struct fieldset combine(const struct fieldset *a, const struct fieldset *b,
                               enum combine how);
static int collect(const json_t *value, const struct schema *schema, enum collect how, int depth,
                   struct fieldset *set, struct err *err);
static int collect_items(const json_t *list, const struct schema *schema, enum collect how,
                         int depth, struct fieldset *set, struct err *err);
static void compare(const json_t *before, const json_t *after, const struct schema *schema,
                    int depth, struct fieldset *changed, struct fieldset *removed);
static void compare_maps(const json_t *before, const json_t *after, const struct schema *schema,
                         int depth, struct fieldset *changed, struct fieldset *removed);
static void compare_lists(const json_t *before, const json_t *after, const struct schema *schema,
                          int depth, struct fieldset *changed, struct fieldset *removed);
static void compare_step(const char *name, const json_t *before, const json_t *after,
                         const struct schema *schema, int depth, struct fieldset *changed,
                         struct fieldset *removed);
static void each(const struct fieldset *set, struct str *path, fieldset_path *taker, void *arg);
static void add_step_words(struct str *path, const char *step);

void fieldset_done(struct fieldset *set) {
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++) {
        free(set->steps[i].name);
        fieldset_done(&set->steps[i].below);
    }
    free(set->steps);
    *set = (struct fieldset){0};
}

int fieldset_parse(const json_t *fields_v1, struct fieldset *ret_set, struct err *err) {
    struct fieldset set = {0};
    const int r = parse(fields_v1, &set, 0, err);

    set.has = false;
    if (r < 0)
        fieldset_done(&set);
    else
        *ret_set = set;
    return r;
}

json_t *fieldset_json_new(const struct fieldset *set) {
    json_t *out = json_object();

    if (set->has && set->count)
        json_object_set_new(out, ".", json_object());
    for (size_t i = 0; i < set->count; i++)
        json_object_set_new(out, set->steps[i].name, fieldset_json_new(&set->steps[i].below));
    return out;
}

bool fieldset_is_empty(const struct fieldset *set) {
    return !set->has && set->count == 0; /* a step is only kept when something is below it */
}

bool fieldset_equals(const struct fieldset *a, const struct fieldset *b) {
    if (a->has != b->has || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->steps[i].name, b->steps[i].name) != 0 ||
            !fieldset_equals(&a->steps[i].below, &b->steps[i].below))
            return false;
    return true;
}

struct fieldset fieldset_union(const struct fieldset *a, const struct fieldset *b) {
    return combine(a, b, UNION);
}

struct fieldset fieldset_intersection(const struct fieldset *a, const struct fieldset *b) {
    return combine(a, b, INTERSECTION);
}

struct fieldset fieldset_difference(const struct fieldset *a, const struct fieldset *b) {
    return combine(a, b, DIFFERENCE);
}

/* Where name stands or would stand. */
static size_t step_at(const struct fieldset *set, const char *name, bool *ret_found) {
    size_t low = 0;
    size_t high = set->count;

    *ret_found = false;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const int order = strcmp(set->steps[mid].name, name);

        if (order == 0) {
            *ret_found = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct fieldset *fieldset_below(const struct fieldset *set, const char *step) {
    bool found = false;
    const size_t at = set ? step_at(set, step, &found) : 0;

    return found ? &set->steps[at].below : NULL;
}

void fieldset_strip(struct fieldset *set) {
    static const char *const SERVER_SETS[] = {"f:name",
                                              "f:namespace",
                                              "f:uid",
                                              "f:resourceVersion",
                                              "f:generation",
                                              "f:creationTimestamp",
                                              "f:selfLink",
                                              "f:managedFields",
                                              "f:deletionTimestamp",
                                              "f:deletionGracePeriodSeconds"};
    bool found;
    const size_t at = step_at(set, "f:metadata", &found);

    if (found) {
        struct fieldset *metadata = &set->steps[at].below;

        metadata->has = false;
        for (size_t i = 0; i < sizeof SERVER_SETS / sizeof *SERVER_SETS; i++)
            step_drop(metadata, SERVER_SETS[i]);
        if (fieldset_is_empty(metadata))
            step_drop(set, "f:metadata");
    }
    step_drop(set, "f:apiVersion");
    step_drop(set, "f:kind");
    set->has = false;
}

int fieldset_of(const json_t *object, const struct schema *schema, struct fieldset *ret_set,
                struct err *err) {
    struct fieldset set = {0};
    const int r = collect(object, schema, STATED, 0, &set, err);

    if (r < 0) {
        fieldset_done(&set);
        return r;
    }
    fieldset_strip(&set);
    *ret_set = set;
    return 0;
}

void fieldset_compare(const json_t *before, const json_t *after, const struct schema *schema,
                      struct fieldset *ret_changed, struct fieldset *ret_removed) {
    *ret_changed = (struct fieldset){0};
    *ret_removed = (struct fieldset){0};
    compare(before, after, schema, 0, ret_changed, ret_removed);
    fieldset_strip(ret_changed);
    fieldset_strip(ret_removed);
}

void fieldset_each(const struct fieldset *set, fieldset_path *taker, void *arg) {
    struct str path;

    str_init(&path, FIELDSET_PATH_SIZE - 1);
    each(set, &path, taker, arg);
    str_done(&path);
}

bool fieldset_is_granular(const json_t *value, const struct schema *schema, int depth) {
    const char *keys[SCHEMA_KEYS_MAX];

    if (depth >= FIELDSET_DEPTH_MAX)
        return false;
    if (json_is_object(value))
        return !schema_is_atomic_map(schema);
    return json_is_array(value) && schema_list_kind(schema, keys) != SCHEMA_LIST_ATOMIC;
}

bool fieldset_is_entry(const struct schema *schema, const char *key) {
    const struct schema *values = schema_items(schema);

    return values && schema_property(schema, key) == values;
}

char *fieldset_item_step(const struct schema *list, const json_t *item, struct err *err) {
    const char *names[SCHEMA_KEYS_MAX];
    json_auto_t *keys = NULL;

    if (schema_list_kind(list, names) == SCHEMA_LIST_SET) {
        if (!item || json_is_null(item) || json_is_object(item) || json_is_array(item)) {
            err_set(err, ERR_INVALID, "a set holds plain values only");
            return NULL;
        }
        auto_free char *text = json_dumps(item, JSON_COMPACT | JSON_ENCODE_ANY);

        return str_printf("v:%s", text);
    }
    if (!json_is_object(item)) {
        err_set(err, ERR_INVALID, "associative list with keys may not have non-map elements");
        return NULL;
    }
    keys = json_object();
    for (int i = 0; i < SCHEMA_KEYS_MAX && names[i]; i++) {
        const struct schema *key = schema_property(schema_items(list), names[i]);
        json_t *value = json_object_get(item, names[i]);

        if (!value)
            value = json_object_get(schema_openapi(key), "default");
        if (!value || json_is_null(value) || json_is_object(value) || json_is_array(value)) {
            err_set(err, ERR_INVALID,
                    "associative list with keys has an element that omits key field \"%.80s\" "
                    "(and doesn't have default value)",
                    names[i]);
            return NULL;
        }
        json_object_set(keys, names[i], value);
    }
    auto_free char *text = json_dumps(keys, JSON_COMPACT | JSON_SORT_KEYS);

    return str_printf("k:%s", text);
}

json_t *fieldset_index_new(const struct schema *list, const json_t *items) {
    json_t *index = json_object();
    size_t i;
    json_t *item;

    json_array_foreach(items, i, item) {
        auto_free char *step = fieldset_item_step(list, item, NULL);

        if (step && !json_object_get(index, step))
            json_object_set(index, step, item);
    }
    return index;
}

/* The set below a step, made if there is none; the caller makes it hold something. */
static struct fieldset *step_add(struct fieldset *set, const char *name) {
    bool found;
    const size_t at = step_at(set, name, &found);

    if (!found) {
        if (set->count == set->room_count) {
            set->room_count = set->room_count ? set->room_count * 2 : 4;
            set->steps = str_resize(set->steps, set->room_count, sizeof *set->steps);
        }
        memmove(set->steps + at + 1, set->steps + at, (set->count - at) * sizeof *set->steps);
        set->steps[at] = (struct fieldset_step){.name = str_dup(name)};
        set->count++;
    }
    return &set->steps[at].below;
}

/* Adds a step that is not there yet, and what is below it (taken over) unless that is empty. */
static void step_put(struct fieldset *set, const char *name, struct fieldset below) {
    if (fieldset_is_empty(&below))
        fieldset_done(&below);
    else
        *step_add(set, name) = below;
}

static void step_drop(struct fieldset *set, const char *name) {
    bool found;
    const size_t at = step_at(set, name, &found);

    if (!found)
        return;
    free(set->steps[at].name);
    fieldset_done(&set->steps[at].below);
    set->count--;
    memmove(set->steps + at, set->steps + at + 1, (set->count - at) * sizeof *set->steps);
}

static int parse(const json_t *fields_v1, struct fieldset *set, int depth, struct err *err) {
    const char *name;
    const json_t *below;

    if (!json_is_object(fields_v1))
        return err_set(err, ERR_INVALID, "fieldsV1: not an object");
    if (depth > FIELDSET_DEPTH_MAX)
        return err_set(err, ERR_INVALID, "fieldsV1: nested too deeply");
    set->has = set->has || json_object_size(fields_v1) == 0;
    json_object_foreach((json_t *)(uintptr_t)fields_v1, name, below) {
        if (strcmp(name, ".") == 0) {
            set->has = true;
            continue;
        }
        auto_free char *step = canonical_step(name);

        if (!step)
            return err_set(err, ERR_INVALID, "fieldsV1: %.80s is no path element", name);
        const int r = parse(below, step_add(set, step), depth + 1, err);

        if (r < 0)
            return r;
    }
    return 0;
}

/* The one way to write a step; NULL if it is none. Caller frees. */
static char *canonical_step(const char *name) {
    const char kind = name[0];

    if (kind == '\0' || name[1] != ':' || !strchr("fkvi", kind))
        return NULL;
    if (kind == 'f' || kind == 'i')
        return str_dup(name);
    json_auto_t *value = json_loads(name + 2, JSON_DECODE_ANY, NULL);

    if (!value || (kind == 'k') != json_is_object(value))
        return NULL;
    auto_free char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

    return str_printf("%c:%s", kind, text);
}

static struct fieldset combine(const struct fieldset *a, const struct fieldset *b,
                               enum combine how) {
    struct fieldset out = {0};
    size_t i = 0;
    size_t j = 0;

    out.has = how == UNION          ? a->has || b->has
              : how == INTERSECTION ? a->has && b->has
                                    : a->has && !b->has;
    while (i < a->count || j < b->count) {
        const int order = i == a->count   ? 1
                          : j == b->count ? -1
                                          : strcmp(a->steps[i].name, b->steps[j].name);
        const struct fieldset_step *step = order <= 0 ? &a->steps[i] : &b->steps[j];

        step_put(&out, step->name,
                 combine(order <= 0 ? &step->below : &EMPTY,
                         order >= 0 ? &b->steps[j].below : &EMPTY, how));
        i += order <= 0;
        j += order >= 0;
    }
    return out;
}

static int collect(const json_t *value, const struct schema *schema, enum collect how, int depth,
                   struct fieldset *set, struct err *err) {
    const char *key;
    const json_t *child;

    set->has = set->has || how == EVERY;
    if (!fieldset_is_granular(value, schema, depth) ||
        (json_object_size(value) == 0 && json_array_size(value) == 0)) {
        set->has = true;
        return 0;
    }
    if (json_is_array(value))
        return collect_items(value, schema, how, depth, set, err);
    json_object_foreach((json_t *)(uintptr_t)value, key, child) {
        auto_free char *name = str_printf("f:%s", key);
        struct fieldset *below = step_add(set, name);
        const int r = collect(child, schema_property(schema, key), how, depth + 1, below, err);

        if (r < 0)
            return err_wrap(err, r, "%.60s", key);
        below->has = below->has || fieldset_is_entry(schema, key);
    }
    return 0;
}

static int collect_items(const json_t *list, const struct schema *schema, enum collect how,
                         int depth, struct fieldset *set, struct err *err) {
    size_t i;
    const json_t *item;

    json_array_foreach(list, i, item) {
        auto_free char *step = fieldset_item_step(schema, item, err);

        if (!step && how == EVERY)
            continue; /* a stored list may be older than its keys */
        if (!step)
            return err_wrap(err, ERR_INVALID, "element %zu", i);
        if (how == STATED && fieldset_below(set, step))
            return err_set(err, ERR_INVALID, "duplicate entries for key %.120s", step + 2);
        struct fieldset *below = step_add(set, step);
        const int r = collect(item, schema_items(schema), how, depth + 1, below, err);

        if (r < 0)
            return r;
        below->has = true;
    }
    return 0;
}

static void compare(const json_t *before, const json_t *after, const struct schema *schema,
                    int depth, struct fieldset *changed, struct fieldset *removed) {
    const bool was = before && fieldset_is_granular(before, schema, depth);
    const bool is = after && fieldset_is_granular(after, schema, depth);

    if (was && is && json_is_object(before) && json_is_object(after)) {
        compare_maps(before, after, schema, depth, changed, removed);
    } else if (was && is && json_is_array(before) && json_is_array(after)) {
        compare_lists(before, after, schema, depth, changed, removed);
    } else if (before && after && !was && !is) {
        changed->has = !json_equal(before, after);
    } else {
        if (before)
            collect(before, schema, EVERY, depth, removed, NULL);
        if (after)
            collect(after, schema, EVERY, depth, changed, NULL);
    }
}

static void compare_maps(const json_t *before, const json_t *after, const struct schema *schema,
                         int depth, struct fieldset *changed, struct fieldset *removed) {
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)(uintptr_t)before, key, value) {
        auto_free char *name = str_printf("f:%s", key);

        compare_step(name, value, json_object_get(after, key), schema_property(schema, key), depth,
                     changed, removed);
    }
    json_object_foreach((json_t *)(uintptr_t)after, key, value) {
        auto_free char *name = str_printf("f:%s", key);

        if (!json_object_get(before, key))
            compare_step(name, NULL, value, schema_property(schema, key), depth, changed, removed);
    }
}

static void compare_lists(const json_t *before, const json_t *after, const struct schema *schema,
                          int depth, struct fieldset *changed, struct fieldset *removed) {
    json_auto_t *was = fieldset_index_new(schema, before);
    json_auto_t *is = fieldset_index_new(schema, after);
    const char *step;
    const json_t *item;

    json_object_foreach(was, step, item) compare_step(
        step, item, json_object_get(is, step), schema_items(schema), depth, changed, removed);
    json_object_foreach(is, step, item) {
        if (!json_object_get(was, step))
            compare_step(step, NULL, item, schema_items(schema), depth, changed, removed);
    }
}

static void compare_step(const char *name, const json_t *before, const json_t *after,
                         const struct schema *schema, int depth, struct fieldset *changed,
                         struct fieldset *removed) {
    struct fieldset changed_below = {0};
    struct fieldset removed_below = {0};

    compare(before, after, schema, depth + 1, &changed_below, &removed_below);
    step_put(changed, name, changed_below);
    step_put(removed, name, removed_below);
}

static void each(const struct fieldset *set, struct str *path, fieldset_path *taker, void *arg) {
    const size_t end = path->size_bytes;

    if (set->has)
        taker(arg, path->data ? path->data : "");
    for (size_t i = 0; i < set->count; i++) {
        add_step_words(path, set->steps[i].name);
        each(&set->steps[i].below, path, taker, arg);
        path->size_bytes = end;
        if (path->data)
            path->data[end] = '\0';
    }
}

/* What does not fit is left out: paths here are for people. */
static void add_step_words(struct str *path, const char *step) {
    const size_t left = path->limit_bytes - path->size_bytes;
    json_auto_t *keys = step[0] == 'k' ? json_loads(step + 2, 0, NULL) : NULL;
    struct str words;
    const char *key;
    const json_t *value;

    str_init(&words, left);
    if (step[0] == 'f')
        str_addf(&words, NULL, ".%.*s", (int)left - 1, step + 2);
    else if (!keys)
        str_addf(&words, NULL, "[=%.*s]", (int)left - 3, step + 2);
    json_object_foreach(keys, key, value) {
        auto_free char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

        str_addf(&words, NULL, "%s%s=%s", words.size_bytes ? "," : "[", key, text);
    }
    if (keys)
        str_addf(&words, NULL, "]");
    if (words.size_bytes)
        str_add(path, words.data, words.size_bytes, NULL);
    str_done(&words);
}
