/* What a child refuses: who is told, what goes on meanwhile, and how it ends. */
#include "flow/rig_fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define APPS "bulkhead.dev/v1alpha1/appdefinitions"
#define DEPLOYMENTS "apps/v1/deployments"
#define MINUTE 60000

static struct fabric fabric;

/* One child with two zones, so that what concerns one zone shares a lane with the other. */
static int open_one(void **state) {
    (void)state;
    fabric_open(&fabric, 99);
    fabric.verbose = getenv("VERBOSE") != NULL;
    fabric_child(&fabric, "cls-a");
    fabric_node(&fabric, 0, "n3", "gz-3", 40);
    fabric_node(&fabric, 0, "n4", "gz-4", 40);
    fabric_start(&fabric);
    fabric_run(&fabric, 5000);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fabric_close(&fabric);
    return 0;
}

static bool is_ready(struct fabric *of, void *arg) {
    return fabric_ready(of, 0, "checkout", NULL) == *(int *)arg;
}

static void until_ready(int count) {
    fabric_until(&fabric, "ready", is_ready, &count, 5 * MINUTE);
}

static bool condition_is(struct fabric *of, void *arg) {
    const char *const *want = arg;

    return strcmp(fabric_condition(of, "checkout", want[0]), want[1]) == 0;
}

static void until_condition(const char *type, const char *want) {
    const char *both[] = {type, want};

    fabric_until(&fabric, type, condition_is, both, 15 * MINUTE);
}

static void image_set(const char *image) {
    char patch[512];

    snprintf(patch, sizeof patch,
             "{\"spec\":{\"workload\":{\"spec\":{\"template\":{\"spec\":{\"containers\":[{"
             "\"name\":\"main\",\"image\":\"%s\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}"
             "}}}",
             image);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", patch);
}

/* How often the object of a zone was written, by its generation. */
static int64_t generation_of(const char *name) {
    json_t *object = fabric_get(&fabric, 0, DEPLOYMENTS, "retail", name);
    const int64_t generation =
        json_integer_value(json_object_get(json_object_get(object, "metadata"), "generation"));

    json_decref(object);
    return generation;
}

static void a_refused_template_is_named_and_asked_for_seldom(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 12, "  rollout: {pauseSeconds: 60}\n");
    until_ready(12);
    const int64_t third = generation_of("checkout--gz-3"), fourth = generation_of("checkout--gz-4");

    fabric.children[0].refused = "bad";
    image_set("registry.example/bad:1");
    until_condition("WorkloadInvalid", "True/RefusedByChild");
    const uint64_t child = fabric_writes(&fabric, 0), hub = fabric_writes(&fabric, FABRIC_HUB);

    fabric_run(&fabric, 20 * MINUTE);
    assert_in_range(fabric_writes(&fabric, 0) - child, 3, 5); /* every five minutes */
    assert_int_equal(fabric_writes(&fabric, FABRIC_HUB), hub);
    assert_string_equal(fabric_condition(&fabric, "checkout", "WorkloadInvalid"),
                        "True/RefusedByChild");
    /* Capacity does not wait for the template. */
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", "{\"spec\":{\"replicas\":16}}");
    until_ready(16);
    assert_string_equal(fabric_condition(&fabric, "checkout", "WorkloadInvalid"),
                        "True/RefusedByChild");
    /* Taken back, it is as if it had not been: no pause is waited for, and no pod replaced. */
    image_set("registry.example/app:1");
    until_condition("WorkloadInvalid", "False/Valid");
    fabric_run(&fabric, 5000);
    assert_string_equal(fabric_condition(&fabric, "checkout", "RolledOut"), "True/Complete");
    assert_in_range(generation_of("checkout--gz-3"), third, third + 1); /* the scale */
    assert_in_range(generation_of("checkout--gz-4"), fourth, fourth + 1);
    until_ready(16);
}

static void a_mended_template_goes_zone_by_zone_as_any_other(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 12, "  rollout: {pauseSeconds: 60}\n");
    until_ready(12);
    fabric.children[0].refused = "bad";
    image_set("registry.example/bad:1");
    until_condition("WorkloadInvalid", "True/RefusedByChild");
    fabric_run(&fabric, MINUTE);
    image_set("registry.example/app:2");
    until_condition("RolledOut", "False/PauseBetweenZones");
    assert_string_equal(fabric_condition(&fabric, "checkout", "WorkloadInvalid"), "False/Valid");
    /* Another reading of the app does not start the pause anew. */
    fabric_run(&fabric, 40000);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout",
                 "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    fabric_run(&fabric, 45000);
    assert_string_equal(fabric_condition(&fabric, "checkout", "RolledOut"), "True/Complete");
    until_ready(12);
}

static void a_new_app_that_is_refused_in_one_zone_runs_in_the_other(void **state) {
    (void)state;
    fabric.children[0].refused = "checkout--gz-3";
    fabric_app(&fabric, "checkout", 12, "");
    until_condition("WorkloadInvalid", "True/RefusedByChild");
    until_ready(6);
    fabric_run(&fabric, 5000);
    const uint64_t child = fabric_writes(&fabric, 0), hub = fabric_writes(&fabric, FABRIC_HUB);

    fabric_run(&fabric, 10 * MINUTE);
    assert_in_range(fabric_writes(&fabric, 0) - child, 2, 4); /* the workload and its Service */
    assert_int_equal(fabric_writes(&fabric, FABRIC_HUB), hub);
    fabric.children[0].refused = NULL;
    fabric_run(&fabric, 5 * MINUTE); /* nobody tells us: it is tried again */
    until_ready(12);
    until_condition("WorkloadInvalid", "False/Valid");
}

int main(void) {
#define SCENARIO(test) cmocka_unit_test_setup_teardown(test, open_one, close_all)
    const struct CMUnitTest tests[] = {
        SCENARIO(a_refused_template_is_named_and_asked_for_seldom),
        SCENARIO(a_mended_template_goes_zone_by_zone_as_any_other),
        SCENARIO(a_new_app_that_is_refused_in_one_zone_runs_in_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
