#include "controller/inventory.h"

#include "api/objectname.h"
#include "base/str.h"
#include "controller/shapes.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define NODE_KEY_SIZE 288 /* "child/name" */

struct inventory_node {
    char key[NODE_KEY_SIZE];
    int child;
    const char *name;                        /* interned */
    bool present;                            /* false: only its pods are known so far */
    struct node node;                        /* own copy, when present */
    __int128 requested[ROOM_RESOURCE_COUNT]; /* hostile pods add up beyond 64 bits */
    int32_t pods;
    int cell; /* -1: in none */
    int slot;
    bool changed; /* listed in changed_nodes */
    UT_hash_handle hh;
};

struct presence_key {
    const char *app_uid;
    const char *zone; /* value of the zone label */
    int64_t child;
};

struct presence {
    struct presence_key key;
    struct inventory_pods pods;
    int32_t assigned;
    int shape;
    int cell;        /* -1: in none, or not known while stale */
    int32_t charged; /* what the totals below hold of it */
    int32_t committed;
    struct presence *app_prev; /* of the same app */
    struct presence *app_next;
    UT_hash_handle hh;
};

/* The presences of one app, so that an app's assignments are changed without looking at others. */
struct app_presences {
    const char *app_uid; /* interned */
    struct presence *first;
    bool reserved;
    UT_hash_handle hh;
};

struct member {
    bool used;
    const char *zone_label;
    struct childcluster_zone *map; /* texts interned */
    int32_t map_count;
    bool elastic;
    struct childcluster_elastic *elastics; /* texts interned */
    int32_t elastic_count;
    int nodes;
};

struct inventory {
    struct names *names;
    struct resource_names resources;
    struct shapes *shapes;
    struct inventory_node *nodes;
    struct presence *presences;
    struct app_presences *apps;
    struct member *members;
    int member_room;
    struct room_table table;
    struct inventory_cell *cells;
    int *by_label;      /* cells in ascending order of label, then child */
    int32_t *pending;   /* cell * ROOM_SHAPES_MAX + shape: what presences charge */
    int32_t *committed; /* by cell: managed pods besides the pending ones */
    bool *unsettled;    /* by cell: listed in unsettled_cells */
    int *unsettled_cells;
    int cell_count;
    int unsettled_count;
    struct inventory_node **changed_nodes; /* whose row in the table is old */
    int changed_count;
    bool stale; /* cells or slots are not those of the nodes: build anew */
};

struct inventory *inventory_new(struct names *names) {
    struct inventory *inventory = str_alloc(1, sizeof *inventory);

    inventory->names = names;
    inventory->shapes = shapes_new(names);
    return inventory;
}

static void node_drop(struct inventory *inventory, struct inventory_node *node) {
    for (int i = 0; i < node->node.label_count; i++) {
        names_drop(inventory->names, node->node.labels[i].key);
        names_drop(inventory->names, node->node.labels[i].value);
    }
    for (int i = 0; i < node->node.taint_count; i++) {
        names_drop(inventory->names, node->node.taints[i].key);
        names_drop(inventory->names, node->node.taints[i].value);
    }
    free(node->node.labels);
    free(node->node.taints);
    node->node = (struct node){0};
}

static void node_free(struct inventory *inventory, struct inventory_node *node) {
    node_drop(inventory, node);
    names_drop(inventory->names, node->name);
    HASH_DEL(inventory->nodes, node);
    free(node);
}

static void presence_list(struct inventory *inventory, struct presence *presence) {
    struct app_presences *app;

    HASH_FIND_PTR(inventory->apps, &presence->key.app_uid, app);
    if (!app) {
        app = str_alloc(1, sizeof *app);
        app->app_uid = names_hold(inventory->names, presence->key.app_uid);
        HASH_ADD_PTR(inventory->apps, app_uid, app);
    }
    presence->app_next = app->first;
    if (app->first)
        app->first->app_prev = presence;
    app->first = presence;
}

static void presence_unlist(struct inventory *inventory, struct presence *presence) {
    struct app_presences *app;

    if (presence->app_next)
        presence->app_next->app_prev = presence->app_prev;
    if (presence->app_prev) {
        presence->app_prev->app_next = presence->app_next;
        return;
    }
    HASH_FIND_PTR(inventory->apps, &presence->key.app_uid, app);
    app->first = presence->app_next;
    if (app->first)
        return;
    HASH_DEL(inventory->apps, app);
    names_drop(inventory->names, app->app_uid);
    free(app);
}

static void presence_free(struct inventory *inventory, struct presence *presence) {
    presence_unlist(inventory, presence);
    HASH_DEL(inventory->presences, presence);
    names_drop(inventory->names, presence->key.app_uid);
    names_drop(inventory->names, presence->key.zone);
    free(presence);
}

static void member_done(struct inventory *inventory, struct member *member) {
    names_drop(inventory->names, member->zone_label);
    for (int32_t i = 0; i < member->map_count; i++) {
        names_drop(inventory->names, member->map[i].value);
        names_drop(inventory->names, member->map[i].zone);
    }
    for (int32_t i = 0; i < member->elastic_count; i++)
        names_drop(inventory->names, member->elastics[i].zone);
    free(member->map);
    free(member->elastics);
    *member = (struct member){.nodes = member->nodes};
}

static void cell_drop(struct inventory *inventory, const struct inventory_cell *cell) {
    names_drop(inventory->names, cell->zone);
    names_drop(inventory->names, cell->label);
    names_drop(inventory->names, cell->value);
}

static void cells_free(struct inventory *inventory) {
    for (int i = 0; i < inventory->cell_count; i++)
        cell_drop(inventory, &inventory->cells[i]);
    free(inventory->cells);
    free(inventory->by_label);
    free(inventory->pending);
    free(inventory->committed);
    free(inventory->unsettled);
    free(inventory->unsettled_cells);
    free(inventory->changed_nodes);
    inventory->cells = NULL;
    inventory->cell_count = 0;
    room_table_done(&inventory->table);
}

void inventory_free(struct inventory *inventory) {
    struct inventory_node *node, *next_node;
    struct presence *presence, *next_presence;

    if (!inventory)
        return;
    HASH_ITER(hh, inventory->nodes, node, next_node)
    node_free(inventory, node);
    HASH_ITER(hh, inventory->presences, presence, next_presence)
    presence_free(inventory, presence);
    for (int i = 0; i < inventory->member_room; i++)
        member_done(inventory, &inventory->members[i]);
    free(inventory->members);
    cells_free(inventory);
    shapes_free(inventory->shapes);
    free(inventory);
}

const struct resource_names *inventory_resources(const struct inventory *inventory) {
    return &inventory->resources;
}

static const char *intern(struct inventory *inventory, const char *text) {
    return text ? names_take(inventory->names, text, strlen(text)) : NULL;
}

static struct member *member_at(struct inventory *inventory, int child) {
    if (child >= inventory->member_room) {
        const int room = child + 16;

        inventory->members =
            str_resize(inventory->members, (size_t)room, sizeof *inventory->members);
        memset(inventory->members + inventory->member_room, 0,
               (size_t)(room - inventory->member_room) * sizeof *inventory->members);
        inventory->member_room = room;
    }
    return &inventory->members[child];
}

void inventory_child_set(struct inventory *inventory, int child, const struct childcluster *spec) {
    struct member *member = member_at(inventory, child);

    member_done(inventory, member);
    member->used = true;
    member->zone_label = intern(inventory, spec->zone_label);
    member->map = str_alloc((size_t)spec->zone_map_count + 1, sizeof *member->map);
    for (int32_t i = 0; i < spec->zone_map_count; i++)
        member->map[member->map_count++] = (struct childcluster_zone){
            .value = (char *)intern(inventory, spec->zone_map[i].value),
            .zone = (char *)intern(inventory, spec->zone_map[i].zone),
        };
    member->elastic = spec->capacity == CHILDCLUSTER_ELASTIC;
    member->elastics = str_alloc((size_t)spec->elastic_count + 1, sizeof *member->elastics);
    for (int32_t i = 0; member->elastic && i < spec->elastic_count; i++)
        member->elastics[member->elastic_count++] = (struct childcluster_elastic){
            .zone = (char *)intern(inventory, spec->elastic[i].zone),
            .max = spec->elastic[i].max,
        };
    inventory->stale = true;
}

void inventory_child_drop(struct inventory *inventory, int child) {
    struct inventory_node *node, *next_node;
    struct presence *presence, *next_presence;

    if (child >= inventory->member_room)
        return;
    HASH_ITER(hh, inventory->nodes, node, next_node) {
        if (node->child == child)
            node_free(inventory, node);
    }
    HASH_ITER(hh, inventory->presences, presence, next_presence) {
        if (presence->key.child == child)
            presence_free(inventory, presence);
    }
    inventory->members[child].nodes = 0;
    member_done(inventory, &inventory->members[child]);
    inventory->stale = true;
}

static struct inventory_node *node_get(struct inventory *inventory, int child, const char *name) {
    char key[NODE_KEY_SIZE];
    struct inventory_node *node;

    snprintf(key, sizeof key, "%d/%s", child, name);
    HASH_FIND_STR(inventory->nodes, key, node);
    if (node)
        return node;
    node = str_alloc(1, sizeof *node);
    memcpy(node->key, key, sizeof key);
    node->child = child;
    node->name = intern(inventory, name);
    node->cell = -1;
    HASH_ADD_STR(inventory->nodes, key, node);
    return node;
}

/* Copies what is borrowed, so that it outlives the cache's own struct. */
static void node_copy(struct inventory *inventory, struct inventory_node *into,
                      const struct node *from) {
    node_drop(inventory, into);
    into->node = *from;
    into->node.name = into->name;
    into->node.labels = str_alloc((size_t)from->label_count + 1, sizeof *from->labels);
    into->node.taints = str_alloc((size_t)from->taint_count + 1, sizeof *from->taints);
    for (int i = 0; i < from->label_count; i++)
        into->node.labels[i] =
            (struct node_label){.key = names_hold(inventory->names, from->labels[i].key),
                                .value = names_hold(inventory->names, from->labels[i].value)};
    for (int i = 0; i < from->taint_count; i++)
        into->node.taints[i] =
            (struct node_taint){.key = names_hold(inventory->names, from->taints[i].key),
                                .value = names_hold(inventory->names, from->taints[i].value),
                                .effect = from->taints[i].effect};
}

/* The hub's name of the zone; NULL: in none. */
static const char *zone_of(const struct member *member, const struct node *node) {
    const char *value = member->zone_label ? node_label(node, member->zone_label) : NULL;

    for (int32_t i = 0; value && i < member->map_count; i++)
        if (member->map[i].value == value)
            return member->map[i].zone;
    return value && *value ? value : NULL;
}

static void cell_unsettle(struct inventory *inventory, int cell) {
    if (inventory->unsettled[cell])
        return;
    inventory->unsettled[cell] = true;
    inventory->unsettled_cells[inventory->unsettled_count++] = cell;
}

static void node_changed(struct inventory *inventory, struct inventory_node *node) {
    if (inventory->stale || node->cell < 0 || node->changed)
        return;
    node->changed = true;
    inventory->changed_nodes[inventory->changed_count++] = node;
}

/* Gives the room table what is known of the node now. Returns whether it still can: a new taint
 * means that every shape is judged anew. */
static bool node_show(struct inventory *inventory, struct inventory_node *node) {
    struct room_node room;

    node->changed = false;
    if (shapes_node(inventory->shapes, &node->node, &room))
        return false;
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        room.requested.of[i] =
            node->requested[i] > INT64_MAX ? INT64_MAX : (int64_t)node->requested[i];
    room.requested.of[ROOM_PODS] = node->pods;
    if (room_node_set(&inventory->table, node->cell, node->slot, &room))
        cell_unsettle(inventory, node->cell);
    return true;
}

void inventory_node(struct inventory *inventory, int child, const char *name,
                    const struct node *node) {
    struct inventory_node *known = node_get(inventory, child, name);
    struct member *member = member_at(inventory, child);
    const char *before = known->present ? zone_of(member, &known->node) : NULL;

    member->nodes += (node != NULL) - known->present;
    if (!node) {
        if (known->present)
            inventory->stale = true;
        node_drop(inventory, known);
        known->present = false;
        known->cell = -1;
        if (known->pods == 0)
            node_free(inventory, known);
        return;
    }
    node_copy(inventory, known, node);
    if (!known->present || before != zone_of(member, &known->node))
        inventory->stale = true;
    known->present = true;
    node_changed(inventory, known);
}

static int by_label_and_child(const struct inventory_cell *one, const char *label, int child) {
    const int order = strcmp(one->label, label);

    return order ? order : (one->child > child) - (one->child < child);
}

static int cell_of(const struct inventory *inventory, int child, const char *label) {
    int low = 0, high = inventory->cell_count;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int order =
            by_label_and_child(&inventory->cells[inventory->by_label[middle]], label, child);

        if (order == 0)
            return inventory->by_label[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static struct presence *presence_get(struct inventory *inventory, const char *app_uid,
                                     const char *zone, int child) {
    struct presence_key key;
    struct presence *presence;

    memset(&key, 0, sizeof key);
    key = (struct presence_key){.app_uid = app_uid, .zone = zone, .child = child};
    HASH_FIND(hh, inventory->presences, &key, sizeof key, presence);
    if (presence)
        return presence;
    presence = str_alloc(1, sizeof *presence);
    presence->key = key;
    presence->shape = -1;
    presence->cell = inventory->stale ? -1 : cell_of(inventory, child, zone);
    names_hold(inventory->names, app_uid);
    names_hold(inventory->names, zone);
    HASH_ADD(hh, inventory->presences, key, sizeof key, presence);
    presence_list(inventory, presence);
    return presence;
}

/* Makes the totals hold this much of the presence. */
static void presence_hold(struct inventory *inventory, struct presence *presence, int32_t charged,
                          int32_t committed) {
    const int cell = presence->cell;

    if (!inventory->stale && cell >= 0 &&
        (charged != presence->charged || committed != presence->committed)) {
        if (charged != presence->charged)
            inventory->pending[cell * ROOM_SHAPES_MAX + presence->shape] +=
                charged - presence->charged;
        inventory->committed[cell] += committed - presence->committed;
        cell_unsettle(inventory, cell);
    }
    presence->charged = charged;
    presence->committed = committed;
}

/* Brings the totals up to date with one presence, which is released if nothing is left of it. What
 * is assigned and not bound is pending, and an unbound pod stands for one of those: committed is
 * what exists beside them. */
static void presence_charge(struct inventory *inventory, struct presence *presence) {
    const struct inventory_pods *pods = &presence->pods;
    const int32_t waiting = presence->assigned - pods->bound;
    const int32_t charged = waiting > 0 && presence->shape >= 0 ? waiting : 0;
    const int32_t beside = pods->count - charged;

    presence_hold(inventory, presence, charged, beside > pods->bound ? beside : pods->bound);
    if (presence->assigned == 0 && pods->count == 0 && pods->leaving == 0)
        presence_free(inventory, presence);
}

/* Adds (sign 1) or takes away (-1) a pod. */
static void pod_count(struct inventory *inventory, int child, const struct pod *pod, int sign) {
    struct room_amount request;

    if (pod->node) {
        struct inventory_node *node = node_get(inventory, child, pod->node);

        pod_request(pod, &request);
        for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
            node->requested[i] += sign * (__int128)request.of[i];
        node->pods += sign * (int32_t)request.of[ROOM_PODS];
        if (node->present)
            node_changed(inventory, node);
        else if (node->pods == 0 && sign < 0)
            node_free(inventory, node);
    }
    if (!pod->managed || !pod->app_uid || !pod->zone || pod_is_terminal(pod))
        return;
    struct presence *presence = presence_get(inventory, pod->app_uid, pod->zone, child);

    if (pod->terminating) {
        presence->pods.leaving += sign;
    } else {
        presence->pods.count += sign;
        presence->pods.bound += pod->node ? sign : 0;
        presence->pods.ready += pod->ready ? sign : 0;
    }
    presence_charge(inventory, presence);
}

void inventory_pod(struct inventory *inventory, int child, const struct pod *before,
                   const struct pod *after) {
    /* The new one first, so that what they share is not dropped and made again. */
    if (after)
        pod_count(inventory, child, after, 1);
    if (before)
        pod_count(inventory, child, before, -1);
}

/* A shape lost its slot: what was charged as it is charged as the largest one instead. */
static void shape_evict(struct inventory *inventory, int shape) {
    const int stand_in = shapes_largest(inventory->shapes, shape);
    struct presence *presence, *next;

    HASH_ITER(hh, inventory->presences, presence, next) {
        if (presence->shape == shape)
            presence->shape = stand_in;
    }
}

int inventory_shape(struct inventory *inventory, const json_t *pod_spec, int *ret_shape,
                    struct err *err) {
    const int before = shapes_count(inventory->shapes);
    enum shapes_change change;
    const int r =
        shapes_take(inventory->shapes, pod_spec, &inventory->resources, ret_shape, &change, err);

    if (r < 0)
        return r;
    if (change != SHAPES_SAME) {
        if (*ret_shape < before)
            shape_evict(inventory, *ret_shape);
        inventory->stale = true;
    }
    return 0;
}

void inventory_assign(struct inventory *inventory, const char *app_uid, int child, const char *zone,
                      int shape, int32_t replicas) {
    char label[64];

    objectname_zone_label(zone, label);
    const char *uid_name = intern(inventory, app_uid);
    const char *zone_name = intern(inventory, label);

    if (uid_name && zone_name) {
        struct presence *presence = presence_get(inventory, uid_name, zone_name, child);

        if (presence->shape != shape)
            presence_hold(inventory, presence, 0, presence->committed);
        presence->shape = shape;
        presence->assigned = replicas > 0 ? replicas : 0;
        presence_charge(inventory, presence);
    }
    names_drop(inventory->names, uid_name);
    names_drop(inventory->names, zone_name);
}

static struct app_presences *app_find(const struct inventory *inventory, const char *app_uid) {
    const char *uid = names_find(inventory->names, app_uid, strlen(app_uid));
    struct app_presences *app = NULL;

    if (uid)
        HASH_FIND_PTR(inventory->apps, &uid, app);
    return app;
}

void inventory_reserve(struct inventory *inventory, const char *app_uid) {
    struct app_presences *app = app_find(inventory, app_uid);

    if (app)
        app->reserved = true;
}

bool inventory_is_reserved(const struct inventory *inventory, const char *app_uid) {
    const struct app_presences *app = app_find(inventory, app_uid);

    return app && app->reserved;
}

void inventory_unassign(struct inventory *inventory, const char *app_uid) {
    struct app_presences *app = app_find(inventory, app_uid);

    if (app)
        app->reserved = false;
    for (struct presence *presence = app ? app->first : NULL, *next; presence; presence = next) {
        next = presence->app_next; /* one that holds nothing any more is released */
        presence->assigned = 0;
        presence_charge(inventory, presence);
    }
}

static int by_zone_and_child(const void *a, const void *b) {
    const struct inventory_cell *one = a, *two = b;
    const int order = strcmp(one->zone, two->zone);

    return order ? order : (one->child > two->child) - (one->child < two->child);
}

static int by_cell_and_name(const void *a, const void *b) {
    const struct inventory_node *one = *(struct inventory_node *const *)a;
    const struct inventory_node *two = *(struct inventory_node *const *)b;

    return one->cell != two->cell ? (one->cell > two->cell) - (one->cell < two->cell)
                                  : strcmp(one->name, two->name);
}

/* How early the map names the label value; a value outside comes last. */
static int32_t value_rank(const struct member *member, const char *value) {
    int32_t rank = 0;

    while (rank < member->map_count && member->map[rank].value != value)
        rank++;
    return rank;
}

static void cell_note(struct inventory *inventory, int *room, int child, const char *zone,
                      const char *value) {
    char label[64];

    objectname_zone_label(zone, label);
    const char *shared = intern(inventory, label);

    if (!shared)
        return;
    if (inventory->cell_count == *room) {
        *room = *room ? *room * 2 : 64;
        inventory->cells = str_resize(inventory->cells, (size_t)*room, sizeof *inventory->cells);
    }
    inventory->cells[inventory->cell_count++] = (struct inventory_cell){
        .child = child,
        .zone = names_hold(inventory->names, zone),
        .label = shared,
        .value = names_hold(inventory->names, value),
    };
}

/* Among the first count cells, which are sorted. */
static int cell_find(const struct inventory *inventory, int count, int child, const char *zone) {
    const struct inventory_cell wanted = {.child = child, .zone = zone};
    const struct inventory_cell *at =
        count ? bsearch(&wanted, inventory->cells, (size_t)count, sizeof wanted, by_zone_and_child)
              : NULL;

    return at ? (int)(at - inventory->cells) : -1;
}

/* Sorts the cells and makes each unique, with the label value that the map names first. */
static void cells_sort(struct inventory *inventory) {
    int kept = 0;

    if (inventory->cell_count)
        qsort(inventory->cells, (size_t)inventory->cell_count, sizeof *inventory->cells,
              by_zone_and_child);
    for (int i = 0; i < inventory->cell_count; i++) {
        struct inventory_cell *cell = &inventory->cells[i];
        struct inventory_cell *last = kept > 0 ? &inventory->cells[kept - 1] : NULL;
        const struct member *member = &inventory->members[cell->child];

        if (!last || by_zone_and_child(last, cell) != 0) {
            inventory->cells[kept++] = *cell;
            continue;
        }
        if (value_rank(member, cell->value) < value_rank(member, last->value)) {
            const char *better = cell->value;

            cell->value = last->value;
            last->value = better;
        }
        cell_drop(inventory, cell);
    }
    while (kept > ROOM_CELLS_MAX)
        cell_drop(inventory, &inventory->cells[--kept]);
    inventory->cell_count = kept;
}

/* A cell for every zone that a node is in, then for every elastic zone without nodes. */
static void cells_collect(struct inventory *inventory) {
    struct inventory_node *node, *next;
    int room = 0;

    HASH_ITER(hh, inventory->nodes, node, next) {
        const struct member *member = node->present ? &inventory->members[node->child] : NULL;
        const char *zone = member ? zone_of(member, &node->node) : NULL;

        if (zone)
            cell_note(inventory, &room, node->child, zone,
                      node_label(&node->node, member->zone_label));
    }
    cells_sort(inventory);
    const int noded = inventory->cell_count;

    for (int child = 0; child < inventory->member_room; child++) {
        const struct member *member = &inventory->members[child];

        for (int32_t i = 0; i < member->elastic_count; i++) {
            const char *zone = member->elastics[i].zone;
            int32_t at = 0;

            if (!zone || cell_find(inventory, noded, child, zone) >= 0)
                continue;
            while (at < member->map_count && member->map[at].zone != zone)
                at++;
            cell_note(inventory, &room, child, zone,
                      at < member->map_count ? member->map[at].value : zone);
        }
    }
    cells_sort(inventory);
}

/* Gives every node its cell and slot, slots in ascending order of name; fills counts by cell. */
static void slots_give(struct inventory *inventory, int32_t *counts) {
    const size_t all = HASH_COUNT(inventory->nodes);
    struct inventory_node **order = str_alloc(all + 1, sizeof(struct inventory_node *));
    struct inventory_node *node, *next;
    size_t count = 0;

    HASH_ITER(hh, inventory->nodes, node, next) {
        const char *zone =
            node->present ? zone_of(&inventory->members[node->child], &node->node) : NULL;

        node->changed = false;
        node->cell = zone ? cell_find(inventory, inventory->cell_count, node->child, zone) : -1;
        if (node->cell >= 0)
            order[count++] = node;
    }
    qsort(order, count, sizeof(struct inventory_node *), by_cell_and_name);
    while (count > ROOM_NODES_MAX)
        order[--count]->cell = -1; /* too little room is safe */
    for (size_t i = 0; i < count; i++) {
        order[i]->slot = counts[order[i]->cell]++;
        inventory->cells[order[i]->cell].nodes = counts[order[i]->cell];
    }
    free(order);
}

static void elastic_show(struct inventory *inventory, int cell) {
    const struct inventory_cell *at = &inventory->cells[cell];
    const struct member *member = &inventory->members[at->child];

    for (int32_t i = 0; i < member->elastic_count; i++)
        if (member->elastics[i].zone == at->zone)
            room_elastic_set(&inventory->table, cell, member->elastics[i].max,
                             inventory->committed[cell]);
}

static int by_label(const void *a, const void *b, void *cells) {
    const struct inventory_cell *two = (struct inventory_cell *)cells + *(const int *)b;

    return by_label_and_child((struct inventory_cell *)cells + *(const int *)a, two->label,
                              two->child);
}

/* Takes memory for what is kept by cell and by node. */
static void totals_init(struct inventory *inventory) {
    const size_t cells = (size_t)inventory->cell_count;

    inventory->by_label = str_alloc(cells + 1, sizeof *inventory->by_label);
    inventory->pending = str_alloc(cells * ROOM_SHAPES_MAX + 1, sizeof *inventory->pending);
    inventory->committed = str_alloc(cells + 1, sizeof *inventory->committed);
    inventory->unsettled = str_alloc(cells + 1, sizeof *inventory->unsettled);
    inventory->unsettled_cells = str_alloc(cells + 1, sizeof *inventory->unsettled_cells);
    inventory->unsettled_count = 0;
    inventory->changed_nodes =
        str_alloc(HASH_COUNT(inventory->nodes) + 1, sizeof *inventory->changed_nodes);
    inventory->changed_count = 0;
    for (int i = 0; i < inventory->cell_count; i++)
        inventory->by_label[i] = i;
    if (cells)
        qsort_r(inventory->by_label, cells, sizeof *inventory->by_label, by_label,
                inventory->cells);
}

static void table_init(struct inventory *inventory, const int32_t *counts) {
    struct inventory_node *node, *next;
    const int shape_count = shapes_count(inventory->shapes);

    room_table_init(&inventory->table, inventory->cell_count, counts, shape_count);
    shapes_taints_forget(inventory->shapes);
    HASH_ITER(hh, inventory->nodes, node, next) {
        struct room_node seen;

        if (node->cell >= 0)
            shapes_node(inventory->shapes, &node->node, &seen); /* numbers its taints */
    }
    for (int i = 0; i < shape_count; i++) {
        const struct room_shape shape = shapes_room(inventory->shapes, i);

        room_shape_set(&inventory->table, i, &shape);
    }
}

/* Builds cells, slots and the room table from all that is known. */
static void rebuild(struct inventory *inventory) {
    struct inventory_node *node, *next_node;
    struct presence *presence, *next_presence;

    cells_free(inventory);
    cells_collect(inventory);
    int32_t *counts = str_alloc((size_t)inventory->cell_count + 1, sizeof *counts);

    slots_give(inventory, counts);
    totals_init(inventory);
    table_init(inventory, counts);
    free(counts);
    inventory->stale = false;
    HASH_ITER(hh, inventory->nodes, node, next_node) {
        if (node->cell >= 0)
            node_show(inventory, node);
    }
    HASH_ITER(hh, inventory->presences, presence, next_presence) {
        presence->cell = cell_of(inventory, (int)presence->key.child, presence->key.zone);
        presence->charged = 0;
        presence->committed = 0;
        presence_charge(inventory, presence);
    }
    for (int i = 0; i < inventory->cell_count; i++)
        cell_unsettle(inventory, i);
}

/* An event may have come and gone again: only what differs in the end costs a new charge. */
static void cell_settle(struct inventory *inventory, int cell) {
    struct room_table *table = &inventory->table;
    const int32_t *pending = &inventory->pending[cell * ROOM_SHAPES_MAX];

    inventory->unsettled[cell] = false;
    elastic_show(inventory, cell);
    for (int shape = 0; shape < table->shape_count; shape++)
        if (table->pendings[shape * table->cell_count + cell] != pending[shape])
            room_pending_set(table, shape, cell, pending[shape]);
    if (table->cells[cell].unsettled)
        room_settle(table, cell);
}

void inventory_settle(struct inventory *inventory) {
    for (int i = 0; i < inventory->changed_count && !inventory->stale; i++)
        inventory->stale = !node_show(inventory, inventory->changed_nodes[i]);
    inventory->changed_count = 0;
    if (inventory->stale)
        rebuild(inventory);
    for (int i = 0; i < inventory->unsettled_count; i++)
        cell_settle(inventory, inventory->unsettled_cells[i]);
    inventory->unsettled_count = 0;
}

int inventory_cells(struct inventory *inventory, const struct inventory_cell **ret_cells) {
    inventory_settle(inventory);
    *ret_cells = inventory->cells;
    return inventory->cell_count;
}

int32_t inventory_room(struct inventory *inventory, int shape, int at) {
    inventory_settle(inventory);
    if (shape < 0 || shape >= inventory->table.shape_count || at >= inventory->cell_count)
        return 0;
    return room_of(&inventory->table, shape, at);
}

struct inventory_pods inventory_pods(const struct inventory *inventory, const char *app_uid,
                                     int child, const char *zone) {
    struct presence_key key;
    struct presence *presence;
    char label[64];

    objectname_zone_label(zone, label);
    memset(&key, 0, sizeof key);
    key = (struct presence_key){
        .app_uid = names_find(inventory->names, app_uid, strlen(app_uid)),
        .zone = names_find(inventory->names, label, strlen(label)),
        .child = child,
    };
    if (!key.app_uid || !key.zone)
        return (struct inventory_pods){0};
    HASH_FIND(hh, inventory->presences, &key, sizeof key, presence);
    return presence ? presence->pods : (struct inventory_pods){0};
}

int inventory_nodes(const struct inventory *inventory, int child) {
    return child < inventory->member_room ? inventory->members[child].nodes : 0;
}
