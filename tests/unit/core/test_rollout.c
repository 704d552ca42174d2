#include "core/rollout.h"

#include "unit.h"

static const struct row {
    const char *name;
    struct rollout_zone zones[3];
    struct rollout_input in; /* but zones and count */
    int32_t take;
    const char *reason;
    int64_t again_at_ms;
} rows[] = {
    // clang-format off
    {"the first zone begins", {{.settled = true}, {.settled = true}, {.settled = true}},
     {.pause_ms = 60, .now_ms = 9}, 0, "FirstZone", INT64_MAX},
    {"while it settles the next waits", {{.current = true}, {.settled = true}, {.settled = true}},
     {.pause_ms = 60, .now_ms = 9}, -1, "Settling", INT64_MAX},
    {"then the pause counts", {{.current = true, .settled = true}, {.settled = true}, {0}},
     {.pause_ms = 60, .settled_ms = 100, .now_ms = 159}, -1, "PauseBetweenZones", 160},
    {"and the next follows", {{.current = true, .settled = true}, {.settled = true}, {0}},
     {.pause_ms = 60, .settled_ms = 100, .now_ms = 160}, 1, "NextZone", INT64_MAX},
    {"after a restart the pause counts anew", {{.current = true, .settled = true}, {0}, {0}},
     {.pause_ms = 60, .now_ms = 500}, -1, "PauseBetweenZones", 560},
    {"a faulted zone is skipped", {{.current = true, .settled = true}, {.faulted = true}, {0}},
     {.settled_ms = 1, .now_ms = 500}, 2, "NextZone", INT64_MAX},
    {"and does not block when it has the template", {{.current = true, .faulted = true}, {0}, {0}},
     {.now_ms = 500}, 1, "FirstZone", INT64_MAX},
    {"a zone past its deadline stops it", {{.current = true, .failed = true}, {0}, {0}},
     {.now_ms = 500}, -1, "ProgressDeadlineExceeded", INT64_MAX},
    {"a pause by a person stops it", {{.current = true, .settled = true}, {0}, {0}},
     {.paused = true, .settled_ms = 1, .now_ms = 500}, -1, "Paused", INT64_MAX},
    {"but a zone where nothing runs takes it", {{.current = true}, {.empty = true}, {0}},
     {.paused = true, .now_ms = 500}, 1, "NewZone", INT64_MAX},
    {"and one that runs it already", {{.current = true}, {.settled = true}, {.same = true}},
     {.paused = true, .now_ms = 500}, 2, "Unchanged", INT64_MAX},
    {"all at once", {{.current = true}, {0}, {0}},
     {.all_at_once = true, .now_ms = 500}, 1, "AllAtOnce", INT64_MAX},
    {"done", {{.current = true}, {.current = true}, {.current = true}},
     {.now_ms = 500}, -1, "Complete", INT64_MAX},
    {"done but for a faulted zone", {{.current = true}, {.faulted = true}, {.current = true}},
     {.now_ms = 500}, -1, "Complete", INT64_MAX},
    // clang-format on
};

static void every_row(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rollout_input in = rows[i].in;

        in.zones = rows[i].zones;
        in.count = 3;
        const struct rollout_step step = rollout_next(&in);

        print_message("%s\n", rows[i].name);
        assert_int_equal(step.take, rows[i].take);
        assert_string_equal(step.reason, rows[i].reason);
        assert_int_equal(step.again_at_ms, rows[i].again_at_ms);
    }
}

/* Over all states of three zones: no second zone is ever taken while one with the template is not
 * settled, and a zone that is taken did not have it. */
static void never_two_zones_at_once(void **state) {
    (void)state;
    for (unsigned code = 0; code < 1u << 18; code++) {
        struct rollout_zone zones[3];
        const struct rollout_input in = {.zones = zones, .count = 3, .settled_ms = 1, .now_ms = 9};

        for (unsigned i = 0; i < 3; i++) {
            const unsigned bits = code >> (i * 6);

            zones[i] =
                (struct rollout_zone){bits & 1, bits & 2, bits & 4, bits & 8, bits & 16, bits & 32};
        }
        const struct rollout_step step = rollout_next(&in);

        assert_non_null(step.reason);
        if (step.take < 0)
            continue;
        assert_false(zones[step.take].current);
        if (zones[step.take].empty || zones[step.take].same)
            continue;
        assert_false(zones[step.take].faulted);
        for (int i = 0; i < 3; i++)
            if (zones[i].current && !zones[i].faulted)
                assert_true(zones[i].settled && !zones[i].failed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row),
        cmocka_unit_test(never_two_zones_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
