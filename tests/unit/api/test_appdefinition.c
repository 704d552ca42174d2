#include "unit.h"

#include "api/appdefinition.h"

#include <stdbool.h>
#include <stdio.h>

#define WORKLOAD                                                                                   \
    "workload: {spec: {template: {spec: {containers: []}}}, service: {ports: [{name: http, port: " \
    "80}]}}"

/* Rows are written without quotes: every bare word becomes text, but for numbers and true, false
 * and null. That keeps a row as short as the YAML it stands for. */
static json_t *loose_new(const char *text) {
    char out[4096];
    size_t n = 0;

    for (const char *p = text; *p;) {
        size_t word = strcspn(p, "{}[],: \"'");

        if (*p == '\'' || *p == '"') {
            word = strcspn(p + 1, "'\"");
            n += (size_t)snprintf(out + n, sizeof(out) - n, "\"%.*s\"", (int)word, p + 1);
            p += word + 2;
        } else if (word == 0) {
            out[n++] = *p++;
        } else {
            char *end;

            (void)strtod(p, &end);
            bool bare = end == p + word || !strncmp(p, "true", word) ||
                        !strncmp(p, "false", word) || !strncmp(p, "null", word);
            n += (size_t)snprintf(out + n, sizeof(out) - n, bare ? "%.*s" : "\"%.*s\"", (int)word,
                                  p);
            p += word;
        }
    }
    out[n] = '\0';
    json_error_t error;
    json_t *root = json_loads(out, 0, &error);

    if (!root)
        fail_msg("row is no JSON: %s in %s", error.text, out);
    return root;
}

static int parse(const char *text, struct appdefinition *ret, struct err *err) {
    json_t *root = loose_new(text);
    int r = appdefinition_parse(root, ret, err);

    json_decref(root);
    return r;
}

/* Parses an app called checkout with a workload and these further fields of its spec. */
static int parse_spec(const char *spec, struct appdefinition *ret, struct err *err) {
    char text[2048];

    snprintf(text, sizeof(text),
             "{apiVersion: bulkhead.dev/v1alpha1, kind: AppDefinition, metadata: {namespace: "
             "retail, name: checkout}, spec: {" WORKLOAD "%s%s}}",
             *spec ? ", " : "", spec);
    return parse(text, ret, err);
}

static void refuse(const char *spec, const char *path, const char *part) {
    struct appdefinition app = {.generation = 77};
    struct err err = {0};

    if (parse_spec(spec, &app, &err) != ERR_INVALID)
        fail_msg("%s: accepted", spec);
    if (app.generation != 77)
        fail_msg("%s: the result was touched", spec);
    if (!strstr(err.msg, path) || !strstr(err.msg, part))
        fail_msg("%s: '%s' lacks '%s' or '%s'", spec, err.msg, path, part);
}

static void appdefinition_defaults(void **state) {
    (void)state;
    struct appdefinition app;
    struct err err = {0};

    if (parse_spec("replicas: 3", &app, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(app.name, "checkout");
    assert_string_equal(app.ns, "retail");
    assert_int_equal(app.policy.replicas, 3);
    assert_int_equal(app.policy.min_zones, 2);
    assert_int_equal(app.policy.max_zone_percent, 100);
    assert_int_equal(app.policy.max_cluster_percent, 100);
    assert_int_equal(app.policy.spread, TOPOLOGY_BALANCED);
    assert_int_equal(app.policy.when_short, TOPOLOGY_PARTIAL);
    assert_false(app.policy.extension);
    assert_false(app.autoscaled);
    assert_int_equal(app.zone_count, 0);
    assert_null(app.region);
    assert_true(app.max_surge.percent);
    assert_int_equal(app.max_surge.value, 25);
    assert_false(app.max_unavailable.percent);
    assert_int_equal(app.max_unavailable.value, 0);
    assert_int_equal(app.pause_seconds, 60);
    assert_int_equal(app.deletion, APPDEFINITION_DELETE);
    assert_int_equal(app.traffic, APPDEFINITION_MANUAL);
    assert_int_equal(app.port_count, 1);
    assert_non_null(json_object_get(app.workload_spec, "template"));
    appdefinition_done(&app);
    appdefinition_done(&app);
    appdefinition_done(NULL);
}

static void appdefinition_reads_every_field(void **state) {
    (void)state;
    struct appdefinition app;
    struct err err = {0};

    if (parse_spec("paused: true, autoscaling: {minReplicas: 10, maxReplicas: 60, metrics: [], "
                   "behavior: {}}, topology: {region: gz, clusterSelector: {matchLabels: {gpu: "
                   "'no'}}, zones: [gz-a, gz-b], minZones: 1, spread: Equal, maxZonePercent: 67, "
                   "maxClusterPercent: 40, extension: Allowed, avoidZones: [gz-c], whenShort: "
                   "Reject}, routes: [{name: web, class: polaris-prod, ref: {name: x}, port: "
                   "http}], rollout: {strategy: AllAtOnce, maxSurge: 2, maxUnavailable: '10%', "
                   "pauseSeconds: 0}, deletionPolicy: Orphan, faultHandling: {traffic: Automatic, "
                   "compensation: Automatic, profile: {financial: true, striped: true, hosted: "
                   "true}}",
                   &app, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(app.paused && app.autoscaled && app.metrics && app.behavior);
    assert_int_equal(app.min_replicas, 10);
    assert_int_equal(app.max_replicas, 60);
    assert_int_equal(app.policy.replicas, 10);
    assert_string_equal(app.region, "gz");
    assert_int_equal(app.zone_count, 2);
    assert_string_equal(app.zones[1], "gz-b");
    assert_string_equal(app.avoid_zones[0], "gz-c");
    assert_int_equal(app.policy.spread, TOPOLOGY_EQUAL);
    assert_int_equal(app.policy.when_short, TOPOLOGY_REJECT);
    assert_int_equal(app.policy.max_zone_percent, 67);
    assert_int_equal(app.policy.max_cluster_percent, 40);
    assert_true(app.policy.extension && app.financial && app.striped && app.hosted);
    assert_string_equal(app.routes[0].class_name, "polaris-prod");
    assert_string_equal(app.routes[0].port, "http");
    assert_int_equal(app.strategy, APPDEFINITION_ALL_AT_ONCE);
    assert_int_equal(app.max_unavailable.value, 10);
    assert_int_equal(app.pause_seconds, 0);
    assert_int_equal(app.deletion, APPDEFINITION_ORPHAN);
    assert_int_equal(app.compensation, APPDEFINITION_AUTOMATIC);
    appdefinition_done(&app);
}

static void MZ_007_absent_null_and_zero_differ(void **state) {
    (void)state;
    static const char *const unbounded[] = {
        "replicas: 4",
        "replicas: 4, topology: {minZones: 1}",
        "replicas: 4, topology: {maxZonePercent: null}",
        "replicas: 4, topology: null, rollout: null, routes: null, faultHandling: null",
    };
    struct appdefinition app;

    for (size_t i = 0; i < sizeof(unbounded) / sizeof(unbounded[0]); i++) {
        assert_int_equal(parse_spec(unbounded[i], &app, NULL), 0);
        assert_int_equal(app.policy.max_zone_percent, 100);
        appdefinition_done(&app);
    }
    assert_int_equal(parse_spec("replicas: 0", &app, NULL), 0);
    assert_int_equal(app.policy.replicas, 0);
    appdefinition_done(&app);
    refuse("replicas: null", "spec.replicas", "missing");
    refuse("replicas: -1", "spec.replicas: -1", "from 0 to 1000000");
    refuse("replicas: 4, topology: {maxZonePercent: 0}", "spec.topology.maxZonePercent: 0",
           "from 1 to 100");
    refuse("replicas: 4, topology: {minZones: -1}", "spec.topology.minZones: -1", "from 1 to 64");
    refuse("autoscaling: {minReplicas: 3, maxReplicas: 2}", "spec.autoscaling.minReplicas: 3",
           "above maxReplicas 2");
    refuse("autoscaling: {minReplicas: 3, maxReplicas: 0}", "spec.autoscaling.maxReplicas: 0",
           "from 1");
    refuse("autoscaling: {minReplicas: 3}", "spec.autoscaling.maxReplicas", "required");
}

static void MZ_029_rollout_names_the_field(void **state) {
    (void)state;
    refuse("replicas: 1, rollout: {maxSurge: '1'}", "spec.rollout.maxSurge", "such as \"25%\"");
    refuse("replicas: 1, rollout: {maxUnavailable: '2.5%'}", "spec.rollout.maxUnavailable", "2.5%");
}

static void MZ_036_a_label_that_is_no_text(void **state) {
    (void)state;
    struct appdefinition app;
    struct err err = {0};

    assert_int_equal(parse("{apiVersion: bulkhead.dev/v1alpha1, kind: AppDefinition, metadata: "
                           "{name: app-1, labels: {gate: 'on', on-call: true}}, spec: {}}",
                           &app, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.msg, "metadata.labels.on-call: true"));
    assert_non_null(strstr(err.msg, "put it in quotes"));
}

static void MZ_039_unknown_fields_say_what_was_meant(void **state) {
    (void)state;
    refuse("replicas: 4, maxZonePercent: 67", "unknown field spec.maxZonePercent",
           "did you mean spec.topology.maxZonePercent?");
    refuse("replicas: 4, topology: {minZone: 2}", "unknown field spec.topology.minZone",
           "did you mean spec.topology.minZones?");
    refuse("replica: 4", "unknown field spec.replica", "did you mean spec.replicas?");
    refuse("replicas: 4, topology: {maxzonepercent: 2}", "spec.topology.maxzonepercent",
           "did you mean spec.topology.maxZonePercent?");
    refuse("replicas: 4, colour: red", "unknown field spec.colour", "remove it");
    refuse("replicas: 4, routes: [{name: web, clas: x}]", "unknown field spec.routes[].clas",
           "did you mean spec.routes[].class?");
}

static void appdefinition_refuses(void **state) {
    (void)state;
    refuse("", "spec.replicas", "spec.autoscaling");
    refuse("replicas: 1, autoscaling: {maxReplicas: 3}", "spec.replicas", "remove one");
    refuse("replicas: '4'", "spec.replicas: \"4\"", "whole number");
    refuse("replicas: 4.5", "spec.replicas: 4.5", "whole number");
    refuse("replicas: 1000001", "spec.replicas", "1000000");
    refuse("replicas: 1, paused: 'yes'", "spec.paused", "without quotes");
    refuse("replicas: 1, topology: []", "spec.topology", "object");
    refuse("replicas: 1, topology: {spread: Even}", "spec.topology.spread: \"Even\"",
           "Balanced, Equal, Capacity");
    refuse("replicas: 1, topology: {zones: a}", "spec.topology.zones", "list");
    refuse("replicas: 1, topology: {zones: [a, 1]}", "spec.topology.zones[1]", "quotes");
    refuse("replicas: 1, topology: {zones: [a, a]}", "spec.topology.zones[1]", "twice");
    refuse("replicas: 1, topology: {zones: [a, b], avoidZones: [b]}", "spec.topology.avoidZones",
           "remove it from one");
    refuse("replicas: 1, routes: [{name: web}]", "spec.routes[0].class", "required");
    refuse("replicas: 1, routes: [{name: web, class: x, port: grpc}]", "spec.routes[0].port",
           "add it there");
    refuse("replicas: 1, routes: [{name: web, class: x}, {name: web, class: x}]",
           "spec.routes[1].name", "twice");
    refuse("replicas: 1, workload: {spec: {}}", "spec.workload.spec.template", "missing");
    refuse("replicas: 1, workload: {spec: {replicas: 2, template: {}}}",
           "spec.workload.spec.replicas", "write spec.replicas instead");
    refuse("replicas: 1, workload: {spec: {template: {metadata: {labels: {a: 1}}}}}",
           "spec.workload.spec.template.metadata.labels.a", "quotes");
    refuse("replicas: 1, deletionPolicy: Keep", "spec.deletionPolicy", "Delete, Orphan");
}

static void appdefinition_names(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool good;
    } rows[] = {
        {"a", true},
        {"a-b", true},
        {"0a", true},
        {"abcdefghijklmnopqrstuvwxyzabcdefghijklmn", true},
        {"abcdefghijklmnopqrstuvwxyzabcdefghijklmno", false},
        {"a--b", false},
        {"-a", false},
        {"a-", false},
        {"A", false},
        {"a.b", false},
        {"a_b", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[1024];
        struct appdefinition app;
        struct err err = {0};

        snprintf(text, sizeof(text),
                 "{apiVersion: bulkhead.dev/v1alpha1, kind: AppDefinition, metadata: {name: %s}, "
                 "spec: {replicas: 1, " WORKLOAD "}}",
                 rows[i].name);
        int r = parse(text, &app, &err);

        if ((r == 0) != rows[i].good)
            fail_msg("%s: %s", rows[i].name, r ? err.msg : "accepted");
        if (r == 0)
            appdefinition_done(&app);
        else
            assert_non_null(strstr(err.msg, "metadata.name"));
    }
}

static void appdefinition_of_another_kind(void **state) {
    (void)state;
    struct appdefinition app;
    struct err err = {0};

    assert_int_equal(appdefinition_parse(NULL, &app, &err), ERR_INVALID);
    assert_int_equal(parse("{}", &app, &err), ERR_INVALID);
    assert_int_equal(parse("{apiVersion: apps/v1, kind: Deployment}", &app, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "bulkhead.dev/v1alpha1"));
    assert_int_equal(parse("{apiVersion: bulkhead.dev/v1alpha1, kind: AppDefinition}", &app, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.msg, "metadata.name"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appdefinition_defaults),
        cmocka_unit_test(appdefinition_reads_every_field),
        cmocka_unit_test(MZ_007_absent_null_and_zero_differ),
        cmocka_unit_test(MZ_029_rollout_names_the_field),
        cmocka_unit_test(MZ_036_a_label_that_is_no_text),
        cmocka_unit_test(MZ_039_unknown_fields_say_what_was_meant),
        cmocka_unit_test(appdefinition_refuses),
        cmocka_unit_test(appdefinition_names),
        cmocka_unit_test(appdefinition_of_another_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
