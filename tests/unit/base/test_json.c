#include "base/json.h"

#include "unit.h"

static json_t *sample(void) {
    json_t *obj = json_loads("{\"null\":null,\"zero\":0,\"empty\":\"\",\"false\":false,\"seven\":7,"
                             "\"minus\":-7,\"real\":1.0,\"text\":\"a\",\"nul\":\"a\\u0000b\","
                             "\"object\":{},\"array\":[],\"true\":true}",
                             JSON_ALLOW_NUL, NULL);

    assert_non_null(obj);
    return obj;
}

/* Absent, null, 0, "" and false are five answers. */
static void C25_nothing_null_zero_empty_and_false_differ(void **state) {
    json_t *obj = sample();
    int64_t number = 42;
    const char *text = "untouched";
    bool flag = true;

    (void)state;
    assert_int_equal(json_presence(obj, "absent"), JSON_ABSENT);
    assert_int_equal(json_presence(obj, "null"), JSON_ISNULL);
    assert_int_equal(json_presence(obj, "zero"), JSON_SET);
    assert_int_equal(json_presence(obj, "empty"), JSON_SET);
    assert_int_equal(json_presence(obj, "false"), JSON_SET);
    assert_int_equal(json_presence(NULL, "zero"), JSON_ABSENT);

    assert_int_equal(json_count(obj, "absent", &number, NULL), 0);
    assert_int_equal(json_count(obj, "null", &number, NULL), 0);
    assert_int_equal(json_int(obj, "null", &number, NULL), 0);
    assert_int_equal(json_text(obj, "null", &text, NULL), 0);
    assert_int_equal(json_flag(obj, "null", &flag, NULL), 0);
    assert_int_equal(number, 42);
    assert_string_equal(text, "untouched");
    assert_true(flag);

    assert_int_equal(json_count(obj, "zero", &number, NULL), 1);
    assert_int_equal(number, 0);
    assert_int_equal(json_text(obj, "empty", &text, NULL), 1);
    assert_string_equal(text, "");
    assert_int_equal(json_flag(obj, "false", &flag, NULL), 1);
    assert_false(flag);
    assert_int_equal(json_flag(obj, "true", &flag, NULL), 1);
    assert_true(flag);
    json_decref(obj);
}

static void C25_each_reader_takes_its_own_type(void **state) {
    json_t *obj = sample();
    const char *key;
    json_t *value;

    (void)state;
    json_object_foreach(obj, key, value) {
        struct err err = {0};
        int64_t number = 42;
        const char *text = NULL;
        const json_t *child = NULL, *list = NULL;
        bool flag;
        const int none = json_is_null(value) ? 0 : ERR_INVALID;
        const bool nul = strcmp(key, "nul") == 0;
        const bool whole = json_is_integer(value);

        assert_int_equal(json_int(obj, key, &number, NULL), whole ? 1 : none);
        assert_int_equal(json_count(obj, key, &number, NULL),
                         whole && strcmp(key, "minus") ? 1 : none);
        assert_int_equal(json_flag(obj, key, &flag, NULL), json_is_boolean(value) ? 1 : none);
        assert_int_equal(json_child(obj, key, &child, NULL), json_is_object(value) ? 1 : none);
        assert_int_equal(json_list(obj, key, &list, NULL), json_is_array(value) ? 1 : none);
        assert_int_equal(json_text(obj, key, &text, &err),
                         json_is_string(value) && !nul ? 1 : none);
        if (err.code)
            assert_memory_equal(err.msg, key, strlen(key)); /* the error names the key */
        assert_int_equal(child != NULL, json_is_object(value));
        assert_int_equal(list != NULL, json_is_array(value));
    }
    json_decref(obj);
}

static void C25_a_real_is_no_whole_number_here_either(void **state) {
    json_t *obj = sample();
    struct err err;
    int64_t number = 42;

    (void)state;
    assert_int_equal(json_int(obj, "real", &number, &err), ERR_INVALID);
    assert_string_equal(err.msg, "real: not a whole number");
    assert_int_equal(json_count(obj, "minus", &number, &err), ERR_INVALID);
    assert_string_equal(err.msg, "minus: not a whole number of 0 or more");
    assert_int_equal(number, 42);
    json_decref(obj);
}

static void a_missing_parent_has_no_keys_but_a_wrong_one_is_an_error(void **state) {
    json_t *array = json_array();
    int64_t number;

    (void)state;
    assert_int_equal(json_int(NULL, "a", &number, NULL), 0);
    assert_int_equal(json_int(array, "a", &number, NULL), ERR_INVALID);
    json_decref(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C25_nothing_null_zero_empty_and_false_differ),
        cmocka_unit_test(C25_each_reader_takes_its_own_type),
        cmocka_unit_test(C25_a_real_is_no_whole_number_here_either),
        cmocka_unit_test(a_missing_parent_has_no_keys_but_a_wrong_one_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
