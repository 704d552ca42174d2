#include "api/fields.h"

#include "base/auto.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KNOWN_DEPTH_MAX 16

static void path_add(char *ret, const char *path, const char *key) {
    snprintf(ret, FIELDS_PATH_MAX, "%.60s%s%.32s", path, *path ? "." : "", key);
}

static const json_t *get(const struct fields *fields, const char *key) {
    const json_t *value = json_object_get(fields->object, key);

    return json_is_null(value) ? NULL : value;
}

/* "spec.x: VALUE <remedy>" */
static int refused(const struct fields *fields, const char *key, const char *remedy,
                   struct err *err) {
    auto_free char *shown = json_dumps(get(fields, key), JSON_ENCODE_ANY | JSON_COMPACT);

    return err_set(err, ERR_INVALID, "%.90s%s%.32s: %.40s %s", fields->path,
                   *fields->path ? "." : "", key, shown ? shown : "the value", remedy);
}

int fields_open(const json_t *value, const char *path, struct fields *ret_fields, struct err *err) {
    if (!json_is_object(value))
        return err_set(err, ERR_INVALID, "%.90s: must be an object; write its fields below it",
                       path);
    ret_fields->object = value;
    snprintf(ret_fields->path, sizeof(ret_fields->path), "%.90s", path);
    return 0;
}

int fields_child(const struct fields *fields, const char *key, struct fields *ret_child,
                 struct err *err) {
    char path[FIELDS_PATH_MAX];
    const json_t *value = get(fields, key);
    int r;

    path_add(path, fields->path, key);
    if (!value) {
        *ret_child = (struct fields){0};
        memcpy(ret_child->path, path, sizeof(path));
        return 0;
    }
    r = fields_open(value, path, ret_child, err);
    return r < 0 ? r : 1;
}

int fields_item(const struct fields *fields, const char *key, const json_t *list, size_t i,
                struct fields *ret_item, struct err *err) {
    char path[FIELDS_PATH_MAX];

    snprintf(path, sizeof(path), "%.50s.%.24s[%zu]", fields->path, key, i);
    return fields_open(json_array_get(list, i), path, ret_item, err);
}

int fields_int(const struct fields *fields, const char *key, int64_t min, int64_t max,
               int32_t *ret_value, struct err *err) {
    const json_t *value = get(fields, key);
    char remedy[80];

    if (!value)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max) {
        snprintf(remedy, sizeof(remedy), "is not a whole number from %lld to %lld", (long long)min,
                 (long long)max);
        return refused(fields, key, remedy, err);
    }
    *ret_value = (int32_t)json_integer_value(value);
    return 1;
}

int fields_bool(const struct fields *fields, const char *key, bool *ret_value, struct err *err) {
    const json_t *value = get(fields, key);

    if (!value)
        return 0;
    if (!json_is_boolean(value))
        return refused(fields, key, "is not true or false; write one of them without quotes", err);
    *ret_value = json_is_true(value);
    return 1;
}

int fields_text(const struct fields *fields, const char *key, size_t max, const char **ret_text,
                struct err *err) {
    const json_t *value = get(fields, key);
    char remedy[80];

    if (!value)
        return 0;
    if (!json_is_string(value))
        return refused(fields, key, "is not text; put it in quotes", err);
    if (json_string_length(value) < 1 || json_string_length(value) > max) {
        snprintf(remedy, sizeof(remedy), "must have 1 to %zu characters; or leave the field out",
                 max);
        return refused(fields, key, remedy, err);
    }
    *ret_text = json_string_value(value);
    return 1;
}

int fields_text_required(const struct fields *fields, const char *key, size_t max,
                         const char **ret_text, struct err *err) {
    int r = fields_text(fields, key, max, ret_text, err);

    if (r == 0)
        return err_set(err, ERR_INVALID, "%s.%s: missing; it is required", fields->path, key);
    return r;
}

int fields_enum(const struct fields *fields, const char *key, const char *const *names,
                int *ret_index, struct err *err) {
    const json_t *value = get(fields, key);
    char remedy[120] = "is not one of";
    size_t len = strlen(remedy);

    if (!value)
        return 0;
    for (int i = 0; names[i]; i++) {
        if (json_is_string(value) && strcmp(json_string_value(value), names[i]) == 0) {
            *ret_index = i;
            return 1;
        }
        if (len < sizeof(remedy))
            len += (size_t)snprintf(remedy + len, sizeof(remedy) - len, "%s %s", i ? "," : "",
                                    names[i]);
    }
    return refused(fields, key, remedy, err);
}

int fields_list(const struct fields *fields, const char *key, size_t max, const json_t **ret_list,
                struct err *err) {
    const json_t *value = get(fields, key);

    *ret_list = NULL;
    if (!value)
        return 0;
    if (!json_is_array(value))
        return refused(fields, key, "is not a list; write its items as [a, b]", err);
    if (json_array_size(value) > max)
        return err_set(err, ERR_INVALID, "%s.%s: %zu items, at most %zu; remove some", fields->path,
                       key, json_array_size(value), max);
    *ret_list = value;
    return 1;
}

int fields_names(const struct fields *fields, const char *key, size_t max, char ***ret_names,
                 int32_t *ret_count, struct err *err) {
    const json_t *list;
    int r = fields_list(fields, key, max, &list, err);

    if (r <= 0)
        return r;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);

        if (!json_is_string(item) || json_string_length(item) < 1 || json_string_length(item) > 63)
            return err_set(err, ERR_INVALID,
                           "%s.%s[%zu]: must be text of 1 to 63 characters; put it in quotes",
                           fields->path, key, i);
        for (size_t j = 0; j < i; j++)
            if (json_equal(item, json_array_get(list, j)))
                return err_set(err, ERR_INVALID, "%s.%s[%zu]: \"%s\" stands there twice; remove it",
                               fields->path, key, i, json_string_value(item));
    }
    if (json_array_size(list) == 0)
        return 1;
    *ret_names = str_alloc(json_array_size(list), sizeof(**ret_names));
    *ret_count = (int32_t)json_array_size(list);
    for (int32_t i = 0; i < *ret_count; i++)
        (*ret_names)[i] = str_dup(json_string_value(json_array_get(list, (size_t)i)));
    return 1;
}

int fields_percent(const struct fields *fields, const char *key, struct intorpercent *ret_value,
                   struct err *err) {
    const json_t *value = get(fields, key);
    int r;

    if (!value)
        return 0;
    r = intorpercent_parse(value, ret_value, err);
    return r < 0 ? err_wrap(err, r, "%s.%s", fields->path, key) : 1;
}

int fields_check_texts(const struct fields *fields, const char *key, struct err *err) {
    struct fields map;
    const char *name;
    json_t *value;
    int r = fields_child(fields, key, &map, err);

    if (r <= 0)
        return r;
    json_object_foreach((json_t *)(uintptr_t)map.object, name, value) {
        if (json_is_string(value))
            continue;
        auto_free char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

        return err_set(err, ERR_INVALID, "%.90s.%.64s: %.40s is not text; put it in quotes",
                       map.path, name, shown ? shown : "the value");
    }
    return 0;
}

int fields_check_label(const char *path, const char *text, size_t max, struct err *err) {
    size_t len = strlen(text);
    bool good = len >= 1 && len <= max && text[0] != '-' && text[len - 1] != '-';

    for (size_t i = 0; i < len; i++)
        good = good && (islower((unsigned char)text[i]) || isdigit((unsigned char)text[i]) ||
                        text[i] == '-');
    if (good && !strstr(text, "--"))
        return 0;
    return err_set(err, ERR_INVALID,
                   "%.60s: \"%.64s\" must be lower-case letters, digits and single '-', begin and "
                   "end with a letter or digit, at most %zu long",
                   path, text, max);
}

/* Levenshtein, for short names; 99 for long ones. */
static int distance(const char *a, const char *b) {
    int row[40];
    size_t n = strlen(b);

    if (strlen(a) >= 40 || n >= 40)
        return 99;
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 1; a[i - 1]; i++) {
        int diagonal = row[0];

        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int best =
                diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

/* The last name of a path, and whether the path lies directly below parent. */
static const char *leaf(const char *path, const char *parent, bool *ret_sibling) {
    const char *dot = strrchr(path, '.');
    size_t len = dot ? (size_t)(dot - path) : 0;

    *ret_sibling = strlen(parent) == len && strncmp(path, parent, len) == 0;
    return dot ? dot + 1 : path;
}

static int unknown(const char *parent, const char *key, const char *const *known, struct err *err) {
    const char *meant = NULL;
    int best = 3; /* further apart is no slip of the finger */

    for (int i = 0; known[i]; i++) {
        bool sibling;
        const char *name = leaf(known[i], parent, &sibling);
        int d = distance(name, key);

        if (d > 0 && !sibling)
            continue; /* a name elsewhere counts only when it is the same: wrong indentation */
        if (d < best && d < (int)strlen(key)) {
            best = d;
            meant = known[i];
        }
    }
    return err_set(err, ERR_INVALID, "unknown field %.70s%s%.40s%s%.70s%s", parent,
                   *parent ? "." : "", key, meant ? " (did you mean " : "; remove it",
                   meant ? meant : "", meant ? "?)" : "");
}

static bool listed(const char *path, const char *const *known, bool *ret_open) {
    size_t len = strlen(path);
    bool found = false;

    *ret_open = false;
    for (int i = 0; known[i]; i++) {
        found = found || strcmp(known[i], path) == 0;
        if (strncmp(known[i], path, len) == 0 && (known[i][len] == '.' || known[i][len] == '['))
            *ret_open = true;
    }
    return found;
}

static int check_known(const json_t *value, const char *path, const char *const *known, int depth,
                       struct err *err) {
    const char *key;
    json_t *child;
    int r;

    json_object_foreach((json_t *)(uintptr_t)value, key, child) {
        auto_free char *below = str_printf("%s%s%s", path, *path ? "." : "", key);
        auto_free char *item = str_printf("%s[]", below);
        bool open;

        if (!listed(below, known, &open))
            return unknown(path, key, known, err);
        if (!open || depth == 0)
            continue;
        r = check_known(child, below, known, depth - 1, err);
        for (size_t i = 0; r == 0 && i < json_array_size(child); i++)
            r = check_known(json_array_get(child, i), item, known, depth - 1, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int fields_check_known(const json_t *root, const char *const *known, struct err *err) {
    return check_known(root, "", known, KNOWN_DEPTH_MAX, err);
}

int fields_header(const json_t *root, const char *kind, size_t name_max, const char **ret_name,
                  const char **ret_ns, struct err *err) {
    static const char *const versions[] = {"bulkhead.dev/v1alpha1", NULL};
    const char *const kinds[] = {kind, NULL};
    struct fields top = {.object = root};
    struct fields meta;
    const char *name;
    const char *ns = NULL;
    int index;
    int r;

    if (!json_is_object(root))
        return err_set(err, ERR_INVALID, "not a %s: the document is no object", kind);
    if ((r = fields_enum(&top, "apiVersion", versions, &index, err)) <= 0 ||
        (r = fields_enum(&top, "kind", kinds, &index, err)) <= 0)
        return r < 0 ? r
                     : err_set(err, ERR_INVALID, "not a %s: write apiVersion: %s and kind: %s",
                               kind, versions[0], kind);
    if ((r = fields_child(&top, "metadata", &meta, err)) < 0 ||
        (r = fields_text_required(&meta, "name", 253, &name, err)) < 0 ||
        (r = fields_text(&meta, "namespace", 63, &ns, err)) < 0 ||
        (r = fields_check_label("metadata.name", name, name_max, err)) < 0 ||
        (r = fields_check_texts(&meta, "labels", err)) < 0 ||
        (r = fields_check_texts(&meta, "annotations", err)) < 0)
        return r;
    *ret_name = name;
    *ret_ns = ns;
    return 0;
}
