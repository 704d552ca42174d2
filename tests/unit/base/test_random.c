#include "base/random.h"

#include "unit.h"

/* The reference outputs of splitmix64 for seed 1234567. */
static void random_gives_the_published_sequence(void **state) {
    static const uint64_t want[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                    UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                    UINT64_C(16408922859458223821)};
    struct random rng = {1234567};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        assert_true(random_next(&rng) == want[i]);
}

static void random_below_is_in_range_and_even(void **state) {
    struct random rng = {1};

    (void)state;
    for (uint64_t count = 1; count <= 12; count++) {
        int hits[12] = {0};

        for (int i = 0; i < 12000; i++) {
            const uint64_t value = random_below(&rng, count);

            assert_true(value < count);
            hits[value]++;
        }
        for (uint64_t i = 0; i < count; i++)
            assert_in_range(hits[i], 12000 / count * 8 / 10, 12000 / count * 12 / 10);
    }
    for (int i = 0; i < 1000; i++)
        assert_true(random_below(&rng, UINT64_MAX / 2 + 2) <= UINT64_MAX / 2 + 1);
}

static void random_jitter_stays_in_its_spread(void **state) {
    struct random rng = {2};
    int64_t low_ms = INT64_MAX, high_ms = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        const int64_t value_ms = random_jitter_ms(&rng, 2000, 200);

        low_ms = value_ms < low_ms ? value_ms : low_ms;
        high_ms = value_ms > high_ms ? value_ms : high_ms;
    }
    assert_int_equal(low_ms, 2000);
    assert_int_equal(high_ms, 2400);
    assert_int_equal(random_jitter_ms(&rng, 0, 200), 0);
    assert_int_equal(random_jitter_ms(&rng, 77, 0), 77);
}

static void random_seed_differs_between_calls(void **state) {
    (void)state;
    assert_true(random_seed() != random_seed());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_gives_the_published_sequence),
        cmocka_unit_test(random_below_is_in_range_and_even),
        cmocka_unit_test(random_jitter_stays_in_its_spread),
        cmocka_unit_test(random_seed_differs_between_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
