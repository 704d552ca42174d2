#include "unit.h"

#include "api/meta.h"
#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>

#define START_MS INT64_C(1767607872000) /* 2026-01-05T10:11:12Z */

/* What a sink was told: "key=value;" each. */
struct told {
    char text[1024];
    size_t size_bytes;
    int answer;
};

static int tell(void *arg, const char *key, const char *value, struct err *err) {
    struct told *told = arg;

    told->size_bytes +=
        (size_t)snprintf(told->text + told->size_bytes, sizeof(told->text) - told->size_bytes,
                         "%.40s=%.40s;", key, value);
    return told->answer ? err_set(err, told->answer, "enough") : 0;
}

/* Both readers must agree on every document; gives the pull reader's result. */
static int read_both(const char *metadata, const struct meta_wanted *wanted, struct meta *ret_meta,
                     struct err *err) {
    auto_free char *root_text = str_printf("{\"metadata\":%s}", metadata);
    json_t *root = json_loads(root_text, JSON_ALLOW_NUL, NULL);
    struct told told = {0};
    struct meta_wanted other = wanted ? *wanted : (struct meta_wanted){0};
    struct meta meta = *ret_meta;
    struct jsonpull pull;
    int r;

    jsonpull_init(&pull, metadata, strlen(metadata));
    r = meta_read(&pull, wanted, ret_meta, err);
    if (!root)
        return r;
    if (wanted) {
        told.answer = ((struct told *)wanted->arg)->answer;
        other.arg = &told;
    }
    assert_int_equal(meta_read_json(root, wanted ? &other : NULL, &meta, NULL), r);
    assert_memory_equal(&meta, ret_meta, sizeof(meta));
    if (wanted && r == 0)
        assert_string_equal(told.text, ((struct told *)wanted->arg)->text);
    json_decref(root);
    return r;
}

static void reads_each_field(void **state) {
    struct meta meta = {0};

    (void)state;
    assert_int_equal(
        read_both("{\"managedFields\":[{\"f\":{}}],\"name\":\"web-1\",\"namespace\":\"shop\","
                  "\"uid\":\"0f3a\",\"resourceVersion\":\"184467\",\"generation\":7,"
                  "\"creationTimestamp\":\"2026-01-05T10:11:12Z\",\"labels\":{\"a\":\"b\"}}",
                  NULL, &meta, NULL),
        0);
    assert_string_equal(meta.key, "shop/web-1");
    assert_string_equal(meta.ns, "shop");
    assert_string_equal(meta.name, "web-1");
    assert_string_equal(meta.uid, "0f3a");
    assert_string_equal(meta.rv, "184467");
    assert_int_equal(meta.generation, 7);
    assert_int_equal(meta.created_ms, START_MS);
    assert_false(meta.deleting);
}

static void null_reads_as_absent(void **state) {
    static const struct {
        const char *json;
        bool deleting;
    } rows[] = {
        {"{\"name\":\"n\"}", false},
        {"{\"name\":\"n\",\"namespace\":null,\"uid\":null,\"resourceVersion\":null,"
         "\"generation\":null,\"creationTimestamp\":null,\"deletionTimestamp\":null,"
         "\"labels\":null,\"annotations\":null}",
         false},
        {"{\"deletionTimestamp\":\"2026-01-05T10:11:12Z\",\"name\":\"n\",\"namespace\":\"\"}",
         true},
    };
    static const char *const list[] = {"a", NULL};
    struct told told = {0};
    const struct meta_wanted wanted = {
        .labels = list, .annotations = list, .sink = tell, .arg = &told};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct meta meta = {.generation = 9};

        assert_int_equal(read_both(rows[i].json, &wanted, &meta, NULL), 0);
        assert_string_equal(meta.key, "n");
        assert_string_equal(meta.uid, "");
        assert_int_equal(meta.generation, 0);
        assert_int_equal(meta.created_ms, 0);
        assert_int_equal(meta.deleting, rows[i].deleting);
    }
    assert_string_equal(told.text, "");
}

static void refuses_what_is_no_metadata(void **state) {
    static const char *const rows[] = {
        "[]",
        "7",
        "{}",
        "{\"name\":\"\"}",
        "{\"name\":null}",
        "{\"name\":7}",
        "{\"name\":\"a\\u0000b\"}",
        "{\"name\":\"n\",\"uid\":{}}",
        "{\"name\":\"n\",\"generation\":-1}",
        "{\"name\":\"n\",\"generation\":1.0}",
        "{\"name\":\"n\",\"generation\":\"1\"}",
        "{\"name\":\"n\",\"creationTimestamp\":\"today\"}",
        "{\"name\":\"n\",\"creationTimestamp\":7}",
        "{\"name\":\"n\",\"labels\":[]}",
        "{\"name\":\"n\",\"labels\":{\"a\":1}}",
        "{\"name\":\"n\",\"labels\":{\"a\":null}}",
        "{\"name\":\"n\"",
        "{\"name\":\"n\",\"x\":nul}",
    };
    static const char *const list[] = {"a", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct told told = {0};
        const struct meta_wanted wanted = {.labels = list, .sink = tell, .arg = &told};
        struct meta meta = {.generation = 9};
        struct err err = {0};

        if (read_both(rows[i], &wanted, &meta, &err) != ERR_INVALID || meta.generation != 9 ||
            !*err.msg)
            fail_msg("%s", rows[i]);
    }
}

static void texts_fit_or_are_refused(void **state) {
    static const struct {
        const char *field;
        size_t max;
    } rows[] = {{"name", 253}, {"namespace", 63}, {"uid", 63}, {"resourceVersion", 127}};
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t more = 0; more < 2; more++) {
            struct meta meta = {0};

            memset(text, 'x', sizeof(text));
            text[rows[i].max + more] = '\0';
            auto_free char *json =
                str_printf("{\"%s\":\"n\",\"%s\":\"%s\"}", i ? "name" : "uid", rows[i].field, text);

            assert_int_equal(read_both(json, NULL, &meta, NULL), more ? ERR_INVALID : 0);
        }
}

static void the_longest_key_fits(void **state) {
    char name[254];
    char ns[64];
    struct meta meta = {0};

    (void)state;
    memset(name, 'n', sizeof(name));
    memset(ns, 's', sizeof(ns));
    name[253] = ns[63] = '\0';
    auto_free char *json = str_printf("{\"name\":\"%s\",\"namespace\":\"%s\"}", name, ns);
    auto_free char *key = str_printf("%s/%s", ns, name);

    assert_int_equal(read_both(json, NULL, &meta, NULL), 0);
    assert_string_equal(meta.key, key);
}

static void only_wanted_entries_are_told(void **state) {
    static const char *const labels[] = {"app", "zone", NULL};
    static const char *const annotations[] = {"hash", NULL};
    static const char json[] =
        "{\"name\":\"n\",\"labels\":{\"x\":\"1\",\"zone\":\"a\",\"hash\":\"2\",\"\\u0061pp\":\"w\\"
        "u0065b\"},\"annotations\":{\"app\":\"no\",\"hash\":\"v1:77\",\"other\":\"y\"}}";
    static const struct {
        struct meta_wanted wanted;
        const char *want;
    } rows[] = {
        {{.labels = labels}, "zone=a;app=web;"},
        {{.annotations = annotations}, "hash=v1:77;"},
        {{.labels = labels, .annotations = annotations}, "zone=a;app=web;hash=v1:77;"},
        {{.all_labels = true}, "x=1;zone=a;hash=2;app=web;"},
        {{.labels = NULL}, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct meta_wanted wanted = rows[i].wanted;
        struct told told = {0};
        struct meta meta = {0};

        wanted.sink = tell;
        wanted.arg = &told;
        assert_int_equal(read_both(json, &wanted, &meta, NULL), 0);
        assert_string_equal(told.text, rows[i].want);
    }
}

static void wanted_field_managers_are_told_with_their_subresource(void **state) {
    static const char *const managers[] = {"ours", "ours-scale", NULL};
    static const struct {
        const char *fields;
        const char *want;
    } rows[] = {
        {"[{\"manager\":\"ours\",\"fieldsV1\":{\"f:spec\":{\"manager\":\"no\"}}}]", "ours=;"},
        {"[{\"manager\":\"ours-scale\",\"subresource\":\"scale\"}]", "ours-scale=scale;"},
        {"[{\"subresource\":\"scale\",\"time\":null,\"manager\":\"ours-scale\"},"
         "{\"manager\":\"kubectl\",\"subresource\":\"status\"},{\"manager\":\"ours\"}]",
         "ours-scale=scale;ours=;"},
        {"[{}]", ""},
        {"[]", ""},
        {"null", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct told told = {0};
        const struct meta_wanted wanted = {.managers = managers, .sink = tell, .arg = &told};
        struct meta meta = {0};
        auto_free char *json = str_printf("{\"managedFields\":%s,\"name\":\"n\"}", rows[i].fields);

        assert_int_equal(read_both(json, &wanted, &meta, NULL), 0);
        assert_string_equal(told.text, rows[i].want);
    }
}

static void a_value_too_long_reads_as_absent(void **state) {
    static const char *const labels[] = {"app", "zone", NULL};

    (void)state;
    for (size_t more = 0; more < 2; more++) {
        struct told told = {0};
        const struct meta_wanted wanted = {.labels = labels, .sink = tell, .arg = &told};
        struct meta meta = {0};
        char value[META_VALUE_MAX + 2] = {0};

        memset(value, 'v', META_VALUE_MAX + more);
        auto_free char *json =
            str_printf("{\"name\":\"n\",\"labels\":{\"app\":\"%s\",\"zone\":\"a\"}}", value);

        assert_int_equal(read_both(json, &wanted, &meta, NULL), 0);
        assert_int_equal(strncmp(told.text, "app=vvv", 7) == 0, !more);
        assert_non_null(strstr(told.text, "zone=a;"));
    }
}

static void a_sink_ends_the_reading(void **state) {
    struct told told = {.answer = ERR_RETRY};
    const struct meta_wanted wanted = {.all_labels = true, .sink = tell, .arg = &told};
    struct meta meta = {.generation = 9};
    struct err err = {0};

    (void)state;
    assert_int_equal(
        read_both("{\"name\":\"n\",\"labels\":{\"a\":\"1\",\"b\":\"2\"}}", &wanted, &meta, &err),
        ERR_RETRY);
    assert_string_equal(told.text, "a=1;");
    assert_non_null(strstr(err.msg, "enough"));
    assert_int_equal(meta.generation, 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_field),
        cmocka_unit_test(null_reads_as_absent),
        cmocka_unit_test(refuses_what_is_no_metadata),
        cmocka_unit_test(texts_fit_or_are_refused),
        cmocka_unit_test(the_longest_key_fits),
        cmocka_unit_test(only_wanted_entries_are_told),
        cmocka_unit_test(wanted_field_managers_are_told_with_their_subresource),
        cmocka_unit_test(a_value_too_long_reads_as_absent),
        cmocka_unit_test(a_sink_ends_the_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
