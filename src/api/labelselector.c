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

static int expression_matches(const json_t *expression, const json_t *labels, struct err *err) {
    const char *key = json_string_value(json_object_get(expression, "key"));
    const char *operator= json_string_value(json_object_get(expression, "operator"));
    const json_t *values = json_object_get(expression, "values");

    if (!key || !operator)
        return err_set(err, ERR_INVALID, "matchExpressions[]: key and operator are required");
    const char *value = json_string_value(json_object_get(labels, key));

    if (strcmp(operator, "In") == 0)
        return value && one_of(values, value);
    if (strcmp(operator, "NotIn") == 0)
        return !value || !one_of(values, value);
    if (strcmp(operator, "Exists") == 0)
        return value != NULL;
    if (strcmp(operator, "DoesNotExist") == 0)
        return value == NULL;
    return err_set(
        err, ERR_INVALID,
        "matchExpressions[].operator: '%s' is not In, NotIn, Exists or DoesNotExist", operator);
}

int labelselector_matches(const json_t *selector, const json_t *labels, struct err *err) {
    const char *key;
    json_t *wanted;
    size_t i;

    json_object_foreach(json_object_get(selector, "matchLabels"), key, wanted) {
        const char *value = json_string_value(json_object_get(labels, key));

        if (!json_is_string(wanted))
            return err_set(err, ERR_INVALID, "matchLabels.%s: not text", key);
        if (!value || strcmp(value, json_string_value(wanted)) != 0)
            return 0;
    }
    json_array_foreach(json_object_get(selector, "matchExpressions"), i, wanted) {
        const int r = expression_matches(wanted, labels, err);

        if (r <= 0)
            return r;
    }
    return 1;
}
