#include "controller/appdefinition.h"

#include "api/objectname.h"
#include "base/auto.h"
#include "base/str.h"
#include "controller/appstatus.h"
#include "controller/placing.h"
#include "core/rollout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REVISION_NAME_SIZE 64

struct zone_revision {
    const char *zone;
    char name[REVISION_NAME_SIZE]; /* "" before it has one */
};

struct pass {
    struct world *world;
    struct app *app;
    const struct decision *decision; /* NULL: none to go by */
    struct placing placing;
    struct zone_revision *revisions; /* by zone of placing */
    const char *rollout;
    bool revisions_changed;
    int64_t now_ms;
    struct plan *plan;
};

void appdefinition_revision_name(const char *app, const char *hash, char *ret_name,
                                 size_t size_bytes) {
    snprintf(ret_name, size_bytes, "%.40s-%.16s", app, hash);
}

static struct url_target target_of(const struct app *app, const char *resource) {
    return (struct url_target){.group = "bulkhead.dev",
                               .version = "v1alpha1",
                               .resource = resource,
                               .ns = app->meta.ns,
                               .name = app->meta.name};
}

/* Our finalizer, guarded by the uid: an app that is gone must not come back by this write. */
static void finalizer_plan(struct plan *plan, const struct app *app) {
    const struct url_target where = target_of(app, "appdefinitions");

    plan_apply(plan, PLAN_HUB, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER,
               json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:[s]}}", "apiVersion",
                         "bulkhead.dev/v1alpha1", "kind", "AppDefinition", "metadata", "name",
                         app->meta.name, "namespace", app->meta.ns, "uid", app->meta.uid,
                         "finalizers", OBJECTNAME_FINALIZER));
}

static json_t *owner_new(const struct app *app) {
    return json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "bulkhead.dev/v1alpha1", "kind",
                     "AppDefinition", "name", app->meta.name, "uid", app->meta.uid, "controller",
                     1);
}

/* The workload spec as it is now, kept so that a zone may go on running it after the next change.
 */
static void revision_plan(struct pass *pass) {
    const struct app *app = pass->app;
    char name[REVISION_NAME_SIZE];
    char key[WORLD_KEY_SIZE];

    appdefinition_revision_name(app->meta.name, app->hash, name, sizeof name);
    snprintf(key, sizeof key, "%s/%s", app->meta.ns, name);
    if (world_revision(pass->world, key))
        return;
    const struct url_target where = {.group = "apps",
                                     .version = "v1",
                                     .resource = "controllerrevisions",
                                     .ns = app->meta.ns,
                                     .name = name};

    plan_apply(pass->plan, PLAN_HUB, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER,
               json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}, s:o}, s:{s:O}, s:I}", "apiVersion",
                         "apps/v1", "kind", "ControllerRevision", "metadata", "name", name,
                         "namespace", app->meta.ns, "labels", OBJECTNAME_LABEL_MANAGED_BY,
                         OBJECTNAME_MANAGER, OBJECTNAME_LABEL_APP, app->meta.name,
                         "ownerReferences", owner_new(app), "data", "workloadSpec",
                         app->spec.workload_spec, "revision", (json_int_t)app->meta.generation));
}

/* What the last Placement says that a zone runs. */
static const char *revision_of(const struct decision *decision, const char *zone) {
    for (int32_t i = 0; decision && decision->valid && i < decision->spec.revision_count; i++)
        if (strcmp(decision->spec.revisions[i].zone, zone) == 0)
            return decision->spec.revisions[i].revision;
    return "";
}

static const struct work *work_find(const struct work *works, int child, const char *zone_label) {
    for (; works; works = works->next)
        if (works->child == child && works->state.zone &&
            strcmp(works->state.zone, zone_label) == 0)
            return works;
    return NULL;
}

/* Whether a workload runs what it was given, whole and ready. */
static bool work_settled(const struct work *work, const char *hash, int32_t replicas) {
    const struct workload *state = &work->state;

    return state->template_hash && strcmp(state->template_hash, hash) == 0 &&
           state->observed_generation >= state->generation && state->replicas == replicas &&
           state->updated_replicas >= replicas && state->ready_replicas >= replicas &&
           state->status_replicas == replicas;
}

/* How a zone stands in the rollout of the present template. */
static struct rollout_zone zone_standing(const struct pass *pass, int32_t at, const char *wanted) {
    const struct placing_zone *zone = &pass->placing.zones[at];
    const struct work *works = world_works(pass->world, pass->app->spec.uid);
    struct rollout_zone standing = {
        .current = strcmp(pass->revisions[at].name, wanted) == 0,
        .settled = true,
        .empty = !pass->revisions[at].name[0],
        .same = true,
        .faulted = true,
    };
    char label[64];

    objectname_zone_label(zone->name, label);
    for (int32_t i = 0; i < pass->placing.cell_count; i++) {
        const struct placing_cell *cell = &pass->placing.cells[i];
        const struct work *work;

        if (cell->replicas == 0 || strcmp(cell->zone, zone->name) != 0)
            continue;
        if (!child_fresh(world_child_at(pass->world, cell->child), pass->now_ms))
            continue;
        standing.faulted = false;
        work = work_find(works, cell->child, label);
        if (!work || !work->state.template_hash ||
            strcmp(work->state.template_hash, pass->app->hash) != 0)
            standing.same = false;
        if (!work || !work_settled(work, pass->app->hash, cell->replicas))
            standing.settled = false;
        if (work && work->state.deadline_exceeded)
            standing.failed = true;
    }
    standing.same = standing.same && !standing.faulted;
    return standing;
}

/* Since when every zone with the wanted template has been settled: the pause counts from there. */
static void settled_note(struct pass *pass, const struct rollout_zone *zones, int32_t count) {
    bool settled = true;

    for (int32_t i = 0; i < count; i++)
        if (zones[i].current && !zones[i].faulted && !zones[i].settled)
            settled = false;
    if (!settled)
        pass->app->settled_ms = 0;
    else if (!pass->app->settled_ms)
        pass->app->settled_ms = pass->now_ms;
}

/* What a zone runs now: as the Placement says or, without one, as its workloads do. */
static void revision_read(const struct pass *pass, struct zone_revision *revision) {
    char label[64];

    snprintf(revision->name, sizeof revision->name, "%s",
             revision_of(pass->decision, revision->zone));
    objectname_zone_label(revision->zone, label);
    for (const struct work *work = world_works(pass->world, pass->app->spec.uid);
         work && !revision->name[0]; work = work->next)
        if (work->state.zone && work->state.template_hash && strcmp(work->state.zone, label) == 0)
            appdefinition_revision_name(pass->app->meta.name, work->state.template_hash,
                                        revision->name, sizeof revision->name);
}

/* Lets zones take the wanted template, one step at a time. */
static void rollout_make(struct pass *pass) {
    const struct appdefinition *spec = &pass->app->spec;
    const int32_t count = pass->placing.zone_count;
    auto_free struct rollout_zone *zones = str_alloc((size_t)count + 1, sizeof *zones);
    auto_free int32_t *index = str_alloc((size_t)count + 1, sizeof *index);
    char wanted[REVISION_NAME_SIZE];
    int32_t used = 0;

    appdefinition_revision_name(pass->app->meta.name, pass->app->hash, wanted, sizeof wanted);
    pass->revisions = str_alloc((size_t)count + 1, sizeof *pass->revisions);
    for (int32_t i = 0; i < count; i++) {
        struct zone_revision *revision = &pass->revisions[i];

        revision->zone = pass->placing.zones[i].name;
        if (pass->placing.zones[i].replicas == 0)
            continue;
        revision_read(pass, revision);
        zones[used] = zone_standing(pass, i, wanted);
        index[used++] = i;
    }
    settled_note(pass, zones, used);
    for (int32_t round = 0; round <= used; round++) {
        const struct rollout_input input = {
            .zones = zones,
            .count = used,
            .all_at_once = spec->strategy == APPDEFINITION_ALL_AT_ONCE,
            .paused = spec->paused,
            .pause_ms = (int64_t)spec->pause_seconds * 1000,
            .settled_ms = pass->app->settled_ms,
            .now_ms = pass->now_ms,
        };
        const struct rollout_step step = rollout_next(&input);

        pass->rollout = step.reason;
        if (step.take < 0) {
            if (step.again_at_ms != INT64_MAX)
                plan_again_at(pass->plan, step.again_at_ms);
            return;
        }
        snprintf(pass->revisions[index[step.take]].name, REVISION_NAME_SIZE, "%s", wanted);
        zones[step.take].current = true;
        zones[step.take].settled =
            zones[step.take].empty || (zones[step.take].same && zones[step.take].settled);
        zones[step.take].empty = false;
        pass->revisions_changed = true;
        if (!zones[step.take].settled)
            pass->app->settled_ms = 0;
    }
}

static json_t *cells_new(const struct pass *pass) {
    const bool stateful = pass->app->spec.kind == APPDEFINITION_STATEFULSET;
    json_t *cells = json_array();

    for (int32_t i = 0; i < pass->placing.cell_count; i++) {
        const struct placing_cell *cell = &pass->placing.cells[i];

        /* A StatefulSet's empty cell is kept, so that its ordinals are never given away. */
        if (cell->replicas == 0 && !(stateful && cell->slot >= 0))
            continue;
        json_t *one = json_pack("{s:s, s:s, s:i}", "zone", cell->zone, "cluster", cell->cluster,
                                "replicas", (int)cell->replicas);

        if (stateful && cell->slot >= 0)
            json_object_set_new(one, "slot", json_integer(cell->slot));
        json_array_append_new(cells, one);
    }
    return cells;
}

static json_t *revisions_new(const struct pass *pass) {
    json_t *list = json_array();

    for (int32_t i = 0; i < pass->placing.zone_count; i++)
        if (pass->revisions[i].name[0])
            json_array_append_new(list, json_pack("{s:s, s:s}", "zone", pass->revisions[i].zone,
                                                  "revision", pass->revisions[i].name));
    return list;
}

/* Whether some zone runs this revision, by what is decided now or by the last Placement. */
static bool revision_used(const struct pass *pass, const char *name) {
    const struct decision *decision = pass->decision;
    char wanted[REVISION_NAME_SIZE];

    appdefinition_revision_name(pass->app->meta.name, pass->app->hash, wanted, sizeof wanted);
    if (strcmp(name, wanted) == 0)
        return true;
    for (int32_t i = 0; i < pass->placing.zone_count; i++)
        if (strcmp(pass->revisions[i].name, name) == 0)
            return true;
    for (int32_t i = 0; i < decision->spec.revision_count; i++)
        if (strcmp(decision->spec.revisions[i].revision, name) == 0)
            return true;
    return false;
}

static void revision_visit(void *arg, const struct revision *revision) {
    const struct pass *pass = arg;
    const struct app *app = pass->app;
    const struct url_target where = {.group = "apps",
                                     .version = "v1",
                                     .resource = "controllerrevisions",
                                     .ns = app->meta.ns,
                                     .name = revision->meta.name};

    if (revision->app && strcmp(revision->app, app->meta.name) == 0 &&
        strcmp(revision->meta.ns, app->meta.ns) == 0 && !revision->meta.deleting &&
        !revision_used(pass, revision->meta.name))
        plan_delete(pass->plan, PLAN_HUB, QUEUE_CAPACITY, &where, revision->meta.uid, NULL);
}

/* Deletes the revisions that no zone runs any more: each change of the template leaves one. */
static void revisions_prune(struct pass *pass) {
    if (pass->decision && pass->decision->valid && !pass->revisions_changed &&
        world_revision_count(pass->world, pass->app->meta.key) > 1)
        world_each_revision(pass->world, revision_visit, pass);
}

/* The Placement, when the decision or the zones' templates changed. */
static void placement_plan(struct pass *pass) {
    const struct app *app = pass->app;
    const struct placing *placing = &pass->placing;
    const bool kept = placing->outcome != PLACING_DECIDED;
    const struct url_target where = target_of(app, "placements");

    if (kept && !(pass->revisions_changed && pass->decision))
        return;
    json_t *metadata = json_pack("{s:s, s:s, s:o}", "name", app->meta.name, "namespace",
                                 app->meta.ns, "ownerReferences", owner_new(app));
    const char *token = kept ? pass->decision->rebalanced : placing->rebalanced;

    if (token)
        json_object_set_new(metadata, "annotations",
                            json_pack("{s:s}", OBJECTNAME_ANNOTATION_REBALANCED, token));
    plan_apply(pass->plan, PLAN_HUB, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER,
               json_pack("{s:s, s:s, s:o, s:{s:s, s:o, s:o}}", "apiVersion",
                         "bulkhead.dev/v1alpha1", "kind", "Placement", "metadata", metadata, "spec",
                         "inputHash", kept ? pass->decision->spec.input_hash : placing->input_hash,
                         "cells", cells_new(pass), "revisions", revisions_new(pass)));
}

/* Reserves what was decided before the hub has it, so that the next app does not count on the same
 * room. A write that fails is decided on anew, from what is persisted. */
static void reserve(struct pass *pass) {
    struct inventory *inventory = world_inventory(pass->world);

    inventory_unassign(inventory, pass->app->meta.uid);
    for (int32_t i = 0; i < pass->placing.cell_count; i++) {
        const struct placing_cell *cell = &pass->placing.cells[i];

        if (cell->replicas > 0 && cell->child >= 0)
            inventory_assign(inventory, pass->app->meta.uid, cell->child, cell->zone,
                             pass->app->shape, cell->replicas);
    }
    inventory_reserve(inventory, pass->app->meta.uid);
}

/* Replicas that no autoscaler found a node for are looked for elsewhere, and people are told. */
static void overdue_tell(struct pass *pass) {
    const struct app *app = pass->app;
    char note[160];

    if (!pass->placing.overdue)
        return;
    snprintf(note, sizeof note,
             "%d pods waited for a node beyond their cluster's pendingDeadlineSeconds: placed "
             "elsewhere or owed",
             (int)pass->placing.overdue);
    const struct plan_event event = {.kind = "AppDefinition",
                                     .ns = (char *)app->meta.ns,
                                     .name = (char *)app->meta.name,
                                     .uid = (char *)app->meta.uid,
                                     .warning = true,
                                     .reason = "NoNodeInTime",
                                     .action = "Place",
                                     .note = note};

    plan_event(pass->plan, &event);
}

static void decide(struct pass *pass) {
    struct app *app = pass->app;
    struct err err = {0};

    if (inventory_is_reserved(world_inventory(pass->world), app->meta.uid))
        world_assign(pass->world, app, pass->decision);
    if (inventory_shape(
            world_inventory(pass->world),
            json_object_get(json_object_get(app->spec.workload_spec, "template"), "spec"),
            &app->shape, &err) < 0 ||
        placing_decide(pass->world, app, pass->decision, pass->now_ms, &pass->placing, &err) < 0) {
        app->valid = false;
        app->fault = err;
        return;
    }
    if (pass->placing.again_at_ms != INT64_MAX)
        plan_again_at(pass->plan, pass->placing.again_at_ms);
    if (pass->placing.outcome == PLACING_DECIDED) {
        overdue_tell(pass);
        reserve(pass);
    }
    world_owe(pass->world, app,
              pass->placing.shortfall > 0 || pass->placing.outcome == PLACING_REJECTED);
    if (pass->placing.outcome == PLACING_WAITS || pass->placing.outcome == PLACING_REJECTED) {
        plan_again_at(pass->plan, pass->now_ms + WORLD_HEARTBEAT_MS / 2);
        return;
    }
    rollout_make(pass);
    revision_plan(pass);
    placement_plan(pass);
    revisions_prune(pass);
}

int appdefinition_reconcile(struct world *world, const char *key, int64_t now_ms, struct plan *plan,
                            struct err *err) {
    struct pass pass = {
        .world = world,
        .app = world_app(world, key),
        .decision = world_decision(world, key),
        .now_ms = now_ms,
        .plan = plan,
    };
    const struct app *app = pass.app;

    (void)err;
    if (!app || app->meta.deleting)
        return 0;
    if (app->valid && !app->finalized)
        finalizer_plan(plan, app);
    if (app->valid && !app->spec.paused)
        decide(&pass);
    const struct appstatus_input input = {
        .app = app,
        .placing = pass.placing.cells || pass.placing.waits_for || pass.placing.zones
                       ? &pass.placing
                       : NULL,
        .rollout = pass.rollout,
    };
    const struct url_target where = target_of(app, "appdefinitions");

    plan_status(plan, &where, "AppDefinition", app->meta.uid, app->status,
                appstatus_new(world, &input, now_ms));
    free(pass.revisions);
    placing_done(&pass.placing);
    return 0;
}
