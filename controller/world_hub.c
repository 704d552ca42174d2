#include "controller/world_state.h"

#include "api/objectname.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REVISION_KEY "workloadSpec"

static const char *const labels_wanted[] = {OBJECTNAME_LABEL_APP, NULL};
static const char *const annotations_wanted[] = {OBJECTNAME_ANNOTATION_REBALANCE,
                                                 OBJECTNAME_ANNOTATION_REBALANCED, NULL};

/* What meta_read_json() hands over of labels and annotations. */
struct marks {
    char *app;
    char *rebalance;
    char *rebalanced;
};

static int mark(void *arg, const char *key, const char *value, struct err *err) {
    struct marks *marks = arg;
    char **into = key == labels_wanted[0]        ? &marks->app
                  : key == annotations_wanted[0] ? &marks->rebalance
                                                 : &marks->rebalanced;

    (void)err;
    free(*into);
    *into = str_dup(value);
    return 0;
}

static int meta_of(const json_t *root, struct marks *marks, struct meta *ret_meta,
                   struct err *err) {
    const struct meta_wanted wanted = {
        .labels = labels_wanted, .annotations = annotations_wanted, .sink = mark, .arg = marks};
    const int r = meta_read_json(root, &wanted, ret_meta, err);

    if (r < 0) {
        free(marks->app);
        free(marks->rebalance);
        free(marks->rebalanced);
        *marks = (struct marks){0};
    }
    return r;
}

static bool has_finalizer(const json_t *root) {
    const json_t *list = json_object_get(json_object_get(root, "metadata"), "finalizers");
    size_t i;
    json_t *each;

    json_array_foreach((json_t *)list, i, each) {
        if (json_is_string(each) && strcmp(json_string_value(each), OBJECTNAME_FINALIZER) == 0)
            return true;
    }
    return false;
}

static void app_free(void *object) {
    struct app *app = object;

    appdefinition_done(&app->spec);
    free(app->rebalance);
    json_decref(app->status);
    free(app);
}

static int app_read(struct feed *feed, const json_t *root, void **ret_object, struct err *err) {
    struct app *app = str_alloc(1, sizeof *app);
    struct marks marks = {0};

    if (meta_of(root, &marks, &app->meta, err) < 0) {
        free(app);
        return ERR_INVALID;
    }
    feed->meta = app->meta;
    free(marks.app);
    free(marks.rebalanced);
    app->rebalance = marks.rebalance;
    app->finalized = has_finalizer(root);
    app->status = json_incref(json_object_get(root, "status"));
    app->shape = -1;
    const struct app *before = world_app(feed->world, app->meta.key);

    app->respecified = !before || before->meta.generation != app->meta.generation;
    /* What was found out of the app outlives this reading of it: a status write is one too. */
    if (before && strcmp(before->meta.uid, app->meta.uid) == 0) {
        app->owed = before->owed;
        app->settled_ms = before->settled_ms;
    }
    app->valid = appdefinition_parse(root, &app->spec, &app->fault) >= 0;
    if (app->valid)
        render_template_hash(app->spec.workload_spec, app->hash);
    *ret_object = app;
    return 1;
}

static void decision_free(void *object) {
    struct decision *decision = object;

    placement_done(&decision->spec);
    free(decision->rebalanced);
    free(decision);
}

static int decision_read(struct feed *feed, const json_t *root, void **ret_object,
                         struct err *err) {
    struct decision *decision = str_alloc(1, sizeof *decision);
    struct marks marks = {0};

    if (meta_of(root, &marks, &decision->meta, err) < 0) {
        free(decision);
        return ERR_INVALID;
    }
    feed->meta = decision->meta;
    free(marks.app);
    free(marks.rebalance);
    decision->rebalanced = marks.rebalanced;
    decision->valid = placement_parse(root, &decision->spec, err) >= 0;
    *ret_object = decision;
    return 1;
}

/* Keeps the count of an app's revisions as objects come and go. */
static void revision_tally(const struct revision *revision, int by) {
    char key[WORLD_KEY_SIZE];
    struct revision_count *count;

    if (!revision->app)
        return;
    snprintf(key, sizeof key, "%s/%s", revision->meta.ns, revision->app);
    HASH_FIND_STR(revision->world->revision_counts, key, count);
    if (!count) {
        count = str_alloc(1, sizeof *count);
        count->app = str_dup(key);
        HASH_ADD_KEYPTR(hh, revision->world->revision_counts, count->app, strlen(count->app),
                        count);
    }
    count->count += by;
    if (count->count > 0)
        return;
    HASH_DEL(revision->world->revision_counts, count);
    free(count->app);
    free(count);
}

static void revision_free(void *object) {
    struct revision *revision = object;

    revision_tally(revision, -1);
    json_decref(revision->workload_spec);
    free(revision->app);
    free(revision);
}

static int revision_read(struct feed *feed, const json_t *root, void **ret_object,
                         struct err *err) {
    struct revision *revision = str_alloc(1, sizeof *revision);
    struct marks marks = {0};

    if (meta_of(root, &marks, &revision->meta, err) < 0) {
        free(revision);
        return ERR_INVALID;
    }
    feed->meta = revision->meta;
    free(marks.rebalance);
    free(marks.rebalanced);
    revision->app = marks.app;
    revision->world = feed->world;
    revision_tally(revision, 1);
    revision->workload_spec =
        json_incref(json_object_get(json_object_get(root, "data"), REVISION_KEY));
    *ret_object = revision;
    return 1;
}

static void space_free(void *object) {
    struct space *space = object;

    json_decref(space->labels);
    free(space);
}

static int space_read(struct feed *feed, const json_t *root, void **ret_object, struct err *err) {
    struct space *space = str_alloc(1, sizeof *space);

    if (meta_read_json(root, NULL, &space->meta, err) < 0) {
        free(space);
        return ERR_INVALID;
    }
    feed->meta = space->meta;
    space->labels = json_incref(json_object_get(json_object_get(root, "metadata"), "labels"));
    *ret_object = space;
    return 1;
}

/* A ChildCluster as the hub has it; what runs behind it is in struct child. */
struct declared {
    struct meta meta;
    struct childcluster spec;
    bool valid;
    struct err fault;
    json_t *labels;
    json_t *status;
};

static void declared_free(void *object) {
    struct declared *declared = object;

    childcluster_done(&declared->spec);
    json_decref(declared->labels);
    json_decref(declared->status);
    free(declared);
}

static int declared_read(struct feed *feed, const json_t *root, void **ret_object,
                         struct err *err) {
    struct declared *declared = str_alloc(1, sizeof *declared);

    if (meta_read_json(root, NULL, &declared->meta, err) < 0) {
        free(declared);
        return ERR_INVALID;
    }
    feed->meta = declared->meta;
    declared->valid = childcluster_parse(root, &declared->spec, &declared->fault) >= 0;
    declared->labels = json_incref(json_object_get(json_object_get(root, "metadata"), "labels"));
    declared->status = json_incref(json_object_get(root, "status"));
    *ret_object = declared;
    return 1;
}

typedef int read_json(struct feed *feed, const json_t *root, void **ret_object, struct err *err);

static read_json *const readers[HUB_INFORMERS] = {app_read, decision_read, declared_read,
                                                  revision_read, space_read};

int world_json_read(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                    struct err *err) {
    struct feed *feed = arg;
    json_error_t error;
    json_t *root = json_loadb(bytes, size_bytes, JSON_REJECT_DUPLICATES, &error);
    void *object = NULL;
    int r;

    if (!root)
        return err_set(err, ERR_INVALID, "not JSON: %s", error.text);
    r = feed->child >= 0 ? space_read(feed, root, &object, err)
                         : readers[feed->type](feed, root, &object, err);
    json_decref(root);
    if (r > 0)
        *ret_item = (struct store_item){
            .key = feed->meta.key, .uid = feed->meta.uid, .rv = feed->meta.rv, .object = object};
    return r;
}

void world_space_free(void *object) {
    space_free(object);
}

/* Whether the status judges this very spec: what changed then is no more than metadata or the
 * status itself, which must not set off the next one at once. */
static bool is_observed(const struct app *app) {
    return app->finalized &&
           json_integer_value(json_object_get(app->status, "observedGeneration")) ==
               app->meta.generation;
}

/* What Placements assign is told anew when what they depend on came after them or changed: the app
 * with its shape of pods, or the child. What is only reserved is not a Placement's. */
static void assign_again(void *arg, struct app *app) {
    struct world *world = arg;
    const struct decision *decision = world_decision(world, app->meta.key);

    if (decision && !app->meta.deleting && !inventory_is_reserved(world->inventory, app->meta.uid))
        world_assign(world, app, decision);
}

static void app_told(struct world *world, enum store_change change, struct app *app) {
    struct err err = {0};

    if (change != STORE_DELETE && app->valid &&
        inventory_shape(
            world->inventory,
            json_object_get(json_object_get(app->spec.workload_spec, "template"), "spec"),
            &app->shape, &err) < 0) {
        app->shape = -1;
        app->valid = false;
        app->fault = err;
    }
    if (change == STORE_DELETE) {
        world_owe(world, app, false);
        inventory_unassign(world->inventory, app->meta.uid);
        world_refusals_forget(world, app->meta.ns, app->meta.name);
    } else if (app->meta.deleting)
        world_deletion_note(world, app->meta.uid);
    else if (app->respecified)
        assign_again(world, app);
    if (change == STORE_DELETE || app->meta.deleting || !is_observed(app)) {
        world_wake(world, QUEUE_CAPACITY, "app", app->meta.ns, app->meta.name);
        world_wake(world, QUEUE_CAPACITY, "cells", app->meta.ns, app->meta.name);
    } else {
        world_wake_later(world, "app", app->meta.ns, app->meta.name);
        world_wake_later(world, "cells", app->meta.ns, app->meta.name);
    }
}

void world_assign(struct world *world, const struct app *app, const struct decision *decision) {
    inventory_unassign(world->inventory, app->meta.uid);
    for (int32_t i = 0; decision && decision->valid && i < decision->spec.cell_count; i++) {
        const struct placement_cell *cell = &decision->spec.cells[i];
        const struct child *child = world_child(world, cell->cluster);

        if (child)
            inventory_assign(world->inventory, app->meta.uid, child->index, cell->zone, app->shape,
                             cell->replicas);
    }
}

static void decision_told(struct world *world, enum store_change change,
                          const struct decision *decision) {
    const struct app *app = world_app(world, decision->meta.key);

    if (app)
        world_assign(world, app, change == STORE_DELETE ? NULL : decision);
    world_wake(world, QUEUE_CAPACITY, "cells", decision->meta.ns, decision->meta.name);
    world_wake(world, QUEUE_CAPACITY, "app", decision->meta.ns, decision->meta.name);
}

/* What was declared moves into the child, which outlives this reading of it. */
static void child_take(struct child *child, struct declared *declared) {
    json_decref(child->labels);
    json_decref(child->status);
    child->meta = declared->meta;
    child->valid = child->valid || declared->valid;
    child->refused = !declared->valid;
    if (child->refused || !child->client)
        child->fault = declared->fault;
    child->labels = json_incref(declared->labels);
    child->status = json_incref(declared->status);
    if (declared->valid) {
        childcluster_done(&child->spec);
        child->spec = declared->spec;
        declared->spec = (struct childcluster){0};
    }
    const char *uid = json_string_value(json_object_get(child->status, "clusterUID"));

    if (uid && !child->joined_uid)
        child->joined_uid = str_dup(uid);
}

/* Whether what was declared differs in more than status. */
static bool child_changed(const struct child *child, const struct declared *declared) {
    return child->meta.generation != declared->meta.generation || child->meta.generation == 0 ||
           !json_equal(child->labels, declared->labels) ||
           child->meta.deleting != declared->meta.deleting;
}

static void child_told(struct world *world, enum store_change change, struct declared *declared) {
    struct child *child = world_child(world, declared->meta.name);

    if (change == STORE_DELETE) {
        if (child)
            world_child_remove(world, child);
        world_wake_apps(world);
        return;
    }
    const bool is_new = !child;

    if (is_new)
        child = world_child_add(world, declared->meta.name);
    if (!child)
        return;
    const bool changed = is_new || child_changed(child, declared);

    child_take(child, declared);
    if (changed && child->valid) {
        child->kubeconfig_read_ms = 0;
        inventory_child_set(world->inventory, child->index, &child->spec);
        if (is_new)
            world_each_app(world, assign_again, world);
        world_wake_apps(world);
    }
    world_wake(world, QUEUE_CAPACITY, "child", NULL, child->meta.name);
}

static void told(void *context, enum store_change change, const struct store_item *item) {
    struct feed *feed = context;

    switch ((enum hub_informer)feed->type) {
    case HUB_APPS:
        app_told(feed->world, change, item->object);
        break;
    case HUB_DECISIONS:
        decision_told(feed->world, change, item->object);
        break;
    case HUB_CHILDREN:
        child_told(feed->world, change, item->object);
        break;
    case HUB_REVISIONS: {
        const struct revision *revision = item->object;

        if (revision->app)
            world_wake(feed->world, QUEUE_CAPACITY, "cells", revision->meta.ns, revision->app);
        if (revision->app && change == STORE_DELETE) /* it may be wanted again by now */
            world_wake(feed->world, QUEUE_CAPACITY, "app", revision->meta.ns, revision->app);
        break;
    }
    case HUB_SPACES:
    case HUB_INFORMERS:
        break;
    }
}

void world_hub_start(struct world *world) {
    static const struct url_target targets[HUB_INFORMERS] = {
        [HUB_APPS] = {.group = "bulkhead.dev", .version = "v1alpha1", .resource = "appdefinitions"},
        [HUB_DECISIONS] = {.group = "bulkhead.dev",
                           .version = "v1alpha1",
                           .resource = "placements"},
        [HUB_CHILDREN] = {.group = "bulkhead.dev",
                          .version = "v1alpha1",
                          .resource = "childclusters"},
        [HUB_REVISIONS] = {.group = "apps", .version = "v1", .resource = "controllerrevisions"},
        [HUB_SPACES] = {.version = "v1", .resource = "namespaces"},
    };
    static void (*const frees[HUB_INFORMERS])(void *) = {app_free, decision_free, declared_free,
                                                         revision_free, space_free};

    for (int i = 0; i < HUB_INFORMERS; i++) {
        world->feeds[i] = (struct feed){.world = world, .child = -1, .type = i};
        const struct informer_options options = {
            .transport = world->hub,
            .clock = world->options.clock,
            .target = targets[i],
            .label_selector =
                i == HUB_REVISIONS ? OBJECTNAME_LABEL_MANAGED_BY "=" OBJECTNAME_MANAGER : NULL,
            .read = world_json_read,
            .read_arg = &world->feeds[i],
            .free_object = frees[i],
            .sink = told,
            .context = &world->feeds[i],
            .max_items = WORLD_APPS_MAX * 2,
            .watch_list = true,
            .rng = {.state = random_next(&world->options.rng)},
        };
        world->informers[i] = informer_new(&options);
    }
}
