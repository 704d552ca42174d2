#include "unit.h"

#include "base/random.h"
#include "base/timestamp.h"

#include <stdio.h>

#define DAY_MS INT64_C(86400000)

static void reads_what_the_format_allows(void **state) {
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1969-12-31T23:59:59Z", -1000},
        {"1969-12-31T23:59:59.999Z", -1},
        {"2026-01-05T10:11:12Z", INT64_C(1767607872000)},
        {"2026-01-05T10:11:12.5Z", INT64_C(1767607872500)},
        {"2026-01-05T10:11:12.123456789012Z", INT64_C(1767607872123)},
        {"2026-01-05T10:11:12+00:00", INT64_C(1767607872000)},
        {"2026-01-05T10:11:12-00:00", INT64_C(1767607872000)},
        {"2026-01-05T11:41:12+01:30", INT64_C(1767607872000)},
        {"2026-01-04T10:12:12-23:59", INT64_C(1767607872000)},
        {"2000-02-29T00:00:00Z", INT64_C(951782400000)},
        {"0000-01-01T00:00:00Z", TIMESTAMP_MIN_MS},
        {"0000-02-29T00:00:00Z", TIMESTAMP_MIN_MS + 59 * DAY_MS},
        {"9999-12-31T23:59:59.9999999Z", TIMESTAMP_MAX_MS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        int64_t got = 1;

        if (timestamp_parse(rows[i].text, &got, &err) != 0 || got != rows[i].want)
            fail_msg("%s: %lld %s", rows[i].text, (long long)got, err.msg);
    }
}

static void refuses_everything_else(void **state) {
    static const char *const rows[] = {
        "",
        "2026-01-05",
        "2026-01-05T10:11:12",
        "2026-01-05 10:11:12Z",
        "2026-01-05t10:11:12Z",
        "2026-01-05T10:11:12z",
        "2026-01-05T10:11:12.Z",
        "2026-01-05T10:11:12,5Z",
        "2026-01-05T10:11:12Z ",
        " 2026-01-05T10:11:12Z",
        "2026-1-05T10:11:12Z",
        "02026-01-05T10:11:12Z",
        "-026-01-05T10:11:12Z",
        "2026-00-05T10:11:12Z",
        "2026-13-05T10:11:12Z",
        "2026-01-00T10:11:12Z",
        "2026-01-32T10:11:12Z",
        "2026-02-29T10:11:12Z",
        "1900-02-29T10:11:12Z",
        "2026-04-31T10:11:12Z",
        "2026-01-05T24:00:00Z",
        "2026-01-05T10:60:12Z",
        "2026-12-31T23:59:60Z",
        "2026-01-05T10:11:12+24:00",
        "2026-01-05T10:11:12+01:60",
        "2026-01-05T10:11:12+0100",
        "2026-01-05T10:11:12+01",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t got = 42;

        if (timestamp_parse(rows[i], &got, NULL) != ERR_INVALID || got != 42)
            fail_msg("'%s' was read as %lld", rows[i], (long long)got);
    }
    assert_int_equal(timestamp_parse(NULL, &(int64_t){0}, NULL), ERR_INVALID);
}

/* Counts the days one by one, as a calendar on the wall does. */
static void every_day_of_ten_thousand_years(void **state) {
    int64_t ms = TIMESTAMP_MIN_MS;

    (void)state;
    for (int year = 0; year <= 9999; year++) {
        const int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        const int months[] = {31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= months[month - 1]; day++, ms += DAY_MS) {
                char text[TIMESTAMP_SIZE];
                char want[64];
                int64_t got;

                timestamp_format(ms + 86399999, text);
                snprintf(want, sizeof(want), "%04d-%02d-%02dT23:59:59Z", year, month, day);
                if (strcmp(text, want) != 0 || timestamp_parse(text, &got, NULL) != 0 ||
                    got != ms + 86399000)
                    fail_msg("%s, not %s", text, want);
            }
    }
    assert_int_equal(ms, TIMESTAMP_MAX_MS + 1);
}

static void formats_and_reads_back(void **state) {
    struct random rng = {5};

    (void)state;
    for (int i = 0; i < 200000; i++) {
        const uint64_t span = (uint64_t)(TIMESTAMP_MAX_MS - TIMESTAMP_MIN_MS) + 1;
        const int64_t ms = TIMESTAMP_MIN_MS + (int64_t)random_below(&rng, span);
        char micro[TIMESTAMP_MICRO_SIZE];
        char text[TIMESTAMP_SIZE];
        int64_t got;

        timestamp_format_micro(ms, micro);
        assert_int_equal(strlen(micro), 27);
        assert_int_equal(timestamp_parse(micro, &got, NULL), 0);
        assert_int_equal(got, ms);
        timestamp_format(ms, text);
        assert_int_equal(strlen(text), 20);
        assert_memory_equal(text, micro, 19);
    }
}

static void times_outside_the_years_read_as_the_nearest(void **state) {
    char text[TIMESTAMP_SIZE];
    char micro[TIMESTAMP_MICRO_SIZE];

    (void)state;
    timestamp_format(INT64_MIN, text);
    assert_string_equal(text, "0000-01-01T00:00:00Z");
    timestamp_format_micro(INT64_MAX, micro);
    assert_string_equal(micro, "9999-12-31T23:59:59.999000Z");
    timestamp_format_micro(-1, micro);
    assert_string_equal(micro, "1969-12-31T23:59:59.999000Z");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_the_format_allows),
        cmocka_unit_test(refuses_everything_else),
        cmocka_unit_test(every_day_of_ten_thousand_years),
        cmocka_unit_test(formats_and_reads_back),
        cmocka_unit_test(times_outside_the_years_read_as_the_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
