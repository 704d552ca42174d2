/* Children that come, go, are drained, change their face or their clock; and who may act. */
#include "flow/rig_fabric.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define APPS "bulkhead.dev/v1alpha1/appdefinitions"
#define CHILDREN "bulkhead.dev/v1alpha1/childclusters"
#define MINUTE 60000

static struct fabric fabric;

static int open_three(void **state) {
    static const char *const zones[] = {"gz-3", "gz-4", "gz-5"};

    (void)state;
    fabric_open(&fabric, 77);
    fabric.verbose = getenv("VERBOSE") != NULL;
    for (int i = 0; i < 2; i++) {
        char name[16];

        snprintf(name, sizeof name, "cls-%c", 'a' + i);
        fabric_child(&fabric, name);
        for (int z = 0; z < 3; z++) {
            char node[32];

            snprintf(node, sizeof node, "%s-%s", name, zones[z]);
            fabric_node(&fabric, i, node, zones[z], 10);
        }
    }
    fabric_start(&fabric);
    fabric_run(&fabric, 5000);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fabric_close(&fabric);
    return 0;
}

static int ready_of(const char *app) {
    int ready = 0;

    for (int i = 0; i < fabric.child_count; i++)
        ready += fabric_ready(&fabric, i, app, NULL);
    return ready;
}

struct ready {
    const char *app;
    int count;
};

static bool is_ready(struct fabric *of, void *arg) {
    const struct ready *wanted = arg;

    (void)of;
    return ready_of(wanted->app) == wanted->count;
}

static void until_ready(const char *app, int count) {
    struct ready wanted = {app, count};

    fabric_until(&fabric, "all ready", is_ready, &wanted, 5 * MINUTE);
}

static int assigned_to(const char *app, const char *what) {
    char *text = fabric_placement(&fabric, app);
    int sum = 0;

    for (const char *at = text; (at = strstr(at, what)); at++) {
        const char *sign = strchr(at, '=');

        sum += sign ? (int)strtol(sign + 1, NULL, 10) : 0;
    }
    free(text);
    return sum;
}

/* "True/Connected" of a ChildCluster. */
static const char *child_ready(const char *name) {
    static char text[128];
    json_t *child = fabric_get(&fabric, FABRIC_HUB, CHILDREN, NULL, name);
    size_t i;
    json_t *condition;

    text[0] = '\0';
    json_array_foreach(json_object_get(json_object_get(child, "status"), "conditions"), i,
                       condition) {
        if (strcmp(json_string_value(json_object_get(condition, "type")), "Ready") == 0)
            snprintf(text, sizeof text, "%s/%s",
                     json_string_value(json_object_get(condition, "status")),
                     json_string_value(json_object_get(condition, "reason")));
    }
    json_decref(child);
    return text;
}

static void a_drained_child_is_left_without_a_dip(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 12, "  rollout: {maxUnavailable: 0}\n");
    until_ready("checkout", 12);
    const int left = assigned_to("checkout", "/cls-a");

    assert_true(left > 0);
    fabric_patch(&fabric, FABRIC_HUB, CHILDREN, NULL, "cls-a",
                 "{\"spec\":{\"lifecycle\":\"Draining\"}}");
    for (int i = 0; i < 600; i++) {
        fabric_run(&fabric, 100);
        assert_true(ready_of("checkout") >= 12);
    }
    fabric_run(&fabric, MINUTE);
    assert_int_equal(assigned_to("checkout", "/cls-a"), 0);
    assert_int_equal(fabric_ready(&fabric, 1, "checkout", NULL), 12);
    json_t *items = fabric_list(&fabric, 0, "apps/v1/deployments", "retail");

    assert_int_equal(json_array_size(items), 0);
    json_decref(items);
}

static void a_cordoned_child_keeps_what_it_has_and_gains_nothing(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 12, "");
    until_ready("checkout", 12);
    const int before = assigned_to("checkout", "/cls-a");

    fabric_patch(&fabric, FABRIC_HUB, CHILDREN, NULL, "cls-a",
                 "{\"spec\":{\"lifecycle\":\"Cordoned\"}}");
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":20}}");
    until_ready("checkout", 20);
    assert_int_equal(assigned_to("checkout", "/cls-a"), before);
}

static void a_child_that_is_lost_or_removed_is_made_up_for(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 12, "");
    until_ready("checkout", 12);
    assert_true(assigned_to("checkout", "/cls-a") > 0);
    fabric.children[0].faults.down = true;
    fabric_run(&fabric, 10 * MINUTE);
    assert_true(assigned_to("checkout", "/cls-a") > 0); /* silent is not gone: held */
    fabric_patch(&fabric, FABRIC_HUB, CHILDREN, NULL, "cls-a",
                 "{\"spec\":{\"lifecycle\":\"Lost\"}}");
    fabric_run(&fabric, 2 * MINUTE);
    assert_int_equal(assigned_to("checkout", "/cls-a"), 0);
    assert_int_equal(fabric_ready(&fabric, 1, "checkout", NULL), 12);
    fabric_delete(&fabric, FABRIC_HUB, CHILDREN, NULL, "cls-a");
    fabric_run(&fabric, 2 * MINUTE);
    assert_int_equal(fabric_ready(&fabric, 1, "checkout", NULL), 12);
}

static void a_new_child_takes_what_is_owed_and_moves_nothing(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 70, "  topology: {minZones: 3, maxZonePercent: 50}\n");
    until_ready("checkout", 60);
    char *before = fabric_placement(&fabric, "checkout");
    const int c = fabric_child(&fabric, "cls-c");

    fabric_node(&fabric, c, "c3", "gz-3", 10);
    fabric_node(&fabric, c, "c4", "gz-4", 10);
    until_ready("checkout", 70);
    char *after = fabric_placement(&fabric, "checkout");

    assert_int_equal(assigned_to("checkout", "/cls-c"), 10);
    assert_int_equal(assigned_to("checkout", "/cls-a") + assigned_to("checkout", "/cls-b"), 60);
    free(before);
    free(after);
}

static void a_drained_node_moves_nothing_between_cells(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 12, "");
    until_ready("checkout", 12);
    char *before = fabric_placement(&fabric, "checkout");

    fabric_patch(&fabric, 0, "v1/nodes", NULL, "cls-a-gz-3", "{\"spec\":{\"unschedulable\":true}}");
    fabric_run(&fabric, 5 * MINUTE);
    char *after = fabric_placement(&fabric, "checkout");

    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void what_is_wrong_with_a_child_is_said_in_its_status(void **state) {
    (void)state;
    fabric_declare_child(
        &fabric, "cls-x",
        "{kubeconfigSecret: {name: cls-x}, region: gz, allowedNamespaces: [retail]}");
    fabric_run(&fabric, MINUTE);
    assert_string_equal(child_ready("cls-x"), "False/KubeconfigUnusable");
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: v1, kind: Secret, metadata: {namespace: bulkhead-system, name: "
                 "cls-x}, data: {kubeconfig: Y2xzLWE=}}"); /* cls-a */
    fabric_run(&fabric, 3 * MINUTE);
    assert_string_equal(child_ready("cls-x"), "True/Connected");
    fabric.children[0].faults.silent = true;
    fabric_run(&fabric, 3 * MINUTE);
    assert_string_equal(child_ready("cls-a"), "False/Silent");
    fabric.children[0].faults.silent = false;
    fabric_run(&fabric, 3 * MINUTE);
    assert_string_equal(child_ready("cls-a"), "True/Connected");
}

static void a_childs_clock_that_is_off_changes_nothing(void **state) {
    static const int64_t skews_ms[] = {-86400000, 3600000};

    (void)state;
    fabric.children[0].skew_ms = skews_ms[0];
    fabric.children[1].skew_ms = skews_ms[1];
    fabric_app(&fabric, "checkout", 12, "");
    until_ready("checkout", 12);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":6}}");
    until_ready("checkout", 6);
}

static void in_mode_observe_nothing_is_written(void **state) {
    (void)state;
    fabric_crash(&fabric);
    fabric.observe = true;
    const uint64_t hub = fabric_writes(&fabric, FABRIC_HUB);

    fabric_start(&fabric);
    fabric_app(&fabric, "checkout", 12, "");
    fabric_run(&fabric, 10 * MINUTE);
    assert_int_equal(fabric_writes(&fabric, FABRIC_HUB), hub);
    assert_int_equal(fabric_writes(&fabric, 0) + fabric_writes(&fabric, 1), 0);
    fabric_crash(&fabric);
    fabric.observe = false;
    fabric_start(&fabric);
    until_ready("checkout", 12);
}

static void mode_set(const char *word) {
    char patch[96];

    snprintf(patch, sizeof patch, "{\"metadata\":{\"labels\":{\"bulkhead.dev/mode\":%s}}}", word);
    fabric_patch(&fabric, FABRIC_HUB, "v1/namespaces", NULL, "bulkhead-system", patch);
    fabric_run(&fabric, 1000);
}

/* The label outranks how the process was started; a word that is neither holds everything. */
static void mode_is_switched_at_run_time(void **state) {
    static const struct {
        const char *word;
        bool acts;
    } rows[] = {{"\"Observe\"", false}, {"\"Act\"", true},  {"\"observe\"", false},
                {"null", true},         {"\"Off\"", false}, {"null", true}};
    int replicas = 6;

    (void)state;
    fabric_app(&fabric, "checkout", replicas, "");
    until_ready("checkout", replicas);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char patch[64];

        mode_set(rows[i].word);
        const uint64_t hub = fabric_writes(&fabric, FABRIC_HUB);
        const uint64_t children = fabric_writes(&fabric, 0) + fabric_writes(&fabric, 1);

        snprintf(patch, sizeof patch, "{\"spec\":{\"replicas\":%d}}", ++replicas);
        fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", patch);
        if (rows[i].acts) {
            until_ready("checkout", replicas);
            continue;
        }
        fabric_run(&fabric, 5 * MINUTE);
        assert_int_equal(fabric_writes(&fabric, FABRIC_HUB), hub);
        assert_int_equal(fabric_writes(&fabric, 0) + fabric_writes(&fabric, 1), children);
    }
}

static void C64_a_standby_writes_only_after_the_leader_is_gone(void **state) {
    (void)state;
    fabric_crash(&fabric);
    fabric.identity = "one";
    fabric_start(&fabric);
    fabric_run(&fabric, 5000);
    struct manager *one = fabric.manager;
    struct transport *one_hub = fabric.hub_transport;

    assert_true(manager_leads(one, clock_mono_ms(&fabric.clock)));
    fabric.identity = "two";
    fabric_start(&fabric); /* the first one stands still from here on, as in a frozen machine */
    fabric_app(&fabric, "checkout", 12, "");
    fabric_run(&fabric, 10000);
    assert_false(manager_leads(fabric.manager, clock_mono_ms(&fabric.clock)));
    assert_int_equal(ready_of("checkout"), 0);
    fabric_run(&fabric, 20000);
    assert_true(manager_leads(fabric.manager, clock_mono_ms(&fabric.clock)));
    until_ready("checkout", 12);
    const uint64_t before = fabric_writes(&fabric, 0) + fabric_writes(&fabric, 1);

    for (int i = 0; i < 50; i++) {
        manager_turn(one, clock_mono_ms(&fabric.clock));
        fabric_run(&fabric, 100);
    }
    assert_false(manager_leads(one, clock_mono_ms(&fabric.clock)));
    assert_true(manager_lost(one));
    assert_int_equal(fabric_writes(&fabric, 0) + fabric_writes(&fabric, 1), before);
    manager_free(one);
    transport_free(one_hub);
}

static void C65_a_controller_that_stops_gives_the_lease_up(void **state) {
    (void)state;
    fabric_crash(&fabric);
    fabric.identity = "one";
    fabric_start(&fabric);
    fabric_app(&fabric, "checkout", 12, "");
    fabric_run(&fabric, 3000);
    manager_stop(fabric.manager);
    fabric_run(&fabric, 5000);
    assert_true(manager_stopped(fabric.manager));
    fabric_crash(&fabric);
    fabric.identity = "two";
    fabric_start(&fabric);
    fabric_run(&fabric, 3000);
    assert_true(manager_leads(fabric.manager, clock_mono_ms(&fabric.clock)));
    until_ready("checkout", 12);
}

#define STATEFUL                                                                                   \
    "{apiVersion: bulkhead.dev/v1alpha1, kind: AppDefinition, metadata: {namespace: retail, "      \
    "name: ledger}, spec: {replicas: %d, topology: {minZones: 2, maxZonePercent: 60}, workload: "  \
    "{kind: StatefulSet, spec: {podManagementPolicy: Parallel, template: {spec: {containers: "     \
    "[{name: main, image: registry.example/ledger, resources: {requests: {cpu: '1'}}}]}}, "        \
    "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], "        \
    "resources: {requests: {storage: 1Gi}}}}]}}}}"

static void stateful_cells_have_ordinals_of_their_own(void **state) {
    char text[1024];
    int starts[8];
    int count = 0;

    (void)state;
    snprintf(text, sizeof text, STATEFUL, 6);
    fabric_apply(&fabric, FABRIC_HUB, text);
    until_ready("ledger", 6);
    for (int child = 0; child < 2; child++) {
        json_t *sets = fabric_list(&fabric, child, "apps/v1/statefulsets", "retail");
        size_t i;
        json_t *set;

        json_array_foreach(sets, i, set) starts[count++] = (int)json_integer_value(
            json_object_get(json_object_get(json_object_get(set, "spec"), "ordinals"), "start"));
        json_decref(sets);
    }
    assert_true(count >= 2);
    for (int i = 0; i < count; i++) {
        assert_int_equal(starts[i] % 1000, 0);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(starts[i], starts[k]);
    }
    /* Volumes do not travel: a policy that would move replicas leaves them where they are. */
    char *before = fabric_placement(&fabric, "ledger");

    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "ledger",
                 "{\"spec\":{\"topology\":{\"minZones\":3,\"maxZonePercent\":50}}}");
    fabric_run(&fabric, 5 * MINUTE);
    char *after = fabric_placement(&fabric, "ledger");

    assert_string_equal(before, after);
    free(before);
    free(after);
    snprintf(text, sizeof text, STATEFUL, 8);
    fabric_apply(&fabric, FABRIC_HUB, text);
    until_ready("ledger", 8);
}

/* Two zones of ten nodes' room each, and a third that an autoscaler says it can fill. */
static void pods_that_no_autoscaler_finds_a_node_for_are_owed(void **state) {
    (void)state;
    fabric_patch(&fabric, FABRIC_HUB, CHILDREN, NULL, "cls-a",
                 "{\"spec\":{\"capacity\":{\"mode\":\"Elastic\",\"zones\":[{\"zone\":\"gz-3\","
                 "\"max\":40}],\"pendingDeadlineSeconds\":300}}}");
    fabric_run(&fabric, 2000);
    fabric_app(&fabric, "checkout", 30,
               "  topology: {zones: [gz-3, gz-4], minZones: 2, maxZonePercent: 67}\n");
    fabric_run(&fabric, 4 * MINUTE);
    /* gz-3 has nodes for 10 in each child; the autoscaler promised more and nothing comes. */
    const int promised = assigned_to("checkout", "gz-3");

    assert_in_range(promised, 11, 20);
    assert_true(ready_of("checkout") < 30);
    fabric_run(&fabric, 3 * MINUTE);
    until_ready("checkout", 30);
    assert_int_equal(assigned_to("checkout", "gz-3/cls-a"), 10);
    /* It is left alone from then on: nothing goes back and forth. */
    const uint64_t writes = fabric_writes(&fabric, 0) + fabric_writes(&fabric, 1);

    fabric_run(&fabric, 30 * MINUTE);
    assert_int_equal(fabric_writes(&fabric, 0) + fabric_writes(&fabric, 1), writes);
}

static void a_node_that_comes_in_time_keeps_pods_where_they_are(void **state) {
    (void)state;
    fabric_patch(&fabric, FABRIC_HUB, CHILDREN, NULL, "cls-a",
                 "{\"spec\":{\"capacity\":{\"mode\":\"Elastic\",\"zones\":[{\"zone\":\"gz-3\","
                 "\"max\":40}],\"pendingDeadlineSeconds\":300}}}");
    fabric_run(&fabric, 2000);
    fabric_app(&fabric, "checkout", 30,
               "  topology: {zones: [gz-3, gz-4], minZones: 2, maxZonePercent: 67}\n");
    fabric_run(&fabric, 4 * MINUTE);
    char *before = fabric_placement(&fabric, "checkout");

    fabric_node(&fabric, 0, "late", "gz-3", 40);
    until_ready("checkout", 30);
    fabric_run(&fabric, 20 * MINUTE);
    char *after = fabric_placement(&fabric, "checkout");

    assert_string_equal(before, after);
    free(before);
    free(after);
}

int main(void) {
#define SCENARIO(test) cmocka_unit_test_setup_teardown(test, open_three, close_all)
    const struct CMUnitTest tests[] = {
        SCENARIO(a_drained_child_is_left_without_a_dip),
        SCENARIO(a_cordoned_child_keeps_what_it_has_and_gains_nothing),
        SCENARIO(a_child_that_is_lost_or_removed_is_made_up_for),
        SCENARIO(a_new_child_takes_what_is_owed_and_moves_nothing),
        SCENARIO(a_drained_node_moves_nothing_between_cells),
        SCENARIO(what_is_wrong_with_a_child_is_said_in_its_status),
        SCENARIO(a_childs_clock_that_is_off_changes_nothing),
        SCENARIO(in_mode_observe_nothing_is_written),
        SCENARIO(mode_is_switched_at_run_time),
        SCENARIO(C64_a_standby_writes_only_after_the_leader_is_gone),
        SCENARIO(C65_a_controller_that_stops_gives_the_lease_up),
        SCENARIO(pods_that_no_autoscaler_finds_a_node_for_are_owed),
        SCENARIO(a_node_that_comes_in_time_keeps_pods_where_they_are),
        SCENARIO(stateful_cells_have_ordinals_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
