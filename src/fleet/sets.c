#include "fleet/sets.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

struct sim_set *sets_get(struct fleet *fleet, const char *uid) {
    struct sim_set *set;

    HASH_FIND_STR(fleet->sets, uid, set);
    if (set)
        return set;
    set = str_alloc(1, sizeof *set);
    set->task.type = TASK_SET;
    set->uid = str_dup(uid);
    HASH_ADD_KEYPTR(hh, fleet->sets, set->uid, strlen(set->uid), set);
    return set;
}

void sets_sweep(struct fleet *fleet, struct sim_set *set) {
    if (set->seen || set->pods)
        return;
    task_forget(fleet, &set->task);
    HASH_DEL(fleet->sets, set);
    free(set->uid);
    free(set);
}

void sets_done(struct fleet *fleet) {
    struct sim_set *set, *next;

    HASH_ITER(hh, fleet->sets, set, next) {
        HASH_DEL(fleet->sets, set);
        free(set->uid);
        free(set);
    }
}

void sets_told(void *context, enum store_change change, const struct store_item *item) {
    struct fleet *fleet = context;
    struct sim_set *set = sets_get(fleet, item->uid);

    set->seen = change == STORE_DELETE ? NULL : item->object;
    task_wake(fleet, &set->task);
}

void sets_run(struct fleet *fleet, struct sim_set *set, int64_t now_ms) {
    if (!set->seen)
        sets_sweep(fleet, set);
    else if (set->seen->deleting)
        return;
    else if (set->seen->type == SET_DEPLOYMENT)
        deployments_run(fleet, set, now_ms);
    else
        statefulsets_run(fleet, set, now_ms);
}

bool sets_is_available(const struct fleet *fleet, const struct sim_set *set,
                       const struct sim_pod *pod, int64_t *due_ms) {
    const json_t *spec = json_object_get(set->seen->root, "spec");
    const int64_t steady_ms = INT64_C(1000) * sets_int(spec, "minReadySeconds", 0);
    const int64_t from_ms = pod->seen->pod.ready_changed_ms + steady_ms;

    if (!pods_is_active(pod) || !pod->seen->pod.ready)
        return false;
    if (steady_ms == 0 || from_ms <= clock_wall_ms(fleet->options.clock))
        return true;
    *due_ms = from_ms < *due_ms ? from_ms : *due_ms;
    return false;
}

void sets_create_pod(struct fleet *fleet, struct sim_set *set, const char *name, const char *label,
                     const char *hash, json_t *extra) {
    const struct set_seen *seen = set->seen;
    const json_t *template = json_object_get(json_object_get(seen->root, "spec"), "template");
    const json_t *metadata = json_object_get(template, "metadata");
    json_t *labels = json_deep_copy(json_object_get(metadata, "labels"));
    struct kube_call call = {.verb = KUBE_CREATE,
                             .target = {.version = "v1", .resource = "pods", .ns = seen->ns}};
    const bool is_deployment = seen->type == SET_DEPLOYMENT;

    labels = labels ? labels : json_object();
    json_object_set_new(labels, label, json_string(hash));
    json_object_update(labels, extra);
    json_decref(extra);
    json_t *pod = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:o, s:[{s:s, s:s, s:s, s:s, s:b, s:b}]}, s:O}", "apiVersion",
        "v1", "kind", "Pod", "metadata", "namespace", seen->ns, "name", name, "labels", labels,
        "ownerReferences", "apiVersion", "apps/v1", "kind",
        is_deployment ? "Deployment" : "StatefulSet", "name", seen->name, "uid", seen->uid,
        "controller", 1, "blockOwnerDeletion", 1, "spec", json_object_get(template, "spec"));

    json_object_set(json_object_get(pod, "metadata"), "annotations",
                    json_object_get(metadata, "annotations"));
    write_send(fleet, &(struct write){.task = &set->task, .type = WRITE_PUT, .source = SOURCE_PODS},
               &call, pod);
}

/* A count that is 0 may be left out by the server. */
static bool shows(const json_t *status, const char *key, const json_t *value) {
    const json_t *now = json_object_get(status, key);

    if (!now && json_is_integer(value))
        return json_integer_value(value) == 0;
    return json_equal(now, value);
}

void sets_write_status(struct fleet *fleet, struct sim_set *set, json_t *status) {
    const struct set_seen *seen = set->seen;
    const bool is_deployment = seen->type == SET_DEPLOYMENT;
    const json_t *now = json_object_get(seen->root, "status");
    struct kube_call call = {.verb = KUBE_MERGE_PATCH,
                             .target = {.group = "apps",
                                        .version = "v1",
                                        .resource = is_deployment ? "deployments" : "statefulsets",
                                        .ns = seen->ns,
                                        .name = seen->name,
                                        .subresource = "status"}};
    const char *key;
    json_t *value;
    bool same = true;

    json_object_foreach(status, key, value) {
        same = same && shows(now, key, value);
    }
    if (same) {
        json_decref(status);
        return;
    }
    write_send(fleet,
               &(struct write){.task = &set->task,
                               .type = WRITE_PUT,
                               .source = is_deployment ? SOURCE_DEPLOYMENTS : SOURCE_STATEFULSETS},
               &call, json_pack("{s:o}", "status", status));
}

int sets_int(const json_t *object, const char *key, int other) {
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (int)json_integer_value(value) : other;
}
