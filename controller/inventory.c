#include "controller/inventory.h"

#include "api/objectname.h"
#include "base/str.h"
#include "controller/inventory_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void inventory_cell_drop(struct inventory *inventory, const struct inventory_cell *cell) {
    names_drop(inventory->names, cell->zone);
    names_drop(inventory->names, cell->label);
    names_drop(inventory->names, cell->value);
}

void inventory_cells_free(struct inventory *inventory) {
    for (int i = 0; i < inventory->cell_count; i++)
        inventory_cell_drop(inventory, &inventory->cells[i]);
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
    inventory_cells_free(inventory);
    shapes_free(inventory->shapes);
    free(inventory);
}

const struct resource_names *inventory_resources(const struct inventory *inventory) {
    return &inventory->resources;
}

const char *inventory_intern(struct inventory *inventory, const char *text) {
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
    member->zone_label = inventory_intern(inventory, spec->zone_label);
    member->map = str_alloc((size_t)spec->zone_map_count + 1, sizeof *member->map);
    for (int32_t i = 0; i < spec->zone_map_count; i++)
        member->map[member->map_count++] = (struct childcluster_zone){
            .value = (char *)inventory_intern(inventory, spec->zone_map[i].value),
            .zone = (char *)inventory_intern(inventory, spec->zone_map[i].zone),
        };
    member->elastic = spec->capacity == CHILDCLUSTER_ELASTIC;
    member->elastics = str_alloc((size_t)spec->elastic_count + 1, sizeof *member->elastics);
    for (int32_t i = 0; member->elastic && i < spec->elastic_count; i++)
        member->elastics[member->elastic_count++] = (struct childcluster_elastic){
            .zone = (char *)inventory_intern(inventory, spec->elastic[i].zone),
            .max = spec->elastic[i].max,
        };
    inventory->stale = true;
}

/* Forgets nodes and pods; presences that hold an assignment stay if they may. */
static void child_empty(struct inventory *inventory, int child, bool keep_assigned) {
    struct inventory_node *node, *next_node;
    struct presence *presence, *next_presence;

    inventory->stale = true;
    inventory->members[child].nodes = 0;
    HASH_ITER(hh, inventory->nodes, node, next_node) {
        if (node->child == child)
            node_free(inventory, node);
    }
    HASH_ITER(hh, inventory->presences, presence, next_presence) {
        if (presence->key.child != child)
            continue;
        if (!keep_assigned)
            presence->assigned = 0;
        presence->pods = (struct inventory_pods){0};
        inventory_presence_charge(inventory, presence);
    }
}

void inventory_child_forget(struct inventory *inventory, int child) {
    if (child < inventory->member_room)
        child_empty(inventory, child, true);
}

void inventory_child_drop(struct inventory *inventory, int child) {
    if (child >= inventory->member_room)
        return;
    child_empty(inventory, child, false);
    member_done(inventory, &inventory->members[child]);
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
    node->name = inventory_intern(inventory, name);
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
const char *inventory_zone_of(const struct member *member, const struct node *node) {
    const char *value = member->zone_label ? node_label(node, member->zone_label) : NULL;

    for (int32_t i = 0; value && i < member->map_count; i++)
        if (member->map[i].value == value)
            return member->map[i].zone;
    return value && *value ? value : NULL;
}

void inventory_cell_unsettle(struct inventory *inventory, int cell) {
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
bool inventory_node_show(struct inventory *inventory, struct inventory_node *node) {
    struct room_node room;

    node->changed = false;
    if (shapes_node(inventory->shapes, &node->node, &room))
        return false;
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        room.requested.of[i] =
            node->requested[i] > INT64_MAX ? INT64_MAX : (int64_t)node->requested[i];
    room.requested.of[ROOM_PODS] = node->pods;
    if (room_node_set(&inventory->table, node->cell, node->slot, &room))
        inventory_cell_unsettle(inventory, node->cell);
    return true;
}

static const char *zone_value_of(const struct member *member, const struct node *node) {
    return member->zone_label ? node_label(node, member->zone_label) : NULL;
}

void inventory_node(struct inventory *inventory, int child, const char *name,
                    const struct node *node) {
    struct inventory_node *known = node_get(inventory, child, name);
    struct member *member = member_at(inventory, child);
    const char *before = zone_value_of(member, &known->node);

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
    if (!known->present || before != zone_value_of(member, &known->node))
        inventory->stale =
            true; /* also within a zone: it may be the value that pods are pinned to */
    known->present = true;
    node_changed(inventory, known);
}

int inventory_by_label(const struct inventory_cell *one, const char *label, int child) {
    const int order = strcmp(one->label, label);

    return order ? order : (one->child > child) - (one->child < child);
}

int inventory_cell_of(const struct inventory *inventory, int child, const char *label) {
    int low = 0, high = inventory->cell_count;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int order =
            inventory_by_label(&inventory->cells[inventory->by_label[middle]], label, child);

        if (order == 0)
            return inventory->by_label[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static struct presence *presence_find(const struct inventory *inventory, const char *app_uid,
                                      const char *zone, int child) {
    struct presence_key key;
    struct presence *presence;

    memset(&key, 0, sizeof key);
    key = (struct presence_key){.app_uid = app_uid, .zone = zone, .child = child};
    HASH_FIND(hh, inventory->presences, &key, sizeof key, presence);
    return presence;
}

static struct presence *presence_get(struct inventory *inventory, const char *app_uid,
                                     const char *zone, int child) {
    struct presence *presence = presence_find(inventory, app_uid, zone, child);

    if (presence)
        return presence;
    presence = str_alloc(1, sizeof *presence);
    memset(&presence->key, 0, sizeof presence->key);
    presence->key = (struct presence_key){.app_uid = app_uid, .zone = zone, .child = child};
    presence->shape = -1;
    presence->cell = inventory->stale ? -1 : inventory_cell_of(inventory, child, zone);
    names_hold(inventory->names, app_uid);
    names_hold(inventory->names, zone);
    HASH_ADD(hh, inventory->presences, key, sizeof presence->key, presence);
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
        inventory_cell_unsettle(inventory, cell);
    }
    presence->charged = charged;
    presence->committed = committed;
}

/* Brings the totals up to date with one presence, which is released if nothing is left of it. What
 * is assigned and not bound is pending, and an unbound pod stands for one of those: committed is
 * what exists beside them. */
void inventory_presence_charge(struct inventory *inventory, struct presence *presence) {
    const struct inventory_pods *pods = &presence->pods;
    const int32_t waiting = presence->assigned - pods->bound;
    const int32_t charged = waiting > 0 && presence->shape >= 0 ? waiting : 0;
    const int32_t beside = pods->count - charged;

    presence_hold(inventory, presence, charged, beside > pods->bound ? beside : pods->bound);
    if (presence->assigned == 0 && pods->count == 0 && pods->leaving == 0 &&
        presence->barren_until_ms <= inventory->now_ms)
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
    inventory_presence_charge(inventory, presence);
}

/* A pod that got a node shows that more may: the others' time begins anew. */
static void waiting_note(struct inventory *inventory, int child, const struct pod *before,
                         const struct pod *after) {
    const struct pod *pod = after ? after : before;
    struct presence *presence = pod && pod->managed && pod->app_uid && pod->zone
                                    ? presence_find(inventory, pod->app_uid, pod->zone, child)
                                    : NULL;

    if (!presence)
        return;
    if (presence->pods.count <= presence->pods.bound)
        presence->waiting_ms = 0;
    else if (!presence->waiting_ms || (after && after->node && !(before && before->node)))
        presence->waiting_ms = inventory->now_ms;
}

void inventory_pod(struct inventory *inventory, int child, const struct pod *before,
                   const struct pod *after) {
    /* The new one first, so that what they share is not dropped and made again. */
    if (after)
        pod_count(inventory, child, after, 1);
    if (before)
        pod_count(inventory, child, before, -1);
    waiting_note(inventory, child, before, after);
}

void inventory_clock(struct inventory *inventory, int64_t now_ms) {
    inventory->now_ms = now_ms;
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
    const char *uid_name = inventory_intern(inventory, app_uid);
    const char *zone_name = inventory_intern(inventory, label);

    if (uid_name && zone_name) {
        struct presence *presence = presence_get(inventory, uid_name, zone_name, child);

        if (presence->shape != shape)
            presence_hold(inventory, presence, 0, presence->committed);
        presence->shape = shape;
        if (presence->waiting_ms)
            presence->waiting_ms = inventory->now_ms;
        presence->assigned = replicas > 0 ? replicas : 0;
        inventory_presence_charge(inventory, presence);
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
        inventory_presence_charge(inventory, presence);
    }
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

static struct presence *presence_named(const struct inventory *inventory, const char *app_uid,
                                       int child, const char *zone) {
    const char *uid = names_find(inventory->names, app_uid, strlen(app_uid));
    const char *name;
    char label[64];

    objectname_zone_label(zone, label);
    name = names_find(inventory->names, label, strlen(label));
    return uid && name ? presence_find(inventory, uid, name, child) : NULL;
}

struct inventory_pods inventory_pods(const struct inventory *inventory, const char *app_uid,
                                     int child, const char *zone) {
    const struct presence *presence = presence_named(inventory, app_uid, child, zone);

    return presence ? presence->pods : (struct inventory_pods){0};
}

struct inventory_wait inventory_waiting(struct inventory *inventory, const char *app_uid, int child,
                                        const char *zone, int64_t deadline_ms) {
    struct presence *presence = presence_named(inventory, app_uid, child, zone);
    struct inventory_wait wait = {.due_ms = INT64_MAX};

    if (!presence)
        return wait;
    if (presence->waiting_ms && inventory->now_ms - presence->waiting_ms >= deadline_ms) {
        wait.overdue = presence->pods.count - presence->pods.bound;
        presence->barren_until_ms = inventory->now_ms + deadline_ms;
    } else if (presence->waiting_ms) {
        wait.due_ms = presence->waiting_ms + deadline_ms;
    }
    if (presence->barren_until_ms > inventory->now_ms)
        wait.barren_until_ms = presence->barren_until_ms;
    return wait;
}

int inventory_nodes(const struct inventory *inventory, int child) {
    return child < inventory->member_room ? inventory->members[child].nodes : 0;
}
