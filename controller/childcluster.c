#include "controller/childcluster.h"

#include "api/condition.h"

#include <stdio.h>
#include <string.h>

#define CONDITION_READY "Ready"

/* Plans the reads that are due, and asks to come back for the next ones. */
static void reads_plan(struct world *world, struct child *child, int64_t now_ms,
                       struct plan *plan) {
    const int64_t secret_due_ms = child->kubeconfig_read_ms + WORLD_SECRET_MS;

    if (!child->kubeconfig_read_ms || now_ms >= secret_due_ms) {
        const struct url_target secret = {.version = "v1",
                                          .resource = "secrets",
                                          .ns = world_options(world)->ns,
                                          .name = child->spec.secret};

        plan_add(plan, PLAN_HUB, QUEUE_CAPACITY, KUBE_GET, &secret);
        plan_again_at(plan, now_ms + WORLD_HEARTBEAT_MS);
    } else {
        plan_again_at(plan, secret_due_ms);
    }
    if (!child->client)
        return;
    if (!child->asked_ms || now_ms - child->asked_ms >= WORLD_HEARTBEAT_MS) {
        const struct url_target identity = {
            .version = "v1", .resource = "namespaces", .name = "kube-system"};

        plan_add(plan, child->index + 1, QUEUE_CAPACITY, KUBE_GET, &identity);
        child->asked_ms = now_ms;
    }
    plan_again_at(plan, child->asked_ms + WORLD_HEARTBEAT_MS);
}

/* What is wrong with a child, if anything, in the order in which it has to be put right. */
static struct condition verdict(const struct world *world, const struct child *child,
                                int64_t now_ms, char *text, size_t size_bytes) {
    struct condition condition = {.type = CONDITION_READY, .status = CONDITION_FALSE};
    const char *refusal;
    char key[WORLD_KEY_SIZE];

    snprintf(key, sizeof key, "child/%s", child->meta.name);
    refusal = world_refusal(world, key, child->index + 1);
    condition.message = text;
    if (child->refused) {
        condition.reason = "Invalid";
        snprintf(text, size_bytes, "%s", child->fault.msg);
    } else if (!child->client) {
        condition.reason = child->fault.code ? "KubeconfigUnusable" : "Connecting";
        snprintf(text, size_bytes, "%s",
                 child->fault.code ? child->fault.msg : "the kubeconfig Secret is being read");
    } else if (child->uid[0] && !child_known(child)) {
        condition.reason = "ClusterIdentityChanged";
        snprintf(text, size_bytes,
                 "another cluster answers (kube-system uid %s, joined with %s); nothing is written "
                 "to it. Point the kubeconfig at the right cluster, or delete and recreate the "
                 "ChildCluster",
                 child->uid, child->joined_uid);
    } else if (!child->heard_ms) {
        condition.reason = refusal ? "Unreachable" : "Connecting";
        snprintf(text, size_bytes, "%s", refusal ? refusal : "waiting for its first answer");
    } else if (now_ms - child->heard_ms > WORLD_SILENT_MS) {
        condition.reason = "Silent";
        snprintf(text, size_bytes,
                 "no answer for more than %d s, so what runs there is unknown and is held%s%s",
                 WORLD_SILENT_MS / 1000, refusal ? ": " : "", refusal ? refusal : "");
    } else if (!child_fresh(child, now_ms)) {
        condition.reason = "Synchronizing";
        snprintf(text, size_bytes, "its caches are being filled; until then it is held");
    } else {
        condition.status = CONDITION_TRUE;
        condition.reason = "Connected";
        snprintf(text, size_bytes, "it answers and its caches are whole");
    }
    return condition;
}

static json_t *zones_new(struct world *world, const struct child *child) {
    const struct inventory_cell *cells;
    const int count = inventory_cells(world_inventory(world), &cells);
    json_t *zones = json_array();

    for (int i = 0; i < count && json_array_size(zones) < 64; i++)
        if (cells[i].child == child->index)
            json_array_append_new(zones, json_string(cells[i].zone));
    return zones;
}

static void status_plan(struct world *world, struct child *child, int64_t now_ms,
                        struct plan *plan) {
    /* What was said before a restart stands while the connection is being made again. */
    if (child_joining(child, now_ms) && !child->fault.code &&
        condition_find(json_object_get(child->status, "conditions"), CONDITION_READY)) {
        plan_again_at(plan, child->since_ms + WORLD_JOIN_MS);
        return;
    }
    char text[512];
    struct condition condition = verdict(world, child, now_ms, text, sizeof text);
    json_t *conditions = json_deep_copy(json_object_get(child->status, "conditions"));
    const char *uid = child->joined_uid ? child->joined_uid : child->uid;

    if (!conditions)
        conditions = json_array();
    condition.observed_generation = child->meta.generation;
    condition_set(conditions, &condition, clock_wall_ms(world_options(world)->clock), NULL);
    json_t *status = json_pack("{s:I, s:o}", "observedGeneration",
                               (json_int_t)child->meta.generation, "conditions", conditions);

    if (*uid)
        json_object_set_new(status, "clusterUID", json_string(uid));
    if (child_fresh(child, now_ms)) {
        json_object_set_new(status, "nodes",
                            json_integer(inventory_nodes(world_inventory(world), child->index)));
        json_object_set_new(status, "zones", zones_new(world, child));
    } else {
        json_object_set(status, "nodes", json_object_get(child->status, "nodes"));
        json_object_set(status, "zones", json_object_get(child->status, "zones"));
    }
    const struct url_target where = {.group = "bulkhead.dev",
                                     .version = "v1alpha1",
                                     .resource = "childclusters",
                                     .name = child->meta.name};

    plan_status(plan, &where, "ChildCluster", child->meta.uid, child->status, status);
}

int childcluster_reconcile(struct world *world, const char *name, int64_t now_ms, struct plan *plan,
                           struct err *err) {
    struct child *child = world_child(world, name);

    (void)err;
    if (!child || child->meta.deleting)
        return 0;
    if (child->valid)
        reads_plan(world, child, now_ms, plan);
    status_plan(world, child, now_ms, plan);
    return 0;
}
