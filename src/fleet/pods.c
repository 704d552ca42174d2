#include "fleet/state.h"

#include "base/str.h"
#include "base/timestamp.h"
#include "fleet/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static void pod_free(struct fleet *fleet, struct sim_pod *pod);
static void take_in(struct fleet *fleet, struct sim_pod *pod);
static void move_to(struct fleet *fleet, struct sim_pod *pod, struct sim_node *node);
static void move_set(struct fleet *fleet, struct sim_pod *pod, struct sim_set *set);
static void count(struct fleet *fleet, struct sim_pod *pod, bool is_bound, bool is_ready);
static void stop_waiting(struct fleet *fleet, struct sim_pod *pod);
static void end(struct fleet *fleet, struct sim_pod *pod, int64_t now_ms);
static void delete_pod(struct fleet *fleet, struct sim_pod *pod, bool at_once);
static void bind(struct fleet *fleet, struct sim_pod *pod);
static struct sim_node *choose(struct fleet *fleet, const struct shape *shape);
static void wait_for_room(struct fleet *fleet, struct sim_pod *pod);
static void live(struct fleet *fleet, struct sim_pod *pod, int64_t now_ms);
static void write_status(struct fleet *fleet, struct sim_pod *pod, json_t *status);
static json_t *running_new(struct fleet *fleet, struct sim_pod *pod, bool ready);
static json_t *pulling_new(struct fleet *fleet, struct sim_pod *pod);

void pods_told(void *context, enum store_change change, const struct store_item *item) {
    struct fleet *fleet = context;
    struct sim_pod *pod = NULL;

    HASH_FIND_STR(fleet->pods, item->key, pod);
    if (change == STORE_DELETE) {
        if (pod)
            pod_free(fleet, pod);
        return;
    }
    if (!pod) {
        pod = str_alloc(1, sizeof *pod);
        pod->task.type = TASK_POD;
        pod->key = str_dup(item->key);
        HASH_ADD_KEYPTR(hh, fleet->pods, pod->key, strlen(pod->key), pod);
        fleet->counts.pods++;
    }
    pod->seen = item->object;
    take_in(fleet, pod);
    task_wake(fleet, &pod->task);
}

static void pod_free(struct fleet *fleet, struct sim_pod *pod) {
    task_forget(fleet, &pod->task);
    stop_waiting(fleet, pod);
    count(fleet, pod, false, false);
    move_to(fleet, pod, NULL);
    move_set(fleet, pod, NULL);
    HASH_DEL(fleet->pods, pod);
    fleet->counts.pods--;
    free(pod->key);
    free(pod);
}

void pods_done(struct fleet *fleet) {
    struct sim_pod *pod, *next;

    HASH_ITER(hh, fleet->pods, pod, next) {
        HASH_DEL(fleet->pods, pod);
        free(pod->key);
        free(pod);
    }
}

/* What the new state means for nodes, workloads and counts. A pod that we have bound stays with its
 * node until the server tells of it. */
static void take_in(struct fleet *fleet, struct sim_pod *pod) {
    const struct pod_seen *seen = pod->seen;
    uint8_t ip[4] = {10};

    count(fleet, pod, seen->pod.node != NULL, seen->pod.ready && !seen->pod.terminating);
    if (seen->pod.node || pod_is_terminal(&seen->pod))
        move_to(fleet, pod, pod_is_terminal(&seen->pod) ? NULL : nodes_get(fleet, seen->pod.node));
    if (seen->pod.node || seen->pod.terminating)
        stop_waiting(fleet, pod);
    move_set(fleet, pod, seen->owner_uid ? sets_get(fleet, seen->owner_uid) : NULL);
    if (pod->set)
        task_wake(fleet, &pod->set->task);
    if (pod->address == 0 && seen->pod.ip.family == ADDRESS_IPV4 && seen->pod.ip.bytes[0] == ip[0])
        pod->address = (uint32_t)seen->pod.ip.bytes[1] << 16 |
                       (uint32_t)seen->pod.ip.bytes[2] << 8 | seen->pod.ip.bytes[3];
    if (pod->address > fleet->pod_address)
        fleet->pod_address = pod->address;
}

static void move_to(struct fleet *fleet, struct sim_pod *pod, struct sim_node *node) {
    struct sim_node *old = pod->node;

    if (old == node)
        return;
    pod->node = node;
    if (old) {
        DL_DELETE2(old->pods, pod, node_prev, node_next);
        for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
            old->used.of[i] -= pod->used.of[i];
        nodes_sort(fleet, old);
        fleet->epoch++;
        nodes_sweep(fleet, old);
    }
    if (node) {
        pod->used = pod->seen->shape->request;
        DL_APPEND2(node->pods, pod, node_prev, node_next);
        resources_add(&node->used, &pod->used);
        nodes_sort(fleet, node);
    }
}

static void move_set(struct fleet *fleet, struct sim_pod *pod, struct sim_set *set) {
    struct sim_set *old = pod->set;

    if (old == set)
        return;
    pod->set = set;
    if (old) {
        DL_DELETE2(old->pods, pod, set_prev, set_next);
        task_wake(fleet, &old->task);
    }
    if (set)
        DL_APPEND2(set->pods, pod, set_prev, set_next);
}

static void count(struct fleet *fleet, struct sim_pod *pod, bool is_bound, bool is_ready) {
    fleet->counts.pods_bound += is_bound - pod->is_bound;
    fleet->counts.pods_ready += is_ready - pod->is_ready;
    pod->is_bound = is_bound;
    pod->is_ready = is_ready;
}

static void stop_waiting(struct fleet *fleet, struct sim_pod *pod) {
    if (pod->waiting)
        DL_DELETE2(fleet->waiting, pod, wait_prev, wait_next);
    pod->waiting = false;
}

void pods_wake_waiting(struct fleet *fleet) {
    struct sim_pod *pod;

    if (fleet->waiting_epoch == fleet->epoch)
        return;
    fleet->waiting_epoch = fleet->epoch;
    for (pod = fleet->waiting; pod; pod = pod->wait_next)
        task_wake(fleet, &pod->task);
}

bool pods_is_active(const struct sim_pod *pod) {
    return !pod->doomed && !pod->seen->pod.terminating && !pod_is_terminal(&pod->seen->pod);
}

void pods_doom(struct fleet *fleet, struct sim_pod *pod) {
    pod->doomed = true;
    task_wake(fleet, &pod->task);
}

void pods_unbind(struct fleet *fleet, struct sim_pod *pod) {
    if (!pod->seen->pod.node)
        move_to(fleet, pod, NULL);
}

void pods_run(struct fleet *fleet, struct sim_pod *pod, int64_t now_ms) {
    const struct pod *seen = &pod->seen->pod;

    if (pod->node && pod->node->lost)
        delete_pod(fleet, pod, true);
    else if (seen->terminating)
        end(fleet, pod, now_ms);
    else if (pod->doomed)
        delete_pod(fleet, pod, false);
    else if (pod_is_terminal(seen))
        return;
    else if (seen->node)
        live(fleet, pod, now_ms);
    else if (!pod->node)
        bind(fleet, pod);
}

static void end(struct fleet *fleet, struct sim_pod *pod, int64_t now_ms) {
    if (pod->gone_at_ms == 0)
        pod->gone_at_ms = now_ms + fleet->options.stop_ms;
    if (now_ms >= pod->gone_at_ms)
        delete_pod(fleet, pod, true);
    else
        task_at(fleet, &pod->task, pod->gone_at_ms);
}

static struct url_target target_of(const struct sim_pod *pod, const char *subresource) {
    return (struct url_target){.version = "v1",
                               .resource = "pods",
                               .ns = pod->seen->ns,
                               .name = pod->seen->name,
                               .subresource = subresource};
}

static void delete_pod(struct fleet *fleet, struct sim_pod *pod, bool at_once) {
    struct kube_call call = {.verb = KUBE_DELETE,
                             .target = target_of(pod, NULL),
                             .uid = pod->seen->uid,
                             .at_once = at_once};

    write_send(fleet,
               &(struct write){.task = &pod->task,
                               .type = WRITE_DELETE,
                               .source = SOURCE_PODS,
                               .key = pod->key,
                               .uid = pod->seen->uid},
               &call, NULL);
}

/* The room is taken before the server agrees, so that no other pod is sent there meanwhile. */
static void bind(struct fleet *fleet, struct sim_pod *pod) {
    struct sim_node *node = choose(fleet, pod->seen->shape);
    struct kube_call call = {.verb = fleet->no_binding ? KUBE_MERGE_PATCH : KUBE_CREATE,
                             .target = target_of(pod, fleet->no_binding ? NULL : "binding")};
    json_t *body;

    if (!node) {
        wait_for_room(fleet, pod);
        return;
    }
    stop_waiting(fleet, pod);
    move_to(fleet, pod, node);
    if (fleet->no_binding)
        body = json_pack("{s:{s:s}}", "spec", "nodeName", node->name);
    else
        body = json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}", "apiVersion", "v1",
                         "kind", "Binding", "metadata", "name", pod->seen->name, "namespace",
                         pod->seen->ns, "uid", pod->seen->uid, "target", "apiVersion", "v1", "kind",
                         "Node", "name", node->name);
    write_send(fleet,
               &(struct write){.task = &pod->task, .type = WRITE_BIND, .source = SOURCE_PODS},
               &call, body);
}

/* The freest node that takes it; a shape that found none need not look again until there may be
 * room. */
static struct sim_node *choose(struct fleet *fleet, const struct shape *shape) {
    struct shape *own = (struct shape *)(uintptr_t)shape;

    if (shape->full_epoch == fleet->epoch)
        return NULL;
    for (size_t i = 0; i < fleet->freest_count; i++) {
        struct sim_node *node = fleet->freest[i];
        const struct node *seen = &node->seen->node;

        if (!node->failed && !node->removing &&
            schedule_fits(&seen->allocatable, &node->used, &shape->request) &&
            schedule_allows(seen, shape->selector, shape->tolerations))
            return node;
    }
    own->full_epoch = fleet->epoch;
    return NULL;
}

static json_t *condition_new(const char *type, bool status, int64_t since_ms) {
    char since[TIMESTAMP_SIZE];

    timestamp_format(since_ms, since);
    return json_pack("{s:s, s:s, s:s, s:n}", "type", type, "status", status ? "True" : "False",
                     "lastTransitionTime", since, "lastProbeTime");
}

static void wait_for_room(struct fleet *fleet, struct sim_pod *pod) {
    if (!pod->waiting)
        DL_APPEND2(fleet->waiting, pod, wait_prev, wait_next);
    pod->waiting = true;
    if (pod->seen->told_unschedulable)
        return;
    json_t *condition = condition_new("PodScheduled", false, clock_wall_ms(fleet->options.clock));
    char message[64];

    snprintf(message, sizeof message, "0/%zu nodes are available.", fleet->freest_count);
    json_object_set_new(condition, "reason", json_string("Unschedulable"));
    json_object_set_new(condition, "message", json_string(message));
    write_status(fleet, pod,
                 json_pack("{s:s, s:[o]}", "phase", "Pending", "conditions", condition));
}

/* Bound: becomes ready in time, and follows its node. */
static void live(struct fleet *fleet, struct sim_pod *pod, int64_t now_ms) {
    const struct pod *seen = &pod->seen->pod;
    const struct sim_node *node = pod->node;
    const struct fleet_options *options = &fleet->options;

    if (node->seen && !schedule_keeps(&node->seen->node, pod->seen->shape->tolerations)) {
        delete_pod(fleet, pod, false);
        return;
    }
    if (node->failed && seen->ready) {
        write_status(fleet, pod, running_new(fleet, pod, false));
        return;
    }
    if (node->failed && now_ms >= node->evict_at_ms)
        delete_pod(fleet, pod, false);
    else if (node->failed)
        task_at(fleet, &pod->task, node->evict_at_ms);
    if (node->failed || seen->ready || pod->broken)
        return;
    if (pod->ready_at_ms == 0) {
        pod->ready_at_ms = now_ms + options->start_ms;
        if (options->start_more_ms > 0)
            pod->ready_at_ms +=
                (int64_t)random_below(&fleet->options.rng, (uint64_t)options->start_more_ms + 1);
        pod->broken = fleet->broken;
        if (pod->address == 0)
            pod->address = ++fleet->pod_address;
    }
    if (pod->broken)
        write_status(fleet, pod, pulling_new(fleet, pod));
    else if (now_ms >= pod->ready_at_ms)
        write_status(fleet, pod, running_new(fleet, pod, true));
    else
        task_at(fleet, &pod->task, pod->ready_at_ms);
}

static void write_status(struct fleet *fleet, struct sim_pod *pod, json_t *status) {
    struct kube_call call = {.verb = KUBE_MERGE_PATCH, .target = target_of(pod, "status")};

    write_send(fleet, &(struct write){.task = &pod->task, .type = WRITE_PUT, .source = SOURCE_PODS},
               &call, json_pack("{s:o}", "status", status));
}

/* ready: all containers run and answer; otherwise they run and nobody knows. */
static json_t *status_new(struct fleet *fleet, const struct sim_pod *pod, const char *phase,
                          bool ready) {
    const int64_t now_ms = clock_wall_ms(fleet->options.clock);
    const int64_t started_ms = pod->seen->pod.started_ms ? pod->seen->pod.started_ms : now_ms;
    char started[TIMESTAMP_SIZE];

    timestamp_format(started_ms, started);
    return json_pack("{s:s, s:s, s:[o, o, o, o]}", "phase", phase, "startTime", started,
                     "conditions", condition_new("PodScheduled", true, started_ms),
                     condition_new("Initialized", true, started_ms),
                     condition_new("ContainersReady", ready, now_ms),
                     condition_new("Ready", ready, now_ms));
}

static void add_containers(const struct sim_pod *pod, json_t *status, bool ready, json_t *state) {
    const json_t *containers = pod->seen->shape->containers;
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(containers); i++) {
        json_t *entry = json_deep_copy(json_array_get(containers, i));

        json_object_set_new(entry, "imageID", json_string(""));
        json_object_set_new(entry, "ready", json_boolean(ready));
        json_object_set_new(entry, "started", json_boolean(ready));
        json_object_set_new(entry, "restartCount", json_integer(0));
        json_object_set(entry, "state", state);
        json_array_append_new(list, entry);
    }
    json_object_set_new(status, "containerStatuses", list);
    json_decref(state);
}

static json_t *running_new(struct fleet *fleet, struct sim_pod *pod, bool ready) {
    json_t *status = status_new(fleet, pod, "Running", ready);
    const char *started = json_string_value(json_object_get(status, "startTime"));
    char ip[16], host[ADDRESS_TEXT_SIZE];

    snprintf(ip, sizeof ip, "10.%u.%u.%u", (pod->address >> 16) & 255, (pod->address >> 8) & 255,
             pod->address & 255);
    json_object_set_new(status, "podIP", json_string(ip));
    json_object_set_new(status, "podIPs", json_pack("[{s:s}]", "ip", ip));
    if (pod->node->seen) {
        address_format(&pod->node->seen->node.ip, host);
        json_object_set_new(status, "hostIP", json_string(host));
    }
    add_containers(pod, status, ready, json_pack("{s:{s:s}}", "running", "startedAt", started));
    return status;
}

static json_t *pulling_new(struct fleet *fleet, struct sim_pod *pod) {
    json_t *status = status_new(fleet, pod, "Pending", false);

    add_containers(pod, status, false,
                   json_pack("{s:{s:s, s:s}}", "waiting", "reason", "ImagePullBackOff", "message",
                             "the image cannot be pulled"));
    return status;
}
