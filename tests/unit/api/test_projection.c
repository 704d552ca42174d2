#include "unit.h"

#include "api/member.h"
#include "api/projection.h"

/* Reads spec.size and status.size; leaves everything else. */
struct sizes {
    int64_t spec;
    int64_t status;
};

static int read_spec(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                     struct err *err) {
    struct sizes *sizes = arg;

    return jsonpull_text_is(key, "size") ? member_count(pull, 99, &sizes->spec, err) : 0;
}

static int read_status(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                       struct err *err) {
    struct sizes *sizes = arg;

    return jsonpull_text_is(key, "size") ? member_count(pull, 99, &sizes->status, err) : 0;
}

static int read_text(const char *json, struct sizes *ret_sizes, struct meta *ret_meta,
                     struct err *err) {
    const struct projection projection = {
        .read_spec = read_spec, .read_status = read_status, .arg = ret_sizes};

    return projection_read(&projection, json, strlen(json), ret_meta, err);
}

static void sections_come_in_any_order_and_may_be_missing(void **state) {
    static const struct {
        const char *json;
        int64_t spec;
        int64_t status;
    } rows[] = {
        {"{\"metadata\":{\"name\":\"n\"}}", 0, 0},
        {"{\"spec\":null,\"metadata\":{\"name\":\"n\"},\"status\":null}", 0, 0},
        {"{\"status\":{\"size\":2},\"spec\":{\"x\":{\"size\":9},\"size\":1},\"size\":8,"
         "\"metadata\":{\"name\":\"n\",\"size\":7}}",
         1, 2},
        {" {\"metadata\":{\"name\":\"n\"},\"spec\":{\"size\":3,\"y\":[{\"size\":9}]}} ", 3, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sizes sizes = {0};
        struct meta meta;

        assert_int_equal(read_text(rows[i].json, &sizes, &meta, NULL), 0);
        assert_string_equal(meta.key, "n");
        assert_int_equal(sizes.spec, rows[i].spec);
        assert_int_equal(sizes.status, rows[i].status);
    }
}

static void a_complaint_says_where(void **state) {
    static const struct {
        const char *json;
        const char *want;
    } rows[] = {
        {"{\"spec\":{}}", "metadata: missing"},
        {"{\"metadata\":{}}", "metadata.name: missing"},
        {"{\"spec\":{\"size\":100}}", "spec.size: 100 is not from 0 to 99"},
        {"{\"metadata\":{\"name\":\"n\",\"namespace\":\"s\"},\"status\":{\"size\":-1}}",
         "s/n: status.size: -1 is not from 0 to 99"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sizes sizes = {0};
        struct meta meta = {.generation = 9};
        struct err err = {0};

        assert_int_equal(read_text(rows[i].json, &sizes, &meta, &err), ERR_INVALID);
        assert_string_equal(err.msg, rows[i].want);
        assert_int_equal(meta.generation, 9);
    }
}

static void what_is_skipped_is_validated(void **state) {
    static const char *const rows[] = {
        "",
        "null",
        "{\"metadata\":{\"name\":\"n\"},\"kind\":\"\xff\"}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"x\":[1,]}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":7}",
        "{\"metadata\":{\"name\":\"n\"}}{}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sizes sizes = {0};
        struct meta meta;

        if (read_text(rows[i], &sizes, &meta, NULL) != ERR_INVALID)
            fail_msg("%s", rows[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_come_in_any_order_and_may_be_missing),
        cmocka_unit_test(a_complaint_says_where),
        cmocka_unit_test(what_is_skipped_is_validated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
