#include "web/health.h"

#include "unit.h"

static const struct snapshot GOOD = {
    .synced = true, .leads = true, .children = 2, .children_fresh = 2};

struct row {
    const char *name;
    enum health_probe probe;
    struct health_facts facts;
    const char *check, *query;
    int status;
    const char *text;
};

static const struct snapshot STANDBY = {.synced = true, .observe = true, .children = 3};
static const struct snapshot LOST = {.synced = true, .lost = true};
static const struct snapshot EMPTY = {.leads = true};

static void C66_probes_tell_the_truth(void **state) {
    /* clang-format off */
    static const struct row rows[] = {
        {"all is well", HEALTH_READY, {&GOOD, 0, false}, "", "", 200, "ok"},
        {"every member is dead: ready", HEALTH_READY, {&STANDBY, 0, false}, "", "", 200, "ok"},
        {"every member is dead: live", HEALTH_LIVE, {&STANDBY, 0, false}, "", "", 200, "ok"},
        {"the lease is lost: ready and told", HEALTH_READY, {&LOST, 0, false}, "leader", "verbose",
         200, "[+]leader ok: the Lease was lost, and the process ends\nreadyz check passed\n"},
        {"a standby tells so", HEALTH_READY, {&STANDBY, 0, false}, "", "verbose", 200,
         "[+]ping ok\n[+]config ok\n[+]hub-caches ok\n[+]shutdown ok\n"
         "[+]leader ok: standby: writes nothing\n[+]mode ok: Observe: writes nothing\n"
         "[+]children ok: 0 of 3 can be reached\nreadyz check passed\n"},
        {"caches are not filled", HEALTH_READY, {&EMPTY, 0, false}, "", "", 503,
         "[+]ping ok\n[+]config ok\n"
         "[-]hub-caches failed: the hub's objects have not all been listed yet\n[+]shutdown ok\n"
         "[+]leader ok: leading\n[+]mode ok: Act\n[+]children ok: 0 of 0 can be reached\n"
         "readyz check failed\n"},
        {"caches are not filled: live", HEALTH_LIVE, {&EMPTY, 0, false}, "", "", 200, "ok"},
        {"before the first turn: live", HEALTH_LIVE, {NULL, 0, false}, "", "", 200, "ok"},
        {"before the first turn: not ready", HEALTH_READY, {NULL, 0, false}, "config", "", 503,
         "[-]config failed: the control loop has not finished its first turn yet\n"
         "readyz check failed\n"},
        {"told to stop", HEALTH_READY, {&GOOD, 0, true}, "shutdown", "", 503,
         "[-]shutdown failed: we were told to stop\nreadyz check failed\n"},
        {"told to stop: live", HEALTH_LIVE, {&GOOD, 0, true}, "", "", 200, "ok"},
        {"nearly stuck", HEALTH_LIVE, {&GOOD, HEALTH_STUCK_MS - 1, false}, "", "", 200, "ok"},
        {"stuck", HEALTH_LIVE, {&GOOD, HEALTH_STUCK_MS, false}, "", "", 503,
         "[+]ping ok\n[-]control-loop failed: the control loop has finished no turn for 30 s\n"
         "[+]leader ok: leading\nhealthz check failed\n"},
        {"stuck, one check that is not", HEALTH_LIVE, {&GOOD, HEALTH_STUCK_MS, false}, "ping", "",
         200, "ok"},
        {"stuck, excluded", HEALTH_LIVE, {&GOOD, HEALTH_STUCK_MS, false}, "",
         "verbose&exclude=control-loop", 200,
         "[+]ping ok\n[+]control-loop excluded: ok\n[+]leader ok: leading\n"
         "healthz check passed\n"},
        {"another name is not excluded", HEALTH_LIVE, {&GOOD, HEALTH_STUCK_MS, false},
         "control-loop", "exclude=control", 503,
         "[-]control-loop failed: the control loop has finished no turn for 30 s\n"
         "healthz check failed\n"},
        {"no such check", HEALTH_LIVE, {&GOOD, 0, false}, "etcd", "", 404,
         "no check is called etcd\n"},
        {"a check of the other probe", HEALTH_LIVE, {&GOOD, 0, false}, "hub-caches", "", 404,
         "no check is called hub-caches\n"},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct str out;

        str_init(&out, HEALTH_TEXT_MAX);
        const int status = health_answer(row->probe, &row->facts, row->check, row->query, &out);

        if (status != row->status || strcmp(out.data, row->text) != 0)
            fail_msg("%s: %d\n%s", row->name, status, out.data);
        str_done(&out);
    }
}

static void C66_a_loop_that_stands_still_is_noticed(void **state) {
    struct pulse pulse = {0};
    int64_t now_ms = 5;

    (void)state;
    assert_int_equal(pulse_look(&pulse, 0, now_ms), 0);
    for (int i = 1; i <= 40; i++)
        assert_int_equal(pulse_look(&pulse, 0, now_ms += 1000), i * 1000);
    assert_int_equal(pulse_look(&pulse, 1, now_ms += 1000), 0);
    assert_int_equal(pulse_look(&pulse, 1, now_ms += 1000), 1000);
}

static void the_sleep_of_the_whole_process_does_not_count(void **state) {
    struct pulse pulse = {0};

    (void)state;
    pulse_look(&pulse, 7, 1000);
    assert_int_equal(pulse_look(&pulse, 7, 1000 + HEALTH_GAP_MS), HEALTH_GAP_MS);
    assert_int_equal(pulse_look(&pulse, 7, 1000 + 60000), 0);
    assert_int_equal(pulse_look(&pulse, 7, 1000 + 61000), 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C66_probes_tell_the_truth),
        cmocka_unit_test(C66_a_loop_that_stands_still_is_noticed),
        cmocka_unit_test(the_sleep_of_the_whole_process_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
