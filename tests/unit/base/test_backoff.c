#include "base/backoff.h"
#include "base/random.h"

#include "unit.h"

static void C48_backoff_doubles_from_5_ms_to_1000_s(void **state) {
    int64_t want_ms = 5;

    (void)state;
    for (unsigned failures = 0; failures < 18; failures++, want_ms *= 2)
        assert_int_equal(backoff_ms(5, 1000000, failures), want_ms);
    assert_int_equal(backoff_ms(5, 1000000, 18), 1000000);
    assert_int_equal(backoff_ms(5, 1000000, UINT32_MAX), 1000000);
    assert_int_equal(backoff_ms(INT64_MAX / 2 + 1, INT64_MAX, 5), INT64_MAX);
}

/* Any call pattern: the grants stay in order and within burst + rate over every window, checked by
 * comparing each grant with the one `burst` grants before, and an idle bucket fills up again. */
static void C48_bucket_never_passes_its_rate(void **state) {
    enum { CALLS = 3000 };
    static int64_t grant_ms[CALLS];

    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct random rng = {seed};
        const int64_t rate = 1 + (int64_t)random_below(&rng, 40);
        const int64_t burst = 1 + (int64_t)random_below(&rng, 120);
        int64_t now_ms = (int64_t)random_below(&rng, 1000000);
        struct bucket bucket = bucket_full(rate, burst, now_ms);

        for (int i = 0; i < CALLS; i++) {
            now_ms += (int64_t)random_below(&rng, (uint64_t)(2000 / rate + 1));
            grant_ms[i] = now_ms + bucket_reserve_ms(&bucket, now_ms);
            if (i > 0)
                assert_true(grant_ms[i] >= grant_ms[i - 1]);
            for (int64_t n = burst; n <= i; n += burst) {
                /* n+1 grants in this span: at least n+1-burst had to flow in, less 1 ms rounding */
                const int64_t span_ms = grant_ms[i] - grant_ms[i - n] + 1;

                assert_true(span_ms * rate >= (n + 1 - burst) * 1000);
            }
        }
        now_ms = grant_ms[CALLS - 1] + burst * 1000 / rate + 2;
        for (int64_t i = 0; i < burst; i++)
            assert_int_equal(bucket_reserve_ms(&bucket, now_ms), 0);
        assert_true(bucket_reserve_ms(&bucket, now_ms) > 0);
    }
}

static void C48_bucket_spaces_calls_by_100_ms_after_100(void **state) {
    struct bucket bucket = bucket_full(10, 100, 0);

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(bucket_reserve_ms(&bucket, 0), 0);
    for (int i = 1; i <= 50; i++)
        assert_int_equal(bucket_reserve_ms(&bucket, 0), i * 100);
    assert_int_equal(bucket_reserve_ms(&bucket, -99), 5100); /* time that goes back gives nothing */
    assert_int_equal(bucket_reserve_ms(&bucket, INT64_MAX), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C48_backoff_doubles_from_5_ms_to_1000_s),
        cmocka_unit_test(C48_bucket_never_passes_its_rate),
        cmocka_unit_test(C48_bucket_spaces_calls_by_100_ms_after_100),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
