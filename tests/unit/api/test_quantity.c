#include "unit.h"

#include "api/quantity.h"

enum unit { MILLI, WHOLE, BYTES };

static int read_as(enum unit unit, const char *text, int64_t *ret, struct err *err) {
    switch (unit) {
    case MILLI:
        return quantity_milli(text, ret, err);
    case WHOLE:
        return quantity_whole(text, ret, err);
    case BYTES:
        return quantity_bytes(text, ret, err);
    }
    return -1;
}

static void quantity_reads_exactly_and_rounds_up(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum unit unit;
        int64_t want;
    } rows[] = {
        {"0", MILLI, 0},
        {"1", MILLI, 1000},
        {"250m", MILLI, 250},
        {"0.1", MILLI, 100},
        {"0.0001", MILLI, 1},
        {"100u", MILLI, 1},
        {"1n", MILLI, 1},
        {"2k", MILLI, 2000000},
        {".5", MILLI, 500},
        {"5.", MILLI, 5000},
        {"+1", MILLI, 1000},
        {"1e-64", MILLI, 1},
        {"1500m", WHOLE, 2},
        {"2000m", WHOLE, 2},
        {"110", WHOLE, 110},
        {"1Ki", BYTES, 1024},
        {"400Mi", BYTES, 419430400},
        {"8Gi", BYTES, 8589934592},
        {"1.6Gi", BYTES, 1717986919}, /* 1717986918.4 */
        {"4G", BYTES, 4000000000},
        {"1e3", BYTES, 1000},
        {"1E3", BYTES, 1000},
        {"1E", BYTES, 1000000000000000000},
        {"0.5Ei", BYTES, 576460752303423488},
        {"0.123456789012345678Ei", BYTES, 142335986942043633},
        {"9223372036854775807", BYTES, INT64_MAX},
        {"9223372036854775.807", MILLI, INT64_MAX},
        {"7Ei", BYTES, 8070450532247928832},
        {"0e9999999", BYTES, 0},
        {"0m", BYTES, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t got = -1;
        struct err err = {0};

        if (read_as(rows[i].unit, rows[i].text, &got, &err) != 0 || got != rows[i].want)
            fail_msg("%s: got %lld, want %lld (%s)", rows[i].text, (long long)got,
                     (long long)rows[i].want, err.msg);
    }
}

static void quantity_refuses_what_is_none(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",
        "m",
        ".",
        "-1",
        "-500m",
        "1 Gi",
        " 1",
        "1gi",
        "1KI",
        "1mi",
        "1.2.3",
        "1ee",
        "1e",
        "0x10",
        "1e+",
        "1Gi ",
        "1GiB",
        "++1",
        "8Ei",
        "1e19",
        "1e64",
        "99999999999E",
        "9223372036854775808",
        "99999999999999999999999999999999999999999999",
        "1111111111111111111111111111111111111111111111111111111111111111111",
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t got = 7;
        struct err err = {0};

        if (quantity_bytes(rows[i], &got, &err) != ERR_INVALID || got != 7 || !err.msg[0])
            fail_msg("'%s' was accepted as %lld", rows[i], (long long)got);
    }
    int64_t got;

    assert_int_equal(quantity_bytes(NULL, &got, NULL), ERR_INVALID);
    assert_int_equal(quantity_milli("9223372036854776", &got, NULL), ERR_INVALID);
}

static void MZ_040_memory_in_thousandths_is_refused_with_what_was_meant(void **state) {
    (void)state;
    int64_t bytes = 7;
    struct err err = {0};

    assert_int_equal(quantity_bytes("400m", &bytes, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "0.4 bytes; did you mean 400Mi?"));
    assert_int_equal(bytes, 7);
    assert_int_equal(quantity_bytes("400e-3", &bytes, &err), ERR_INVALID);
    assert_int_equal(quantity_milli("400m", &bytes, &err), 0); /* of CPU it is usual */
    assert_int_equal(bytes, 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantity_reads_exactly_and_rounds_up),
        cmocka_unit_test(quantity_refuses_what_is_none),
        cmocka_unit_test(MZ_040_memory_in_thousandths_is_refused_with_what_was_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
