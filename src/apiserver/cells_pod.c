#include "apiserver/cells.h"

#include "base/timestamp.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What the containers of a pod add up to. */
struct pod_sum {
    int64_t restarts;
    int64_t restarted_ms; /* the last time; 0: never, or not told */
    int ready;
    int total;
    char reason[96];
};

static bool is_text(const char *text, const char *word) {
    return strcmp(text, word) == 0;
}

static const json_t *condition(const json_t *object, const char *type) {
    const json_t *list = cells_at(object, "status.conditions");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (is_text(cells_text(json_array_get(list, i), "type"), type))
            return json_array_get(list, i);
    return NULL;
}

static bool is_true(const json_t *object, const char *type) {
    return is_text(cells_text(condition(object, type), "status"), "True");
}

static void count_restarts(const json_t *status, struct pod_sum *sum) {
    int64_t finished_ms;

    sum->restarts += cells_int(status, "restartCount");
    if (timestamp_parse(cells_text(status, "lastState.terminated.finishedAt"), &finished_ms,
                        NULL) >= 0 &&
        finished_ms > sum->restarted_ms)
        sum->restarted_ms = finished_ms;
}

/* Why a container ended: its reason, or its signal, or its exit code. */
static void write_end(const json_t *ended, const char *prefix, char *room, size_t room_bytes) {
    const char *reason = cells_text(ended, "reason");

    if (*reason)
        snprintf(room, room_bytes, "%s%s", prefix, reason);
    else if (cells_int(ended, "signal"))
        snprintf(room, room_bytes, "%sSignal:%d", prefix, (int)cells_int(ended, "signal"));
    else
        snprintf(room, room_bytes, "%sExitCode:%d", prefix, (int)cells_int(ended, "exitCode"));
}

static bool is_sidecar(const json_t *pod, const char *name) {
    const json_t *list = cells_at(pod, "spec.initContainers");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *container = json_array_get(list, i);

        if (is_text(cells_text(container, "name"), name))
            return is_text(cells_text(container, "restartPolicy"), "Always");
    }
    return false;
}

/* Goes through the init containers; true if one of them still holds the pod up. */
static bool sum_init(const json_t *pod, struct pod_sum *sum) {
    const json_t *list = cells_at(pod, "status.initContainerStatuses");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *status = json_array_get(list, i);
        const json_t *ended = cells_at(status, "state.terminated");
        const char *waits = cells_text(status, "state.waiting.reason");
        const bool sidecar = is_sidecar(pod, cells_text(status, "name"));

        count_restarts(status, sum);
        if (ended && cells_int(ended, "exitCode") == 0)
            continue;
        if (sidecar && json_is_true(json_object_get(status, "started"))) {
            sum->ready += json_is_true(json_object_get(status, "ready"));
            continue;
        }
        if (ended)
            write_end(ended, "Init:", sum->reason, sizeof(sum->reason));
        else if (*waits && !is_text(waits, "PodInitializing"))
            snprintf(sum->reason, sizeof(sum->reason), "Init:%s", waits);
        else
            snprintf(sum->reason, sizeof(sum->reason), "Init:%zu/%zu", i,
                     json_array_size(cells_at(pod, "spec.initContainers")));
        return true;
    }
    return false;
}

static void sum_containers(const json_t *pod, struct pod_sum *sum) {
    const json_t *list = cells_at(pod, "status.containerStatuses");
    char failed[sizeof(sum->reason)] = "";
    bool runs = false;

    for (size_t i = json_array_size(list); i-- > 0;) {
        const json_t *status = json_array_get(list, i);
        const json_t *ended = cells_at(status, "state.terminated");
        const char *waits = cells_text(status, "state.waiting.reason");

        count_restarts(status, sum);
        if (*waits) {
            snprintf(sum->reason, sizeof(sum->reason), "%s", waits);
        } else if (ended) {
            write_end(ended, "", sum->reason, sizeof(sum->reason));
            if (cells_int(ended, "exitCode"))
                memcpy(failed, sum->reason, sizeof(failed));
        } else if (json_is_true(json_object_get(status, "ready")) &&
                   cells_at(status, "state.running")) {
            runs = true;
            sum->ready++;
        }
    }
    if (!is_text(sum->reason, "Completed"))
        return;
    if (runs && is_true(pod, "Ready"))
        snprintf(sum->reason, sizeof(sum->reason), "Running");
    else if (*failed)
        memcpy(sum->reason, failed, sizeof(failed));
    else if (runs)
        snprintf(sum->reason, sizeof(sum->reason), "NotReady");
}

static struct pod_sum sum_pod(const json_t *pod) {
    const json_t *init = cells_at(pod, "spec.initContainers");
    const char *phase = cells_text(pod, "status.phase");
    const char *reason = cells_text(pod, "status.reason");
    struct pod_sum sum = {.total = (int)json_array_size(cells_at(pod, "spec.containers"))};

    for (size_t i = 0; i < json_array_size(init); i++)
        sum.total += is_text(cells_text(json_array_get(init, i), "restartPolicy"), "Always");
    snprintf(sum.reason, sizeof(sum.reason), "%s", *reason ? reason : phase);
    if (is_text(cells_text(condition(pod, "PodScheduled"), "reason"), "SchedulingGated"))
        snprintf(sum.reason, sizeof(sum.reason), "SchedulingGated");
    if (!sum_init(pod, &sum) || is_true(pod, "Initialized")) {
        sum.restarts = 0;
        sum.restarted_ms = 0;
        sum_containers(pod, &sum);
    }
    if (cells_at(pod, "metadata.deletionTimestamp")) {
        if (is_text(reason, "NodeLost"))
            snprintf(sum.reason, sizeof(sum.reason), "Unknown");
        else if (!is_text(phase, "Succeeded") && !is_text(phase, "Failed"))
            snprintf(sum.reason, sizeof(sum.reason), "Terminating");
    }
    return sum;
}

static void add_gates(const json_t *pod, json_t *cells) {
    const json_t *gates = cells_at(pod, "spec.readinessGates");
    int open = 0;

    for (size_t i = 0; i < json_array_size(gates); i++)
        open += is_true(pod, cells_text(json_array_get(gates, i), "conditionType"));
    if (json_array_size(gates))
        cells_addf(cells, "%d/%zu", open, json_array_size(gates));
    else
        cells_add(cells, "<none>", NULL);
}

void cells_of_pod(const json_t *pod, int64_t now_ms, json_t *cells) {
    const struct pod_sum sum = sum_pod(pod);
    const char *address = cells_text(json_array_get(cells_at(pod, "status.podIPs"), 0), "ip");
    char age[CELLS_AGE_SIZE];

    cells_add(cells, cells_text(pod, "metadata.name"), NULL);
    cells_addf(cells, "%d/%d", sum.ready, sum.total);
    cells_add(cells, sum.reason, NULL);
    cells_age(now_ms - sum.restarted_ms, age);
    if (sum.restarts && sum.restarted_ms)
        cells_addf(cells, "%lld (%s ago)", (long long)sum.restarts, age);
    else
        cells_addf(cells, "%lld", (long long)sum.restarts);
    cells_add_age(cells, pod, now_ms);
    cells_add(cells, *address ? address : cells_text(pod, "status.podIP"), "<none>");
    cells_add(cells, cells_text(pod, "spec.nodeName"), "<none>");
    cells_add(cells, cells_text(pod, "status.nominatedNodeName"), "<none>");
    add_gates(pod, cells);
}

/* "control-plane,worker" from the labels node-role.kubernetes.io/... and kubernetes.io/role. */
static void add_roles(const json_t *node, json_t *cells) {
    static const char prefix[] = "node-role.kubernetes.io/";
    json_t *labels = cells_at(node, "metadata.labels");
    char roles[256] = "";
    size_t len = 0;
    const char *key;
    const json_t *value;

    json_object_foreach(labels, key, value) {
        const char *role = NULL;

        if (strncmp(key, prefix, sizeof(prefix) - 1) == 0)
            role = key + sizeof(prefix) - 1;
        else if (is_text(key, "kubernetes.io/role"))
            role = json_string_value(value);
        if (role && *role && len < sizeof(roles)) {
            const int more =
                snprintf(roles + len, sizeof(roles) - len, "%s%s", len ? "," : "", role);

            len += more > 0 ? (size_t)more : 0;
        }
    }
    cells_add(cells, roles, "<none>");
}

static void add_address(const json_t *node, const char *type, json_t *cells) {
    const json_t *list = cells_at(node, "status.addresses");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (is_text(cells_text(json_array_get(list, i), "type"), type)) {
            cells_add(cells, cells_text(json_array_get(list, i), "address"), "<none>");
            return;
        }
    cells_add(cells, "<none>", NULL);
}

void cells_of_node(const json_t *node, int64_t now_ms, json_t *cells) {
    const json_t *ready = condition(node, "Ready");
    const char *kernel = cells_text(node, "status.nodeInfo.kernelVersion");
    const char *architecture = cells_text(node, "status.nodeInfo.architecture");

    cells_add(cells, cells_text(node, "metadata.name"), NULL);
    cells_addf(cells, "%s%s",
               !ready                   ? "Unknown"
               : is_true(node, "Ready") ? "Ready"
                                        : "NotReady",
               json_is_true(cells_at(node, "spec.unschedulable")) ? ",SchedulingDisabled" : "");
    add_roles(node, cells);
    cells_add_age(cells, node, now_ms);
    cells_add(cells, cells_text(node, "status.nodeInfo.kubeletVersion"), NULL);
    add_address(node, "InternalIP", cells);
    add_address(node, "ExternalIP", cells);
    cells_add(cells, cells_text(node, "status.nodeInfo.osImage"), "<unknown>");
    if (*architecture)
        cells_addf(cells, "%s (%s)", *kernel ? kernel : "<unknown>", architecture);
    else
        cells_add(cells, kernel, "<unknown>");
    cells_add(cells, cells_text(node, "status.nodeInfo.containerRuntimeVersion"), "<unknown>");
}
