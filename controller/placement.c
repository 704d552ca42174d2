#include "controller/placement.h"

#include "api/objectname.h"
#include "base/auto.h"
#include "base/str.h"
#include "controller/companions.h"
#include "controller/placing.h"
#include "controller/render.h"
#include "controller/teardown.h"
#include "core/handover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell of the Placement, or a workload that no cell wants any more. */
struct cell {
    struct child *child;
    const char *zone; /* the hub's name; for a workload without a cell, its label */
    int32_t target;
    int32_t slot;
    const struct work *work; /* NULL: none yet */
};

struct pass {
    struct world *world;
    const struct app *app;
    const struct decision *decision;
    int64_t now_ms;
    struct plan *plan;
    struct cell *cells;
    int32_t count;
    int32_t *scale;           /* by cell: what handover allows now */
    struct err words;         /* what stops the app, for its status: the first child's */
    char key[WORLD_KEY_SIZE]; /* under which words of refusal are kept */
};

static const char *resource_of(const struct app *app) {
    return app->spec.kind == APPDEFINITION_STATEFULSET ? "statefulsets" : "deployments";
}

static struct url_target workload_target(const struct pass *pass, const char *name) {
    return (struct url_target){.group = "apps",
                               .version = "v1",
                               .resource = resource_of(pass->app),
                               .ns = pass->app->spec.ns,
                               .name = name};
}

static const struct work *work_find(const struct pass *pass, int child, const char *zone) {
    char label[64];

    objectname_zone_label(zone, label);
    for (const struct work *work = world_works(pass->world, pass->app->spec.uid); work;
         work = work->next)
        if (work->child == child && work->state.zone && strcmp(work->state.zone, label) == 0 &&
            strcmp(work->ns, pass->app->spec.ns) == 0)
            return work;
    return NULL;
}

static bool has_cell(const struct pass *pass, const struct work *work) {
    for (int32_t i = 0; i < pass->count; i++)
        if (pass->cells[i].work == work)
            return true;
    return false;
}

/* The cells of the Placement, then the workloads that are left over. */
static void cells_gather(struct pass *pass) {
    const struct placement *spec = &pass->decision->spec;
    size_t room = (size_t)spec->cell_count + 1;

    for (const struct work *work = world_works(pass->world, pass->app->spec.uid); work;
         work = work->next)
        room++;
    pass->cells = str_alloc(room, sizeof *pass->cells);
    for (int32_t i = 0; i < spec->cell_count; i++) {
        struct child *child = world_child(pass->world, spec->cells[i].cluster);

        if (!child)
            continue;
        const struct work *work = work_find(pass, child->index, spec->cells[i].zone);

        if (spec->cells[i].replicas == 0 && !work)
            continue;
        pass->cells[pass->count++] = (struct cell){
            .child = child,
            .zone = spec->cells[i].zone,
            .target = placing_eligible(pass->world, pass->app, child) ? spec->cells[i].replicas : 0,
            .slot = spec->cells[i].slot,
            .work = work,
        };
    }
    for (const struct work *work = world_works(pass->world, pass->app->spec.uid); work;
         work = work->next) {
        struct child *child = world_child_at(pass->world, work->child);

        if (child && work->state.zone && !has_cell(pass, work))
            pass->cells[pass->count++] =
                (struct cell){.child = child, .zone = work->state.zone, .slot = -1, .work = work};
    }
}

/* How far each cell may be scaled now. */
static void handover(struct pass *pass) {
    const struct appdefinition *spec = &pass->app->spec;
    auto_free struct handover_cell *cells = str_alloc((size_t)pass->count + 1, sizeof *cells);
    const int32_t wanted = spec->policy.replicas;
    const int32_t floor = wanted - intorpercent_of(spec->max_unavailable, wanted, false);

    for (int32_t i = 0; i < pass->count; i++) {
        const struct cell *cell = &pass->cells[i];
        const struct work_count count =
            cell->work ? world_work_count(pass->world, cell->work) : (struct work_count){0};

        cells[i] = (struct handover_cell){
            .target = cell->target,
            .current = count.current,
            .ready = count.ready,
            .known = child_fresh(cell->child, pass->now_ms),
        };
    }
    pass->scale = str_alloc((size_t)pass->count + 1, sizeof *pass->scale);
    handover_plan(cells, pass->count, floor, pass->scale);
}

/* The child's own words for a zone: its node label and the label's value. */
static struct render_cell render_cell_of(struct pass *pass, const struct cell *cell) {
    const struct childcluster *spec = &cell->child->spec;
    struct render_cell made = {
        .zone = cell->zone,
        .zone_label = spec->zone_label,
        .zone_value = cell->zone,
        .replicas = cell->target,
        .slot = cell->slot,
    };
    const struct inventory_cell *known;
    const int count = inventory_cells(world_inventory(pass->world), &known);

    for (int32_t i = 0; i < spec->zone_map_count; i++)
        if (strcmp(spec->zone_map[i].zone, cell->zone) == 0)
            made.zone_value = spec->zone_map[i].value;
    for (int i = 0; i < count; i++)
        if (known[i].child == cell->child->index && strcmp(known[i].zone, cell->zone) == 0)
            made.zone_value = known[i].value;
    return made;
}

/* The workload spec that a zone is given, and its hash. NULL: the revision is not known (yet). */
static const json_t *template_of(struct pass *pass, const char *zone,
                                 char ret_hash[RENDER_HASH_SIZE]) {
    const struct placement *spec = &pass->decision->spec;
    const struct appdefinition *app = &pass->app->spec;
    char key[WORLD_KEY_SIZE];

    for (int32_t i = 0; i < spec->revision_count; i++) {
        if (strcmp(spec->revisions[i].zone, zone) != 0)
            continue;
        const char *dash = strrchr(spec->revisions[i].revision, '-');

        snprintf(ret_hash, RENDER_HASH_SIZE, "%s", dash ? dash + 1 : "");
        if (strcmp(ret_hash, pass->app->hash) == 0)
            return app->workload_spec;
        snprintf(key, sizeof key, "%s/%s", app->ns, spec->revisions[i].revision);
        const struct revision *revision = world_revision(pass->world, key);

        return revision ? revision->workload_spec : NULL;
    }
    return NULL;
}

/* Plans a live read of an object that no cache shows, so that the next pass knows whose name it is.
 * Returns whether nothing stands there. */
static bool name_is_free(struct pass *pass, int target, const struct url_target *where) {
    switch (world_sight(pass->world, target, where, pass->now_ms)) {
    case WORLD_ABSENT:
        return true;
    case WORLD_STRANGER:
        plan_again_at(pass->plan, pass->now_ms + WORLD_ABSENT_MS);
        return false;
    case WORLD_UNSEEN:
        break;
    }
    struct plan_step *step = plan_add(pass->plan, target, QUEUE_CAPACITY, KUBE_GET, where);

    if (step)
        step->uid = str_dup(pass->app->spec.uid);
    return false;
}

static void scale_plan(struct pass *pass, const struct cell *cell, const char *name,
                       int32_t replicas) {
    struct url_target where = workload_target(pass, name);

    where.subresource = "scale";
    plan_apply(pass->plan, cell->child->index + 1, QUEUE_CAPACITY, &where, OBJECTNAME_SCALE_MANAGER,
               render_scale_new(pass->app->spec.ns, name, replicas));
}

static void workload_create(struct pass *pass, const struct cell *cell, int32_t replicas) {
    const int target = cell->child->index + 1;
    const struct render_cell rendered = render_cell_of(pass, cell);
    char hash[RENDER_HASH_SIZE];
    char name[OBJECTNAME_SIZE];
    const json_t *template = template_of(pass, cell->zone, hash);

    objectname_of(pass->app->spec.ns, pass->app->spec.name, cell->zone, name);
    const struct url_target where = workload_target(pass, name);

    if (!template || replicas <= 0 || !name_is_free(pass, target, &where))
        return;
    plan_apply(pass->plan, target, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER,
               render_workload_new(&pass->app->spec, &rendered, template, hash, replicas));
    /* From here on replicas belong to the scale manager: a template applied without them must not
     * give the field away. */
    scale_plan(pass, cell, name, replicas);
}

static void workload_change(struct pass *pass, const struct cell *cell, int32_t replicas) {
    const struct work *work = cell->work;
    const int target = cell->child->index + 1;
    const struct url_target where = workload_target(pass, work->name);
    char hash[RENDER_HASH_SIZE];
    const json_t *template = cell->target > 0 ? template_of(pass, cell->zone, hash) : NULL;
    const bool outdated =
        template && (!work->state.template_hash || strcmp(work->state.template_hash, hash) != 0);

    if (work->state.deleting)
        return;
    if (cell->target == 0 && work->state.replicas == 0 && work->state.status_replicas == 0) {
        plan_delete(pass->plan, target, QUEUE_CAPACITY, &where, work->uid, "Background");
        return;
    }
    const int32_t current = world_work_count(pass->world, work).current;

    if ((outdated && !work->state.scaled) || (replicas != HANDOVER_HOLD && replicas != current))
        scale_plan(pass, cell, work->name, replicas == HANDOVER_HOLD ? current : replicas);
    if (!outdated)
        return;
    const struct render_cell rendered = render_cell_of(pass, cell);

    plan_apply(pass->plan, target, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER,
               render_workload_new(&pass->app->spec, &rendered, template, hash, -1));
}

/* Applies a Service or budget that is missing or is not what it should be. */
static void owned_plan(struct pass *pass, const struct child *child, enum child_informer type,
                       struct url_target where, json_t *object) {
    char key[WORLD_KEY_SIZE];
    const char *hash;

    if (!object)
        return;
    where.name = json_string_value(json_object_get(json_object_get(object, "metadata"), "name"));
    where.ns = pass->app->spec.ns;
    snprintf(key, sizeof key, "%s/%s", where.ns, where.name);
    hash = json_string_value(
        json_object_get(json_object_get(json_object_get(object, "metadata"), "annotations"),
                        OBJECTNAME_ANNOTATION_HASH));
    const struct owned *owned = world_owned(child, type, key);

    const bool theirs = owned && strcmp(owned->app_uid, pass->app->spec.uid) != 0;

    if (theirs || (owned && strcmp(owned->hash, hash) == 0) ||
        (!owned && !name_is_free(pass, child->index + 1, &where))) {
        json_decref(object);
        return;
    }
    plan_apply(pass->plan, child->index + 1, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER, object);
}

/* A Service for every zone of the region, so that a route written today names tomorrow's zone. */
static void services_plan(struct pass *pass, const struct child *child) {
    static const struct url_target services = {.version = "v1", .resource = "services"};
    const struct inventory_cell *cells;
    const int count = inventory_cells(world_inventory(pass->world), &cells);
    const char *last = NULL;

    owned_plan(pass, child, CHILD_SERVICES, services, render_service_new(&pass->app->spec, NULL));
    for (int i = 0; i < count; i++) {
        if (cells[i].zone == last ||
            !placing_eligible(pass->world, pass->app, world_child_at(pass->world, cells[i].child)))
            continue;
        last = cells[i].zone;
        owned_plan(pass, child, CHILD_SERVICES, services,
                   render_service_new(&pass->app->spec, last));
    }
}

/* What a child needs besides the workloads. Returns whether those may follow. */
static bool child_prepare(struct pass *pass, struct child *child) {
    static const struct url_target budgets = {
        .group = "policy", .version = "v1", .resource = "poddisruptionbudgets"};
    const char *ns = pass->app->spec.ns;
    const struct space *there = world_child_space(child, ns);
    int32_t replicas = 0;
    struct err err = {0};

    if (there && there->meta.deleting)
        return false;
    if (!there) {
        const struct url_target where = {.version = "v1", .resource = "namespaces", .name = ns};
        const struct space *here = world_space(pass->world, ns);

        plan_apply(pass->plan, child->index + 1, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER,
                   render_namespace_new(ns, here ? here->labels : NULL));
    }
    const int companions =
        companions_plan(pass->world, pass->app, child, pass->now_ms, pass->plan, &err);

    if (companions < 0 && !pass->words.code)
        pass->words = err;
    for (int32_t i = 0; i < pass->count; i++)
        if (pass->cells[i].child == child)
            replicas += pass->cells[i].target;
    services_plan(pass, child);
    owned_plan(pass, child, CHILD_BUDGETS, budgets, render_budget_new(&pass->app->spec, replicas));
    return companions > 0;
}

static void child_plan(struct pass *pass, struct child *child) {
    int32_t wanted = 0;

    if (!child_fresh(child, pass->now_ms) || child->spec.lifecycle == CHILDCLUSTER_LOST)
        return;
    for (int32_t i = 0; i < pass->count; i++)
        if (pass->cells[i].child == child)
            wanted += pass->cells[i].target;
    if (wanted > 0 && !child_prepare(pass, child))
        return;
    for (int32_t i = 0; i < pass->count; i++) {
        const struct cell *cell = &pass->cells[i];

        if (cell->child != child)
            continue;
        if (cell->work)
            workload_change(pass, cell, pass->scale[i]);
        else
            workload_create(pass, cell, pass->scale[i]);
    }
    if (wanted == 0)
        teardown_leftovers(pass->world, pass->app, child, pass->plan);
}

static bool first_of_child(const struct pass *pass, int32_t at) {
    for (int32_t i = 0; i < at; i++)
        if (pass->cells[i].child == pass->cells[at].child)
            return false;
    return true;
}

int placement_reconcile(struct world *world, const char *key, int64_t now_ms, struct plan *plan,
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
    if (!app)
        return 0;
    if (app->meta.deleting) {
        teardown_plan(world, app, now_ms, plan);
        return 0;
    }
    if (!app->valid || !app->finalized || app->spec.paused || !pass.decision ||
        !pass.decision->valid || pass.decision->meta.deleting)
        return 0;
    snprintf(pass.key, sizeof pass.key, "cells/%s", key);
    cells_gather(&pass);
    handover(&pass);
    for (int32_t i = 0; i < pass.count; i++)
        if (first_of_child(&pass, i))
            child_plan(&pass, pass.cells[i].child);
    world_refusal_set(world, pass.key, WORLD_OWN_WORDS, pass.words.code ? pass.words.msg : NULL);
    free(pass.cells);
    free(pass.scale);
    return 0;
}
