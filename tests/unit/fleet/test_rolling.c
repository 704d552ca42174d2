#include "fleet/rolling.h"

#include "unit.h"

static void check(const struct rolling_input *in) {
    const struct rolling_step step = rolling_step(in);
    const int available = in->fresh_available + in->old_available;
    const int needed = in->desired - in->unavailable;
    const int ended =
        step.end_old_available + (step.end_fresh > in->fresh - in->fresh_available
                                      ? step.end_fresh - in->fresh + in->fresh_available
                                      : 0);

    assert_true(step.create >= 0 && step.end_fresh >= 0);
    assert_in_range(step.end_old_unavailable, 0, in->old - in->old_available);
    assert_in_range(step.end_old_available, 0, in->old_available);
    assert_true(step.end_fresh <= in->fresh);
    if (step.create > 0)
        assert_true(in->fresh + in->old + step.create <= in->desired + in->surge);
    if (ended > 0)
        assert_true(available - ended >= needed);
}

/* Lets every new pod become available and every ended one go at once. */
static void finishes(struct rolling_input in) {
    for (int turn = 0; turn < 100; turn++) {
        const struct rolling_step step = rolling_step(&in);

        in.fresh += step.create - step.end_fresh;
        in.fresh_available = in.fresh;
        in.old_available -= step.end_old_available;
        in.old -= step.end_old_available + step.end_old_unavailable;
    }
    assert_int_equal(in.fresh, in.desired);
    assert_int_equal(in.old, 0);
}

/* Fewer are never available than allowed, nor do more exist; and it comes to an end. */
static void an_update_keeps_its_bounds_for_all_small_inputs(void **state) {
    (void)state;
    for (int desired = 0; desired <= 4; desired++)
        for (int bounds = 1; bounds < 9; bounds++)
            for (int fresh = 0; fresh <= 6; fresh++)
                for (int fresh_up = 0; fresh_up <= fresh; fresh_up++)
                    for (int old = 0; old <= 6; old++)
                        for (int old_up = 0; old_up <= old; old_up++) {
                            const struct rolling_input in = {.desired = desired,
                                                             .surge = bounds % 3,
                                                             .unavailable = bounds / 3,
                                                             .fresh = fresh,
                                                             .fresh_available = fresh_up,
                                                             .old = old,
                                                             .old_available = old_up};

                            check(&in);
                            finishes(in);
                        }
}

static void a_recreate_waits_until_old_pods_are_gone(void **state) {
    (void)state;
    struct rolling_input in = {.desired = 3, .old = 2, .old_available = 1, .recreate = true};
    struct rolling_step step = rolling_step(&in);

    assert_int_equal(step.create, 0);
    assert_int_equal(step.end_old_available + step.end_old_unavailable, 2);
    in = (struct rolling_input){.desired = 3, .old_ending = 1, .recreate = true};
    assert_int_equal(rolling_step(&in).create, 0);
    in.old_ending = 0;
    assert_int_equal(rolling_step(&in).create, 3);
}

static void a_paused_one_only_follows_its_replicas(void **state) {
    (void)state;
    struct rolling_input in = {
        .desired = 4, .surge = 1, .old = 4, .old_available = 4, .paused = true};
    struct rolling_step step = rolling_step(&in);

    assert_int_equal(step.create + step.end_old_available, 0);
    in.desired = 2;
    assert_int_equal(rolling_step(&in).end_old_available, 2);
    in.desired = 6;
    assert_int_equal(rolling_step(&in).create, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_keeps_its_bounds_for_all_small_inputs),
        cmocka_unit_test(a_recreate_waits_until_old_pods_are_gone),
        cmocka_unit_test(a_paused_one_only_follows_its_replicas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
