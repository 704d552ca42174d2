#include "base/yaml.h"

#include "unit.h"

#include "base/str.h"

static json_t *parse_owned(const char *text) {
    json_t *root = NULL;
    struct err err = {0};

    if (yaml_parse(text, strlen(text), &root, &err) < 0)
        fail_msg("%s", err.msg);
    return root;
}

static void refuse(const char *text, const char *words) {
    json_t *root = NULL;
    struct err err = {0};

    assert_int_equal(yaml_parse(text, strlen(text), &root, &err), ERR_INVALID);
    assert_null(root);
    if (!strstr(err.msg, words))
        fail_msg("'%s' does not say '%s'", err.msg, words);
}

static void plain_scalars_have_kubectls_types(void **state) {
    static const struct {
        const char *text;
        const char *json;
    } rows[] = {
        {"a: 1", "{\"a\":1}"},
        {"a: -7", "{\"a\":-7}"},
        {"a: 012", "{\"a\":\"012\"}"},
        {"a: 1.5", "{\"a\":1.5}"},
        {"a: 1e400", "{\"a\":\"1e400\"}"},
        {"a: 99999999999999999999", "{\"a\":1e20}"},
        {"a: '1'", "{\"a\":\"1\"}"},
        {"a: ~", "{\"a\":null}"},
        {"a:", "{\"a\":null}"},
        {"a: ''", "{\"a\":\"\"}"},
        {"a: 25%", "{\"a\":\"25%\"}"},
        {"a: gz-3", "{\"a\":\"gz-3\"}"},
        {"- 1\n- [a, {b: c}]", "[1,[\"a\",{\"b\":\"c\"}]]"},
        {"{\"a\": [true, null]}", "{\"a\":[true,null]}"},
        {"a: &x {k: v}\nb: *x", "{\"a\":{\"k\":\"v\"},\"b\":{\"k\":\"v\"}}"},
        {"---\na: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *got = parse_owned(rows[i].text);
        json_t *want = json_loads(rows[i].json, 0, NULL);

        if (!json_equal(got, want))
            fail_msg("%s is not %s", rows[i].text, rows[i].json);
        json_decref(got);
        json_decref(want);
    }
}

static void MZ_036_plain_words_become_booleans_and_quoted_ones_stay(void **state) {
    json_t *root = parse_owned("{a: yes, b: off, c: \"on\", d: True, e: No, f: y}");

    (void)state;
    assert_true(json_is_true(json_object_get(root, "a")));
    assert_true(json_is_false(json_object_get(root, "b")));
    assert_string_equal(json_string_value(json_object_get(root, "c")), "on");
    assert_true(json_is_true(json_object_get(root, "d")));
    assert_true(json_is_false(json_object_get(root, "e")));
    assert_true(json_is_true(json_object_get(root, "f")));
    json_decref(root);
}

static void MZ_037_repeated_key_names_both_lines(void **state) {
    (void)state;
    refuse("spec:\n  caps: 1\n  replicas: 10\n  caps: 2\n",
           "line 4: key \"caps\" was given on line 2 already");
    refuse("{\"a\": 1, \"a\": 2}", "line 1: key \"a\"");
}

static void MZ_041_all_or_nothing(void **state) {
    (void)state;
    refuse("a: &d {k: v}\n---\nb: *d\n", "");
    refuse("a: 1\n---\nb: 2\n", "second document");
    refuse("a: 1\nb: *nowhere\n", "line 2");
}

static void bad_documents_name_the_line(void **state) {
    (void)state;
    refuse("", "no document");
    refuse("a: [1\nb: 2", "line 2");
    refuse("a: 1\n\tb: 2", "line");
    refuse("? [a]\n: b", "line 1: a key must be text");
    refuse("a: \"\\xff", "line 1");
}

/* A billion laughs and a ring end at the bounds; the deepest legal document is read. */
static void aliases_and_depth_are_bounded(void **state) {
    struct str text;

    (void)state;
    str_init(&text, 1 << 20);
    str_addf(&text, NULL, "a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 9; i++)
        str_addf(&text, NULL, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    refuse(text.data, "more than");
    refuse("a: &a [*a]\n", "nested deeper than");
    for (int depth = YAML_DEPTH_MAX - 1; depth <= YAML_DEPTH_MAX; depth++) {
        str_clear(&text);
        for (int i = 0; i < depth; i++)
            str_add(&text, "[", 1, NULL);
        str_add(&text, "1", 1, NULL);
        for (int i = 0; i < depth; i++)
            str_add(&text, "]", 1, NULL);
        if (depth < YAML_DEPTH_MAX)
            json_decref(parse_owned(text.data));
        else
            refuse(text.data, "nested deeper than");
    }
    str_done(&text);
}

/* Appends each document as JSON and a blank; "stop" ends it. */
static int note(void *arg, json_t *root, struct err *err) {
    char *text = json_dumps(root, JSON_COMPACT | JSON_ENCODE_ANY);
    const int stop = strcmp(text, "\"stop\"") == 0;

    str_addf(arg, err, "%s ", text);
    free(text);
    return stop ? err_set(err, ERR_RETRY, "stopped") : 0;
}

static void documents_come_one_by_one(void **state) {
    static const struct {
        const char *text;
        int count;
        const char *seen;
    } rows[] = {
        {"", 0, ""},
        {"# nothing\n", 0, ""},
        {"---\n---\n# still nothing\n---\n", 0, ""},
        {"a: 1", 1, "{\"a\":1} "},
        {"---\na: 1\n---\n---\nb: 2\n...\n---\n[c]\n---\n", 3, "{\"a\":1} {\"b\":2} [\"c\"] "},
        {"{\"a\": 1}\n---\n{\"b\": 2}", 2, "{\"a\":1} {\"b\":2} "},
        {"a: 1\n---\nstop\n---\nb: 2", ERR_RETRY, "{\"a\":1} \"stop\" "},
        {"a: 1\n---\nb: [\n---\nc: 3", ERR_INVALID, "{\"a\":1} "},
        {"a: 1\n---\nb: 1\nb: 2", ERR_INVALID, "{\"a\":1} "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        struct str seen;

        str_init(&seen, 1000);
        const int r = yaml_each(rows[i].text, strlen(rows[i].text), note, &seen, &err);

        if (r != rows[i].count || strcmp(seen.data ? seen.data : "", rows[i].seen) != 0)
            fail_msg("%s: %d %s (%s)", rows[i].text, r, seen.data, err.msg);
        assert_int_equal(err.code, r < 0 ? r : 0);
        str_done(&seen);
    }
}

static int count_up(void *arg, json_t *root, struct err *err) {
    (void)root;
    (void)err;
    ++*(int *)arg;
    return 0;
}

static void the_bound_is_on_all_documents_together(void **state) {
    struct err err = {0};
    struct str text;
    int seen = 0;

    (void)state;
    str_init(&text, 10 * YAML_NODES_MAX);
    for (int i = 0; i <= YAML_NODES_MAX; i++)
        str_add(&text, "---\n1\n", 6, NULL);
    assert_int_equal(yaml_each(text.data, text.size_bytes - 6, count_up, &seen, &err),
                     YAML_NODES_MAX);
    assert_int_equal(seen, YAML_NODES_MAX);
    assert_int_equal(yaml_each(text.data, text.size_bytes, count_up, &seen, &err), ERR_INVALID);
    str_done(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scalars_have_kubectls_types),
        cmocka_unit_test(MZ_036_plain_words_become_booleans_and_quoted_ones_stay),
        cmocka_unit_test(MZ_037_repeated_key_names_both_lines),
        cmocka_unit_test(MZ_041_all_or_nothing),
        cmocka_unit_test(bad_documents_name_the_line),
        cmocka_unit_test(aliases_and_depth_are_bounded),
        cmocka_unit_test(documents_come_one_by_one),
        cmocka_unit_test(the_bound_is_on_all_documents_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
