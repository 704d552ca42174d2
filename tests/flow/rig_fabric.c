#include "flow/rig_fabric.h"

#include "api/objectname.h"
#include "base/base64.h"
#include "base/str.h"
#include "base/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define START_WALL_MS INT64_C(1767225600000) /* 2026-01-01 */
#define START_MONO_MS 1000000

static void relay(void *arg, const struct http_incoming *incoming, struct http_reply *reply) {
    static const char unauthorized[] = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"
                                       "\"Failure\",\"reason\":\"Unauthorized\",\"code\":401}";
    static const char invalid[] =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":"
        "\"Invalid\",\"message\":\"spec.template: not in this cluster\",\"code\":422}";
    struct fabric_cluster *cluster = arg;
    struct http_incoming passed = *incoming;
    const bool is_write = strcmp(incoming->method, "GET") != 0;
    char query[512];

    if (cluster->asked)
        cluster->asked(cluster, incoming);
    if (cluster->revoked) {
        http_answer(reply, 401, "application/json", unauthorized, sizeof unauthorized - 1);
        return;
    }
    /* Events and the Lease are no work: they go on while nothing happens. */
    if (is_write && !strstr(incoming->path, "/events") && !strstr(incoming->path, "/leases"))
        cluster->writes++;
    if (is_write && cluster->refused && incoming->body_bytes &&
        memmem(incoming->body, incoming->body_bytes, cluster->refused, strlen(cluster->refused))) {
        http_answer(reply, 422, "application/json", invalid, sizeof invalid - 1);
        return;
    }
    if (is_write && cluster->strict && strcmp(incoming->method, "DELETE") != 0) {
        snprintf(query, sizeof query, "%s%sfieldValidation=Strict", incoming->query,
                 *incoming->query ? "&" : "");
        passed.query = query;
    }
    cluster->inner.request(cluster->inner.arg, &passed, reply);
}

static void relay_closed(void *arg, struct http_reply *reply) {
    struct fabric_cluster *cluster = arg;

    cluster->inner.closed(cluster->inner.arg, reply);
}

static struct http_handler door(struct fabric_cluster *cluster) {
    return (struct http_handler){.request = relay, .closed = relay_closed, .arg = cluster};
}

static void cluster_open(struct fabric *fabric, struct fabric_cluster *cluster, const char *name) {
    const struct apiserver_options options = {
        .clock = &cluster->clock, .rng = {.state = random_next(&fabric->rng)}, .name = name};

    *cluster = (struct fabric_cluster){.clock = fabric->clock};
    snprintf(cluster->name, sizeof cluster->name, "%s", name);
    cluster->server = apiserver_new(&options);
    cluster->inner = apiserver_handler(cluster->server);
    cluster->transport = loopback_transport_new(fabric->net, &cluster->inner, NULL, NULL);
    cluster->client = kube_client_new(cluster->transport);
}

static void cluster_close(struct fabric_cluster *cluster) {
    fleet_free(cluster->fleet);
    transport_free(cluster->fleet_transport);
    kube_client_free(cluster->client);
    transport_free(cluster->transport);
    apiserver_free(cluster->server);
}

static struct fabric_cluster *cluster_at(struct fabric *fabric, int cluster) {
    return cluster == FABRIC_HUB ? &fabric->hub : &fabric->children[cluster];
}

static char *file_read(const char *path) {
    FILE *file = fopen(path, "rb");
    struct str text;
    char chunk[4096];
    size_t got;

    assert_non_null(file);
    str_init(&text, 1 << 20);
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        assert_int_equal(str_add(&text, chunk, got, NULL), 0);
    fclose(file);
    return text.data;
}

void fabric_open(struct fabric *fabric, uint64_t seed) {
    static const char *const crds[] = {"appdefinition", "placement", "childcluster"};

    *fabric = (struct fabric){.clock = clock_by_hand(START_WALL_MS, START_MONO_MS),
                              .rng = {.state = seed}};
    fabric->net = loopback_net_new((struct random){.state = random_next(&fabric->rng)});
    loopback_step(fabric->net, clock_mono_ms(&fabric->clock)); /* tells the net the time */
    cluster_open(fabric, &fabric->hub, "hub");
    for (size_t i = 0; i < sizeof crds / sizeof *crds; i++) {
        char path[512];

        snprintf(path, sizeof path, "%s/crds/%s.yaml", SOURCE_DIR, crds[i]);
        char *text = file_read(path);

        fabric_apply(fabric, FABRIC_HUB, text);
        free(text);
    }
    fabric_apply(fabric, FABRIC_HUB,
                 "{apiVersion: v1, kind: Namespace, metadata: {name: bulkhead-system}}");
    fabric_apply(fabric, FABRIC_HUB, "{apiVersion: v1, kind: Namespace, metadata: {name: retail}}");
}

void fabric_close(struct fabric *fabric) {
    if (fabric->manager)
        fabric_crash(fabric);
    for (int i = 0; i < fabric->child_count; i++)
        cluster_close(&fabric->children[i]);
    cluster_close(&fabric->hub);
    loopback_net_free(fabric->net);
}

int fabric_child(struct fabric *fabric, const char *name) {
    const int index = fabric->child_count++;
    struct fabric_cluster *cluster = &fabric->children[index];
    struct str secret, encoded;
    char text[1024];

    assert_in_range(index, 0, FABRIC_CHILDREN_MAX - 1);
    cluster_open(fabric, cluster, name);
    cluster->fleet_transport = loopback_transport_new(fabric->net, &cluster->inner, NULL, NULL);
    const struct fleet_options options = {.transport = cluster->fleet_transport,
                                          .clock = &fabric->clock,
                                          .rng = {.state = random_next(&fabric->rng)},
                                          .start_ms = 1000,
                                          .start_more_ms = 1000,
                                          .stop_ms = 500};

    cluster->fleet = fleet_new(&options);
    str_init(&secret, sizeof text);
    str_init(&encoded, sizeof text);
    base64_encode(&encoded, name, strlen(name), NULL);
    snprintf(text, sizeof text,
             "{apiVersion: v1, kind: Secret, metadata: {namespace: bulkhead-system, name: %s}, "
             "data: {kubeconfig: '%s'}}",
             name, encoded.data);
    fabric_apply(fabric, FABRIC_HUB, text);
    snprintf(text, sizeof text,
             "{kubeconfigSecret: {name: %s}, region: gz, allowedNamespaces: [retail, ops]}", name);
    fabric_declare_child(fabric, name, text);
    str_done(&secret);
    str_done(&encoded);
    return index;
}

void fabric_declare_child(struct fabric *fabric, const char *name, const char *spec) {
    char text[2048];

    snprintf(text, sizeof text,
             "{apiVersion: bulkhead.dev/v1alpha1, kind: ChildCluster, metadata: {name: %s}, "
             "spec: %s}",
             name, spec);
    fabric_apply(fabric, FABRIC_HUB, text);
}

void fabric_node(struct fabric *fabric, int child, const char *name, const char *zone, int pods) {
    const struct fleet_node node = {.name = name,
                                    .zone = zone,
                                    .cpu_milli = pods * 1000,
                                    .memory_bytes = INT64_C(64) << 30,
                                    .pods = 110};

    fleet_node_add(fabric->children[child].fleet, &node);
}

/* The first line of the Secret's content is the child's name: loopback needs no more. */
static int connect_child(void *arg, const char *child, const char *kubeconfig,
                         struct transport **ret_transport, struct err *err) {
    struct fabric *fabric = arg;

    for (int i = 0; i < fabric->child_count; i++) {
        struct fabric_cluster *cluster = &fabric->children[i];

        if (strlen(cluster->name) != strcspn(kubeconfig, "\n") ||
            strncmp(cluster->name, kubeconfig, strlen(cluster->name)) != 0)
            continue;
        const struct http_handler handler = door(cluster);

        *ret_transport = loopback_transport_new(fabric->net, &handler, NULL, &cluster->faults);
        return 0;
    }
    return err_set(err, ERR_INVALID, "%s: no cluster stands behind it", child);
}

static void keep_line(void *arg, const char *line) {
    struct fabric *fabric = arg;

    snprintf(fabric->last_line, sizeof fabric->last_line, "%s", line);
    if (fabric->heard)
        fabric->heard(line);
    if (fabric->verbose)
        printf("%8lld %s\n", (long long)(clock_mono_ms(&fabric->clock) - START_MONO_MS), line);
}

void fabric_start(struct fabric *fabric) {
    const struct http_handler handler = door(&fabric->hub);

    fabric->hub_transport =
        loopback_transport_new(fabric->net, &handler, NULL, &fabric->hub.faults);
    const struct manager_options options = {
        .clock = &fabric->clock,
        .rng = {.state = random_next(&fabric->rng)},
        .ns = "bulkhead-system",
        .observe = fabric->observe,
        .identity = fabric->identity,
        .hub = fabric->hub_transport,
        .connect = connect_child,
        .log = keep_line,
        .arg = fabric,
    };

    fabric->manager = manager_new(&options);
}

void fabric_crash(struct fabric *fabric) {
    manager_free(fabric->manager);
    transport_free(fabric->hub_transport);
    fabric->manager = NULL;
    fabric->hub_transport = NULL;
}

static int64_t sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void clocks_follow(struct fabric *fabric) {
    fabric->hub.clock = fabric->clock;
    for (int i = 0; i < fabric->child_count; i++) {
        fabric->children[i].clock = fabric->clock;
        fabric->children[i].clock.wall_ms += fabric->children[i].skew_ms;
    }
}

int fabric_step(struct fabric *fabric, int64_t until_ms) {
    const int64_t now_ms = clock_mono_ms(&fabric->clock);
    int64_t due_ms;

    clocks_follow(fabric);
    if (loopback_step(fabric->net, now_ms))
        return 1;
    due_ms = apiserver_tick(fabric->hub.server, now_ms);
    if (fabric->manager)
        due_ms = sooner(due_ms, manager_turn(fabric->manager, now_ms));
    for (int i = 0; i < fabric->child_count; i++) {
        due_ms = sooner(due_ms, apiserver_tick(fabric->children[i].server, now_ms));
        due_ms = sooner(due_ms, fleet_turn(fabric->children[i].fleet, now_ms));
    }
    due_ms = sooner(due_ms, loopback_due_ms(fabric->net));
    if (due_ms <= now_ms)
        return 1;
    if (now_ms >= until_ms)
        return 0;
    clock_advance(&fabric->clock, sooner(due_ms, until_ms) - now_ms);
    return 1;
}

void fabric_run(struct fabric *fabric, int64_t ms) {
    const int64_t until_ms = clock_mono_ms(&fabric->clock) + ms;

    while (fabric_step(fabric, until_ms)) {
    }
}

void fabric_until(struct fabric *fabric, const char *what,
                  bool (*holds)(struct fabric *fabric, void *arg), void *arg, int64_t max_ms) {
    const int64_t until_ms = clock_mono_ms(&fabric->clock) + max_ms;

    for (int64_t checked_ms = -1;;) {
        const int64_t now_ms = clock_mono_ms(&fabric->clock);

        if (now_ms != checked_ms && holds(fabric, arg))
            return;
        checked_ms = now_ms;
        if (now_ms >= until_ms)
            fail_msg("after %lld ms: still not %s; last said: %s", (long long)max_ms, what,
                     fabric->last_line);
        fabric_run(fabric, sooner(100, until_ms - now_ms));
    }
}

struct answer {
    bool done;
    int status;
    json_t *object;
    char text[512];
};

static void take_answer(void *arg, const struct kube_reply *reply) {
    struct answer *answer = arg;

    answer->done = true;
    answer->status = reply->status;
    kube_reply_text(reply, answer->text, sizeof answer->text);
    if (kube_reply_ok(reply) && reply->body_bytes)
        answer->object = json_loadb(reply->body, reply->body_bytes, 0, NULL);
}

/* Only the wire moves: the controller and the fleets stand still while a test looks. */
static json_t *call_text(struct fabric *fabric, int cluster, const struct kube_call *call,
                         int *ret_status, char *text, size_t size_bytes) {
    struct answer answer = {0};
    struct err err = {0};
    uint64_t id;

    assert_int_equal(kube_client_call(cluster_at(fabric, cluster)->client, call, take_answer,
                                      &answer, &id, &err),
                     0);
    while (!answer.done && loopback_step(fabric->net, clock_mono_ms(&fabric->clock))) {
    }
    assert_true(answer.done);
    if (ret_status)
        *ret_status = answer.status;
    if (text)
        snprintf(text, size_bytes, "%s", answer.text);
    return answer.object;
}

json_t *fabric_call(struct fabric *fabric, int cluster, const struct kube_call *call,
                    int *ret_status) {
    return call_text(fabric, cluster, call, ret_status, NULL, 0);
}

/* "apps/v1/deployments" or "v1/pods" into a target; parts points into room. */
static struct url_target target_of(const char *path, char *room, size_t size_bytes) {
    struct url_target target = {0};
    char *first, *second;

    snprintf(room, size_bytes, "%s", path);
    first = strchr(room, '/');
    assert_non_null(first);
    *first++ = '\0';
    second = strchr(first, '/');
    if (!second) {
        target.version = room;
        target.resource = first;
        return target;
    }
    *second++ = '\0';
    target.group = room;
    target.version = first;
    target.resource = second;
    return target;
}

static const char *resource_of(const char *kind) {
    static const char *const rows[][2] = {
        {"AppDefinition", "appdefinitions"},
        {"ChildCluster", "childclusters"},
        {"Placement", "placements"},
        {"CustomResourceDefinition", "customresourcedefinitions"},
        {"Namespace", "namespaces"},
        {"Secret", "secrets"},
        {"ConfigMap", "configmaps"},
        {"Deployment", "deployments"},
        {"Service", "services"},
        {"ServiceAccount", "serviceaccounts"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], kind) == 0)
            return rows[i][1];
    fail_msg("the rig knows no resource of %s", kind);
    return NULL;
}

void fabric_apply(struct fabric *fabric, int cluster, const char *text) {
    json_t *object = NULL;
    struct err err = {0};
    char room[256], path[256], words[512];
    int status;

    assert_int_equal(yaml_parse(text, strlen(text), &object, &err), 0);
    const json_t *metadata = json_object_get(object, "metadata");

    snprintf(path, sizeof path, "%s/%s", json_string_value(json_object_get(object, "apiVersion")),
             resource_of(json_string_value(json_object_get(object, "kind"))));
    char *body = json_dumps(object, JSON_COMPACT);
    struct kube_call call = {.verb = KUBE_APPLY,
                             .target = target_of(path, room, sizeof room),
                             .body = body,
                             .body_bytes = strlen(body),
                             .field_manager = "kubectl",
                             .force = true};

    call.target.ns = json_string_value(json_object_get(metadata, "namespace"));
    call.target.name = json_string_value(json_object_get(metadata, "name"));
    json_decref(call_text(fabric, cluster, &call, &status, words, sizeof words));
    if (status != 200 && status != 201)
        fail_msg("apply %s %s: %d %s", path, call.target.name, status, words);
    free(body);
    json_decref(object);
}

json_t *fabric_get(struct fabric *fabric, int cluster, const char *path, const char *ns,
                   const char *name) {
    char room[256];
    struct kube_call call = {.verb = KUBE_GET, .target = target_of(path, room, sizeof room)};

    call.target.ns = ns;
    call.target.name = name;
    return fabric_call(fabric, cluster, &call, NULL);
}

json_t *fabric_list(struct fabric *fabric, int cluster, const char *path, const char *ns) {
    char room[256];
    struct kube_call call = {.verb = KUBE_LIST, .target = target_of(path, room, sizeof room)};

    call.target.ns = ns;
    json_t *list = fabric_call(fabric, cluster, &call, NULL);
    json_t *items = json_incref(json_object_get(list, "items"));

    json_decref(list);
    return items;
}

void fabric_delete(struct fabric *fabric, int cluster, const char *path, const char *ns,
                   const char *name) {
    char room[256];
    struct kube_call call = {.verb = KUBE_DELETE, .target = target_of(path, room, sizeof room)};

    call.target.ns = ns;
    call.target.name = name;
    json_decref(fabric_call(fabric, cluster, &call, NULL));
}

void fabric_patch(struct fabric *fabric, int cluster, const char *path, const char *ns,
                  const char *name, const char *patch) {
    char room[256], words[512];
    int status;
    struct kube_call call = {.verb = KUBE_MERGE_PATCH,
                             .target = target_of(path, room, sizeof room),
                             .body = patch,
                             .body_bytes = strlen(patch)};

    call.target.ns = ns;
    call.target.name = name;
    json_decref(call_text(fabric, cluster, &call, &status, words, sizeof words));
    if (status != 200)
        fail_msg("patch %s %s: %d %s", path, name, status, words);
}

void fabric_app(struct fabric *fabric, const char *name, int replicas, const char *more) {
    char text[4096];

    snprintf(text, sizeof text,
             "apiVersion: bulkhead.dev/v1alpha1\n"
             "kind: AppDefinition\n"
             "metadata: {namespace: retail, name: %s}\n"
             "spec:\n"
             "  replicas: %d\n"
             "  workload:\n"
             "    kind: Deployment\n"
             "    service: {ports: [{name: http, port: 80, targetPort: 8080}]}\n"
             "    spec:\n"
             "      template:\n"
             "        spec:\n"
             "          containers:\n"
             "            - name: main\n"
             "              image: registry.example/app:1\n"
             "              resources: {requests: {cpu: '1'}}\n"
             "%s",
             name, replicas, more);
    fabric_apply(fabric, FABRIC_HUB, text);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *fabric_placement(struct fabric *fabric, const char *name) {
    json_t *object =
        fabric_get(fabric, FABRIC_HUB, "bulkhead.dev/v1alpha1/placements", "retail", name);
    const json_t *cells = json_object_get(json_object_get(object, "spec"), "cells");
    char *parts[64];
    size_t count = 0, i;
    json_t *cell;
    struct str text;

    json_array_foreach((json_t *)cells, i, cell) {
        assert_in_range(count, 0, 63);
        parts[count++] =
            str_printf("%s/%s=%lld", json_string_value(json_object_get(cell, "zone")),
                       json_string_value(json_object_get(cell, "cluster")),
                       (long long)json_integer_value(json_object_get(cell, "replicas")));
    }
    qsort(parts, count, sizeof *parts, by_text);
    str_init(&text, 4096);
    for (i = 0; i < count; i++) {
        str_addf(&text, NULL, "%s%s", i ? " " : "", parts[i]);
        free(parts[i]);
    }
    json_decref(object);
    return text.data ? text.data : str_dup("");
}

static bool is_ready(const json_t *pod) {
    const json_t *conditions = json_object_get(json_object_get(pod, "status"), "conditions");
    size_t i;
    json_t *condition;

    json_array_foreach((json_t *)conditions, i, condition) {
        if (strcmp(json_string_value(json_object_get(condition, "type")), "Ready") == 0)
            return strcmp(json_string_value(json_object_get(condition, "status")), "True") == 0;
    }
    return false;
}

int fabric_ready(struct fabric *fabric, int child, const char *name, const char *zone) {
    json_t *pods = fabric_list(fabric, child, "v1/pods", "retail");
    int ready = 0;
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod) {
        const json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
        const char *app = json_string_value(json_object_get(labels, OBJECTNAME_LABEL_APP));
        const char *in = json_string_value(json_object_get(labels, OBJECTNAME_LABEL_ZONE));

        ready += app && in && strcmp(app, name) == 0 && (!zone || strcmp(in, zone) == 0) &&
                 is_ready(pod);
    }
    json_decref(pods);
    return ready;
}

const char *fabric_condition(struct fabric *fabric, const char *name, const char *type) {
    static char text[160];
    json_t *object =
        fabric_get(fabric, FABRIC_HUB, "bulkhead.dev/v1alpha1/appdefinitions", "retail", name);
    const json_t *conditions = json_object_get(json_object_get(object, "status"), "conditions");
    size_t i;
    json_t *condition;

    text[0] = '\0';
    json_array_foreach((json_t *)conditions, i, condition) {
        if (strcmp(json_string_value(json_object_get(condition, "type")), type) == 0)
            snprintf(text, sizeof text, "%s/%s",
                     json_string_value(json_object_get(condition, "status")),
                     json_string_value(json_object_get(condition, "reason")));
    }
    json_decref(object);
    return text;
}

uint64_t fabric_writes(struct fabric *fabric, int cluster) {
    return cluster_at(fabric, cluster)->writes;
}
