#include "controller/appstatus.h"

#include "api/condition.h"
#include "api/objectname.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/timestamp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 512

struct totals {
    int64_t assigned;
    int64_t exist;
    int64_t ready;
    int zones;
};

/* A cell that holds replicas or pods. */
struct live_cell {
    const struct placing_cell *cell;
    struct inventory_pods pods;
};

struct drawing {
    struct world *world;
    const struct appstatus_input *in;
    int64_t now_ms;
    json_t *conditions;
    struct live_cell *live;
    int32_t live_count;
    struct totals totals;
};

static void condition_put(struct drawing *drawing, const char *type, bool holds, const char *reason,
                          const char *message) {
    const struct condition condition = {
        .type = type,
        .status = holds ? CONDITION_TRUE : CONDITION_FALSE,
        .reason = reason,
        .message = message,
        .observed_generation = drawing->in->app->meta.generation,
    };

    condition_set(drawing->conditions, &condition,
                  clock_wall_ms(world_options(drawing->world)->clock), NULL);
}

static int percent_of(int64_t part, int64_t whole) {
    return whole > 0 ? (int)((part * 100 + whole / 2) / whole) : 0;
}

/* One line of the distribution: a zone or a cluster. */
static void line_add(json_t *list, const char *name, int64_t assigned, int64_t ready,
                     int64_t wanted, const char *reason) {
    json_t *line = json_pack("{s:s, s:I, s:I, s:i}", "name", name, "assigned", (json_int_t)assigned,
                             "ready", (json_int_t)ready, "percent", percent_of(assigned, wanted));

    if (reason)
        json_object_set_new(line, "reason", json_string(reason));
    json_array_append_new(list, line);
}

/* Why a zone has what it has. Where nothing was decided, the last decision's word stands. */
static const char *zone_reason(const struct drawing *drawing, const char *zone, int64_t assigned) {
    const struct placing *placing = drawing->in->placing;
    const json_t *lines =
        json_object_get(json_object_get(drawing->in->app->status, "distribution"), "zones");
    size_t k;
    json_t *line;

    for (int32_t i = 0; i < placing->zone_count; i++)
        if (strcmp(placing->zones[i].name, zone) == 0 &&
            placing->zones[i].reason != TOPOLOGY_BY_KEEP)
            return topology_reason_name(placing->zones[i].reason);
    json_array_foreach((json_t *)lines, k, line) {
        const char *name = json_string_value(json_object_get(line, "name"));

        if (name && strcmp(name, zone) == 0 && json_object_get(line, "reason") &&
            json_integer_value(json_object_get(line, "assigned")) == assigned)
            return json_string_value(json_object_get(line, "reason"));
    }
    return topology_reason_name(TOPOLOGY_BY_KEEP);
}

static json_t *zone_lines(struct drawing *drawing) {
    json_t *list = json_array();

    for (int32_t z = 0; z < drawing->live_count; z++) {
        const char *zone = drawing->live[z].cell->zone;
        int64_t assigned = 0, ready = 0;
        bool seen = false;

        for (int32_t i = 0; i < drawing->live_count; i++) {
            const struct live_cell *live = &drawing->live[i];

            if (strcmp(live->cell->zone, zone) != 0)
                continue;
            seen = seen || i < z;
            assigned += live->cell->replicas;
            ready += live->pods.ready;
        }
        if (seen)
            continue;
        line_add(list, zone, assigned, ready, drawing->in->app->spec.policy.replicas,
                 zone_reason(drawing, zone, assigned));
        drawing->totals.zones += assigned > 0;
    }
    return list;
}

static json_t *cluster_lines(struct drawing *drawing) {
    json_t *list = json_array();

    for (int32_t c = 0; c < drawing->live_count; c++) {
        const char *cluster = drawing->live[c].cell->cluster;
        json_t *zones = json_object();
        int64_t assigned = 0, ready = 0;
        bool seen = false;

        for (int32_t i = 0; i < drawing->live_count; i++) {
            const struct live_cell *live = &drawing->live[i];

            if (strcmp(live->cell->cluster, cluster) != 0)
                continue;
            seen = seen || i < c;
            assigned += live->cell->replicas;
            ready += live->pods.ready;
            if (live->cell->replicas > 0)
                json_object_set_new(zones, live->cell->zone, json_integer(live->cell->replicas));
        }
        if (!seen) {
            line_add(list, cluster, assigned, ready, drawing->in->app->spec.policy.replicas, NULL);
            json_object_set(json_array_get(list, json_array_size(list) - 1), "zones", zones);
        }
        json_decref(zones);
    }
    return list;
}

/* Whether what is assigned keeps every cap of the policy. */
static bool compliant(const struct drawing *drawing, const json_t *zones) {
    const struct topology_policy *policy = &drawing->in->app->spec.policy;
    const int32_t cap = topology_cap(policy->replicas, policy->max_zone_percent);
    size_t i;
    json_t *zone;

    json_array_foreach((json_t *)zones, i, zone) {
        if (json_integer_value(json_object_get(zone, "assigned")) > cap)
            return false;
    }
    return drawing->in->placing->shortfall == 0 && !drawing->in->placing->beyond_cap;
}

/* Keeps computedAt while nothing else changed, so that time alone writes nothing. */
static json_t *distribution_new(struct drawing *drawing) {
    const json_t *old = json_object_get(drawing->in->app->status, "distribution");
    const json_t *old_time = json_object_get(old, "computedAt");
    char now[TIMESTAMP_SIZE];
    json_t *zones = zone_lines(drawing);
    json_t *made = json_pack("{s:b, s:o, s:o}", "compliant", compliant(drawing, zones), "zones",
                             zones, "clusters", cluster_lines(drawing));

    if (old_time)
        json_object_set(made, "computedAt", (json_t *)old_time);
    if (old && json_equal(old, made))
        return made;
    timestamp_format(clock_wall_ms(world_options(drawing->world)->clock), now);
    json_object_set_new(made, "computedAt", json_string(now));
    return made;
}

static void count(struct drawing *drawing) {
    const struct placing *placing = drawing->in->placing;

    drawing->live = str_alloc((size_t)placing->cell_count + 1, sizeof *drawing->live);
    for (int32_t i = 0; i < placing->cell_count; i++) {
        const struct placing_cell *cell = &placing->cells[i];
        const struct inventory_pods pods = inventory_pods(
            world_inventory(drawing->world), drawing->in->app->spec.uid, cell->child, cell->zone);

        if (cell->replicas == 0 && pods.count == 0)
            continue;
        drawing->live[drawing->live_count++] = (struct live_cell){.cell = cell, .pods = pods};
        drawing->totals.assigned += cell->replicas;
        drawing->totals.exist += pods.count;
        drawing->totals.ready += pods.ready;
    }
}

static void accepted_put(struct drawing *drawing) {
    const struct app *app = drawing->in->app;

    if (app->valid)
        condition_put(drawing, "Accepted", true, "Valid", "the spec can be decided on");
    else
        condition_put(drawing, "Accepted", false, "Invalid", app->fault.msg);
}

/* Words for people: what blocks the replicas that are owed, and what would help. */
static void shortfall_text(const struct drawing *drawing, char *text, size_t size_bytes) {
    static const char *const remedies[TOPOLOGY_BLOCK_MAX] = {
        [TOPOLOGY_BLOCK_CAP] = "a cap stops them while there is room: raise maxZonePercent or "
                               "maxClusterPercent, or add a zone",
        [TOPOLOGY_BLOCK_ROOM] = "no zone that may be used has room: add nodes, or lower requests",
        [TOPOLOGY_BLOCK_EXTENSION] =
            "only zones beyond the chosen ones have room: set "
            "topology.extension to Allowed, or name them in topology.zones",
        [TOPOLOGY_BLOCK_FROZEN] = "only cells that are frozen could take them: a child is silent "
                                  "or cordoned",
        [TOPOLOGY_BLOCK_EQUAL] = "zones cannot be made equal: choose spread Balanced, or add room",
    };
    const struct placing *placing = drawing->in->placing;
    const char *remedy = remedies[placing->block];

    snprintf(text, size_bytes, "%d of %d replicas are owed%s%s", (int)placing->shortfall,
             (int)drawing->in->app->spec.policy.replicas, remedy ? ": " : "", remedy ? remedy : "");
}

static void placed_put(struct drawing *drawing) {
    const struct placing *placing = drawing->in->placing;
    const int wanted = drawing->in->app->spec.policy.replicas;
    char text[TEXT_SIZE];

    if (placing->outcome == PLACING_WAITS) {
        const struct condition waits = {
            .type = "Placed",
            .status = CONDITION_UNKNOWN,
            .reason = "WaitingForChild",
            .message = placing->waits_for,
            .observed_generation = drawing->in->app->meta.generation,
        };

        condition_set(drawing->conditions, &waits,
                      clock_wall_ms(world_options(drawing->world)->clock), NULL);
        return;
    }
    if (placing->cell_count == 0 && wanted > 0) {
        snprintf(text, sizeof text,
                 "no ChildCluster with nodes takes apps of namespace %s%s%s: see "
                 "spec.allowedNamespaces, region and labels of the ChildClusters",
                 drawing->in->app->spec.ns, drawing->in->app->spec.region ? " and region " : "",
                 drawing->in->app->spec.region ? drawing->in->app->spec.region : "");
        condition_put(drawing, "Placed", false, "NoChildCluster", text);
        return;
    }
    if (placing->outcome == PLACING_REJECTED) {
        shortfall_text(drawing, text, sizeof text);
        condition_put(drawing, "Placed", false, topology_block_name(placing->block), text);
        return;
    }
    if (placing->shortfall > 0) {
        const json_t *old = condition_find(drawing->conditions, "Placed");
        const char *reason = json_string_value(json_object_get(old, "reason"));

        if (placing->outcome == PLACING_KEPT && placing->block == TOPOLOGY_PLACED && reason &&
            strcmp(reason, "Placed") != 0)
            return; /* nothing was decided anew: the words of the last decision stand */
        shortfall_text(drawing, text, sizeof text);
        condition_put(drawing, "Placed", false, topology_block_name(placing->block), text);
        return;
    }
    snprintf(text, sizeof text, "%d replicas over %d zones%s", wanted, drawing->totals.zones,
             placing->beyond_cap ? "; a zone holds more than its cap allows" : "");
    condition_put(drawing, "Placed", true, "Placed", text);
}

/* A cluster that runs all its replicas in one zone loses its own pool with the zone. */
static void pools_put(struct drawing *drawing) {
    char text[TEXT_SIZE];

    for (int32_t i = 0; drawing->totals.zones > 1 && i < drawing->live_count; i++) {
        const struct placing_cell *cell = drawing->live[i].cell;
        int32_t elsewhere = 0;

        for (int32_t k = 0; k < drawing->live_count; k++)
            if (strcmp(drawing->live[k].cell->cluster, cell->cluster) == 0 && k != i)
                elsewhere += drawing->live[k].cell->replicas;
        if (cell->replicas == 0 || elsewhere > 0)
            continue;
        snprintf(text, sizeof text,
                 "%s runs all its %d replicas in %s: traffic balanced within the cluster has "
                 "nowhere to go when that zone fails",
                 cell->cluster, (int)cell->replicas, cell->zone);
        condition_put(drawing, "PoolImbalanced", true, "OneZoneOnly", text);
        return;
    }
    condition_put(drawing, "PoolImbalanced", false, "Balanced",
                  "every cluster that runs replicas could lose a zone");
}

/* Children that hold replicas of the app and cannot be seen. */
static void children_put(struct drawing *drawing) {
    const struct placing *placing = drawing->in->placing;
    char text[TEXT_SIZE];
    size_t used = 0;

    for (int32_t i = 0; i < placing->cell_count; i++) {
        const struct placing_cell *cell = &placing->cells[i];
        const struct child *child = world_child_at(drawing->world, cell->child);

        if (cell->replicas == 0 ||
            (child &&
             (child_fresh(child, drawing->now_ms) || child_joining(child, drawing->now_ms))) ||
            used >= sizeof text - 80)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d replicas in %s/%s",
                                 used ? ", " : "", (int)cell->replicas, cell->cluster, cell->zone);
    }
    if (used == 0) {
        condition_put(drawing, "ChildrenKnown", true, "Known", "every child with replicas answers");
        return;
    }
    char whole[TEXT_SIZE + 64];

    snprintf(whole, sizeof whole, "held, since their child does not answer: %s", text);
    condition_put(drawing, "ChildrenKnown", false, "ChildSilent", whole);
}

/* The first child that refused a write of this app, with its words; and strangers under our names.
 */
static void workload_put(struct drawing *drawing) {
    const struct app *app = drawing->in->app;
    char key[WORLD_KEY_SIZE];
    char text[TEXT_SIZE];
    char name[OBJECTNAME_SIZE];

    snprintf(key, sizeof key, "cells/%s", app->meta.key);
    if (world_refusal(drawing->world, key, WORLD_OWN_WORDS)) {
        condition_put(drawing, "WorkloadInvalid", true, "DependencyMissing",
                      world_refusal(drawing->world, key, WORLD_OWN_WORDS));
        return;
    }
    for (int32_t i = 0; i < drawing->live_count; i++) {
        const struct placing_cell *cell = drawing->live[i].cell;
        const char *refusal = world_refusal(drawing->world, key, cell->child + 1);

        objectname_of(app->spec.ns, app->spec.name, cell->zone, name);
        const struct url_target where = {.group = "apps",
                                         .version = "v1",
                                         .resource = app->spec.kind == APPDEFINITION_STATEFULSET
                                                         ? "statefulsets"
                                                         : "deployments",
                                         .ns = app->spec.ns,
                                         .name = name};

        if (refusal) {
            snprintf(text, sizeof text, "%s: %s", cell->cluster, refusal);
            condition_put(drawing, "WorkloadInvalid", true, "RefusedByChild", text);
            return;
        }
        if (world_sight(drawing->world, cell->child + 1, &where, drawing->now_ms) ==
            WORLD_STRANGER) {
            snprintf(text, sizeof text,
                     "%s: %s %s/%s exists and is not this app's: rename or delete it",
                     cell->cluster, where.resource, where.ns, where.name);
            condition_put(drawing, "WorkloadInvalid", true, "NameTaken", text);
            return;
        }
    }
    condition_put(drawing, "WorkloadInvalid", false, "Valid", "no child refuses the workload");
}

static void ready_put(struct drawing *drawing) {
    const int wanted = drawing->in->app->spec.policy.replicas;
    char text[TEXT_SIZE];

    snprintf(text, sizeof text, "%d of %d replicas are ready", (int)drawing->totals.ready, wanted);
    if (drawing->totals.ready >= wanted)
        condition_put(drawing, "Ready", true, "Ready", text);
    else
        condition_put(drawing, "Ready", false,
                      drawing->totals.assigned < wanted ? "ReplicasOwed" : "ReplicasNotReady",
                      text);
}

static void rollout_put(struct drawing *drawing) {
    static const struct {
        const char *reason;
        const char *text;
    } words[] = {
        {"Complete", "every zone runs the present template"},
        {"Settling", "a zone has taken the present template and is not complete yet"},
        {"PauseBetweenZones", "the pause after the last zone is not over"},
        {"ProgressDeadlineExceeded", "a zone does not become complete: the rollout stops there. "
                                     "Mend the template, or set it back"},
        {"Paused", "spec.paused is set"},
    };
    const char *reason = drawing->in->rollout;

    for (size_t i = 0; reason && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].reason, reason) == 0)
            condition_put(drawing, "RolledOut", i == 0, words[i].reason, words[i].text);
}

static void paused_put(struct drawing *drawing) {
    if (drawing->in->app->spec.paused)
        condition_put(drawing, "Paused", true, "SpecPaused",
                      "spec.paused is set: nothing is decided or written until it is not");
    else if (condition_find(drawing->conditions, "Paused"))
        condition_put(drawing, "Paused", false, "Active", "spec.paused is not set");
}

static json_t *numbers_new(struct drawing *drawing) {
    const struct app *app = drawing->in->app;
    const struct placing *placing = drawing->in->placing;
    json_t *status = json_pack("{s:I}", "observedGeneration", (json_int_t)app->meta.generation);

    if (!placing)
        return status;
    count(drawing);
    json_t *distribution = distribution_new(drawing);

    json_object_set_new(status, "selector",
                        json_sprintf("%s=%s", OBJECTNAME_LABEL_APP_UID, app->spec.uid));
    json_object_set_new(status, "replicas", json_integer(drawing->totals.exist));
    json_object_set_new(status, "readyReplicas", json_integer(drawing->totals.ready));
    json_object_set_new(status, "placedReplicas", json_integer(drawing->totals.assigned));
    json_object_set_new(status, "shortfall", json_integer(placing->shortfall));
    if (placing->shortfall > 0 && placing->block != TOPOLOGY_PLACED)
        json_object_set_new(status, "shortfallReason",
                            json_string(topology_block_name(placing->block)));
    else if (placing->shortfall > 0)
        json_object_set(status, "shortfallReason", json_object_get(app->status, "shortfallReason"));
    json_object_set_new(status, "zones", json_integer(drawing->totals.zones));
    json_object_set_new(status, "distribution", distribution);
    return status;
}

json_t *appstatus_new(struct world *world, const struct appstatus_input *in, int64_t now_ms) {
    struct drawing drawing = {.world = world, .in = in, .now_ms = now_ms};
    json_t *status;

    drawing.conditions = json_deep_copy(json_object_get(in->app->status, "conditions"));
    if (!drawing.conditions)
        drawing.conditions = json_array();
    if (in->app->valid && !in->placing && in->app->status) {
        status = json_deep_copy(in->app->status); /* paused: the last numbers stand */
        json_object_set_new(status, "observedGeneration", json_integer(in->app->meta.generation));
    } else {
        status = numbers_new(&drawing);
    }
    accepted_put(&drawing);
    if (in->placing) {
        placed_put(&drawing);
        ready_put(&drawing);
        rollout_put(&drawing);
        children_put(&drawing);
        pools_put(&drawing);
        workload_put(&drawing);
    }
    paused_put(&drawing);
    if (in->blocked)
        condition_put(&drawing, "Deleting", true, "Waiting", in->blocked);
    json_object_set_new(status, "conditions", drawing.conditions);
    free(drawing.live);
    return status;
}
