/* inventory.h - the room of every zone of every child, for every pod shape, kept up to date.
 *
 * Turns nodes, pods and Placements, as their caches change, into the room_table of core/room.h, and
 * counts each app's pods by cell. A changed node costs the number of shapes; a node that comes or
 * goes costs the fleet's nodes once, at the next inventory_settle().
 * Rules:     unschedulable, not-ready and untolerated nodes give no room; a node without the zone
 *            label is in no cell; a terminal pod uses nothing; assigned pods that no node runs yet
 *            are charged (core/room.h).
 * Units:     replicas, milli-CPU, bytes; monotonic milliseconds.
 * Limits:    ROOM_SHAPES_MAX shapes at once: the one unused for longest makes place.
 * Ownership: copies what it keeps; names are interned in the names handed in.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_INVENTORY_H
#define BULKHEAD_CONTROLLER_INVENTORY_H

#include "api/childcluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/names.h"
#include "core/room.h"

#include <jansson.h>

struct inventory;

/* A zone of a child that has nodes, or elastic room. */
struct inventory_cell {
    int child;
    const char *zone;  /* the hub's name, interned */
    const char *label; /* as the value of bulkhead.dev/zone, interned */
    const char *value; /* the child's label value, interned; the first that maps to the zone */
    int nodes;
};

/* An app's pods in one cell, terminal ones left out. */
struct inventory_pods {
    int32_t count;
    int32_t bound; /* to a node */
    int32_t ready;
    int32_t leaving; /* being deleted; not counted above */
};

/* How an app's pods in one cell wait for nodes. */
struct inventory_wait {
    int32_t overdue;         /* pods without a node, when none got one for the whole deadline */
    int64_t due_ms;          /* when those that wait now will be overdue; INT64_MAX: never */
    int64_t barren_until_ms; /* the cell gives this app no more room until then; 0: it does */
};

/* An empty inventory. Release with inventory_free(). */
struct inventory *inventory_new(struct names *names);

/* Releases it; NULL is fine. */
void inventory_free(struct inventory *inventory);

/* The names of extended resources that count, for pod_read() and node_read(). */
const struct resource_names *inventory_resources(const struct inventory *inventory);

/* Takes over a child's zone label, zone map and capacity; its nodes are placed anew. */
void inventory_child_set(struct inventory *inventory, int child, const struct childcluster *spec);

/* Forgets what a child was seen to hold, nodes and pods; what is declared of it and assigned to it
 * stays: its connection broke, nothing more. */
void inventory_child_forget(struct inventory *inventory, int child);

/* Forgets a child: nodes, pods, assignments and all. */
void inventory_child_drop(struct inventory *inventory, int child);

/* A node came or changed, or with node NULL went. */
void inventory_node(struct inventory *inventory, int child, const char *name,
                    const struct node *node);

/* A pod changed from before (NULL: new) to after (NULL: gone). */
void inventory_pod(struct inventory *inventory, int child, const struct pod *before,
                   const struct pod *after);

/* The shape of pods with this pod spec (template.spec as JSON): an id for the functions below,
 * valid until a later call makes place for another: ask again before use. ERR_INVALID for
 * quantities or tolerations that cannot be read, naming the field. */
int inventory_shape(struct inventory *inventory, const json_t *pod_spec, int *ret_shape,
                    struct err *err);

/* States what a Placement assigns to a cell, as pods of this shape; 0 takes it back. */
void inventory_assign(struct inventory *inventory, const char *app_uid, int child, const char *zone,
                      int shape, int32_t replicas);

/* Takes back everything that was assigned to an app, in every cell. */
void inventory_unassign(struct inventory *inventory, const char *app_uid);

/* Marks what is assigned to an app as decided but not persisted; inventory_unassign() ends it. */
void inventory_reserve(struct inventory *inventory, const char *app_uid);

/* Whether it is so marked. */
bool inventory_is_reserved(const struct inventory *inventory, const char *app_uid);

/* Brings the room up to date with everything said above. */
void inventory_settle(struct inventory *inventory);

/* The cells in ascending order of zone name, then child; borrowed until a node comes or goes. */
int inventory_cells(struct inventory *inventory, const struct inventory_cell **ret_cells);

/* Free room of the at-th cell for a shape, besides what is assigned. */
int32_t inventory_room(struct inventory *inventory, int shape, int at);

/* The app's pods in a cell; all zero when there are none. */
struct inventory_pods inventory_pods(const struct inventory *inventory, const char *app_uid,
                                     int child, const char *zone);

/* Time passes: how long pods have waited is counted by it. */
void inventory_clock(struct inventory *inventory, int64_t now_ms);

/* How the app's pods in a cell wait. The deadline counts from when a pod last got a node there, or
 * replicas were last assigned. A cell where pods are overdue is barren for as long again. */
struct inventory_wait inventory_waiting(struct inventory *inventory, const char *app_uid, int child,
                                        const char *zone, int64_t deadline_ms);

/* Number of nodes of a child. */
int inventory_nodes(const struct inventory *inventory, int child);

#endif
