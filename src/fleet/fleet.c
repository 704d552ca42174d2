#include "fleet/state.h"

#include "base/str.h"

#include <stdlib.h>
#include <utlist.h>

#define ZONE_LABEL "topology.kubernetes.io/zone"

static void open_sources(struct fleet *fleet);
static bool is_synced(const struct fleet *fleet);
static void run_tasks(struct fleet *fleet, int64_t now_ms);
static void run(struct fleet *fleet, struct task *task, int64_t now_ms);

struct fleet *fleet_new(const struct fleet_options *options) {
    struct fleet *fleet = str_alloc(1, sizeof *fleet);

    fleet->options = *options;
    fleet->zone_label = str_dup(options->zone_label ? options->zone_label : ZONE_LABEL);
    fleet->options.zone_label = fleet->zone_label;
    fleet->names = names_new(FLEET_NAMES_MAX);
    fleet->client = kube_client_new(options->transport);
    fleet->epoch = 1;
    open_sources(fleet);
    return fleet;
}

static void open_sources(struct fleet *fleet) {
    static const struct {
        const char *group, *resource;
        int (*read)(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                    struct err *err);
        void (*free_object)(void *object);
        store_sink sink;
        size_t max_items;
    } rows[SOURCE_COUNT] = {
        {NULL, "nodes", reading_node, reading_node_free, nodes_told, FLEET_NODES_MAX},
        {NULL, "pods", reading_pod, reading_pod_free, pods_told, FLEET_PODS_MAX},
        {"apps", "deployments", reading_deployment, reading_set_free, sets_told, FLEET_SETS_MAX},
        {"apps", "statefulsets", reading_statefulset, reading_set_free, sets_told, FLEET_SETS_MAX},
    };

    for (int i = 0; i < SOURCE_COUNT; i++) {
        struct source *source = &fleet->sources[i];
        const struct informer_options options = {
            .transport = fleet->options.transport,
            .clock = fleet->options.clock,
            .target = {.group = rows[i].group, .version = "v1", .resource = rows[i].resource},
            .read = rows[i].read,
            .read_arg = source,
            .free_object = rows[i].free_object,
            .sink = rows[i].sink,
            .context = fleet,
            .max_items = rows[i].max_items,
            .rng = {.state = random_next(&fleet->options.rng)},
        };

        source->fleet = fleet;
        source->informer = informer_new(&options);
    }
}

void fleet_free(struct fleet *fleet) {
    struct write *write, *next;

    if (!fleet)
        return;
    kube_client_free(fleet->client);
    DL_FOREACH_SAFE(fleet->writes, write, next) {
        free(write->key);
        free(write->uid);
        free(write);
    }
    pods_done(fleet);
    nodes_done(fleet);
    sets_done(fleet);
    for (int i = 0; i < SOURCE_COUNT; i++)
        informer_free(fleet->sources[i].informer);
    timer_heap_done(&fleet->timers);
    names_free(fleet->names);
    free(fleet->zone_label);
    free(fleet);
}

int64_t fleet_turn(struct fleet *fleet, int64_t now_ms) {
    int64_t due_ms = INT64_MAX;
    int64_t timer_ms;

    for (int i = 0; i < SOURCE_COUNT; i++) {
        const int64_t tick_ms = informer_tick(fleet->sources[i].informer, now_ms);

        due_ms = tick_ms < due_ms ? tick_ms : due_ms;
    }
    if (!is_synced(fleet))
        return due_ms;
    run_tasks(fleet, now_ms);
    if (timer_next_ms(&fleet->timers, &timer_ms) && timer_ms < due_ms)
        due_ms = timer_ms;
    return due_ms;
}

static bool is_synced(const struct fleet *fleet) {
    for (int i = 0; i < SOURCE_COUNT; i++)
        if (!informer_status(fleet->sources[i].informer).synced)
            return false;
    return true;
}

static void run_tasks(struct fleet *fleet, int64_t now_ms) {
    struct timer *timer;

    while ((timer = timer_pop(&fleet->timers, now_ms)))
        task_wake(fleet, (struct task *)timer);
    pods_wake_waiting(fleet);
    while (fleet->tasks && write_slots(fleet) > 0) {
        struct task *task = fleet->tasks;

        DL_DELETE(fleet->tasks, task);
        task->queued = false;
        if (task->in_flight > 0)
            continue; /* the answer wakes it */
        if (now_ms < task->hold_ms)
            task_at(fleet, task, task->hold_ms);
        else
            run(fleet, task, now_ms);
    }
}

static void run(struct fleet *fleet, struct task *task, int64_t now_ms) {
    switch (task->type) {
    case TASK_NODE:
        nodes_run(fleet, (struct sim_node *)task, now_ms);
        break;
    case TASK_POD:
        pods_run(fleet, (struct sim_pod *)task, now_ms);
        break;
    case TASK_SET:
        sets_run(fleet, (struct sim_set *)task, now_ms);
        break;
    }
}

void fleet_pods_broken(struct fleet *fleet, bool broken) {
    fleet->broken = broken;
}

struct fleet_counts fleet_counts(const struct fleet *fleet) {
    return fleet->counts;
}

bool fleet_idle(const struct fleet *fleet, int64_t now_ms) {
    int64_t due_ms;

    for (int i = 0; i < SOURCE_COUNT; i++)
        if (informer_due_ms(fleet->sources[i].informer) <= now_ms)
            return false;
    if (timer_next_ms(&fleet->timers, &due_ms) && due_ms <= now_ms)
        return false;
    return is_synced(fleet) && !fleet->tasks && fleet->in_flight == 0;
}
