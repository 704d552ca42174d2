#include "base/clock.h"
#include "kube/lease.h"

#include "unit.h"

static void C63_candidate_clock_ahead_does_not_take_over(void **state) {
    struct clock clk = clock_by_hand(0, 0);
    struct lease lease = {0};
    struct lease_seen seen = {true, true, false, 15, 1};

    (void)state;
    clock_step_wall(&clk, 3600000);
    for (int i = 0; i < 100; i++) {
        seen.version_key += i % 5 == 0; /* the leader renews every 10 s */
        assert_int_equal(lease_step(&lease, &seen, clock_mono_ms(&clk)), LEASE_WAIT);
        clock_advance(&clk, 2000);
    }
}

static void C63_the_records_own_duration_is_waited(void **state) {
    (void)state;
    for (int64_t duration_s = 1; duration_s <= 60; duration_s++) {
        struct lease lease = {0};
        const struct lease_seen seen = {true, true, false, duration_s, 1};
        const int64_t end_ms = 777 + duration_s * 1000;

        assert_int_equal(lease_step(&lease, &seen, 777), LEASE_WAIT);
        assert_int_equal(lease_step(&lease, &seen, end_ms - 1), LEASE_WAIT);
        assert_int_equal(lease_step(&lease, &seen, end_ms), LEASE_ACQUIRE);
        assert_false(lease_may_write(&lease, end_ms)); /* not before the write succeeded */
    }
}

static void C64_paused_process_writes_nothing(void **state) {
    (void)state;
    for (int64_t pause_ms = 0; pause_ms <= 20000; pause_ms += 100) {
        struct lease lease = {0};
        const struct lease_seen free_one = {true, false, false, 1, 1};
        const struct lease_seen ours = {true, true, true, 15, 2};
        const bool alive = pause_ms < LEASE_RENEW_DEADLINE_MS;

        assert_int_equal(lease_step(&lease, &free_one, 0), LEASE_ACQUIRE);
        lease_written(&lease, 0);
        assert_int_equal(lease_may_write(&lease, pause_ms), alive);
        assert_int_equal(lease_step(&lease, &ours, pause_ms), alive ? LEASE_RENEW : LEASE_STOP);
        lease_written(&lease, pause_ms); /* a late answer does not bring it back */
        assert_int_equal(lease_may_write(&lease, pause_ms), alive);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C63_candidate_clock_ahead_does_not_take_over),
        cmocka_unit_test(C63_the_records_own_duration_is_waited),
        cmocka_unit_test(C64_paused_process_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
