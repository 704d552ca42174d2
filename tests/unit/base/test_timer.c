#include "base/random.h"
#include "base/timer.h"

#include "unit.h"

/* Random sets, moves, cancels and pops against a plain array searched in full. */
static void timer_heap_agrees_with_a_plain_array(void **state) {
    enum { TIMERS = 40 };

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct random rng = {seed};
        struct timer timers[TIMERS] = {0};
        int64_t due_ms[TIMERS];
        uint64_t order[TIMERS] = {0}, clock = 0; /* order 0: not set */
        struct timer_heap heap = {0};

        for (int step = 0; step < 1000; step++) {
            const uint64_t i = random_below(&rng, TIMERS), what = random_below(&rng, 4);
            const int64_t at_ms = (int64_t)random_below(&rng, 30);
            int first = -1;

            if (what < 2) {
                timer_set(&heap, &timers[i], at_ms);
                due_ms[i] = at_ms;
                order[i] = ++clock;
            } else if (what == 2) {
                timer_cancel(&heap, &timers[i]);
                order[i] = 0;
            }
            for (int n = 0; n < TIMERS; n++) {
                assert_int_equal(timer_is_set(&timers[n]), order[n] > 0);
                if (order[n] && (first < 0 || due_ms[n] < due_ms[first] ||
                                 (due_ms[n] == due_ms[first] && order[n] < order[first])))
                    first = n;
            }
            int64_t next_ms = -1;

            assert_int_equal(timer_next_ms(&heap, &next_ms), first >= 0);
            assert_int_equal(next_ms, first < 0 ? -1 : due_ms[first]);
            if (what < 3)
                continue;
            struct timer *want = first >= 0 && due_ms[first] <= at_ms ? &timers[first] : NULL;

            assert_ptr_equal(timer_pop(&heap, at_ms), want);
            if (want)
                order[first] = 0;
        }
        timer_heap_done(&heap);
    }
    timer_heap_done(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timer_heap_agrees_with_a_plain_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
