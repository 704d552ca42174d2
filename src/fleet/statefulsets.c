#include "fleet/sets.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_LABEL "controller-revision-hash"
#define NAME_SIZE 280

/* Its pods by ordinal, from the first one on; NULL: not there. */
struct ordinals {
    int first;
    int count;
    struct sim_pod **at;
};

static void step(struct fleet *fleet, struct sim_set *set, const struct ordinals *ordinals,
                 const char *revision);
static bool step_back(struct fleet *fleet, struct sim_set *set, const struct ordinals *ordinals);
static void step_update(struct fleet *fleet, struct sim_set *set, const struct ordinals *ordinals,
                        const char *revision);
static void create(struct fleet *fleet, struct sim_set *set, int ordinal, const char *revision);
static void create_claims(struct fleet *fleet, struct sim_set *set, const char *pod);
static json_t *status_new(const struct fleet *fleet, const struct sim_set *set,
                          const struct ordinals *ordinals, const char *revision, int64_t *due_ms);

static int ordinal_of(const struct sim_pod *pod) {
    const char *dash = strrchr(pod->seen->name, '-');

    return dash ? (int)strtol(dash + 1, NULL, 10) : -1;
}

static const json_t *spec_of(const struct sim_set *set) {
    return json_object_get(set->seen->root, "spec");
}

void statefulsets_run(struct fleet *fleet, struct sim_set *set, int64_t now_ms) {
    struct ordinals ordinals = {.first =
                                    sets_int(json_object_get(spec_of(set), "ordinals"), "start", 0),
                                .count = sets_int(spec_of(set), "replicas", 1)};
    int64_t due_ms = INT64_MAX;
    char revision[NAME_SIZE];

    if (ordinals.count < 0 || ordinals.count > FLEET_PODS_MAX)
        return;
    snprintf(revision, sizeof revision, "%.50s-%s", set->seen->name, set->seen->hash);
    ordinals.at = str_alloc((size_t)ordinals.count + 1, sizeof(*ordinals.at));
    for (struct sim_pod *pod = set->pods; pod; pod = pod->set_next) {
        const int64_t place = (int64_t)ordinal_of(pod) - ordinals.first;

        if (place >= 0 && place < ordinals.count)
            ordinals.at[place] = pod;
    }
    sets_write_status(fleet, set, status_new(fleet, set, &ordinals, revision, &due_ms));
    step(fleet, set, &ordinals, revision);
    if (due_ms != INT64_MAX)
        task_at(fleet, &set->task, now_ms + due_ms - clock_wall_ms(fleet->options.clock));
    free(ordinals.at);
}

static bool is_parallel(const struct sim_set *set) {
    const char *policy = json_string_value(json_object_get(spec_of(set), "podManagementPolicy"));

    return policy && strcmp(policy, "Parallel") == 0;
}

static bool is_well(const struct sim_pod *pod) {
    return pod && pods_is_active(pod) && pod->seen->pod.ready;
}

static void step(struct fleet *fleet, struct sim_set *set, const struct ordinals *ordinals,
                 const char *revision) {
    const bool parallel = is_parallel(set);
    int free_slots = write_slots(fleet);

    for (int i = 0; i < ordinals->count; i++) {
        if (!ordinals->at[i] && free_slots <= 0) {
            task_wake(fleet, &set->task);
            return;
        }
        if (!ordinals->at[i]) {
            create(fleet, set, ordinals->first + i, revision);
            free_slots = write_slots(fleet);
        }
        if (!parallel && !is_well(ordinals->at[i]))
            return;
    }
    if (!step_back(fleet, set, ordinals))
        step_update(fleet, set, ordinals, revision);
}

/* Ends what is beyond the replicas: the highest ordinal first, one by one unless parallel. */
static bool step_back(struct fleet *fleet, struct sim_set *set, const struct ordinals *ordinals) {
    struct sim_pod *highest = NULL;
    bool some = false;

    for (struct sim_pod *pod = set->pods; pod; pod = pod->set_next) {
        const int ordinal = ordinal_of(pod);

        if (ordinal >= ordinals->first && ordinal < ordinals->first + ordinals->count)
            continue;
        some = true;
        if (is_parallel(set) && !pod->doomed)
            pods_doom(fleet, pod);
        if (!highest || ordinal > ordinal_of(highest))
            highest = pod;
    }
    if (highest && pods_is_active(highest))
        pods_doom(fleet, highest);
    return some;
}

static bool is_fresh(const struct sim_pod *pod, const char *revision) {
    return pod->seen->pod.revision && strcmp(pod->seen->pod.revision, revision) == 0;
}

/* The highest ordinal of another revision goes, once all above it are well. */
static void step_update(struct fleet *fleet, struct sim_set *set, const struct ordinals *ordinals,
                        const char *revision) {
    const json_t *strategy = json_object_get(spec_of(set), "updateStrategy");
    const char *type = json_string_value(json_object_get(strategy, "type"));
    const int partition = sets_int(json_object_get(strategy, "rollingUpdate"), "partition", 0);

    if (type && strcmp(type, "OnDelete") == 0)
        return;
    for (int i = ordinals->count - 1; i >= 0 && ordinals->first + i >= partition; i--) {
        struct sim_pod *pod = ordinals->at[i];

        if (pod && pods_is_active(pod) && !is_fresh(pod, revision)) {
            pods_doom(fleet, pod);
            return;
        }
        if (!is_well(pod))
            return;
    }
}

static void create(struct fleet *fleet, struct sim_set *set, int ordinal, const char *revision) {
    char name[NAME_SIZE], number[16];

    snprintf(name, sizeof name, "%s-%d", set->seen->name, ordinal);
    snprintf(number, sizeof number, "%d", ordinal);
    create_claims(fleet, set, name);
    sets_create_pod(fleet, set, name, HASH_LABEL, revision,
                    json_pack("{s:s, s:s}", "statefulset.kubernetes.io/pod-name", name,
                              "apps.kubernetes.io/pod-index", number));
}

static void create_claims(struct fleet *fleet, struct sim_set *set, const char *pod) {
    const json_t *templates = json_object_get(spec_of(set), "volumeClaimTemplates");

    for (size_t i = 0; i < json_array_size(templates) && write_slots(fleet) > 1; i++) {
        const json_t *template = json_array_get(templates, i);
        const json_t *metadata = json_object_get(template, "metadata");
        struct kube_call call = {
            .verb = KUBE_CREATE,
            .target = {.version = "v1", .resource = "persistentvolumeclaims", .ns = set->seen->ns}};
        char name[NAME_SIZE];

        snprintf(name, sizeof name, "%.60s-%.200s",
                 json_string_value(json_object_get(metadata, "name")), pod);
        json_t *claim = json_pack("{s:s, s:s, s:{s:s, s:s}, s:O?}", "apiVersion", "v1", "kind",
                                  "PersistentVolumeClaim", "metadata", "namespace", set->seen->ns,
                                  "name", name, "spec", json_object_get(template, "spec"));

        json_object_set(json_object_get(claim, "metadata"), "labels",
                        json_object_get(metadata, "labels"));
        write_send(fleet,
                   &(struct write){.task = &set->task, .type = WRITE_CLAIM, .source = SOURCE_NONE},
                   &call, claim);
    }
}

static json_t *status_new(const struct fleet *fleet, const struct sim_set *set,
                          const struct ordinals *ordinals, const char *revision, int64_t *due_ms) {
    const json_t *status = json_object_get(set->seen->root, "status");
    const char *current = json_string_value(json_object_get(status, "currentRevision"));
    int total = 0, fresh = 0, ready = 0, available = 0, is_current = 0;

    current = current ? current : revision;
    for (const struct sim_pod *pod = set->pods; pod; pod = pod->set_next) {
        if (!pods_is_active(pod))
            continue;
        total++;
        fresh += is_fresh(pod, revision);
        is_current += is_fresh(pod, current);
        ready += pod->seen->pod.ready;
        available += sets_is_available(fleet, set, pod, due_ms);
    }
    if (fresh == ordinals->count && ready == ordinals->count && total == ordinals->count) {
        current = revision;
        is_current = fresh;
    }
    return json_pack("{s:I, s:i, s:i, s:i, s:i, s:i, s:s, s:s}", "observedGeneration",
                     (json_int_t)set->seen->generation, "replicas", total, "readyReplicas", ready,
                     "availableReplicas", available, "updatedReplicas", fresh, "currentReplicas",
                     is_current, "currentRevision", current, "updateRevision", revision);
}
