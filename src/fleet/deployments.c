#include "fleet/sets.h"

#include "api/condition.h"
#include "api/intorpercent.h"
#include "base/auto.h"
#include "base/str.h"
#include "fleet/rolling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_LABEL "pod-template-hash"
#define NAME_PREFIX_MAX 230

static struct rolling_input gather(const struct fleet *fleet, const struct sim_set *set,
                                   int *ret_ready, int64_t *ret_due_ms);
static void read_strategy(const struct sim_set *set, struct rolling_input *input);
static bool is_fresh(const struct sim_set *set, const struct sim_pod *pod);
static void end_pods(struct fleet *fleet, struct sim_set *set, bool fresh, int count);
static void create_pods(struct fleet *fleet, struct sim_set *set, int count);
static json_t *status_new(struct fleet *fleet, struct sim_set *set,
                          const struct rolling_input *input, int ready, int64_t now_ms);

void deployments_run(struct fleet *fleet, struct sim_set *set, int64_t now_ms) {
    int64_t due_ms = INT64_MAX;
    int ready;
    const struct rolling_input input = gather(fleet, set, &ready, &due_ms);
    const struct rolling_step step = rolling_step(&input);

    if (due_ms != INT64_MAX)
        task_at(fleet, &set->task, now_ms + due_ms - clock_wall_ms(fleet->options.clock));
    end_pods(fleet, set, true, step.end_fresh);
    end_pods(fleet, set, false, step.end_old_unavailable + step.end_old_available);
    sets_write_status(fleet, set, status_new(fleet, set, &input, ready, now_ms));
    create_pods(fleet, set, step.create);
}

static struct rolling_input gather(const struct fleet *fleet, const struct sim_set *set,
                                   int *ret_ready, int64_t *ret_due_ms) {
    struct rolling_input input = {0};
    const struct sim_pod *pod;

    read_strategy(set, &input);
    *ret_ready = 0;
    for (pod = set->pods; pod; pod = pod->set_next) {
        const bool fresh = is_fresh(set, pod);
        const bool available = sets_is_available(fleet, set, pod, ret_due_ms);

        if (!pods_is_active(pod)) {
            input.old_ending += !fresh && !pod_is_terminal(&pod->seen->pod);
            continue;
        }
        *ret_ready += pod->seen->pod.ready;
        input.fresh += fresh;
        input.old += !fresh;
        input.fresh_available += fresh && available;
        input.old_available += !fresh && available;
    }
    return input;
}

static void read_strategy(const struct sim_set *set, struct rolling_input *input) {
    const json_t *spec = json_object_get(set->seen->root, "spec");
    const json_t *strategy = json_object_get(spec, "strategy");
    const json_t *numbers = json_object_get(strategy, "rollingUpdate");
    const char *type = json_string_value(json_object_get(strategy, "type"));
    struct intorpercent surge = {true, 25}, unavailable = {true, 25};
    int32_t surge_count, unavailable_count;

    intorpercent_parse(json_object_get(numbers, "maxSurge"), &surge, NULL);
    intorpercent_parse(json_object_get(numbers, "maxUnavailable"), &unavailable, NULL);
    input->desired = sets_int(spec, "replicas", 1);
    input->recreate = type && strcmp(type, "Recreate") == 0;
    input->paused = json_is_true(json_object_get(spec, "paused"));
    intorpercent_rollout(surge, unavailable, input->desired, &surge_count, &unavailable_count);
    input->surge = surge_count;
    input->unavailable = unavailable_count;
}

static bool is_fresh(const struct sim_set *set, const struct sim_pod *pod) {
    const char *revision = pod->seen->pod.revision;

    return revision && strcmp(revision, set->seen->hash) == 0;
}

static int compare(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static const char *node_of(const struct sim_pod *pod) {
    return pod->node ? pod->node->name : "";
}

/* By node, then the ready ones, then the oldest: their places there are their ranks. */
static int by_node(const void *left, const void *right) {
    const struct sim_pod *a = *(struct sim_pod *const *)left, *b = *(struct sim_pod *const *)right;
    int order = strcmp(node_of(a), node_of(b));

    order = order ? order : compare(b->seen->pod.ready, a->seen->pod.ready);
    order = order ? order : compare(a->seen->created_ms, b->seen->created_ms);
    return order ? order : strcmp(a->key, b->key);
}

/* Which one goes first: without a node, not ready, beside the most others, the newest. */
static int by_worth(const void *left, const void *right) {
    const struct sim_pod *a = *(struct sim_pod *const *)left, *b = *(struct sim_pod *const *)right;
    int order = compare(a->node != NULL, b->node != NULL);

    order = order ? order : compare(a->seen->pod.ready, b->seen->pod.ready);
    order = order ? order : compare(b->rank, a->rank);
    order = order ? order : compare(b->seen->created_ms, a->seen->created_ms);
    return order ? order : strcmp(a->key, b->key);
}

static void end_pods(struct fleet *fleet, struct sim_set *set, bool fresh, int count) {
    struct sim_pod *pod;
    size_t total = 0;

    if (count <= 0)
        return;
    for (pod = set->pods; pod; pod = pod->set_next)
        total += pods_is_active(pod) && is_fresh(set, pod) == fresh;
    auto_free struct sim_pod **list = str_alloc(total + 1, sizeof(struct sim_pod *));

    total = 0;
    for (pod = set->pods; pod; pod = pod->set_next)
        if (pods_is_active(pod) && is_fresh(set, pod) == fresh)
            list[total++] = pod;
    qsort(list, total, sizeof *list, by_node);
    for (size_t i = 0; i < total; i++)
        list[i]->rank = i > 0 && list[i]->node == list[i - 1]->node ? list[i - 1]->rank + 1 : 1;
    qsort(list, total, sizeof *list, by_worth);
    for (size_t i = 0; i < total && i < (size_t)count; i++)
        pods_doom(fleet, list[i]);
}

/* As many as may be sent now; the answers bring the next turn. */
static void create_pods(struct fleet *fleet, struct sim_set *set, int count) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";

    if (count > 0 && write_slots(fleet) == 0)
        task_wake(fleet, &set->task);
    for (; count > 0 && write_slots(fleet) > 0; count--) {
        char name[NAME_PREFIX_MAX + 24];
        char suffix[6] = "";

        for (int i = 0; i < 5; i++)
            suffix[i] = letters[random_below(&fleet->options.rng, sizeof letters - 1)];
        snprintf(name, sizeof name, "%.*s-%s-%s", NAME_PREFIX_MAX, set->seen->name, set->seen->hash,
                 suffix);
        sets_create_pod(fleet, set, name, HASH_LABEL, set->seen->hash, NULL);
    }
}

/* Whether it stands still too long; a timer for when it would. */
static bool is_late(struct fleet *fleet, struct sim_set *set, const struct rolling_input *input,
                    bool complete, int64_t now_ms) {
    const json_t *spec = json_object_get(set->seen->root, "spec");
    const int64_t limit_ms = INT64_C(1000) * sets_int(spec, "progressDeadlineSeconds", 600);
    const int available = input->fresh_available + input->old_available;

    if (set->generation != set->seen->generation || input->fresh > set->updated ||
        available > set->available || input->old < set->old)
        set->progress_ms = now_ms;
    set->generation = set->seen->generation;
    set->updated = input->fresh;
    set->available = available;
    set->old = input->old;
    if (complete || input->paused)
        return false;
    task_at(fleet, &set->task,
            now_ms < set->progress_ms + limit_ms ? set->progress_ms + limit_ms : INT64_MAX);
    return now_ms >= set->progress_ms + limit_ms;
}

static void add_condition(const struct fleet *fleet, json_t *conditions, const char *type,
                          bool status, const char *reason, const char *message) {
    const struct condition condition = {.type = type,
                                        .status = status ? CONDITION_TRUE : CONDITION_FALSE,
                                        .reason = reason,
                                        .message = message};
    json_t *entry;

    if (condition_set(conditions, &condition, clock_wall_ms(fleet->options.clock), NULL) < 0)
        return;
    entry = (json_t *)(uintptr_t)condition_find(conditions, type);
    json_object_del(entry, "observedGeneration"); /* one of a Deployment has no such field */
}

static json_t *status_new(struct fleet *fleet, struct sim_set *set,
                          const struct rolling_input *input, int ready, int64_t now_ms) {
    const json_t *was = json_object_get(json_object_get(set->seen->root, "status"), "conditions");
    json_t *conditions = json_is_array(was) ? json_deep_copy(was) : json_array();
    const int total = input->fresh + input->old;
    const int available = input->fresh_available + input->old_available;
    const bool enough = available >= input->desired - input->unavailable;
    const bool complete =
        input->old == 0 && input->fresh == input->desired && available == input->desired;
    const bool late = is_late(fleet, set, input, complete, now_ms);
    const int missing = input->desired > total ? input->desired : total;

    add_condition(fleet, conditions, "Available", enough,
                  enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                  enough ? "Deployment has minimum availability."
                         : "Deployment does not have minimum availability.");
    add_condition(fleet, conditions, "Progressing", !late,
                  late       ? "ProgressDeadlineExceeded"
                  : complete ? "NewReplicaSetAvailable"
                             : "ReplicaSetUpdated",
                  late ? "The pods have not become available in time." : "");
    return json_pack("{s:I, s:i, s:i, s:i, s:i, s:i, s:o}", "observedGeneration",
                     (json_int_t)set->seen->generation, "replicas", total, "updatedReplicas",
                     input->fresh, "readyReplicas", ready, "availableReplicas", available,
                     "unavailableReplicas", missing - available, "conditions", conditions);
}
