#include "api/meta.h"

#include "api/member.h"
#include "base/json.h"
#include "base/timestamp.h"

#include <stdio.h>
#include <string.h>

static int finish(struct meta *meta, struct err *err) {
    if (!*meta->name)
        return err_set(err, ERR_INVALID, "metadata.name: missing");
    snprintf(meta->key, sizeof(meta->key), "%s%s%s", meta->ns, *meta->ns ? "/" : "", meta->name);
    return 0;
}

/* The listed key that this is; NULL if it is none. */
static const char *listed(const char *const *list, const struct jsonpull_text *key) {
    for (; list && *list; list++)
        if (jsonpull_text_is(key, *list))
            return *list;
    return NULL;
}

/* Hands on one entry that is wanted. */
static int take_entry(struct jsonpull *pull, const struct meta_wanted *wanted,
                      const char *const *list, bool all, const struct jsonpull_text *key,
                      struct err *err) {
    char room[NAMES_TEXT_MAX + 1];
    char value[META_VALUE_MAX + 1];
    const char *name = listed(list, key);
    struct jsonpull_text text;
    size_t size_bytes;
    int r;

    if (!name && !all)
        return 0;
    if (!name && (r = jsonpull_text_copy(key, room, sizeof(room), &size_bytes, err)) < 0)
        return r;
    if ((r = jsonpull_text(pull, &text, err)) < 0)
        return r;
    if (jsonpull_text_copy(&text, value, sizeof(value), &size_bytes, NULL) < 0)
        return 0;
    return wanted->sink(wanted->arg, name ? name : room, value, err);
}

static int read_map(struct jsonpull *pull, const struct meta_wanted *wanted,
                    const char *const *list, bool all, struct err *err) {
    struct jsonpull_text key;
    int r;

    if (!wanted || !wanted->sink || (!list && !all))
        return 0;
    if ((r = member_object(pull, err)) <= 0)
        return r;
    while ((r = jsonpull_next_key(pull, &key, err)) > 0)
        if ((r = take_entry(pull, wanted, list, all, &key, err)) < 0)
            return r;
    return r;
}

/* One entry of managedFields: the manager and its subresource may come in either order. */
static int read_manager(struct jsonpull *pull, const struct meta_wanted *wanted, struct err *err) {
    char subresource[META_VALUE_MAX + 1] = "";
    const char *manager = NULL;
    struct jsonpull_text key, text;
    int r = member_object(pull, err);

    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        size_t size_bytes;

        if (jsonpull_text_is(&key, "manager")) {
            if ((r = jsonpull_text(pull, &text, err)) < 0)
                return r;
            manager = listed(wanted->managers, &text);
        } else if (jsonpull_text_is(&key, "subresource")) {
            if ((r = jsonpull_text(pull, &text, err)) < 0)
                return r;
            if (jsonpull_text_copy(&text, subresource, sizeof(subresource), &size_bytes, NULL) < 0)
                *subresource = '\0';
        }
        r = 1;
    }
    return r < 0 || !manager ? r : wanted->sink(wanted->arg, manager, subresource, err);
}

static int read_managers(struct jsonpull *pull, const struct meta_wanted *wanted, struct err *err) {
    int r;

    if (!wanted || !wanted->sink || !wanted->managers)
        return 0;
    if ((r = member_array(pull, err)) <= 0)
        return r;
    while ((r = jsonpull_next_item(pull, err)) > 0)
        if ((r = read_manager(pull, wanted, err)) < 0)
            return r;
    return r;
}

static int read_field(struct jsonpull *pull, const struct jsonpull_text *key,
                      const struct meta_wanted *wanted, struct meta *meta, struct err *err) {
    if (jsonpull_text_is(key, "name"))
        return member_text(pull, meta->name, sizeof(meta->name), err);
    if (jsonpull_text_is(key, "namespace"))
        return member_text(pull, meta->ns, sizeof(meta->ns), err);
    if (jsonpull_text_is(key, "uid"))
        return member_text(pull, meta->uid, sizeof(meta->uid), err);
    if (jsonpull_text_is(key, "resourceVersion"))
        return member_text(pull, meta->rv, sizeof(meta->rv), err);
    if (jsonpull_text_is(key, "generation"))
        return member_count(pull, INT64_MAX, &meta->generation, err);
    if (jsonpull_text_is(key, "creationTimestamp"))
        return member_time(pull, &meta->created_ms, err);
    if (jsonpull_text_is(key, "deletionTimestamp")) {
        const int r = jsonpull_null(pull, err);

        meta->deleting = r == 0;
        return r;
    }
    if (jsonpull_text_is(key, "labels"))
        return read_map(pull, wanted, wanted ? wanted->labels : NULL, wanted && wanted->all_labels,
                        err);
    if (jsonpull_text_is(key, "annotations"))
        return read_map(pull, wanted, wanted ? wanted->annotations : NULL, false, err);
    if (jsonpull_text_is(key, "managedFields"))
        return read_managers(pull, wanted, err);
    return 0;
}

int meta_read(struct jsonpull *pull, const struct meta_wanted *wanted, struct meta *ret_meta,
              struct err *err) {
    struct meta meta = {0};
    struct jsonpull_text key;
    int r = jsonpull_enter_object(pull, err);

    if (r < 0)
        return err_wrap(err, r, "metadata");
    while ((r = jsonpull_next_key(pull, &key, err)) > 0)
        if ((r = read_field(pull, &key, wanted, &meta, err)) < 0)
            return err_wrap(err, r, "metadata.%.*s", key.size_bytes < 40 ? (int)key.size_bytes : 40,
                            key.bytes);
    if (r < 0 || (r = finish(&meta, err)) < 0)
        return r;
    *ret_meta = meta;
    return 0;
}

static int copy_text(const json_t *metadata, const char *key, char *room, size_t room_bytes,
                     struct err *err) {
    const char *text = NULL;
    int r = json_text(metadata, key, &text, err);

    if (r <= 0)
        return r;
    if (strlen(text) >= room_bytes)
        return err_set(err, ERR_INVALID, "%s: %zu bytes, at most %zu", key, strlen(text),
                       room_bytes - 1);
    memcpy(room, text, strlen(text) + 1);
    return 1;
}

static int copy_time(const json_t *metadata, const char *key, int64_t *ret_ms, struct err *err) {
    const char *text = NULL;
    int r = json_text(metadata, key, &text, err);

    return r <= 0 ? r : timestamp_parse(text, ret_ms, err);
}

static int take_json(const json_t *metadata, const char *field, const struct meta_wanted *wanted,
                     const char *const *list, bool all, struct err *err) {
    const json_t *map = NULL;
    const char *key;
    json_t *value;
    int r;

    if (!list && !all)
        return 0;
    if ((r = json_child(metadata, field, &map, err)) <= 0)
        return r;
    json_object_foreach((json_t *)(uintptr_t)map, key, value) {
        const struct jsonpull_text text = {.bytes = key, .size_bytes = strlen(key)};
        const char *name = listed(list, &text);

        if (!name && !all)
            continue;
        if (!json_is_string(value))
            return err_set(err, ERR_INVALID, "%s.%.60s: not a text", field, key);
        if (json_string_length(value) > META_VALUE_MAX ||
            json_string_length(value) != strlen(json_string_value(value)))
            continue;
        if ((r = wanted->sink(wanted->arg, name ? name : key, json_string_value(value), err)) < 0)
            return r;
    }
    return 0;
}

static int take_managers(const json_t *metadata, const struct meta_wanted *wanted,
                         struct err *err) {
    size_t i;
    json_t *entry;
    int r;

    if (!wanted->managers)
        return 0;
    json_array_foreach(json_object_get(metadata, "managedFields"), i, entry) {
        const char *name = json_string_value(json_object_get(entry, "manager"));
        const char *subresource = json_string_value(json_object_get(entry, "subresource"));
        const struct jsonpull_text text = {.bytes = name, .size_bytes = name ? strlen(name) : 0};
        const char *manager = name ? listed(wanted->managers, &text) : NULL;

        if (manager &&
            (r = wanted->sink(wanted->arg, manager, subresource ? subresource : "", err)) < 0)
            return r;
    }
    return 0;
}

static int read_json(const json_t *metadata, const struct meta_wanted *wanted, struct meta *meta,
                     struct err *err) {
    int r;

    if ((r = copy_text(metadata, "name", meta->name, sizeof(meta->name), err)) < 0 ||
        (r = copy_text(metadata, "namespace", meta->ns, sizeof(meta->ns), err)) < 0 ||
        (r = copy_text(metadata, "uid", meta->uid, sizeof(meta->uid), err)) < 0 ||
        (r = copy_text(metadata, "resourceVersion", meta->rv, sizeof(meta->rv), err)) < 0 ||
        (r = json_count(metadata, "generation", &meta->generation, err)) < 0 ||
        (r = copy_time(metadata, "creationTimestamp", &meta->created_ms, err)) < 0)
        return r;
    meta->deleting = json_presence(metadata, "deletionTimestamp") == JSON_SET;
    if (wanted && wanted->sink &&
        ((r = take_json(metadata, "labels", wanted, wanted->labels, wanted->all_labels, err)) < 0 ||
         (r = take_json(metadata, "annotations", wanted, wanted->annotations, false, err)) < 0 ||
         (r = take_managers(metadata, wanted, err)) < 0))
        return r;
    return finish(meta, err);
}

int meta_read_json(const json_t *root, const struct meta_wanted *wanted, struct meta *ret_meta,
                   struct err *err) {
    struct meta meta = {0};
    const json_t *metadata = NULL;
    int r = json_child(root, "metadata", &metadata, err);

    if (r < 0)
        return r;
    if ((r = read_json(metadata, wanted, &meta, err)) < 0)
        return err_wrap(err, r, "metadata");
    *ret_meta = meta;
    return 0;
}
