/* inventory_state.h - the inside of the inventory, shared by its two files; nobody else includes
 * it.
 *
 * inventory.c takes in nodes, pods and assignments as they change; inventory_cells.c builds cells
 * and slots anew and brings the room table up to date.
 */
#ifndef BULKHEAD_CONTROLLER_INVENTORY_STATE_H
#define BULKHEAD_CONTROLLER_INVENTORY_STATE_H

#include "controller/inventory.h"
#include "controller/shapes.h"

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
    int64_t waiting_ms;        /* since when pods wait and none gets a node; 0: none waits */
    int64_t barren_until_ms;   /* 0: never was */
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
    int64_t now_ms;
    bool stale; /* cells or slots are not those of the nodes: build anew */
};

/* A reference to the shared copy of text; NULL for NULL. */
const char *inventory_intern(struct inventory *inventory, const char *text);

/* The hub's name of the node's zone; NULL: in none. */
const char *inventory_zone_of(const struct member *member, const struct node *node);

/* Orders a cell against a zone label and a child. */
int inventory_by_label(const struct inventory_cell *one, const char *label, int child);

/* The cell of a zone label (interned) in a child; -1: none. */
int inventory_cell_of(const struct inventory *inventory, int child, const char *label);

/* Releases what a cell holds. */
void inventory_cell_drop(struct inventory *inventory, const struct inventory_cell *cell);

/* Releases every cell and the room table. */
void inventory_cells_free(struct inventory *inventory);

/* Lists a cell as one whose charge has to be made anew; -1 is none. */
void inventory_cell_unsettle(struct inventory *inventory, int cell);

/* Gives the room table what is known of the node now. Returns whether it still can: a new taint
 * means that every shape is judged anew. */
bool inventory_node_show(struct inventory *inventory, struct inventory_node *node);

/* Brings the totals up to date with one presence, which is released if nothing is left of it. */
void inventory_presence_charge(struct inventory *inventory, struct presence *presence);

#endif
