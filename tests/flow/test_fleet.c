/* The fleet against the embedded API server: it must do what controllers, scheduler and kubelets do
 * of a real cluster, as far as a client can see. */
#include "base/str.h"
#include "flow/rig_fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define MINUTE 60000
#define DEPLOYMENTS "apps/v1/deployments"

static struct fabric fabric;

static int open_child(void **state) {
    (void)state;
    fabric_open(&fabric, 7);
    const int child = fabric_child(&fabric, "cls-a");

    fabric_apply(&fabric, child, "{apiVersion: v1, kind: Namespace, metadata: {name: retail}}");
    fabric_node(&fabric, child, "a3", "gz-3", 12);
    fabric_node(&fabric, child, "a4", "gz-4", 12);
    fabric_node(&fabric, child, "a5", "gz-5", 6);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fabric_close(&fabric);
    return 0;
}

static void apply(int replicas, const char *image) {
    char text[1024];

    snprintf(text, sizeof text,
             "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: retail, name: web}, "
             "spec: {replicas: %d, selector: {matchLabels: {app: web}}, "
             "strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 1}}, "
             "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, "
             "image: '%s', resources: {requests: {cpu: '1'}}}]}}}}",
             replicas, image);
    fabric_apply(&fabric, 0, text);
}

static int status_of(const char *key) {
    json_t *object = fabric_get(&fabric, 0, DEPLOYMENTS, "retail", "web");
    const int value =
        (int)json_integer_value(json_object_get(json_object_get(object, "status"), key));

    json_decref(object);
    return value;
}

static bool ready(struct fabric *of, void *arg) {
    (void)of;
    return status_of("availableReplicas") == *(int *)arg && status_of("replicas") == *(int *)arg &&
           status_of("updatedReplicas") == *(int *)arg;
}

static void until_ready(int count) {
    fabric_until(&fabric, "all replicas available", ready, &count, 3 * MINUTE);
}

static int pods_on(const char *node) {
    json_t *pods = fabric_list(&fabric, 0, "v1/pods", "retail");
    int count = 0;

    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *spec = json_object_get(json_array_get(pods, i), "spec");
        const char *on = json_string_value(json_object_get(spec, "nodeName"));

        count += on && strcmp(on, node) == 0;
    }
    json_decref(pods);
    return count;
}

static void a_deployment_becomes_ready_on_the_freest_nodes(void **state) {
    (void)state;
    apply(20, "registry.example/app:1");
    until_ready(20);
    assert_int_equal(pods_on("a3"), 8);
    assert_int_equal(pods_on("a4"), 8);
    assert_int_equal(pods_on("a5"), 4);
    const struct fleet_counts counts = fleet_counts(fabric.children[0].fleet);

    assert_int_equal(counts.nodes_ready, 3);
    assert_int_equal(counts.pods, 20);
    assert_int_equal(counts.pods_bound, 20);
    assert_int_equal(counts.pods_ready, 20);
}

static void replicas_go_up_and_down(void **state) {
    (void)state;
    apply(4, "registry.example/app:1");
    until_ready(4);
    apply(12, "registry.example/app:1");
    until_ready(12);
    apply(3, "registry.example/app:1");
    until_ready(3);
    fabric_run(&fabric, 5000);
    assert_int_equal(fleet_counts(fabric.children[0].fleet).pods, 3);
}

static void an_update_keeps_enough_pods_available(void **state) {
    (void)state;
    apply(10, "registry.example/app:1");
    until_ready(10);
    apply(10, "registry.example/app:2");
    for (int i = 0; i < 600 && status_of("updatedReplicas") < 10; i++) {
        fabric_run(&fabric, 50);
        assert_in_range(fleet_counts(fabric.children[0].fleet).pods_ready, 9, 12);
    }
    until_ready(10);
}

static void a_failed_zone_is_left_after_a_while(void **state) {
    (void)state;
    apply(10, "registry.example/app:1");
    until_ready(10);
    struct fleet *fleet = fabric.children[0].fleet;
    const int there = pods_on("a3");

    assert_in_range(there, 1, 10);
    fleet_zone_fail(fleet, "gz-3", true, 30000);
    fabric_run(&fabric, 10000);
    assert_int_equal(fleet_counts(fleet).nodes_ready, 2);
    assert_int_equal(fleet_counts(fleet).pods_ready, 10 - there);
    assert_int_equal(pods_on("a3"), there);
    until_ready(10);
    fabric_run(&fabric, 5000);
    assert_int_equal(pods_on("a3"), 0);
    fleet_zone_fail(fleet, "gz-3", false, INT64_MAX);
    fabric_run(&fabric, 5000);
    assert_int_equal(fleet_counts(fleet).nodes_ready, 3);
}

static int set_int(const char *key) {
    json_t *object = fabric_get(&fabric, 0, "apps/v1/statefulsets", "retail", "db");
    const int value =
        (int)json_integer_value(json_object_get(json_object_get(object, "status"), key));

    json_decref(object);
    return value;
}

static void apply_set(int replicas, const char *image) {
    char text[1024];

    snprintf(text, sizeof text,
             "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{"
             "\"namespace\":\"retail\",\"name\":\"db\"},\"spec\":{\"replicas\":%d,"
             "\"serviceName\":\"db\",\"ordinals\":{\"start\":4},"
             "\"selector\":{\"matchLabels\":{\"app\":\"db\"}},\"volumeClaimTemplates\":[{"
             "\"metadata\":{\"name\":\"data\"},\"spec\":{}}],"
             "\"template\":{\"metadata\":{\"labels\":{\"app\":\"db\"}},\"spec\":{"
             "\"containers\":[{\"name\":\"main\",\"image\":\"%s\"}]}}}}",
             replicas, image);
    json_t *object = fabric_get(&fabric, 0, "apps/v1/statefulsets", "retail", "db");

    if (object) {
        fabric_patch(&fabric, 0, "apps/v1/statefulsets", "retail", "db", text);
    } else {
        const struct kube_call call = {.verb = KUBE_CREATE,
                                       .target = {.group = "apps",
                                                  .version = "v1",
                                                  .resource = "statefulsets",
                                                  .ns = "retail"},
                                       .body = text,
                                       .body_bytes = strlen(text)};
        int status;

        object = fabric_call(&fabric, 0, &call, &status);
        assert_int_equal(status, 201);
    }
    json_decref(object);
}

static bool has_pod(const char *kind, const char *name) {
    json_t *object = fabric_get(&fabric, 0, kind, "retail", name);
    const bool found = object != NULL;

    json_decref(object);
    return found;
}

static void a_stateful_set_goes_by_its_ordinals(void **state) {
    (void)state;
    apply_set(3, "registry.example/db:1");
    fabric_run(&fabric, 900);
    assert_int_equal(fleet_counts(fabric.children[0].fleet).pods, 1);
    fabric_run(&fabric, MINUTE);
    assert_int_equal(set_int("readyReplicas"), 3);
    assert_true(has_pod("v1/pods", "db-4") && has_pod("v1/pods", "db-6"));
    assert_false(has_pod("v1/pods", "db-7") || has_pod("v1/pods", "db-0"));
    assert_true(has_pod("v1/persistentvolumeclaims", "data-db-6"));
    apply_set(3, "registry.example/db:2");
    for (int i = 0; i < 600; i++) {
        fabric_run(&fabric, 50);
        assert_in_range(fleet_counts(fabric.children[0].fleet).pods_ready, 2, 3);
    }
    assert_int_equal(set_int("updatedReplicas"), 3);
    assert_int_equal(set_int("currentReplicas"), 3);
    apply_set(1, "registry.example/db:2");
    fabric_run(&fabric, MINUTE);
    assert_int_equal(fleet_counts(fabric.children[0].fleet).pods, 1);
    assert_true(has_pod("v1/pods", "db-4"));
    assert_true(has_pod("v1/persistentvolumeclaims", "data-db-6"));
}

static void broken_pods_never_become_ready(void **state) {
    (void)state;
    fleet_pods_broken(fabric.children[0].fleet, true);
    apply(3, "registry.example/app:1");
    fabric_run(&fabric, 5 * MINUTE);
    assert_int_equal(fleet_counts(fabric.children[0].fleet).pods_bound, 3);
    assert_int_equal(fleet_counts(fabric.children[0].fleet).pods_ready, 0);
    assert_int_equal(status_of("unavailableReplicas"), 3);
}

static void pods_beyond_the_room_wait_for_a_node(void **state) {
    (void)state;
    apply(32, "registry.example/app:1");
    fabric_run(&fabric, MINUTE);
    assert_int_equal(fleet_counts(fabric.children[0].fleet).pods_bound, 30);
    fabric_node(&fabric, 0, "a6", "gz-5", 4);
    until_ready(32);
    assert_int_equal(pods_on("a6"), 2);
    fleet_node_remove(fabric.children[0].fleet, "a6");
    fabric_run(&fabric, 5000);
    assert_int_equal(fleet_counts(fabric.children[0].fleet).nodes, 3);
    assert_int_equal(pods_on("a6"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_child, close_all)
        TEST(a_deployment_becomes_ready_on_the_freest_nodes),
        TEST(replicas_go_up_and_down),
        TEST(an_update_keeps_enough_pods_available),
        TEST(a_failed_zone_is_left_after_a_while),
        TEST(a_stateful_set_goes_by_its_ordinals),
        TEST(broken_pods_never_become_ready),
        TEST(pods_beyond_the_room_wait_for_a_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
