#include "controller/companions.h"

#include "api/objectname.h"
#include "controller/dependency.h"

#include <string.h>

static const json_t *pod_spec_of(const struct app *app) {
    return json_object_get(json_object_get(app->spec.workload_spec, "template"), "spec");
}

static struct url_target target_of(const struct app *app, const struct dependency *dependency) {
    return (struct url_target){.version = "v1",
                               .resource = dependency_resource(dependency->kind),
                               .ns = app->spec.ns,
                               .name = dependency->name};
}

/* What is known of an object, with a read planned when it is due. */
static const struct document *look(struct world *world, int target, const struct url_target *where,
                                   int64_t now_ms, struct plan *plan) {
    bool due;
    const struct document *document = documents_find(
        world_documents(world), target, where->resource, where->ns, where->name, now_ms, &due);

    if (due)
        plan_add(plan, target, QUEUE_CAPACITY, KUBE_GET, where);
    return document;
}

/* One object, from the hub to a child. Returns as companions_plan(). */
static int one_plan(struct world *world, const struct app *app, const struct child *child,
                    const struct dependency *dependency, int64_t now_ms, struct plan *plan,
                    struct err *err) {
    const int target = child->index + 1;
    const struct url_target where = target_of(app, dependency);
    const struct document *source = look(world, PLAN_HUB, &where, now_ms, plan);
    const struct document *copy = look(world, target, &where, now_ms, plan);

    if (source->state == DOCUMENT_UNREAD || copy->state == DOCUMENT_UNREAD)
        return 0;
    if (copy->state == DOCUMENT_PRESENT && !copy->ours) {
        if (dependency->kind != DEPENDENCY_SERVICEACCOUNT || copy->allowed)
            return 1;
        return err_set(err, ERR_INVALID,
                       "%s: ServiceAccount %s/%s is not ours; label it " DEPENDENCY_LABEL_ALLOW
                       " there if apps may use it",
                       child->meta.name, where.ns, where.name);
    }
    if (source->state == DOCUMENT_ABSENT && (dependency->optional || copy->ours))
        return 1; /* a copy outlives its source: pods that run must be able to start again */
    if (source->state == DOCUMENT_ABSENT)
        return err_set(err, ERR_INVALID,
                       "the pod template names %s %s/%s, which does not exist in the hub",
                       where.resource, where.ns, where.name);
    json_t *wanted = dependency_copy_new(dependency->kind, source->object);
    const char *hash = json_string_value(
        json_object_get(json_object_get(json_object_get(wanted, "metadata"), "annotations"),
                        OBJECTNAME_ANNOTATION_HASH));

    if (copy->state == DOCUMENT_PRESENT && strcmp(copy->hash, hash) == 0) {
        json_decref(wanted);
        return 1;
    }
    plan_apply(plan, target, QUEUE_CAPACITY, &where, OBJECTNAME_MANAGER, wanted);
    return 1; /* in the lane it goes before the workload */
}

int companions_plan(struct world *world, const struct app *app, const struct child *child,
                    int64_t now_ms, struct plan *plan, struct err *err) {
    struct dependencies all;
    int ready = dependency_list(pod_spec_of(app), &all, err);

    if (ready < 0)
        return ready;
    if (all.count > 0)
        plan_again_at(plan, now_ms + DOCUMENTS_HUB_MS);
    ready = 1;
    for (int i = 0; i < all.count; i++) {
        const int r = one_plan(world, app, child, &all.at[i], now_ms, plan, err);

        if (r < 0)
            return r;
        ready = ready && r;
    }
    return ready;
}

struct search {
    const struct app *but;
    const struct dependency *dependency;
    bool found;
};

static void visit(void *arg, struct app *app) {
    struct search *search = arg;
    struct dependencies all;

    if (search->found || !app->valid || app->meta.deleting ||
        strcmp(app->spec.ns, search->but->spec.ns) != 0 ||
        strcmp(app->meta.uid, search->but->meta.uid) == 0 ||
        dependency_list(pod_spec_of(app), &all, NULL) < 0)
        return;
    for (int i = 0; i < all.count; i++)
        search->found = search->found || (all.at[i].kind == search->dependency->kind &&
                                          strcmp(all.at[i].name, search->dependency->name) == 0);
}

bool companions_remove(struct world *world, const struct app *app, const struct child *child,
                       int64_t now_ms, struct plan *plan) {
    const int target = child->index + 1;
    struct dependencies all;
    bool none = true;

    if (!app->valid || dependency_list(pod_spec_of(app), &all, NULL) < 0)
        return true;
    for (int i = 0; i < all.count; i++) {
        struct search search = {.but = app, .dependency = &all.at[i]};
        const struct url_target where = target_of(app, &all.at[i]);
        const struct document *copy;

        world_each_app(world, visit, &search);
        if (search.found)
            continue;
        copy = look(world, target, &where, now_ms, plan);
        if (copy->state == DOCUMENT_UNREAD)
            none = false;
        if (copy->state != DOCUMENT_PRESENT || !copy->ours)
            continue;
        none = false;
        plan_delete(plan, target, QUEUE_CAPACITY, &where, copy->uid, "Background");
    }
    return none;
}
