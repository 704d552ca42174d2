#include "base/json.h"

#include <string.h>

/* 1 with the value, 0 if absent or null; an error if obj is something else than an object. */
static int find(const json_t *obj, const char *key, const json_t **ret_value, struct err *err) {
    if (obj && !json_is_object(obj))
        return err_set(err, ERR_INVALID, "%s: asked of what is not an object", key);
    const json_t *value = json_object_get(obj, key);

    if (!value || json_is_null(value))
        return 0;
    *ret_value = value;
    return 1;
}

enum json_presence json_presence(const json_t *obj, const char *key) {
    const json_t *value = json_object_get(obj, key);

    return !value ? JSON_ABSENT : json_is_null(value) ? JSON_ISNULL : JSON_SET;
}

int json_count(const json_t *obj, const char *key, int64_t *ret_count, struct err *err) {
    const json_t *value = NULL;
    const int r = find(obj, key, &value, err);

    if (r <= 0)
        return r;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return err_set(err, ERR_INVALID, "%s: not a whole number of 0 or more", key);
    *ret_count = json_integer_value(value);
    return 1;
}

int json_int(const json_t *obj, const char *key, int64_t *ret_value, struct err *err) {
    const json_t *value = NULL;
    const int r = find(obj, key, &value, err);

    if (r <= 0)
        return r;
    if (!json_is_integer(value))
        return err_set(err, ERR_INVALID, "%s: not a whole number", key);
    *ret_value = json_integer_value(value);
    return 1;
}

int json_flag(const json_t *obj, const char *key, bool *ret_flag, struct err *err) {
    const json_t *value = NULL;
    const int r = find(obj, key, &value, err);

    if (r <= 0)
        return r;
    if (!json_is_boolean(value))
        return err_set(err, ERR_INVALID, "%s: neither true nor false", key);
    *ret_flag = json_is_true(value);
    return 1;
}

int json_text(const json_t *obj, const char *key, const char **ret_text, struct err *err) {
    const json_t *value = NULL;
    const int r = find(obj, key, &value, err);

    if (r <= 0)
        return r;
    if (!json_is_string(value))
        return err_set(err, ERR_INVALID, "%s: not a string", key);
    if (strlen(json_string_value(value)) != json_string_length(value))
        return err_set(err, ERR_INVALID, "%s: holds U+0000", key);
    *ret_text = json_string_value(value);
    return 1;
}

int json_child(const json_t *obj, const char *key, const json_t **ret_child, struct err *err) {
    const json_t *value = NULL;
    const int r = find(obj, key, &value, err);

    if (r <= 0)
        return r;
    if (!json_is_object(value))
        return err_set(err, ERR_INVALID, "%s: not an object", key);
    *ret_child = value;
    return 1;
}

int json_list(const json_t *obj, const char *key, const json_t **ret_list, struct err *err) {
    const json_t *value = NULL;
    const int r = find(obj, key, &value, err);

    if (r <= 0)
        return r;
    if (!json_is_array(value))
        return err_set(err, ERR_INVALID, "%s: not an array", key);
    *ret_list = value;
    return 1;
}
