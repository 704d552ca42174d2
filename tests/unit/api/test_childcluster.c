#include "unit.h"

#include "api/childcluster.h"

#include <stdio.h>

#define BASE "\"kubeconfigSecret\": {\"name\": \"k1\"}, \"region\": \"gz\""

static int parse(const char *spec, struct childcluster *ret, struct err *err) {
    char text[2048];

    snprintf(text, sizeof(text),
             "{\"apiVersion\": \"bulkhead.dev/v1alpha1\", \"kind\": \"ChildCluster\", "
             "\"metadata\": {\"name\": \"gz-1\"}, \"spec\": {%s}}",
             spec);
    json_t *root = json_loads(text, 0, NULL);

    assert_non_null(root);
    int r = childcluster_parse(root, ret, err);

    json_decref(root);
    return r;
}

static void childcluster_defaults(void **state) {
    (void)state;
    struct childcluster c;
    struct err err = {0};

    if (parse(BASE, &c, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(c.secret_key, "kubeconfig");
    assert_string_equal(c.zone_label, "topology.kubernetes.io/zone");
    assert_int_equal(c.capacity, CHILDCLUSTER_NODES);
    assert_int_equal(c.lifecycle, CHILDCLUSTER_ACTIVE);
    assert_int_equal(c.pending_deadline_seconds, 600);
    assert_string_equal(childcluster_zone(&c, "z1"), "z1");
    assert_false(childcluster_allows(&c, "retail")); /* nothing is allowed unless listed */
    childcluster_done(&c);
    childcluster_done(&c);
    childcluster_done(NULL);
}

static void childcluster_reads_every_field(void **state) {
    (void)state;
    struct childcluster c;
    struct err err = {0};

    if (parse("\"kubeconfigSecret\": {\"name\": \"k1\", \"key\": \"value\"}, \"region\": \"gz\", "
              "\"zoneLabel\": \"example.com/zone\", \"zoneMap\": [{\"value\": \"1\", \"zone\": "
              "\"gz-a\"}], \"capacity\": {\"mode\": \"Elastic\", \"zones\": [{\"zone\": \"gz-a\", "
              "\"max\": 40}], \"pendingDeadlineSeconds\": 300}, \"allowedNamespaces\": "
              "[\"retail\"], \"lifecycle\": \"Cordoned\"",
              &c, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(c.secret_key, "value");
    assert_string_equal(childcluster_zone(&c, "1"), "gz-a");
    assert_int_equal(c.capacity, CHILDCLUSTER_ELASTIC);
    assert_int_equal(c.elastic[0].max, 40);
    assert_int_equal(c.pending_deadline_seconds, 300);
    assert_true(childcluster_allows(&c, "retail"));
    assert_false(childcluster_allows(&c, "kube-system"));
    assert_int_equal(c.lifecycle, CHILDCLUSTER_CORDONED);
    childcluster_done(&c);
}

static void childcluster_refuses(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        const char *part;
    } rows[] = {
        {"\"region\": \"gz\"", "spec.kubeconfigSecret.name: missing"},
        {"\"kubeconfigSecret\": {\"name\": \"k1\"}", "spec.region: missing"},
        {"\"kubeconfigSecret\": {\"name\": \"k1\", \"namespace\": \"x\"}", "unknown field"},
        {BASE ", \"lifecycle\": \"Gone\"", "Active, Cordoned, Draining, Lost"},
        {BASE ", \"allowedNamespaces\": [\"kube-system\"]", "belongs to Kubernetes"},
        {BASE ", \"capacity\": {\"mode\": \"Elastic\"}", "goes with mode Elastic"},
        {BASE ", \"capacity\": {\"zones\": [{\"zone\": \"a\", \"max\": 1}]}", "mode: Observed"},
        {BASE ", \"capacity\": {\"mode\": \"Elastic\", \"zones\": [{\"zone\": \"a\"}]}",
         "spec.capacity.zones[0].max: missing"},
        {BASE ", \"zoneMap\": [{\"value\": \"1\", \"zone\": \"a\"}, {\"value\": \"1\", \"zone\": "
              "\"b\"}]",
         "spec.zoneMap[1].value"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct childcluster c = {.elastic_count = 77};
        struct err err = {0};

        if (parse(rows[i].spec, &c, &err) != ERR_INVALID || c.elastic_count != 77)
            fail_msg("%s: accepted", rows[i].spec);
        if (!strstr(err.msg, rows[i].part))
            fail_msg("%s: %s", rows[i].spec, err.msg);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(childcluster_defaults),
        cmocka_unit_test(childcluster_reads_every_field),
        cmocka_unit_test(childcluster_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
