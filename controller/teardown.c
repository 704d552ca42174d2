#include "controller/teardown.h"

#include "api/objectname.h"
#include "controller/appstatus.h"
#include "controller/companions.h"

#include <stdio.h>
#include <string.h>

static void finalizer_release(const struct app *app, struct plan *plan) {
    const struct url_target where = {.group = "bulkhead.dev",
                                     .version = "v1alpha1",
                                     .resource = "appdefinitions",
                                     .ns = app->meta.ns,
                                     .name = app->meta.name};

    plan_apply(plan, PLAN_HUB, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER,
               json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "apiVersion", "bulkhead.dev/v1alpha1",
                         "kind", "AppDefinition", "metadata", "name", app->meta.name, "namespace",
                         app->meta.ns, "uid", app->meta.uid));
}

struct sweep {
    const struct app *app;
    const struct child *child;
    enum child_informer type;
    const char *resource;
    const char *group;
    struct plan *plan;
    int left;
};

static void owned_visit(void *context, const struct store_item *item) {
    struct sweep *sweep = context;
    const struct owned *owned = item->object;
    const char *slash = strchr(item->key, '/');

    if (strcmp(owned->app_uid, sweep->app->meta.uid) != 0 || !slash)
        return;
    const struct url_target where = {.group = sweep->group,
                                     .version = "v1",
                                     .resource = sweep->resource,
                                     .ns = owned->ns,
                                     .name = slash + 1};

    sweep->left++;
    plan_delete(sweep->plan, sweep->child->index + 1, QUEUE_CAPACITY, &where, owned->uid,
                "Background");
}

bool teardown_leftovers(struct world *world, const struct app *app, const struct child *child,
                        struct plan *plan) {
    static const struct {
        enum child_informer type;
        const char *group;
        const char *resource;
    } types[] = {{CHILD_SERVICES, NULL, "services"},
                 {CHILD_BUDGETS, "policy", "poddisruptionbudgets"}};
    int left = 0;

    for (const struct work *work = world_works(world, app->meta.uid); work; work = work->next)
        if (work->child == child->index)
            return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct sweep sweep = {.app = app,
                              .child = child,
                              .type = types[i].type,
                              .group = types[i].group,
                              .resource = types[i].resource,
                              .plan = plan};

        store_each(informer_store(child->informers[types[i].type]), owned_visit, &sweep);
        left += sweep.left;
    }
    return left == 0;
}

/* Deletes the app's workloads in one child. Returns whether nothing of the app is left there. */
static bool child_sweep(struct world *world, const struct app *app, const struct child *child,
                        int64_t now_ms, struct plan *plan) {
    bool any = false;

    for (const struct work *work = world_works(world, app->meta.uid); work; work = work->next) {
        if (work->child != child->index)
            continue;
        const struct url_target where = {.group = "apps",
                                         .version = "v1",
                                         .resource =
                                             work->stateful ? "statefulsets" : "deployments",
                                         .ns = work->ns,
                                         .name = work->name};

        any = true;
        if (!work->state.deleting)
            plan_delete(plan, child->index + 1, QUEUE_CAPACITY, &where, work->uid, "Foreground");
    }
    return !any && teardown_leftovers(world, app, child, plan) &&
           companions_remove(world, app, child, now_ms, plan);
}

/* Whether a child may hold something of the app: it does, its last Placement says so, or it cannot
 * be seen and takes apps of this namespace. */
static bool may_hold(struct world *world, const struct app *app, const struct child *child,
                     int64_t now_ms) {
    const struct decision *decision = world_decision(world, app->meta.key);

    if (child->spec.lifecycle == CHILDCLUSTER_LOST)
        return false;
    if (child_fresh(child, now_ms))
        return true;
    for (int32_t i = 0; decision && decision->valid && i < decision->spec.cell_count; i++)
        if (strcmp(decision->spec.cells[i].cluster, child->meta.name) == 0)
            return true;
    return !decision && childcluster_allows(&child->spec, app->meta.ns);
}

void teardown_plan(struct world *world, const struct app *app, int64_t now_ms, struct plan *plan) {
    const bool orphan = app->valid && app->spec.deletion == APPDEFINITION_ORPHAN;
    char text[512] = "";
    size_t used = 0;
    bool all_gone = true;

    if (!app->finalized)
        return;
    if (!orphan && world_deletions_held(world, now_ms)) {
        snprintf(text, sizeof text,
                 "many apps are being deleted at once, so all deletion is held. To confirm: "
                 "kubectl label namespace %s bulkhead.dev/deletions=confirmed",
                 world_options(world)->ns);
        all_gone = false;
        plan_again_at(plan, now_ms + WORLD_HEARTBEAT_MS);
    }
    for (int i = 0; !orphan && !*text && i < world_child_count(world); i++) {
        const struct child *child = world_child_at(world, i);

        if (!child || !may_hold(world, app, child, now_ms))
            continue;
        if (child_fresh(child, now_ms)) {
            all_gone = child_sweep(world, app, child, now_ms, plan) && all_gone;
            continue;
        }
        all_gone = false;
        if (used < sizeof text - 200)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "%schild %s does not answer, and what runs there must be "
                                     "removed first; set its lifecycle to Lost if it is gone for "
                                     "good",
                                     used ? "; " : "", child->meta.name);
        plan_again_at(plan, now_ms + WORLD_HEARTBEAT_MS);
    }
    if (all_gone) {
        finalizer_release(app, plan);
        return;
    }
    const struct appstatus_input input = {
        .app = app, .blocked = *text ? text : "what it runs in the children is being removed"};
    const struct url_target where = {.group = "bulkhead.dev",
                                     .version = "v1alpha1",
                                     .resource = "appdefinitions",
                                     .ns = app->meta.ns,
                                     .name = app->meta.name};

    plan_status(plan, &where, "AppDefinition", app->meta.uid, app->status,
                appstatus_new(world, &input, now_ms));
}
