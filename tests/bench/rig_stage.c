#include "bench/rig_stage.h"

#include "base/base64.h"
#include "base/str.h"
#include "base/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUB 0
#define SYSTEM "bulkhead-system"

static void must(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

void stage_open(struct stage *stage, bool embedded) {
    *stage = (struct stage){.embedded = embedded, .wire = wire_new()};
    for (int i = 0; i < STAGE_CLUSTERS; i++) {
        struct stage_cluster *cluster = &stage->clusters[i];
        const struct apiserver_options options = {.rng = {.state = (uint64_t)i + 1},
                                                  .name = "bench"};

        if (embedded)
            cluster->server = apiserver_new(&options);
        else
            cluster->sink = sink_new();
        cluster->handler =
            embedded ? apiserver_handler(cluster->server) : sink_handler(cluster->sink);
        cluster->user = wire_transport_new(stage->wire, &cluster->handler, i);
        cluster->client = kube_client_new(cluster->user);
    }
}

void stage_close(struct stage *stage) {
    manager_free(stage->manager);
    transport_free(stage->hub);
    for (int i = 0; i < STAGE_CLUSTERS; i++) {
        kube_client_free(stage->clusters[i].client);
        transport_free(stage->clusters[i].user);
    }
    wire_drain(stage->wire);
    for (int i = 0; i < STAGE_CLUSTERS; i++) {
        apiserver_free(stage->clusters[i].server);
        sink_free(stage->clusters[i].sink);
    }
    wire_free(stage->wire);
}

static void applied(void *arg, const struct kube_reply *reply) {
    char text[300];

    (void)arg;
    kube_reply_text(reply, text, sizeof text);
    must(kube_reply_ok(reply), text);
}

/* where->version NULL: the first one of our own. */
static void apply(struct stage *stage, int cluster, const struct url_target *where,
                  const char *body) {
    const struct kube_call call = {.verb = KUBE_APPLY,
                                   .target = *where,
                                   .body = body,
                                   .body_bytes = strlen(body),
                                   .field_manager = "user",
                                   .force = true};
    struct err err = {0};
    uint64_t id;

    must(kube_client_call(stage->clusters[cluster].client, &call, applied, NULL, &id, &err) == 0,
         err.msg);
    wire_drain(stage->wire);
}

static void crd_apply(struct stage *stage, const char *kind) {
    static char text[1 << 18];
    char path[512];
    struct err err = {0};
    json_t *object = NULL;

    snprintf(path, sizeof path, "%s/crds/%s.yaml", SOURCE_DIR, kind);
    FILE *file = fopen(path, "rb");

    must(file != NULL, path);
    const size_t got = fread(text, 1, sizeof text, file);

    fclose(file);
    must(yaml_parse(text, got, &object, &err) == 0, err.msg);
    char *body = json_dumps(object, JSON_COMPACT);
    const struct url_target where = {
        .group = "apiextensions.k8s.io",
        .version = "v1",
        .resource = "customresourcedefinitions",
        .name = json_string_value(json_object_get(json_object_get(object, "metadata"), "name"))};

    apply(stage, HUB, &where, body);
    free(body);
    json_decref(object);
}

static void namespace_apply(struct stage *stage, int cluster, const char *name) {
    const struct url_target where = {.version = "v1", .resource = "namespaces", .name = name};
    char body[200];

    snprintf(body, sizeof body,
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", name);
    apply(stage, cluster, &where, body);
}

/* More room than the apps take: what is measured is not how to do without. */
static void nodes_apply(struct stage *stage, int cluster) {
    char body[1024], name[32];

    for (int z = 0; z < STAGE_ZONES; z++) {
        struct url_target where = {.version = "v1", .resource = "nodes", .name = name};

        snprintf(name, sizeof name, "node-%d", z);
        snprintf(
            body, sizeof body,
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\","
            "\"labels\":{\"topology.kubernetes.io/zone\":\"zone-%d\"}},\"spec\":{},"
            "\"status\":{\"allocatable\":{\"cpu\":\"1000000\",\"memory\":\"1000000Gi\","
            "\"pods\":\"1000000\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
            name, z);
        apply(stage, cluster, &where, body);
        /* A server takes the status by itself; a sink has taken all. */
        where.subresource = "status";
        if (stage->embedded)
            apply(stage, cluster, &where, body);
    }
}

static void child_apply(struct stage *stage, int child) {
    struct url_target secret = {.version = "v1", .resource = "secrets", .ns = SYSTEM};
    struct url_target where = {
        .group = "bulkhead.dev", .version = "v1alpha1", .resource = "childclusters"};
    char body[512], name[16], number[8];
    struct str encoded;

    snprintf(name, sizeof name, "child-%d", child);
    snprintf(number, sizeof number, "%d", child);
    secret.name = where.name = name;
    str_init(&encoded, sizeof body);
    base64_encode(&encoded, number, strlen(number), NULL);
    snprintf(body, sizeof body,
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"" SYSTEM
             "\",\"name\":\"%s\"},\"data\":{\"kubeconfig\":\"%s\"}}",
             name, encoded.data);
    apply(stage, HUB, &secret, body);
    snprintf(body, sizeof body,
             "{\"apiVersion\":\"bulkhead.dev/v1alpha1\",\"kind\":\"ChildCluster\","
             "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"kubeconfigSecret\":{\"name\":\"%s\"},"
             "\"region\":\"gz\",\"allowedNamespaces\":[\"retail\"]}}",
             name, name);
    apply(stage, HUB, &where, body);
    str_done(&encoded);
    nodes_apply(stage, child);
    if (!stage->embedded)
        namespace_apply(stage, child, "kube-system");
}

/* The kubeconfig is the child's number: a wire needs no more. */
static int connect_child(void *arg, const char *child, const char *kubeconfig,
                         struct transport **ret_transport, struct err *err) {
    struct stage *stage = arg;
    const int number = atoi(kubeconfig);

    (void)child;
    (void)err;
    must(number >= 1 && number < STAGE_CLUSTERS, "a kubeconfig that is none of ours");
    *ret_transport = wire_transport_new(stage->wire, &stage->clusters[number].handler, number);
    return 0;
}

static void print_line(void *arg, const char *line) {
    (void)arg;
    fprintf(stderr, "%s\n", line);
}

void stage_start(struct stage *stage) {
    if (stage->embedded) {
        crd_apply(stage, "appdefinition");
        crd_apply(stage, "placement");
        crd_apply(stage, "childcluster");
    }
    namespace_apply(stage, HUB, SYSTEM);
    namespace_apply(stage, HUB, "retail");
    for (int i = 1; i < STAGE_CLUSTERS; i++)
        child_apply(stage, i);
    stage->hub = wire_transport_new(stage->wire, &stage->clusters[HUB].handler, HUB);
    const struct manager_options options = {
        .rng = {.state = 1},
        .ns = SYSTEM,
        .hub = stage->hub,
        .connect = connect_child,
        .log = getenv("VERBOSE") ? print_line : NULL,
        .arg = stage,
    };

    stage->manager = manager_new(&options);
    stage_settle(stage, 1500);
    must(manager_synced(stage->manager), "the controller did not come to know the hub");
    for (int i = 0; i < STAGE_CHILDREN; i++) {
        const struct child *child = world_child_at(manager_world(stage->manager), i);

        must(child && child_fresh(child, clock_mono_ms(NULL)),
             "the controller did not come to know a child");
    }
}

void stage_app(struct stage *stage, int index, int replicas) {
    char body[1024], name[32];
    const struct url_target where = {.group = "bulkhead.dev",
                                     .version = "v1alpha1",
                                     .resource = "appdefinitions",
                                     .ns = "retail",
                                     .name = name};

    snprintf(name, sizeof name, "app-%05d", index);
    snprintf(body, sizeof body,
             "{\"apiVersion\":\"bulkhead.dev/v1alpha1\",\"kind\":\"AppDefinition\",\"metadata\":{"
             "\"name\":\"%s\",\"namespace\":\"retail\"},\"spec\":{\"replicas\":%d,\"topology\":{"
             "\"minZones\":3,\"maxClusterPercent\":40},\"workload\":{"
             "\"kind\":\"Deployment\",\"service\":{\"ports\":[{\"name\":\"http\",\"port\":80,"
             "\"targetPort\":8080}]},\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":"
             "\"main\",\"image\":\"registry.example/app:%d\",\"resources\":{\"requests\":{"
             "\"cpu\":\"%dm\"}}}]}}}}}}",
             name, replicas, index, 100 * (1 + index % 20));
    apply(stage, HUB, &where, body);
}

void stage_turn(struct stage *stage) {
    const int64_t now_ms = clock_mono_ms(NULL);

    wire_drain(stage->wire);
    manager_turn(stage->manager, now_ms);
}

void stage_settle(struct stage *stage, int64_t quiet_ms) {
    size_t before = 0, count;
    int64_t since_ms = clock_mono_ms(NULL);

    for (;;) {
        const int64_t now_ms = clock_mono_ms(NULL);

        stage_turn(stage);
        wire_records(stage->wire, &count);
        if (count != before)
            since_ms = now_ms;
        before = count;
        if (now_ms - since_ms > quiet_ms && manager_idle(stage->manager, now_ms))
            return;
    }
}
