#include "controller/world_state.h"

#include "api/objectname.h"
#include "base/base64.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define KUBECONFIG_MAX_BYTES ((size_t)1 << 20)
#define PODS_MAX 1000000
#define MANAGED_ONLY OBJECTNAME_LABEL_MANAGED_BY "=" OBJECTNAME_MANAGER

/* A pod in the cache. It is counted in the inventory from when the sink is told of it until the
 * cache lets it go, which is the one moment every pod passes once. */
struct pod_slot {
    struct world *world;
    struct pod pod;
    const char *ns; /* interned */
    int child;
    bool counted;
};

struct node_slot {
    struct world *world;
    struct node node;
};

static void pod_free(void *object) {
    struct pod_slot *slot = object;

    if (slot->counted)
        inventory_pod(slot->world->inventory, slot->child, &slot->pod, NULL);
    names_drop(slot->world->names, slot->ns);
    pod_done(&slot->pod, slot->world->names);
    free(slot);
}

static int pod_item(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                    struct err *err) {
    struct feed *feed = arg;
    struct pod_slot *slot = str_alloc(1, sizeof *slot);
    const int r =
        pod_read(bytes, size_bytes, feed->world->names, inventory_resources(feed->world->inventory),
                 &feed->meta, &slot->pod, err);

    if (r < 0) {
        free(slot);
        return r;
    }
    slot->world = feed->world;
    slot->child = feed->child;
    slot->ns = names_take(feed->world->names, feed->meta.ns, strlen(feed->meta.ns));
    *ret_item = (struct store_item){
        .key = feed->meta.key, .uid = feed->meta.uid, .rv = feed->meta.rv, .object = slot};
    return 1;
}

static void node_free(void *object) {
    struct node_slot *slot = object;

    node_done(&slot->node, slot->world->names);
    free(slot);
}

static int node_item(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                     struct err *err) {
    struct feed *feed = arg;
    struct node_slot *slot = str_alloc(1, sizeof *slot);
    const int r =
        node_read(bytes, size_bytes, feed->world->names,
                  inventory_resources(feed->world->inventory), &feed->meta, &slot->node, err);

    if (r < 0) {
        free(slot);
        return r;
    }
    slot->world = feed->world;
    *ret_item = (struct store_item){
        .key = feed->meta.key, .uid = feed->meta.uid, .rv = feed->meta.rv, .object = slot};
    return 1;
}

static void work_unlist(struct work *work) {
    struct work_list *list;

    if (!work->listed)
        return;
    HASH_FIND_PTR(work->world->works, &work->state.app_uid, list);
    if (work->prev)
        work->prev->next = work->next;
    else
        list->works = work->next;
    if (work->next)
        work->next->prev = work->prev;
    work->listed = false;
    if (!list->works) {
        HASH_DEL(work->world->works, list);
        names_drop(work->world->names, list->app_uid);
        free(list);
    }
}

static void work_list_add(struct work *work) {
    struct world *world = work->world;
    struct work_list *list;

    if (!work->state.app_uid || work->listed)
        return;
    HASH_FIND_PTR(world->works, &work->state.app_uid, list);
    if (!list) {
        list = str_alloc(1, sizeof *list);
        list->app_uid = names_hold(world->names, work->state.app_uid);
        HASH_ADD_PTR(world->works, app_uid, list);
    }
    work->prev = NULL;
    work->next = list->works;
    if (list->works)
        list->works->prev = work;
    list->works = work;
    work->listed = true;
}

static void work_free(void *object) {
    struct work *work = object;

    work_unlist(work);
    workload_done(&work->state, work->world->names);
    free(work->ns);
    free(work->name);
    free(work->uid);
    free(work->rv);
    free(work);
}

static int work_item(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                     struct err *err) {
    struct feed *feed = arg;
    struct work *work = str_alloc(1, sizeof *work);

    work->stateful = feed->type == CHILD_STATEFULSETS;
    const int r = workload_read(work->stateful ? WORKLOAD_STATEFULSET : WORKLOAD_DEPLOYMENT, bytes,
                                size_bytes, feed->world->names, &feed->meta, &work->state, err);

    if (r < 0) {
        free(work);
        return r;
    }
    work->world = feed->world;
    work->child = feed->child;
    work->ns = str_dup(feed->meta.ns);
    work->name = str_dup(feed->meta.name);
    work->uid = str_dup(feed->meta.uid);
    work->rv = str_dup(feed->meta.rv);
    *ret_item = (struct store_item){
        .key = feed->meta.key, .uid = feed->meta.uid, .rv = feed->meta.rv, .object = work};
    return 1;
}

static int owned_mark(void *arg, const char *key, const char *value, struct err *err) {
    struct owned *owned = arg;

    (void)err;
    if (strcmp(key, OBJECTNAME_LABEL_APP_UID) == 0)
        snprintf(owned->app_uid, sizeof owned->app_uid, "%s", value);
    else if (strcmp(key, OBJECTNAME_LABEL_APP) == 0)
        snprintf(owned->app, sizeof owned->app, "%s", value);
    else
        snprintf(owned->hash, sizeof owned->hash, "%s", value);
    return 0;
}

static int owned_item(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                      struct err *err) {
    static const char *const labels[] = {OBJECTNAME_LABEL_APP_UID, OBJECTNAME_LABEL_APP, NULL};
    static const char *const annotations[] = {OBJECTNAME_ANNOTATION_HASH, NULL};
    struct feed *feed = arg;
    struct owned *owned = str_alloc(1, sizeof *owned);
    const struct meta_wanted wanted = {
        .labels = labels, .annotations = annotations, .sink = owned_mark, .arg = owned};
    struct jsonpull pull;
    struct jsonpull_text key;
    int r;

    jsonpull_init(&pull, bytes, size_bytes);
    r = jsonpull_enter_object(&pull, err);
    while (r >= 0 && (r = jsonpull_next_key(&pull, &key, err)) > 0) {
        if (jsonpull_text_is(&key, "metadata"))
            r = meta_read(&pull, &wanted, &feed->meta, err);
    }
    if (r >= 0)
        r = jsonpull_end(&pull, err);
    if (r < 0) {
        free(owned);
        return r;
    }
    snprintf(owned->ns, sizeof owned->ns, "%s", feed->meta.ns);
    snprintf(owned->uid, sizeof owned->uid, "%s", feed->meta.uid);
    *ret_item = (struct store_item){
        .key = feed->meta.key, .uid = feed->meta.uid, .rv = feed->meta.rv, .object = owned};
    return 1;
}

static void pod_told(struct feed *feed, enum store_change change, struct pod_slot *slot) {
    if (change != STORE_DELETE) {
        slot->counted = true;
        inventory_pod(feed->world->inventory, feed->child, NULL, &slot->pod);
    }
    if (slot->pod.managed && slot->pod.app && slot->ns)
        world_wake_later(feed->world, "app", slot->ns, slot->pod.app);
    else
        world_wake_owed(feed->world);
}

static void work_told(struct feed *feed, enum store_change change, struct work *work) {
    if (change == STORE_DELETE)
        work_unlist(work);
    else
        work_list_add(work);
    if (!work->state.app)
        return;
    world_wake(feed->world, QUEUE_CAPACITY, "cells", work->ns, work->state.app);
    world_wake_later(feed->world, "app", work->ns, work->state.app);
}

static void told(void *context, enum store_change change, const struct store_item *item) {
    struct feed *feed = context;

    switch ((enum child_informer)feed->type) {
    case CHILD_NODES: {
        struct node_slot *slot = item->object;

        inventory_node(feed->world->inventory, feed->child, slot->node.name,
                       change == STORE_DELETE ? NULL : &slot->node);
        world_wake_owed(feed->world);
        world_wake(feed->world, QUEUE_OBSERVE, "child", NULL,
                   feed->world->children[feed->child]->meta.name);
        break;
    }
    case CHILD_PODS:
        pod_told(feed, change, item->object);
        break;
    case CHILD_DEPLOYMENTS:
    case CHILD_STATEFULSETS:
        work_told(feed, change, item->object);
        break;
    case CHILD_SERVICES:
    case CHILD_BUDGETS: {
        const struct owned *owned = item->object;

        if (owned->app[0])
            world_wake(feed->world, QUEUE_CAPACITY, "cells", owned->ns, owned->app);
        break;
    }
    case CHILD_NAMESPACES:
    case CHILD_INFORMERS:
        break;
    }
}

static const struct url_target targets[CHILD_INFORMERS] = {
    [CHILD_NAMESPACES] = {.version = "v1", .resource = "namespaces"},
    [CHILD_NODES] = {.version = "v1", .resource = "nodes"},
    [CHILD_PODS] = {.version = "v1", .resource = "pods"},
    [CHILD_DEPLOYMENTS] = {.group = "apps", .version = "v1", .resource = "deployments"},
    [CHILD_STATEFULSETS] = {.group = "apps", .version = "v1", .resource = "statefulsets"},
    [CHILD_SERVICES] = {.version = "v1", .resource = "services"},
    [CHILD_BUDGETS] = {.group = "policy", .version = "v1", .resource = "poddisruptionbudgets"},
};

void world_child_start(struct world *world, struct child *child) {
    typedef int item_read(void *arg, const char *bytes, size_t size_bytes,
                          struct store_item *ret_item, struct err *err);
    static item_read *const reads[CHILD_INFORMERS] = {
        world_json_read, node_item, pod_item, work_item, work_item, owned_item, owned_item};
    static void (*const frees[CHILD_INFORMERS])(void *) = {
        world_space_free, node_free, pod_free, work_free, work_free, free, free};

    for (int i = 0; !child->informers[CHILD_INFORMERS - 1] && i < CHILD_INFORMERS; i++) {
        struct feed *feed = &world->child_feeds[child->index][i];

        *feed = (struct feed){.world = world, .child = child->index, .type = i};
        const struct informer_options options = {
            .transport = child->transport,
            .clock = world->options.clock,
            .target = targets[i],
            .label_selector = i >= CHILD_DEPLOYMENTS ? MANAGED_ONLY : NULL,
            .read = reads[i],
            .read_arg = feed,
            .free_object = frees[i],
            .sink = told,
            .context = feed,
            .max_items = PODS_MAX,
            .watch_list = true,
            .rng = {.state = random_next(&world->options.rng)},
        };
        child->informers[i] = informer_new(&options);
    }
}

/* What the caches held is forgotten, in the inventory as well, but for what Placements assign;
 * cells with replicas stay frozen until they are filled again. */
static void child_informers_stop(struct world *world, struct child *child) {
    for (int i = 0; i < CHILD_INFORMERS; i++) {
        informer_free(child->informers[i]);
        child->informers[i] = NULL;
    }
    inventory_child_forget(world->inventory, child->index);
}

void world_child_stop(struct world *world, struct child *child) {
    child_informers_stop(world, child);
    documents_drop(world->documents, child->index + 1);
    if (child->client && world->options.target)
        world->options.target(world->options.arg, child->index + 1, NULL);
    kube_client_free(child->client);
    transport_free(child->transport);
    child->client = NULL;
    child->transport = NULL;
    child->uid[0] = '\0';
    child->heard_ms = 0;
}

struct child *world_child_add(struct world *world, const char *name) {
    int index = 0;

    while (index < WORLD_CHILDREN_MAX && world->children[index])
        index++;
    if (index == WORLD_CHILDREN_MAX)
        return NULL;
    struct child *child = str_alloc(1, sizeof *child);

    child->index = index;
    child->since_ms = clock_mono_ms(world->options.clock);
    snprintf(child->meta.name, sizeof child->meta.name, "%s", name);
    world->children[index] = child;
    if (index >= world->child_count)
        world->child_count = index + 1;
    HASH_ADD_STR(world->child_names, meta.name, child);
    return child;
}

static void wipe(char *text) {
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void world_child_remove(struct world *world, struct child *child) {
    world_child_stop(world, child);
    inventory_child_drop(world->inventory, child->index);
    HASH_DEL(world->child_names, child);
    world->children[child->index] = NULL;
    childcluster_done(&child->spec);
    json_decref(child->labels);
    json_decref(child->status);
    free(child->joined_uid);
    wipe(child->kubeconfig);
    free(child);
}

void world_connect(struct world *world, struct child *child) {
    struct transport *transport = NULL;
    struct err err = {0};

    child->kubeconfig_new = false;
    world_child_stop(world, child);
    if (world->options.connect(world->options.connect_arg, child->meta.name, child->kubeconfig,
                               &transport, &err) < 0) {
        child->fault = err;
        return;
    }
    child->fault = (struct err){0};
    child->transport = transport;
    child->client = kube_client_new(transport);
    child->asked_ms = 0;
    if (world->options.target)
        world->options.target(world->options.arg, child->index + 1, child->client);
    world_wake(world, QUEUE_CAPACITY, "child", NULL, child->meta.name);
}

void world_child_secret(struct world *world, struct child *child, const char *body,
                        size_t body_bytes, int64_t now_ms) {
    json_t *root = body ? json_loadb(body, body_bytes, 0, NULL) : NULL;
    const char *encoded =
        json_string_value(json_object_get(json_object_get(root, "data"), child->spec.secret_key));
    struct str text;
    struct err err = {0};

    str_init(&text, KUBECONFIG_MAX_BYTES);
    child->kubeconfig_read_ms = now_ms;
    if (!body)
        err_set(&child->fault, ERR_NOTFOUND, "Secret %s/%s does not exist", world->options.ns,
                child->spec.secret);
    else if (!encoded)
        err_set(&child->fault, ERR_INVALID, "Secret %s/%s has no key '%s'", world->options.ns,
                child->spec.secret, child->spec.secret_key);
    else if (base64_decode(&text, encoded, strlen(encoded), &err) < 0)
        err_set(&child->fault, ERR_INVALID, "Secret %s/%s: key '%s': %s", world->options.ns,
                child->spec.secret, child->spec.secret_key, err.msg);
    json_decref(root);
    if (text.data && err.code == 0 &&
        (!child->kubeconfig || strcmp(child->kubeconfig, text.data) != 0)) {
        wipe(child->kubeconfig);
        child->kubeconfig = text.data;
        child->kubeconfig_new = true;
        return;
    }
    if (text.data)
        explicit_bzero(text.data, text.size_bytes);
    str_done(&text);
}

/* After a silence the caches may be older than they look, so they are filled anew. */
void world_child_heard(struct world *world, struct child *child, const char *uid) {
    const int64_t now_ms = clock_mono_ms(world->options.clock);
    const bool was_silent = child->heard_ms && now_ms - child->heard_ms > WORLD_SILENT_MS;

    snprintf(child->uid, sizeof child->uid, "%s", uid);
    if (was_silent)
        child_informers_stop(world, child);
    child->heard_ms = now_ms;
    if (child_known(child))
        world_child_start(world, child);
    else
        child_informers_stop(world, child);
}

bool child_known(const struct child *child) {
    return child->uid[0] && (!child->joined_uid || strcmp(child->uid, child->joined_uid) == 0);
}

bool child_fresh(const struct child *child, int64_t now_ms) {
    if (!child_known(child) || !child->heard_ms || now_ms - child->heard_ms > WORLD_SILENT_MS)
        return false;
    for (int i = 0; i < CHILD_INFORMERS; i++) {
        if (!child->informers[i])
            return false;
        const struct reflector_status status = informer_status(child->informers[i]);

        if (!status.synced || status.suspect || status.overfull || status.blocked)
            return false;
    }
    return true;
}

bool child_joining(const struct child *child, int64_t now_ms) {
    return !child->joined && !child_fresh(child, now_ms) &&
           now_ms - child->since_ms < WORLD_JOIN_MS;
}

const struct owned *world_owned(const struct child *child, enum child_informer type,
                                const char *key) {
    const struct store_item *item =
        child->informers[type] ? store_get(informer_store(child->informers[type]), key) : NULL;

    return item ? item->object : NULL;
}

const struct space *world_child_space(const struct child *child, const char *name) {
    const struct store_item *item =
        child->informers[CHILD_NAMESPACES]
            ? store_get(informer_store(child->informers[CHILD_NAMESPACES]), name)
            : NULL;

    return item ? item->object : NULL;
}
