#include "unit.h"

#include "api/intorpercent.h"

static int parse(const char *json, struct intorpercent *ret, struct err *err) {
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    int r = intorpercent_parse(value, ret, err);

    json_decref(value);
    return r;
}

static void MZ_029_surge_rounds_up_and_unavailable_down(void **state) {
    (void)state;
    struct intorpercent quarter;
    struct intorpercent one;
    int32_t surge;
    int32_t unavailable;

    assert_int_equal(parse("\"25%\"", &quarter, NULL), 0);
    assert_int_equal(parse("1", &one, NULL), 0);
    intorpercent_rollout(quarter, quarter, 10, &surge, &unavailable);
    assert_int_equal(surge, 3);
    assert_int_equal(unavailable, 2);
    assert_int_equal(intorpercent_of(one, 10, true), 1);
    assert_int_equal(intorpercent_of(quarter, 1000000000, true), 250000000);
}

static void MZ_029_both_zero_raises_unavailable(void **state) {
    (void)state;
    static const char *const zeros[] = {"0", "\"0%\"", "\"1%\""};
    int32_t surge;
    int32_t unavailable;

    for (size_t i = 0; i < 3; i++) {
        struct intorpercent none;
        struct intorpercent value;

        assert_int_equal(parse("0", &none, NULL), 0);
        assert_int_equal(parse(zeros[i], &value, NULL), 0);
        intorpercent_rollout(none, value, 10, &surge, &unavailable);
        assert_int_equal(surge, 0);
        assert_int_equal(unavailable, 1);
    }
}

static void MZ_029_other_forms_are_refused_and_shown_the_valid_ones(void **state) {
    (void)state;
    static const char *const rows[] = {
        "\"1\"", "\"2.5%\"", "2.5",      "-1",        "\"-1%\"",  "\"101%\"",
        "\"%\"", "\"\"",     "\"25 %\"", "\"25%%\"",  "\"025%\"", "2147483648",
        "true",  "null",     "{}",       "\"1000%\"",
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct intorpercent value = {.value = 7};
        struct err err = {0};

        if (parse(rows[i], &value, &err) != ERR_INVALID || value.value != 7)
            fail_msg("%s was accepted", rows[i]);
        if (!strstr(err.msg, rows[i]) || !strstr(err.msg, "such as 3") ||
            !strstr(err.msg, "\"25%\""))
            fail_msg("%s: %s", rows[i], err.msg);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(MZ_029_surge_rounds_up_and_unavailable_down),
        cmocka_unit_test(MZ_029_both_zero_raises_unavailable),
        cmocka_unit_test(MZ_029_other_forms_are_refused_and_shown_the_valid_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
