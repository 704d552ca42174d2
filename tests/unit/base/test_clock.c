#include "base/clock.h"

#include "unit.h"

static void clock_by_hand_moves_only_when_told(void **state) {
    struct clock clk = clock_by_hand(1000, 50);

    (void)state;
    assert_int_equal(clock_wall_ms(&clk), 1000);
    assert_int_equal(clock_mono_ms(&clk), 50);
    clock_advance(&clk, 7);
    clock_step_wall(&clk, -500);
    assert_int_equal(clock_wall_ms(&clk), 507);
    assert_int_equal(clock_mono_ms(&clk), 57);
}

static void clock_of_the_kernel_never_goes_back(void **state) {
    int64_t last_ms = clock_mono_ms(NULL);

    (void)state;
    assert_true(clock_wall_ms(NULL) > INT64_C(1500000000000)); /* milliseconds, not seconds */
    for (int i = 0; i < 10000; i++) {
        const int64_t now_ms = clock_mono_ms(&(struct clock){0});

        assert_true(now_ms >= last_ms && now_ms < last_ms + 60000);
        last_ms = now_ms;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_by_hand_moves_only_when_told),
        cmocka_unit_test(clock_of_the_kernel_never_goes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
