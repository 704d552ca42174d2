#include "api/labelselector.h"

#include <stdbool.h>
#include <string.h>

static bool one_of(const json_t *values, const char *value) {
    size_t i;
    json_t *each;

    json_array_foreach((json_t *)values, i, each) {
        if (json_is_string(each) && strcmp(json_string_value(each), value) == 0)
            return true;
    }
    return false;
}

/* In and NotIn take texts, the other operators nothing. */
static int values_check(const json_t *values, const char *operator, bool wanted, struct err *err) {
    const size_t count = json_array_size(values);
    size_t texts = 0;

    while (texts < count && json_is_string(json_array_get(values, texts)))
        texts++;
    if (wanted ? count > 0 && texts == count
               : count == 0 && (!values || json_is_null(values) || json_is_array(values)))
        return 0;
    return err_set(err, ERR_INVALID, "matchExpressions[].values: operator %s needs %s", operator,
                   wanted ? "a list of texts" : "none");
}

static int expression_matches(const json_t *expression, const json_t *labels, struct err *err) {
    const char *key = json_string_value(json_object_get(expression, "key"));
    const char *operator= json_string_value(json_object_get(expression, "operator"));
    const json_t *values = json_object_get(expression, "values");

    if (!key || !operator)
        return err_set(err, ERR_INVALID, "matchExpressions[]: key and operator are required");
    const char *value = json_string_value(json_object_get(labels, key));
    const bool in = strcmp(operator, "In") == 0, not_in = strcmp(operator, "NotIn") == 0;
    const bool exists = strcmp(operator, "Exists") == 0;

    if (!in && !not_in && !exists && strcmp(operator, "DoesNotExist") != 0)
        return err_set(
            err, ERR_INVALID,
            "matchExpressions[].operator: '%s' is not In, NotIn, Exists or DoesNotExist", operator);
    if (values_check(values, operator, in || not_in, err) < 0)
        return ERR_INVALID;
    if (in || not_in)
        return (value && one_of(values, value)) == in;
    return (value != NULL) == exists;
}

static bool is_kind(const json_t *json, json_type type) {
    return !json || json_is_null(json) || json_typeof(json) == type;
}

int labelselector_matches(const json_t *selector, const json_t *labels, struct err *err) {
    const json_t *texts = json_object_get(selector, "matchLabels");
    const json_t *expressions = json_object_get(selector, "matchExpressions");
    int matches = 1;
    const char *key;
    json_t *wanted;
    size_t i;

    if (!is_kind(selector, JSON_OBJECT))
        return err_set(err, ERR_INVALID, "the selector is not an object");
    if (!is_kind(texts, JSON_OBJECT))
        return err_set(err, ERR_INVALID, "matchLabels: not an object");
    if (!is_kind(expressions, JSON_ARRAY))
        return err_set(err, ERR_INVALID, "matchExpressions: not a list");
    /* All of it, also after a no: what is wrong is wrong for any labels. */
    json_object_foreach((json_t *)texts, key, wanted) {
        const char *value = json_string_value(json_object_get(labels, key));

        if (!json_is_string(wanted))
            return err_set(err, ERR_INVALID, "matchLabels.%s: not text", key);
        if (!value || strcmp(value, json_string_value(wanted)) != 0)
            matches = 0;
    }
    json_array_foreach((json_t *)expressions, i, wanted) {
        const int r = expression_matches(wanted, labels, err);

        if (r < 0)
            return r;
        matches &= r;
    }
    return matches;
}
