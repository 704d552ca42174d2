/* The main job: what an owner declares runs in the right zones of the right children. */
#include "flow/rig_fabric.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define APPS "bulkhead.dev/v1alpha1/appdefinitions"
#define PLACEMENTS "bulkhead.dev/v1alpha1/placements"
#define CHILDREN "bulkhead.dev/v1alpha1/childclusters"
#define REVISIONS "apps/v1/controllerrevisions"
#define MINUTE 60000

static struct fabric fabric;

/* The article's fleet: zones gz-3, gz-4, gz-5 over the children cls-a (0) and cls-b (1). */
static int open_article(void **state) {
    (void)state;
    fabric_open(&fabric, 20260101);
    fabric.verbose = getenv("VERBOSE") != NULL;
    const int a = fabric_child(&fabric, "cls-a");
    const int b = fabric_child(&fabric, "cls-b");

    fabric_node(&fabric, a, "a3", "gz-3", 14);
    fabric_node(&fabric, a, "a4", "gz-4", 4);
    fabric_node(&fabric, b, "b4", "gz-4", 9);
    fabric_node(&fabric, b, "b5", "gz-5", 2);
    fabric_start(&fabric);
    fabric_run(&fabric, 5000);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fabric_close(&fabric);
    return 0;
}

struct ready {
    const char *app;
    int count;
};

static bool is_ready(struct fabric *of, void *arg) {
    const struct ready *wanted = arg;
    int ready = 0;

    for (int i = 0; i < of->child_count; i++)
        ready += fabric_ready(of, i, wanted->app, NULL);
    return ready == wanted->count;
}

static void until_ready(const char *app, int count) {
    struct ready wanted = {app, count};
    char what[128];

    snprintf(what, sizeof what, "%d pods of %s ready", count, app);
    fabric_until(&fabric, what, is_ready, &wanted, 5 * MINUTE);
}

static void expect_placement(const char *app, const char *wanted) {
    char *text = fabric_placement(&fabric, app);

    assert_string_equal(text, wanted);
    free(text);
}

static bool has_condition(struct fabric *of, void *arg) {
    const char *const *wanted = arg;

    return strcmp(fabric_condition(of, wanted[0], wanted[1]), wanted[2]) == 0;
}

static void until_condition(const char *app, const char *type, const char *wanted) {
    const char *arg[] = {app, type, wanted};

    fabric_until(&fabric, wanted, has_condition, arg, 5 * MINUTE);
}

static void T01_the_articles_replicas_run_where_it_says(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    expect_placement("checkout", "gz-3/cls-a=10 gz-4/cls-a=1 gz-4/cls-b=9");
    assert_int_equal(fabric_ready(&fabric, 0, "checkout", NULL), 11);
    assert_int_equal(fabric_ready(&fabric, 1, "checkout", NULL), 9);
    until_condition("checkout", "Ready", "True/Ready");
    assert_string_equal(fabric_condition(&fabric, "checkout", "Placed"), "True/Placed");
    json_t *app = fabric_get(&fabric, FABRIC_HUB, APPS, "retail", "checkout");
    const json_t *status = json_object_get(app, "status");

    assert_int_equal(json_integer_value(json_object_get(status, "readyReplicas")), 20);
    assert_int_equal(json_integer_value(json_object_get(status, "placedReplicas")), 20);
    assert_int_equal(json_integer_value(json_object_get(status, "zones")), 2);
    assert_true(
        json_is_true(json_object_get(json_object_get(status, "distribution"), "compliant")));
    json_decref(app);
}

static void C60_an_app_at_rest_writes_nothing(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    fabric_run(&fabric, MINUTE);
    const uint64_t hub = fabric_writes(&fabric, FABRIC_HUB);
    const uint64_t a = fabric_writes(&fabric, 0), b = fabric_writes(&fabric, 1);

    fabric_run(&fabric, 30 * MINUTE);
    assert_int_equal(fabric_writes(&fabric, FABRIC_HUB), hub);
    assert_int_equal(fabric_writes(&fabric, 0), a);
    assert_int_equal(fabric_writes(&fabric, 1), b);
}

static void T15_scaling_moves_nothing(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":24}}");
    until_ready("checkout", 24);
    expect_placement("checkout", "gz-3/cls-a=12 gz-4/cls-a=3 gz-4/cls-b=9");
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":12}}");
    until_ready("checkout", 12);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":0}}");
    until_ready("checkout", 0);
}

/* A restart, or an upgrade, of the controller moves nothing and writes nothing to children. */
static void T12_a_restart_writes_nothing_to_children(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    fabric_run(&fabric, MINUTE);
    const uint64_t a = fabric_writes(&fabric, 0), b = fabric_writes(&fabric, 1);

    fabric_crash(&fabric);
    fabric_run(&fabric, MINUTE);
    fabric_start(&fabric);
    fabric_run(&fabric, 10 * MINUTE);
    assert_int_equal(fabric_writes(&fabric, 0), a);
    assert_int_equal(fabric_writes(&fabric, 1), b);
    expect_placement("checkout", "gz-3/cls-a=10 gz-4/cls-a=1 gz-4/cls-b=9");
}

static void T10_a_silent_child_is_held(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    fabric.children[1].faults.silent = true;
    fabric_run(&fabric, 10 * MINUTE);
    expect_placement("checkout", "gz-3/cls-a=10 gz-4/cls-a=1 gz-4/cls-b=9");
    assert_string_equal(fabric_condition(&fabric, "checkout", "ChildrenKnown"),
                        "False/ChildSilent");
    const uint64_t b = fabric_writes(&fabric, 1);

    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":22}}");
    fabric_run(&fabric, 5 * MINUTE);
    assert_int_equal(fabric_writes(&fabric, 1), b);
    assert_int_equal(fabric_ready(&fabric, 1, "checkout", NULL), 9);
    assert_int_equal(fabric_ready(&fabric, 0, "checkout", NULL), 13);
    fabric.children[1].faults.silent = false;
    until_condition("checkout", "ChildrenKnown", "True/Known");
    until_ready("checkout", 22);
}

static void C49_a_missing_placement_is_adopted_from_what_runs(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    fabric_run(&fabric, MINUTE);
    const uint64_t a = fabric_writes(&fabric, 0), b = fabric_writes(&fabric, 1);

    fabric_delete(&fabric, FABRIC_HUB, PLACEMENTS, "retail", "checkout");
    fabric_run(&fabric, MINUTE);
    expect_placement("checkout", "gz-3/cls-a=10 gz-4/cls-a=1 gz-4/cls-b=9");
    assert_int_equal(fabric_writes(&fabric, 0), a);
    assert_int_equal(fabric_writes(&fabric, 1), b);
}

static int count_of(int child, const char *path) {
    json_t *items = fabric_list(&fabric, child, path, "retail");
    const int count = (int)json_array_size(items);

    json_decref(items);
    return count;
}

static bool app_is_gone(struct fabric *of, void *arg) {
    json_t *app = fabric_get(of, FABRIC_HUB, APPS, "retail", arg);

    json_decref(app);
    return !app;
}

static void deletion_leaves_nothing_behind(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    assert_true(count_of(0, "v1/services") >= 3);
    assert_int_equal(count_of(0, "policy/v1/poddisruptionbudgets"), 1);
    fabric_delete(&fabric, FABRIC_HUB, APPS, "retail", "checkout");
    fabric_until(&fabric, "gone", app_is_gone, "checkout", 5 * MINUTE);
    fabric_run(&fabric, MINUTE);
    for (int child = 0; child < 2; child++) {
        assert_int_equal(count_of(child, "apps/v1/deployments"), 0);
        assert_int_equal(count_of(child, "v1/services"), 0);
        assert_int_equal(count_of(child, "policy/v1/poddisruptionbudgets"), 0);
        assert_int_equal(count_of(child, "v1/pods"), 0);
    }
    assert_int_equal(count_of(FABRIC_HUB, PLACEMENTS), 0);
}

static void C57_deletion_survives_a_silent_child_and_says_so(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    fabric.children[1].faults.silent = true;
    fabric_run(&fabric, 2 * MINUTE);
    fabric_delete(&fabric, FABRIC_HUB, APPS, "retail", "checkout");
    fabric_run(&fabric, 5 * MINUTE);
    assert_string_equal(fabric_condition(&fabric, "checkout", "Deleting"), "True/Waiting");
    assert_int_equal(count_of(0, "apps/v1/deployments"), 0);
    assert_int_equal(count_of(1, "apps/v1/deployments"), 1);
    fabric_patch(&fabric, FABRIC_HUB, CHILDREN, NULL, "cls-b",
                 "{\"spec\":{\"lifecycle\":\"Lost\"}}");
    fabric_until(&fabric, "gone", app_is_gone, "checkout", 5 * MINUTE);
}

static void orphan_keeps_what_runs(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 6, "  deletionPolicy: Orphan\n");
    until_ready("checkout", 6);
    fabric_delete(&fabric, FABRIC_HUB, APPS, "retail", "checkout");
    fabric_until(&fabric, "gone", app_is_gone, "checkout", 5 * MINUTE);
    fabric_run(&fabric, 5 * MINUTE);
    assert_true(is_ready(&fabric, &(struct ready){"checkout", 6}));
}

static void a_strangers_object_under_our_name_is_left_alone(void **state) {
    (void)state;
    fabric_apply(&fabric, 0, "{apiVersion: v1, kind: Namespace, metadata: {name: retail}}");
    fabric_apply(
        &fabric, 0,
        "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: retail, name: "
        "checkout--gz-3}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: "
        "{metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: other}]}}}}");
    fabric_app(&fabric, "checkout", 20, "");
    until_condition("checkout", "WorkloadInvalid", "True/NameTaken");
    json_t *theirs = fabric_get(&fabric, 0, "apps/v1/deployments", "retail", "checkout--gz-3");

    assert_null(json_object_get(json_object_get(theirs, "metadata"), "labels"));
    json_decref(theirs);
    fabric_delete(&fabric, 0, "apps/v1/deployments", "retail", "checkout--gz-3");
    until_ready("checkout", 20);
    until_condition("checkout", "WorkloadInvalid", "False/Valid");
}

static void a_pause_holds_everything(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 6, "");
    until_ready("checkout", 6);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout",
                 "{\"spec\":{\"paused\":true,\"replicas\":12}}");
    fabric_run(&fabric, 5 * MINUTE);
    assert_true(is_ready(&fabric, &(struct ready){"checkout", 6}));
    assert_string_equal(fabric_condition(&fabric, "checkout", "Paused"), "True/SpecPaused");
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"paused\":false}}");
    until_ready("checkout", 12);
}

static void owed_replicas_are_placed_once_there_is_room(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 40, "  topology: {maxZonePercent: 100, extension: Allowed}\n");
    until_ready("checkout", 29);
    until_condition("checkout", "Placed", "False/NoRoom");
    fabric_node(&fabric, 1, "b5-2", "gz-5", 20);
    until_ready("checkout", 40);
    until_condition("checkout", "Placed", "True/Placed");
}

static void a_new_zone_is_used_once_the_policy_asks_for_it(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    fabric_node(&fabric, 1, "b6", "gz-6", 30);
    fabric_run(&fabric, 5 * MINUTE);
    expect_placement("checkout", "gz-3/cls-a=10 gz-4/cls-a=1 gz-4/cls-b=9");
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout",
                 "{\"spec\":{\"topology\":{\"minZones\":3}}}");
    fabric_run(&fabric, 2 * MINUTE);
    expect_placement("checkout", "gz-3/cls-a=7 gz-4/cls-a=1 gz-4/cls-b=6 gz-6/cls-b=6");
    until_ready("checkout", 20);
}

/* Which hash a Deployment of retail/checkout carries; the caller frees it. */
static char *hash_of(int child, const char *name) {
    json_t *object = fabric_get(&fabric, child, "apps/v1/deployments", "retail", name);
    const char *hash = json_string_value(
        json_object_get(json_object_get(json_object_get(object, "metadata"), "annotations"),
                        "bulkhead.dev/template-hash"));
    char *copy = str_dup(hash ? hash : "");

    json_decref(object);
    return copy;
}

static void a_template_rolls_zone_by_zone(void **state) {
    (void)state;
    char *old, *first, *second;

    fabric_app(&fabric, "checkout", 12, "  rollout: {strategy: ZoneByZone, pauseSeconds: 120}\n");
    until_ready("checkout", 12);
    old = hash_of(0, "checkout--gz-3");
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout",
                 "{\"spec\":{\"workload\":{\"spec\":{\"template\":{\"spec\":{\"containers\":[{"
                 "\"name\":\"main\",\"image\":\"registry.example/app:2\",\"resources\":{"
                 "\"requests\":{\"cpu\":\"1\"}}}]}}}}}}");
    fabric_run(&fabric, 60000);
    first = hash_of(0, "checkout--gz-3");
    second = hash_of(1, "checkout--gz-4");
    assert_string_not_equal(first, old);
    assert_string_equal(second, old);
    assert_int_equal(count_of(FABRIC_HUB, REVISIONS), 2);
    assert_string_equal(fabric_condition(&fabric, "checkout", "RolledOut"),
                        "False/PauseBetweenZones");
    free(second);
    until_condition("checkout", "RolledOut", "True/Complete");
    second = hash_of(1, "checkout--gz-4");
    assert_string_equal(first, second);
    until_ready("checkout", 12);
    fabric_run(&fabric, 1000); /* the revision that no zone runs any more goes */
    assert_int_equal(count_of(FABRIC_HUB, REVISIONS), 1);
    /* A restart in the middle of nothing changes nothing. */
    const uint64_t a = fabric_writes(&fabric, 0), b = fabric_writes(&fabric, 1);

    fabric_crash(&fabric);
    fabric_start(&fabric);
    fabric_run(&fabric, 5 * MINUTE);
    assert_int_equal(fabric_writes(&fabric, 0), a);
    assert_int_equal(fabric_writes(&fabric, 1), b);
    free(old);
    free(first);
    free(second);
}

static void C78a_another_cluster_under_the_same_address_gets_no_write(void **state) {
    (void)state;
    static struct fabric_cluster *b;
    const struct apiserver_options options = {
        .clock = &fabric.clock, .rng = {.state = 99}, .name = "impostor"};

    fabric_app(&fabric, "checkout", 20, "");
    until_ready("checkout", 20);
    b = &fabric.children[1];
    struct apiserver *impostor = apiserver_new(&options);
    const struct http_handler theirs = apiserver_handler(impostor), ours = b->inner;
    const uint64_t before = fabric_writes(&fabric, 1);

    b->inner = theirs;
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":24}}");
    fabric_run(&fabric, 5 * MINUTE);
    assert_int_equal(fabric_writes(&fabric, 1), before);
    json_t *child = fabric_get(&fabric, FABRIC_HUB, CHILDREN, NULL, "cls-b");
    char *text = json_dumps(json_object_get(child, "status"), 0);

    assert_non_null(strstr(text, "ClusterIdentityChanged"));
    free(text);
    json_decref(child);
    b->inner = ours;
    until_ready("checkout", 24);
    fabric_crash(&fabric);
    apiserver_free(impostor);
}

static void C50_one_dead_child_does_not_hold_up_the_others(void **state) {
    (void)state;
    fabric.children[1].faults.down = true;
    fabric_crash(&fabric);
    fabric_start(&fabric);
    fabric_app(&fabric, "checkout", 6, "  topology: {maxZonePercent: 80}\n");
    until_ready("checkout", 6);
    fabric.children[1].faults.down = false;
}

static void C44_C54_fields_of_others_survive_our_writes(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 6, "");
    until_ready("checkout", 6);
    fabric_patch(&fabric, 0, "apps/v1/deployments", "retail", "checkout--gz-3",
                 "{\"metadata\":{\"annotations\":{\"theirs\":\"kept\"}},"
                 "\"spec\":{\"minReadySeconds\":7}}");
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout",
                 "{\"spec\":{\"replicas\":8,\"workload\":{\"spec\":{\"template\":{\"metadata\":{"
                 "\"labels\":{\"new\":\"1\"}}}}}}}");
    until_condition("checkout", "RolledOut", "True/Complete");
    until_ready("checkout", 8);
    json_t *object = fabric_get(&fabric, 0, "apps/v1/deployments", "retail", "checkout--gz-3");

    assert_string_equal(
        json_string_value(json_object_get(
            json_object_get(json_object_get(object, "metadata"), "annotations"), "theirs")),
        "kept");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(object, "spec"), "minReadySeconds")), 7);
    json_decref(object);
}

static void C59_every_condition_names_the_generation_it_judged(void **state) {
    (void)state;
    size_t i;
    json_t *condition;

    fabric_app(&fabric, "checkout", 6, "");
    until_ready("checkout", 6);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":7}}");
    until_ready("checkout", 7);
    fabric_run(&fabric, MINUTE);
    json_t *app = fabric_get(&fabric, FABRIC_HUB, APPS, "retail", "checkout");
    const json_int_t generation =
        json_integer_value(json_object_get(json_object_get(app, "metadata"), "generation"));
    const json_t *status = json_object_get(app, "status");

    assert_int_equal(json_integer_value(json_object_get(status, "observedGeneration")), generation);
    json_array_foreach(json_object_get(status, "conditions"), i, condition) assert_int_equal(
        json_integer_value(json_object_get(condition, "observedGeneration")), generation);
    json_decref(app);
}

static void two_apps_of_one_name_in_two_namespaces_do_not_meet(void **state) {
    (void)state;
    fabric_apply(&fabric, FABRIC_HUB, "{apiVersion: v1, kind: Namespace, metadata: {name: ops}}");
    fabric_app(&fabric, "checkout", 6, "");
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: bulkhead.dev/v1alpha1, kind: AppDefinition, metadata: {namespace: "
                 "ops, name: checkout}, spec: {replicas: 4, workload: {kind: Deployment, spec: "
                 "{template: {spec: {containers: [{name: main, image: other, resources: "
                 "{requests: {cpu: '1'}}}]}}}}}}");
    until_ready("checkout", 6);
    fabric_run(&fabric, MINUTE);
    json_t *theirs = fabric_list(&fabric, 0, "apps/v1/deployments", "ops");

    assert_int_equal(json_array_size(theirs), 1);
    json_decref(theirs);
    fabric_delete(&fabric, FABRIC_HUB, APPS, "ops", "checkout");
    fabric_run(&fabric, 2 * MINUTE);
    assert_true(is_ready(&fabric, &(struct ready){"checkout", 6}));
}

static void what_the_template_names_is_copied_and_goes_with_the_app(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 6, "");
    until_ready("checkout", 6);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout",
                 "{\"spec\":{\"replicas\":7,\"workload\":{\"spec\":{\"template\":{\"spec\":{"
                 "\"containers\":[{\"name\":\"main\",\"image\":\"registry.example/app:1\","
                 "\"envFrom\":[{\"configMapRef\":{\"name\":\"settings\"}}],\"resources\":{"
                 "\"requests\":{\"cpu\":\"1\"}}}]}}}}}}");
    until_condition("checkout", "WorkloadInvalid", "True/DependencyMissing");
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: retail, name: settings}, "
                 "data: {colour: blue}}");
    until_condition("checkout", "WorkloadInvalid", "False/Valid");
    until_ready("checkout", 7);
    json_t *copy = fabric_get(&fabric, 0, "v1/configmaps", "retail", "settings");

    assert_string_equal(json_string_value(json_object_get(json_object_get(copy, "data"), "colour")),
                        "blue");
    json_decref(copy);
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: retail, name: settings}, "
                 "data: {colour: red}}");
    fabric_run(&fabric, 3 * MINUTE);
    copy = fabric_get(&fabric, 0, "v1/configmaps", "retail", "settings");
    assert_string_equal(json_string_value(json_object_get(json_object_get(copy, "data"), "colour")),
                        "red");
    json_decref(copy);
    fabric_delete(&fabric, FABRIC_HUB, APPS, "retail", "checkout");
    fabric_until(&fabric, "gone", app_is_gone, "checkout", 5 * MINUTE);
    copy = fabric_get(&fabric, 0, "v1/configmaps", "retail", "settings");
    assert_null(copy);
}

static void many_deletions_at_once_are_held_until_confirmed(void **state) {
    (void)state;
    char name[16];

    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof name, "app-%d", i);
        fabric_app(&fabric, name, 1, "");
    }
    fabric_run(&fabric, MINUTE);
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof name, "app-%d", i);
        fabric_delete(&fabric, FABRIC_HUB, APPS, "retail", name);
    }
    fabric_run(&fabric, 2 * MINUTE);
    assert_true(count_of(FABRIC_HUB, APPS) > 0);
    fabric_patch(&fabric, FABRIC_HUB, "v1/namespaces", NULL, "bulkhead-system",
                 "{\"metadata\":{\"labels\":{\"bulkhead.dev/deletions\":\"confirmed\"}}}");
    fabric_run(&fabric, 2 * MINUTE);
    assert_int_equal(count_of(FABRIC_HUB, APPS), 0);
}

int main(void) {
#define SCENARIO(test) cmocka_unit_test_setup_teardown(test, open_article, close_all)
    const struct CMUnitTest tests[] = {
        SCENARIO(T01_the_articles_replicas_run_where_it_says),
        SCENARIO(C60_an_app_at_rest_writes_nothing),
        SCENARIO(T15_scaling_moves_nothing),
        SCENARIO(T12_a_restart_writes_nothing_to_children),
        SCENARIO(T10_a_silent_child_is_held),
        SCENARIO(C49_a_missing_placement_is_adopted_from_what_runs),
        SCENARIO(deletion_leaves_nothing_behind),
        SCENARIO(C57_deletion_survives_a_silent_child_and_says_so),
        SCENARIO(orphan_keeps_what_runs),
        SCENARIO(a_strangers_object_under_our_name_is_left_alone),
        SCENARIO(a_pause_holds_everything),
        SCENARIO(owed_replicas_are_placed_once_there_is_room),
        SCENARIO(a_new_zone_is_used_once_the_policy_asks_for_it),
        SCENARIO(a_template_rolls_zone_by_zone),
        SCENARIO(C78a_another_cluster_under_the_same_address_gets_no_write),
        SCENARIO(C50_one_dead_child_does_not_hold_up_the_others),
        SCENARIO(C44_C54_fields_of_others_survive_our_writes),
        SCENARIO(C59_every_condition_names_the_generation_it_judged),
        SCENARIO(two_apps_of_one_name_in_two_namespaces_do_not_meet),
        SCENARIO(what_the_template_names_is_copied_and_goes_with_the_app),
        SCENARIO(many_deletions_at_once_are_held_until_confirmed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
