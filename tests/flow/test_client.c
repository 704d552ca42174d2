/* What the controller asks of API servers and what it writes there, seen from their side. */
#include "flow/rig_fabric.h"

#include "base/base64.h"
#include "base/str.h"
#include "controller/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define APPS "bulkhead.dev/v1alpha1/appdefinitions"
#define DEPLOYMENTS "apps/v1/deployments"
#define MINUTE 60000
#define HOUR (60 * MINUTE)
#define HUB_TYPES 5

static struct fabric fabric;

/* Requests as they came: "cls-a PATCH /apis/... QUERY BODY", one a line. */
static struct str asked;

static void keep_asked(const struct fabric_cluster *cluster, const struct http_incoming *incoming) {
    str_addf(&asked, NULL, "%s %s %s ?%s ", cluster->name, incoming->method, incoming->path,
             incoming->query);
    if (incoming->body_bytes)
        str_add(&asked, incoming->body, incoming->body_bytes, NULL);
    str_add(&asked, "\n", 1, NULL);
}

static void listen_again(void) {
    str_done(&asked);
    str_init(&asked, (size_t)256 << 20);
    fabric.hub.asked = keep_asked;
    for (int i = 0; i < fabric.child_count; i++)
        fabric.children[i].asked = keep_asked;
}

static int open_two(void **state) {
    static const char *const zones[] = {"gz-3", "gz-4", "gz-5"};

    (void)state;
    fabric_open(&fabric, 4242);
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
    listen_again();
    fabric_start(&fabric);
    fabric_run(&fabric, 5000);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fabric_close(&fabric);
    str_done(&asked);
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

    fabric_until(&fabric, "all ready", is_ready, &wanted, 10 * MINUTE);
}

static void replicas_set(const char *app, int count) {
    char text[64];

    snprintf(text, sizeof text, "{\"spec\":{\"replicas\":%d}}", count);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", app, text);
}

/* Calls visit for each line of asked; it may cut the line up. */
static void each_asked(void (*visit)(char *line, void *arg), void *arg) {
    char *text = str_dup_len(asked.data ? asked.data : "", asked.data ? asked.size_bytes : 0);
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        visit(line, arg);
    free(text);
}

/* A set of texts with how often each came. */
struct tally {
    char *text[4096];
    int times[4096];
    int count;
};

static void tally_add(struct tally *tally, const char *text) {
    for (int i = 0; i < tally->count; i++) {
        if (strcmp(tally->text[i], text) == 0) {
            tally->times[i]++;
            return;
        }
    }
    assert_in_range(tally->count, 0, 4095);
    tally->text[tally->count] = str_dup(text);
    tally->times[tally->count++] = 1;
}

static void tally_done(struct tally *tally) {
    for (int i = 0; i < tally->count; i++)
        free(tally->text[i]);
    *tally = (struct tally){0};
}

static void tally_watch(char *line, void *arg) {
    const char *selector = strstr(line, "labelSelector=");
    char key[1024];

    if (!strstr(line, "watch=true") && !strstr(line, "watch=1"))
        return;
    snprintf(key, sizeof key, "%.*s %.*s", (int)strcspn(line, "?"), line,
             selector ? (int)strcspn(selector, "& ") : 0, selector ? selector : "");
    tally_add(arg, key);
}

static void C42_one_watch_a_cluster_and_type(void **state) {
    struct tally tally = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        char name[16];

        snprintf(name, sizeof name, "app-%d", i);
        fabric_app(&fabric, name, 4, "");
        until_ready(name, 4);
    }
    fabric_run(&fabric, MINUTE);
    each_asked(tally_watch, &tally);
    assert_int_equal(tally.count, HUB_TYPES + 2 * CHILD_INFORMERS);
    for (int i = 0; i < tally.count; i++) {
        if (tally.times[i] != 1)
            fail_msg("%d times: %s", tally.times[i], tally.text[i]);
    }
    tally_done(&tally);
}

static void C43_what_is_cached_stays_as_it_was_read(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 6, "");
    until_ready("checkout", 6);
    replicas_set("checkout", 9);
    until_ready("checkout", 9);
    fabric_run(&fabric, MINUTE);
    const struct app *app = world_app(manager_world(fabric.manager), "retail/checkout");
    json_t *object = fabric_get(&fabric, FABRIC_HUB, APPS, "retail", "checkout");
    const json_t *workload = json_object_get(json_object_get(object, "spec"), "workload");

    assert_non_null(app);
    assert_true(json_equal(app->spec.workload_spec, json_object_get(workload, "spec")));
    assert_true(json_equal(app->status, json_object_get(object, "status")));
    json_decref(object);
}

static void tally_write(char *line, void *arg) {
    if (!strstr(line, " GET ") && !strstr(line, "/events") && !strstr(line, "/status") &&
        strncmp(line, "hub ", 4) != 0)
        tally_add(arg, line);
}

/* Late watches make the cache lag what we wrote: nothing may be created or written twice. */
static void C45_a_late_watch_makes_no_second_write(void **state) {
    struct tally tally = {0};

    (void)state;
    for (int i = 0; i < 2; i++)
        fabric.children[i].faults.delay_max_ms = 5000;
    fabric.hub.faults.delay_max_ms = 5000;
    fabric_app(&fabric, "checkout", 12, "");
    until_ready("checkout", 12);
    fabric_run(&fabric, 2 * MINUTE);
    each_asked(tally_write, &tally);
    assert_in_range(tally.count, 4, 100);
    for (int i = 0; i < tally.count; i++) {
        if (tally.times[i] != 1)
            fail_msg("%d times: %s", tally.times[i], tally.text[i]);
    }
    tally_done(&tally);
    int deployments = 0;

    for (int i = 0; i < 2; i++) {
        json_t *items = fabric_list(&fabric, i, DEPLOYMENTS, "retail");

        deployments += (int)json_array_size(items);
        json_decref(items);
    }
    assert_int_equal(deployments, 2);
    json_t *placements = fabric_list(&fabric, FABRIC_HUB, "bulkhead.dev/v1alpha1/placements", NULL);

    assert_int_equal(json_array_size(placements), 1);
    json_decref(placements);
}

static void expect_idle_line(char *line, void *arg) {
    (void)arg;
    if (strstr(line, " GET ") &&
        (strstr(line, "watch=true") || strstr(line, "/namespaces/kube-system ?") ||
         strstr(line, "/namespaces/bulkhead-system/secrets/cls-")))
        return;
    fail_msg("asked while idle: %.300s", line);
}

static void C46_nothing_is_resynced(void **state) {
    (void)state;
    fabric_app(&fabric, "checkout", 12, "");
    until_ready("checkout", 12);
    fabric_run(&fabric, 10 * MINUTE);
    listen_again();
    fabric_run(&fabric, 10 * HOUR);
    assert_true(asked.size_bytes > 0);
    each_asked(expect_idle_line, NULL);
}

/* In each round the events of one cluster are lost on the way while something changes. */
static void C49_any_event_may_be_lost(void **state) {
    static const int counts[] = {12, 7, 15, 5, 9, 3};

    (void)state;
    fabric_app(&fabric, "checkout", 6, "");
    until_ready("checkout", 6);
    for (int round = 0; round < 18; round++) {
        struct loopback_faults *faults =
            round % 3 == 2 ? &fabric.hub.faults : &fabric.children[round % 3].faults;

        faults->cut_permille = 1000;
        replicas_set("checkout", counts[round % 6]);
        fabric_run(&fabric, 50 + 400 * (round / 3));
        faults->cut_permille = 0;
        until_ready("checkout", counts[round % 6]);
    }
    fabric_run(&fabric, MINUTE);
    assert_string_equal(fabric_condition(&fabric, "checkout", "Ready"), "True/Ready");
}

struct writes {
    int status;
    int other;
};

static void expect_no_spec(char *line, void *arg) {
    struct writes *writes = arg;

    if (strstr(line, " GET ") || !strstr(line, "/appdefinitions/"))
        return;
    if (strstr(line, "/appdefinitions/checkout/status ?"))
        writes->status++;
    else
        writes->other++;
    if (strstr(line, "\"spec\""))
        fail_msg("a spec is written: %.300s", line);
}

static void C55_a_status_write_leaves_a_spec_edit_alone(void **state) {
    struct writes writes = {0};

    (void)state;
    fabric_app(&fabric, "checkout", 6, "");
    fabric.hub.faults.delay_max_ms = 300;
    for (int i = 0; i < 60; i++) {
        char text[256];

        snprintf(text, sizeof text,
                 "{\"metadata\":{\"annotations\":{\"edit\":\"%d\"}},\"spec\":{\"replicas\":%d,"
                 "\"workload\":{\"spec\":{\"paused\":false,\"minReadySeconds\":%d}}}}",
                 i, 4 + i % 5, i % 3);
        fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout", text);
        json_t *before = fabric_get(&fabric, FABRIC_HUB, APPS, "retail", "checkout");

        fabric_run(&fabric, i * 37 % 900);
        json_t *after = fabric_get(&fabric, FABRIC_HUB, APPS, "retail", "checkout");
        char *was = json_dumps(json_object_get(before, "spec"), 0);
        char *is = json_dumps(json_object_get(after, "spec"), 0);

        assert_string_equal(is, was);
        free(was);
        free(is);
        json_decref(before);
        json_decref(after);
    }
    each_asked(expect_no_spec, &writes);
    assert_in_range(writes.status, 3, 1000);
    assert_in_range(writes.other, 1, 10); /* the finalizer */
}

static void expect_scale(char *line, void *arg) {
    if (strstr(line, " GET ") || !strstr(line, "/deployments/"))
        return;
    ++*(int *)arg;
    if (!strstr(line, "/scale ?"))
        fail_msg("not through /scale: %.300s", line);
}

static void C56_replicas_change_through_the_scale_subresource(void **state) {
    static const char body[] =
        "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\",\"metadata\":{\"name\":\"checkout\","
        "\"namespace\":\"retail\"},\"spec\":{\"replicas\":11}}";
    struct kube_call call = {.verb = KUBE_GET,
                             .target = {.group = "bulkhead.dev",
                                        .version = "v1alpha1",
                                        .resource = "appdefinitions",
                                        .ns = "retail",
                                        .name = "checkout",
                                        .subresource = "scale"}};
    int status, scaled = 0;

    (void)state;
    fabric_app(&fabric, "checkout", 7, "");
    until_ready("checkout", 7);
    fabric_run(&fabric, MINUTE);
    json_t *scale = fabric_call(&fabric, FABRIC_HUB, &call, &status);
    const json_t *says = json_object_get(scale, "status");

    assert_int_equal(status, 200);
    assert_int_equal(json_integer_value(json_object_get(says, "replicas")), 7);
    assert_non_null(json_string_value(json_object_get(says, "selector")));
    assert_true(json_string_length(json_object_get(says, "selector")) > 0);
    json_decref(scale);
    listen_again();
    call.verb = KUBE_REPLACE;
    call.body = body;
    call.body_bytes = sizeof body - 1;
    json_decref(fabric_call(&fabric, FABRIC_HUB, &call, &status));
    assert_int_equal(status, 200);
    until_ready("checkout", 11);
    each_asked(expect_scale, &scaled);
    assert_in_range(scaled, 1, 8);
}

/* An app with everything that comes with one: ports, a ConfigMap, a Secret and a ServiceAccount;
 * and one with ordinals. */
static void everything_apply(void) {
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: retail, name: settings}, "
                 "data: {colour: blue}}");
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: v1, kind: Secret, metadata: {namespace: retail, name: keys}, "
                 "data: {password: cGxhbnRlZC1wYXNzd29yZA==}}"); /* planted-password */
    fabric_apply(
        &fabric, FABRIC_HUB,
        "{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: retail, name: who}}");
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: bulkhead.dev/v1alpha1, kind: AppDefinition, metadata: {namespace: "
                 "retail, name: full}, spec: {replicas: 6, workload: {kind: Deployment, service: "
                 "{ports: [{name: http, port: 80, targetPort: 8080}]}, spec: {template: {spec: "
                 "{serviceAccountName: who, containers: [{name: main, image: "
                 "'registry.example/app:1', envFrom: [{configMapRef: {name: settings}}, "
                 "{secretRef: {name: keys}}], resources: {requests: {cpu: '1'}}}]}}}}}}");
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: bulkhead.dev/v1alpha1, kind: AppDefinition, metadata: {namespace: "
                 "retail, name: ledger}, spec: {replicas: 4, workload: {kind: StatefulSet, spec: "
                 "{template: {spec: {containers: [{name: main, image: 'registry.example/ledger:1', "
                 "resources: {requests: {cpu: '1'}}}]}}}}}}");
}

static void everything_runs(void) {
    everything_apply();
    until_ready("full", 6);
    until_ready("ledger", 4);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "full",
                 "{\"spec\":{\"workload\":{\"spec\":{\"template\":{\"metadata\":{\"labels\":{"
                 "\"new\":\"1\"}}}}}}}");
    replicas_set("ledger", 6);
    fabric_run(&fabric, 3 * MINUTE);
    until_ready("full", 6);
    until_ready("ledger", 6);
}

static const char *text_at(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Children's objects belong to no object of the hub: their garbage collector would not find it, and
 * delete them. In the hub what belongs to an app names it by uid, in its own namespace. */
static void C58_owners_are_in_the_same_namespace_of_the_same_cluster(void **state) {
    static const char *const ours[] = {DEPLOYMENTS,          "apps/v1/statefulsets",
                                       "v1/services",        "policy/v1/poddisruptionbudgets",
                                       "v1/secrets",         "v1/configmaps",
                                       "v1/serviceaccounts", "v1/namespaces"};
    static const char *const owned[] = {"bulkhead.dev/v1alpha1/placements",
                                        "apps/v1/controllerrevisions"};
    int seen = 0;

    (void)state;
    everything_runs();
    for (int child = 0; child < 2; child++) {
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
            json_t *items = fabric_list(&fabric, child, ours[i], NULL);

            for (size_t k = 0; k < json_array_size(items); k++) {
                const json_t *metadata = json_object_get(json_array_get(items, k), "metadata");

                if (json_object_get(metadata, "ownerReferences"))
                    fail_msg("%s %s has an owner", ours[i], text_at(metadata, "name"));
                seen++;
            }
            json_decref(items);
        }
    }
    assert_in_range(seen, 16, 200);
    for (size_t i = 0; i < 2; i++) {
        json_t *items = fabric_list(&fabric, FABRIC_HUB, owned[i], "retail");

        assert_in_range(json_array_size(items), 2, 20);
        for (size_t k = 0; k < json_array_size(items); k++) {
            const json_t *metadata = json_object_get(json_array_get(items, k), "metadata");
            const json_t *owners = json_object_get(metadata, "ownerReferences");
            const json_t *owner = json_array_get(owners, 0);

            assert_int_equal(json_array_size(owners), 1);
            json_t *app = fabric_get(&fabric, FABRIC_HUB, APPS, "retail", text_at(owner, "name"));

            assert_string_equal(text_at(owner, "kind"), "AppDefinition");
            assert_string_equal(text_at(owner, "uid"),
                                text_at(json_object_get(app, "metadata"), "uid"));
            assert_true(json_is_true(json_object_get(owner, "controller")));
            json_decref(app);
        }
        json_decref(items);
    }
}

/* All that it said: log lines. */
static struct str said;

static void keep_line(const char *line) {
    str_addf(&said, NULL, "%s\n", line);
}

static void listen_to_lines(void) {
    str_done(&said);
    str_init(&said, (size_t)64 << 20);
    fabric.heard = keep_line;
}

static int close_said(void **state) {
    str_done(&said);
    return close_all(state);
}

static void C62_no_body_has_an_unknown_field(void **state) {
    (void)state;
    listen_to_lines();
    fabric.hub.strict = fabric.children[0].strict = fabric.children[1].strict = true;
    everything_runs();
    assert_non_null(strstr(said.data, ": done"));
    assert_null(strstr(said.data, "unknown field"));
    assert_null(strstr(said.data, " 400 "));
    assert_null(strstr(said.data, " 422 "));
}

/* What an owner mistyped is not dropped in silence, strict or not. */
static void C62_a_mistyped_field_is_named(void **state) {
    (void)state;
    listen_to_lines();
    fabric_app(&fabric, "checkout", 4, "");
    until_ready("checkout", 4);
    fabric_patch(&fabric, FABRIC_HUB, APPS, "retail", "checkout",
                 "{\"spec\":{\"workload\":{\"spec\":{\"minReadySecnds\":5}}}}");
    fabric_run(&fabric, MINUTE);
    assert_non_null(strstr(said.data, "minReadySecnds"));
}

static void expect_none(const char *where, const char *text, size_t size_bytes) {
    static const char *const planted[] = {"planted", "cGxhbnRlZ", "wbGFudGVk", "BsYW50ZW"};

    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        const char *at = memmem(text, size_bytes, planted[i], strlen(planted[i]));

        if (at)
            fail_msg("%s shows a secret: %.200s", where, at - text > 100 ? at - 100 : text);
    }
}

/* Everything of a path in the hub but what is a secret by itself. */
static void expect_none_in(const char *path) {
    json_t *items = fabric_list(&fabric, FABRIC_HUB, path, NULL);
    char *text = json_dumps(items, 0);

    assert_non_null(text);
    expect_none(path, text, strlen(text));
    free(text);
    json_decref(items);
}

static void kubeconfig_set(const char *secret, const char *content) {
    struct str encoded;
    char text[1024];

    str_init(&encoded, sizeof text);
    base64_encode(&encoded, content, strlen(content), NULL);
    snprintf(text, sizeof text,
             "{apiVersion: v1, kind: Secret, metadata: {namespace: bulkhead-system, name: %s}, "
             "data: {kubeconfig: '%s'}}",
             secret, encoded.data);
    fabric_apply(&fabric, FABRIC_HUB, text);
    str_done(&encoded);
}

static void C68_no_secret_is_said(void **state) {
    (void)state;
    listen_to_lines();
    kubeconfig_set("cls-a", "cls-a\ntoken: planted-token-a");
    kubeconfig_set("cls-b", "cls-b\ntoken: planted-token-b");
    kubeconfig_set("cls-x", "planted-nonsense");
    fabric_declare_child(&fabric, "cls-x", "{kubeconfigSecret: {name: cls-x}, region: gz}");
    for (int i = 0; i < 2; i++)
        fabric.children[i].faults.refuse_permille = 300;
    everything_apply();
    fabric_run(&fabric, 3 * MINUTE);
    fabric_apply(&fabric, FABRIC_HUB,
                 "{apiVersion: v1, kind: Secret, metadata: {namespace: retail, name: keys}, "
                 "data: {password: cGxhbnRlZC1hZ2Fpbg==}}"); /* planted-again */
    fabric.children[1].revoked = true;
    fabric_run(&fabric, 3 * MINUTE);
    fabric.children[1].revoked = false;
    for (int i = 0; i < 2; i++)
        fabric.children[i].faults.refuse_permille = 0;
    everything_runs();
    assert_non_null(strstr(said.data, "secrets retail/keys: done"));
    expect_none("the log", said.data, said.size_bytes);
    expect_none_in(APPS);
    expect_none_in("bulkhead.dev/v1alpha1/placements");
    expect_none_in("bulkhead.dev/v1alpha1/childclusters");
    expect_none_in("apps/v1/controllerrevisions");
    expect_none_in("events.k8s.io/v1/events");
}

/* "hub get secrets", as an RBAC rule names what a request needs. */
static void tally_need(char *line, void *arg) {
    char cluster[32], method[16], path[512], rest[16], key[160];
    const char *parts[8] = {0};
    const char *verb = "get";
    int count = 0;
    char *keep = NULL;

    assert_int_equal(sscanf(line, "%31s %15s %511s %15s", cluster, method, path, rest), 4);
    for (char *part = strtok_r(path, "/", &keep); part && count < 8;
         part = strtok_r(NULL, "/", &keep))
        parts[count++] = part;
    int at = strcmp(parts[0], "api") == 0 ? 2 : 3;

    if (count > at + 2 && strcmp(parts[at], "namespaces") == 0)
        at += 2;
    const bool named = count > at + 1;

    if (strcmp(method, "GET") == 0)
        verb = named ? "get" : strstr(line, "watch=true") ? "watch" : "list";
    else
        verb = strcmp(method, "PATCH") == 0  ? "patch"
               : strcmp(method, "PUT") == 0  ? "update"
               : strcmp(method, "POST") == 0 ? "create"
                                             : "delete";
    snprintf(key, sizeof key, "%s %s %s%s%s", strcmp(cluster, "hub") == 0 ? "hub" : "child", verb,
             parts[at], count > at + 2 ? "/" : "", count > at + 2 ? parts[at + 2] : "");
    tally_add(arg, key);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What a role for the controller must allow, and no more; no secret is ever listed. */
static void C77_only_these_verbs_are_used(void **state) {
    static const char *const needed[] = {
        "child delete configmaps",
        "child delete deployments",
        "child delete poddisruptionbudgets",
        "child delete secrets",
        "child delete serviceaccounts",
        "child delete services",
        "child delete statefulsets",
        "child get configmaps",
        "child get deployments",
        "child get namespaces",
        "child get poddisruptionbudgets",
        "child get secrets",
        "child get serviceaccounts",
        "child get services",
        "child get statefulsets",
        "child patch configmaps",
        "child patch deployments",
        "child patch deployments/scale",
        "child patch namespaces",
        "child patch poddisruptionbudgets",
        "child patch secrets",
        "child patch serviceaccounts",
        "child patch services",
        "child patch statefulsets",
        "child patch statefulsets/scale",
        "child watch deployments",
        "child watch namespaces",
        "child watch nodes",
        "child watch poddisruptionbudgets",
        "child watch pods",
        "child watch services",
        "child watch statefulsets",
        "hub create events",
        "hub delete controllerrevisions",
        "hub get configmaps",
        "hub get secrets",
        "hub get serviceaccounts",
        "hub patch appdefinitions",
        "hub patch appdefinitions/status",
        "hub patch childclusters/status",
        "hub patch controllerrevisions",
        "hub patch placements",
        "hub watch appdefinitions",
        "hub watch childclusters",
        "hub watch controllerrevisions",
        "hub watch namespaces",
        "hub watch placements",
    };
    const int needed_count = (int)(sizeof needed / sizeof *needed);
    struct tally tally = {0};

    (void)state;
    everything_runs();
    fabric_delete(&fabric, FABRIC_HUB, APPS, "retail", "full");
    fabric_delete(&fabric, FABRIC_HUB, APPS, "retail", "ledger");
    fabric_run(&fabric, 3 * MINUTE);
    each_asked(tally_need, &tally);
    qsort(tally.text, (size_t)tally.count, sizeof *tally.text, by_text);
    for (int i = 0; i < tally.count || i < needed_count; i++) {
        const char *used = i < tally.count ? tally.text[i] : "nothing";
        const char *next = i < needed_count ? needed[i] : "nothing";

        if (strcmp(used, next) != 0)
            fail_msg("used: %s, needed: %s", used, next);
    }
    tally_done(&tally);
}

static bool child_is(struct fabric *of, void *arg) {
    const char *const *wanted = arg; /* name, "Status/Reason" */
    json_t *object =
        fabric_get(of, FABRIC_HUB, "bulkhead.dev/v1alpha1/childclusters", NULL, wanted[0]);
    const json_t *conditions = json_object_get(json_object_get(object, "status"), "conditions");
    bool is = false;

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);
        char text[128];

        snprintf(text, sizeof text, "%s/%s", text_at(condition, "status"),
                 text_at(condition, "reason"));
        is = is ||
             (strcmp(text_at(condition, "type"), "Ready") == 0 && strcmp(text, wanted[1]) == 0);
    }
    json_decref(object);
    return is;
}

static void C78_a_revoked_child_is_held_and_the_others_go_on(void **state) {
    const char *silent[] = {"cls-b", "False/Silent"};
    const char *back[] = {"cls-b", "True/Connected"};

    (void)state;
    fabric_app(&fabric, "checkout", 12, "");
    until_ready("checkout", 12);
    const int there = fabric_ready(&fabric, 1, "checkout", NULL);

    fabric.children[1].revoked = true;
    fabric_until(&fabric, "shown as lost", child_is, silent, 3 * MINUTE);
    const uint64_t writes = fabric_writes(&fabric, 1);

    fabric_app(&fabric, "other", 4, "");
    until_ready("other", 4);
    assert_int_equal(fabric_writes(&fabric, 1), writes);
    assert_int_equal(fabric_ready(&fabric, 1, "checkout", NULL), there);
    fabric.children[1].revoked = false;
    fabric_until(&fabric, "connected again", child_is, back, 5 * MINUTE);
}

int main(void) {
#define SCENARIO(test) cmocka_unit_test_setup_teardown(test, open_two, close_all)
#define HEARD(test) cmocka_unit_test_setup_teardown(test, open_two, close_said)
    const struct CMUnitTest tests[] = {
        SCENARIO(C42_one_watch_a_cluster_and_type),
        SCENARIO(C43_what_is_cached_stays_as_it_was_read),
        SCENARIO(C45_a_late_watch_makes_no_second_write),
        SCENARIO(C46_nothing_is_resynced),
        SCENARIO(C49_any_event_may_be_lost),
        SCENARIO(C55_a_status_write_leaves_a_spec_edit_alone),
        SCENARIO(C56_replicas_change_through_the_scale_subresource),
        SCENARIO(C58_owners_are_in_the_same_namespace_of_the_same_cluster),
        HEARD(C62_no_body_has_an_unknown_field),
        HEARD(C62_a_mistyped_field_is_named),
        HEARD(C68_no_secret_is_said),
        SCENARIO(C77_only_these_verbs_are_used),
        SCENARIO(C78_a_revoked_child_is_held_and_the_others_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
