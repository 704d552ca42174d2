#include "controller/world_state.h"

#include "api/objectname.h"
#include "base/str.h"
#include "kube/resourceversion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 4000000
#define SIGHTS_MAX 200000
#define REFUSALS_MAX 200000
#define FRESHNESS_CHECK_MS 1000
#define OWED_WAIT_MS 200 /* new room often comes in many small changes */

struct world *world_new(const struct world_options *options, struct transport *hub) {
    struct world *world = str_alloc(1, sizeof *world);

    world->options = *options;
    world->hub = hub;
    world->names = names_new(NAMES_MAX);
    world->inventory = inventory_new(world->names);
    world->documents = documents_new();
    world_hub_start(world);
    return world;
}

static void scale_forget(struct world *world, struct scale_note *note) {
    HASH_DEL(world->scales, note);
    free(note->path);
    free(note);
}

void world_free(struct world *world) {
    struct sight *sight, *next_sight;
    struct refusal *refusal, *next_refusal;
    struct scale_note *note, *next_note;

    if (!world)
        return;
    for (int i = 0; i < world->child_count; i++)
        if (world->children[i])
            world_child_remove(world, world->children[i]);
    for (int i = 0; i < HUB_INFORMERS; i++)
        informer_free(world->informers[i]);
    HASH_ITER(hh, world->sights, sight, next_sight) {
        HASH_DEL(world->sights, sight);
        free(sight->path);
        free(sight);
    }
    HASH_ITER(hh, world->refusals, refusal, next_refusal) {
        HASH_DEL(world->refusals, refusal);
        free(refusal->key);
        free(refusal->text);
        free(refusal);
    }
    HASH_ITER(hh, world->scales, note, next_note)
    scale_forget(world, note);
    documents_free(world->documents);
    inventory_free(world->inventory);
    names_free(world->names);
    free(world);
}

/* Tells the apps when a child came to be known, or ceased to be: both change what is held. */
static void freshness_check(struct world *world, struct child *child, int64_t now_ms) {
    if (child->shown_fresh && now_ms - child->checked_ms < FRESHNESS_CHECK_MS)
        return;
    const bool fresh = child_fresh(child, now_ms);

    child->checked_ms = now_ms;
    if (fresh == child->shown_fresh)
        return;
    child->shown_fresh = fresh;
    child->joined = child->joined || fresh;
    world_wake(world, QUEUE_CAPACITY, "child", NULL, child->meta.name);
    world_wake_apps(world);
}

static int64_t child_turn(struct world *world, struct child *child, int64_t now_ms) {
    int64_t due_ms = INT64_MAX;

    if (child->kubeconfig_new)
        world_connect(world, child);
    for (int k = 0; k < CHILD_INFORMERS; k++) {
        if (!child->informers[k])
            continue;
        const int64_t next_ms = informer_tick(child->informers[k], now_ms);

        if (next_ms < due_ms)
            due_ms = next_ms;
    }
    freshness_check(world, child, now_ms);
    return due_ms;
}

int64_t world_turn(struct world *world, int64_t now_ms) {
    int64_t due_ms = INT64_MAX;

    inventory_clock(world->inventory, now_ms);
    for (int i = 0; i < HUB_INFORMERS; i++) {
        const int64_t next_ms = informer_tick(world->informers[i], now_ms);

        if (next_ms < due_ms)
            due_ms = next_ms;
    }
    for (int i = 0; i < world->child_count; i++) {
        const int64_t next_ms =
            world->children[i] ? child_turn(world, world->children[i], now_ms) : INT64_MAX;

        if (next_ms < due_ms)
            due_ms = next_ms;
    }
    return due_ms;
}

bool world_synced(const struct world *world) {
    for (int i = 0; i < HUB_INFORMERS; i++)
        if (!informer_status(world->informers[i]).synced)
            return false;
    return true;
}

const struct world_options *world_options(const struct world *world) {
    return &world->options;
}

const struct documents *world_documents(const struct world *world) {
    return world->documents;
}

struct inventory *world_inventory(struct world *world) {
    return world->inventory;
}

struct names *world_names(struct world *world) {
    return world->names;
}

static void *hub_object(struct world *world, enum hub_informer type, const char *key) {
    const struct store_item *item =
        world->informers[type] ? store_get(informer_store(world->informers[type]), key) : NULL;

    return item ? item->object : NULL;
}

struct app *world_app(struct world *world, const char *key) {
    return hub_object(world, HUB_APPS, key);
}

const struct decision *world_decision(struct world *world, const char *key) {
    return hub_object(world, HUB_DECISIONS, key);
}

const struct revision *world_revision(struct world *world, const char *key) {
    return hub_object(world, HUB_REVISIONS, key);
}

int world_revision_count(const struct world *world, const char *key) {
    const struct revision_count *count;

    HASH_FIND_STR(world->revision_counts, key, count);
    return count ? count->count : 0;
}

const struct space *world_space(struct world *world, const char *name) {
    return hub_object(world, HUB_SPACES, name);
}

struct child *world_child(struct world *world, const char *name) {
    struct child *child;

    HASH_FIND_STR(world->child_names, name, child);
    return child;
}

struct child *world_child_at(struct world *world, int index) {
    return index >= 0 && index < world->child_count ? world->children[index] : NULL;
}

int world_child_count(const struct world *world) {
    return world->child_count;
}

const struct work *world_works(struct world *world, const char *app_uid) {
    const char *shared = names_find(world->names, app_uid, strlen(app_uid));
    struct work_list *list = NULL;

    if (shared)
        HASH_FIND_PTR(world->works, &shared, list);
    return list ? list->works : NULL;
}

void world_wake(struct world *world, enum queue_lane lane, const char *prefix, const char *ns,
                const char *name) {
    char key[WORLD_KEY_SIZE];

    if (!world->options.wake)
        return;
    if (ns && *ns)
        snprintf(key, sizeof key, "%s/%s/%s", prefix, ns, name);
    else
        snprintf(key, sizeof key, "%s/%s", prefix, name);
    world->options.wake(world->options.arg, lane, key, 0);
}

void world_wake_later(struct world *world, const char *prefix, const char *ns, const char *name) {
    char key[WORLD_KEY_SIZE];

    if (!world->options.wake)
        return;
    snprintf(key, sizeof key, "%s/%s/%s", prefix, ns, name);
    world->options.wake(world->options.arg, QUEUE_OBSERVE, key,
                        clock_mono_ms(world->options.clock) + WORLD_STATUS_WAIT_MS);
}

struct app_visit {
    void (*visit)(void *arg, struct app *app);
    void *arg;
};

static void visit_one(void *context, const struct store_item *item) {
    const struct app_visit *visit = context;

    visit->visit(visit->arg, item->object);
}

void world_each_app(struct world *world, void (*visit)(void *arg, struct app *app), void *arg) {
    struct app_visit each = {visit, arg};

    store_each(informer_store(world->informers[HUB_APPS]), visit_one, &each);
}

struct revision_visit {
    void (*visit)(void *arg, const struct revision *revision);
    void *arg;
};

static void visit_revision(void *context, const struct store_item *item) {
    const struct revision_visit *visit = context;

    visit->visit(visit->arg, item->object);
}

void world_each_revision(struct world *world,
                         void (*visit)(void *arg, const struct revision *revision), void *arg) {
    struct revision_visit each = {visit, arg};

    store_each(informer_store(world->informers[HUB_REVISIONS]), visit_revision, &each);
}

static void wake_app(void *arg, struct app *app) {
    struct world *world = arg;

    world_wake(world, QUEUE_CAPACITY, "app", app->meta.ns, app->meta.name);
    world_wake(world, QUEUE_CAPACITY, "cells", app->meta.ns, app->meta.name);
}

void world_wake_apps(struct world *world) {
    world_each_app(world, wake_app, world);
}

void world_deletion_note(struct world *world, const char *uid) {
    const uint64_t hash = topology_tie(uid, "");

    for (int i = 0; i < DELETIONS_MAX; i++)
        if (world->deletions[i].uid == hash)
            return;
    world->deletions[world->deletion_next] =
        (struct deletion){.uid = hash, .at_ms = clock_mono_ms(world->options.clock)};
    world->deletion_next = (world->deletion_next + 1) % DELETIONS_MAX;
}

/* A label of our own namespace in the hub: switches that a person may turn at run time. */
static const char *switch_of(struct world *world, const char *label) {
    const struct space *ours = world_space(world, world->options.ns);

    return ours ? json_string_value(json_object_get(ours->labels, label)) : NULL;
}

enum world_mode world_mode(struct world *world) {
    const char *word = switch_of(world, "bulkhead.dev/mode");

    if (!word)
        return WORLD_MODE_UNSAID;
    return strcmp(word, "Act") == 0 ? WORLD_MODE_ACT : WORLD_MODE_OBSERVE;
}

bool world_deletions_held(struct world *world, int64_t now_ms) {
    const char *word = switch_of(world, "bulkhead.dev/deletions");
    const size_t apps = store_count(informer_store(world->informers[HUB_APPS]));
    size_t recent = 0;

    for (int i = 0; i < DELETIONS_MAX; i++)
        if (world->deletions[i].uid && now_ms - world->deletions[i].at_ms < DELETIONS_WINDOW_MS)
            recent++;
    if (word && strcmp(word, "confirmed") == 0)
        return false;
    return recent > DELETIONS_LEAST && recent > (apps + recent) / 10;
}

void world_owe(struct world *world, struct app *app, bool owed) {
    world->owed_count += owed - app->owed;
    app->owed = owed;
}

static void wake_owed(void *arg, struct app *app) {
    struct world *world = arg;
    char key[WORLD_KEY_SIZE];

    if (!app->owed)
        return;
    snprintf(key, sizeof key, "app/%s", app->meta.key);
    world->options.wake(world->options.arg, QUEUE_CAPACITY, key,
                        clock_mono_ms(world->options.clock) + OWED_WAIT_MS);
}

void world_wake_owed(struct world *world) {
    if (world->options.wake && world->owed_count > 0)
        world_each_app(world, wake_owed, world);
}

static char *path_new(int target, const struct url_target *where) {
    return str_printf("%d/%s/%s/%s/%s", target, where->group ? where->group : "", where->resource,
                      where->ns ? where->ns : "", where->name ? where->name : "");
}

static struct url_target step_target(const struct plan_step *step) {
    return (struct url_target){.group = step->group,
                               .version = step->version,
                               .resource = step->resource,
                               .ns = step->ns,
                               .name = step->name};
}

enum world_sight world_sight(const struct world *world, int target, const struct url_target *where,
                             int64_t now_ms) {
    char *path = path_new(target, where);
    struct sight *sight;

    HASH_FIND_STR(world->sights, path, sight);
    free(path);
    return sight && now_ms - sight->at_ms <= WORLD_ABSENT_MS ? sight->what : WORLD_UNSEEN;
}

/* Makes room: what was seen too long ago counts no more. */
static void sights_expire(struct world *world, int64_t now_ms) {
    struct sight *sight, *next;

    HASH_ITER(hh, world->sights, sight, next) {
        if (now_ms - sight->at_ms <= WORLD_ABSENT_MS)
            continue;
        HASH_DEL(world->sights, sight);
        free(sight->path);
        free(sight);
    }
}

static void sight_set(struct world *world, int target, const struct plan_step *step,
                      enum world_sight what) {
    const struct url_target where = step_target(step);
    char *path = path_new(target, &where);
    struct sight *sight;

    if (HASH_COUNT(world->sights) >= SIGHTS_MAX)
        sights_expire(world, clock_mono_ms(world->options.clock));
    HASH_FIND_STR(world->sights, path, sight);
    if (what == WORLD_UNSEEN || sight) {
        free(path);
    } else if (HASH_COUNT(world->sights) < SIGHTS_MAX) {
        sight = str_alloc(1, sizeof *sight);
        sight->path = path;
        HASH_ADD_KEYPTR(hh, world->sights, sight->path, strlen(sight->path), sight);
    } else {
        free(path);
        return;
    }
    if (what == WORLD_UNSEEN) {
        if (!sight)
            return;
        HASH_DEL(world->sights, sight);
        free(sight->path);
        free(sight);
        return;
    }
    sight->what = what;
    sight->at_ms = clock_mono_ms(world->options.clock);
}

static void refusal_free(struct world *world, struct refusal *refusal) {
    HASH_DEL(world->refusals, refusal);
    free(refusal->key);
    free(refusal->text);
    free(refusal);
}

static struct refusal *refusal_find(const struct world *world, const char *key, int target,
                                    char *name, size_t size_bytes) {
    struct refusal *refusal;

    snprintf(name, size_bytes, "%d/%s", target, key);
    HASH_FIND_STR(world->refusals, name, refusal);
    return refusal;
}

/* The status of what an app runs is the app's. */
static void wake_status(struct world *world, const char *key) {
    char other[WORLD_KEY_SIZE];

    if (strncmp(key, "cells/", 6) == 0)
        snprintf(other, sizeof other, "app/%s", key + 6);
    else
        snprintf(other, sizeof other, "%s", key);
    world->options.wake(world->options.arg, QUEUE_OBSERVE, other, 0);
}

void world_refusal_set(struct world *world, const char *key, int target, const char *text) {
    char name[WORLD_KEY_SIZE + 16];
    struct refusal *refusal = refusal_find(world, key, target, name, sizeof name);

    if ((!refusal && !text) || (refusal && text && strcmp(refusal->text, text) == 0))
        return;
    if (refusal)
        refusal_free(world, refusal);
    if (text && HASH_COUNT(world->refusals) < REFUSALS_MAX) {
        refusal = str_alloc(1, sizeof *refusal);
        refusal->key = str_dup(name);
        refusal->text = str_dup(text);
        HASH_ADD_KEYPTR(hh, world->refusals, refusal->key, strlen(refusal->key), refusal);
    }
    if (world->options.wake)
        wake_status(world, key);
}

void world_refusals_forget(struct world *world, const char *ns, const char *name) {
    static const char *const prefixes[] = {"app", "cells"};
    char key[WORLD_KEY_SIZE], path[WORLD_KEY_SIZE + 16];

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        snprintf(key, sizeof key, "%s/%s/%s", prefixes[i], ns, name);
        for (int target = WORLD_OWN_WORDS; target <= world->child_count; target++) {
            struct refusal *refusal = refusal_find(world, key, target, path, sizeof path);

            if (refusal)
                refusal_free(world, refusal);
        }
    }
}

const char *world_refusal(const struct world *world, const char *key, int target) {
    char name[WORLD_KEY_SIZE + 16];
    const struct refusal *refusal =
        world->refusals ? refusal_find(world, key, target, name, sizeof name) : NULL;

    return refusal ? refusal->text : NULL;
}

/* Which cache of the hub or a child holds the objects of a step; NULL: none. */
static struct informer *cache_of(struct world *world, int target, const struct plan_step *step) {
    static const char *const hub[HUB_INFORMERS] = {"appdefinitions", "placements", "childclusters",
                                                   "controllerrevisions", "namespaces"};
    static const char *const child[CHILD_INFORMERS] = {
        "namespaces",          "nodes", "pods", "deployments", "statefulsets", "services",
        "poddisruptionbudgets"};
    const struct child *of = target == PLAN_HUB ? NULL : world_child_at(world, target - 1);

    if (step->subresource && strcmp(step->subresource, "status") != 0)
        return NULL; /* a Scale is no Deployment */
    for (int i = 0; target == PLAN_HUB && i < HUB_INFORMERS; i++)
        if (strcmp(hub[i], step->resource) == 0)
            return world->informers[i];
    for (int i = 0; of && i < CHILD_INFORMERS; i++)
        if (strcmp(child[i], step->resource) == 0)
            return of->informers[i];
    return NULL;
}

static void key_of(const struct plan_step *step, char *text, size_t size_bytes) {
    if (step->ns)
        snprintf(text, size_bytes, "%s/%s", step->ns, step->name);
    else
        snprintf(text, size_bytes, "%s", step->name);
}

static void hear_secret(struct world *world, const struct plan_step *step, bool gone,
                        const char *body, size_t body_bytes) {
    const int64_t now_ms = clock_mono_ms(world->options.clock);

    for (int i = 0; i < world->child_count; i++) {
        struct child *child = world->children[i];

        if (child && child->valid && strcmp(child->spec.secret, step->name) == 0)
            world_child_secret(world, child, gone ? NULL : body, body_bytes, now_ms);
    }
}

/* The live read that shows who a child is and that it answers. */
static void hear_identity(struct world *world, struct child *child, const char *body,
                          size_t body_bytes) {
    json_t *root = json_loadb(body, body_bytes, 0, NULL);
    const char *uid = json_string_value(json_object_get(json_object_get(root, "metadata"), "uid"));

    if (uid)
        world_child_heard(world, child, uid);
    json_decref(root);
}

/* Whose an object is that a live read found where we want to write. */
static void hear_sight(struct world *world, int target, const struct plan_step *step, bool gone,
                       const char *body, size_t body_bytes) {
    json_t *root = gone ? NULL : json_loadb(body, body_bytes, 0, NULL);
    const json_t *labels = json_object_get(json_object_get(root, "metadata"), "labels");
    const char *by = json_string_value(json_object_get(labels, OBJECTNAME_LABEL_MANAGED_BY));
    const char *uid = json_string_value(json_object_get(labels, OBJECTNAME_LABEL_APP_UID));
    const bool ours = by && strcmp(by, OBJECTNAME_MANAGER) == 0 && uid && step->uid &&
                      strcmp(uid, step->uid) == 0;

    sight_set(world, target, step, gone ? WORLD_ABSENT : ours ? WORLD_UNSEEN : WORLD_STRANGER);
    json_decref(root);
}

/* Whether a step is about an object that apps name, or about its copy. */
static bool is_document(const struct plan_step *step) {
    return strcmp(step->resource, "configmaps") == 0 || strcmp(step->resource, "secrets") == 0 ||
           strcmp(step->resource, "serviceaccounts") == 0;
}

static void hear_document(struct world *world, int target, const struct plan_step *step, bool gone,
                          const char *body, size_t body_bytes) {
    const bool absent = gone || step->verb == KUBE_DELETE;
    json_t *object = absent ? NULL : json_loadb(body, body_bytes, 0, NULL);

    documents_take(world->documents, target, step->resource, step->ns, step->name, object,
                   clock_mono_ms(world->options.clock));
    json_decref(object);
}

/* The answer to a scale tells its object's version, which is how the cache is known to lag. */
static void hear_scale(struct world *world, int target, const struct plan_step *step,
                       const char *body, size_t body_bytes) {
    const struct url_target where = step_target(step);
    json_t *root = json_loadb(body, body_bytes, 0, NULL);
    const json_t *replicas = json_object_get(json_object_get(root, "spec"), "replicas");
    const char *rv =
        json_string_value(json_object_get(json_object_get(root, "metadata"), "resourceVersion"));
    char *path = path_new(target, &where);
    struct scale_note *note;

    HASH_FIND_STR(world->scales, path, note);
    if (!note && rv && HASH_COUNT(world->scales) < SIGHTS_MAX) {
        note = str_alloc(1, sizeof *note);
        note->path = str_dup(path);
        HASH_ADD_KEYPTR(hh, world->scales, note->path, strlen(note->path), note);
    }
    if (note && rv) {
        snprintf(note->rv, sizeof note->rv, "%s", rv);
        note->replicas = (int32_t)json_integer_value(replicas);
    }
    free(path);
    json_decref(root);
}

struct work_count world_work_count(struct world *world, const struct work *work) {
    struct work_count count = {work->state.replicas, work->state.ready_replicas};
    const struct url_target where = {.group = "apps",
                                     .resource = work->stateful ? "statefulsets" : "deployments",
                                     .ns = work->ns,
                                     .name = work->name};
    char *path = path_new(work->child + 1, &where);
    struct scale_note *note;
    int order;

    HASH_FIND_STR(world->scales, path, note);
    free(path);
    if (!note)
        return count;
    if (!resourceversion_compare(work->rv, note->rv, &order) || order >= 0) {
        scale_forget(world, note);
        return count;
    }
    count.current = note->replicas;
    if (count.ready > note->replicas)
        count.ready = note->replicas;
    return count;
}

void world_hear(struct world *world, int target, const struct plan_step *step, bool gone,
                const char *body, size_t body_bytes) {
    struct child *child = target == PLAN_HUB ? NULL : world_child_at(world, target - 1);
    struct informer *cache = cache_of(world, target, step);
    char key[WORLD_KEY_SIZE];

    if (target == PLAN_HUB && strcmp(step->resource, "secrets") == 0 &&
        strcmp(step->ns, world->options.ns) == 0) {
        hear_secret(world, step, gone, body, body_bytes);
        return;
    }
    if (is_document(step)) {
        hear_document(world, target, step, gone, body, body_bytes);
        return;
    }
    if (child && step->verb == KUBE_GET && strcmp(step->resource, "namespaces") == 0 &&
        strcmp(step->name, "kube-system") == 0) {
        if (!gone)
            hear_identity(world, child, body, body_bytes);
        return;
    }
    if (child && !gone && step->subresource && strcmp(step->subresource, "scale") == 0)
        hear_scale(world, target, step, body, body_bytes);
    if (step->verb == KUBE_GET && child)
        hear_sight(world, target, step, gone, body, body_bytes);
    else if (child)
        sight_set(world, target, step, WORLD_UNSEEN);
    if (!cache || !step->name)
        return;
    key_of(step, key, sizeof key);
    if (!gone && step->verb != KUBE_DELETE) {
        informer_fold(cache, body, body_bytes);
        return;
    }
    const struct store_item *item = store_get(informer_store(cache), key);

    if (!gone || !item)
        return;
    char *uid = str_dup(item->uid); /* the item goes before it is noted who went */

    informer_fold_gone(cache, key, uid);
    free(uid);
}
