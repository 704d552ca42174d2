#include "fleet/schedule.h"

#include "unit.h"

/* A node with label zone=z1 and up to two taints. */
static struct node_label labels[] = {{"zone", "z1"}, {"disk", ""}};

static json_t *json(const char *text) {
    return json_loads(text, JSON_DECODE_ANY, NULL);
}

struct row {
    const char *name;
    const char *selector;
    const char *tolerations;
    struct node_taint taint; /* key NULL: none */
    bool allows, keeps;
};

/* clang-format off */
static const struct row rows[] = {
    {"nothing asked", "null", "null", {0}, true, true},
    {"label is there", "{\"zone\":\"z1\"}", "null", {0}, true, true},
    {"label has another value", "{\"zone\":\"z2\"}", "null", {0}, false, true},
    {"empty value is a value", "{\"disk\":\"\"}", "null", {0}, true, true},
    {"label is not there", "{\"gpu\":\"\"}", "null", {0}, false, true},
    {"one of two labels", "{\"zone\":\"z1\",\"gpu\":\"a\"}", "null", {0}, false, true},
    {"taint", "null", "null", {"k", "v", ROOM_NO_SCHEDULE}, false, true},
    {"taint that also ends pods", "null", "null", {"k", "v", ROOM_NO_EXECUTE}, false, false},
    {"a mere preference", "null", "null", {"k", "v", ROOM_PREFER_NO_SCHEDULE}, true, true},
    {"tolerated by value", "null", "[{\"key\":\"k\",\"value\":\"v\"}]",
     {"k", "v", ROOM_NO_EXECUTE}, true, true},
    {"another value", "null", "[{\"key\":\"k\",\"value\":\"w\"}]",
     {"k", "v", ROOM_NO_EXECUTE}, false, false},
    {"no value against a value", "null", "[{\"key\":\"k\"}]",
     {"k", "v", ROOM_NO_SCHEDULE}, false, true},
    {"no value against no value", "null", "[{\"key\":\"k\"}]",
     {"k", "", ROOM_NO_SCHEDULE}, true, true},
    {"tolerated by key", "null", "[{\"key\":\"k\",\"operator\":\"Exists\"}]",
     {"k", "v", ROOM_NO_SCHEDULE}, true, true},
    {"another key", "null", "[{\"key\":\"j\",\"operator\":\"Exists\"}]",
     {"k", "v", ROOM_NO_SCHEDULE}, false, true},
    {"everything tolerated", "null", "[{\"operator\":\"Exists\"}]",
     {"k", "v", ROOM_NO_EXECUTE}, true, true},
    {"tolerated for another effect", "null",
     "[{\"key\":\"k\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]",
     {"k", "v", ROOM_NO_EXECUTE}, false, false},
};
/* clang-format on */

static void a_pod_runs_where_labels_and_taints_let_it(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct node_taint taint = rows[i].taint;
        struct node node = {.labels = labels,
                            .label_count = 2,
                            .taints = &taint,
                            .taint_count = taint.key ? 1 : 0,
                            .ready = true,
                            .schedulable = true};
        json_auto_t *selector = json(rows[i].selector);
        json_auto_t *tolerations = json(rows[i].tolerations);

        if (schedule_allows(&node, selector, tolerations) != rows[i].allows ||
            schedule_keeps(&node, tolerations) != rows[i].keeps)
            fail_msg("%s", rows[i].name);
        node.ready = false;
        assert_false(schedule_allows(&node, selector, tolerations));
        node.ready = true;
        node.schedulable = false;
        assert_false(schedule_allows(&node, selector, tolerations));
        node.schedulable = true;
        node.deleting = true;
        assert_false(schedule_allows(&node, selector, tolerations));
    }
}

static void every_resource_that_is_asked_for_must_fit(void **state) {
    (void)state;
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        for (int64_t used = 0; used <= 4; used++)
            for (int64_t asked = 0; asked <= 4; asked++) {
                struct room_amount all = {{0}}, taken = {{0}}, request = {{0}};

                all.of[i] = 3;
                taken.of[i] = used;
                request.of[i] = asked;
                assert_int_equal(schedule_fits(&all, &taken, &request),
                                 asked == 0 || used + asked <= 3);
            }
}

static void freeness_is_a_part_of_the_cpu(void **state) {
    static const struct {
        int64_t all, used;
        int32_t ppm;
    } parts[] = {{1000, 0, 1000000}, {1000, 250, 750000}, {1000, 1000, 0},
                 {1000, 1500, 0},    {0, 0, 0},           {3, 1, 666666}};

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct room_amount all = {{[ROOM_CPU_MILLI] = parts[i].all}};
        const struct room_amount used = {{[ROOM_CPU_MILLI] = parts[i].used}};

        assert_int_equal(schedule_free_ppm(&all, &used), parts[i].ppm);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_runs_where_labels_and_taints_let_it),
        cmocka_unit_test(every_resource_that_is_asked_for_must_fit),
        cmocka_unit_test(freeness_is_a_part_of_the_cpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
