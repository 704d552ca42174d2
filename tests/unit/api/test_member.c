#include "unit.h"

#include "api/member.h"

enum reader { OBJECT, ARRAY, TEXT, COUNT, COUNT32, BOOL, TIME, NAME };

struct output {
    char text[4];
    int64_t count;
    int32_t count32;
    bool flag;
    const char *name;
};

static int read_as(enum reader reader, const char *json, struct names *names, struct output *out) {
    struct jsonpull pull;

    jsonpull_init(&pull, json, strlen(json));
    switch (reader) {
    case OBJECT:
        return member_object(&pull, NULL);
    case ARRAY:
        return member_array(&pull, NULL);
    case TEXT:
        return member_text(&pull, out->text, sizeof(out->text), NULL);
    case COUNT:
        return member_count(&pull, 9, &out->count, NULL);
    case COUNT32:
        return member_count32(&pull, &out->count32, NULL);
    case BOOL:
        return member_bool(&pull, &out->flag, NULL);
    case TIME:
        return member_time(&pull, &out->count, NULL);
    case NAME:
        return member_name(&pull, names, &out->name, NULL);
    }
    return -100;
}

static void each_reader_tells_value_null_and_fault_apart(void **state) {
    static const struct {
        enum reader reader;
        const char *json;
        int want;
    } rows[] = {
        {OBJECT, "{\"a\":1}", 1},
        {OBJECT, "[]", ERR_INVALID},
        {OBJECT, "", ERR_INVALID},
        {ARRAY, "[]", 1},
        {ARRAY, "{}", ERR_INVALID},
        {ARRAY, "nul", ERR_INVALID},
        {TEXT, "\"\"", 1},
        {TEXT, "\"abc\"", 1},
        {TEXT, "\"\\u0061bc\"", 1},
        {TEXT, "\"abcd\"", ERR_INVALID},
        {TEXT, "7", ERR_INVALID},
        {TEXT, "\"a\\u0000\"", ERR_INVALID},
        {COUNT, "0", 1},
        {COUNT, "9", 1},
        {COUNT, "10", ERR_INVALID},
        {COUNT, "-1", ERR_INVALID},
        {COUNT, "1.0", ERR_INVALID},
        {COUNT, "\"1\"", ERR_INVALID},
        {COUNT32, "2147483647", 1},
        {COUNT32, "2147483648", ERR_INVALID},
        {BOOL, "false", 1},
        {BOOL, "0", ERR_INVALID},
        {TIME, "\"\"", ERR_INVALID},
        {TIME, "7", ERR_INVALID},
        {NAME, "\"n\"", 1},
        {NAME, "{}", ERR_INVALID},
    };
    struct names *names = names_new(1);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct output out = {.count = -7, .count32 = -7};

        if (read_as(rows[i].reader, rows[i].json, names, &out) != rows[i].want ||
            (rows[i].want < 0 && (out.count != -7 || out.count32 != -7 || out.name)))
            fail_msg("%s", rows[i].json);
        names_drop(names, out.name);
    }
    names_free(names);
}

static void null_keeps_the_output(void **state) {
    (void)state;
    for (int reader = OBJECT; reader <= NAME; reader++) {
        struct output out = {.text = "old", .count = 7, .count32 = 7, .flag = true};

        assert_int_equal(read_as((enum reader)reader, "null", NULL, &out), 0);
        assert_string_equal(out.text, "old");
        assert_int_equal(out.count, 7);
        assert_int_equal(out.count32, 7);
        assert_true(out.flag);
    }
}

static void a_name_takes_the_place_of_the_one_before(void **state) {
    struct names *names = names_new(2);
    struct output out = {0};

    (void)state;
    assert_int_equal(read_as(NAME, "\"a\"", names, &out), 1);
    assert_int_equal(read_as(NAME, "\"a\"", names, &out), 1);
    assert_int_equal(read_as(NAME, "\"\\u0062\"", names, &out), 1);
    assert_string_equal(out.name, "b");
    assert_int_equal(names_count(names), 1);
    assert_int_equal(read_as(NAME, "\"\"", names, &out), 1);
    assert_null(out.name);
    assert_int_equal(read_as(NAME, "\"a\"", names, &out), 1);
    assert_int_equal(read_as(NAME, "null", names, &out), 0);
    assert_null(out.name);
    assert_int_equal(names_count(names), 0);
    names_free(names);
}

static void a_full_table_keeps_the_name_before(void **state) {
    struct names *names = names_new(1);
    struct output out = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(member_hold(names, "abc", 2, &out.name, &err), 0);
    assert_string_equal(out.name, "ab");
    assert_int_equal(member_hold(names, "xyz", 2, &out.name, &err), ERR_RETRY);
    assert_string_equal(out.name, "ab");
    assert_string_equal(err.msg, "no room for the name 'xy' beside 1 others");
    names_free(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reader_tells_value_null_and_fault_apart),
        cmocka_unit_test(null_keeps_the_output),
        cmocka_unit_test(a_name_takes_the_place_of_the_one_before),
        cmocka_unit_test(a_full_table_keeps_the_name_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
