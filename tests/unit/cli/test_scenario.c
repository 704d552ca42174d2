#include "cli/scenario.h"

#include "unit.h"

#include "base/str.h"

static int read_inventory(struct scenario *scenario, const char *text, struct err *err) {
    json_t *root = json_loads(text, 0, NULL);

    assert_non_null(root);
    const int r = scenario_read_inventory(scenario, root, err);

    json_decref(root);
    return r;
}

static void bad_inventory_names_the_field(void **state) {
    static const struct {
        const char *text;
        const char *words;
    } rows[] = {
        {"{}", "cells: required"},
        {"{\"cells\": {}}", "cells: required"},
        {"{\"cells\": [1]}", "cells[0]: not an object"},
        {"{\"cells\": [{\"cluster\": \"a\", \"room\": 1}]}", "cells[0].zone: required"},
        {"{\"cells\": [{\"zone\": \"\", \"cluster\": \"a\", \"room\": 1}]}", "cells[0].zone"},
        {"{\"cells\": [{\"zone\": \"z\", \"room\": 1}]}", "cells[0].cluster: required"},
        {"{\"cells\": [{\"zone\": \"z\", \"cluster\": \"a\"}]}", "cells[0].room: required"},
        {"{\"cells\": [{\"zone\": \"z\", \"cluster\": \"a\", \"room\": -1}]}", "cells[0].room"},
        {"{\"cells\": [{\"zone\": \"z\", \"cluster\": \"a\", \"room\": 1.5}]}", "cells[0].room"},
        {"{\"cells\": [{\"zone\": \"z\", \"cluster\": \"a\", \"room\": 1000001}]}", "1000000"},
        {"{\"cells\": [{\"zone\": \"z\", \"cluster\": \"a\", \"room\": 1, \"frozen\": \"no\"}]}",
         "cells[0].frozen: must be true or false"},
        {"{\"cells\": [{\"zone\": \"z\", \"cluster\": \"a\", \"room\": 1, \"romm\": 2}]}",
         "cells[0].romm: unknown field"},
        {"{\"cells\": [{\"zone\": \"z\", \"cluster\": \"a\", \"room\": 1},"
         "{\"zone\": \"z\", \"cluster\": \"a\", \"room\": 2}]}",
         "cells[1]: zone z of cluster a is listed twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct scenario scenario;
        struct err err = {0};

        scenario_init(&scenario);
        assert_int_equal(read_inventory(&scenario, rows[i].text, &err), ERR_INVALID);
        if (!strstr(err.msg, rows[i].words))
            fail_msg("'%s' does not say '%s'", err.msg, rows[i].words);
        scenario_done(&scenario);
    }
}

/* A child that the inventory no longer names is silent, not empty: its replicas hold. */
static void placed_cell_without_inventory_is_frozen(void **state) {
    struct scenario scenario;
    struct scenario_problem problem;
    json_t *placement = json_loads("{\"spec\": {\"cells\": [{\"zone\": \"gz-3\", \"cluster\": "
                                   "\"gone\", \"replicas\": 4}]}}",
                                   0, NULL);

    (void)state;
    scenario_init(&scenario);
    assert_int_equal(
        read_inventory(&scenario,
                       "{\"cells\": [{\"zone\": \"gz-4\", \"cluster\": \"b\", \"room\": 9},"
                       "{\"zone\": \"gz-3\", \"cluster\": \"a\", \"room\": 9}]}",
                       NULL),
        0);
    assert_int_equal(scenario_read_placement(&scenario, placement, NULL), 0);
    scenario.salt = str_dup("retail/checkout");
    scenario.policy = (struct topology_policy){
        .replicas = 8, .min_zones = 2, .max_zone_percent = 100, .max_cluster_percent = 100};
    assert_int_equal(scenario_problem_init(&problem, &scenario, TOPOLOGY_REPLICAS, NULL), 0);
    assert_int_equal(problem.input.zone_count, 2);
    assert_string_equal(problem.zone_names[0], "gz-3");
    assert_string_equal(problem.cluster_names[2], "gone");
    assert_true(problem.cells[2].frozen);
    assert_int_equal(problem.cells[2].present, 4);
    assert_int_equal(topology_decide(&problem.input, problem.scratch, &problem.result), 0);
    assert_int_equal(problem.result.cells[2].replicas, 4);
    assert_int_equal(problem.result.shortfall, 0);
    scenario_problem_done(&problem);
    scenario_done(&scenario);
    json_decref(placement);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_inventory_names_the_field),
        cmocka_unit_test(placed_cell_without_inventory_is_frozen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
