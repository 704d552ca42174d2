#include "fleet/state.h"

#include "base/str.h"
#include "base/timestamp.h"
#include "fleet/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTNAME_LABEL "kubernetes.io/hostname"
#define NOT_READY_TAINT "node.kubernetes.io/not-ready"

static void unsort(struct fleet *fleet, struct sim_node *node);
static size_t place_of(const struct fleet *fleet, const struct sim_node *node);
static void changed(struct fleet *fleet, struct sim_node *node);
static void create(struct fleet *fleet, struct sim_node *node);
static void mend_spec(struct fleet *fleet, struct sim_node *node);
static void write_status(struct fleet *fleet, struct sim_node *node);
static bool has_labels(const struct fleet *fleet, const struct sim_node *node);
static bool has_amounts(const struct sim_node *node);
static bool has_not_ready_taint(const struct node *node);
static json_t *status_new(struct fleet *fleet, const struct sim_node *node);
static void fail(struct fleet *fleet, struct sim_node *node, bool failed, int64_t evict_ms);
static int by_name(const struct sim_node *a, const struct sim_node *b);

struct sim_node *nodes_get(struct fleet *fleet, const char *name) {
    struct sim_node *node;

    HASH_FIND_STR(fleet->nodes, name, node);
    if (node)
        return node;
    node = str_alloc(1, sizeof *node);
    node->task.type = TASK_NODE;
    node->name = str_dup(name);
    node->evict_at_ms = INT64_MAX;
    HASH_ADD_KEYPTR(hh, fleet->nodes, node->name, strlen(node->name), node);
    return node;
}

void nodes_sweep(struct fleet *fleet, struct sim_node *node) {
    if (node->seen || node->pods || node->zone)
        return;
    task_forget(fleet, &node->task);
    HASH_DEL(fleet->nodes, node);
    free(node->name);
    free(node);
}

void nodes_done(struct fleet *fleet) {
    struct sim_node *node, *next;

    HASH_ITER(hh, fleet->nodes, node, next) {
        HASH_DEL(fleet->nodes, node);
        free(node->zone);
        free(node->name);
        free(node);
    }
    free(fleet->freest);
}

void nodes_told(void *context, enum store_change change, const struct store_item *item) {
    struct fleet *fleet = context;
    struct sim_node *node = nodes_get(fleet, item->key);
    const bool is_there = change != STORE_DELETE;
    const bool was_ready = node->was_ready;

    unsort(fleet, node);
    node->seen = is_there ? item->object : NULL;
    node->lost = !is_there;
    node->removing = node->removing && is_there;
    node->was_ready = is_there && node->seen->node.ready;
    fleet->counts.nodes += (change == STORE_ADD) - (change == STORE_DELETE);
    fleet->counts.nodes_ready += node->was_ready - was_ready;
    if (is_there)
        nodes_sort(fleet, node);
    if (is_there && node->address == 0)
        node->address = ++fleet->node_address;
    changed(fleet, node);
    nodes_sweep(fleet, node);
}

/* There may be room now, or its pods may have to do something about it. */
static void changed(struct fleet *fleet, struct sim_node *node) {
    struct sim_pod *pod;

    fleet->epoch++;
    task_wake(fleet, &node->task);
    for (pod = node->pods; pod; pod = pod->node_next)
        task_wake(fleet, &pod->task);
}

void nodes_sort(struct fleet *fleet, struct sim_node *node) {
    unsort(fleet, node);
    if (!node->seen)
        return;
    node->free_ppm = schedule_free_ppm(&node->seen->node.allocatable, &node->used);
    const size_t place = place_of(fleet, node);

    fleet->freest = str_resize(fleet->freest, fleet->freest_count + 1, sizeof(*fleet->freest));
    memmove(fleet->freest + place + 1, fleet->freest + place,
            (fleet->freest_count - place) * sizeof(*fleet->freest));
    fleet->freest[place] = node;
    fleet->freest_count++;
    node->sorted = true;
}

static void unsort(struct fleet *fleet, struct sim_node *node) {
    if (!node->sorted)
        return;
    const size_t place = place_of(fleet, node);

    fleet->freest_count--;
    memmove(fleet->freest + place, fleet->freest + place + 1,
            (fleet->freest_count - place) * sizeof(*fleet->freest));
    node->sorted = false;
}

/* Where it stands or would stand. */
static size_t place_of(const struct fleet *fleet, const struct sim_node *node) {
    size_t low = 0, high = fleet->freest_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct sim_node *other = fleet->freest[middle];

        if (other->free_ppm > node->free_ppm ||
            (other->free_ppm == node->free_ppm && strcmp(other->name, node->name) < 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void nodes_run(struct fleet *fleet, struct sim_node *node, int64_t now_ms) {
    (void)now_ms;
    if (node->removing && node->seen) {
        struct kube_call call = {
            .verb = KUBE_DELETE,
            .target = {.version = "v1", .resource = "nodes", .name = node->name},
            .uid = node->seen->uid};

        write_send(fleet,
                   &(struct write){.task = &node->task,
                                   .type = WRITE_DELETE,
                                   .source = SOURCE_NODES,
                                   .key = node->name,
                                   .uid = node->seen->uid},
                   &call, NULL);
        return;
    }
    if (node->removing) /* it never was there */
        node->removing = false;
    if (node->zone && !node->seen)
        create(fleet, node);
    else if (node->zone && (!has_labels(fleet, node) || has_not_ready_taint(&node->seen->node)))
        mend_spec(fleet, node);
    else if (node->seen && (node->zone || node->failed) &&
             (node->seen->node.ready == node->failed || !has_amounts(node)))
        write_status(fleet, node);
    else
        nodes_sweep(fleet, node);
}

static void send_put(struct fleet *fleet, struct sim_node *node, enum kube_verb verb,
                     const char *subresource, json_t *body) {
    struct kube_call call = {.verb = verb,
                             .target = {.version = "v1",
                                        .resource = "nodes",
                                        .name = verb == KUBE_CREATE ? NULL : node->name,
                                        .subresource = subresource}};

    write_send(fleet,
               &(struct write){.task = &node->task, .type = WRITE_PUT, .source = SOURCE_NODES},
               &call, body);
}

static json_t *labels_new(const struct fleet *fleet, const struct sim_node *node) {
    json_t *labels = json_pack("{s:s}", HOSTNAME_LABEL, node->name);

    if (*node->zone != '\0')
        json_object_set_new(labels, fleet->zone_label, json_string(node->zone));
    return labels;
}

static void create(struct fleet *fleet, struct sim_node *node) {
    if (node->address == 0)
        node->address = ++fleet->node_address;
    send_put(fleet, node, KUBE_CREATE, NULL,
             json_pack("{s:s, s:s, s:{s:s, s:o}, s:o}", "apiVersion", "v1", "kind", "Node",
                       "metadata", "name", node->name, "labels", labels_new(fleet, node), "status",
                       status_new(fleet, node)));
}

/* A server may add a taint to a new node that only goes once somebody vouches for the node. */
static void mend_spec(struct fleet *fleet, struct sim_node *node) {
    static const char *const effects[] = {
        [ROOM_EFFECT_ANY] = "NoSchedule",
        [ROOM_NO_SCHEDULE] = "NoSchedule",
        [ROOM_NO_EXECUTE] = "NoExecute",
        [ROOM_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
    };
    const struct node *seen = &node->seen->node;
    json_t *taints = json_array();

    for (int i = 0; i < seen->taint_count; i++)
        if (strcmp(seen->taints[i].key, NOT_READY_TAINT) != 0)
            json_array_append_new(taints, json_pack("{s:s, s:s, s:s}", "key", seen->taints[i].key,
                                                    "value", seen->taints[i].value, "effect",
                                                    effects[seen->taints[i].effect]));
    send_put(fleet, node, KUBE_MERGE_PATCH, NULL,
             json_pack("{s:{s:o}, s:{s:o}}", "metadata", "labels", labels_new(fleet, node), "spec",
                       "taints", taints));
}

static void write_status(struct fleet *fleet, struct sim_node *node) {
    send_put(fleet, node, KUBE_MERGE_PATCH, "status",
             json_pack("{s:o}", "status", status_new(fleet, node)));
}

static bool has_labels(const struct fleet *fleet, const struct sim_node *node) {
    const char *host = node_label(&node->seen->node, HOSTNAME_LABEL);
    const char *zone = node_label(&node->seen->node, fleet->zone_label);

    return host && strcmp(host, node->name) == 0 && strcmp(zone ? zone : "", node->zone) == 0;
}

static bool has_amounts(const struct sim_node *node) {
    const struct room_amount *amount = &node->seen->node.allocatable;

    return !node->zone || (amount->of[ROOM_CPU_MILLI] == node->wanted.cpu_milli &&
                           amount->of[ROOM_MEMORY_BYTES] == node->wanted.memory_bytes &&
                           amount->of[ROOM_PODS] == node->wanted.pods);
}

static bool has_not_ready_taint(const struct node *node) {
    for (int i = 0; i < node->taint_count; i++)
        if (strcmp(node->taints[i].key, NOT_READY_TAINT) == 0)
            return true;
    return false;
}

static json_t *conditions_new(const struct fleet *fleet, const struct sim_node *node) {
    char now[TIMESTAMP_SIZE];

    timestamp_format(clock_wall_ms(fleet->options.clock), now);
    return json_pack("[{s:s, s:s, s:s, s:s, s:s, s:s}]", "type", "Ready", "status",
                     node->failed ? "Unknown" : "True", "reason",
                     node->failed ? "NodeStatusUnknown" : "KubeletReady", "message",
                     node->failed ? "Kubelet stopped posting node status."
                                  : "kubelet is posting ready status",
                     "lastHeartbeatTime", now, "lastTransitionTime", now);
}

static json_t *amounts_new(const struct fleet_node *wanted) {
    char cpu[32], memory[32], pods[32];

    snprintf(cpu, sizeof cpu, "%dm", (int)wanted->cpu_milli);
    snprintf(memory, sizeof memory, "%lld", (long long)wanted->memory_bytes);
    snprintf(pods, sizeof pods, "%d", (int)wanted->pods);
    return json_pack("{s:s, s:s, s:s}", "cpu", cpu, "memory", memory, "pods", pods);
}

/* Of a node that is not one of ours only the conditions. */
static json_t *status_new(struct fleet *fleet, const struct sim_node *node) {
    json_t *status = json_pack("{s:o}", "conditions", conditions_new(fleet, node));
    const uint32_t number = node->address;
    char ip[32];

    if (!node->zone)
        return status;
    snprintf(ip, sizeof ip, "172.%u.%u.%u", 16 + (number >> 16) % 16, (number >> 8) & 255,
             number & 255);
    json_object_set_new(status, "capacity", amounts_new(&node->wanted));
    json_object_set_new(status, "allocatable", amounts_new(&node->wanted));
    json_object_set_new(status, "addresses",
                        json_pack("[{s:s, s:s}, {s:s, s:s}]", "type", "InternalIP", "address", ip,
                                  "type", "Hostname", "address", node->name));
    return status;
}

void fleet_node_add(struct fleet *fleet, const struct fleet_node *wanted) {
    struct sim_node *node = nodes_get(fleet, wanted->name);

    free(node->zone);
    node->zone = str_dup(wanted->zone ? wanted->zone : "");
    node->wanted = *wanted;
    node->wanted.name = node->name;
    node->wanted.zone = node->zone;
    node->removing = false;
    fail(fleet, node, false, INT64_MAX);
}

void fleet_node_remove(struct fleet *fleet, const char *name) {
    struct sim_node *node = nodes_get(fleet, name);

    free(node->zone);
    node->zone = NULL;
    node->removing = true;
    task_wake(fleet, &node->task);
}

void fleet_node_fail(struct fleet *fleet, const char *name, bool failed, int64_t evict_ms) {
    struct sim_node *node = NULL;

    HASH_FIND_STR(fleet->nodes, name, node);
    if (node)
        fail(fleet, node, failed, evict_ms);
}

void fleet_zone_fail(struct fleet *fleet, const char *zone, bool failed, int64_t evict_ms) {
    struct sim_node *node, *next;

    HASH_SORT(fleet->nodes, by_name);
    HASH_ITER(hh, fleet->nodes, node, next) {
        const char *own =
            node->seen ? node_label(&node->seen->node, fleet->zone_label) : node->zone;

        if (own && strcmp(own, zone) == 0)
            fail(fleet, node, failed, evict_ms);
    }
}

static int by_name(const struct sim_node *a, const struct sim_node *b) {
    return strcmp(a->name, b->name);
}

static void fail(struct fleet *fleet, struct sim_node *node, bool failed, int64_t evict_ms) {
    const int64_t now_ms = clock_mono_ms(fleet->options.clock);

    node->failed = failed;
    node->evict_at_ms = failed && evict_ms < INT64_MAX - now_ms ? now_ms + evict_ms : INT64_MAX;
    changed(fleet, node);
}
