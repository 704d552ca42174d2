#include "unit.h"

#include "api/labelselector.h"

static json_t *read_json(const char *text) {
    json_error_t error;
    json_t *json = text ? json_loads(text, JSON_DECODE_ANY, &error) : NULL;

    if (text && !json)
        fail_msg("%s: %s", text, error.text);
    return json;
}

static int match(const char *selector, const char *labels, struct err *err) {
    json_t *of = read_json(selector), *on = read_json(labels);
    const int r = labelselector_matches(of, on, err);

    json_decref(of);
    json_decref(on);
    return r;
}

#define ONE(key, op, values)                                                                       \
    "{\"matchExpressions\":[{\"key\":\"" key "\",\"operator\":\"" op "\"" values "}]}"
#define VALUES(list) ",\"values\":[" list "]"

static void test_every_operator(void **state) {
    (void)state;
    static const struct {
        const char *selector;
        const char *labels;
        int want;
    } rows[] = {
        {NULL, NULL, 1},
        {NULL, "{\"a\":\"1\"}", 1},
        {"null", "{\"a\":\"1\"}", 1},
        {"{}", NULL, 1},
        {"{\"matchLabels\":{},\"matchExpressions\":[]}", "{}", 1},
        {"{\"matchLabels\":null,\"matchExpressions\":null}", "{}", 1},
        {"{\"matchLabels\":{\"a\":\"1\"}}", "{\"a\":\"1\",\"b\":\"2\"}", 1},
        {"{\"matchLabels\":{\"a\":\"1\"}}", "{\"a\":\"2\"}", 0},
        {"{\"matchLabels\":{\"a\":\"1\"}}", NULL, 0},
        {"{\"matchLabels\":{\"a\":\"\"}}", "{}", 0},
        {"{\"matchLabels\":{\"a\":\"\"}}", "{\"a\":\"\"}", 1},
        {"{\"matchLabels\":{\"a\":\"1\",\"b\":\"2\"}}", "{\"a\":\"1\",\"b\":\"3\"}", 0},
        {ONE("a", "In", VALUES("\"1\",\"2\"")), "{\"a\":\"2\"}", 1},
        {ONE("a", "In", VALUES("\"1\",\"2\"")), "{\"a\":\"3\"}", 0},
        {ONE("a", "In", VALUES("\"1\",\"2\"")), "{}", 0},
        {ONE("a", "In", VALUES("\"\"")), "{\"a\":\"\"}", 1},
        {ONE("a", "NotIn", VALUES("\"1\",\"2\"")), "{\"a\":\"2\"}", 0},
        {ONE("a", "NotIn", VALUES("\"1\",\"2\"")), "{\"a\":\"3\"}", 1},
        {ONE("a", "NotIn", VALUES("\"1\",\"2\"")), NULL, 1},
        {ONE("a", "Exists", ""), "{\"a\":\"\"}", 1},
        {ONE("a", "Exists", ""), "{\"b\":\"\"}", 0},
        {ONE("a", "Exists", VALUES("")), "{\"a\":\"1\"}", 1},
        {ONE("a", "DoesNotExist", ""), "{\"a\":\"\"}", 0},
        {ONE("a", "DoesNotExist", ""), "{\"b\":\"\"}", 1},
        {"{\"matchLabels\":{\"a\":\"1\"},\"matchExpressions\":"
         "[{\"key\":\"b\",\"operator\":\"Exists\"}]}",
         "{\"a\":\"1\"}", 0},
        {"{\"matchLabels\":{\"a\":\"1\"},\"matchExpressions\":"
         "[{\"key\":\"b\",\"operator\":\"Exists\"}]}",
         "{\"a\":\"1\",\"b\":\"\"}", 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = {0};
        const int r = match(rows[i].selector, rows[i].labels, &err);

        if (r != rows[i].want)
            fail_msg("%s on %s: %d %s", rows[i].selector, rows[i].labels, r, err.msg);
    }
}

/* Whatever the labels are, also when an earlier part already says no: a selector is right or wrong
 * for every cluster alike. */
static void test_what_cannot_be_read_is_named(void **state) {
    (void)state;
    static const char *const labels[] = {NULL, "{}", "{\"a\":\"1\"}", "{\"a\":\"2\",\"z\":\"\"}"};
    static const struct {
        const char *selector;
        const char *named;
    } rows[] = {
        {"\"a=1\"", "not an object"},
        {"[]", "not an object"},
        {"{\"matchLabels\":[\"a\"]}", "matchLabels"},
        {"{\"matchLabels\":{\"z\":\"\",\"a\":1}}", "matchLabels.a"},
        {"{\"matchExpressions\":{}}", "matchExpressions"},
        {"{\"matchExpressions\":[3]}", "key and operator"},
        {"{\"matchExpressions\":[{\"key\":\"a\"}]}", "key and operator"},
        {"{\"matchExpressions\":[{\"operator\":\"Exists\"}]}", "key and operator"},
        {ONE("a", "in", VALUES("\"1\"")), "'in'"},
        {ONE("a", "Gt", VALUES("\"1\"")), "'Gt'"},
        {ONE("a", "", ""), "''"},
        {ONE("a", "In", ""), "values"},
        {ONE("a", "In", VALUES("")), "values"},
        {ONE("a", "NotIn", ""), "values"},
        {ONE("a", "NotIn", ",\"values\":\"1\""), "values"},
        {ONE("a", "In", VALUES("\"1\",2")), "values"},
        {ONE("a", "Exists", VALUES("\"1\"")), "values"},
        {ONE("a", "DoesNotExist", VALUES("\"1\"")), "values"},
        {"{\"matchLabels\":{\"z\":\"no\"},\"matchExpressions\":"
         "[{\"key\":\"z\",\"operator\":\"Near\"}]}",
         "'Near'"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof labels / sizeof *labels; k++) {
            struct err err = {0};
            const int r = match(rows[i].selector, labels[k], &err);

            if (r != ERR_INVALID || !strstr(err.msg, rows[i].named))
                fail_msg("%s on %s: %d '%s'", rows[i].selector, labels[k], r, err.msg);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operator),
        cmocka_unit_test(test_what_cannot_be_read_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
