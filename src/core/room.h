/* room.h - how many more pods of one shape fit into a cell (one zone of one child cluster).
 *
 * Room of a cell = sum over its usable nodes of floor((allocatable - requested - charged) /
 * request), the least over all resources. "Charged" is what placements assigned to the cell and no
 * pod uses yet; it is put on the freest nodes, so two decisions never count the same room.
 * Pure:      no clock, no I/O, no log. Memory is taken by room_table_init() only.
 * Units:     CPU in milli, memory in bytes, the rest in pieces. A negative amount reads as 0, and
 *            so does a node that is used beyond what it has.
 * Limits:    a node holds at most ROOM_NODE_PODS_MAX pods, whatever it claims, so that a request of
 *            next to nothing never gives endless room. Every pod takes one of ROOM_PODS; a resource
 *            that a shape does not ask for does not bound it.
 * Ownership: the caller owns struct room_table; node and shape structs are copied.
 * Waiting:   an assigned pod that no node can take stays pending and bounds no other shape: the
 *            child's scheduler would let the smaller pod pass, too. room_settle() charges it once
 *            a node can take it.
 * Order:     equally free nodes are charged in the order of their slots. A caller that wants the
 *            same charge after a restart fills slots in ascending order of node name.
 */
#ifndef BULKHEAD_CORE_ROOM_H
#define BULKHEAD_CORE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define ROOM_EXTENDED_COUNT 4 /* extended resources (GPUs, huge pages) that the fleet counts */
#define ROOM_SHAPES_MAX 64
#define ROOM_CELLS_MAX 16384
#define ROOM_NODES_MAX (1 << 20)
#define ROOM_NODE_PODS_MAX 1024
#define ROOM_ID_COUNT 256 /* ids of taints, and of labels that some selector names */
#define ROOM_NOT_ELASTIC (-1)

enum room_resource {
    ROOM_CPU_MILLI,
    ROOM_MEMORY_BYTES,
    ROOM_PODS,
    ROOM_EXTENDED, /* the first of ROOM_EXTENDED_COUNT */
};
#define ROOM_RESOURCE_COUNT (ROOM_EXTENDED + ROOM_EXTENDED_COUNT)

struct room_amount {
    int64_t of[ROOM_RESOURCE_COUNT];
};

/* A set of interned ids, 0 .. ROOM_ID_COUNT - 1. All-zero is empty. */
struct room_ids {
    uint64_t word[ROOM_ID_COUNT / 64];
};

enum room_effect {
    ROOM_EFFECT_ANY, /* a toleration that names no effect */
    ROOM_NO_SCHEDULE,
    ROOM_NO_EXECUTE,
    ROOM_PREFER_NO_SCHEDULE, /* never keeps a pod out */
};

/* Keys and values are interned by the caller; 0 is the empty string. */
struct room_taint {
    uint32_t key;
    uint32_t value;
    enum room_effect effect;
};

struct room_toleration {
    uint32_t key; /* 0: every key, which needs operator Exists */
    uint32_t value;
    enum room_effect effect;
    bool exists; /* operator Exists; otherwise Equal */
};

struct room_shape {
    struct room_amount request; /* of one pod; ROOM_PODS is read as 1 */
    struct room_ids tolerated;  /* by room_tolerated(); a taint outside keeps the shape out */
    struct room_ids selector;   /* labels that a node must have, all of them */
};

/* All-zero is a slot without a node. A node with a taint beyond the ids must be handed in with
 * schedulable = false: too little room is safe, too much is not. */
struct room_node {
    struct room_amount allocatable;
    struct room_amount requested; /* by the pods that are bound to it */
    struct room_ids taints;
    struct room_ids labels;
    bool ready;
    bool schedulable;
};

struct room_slot {
    struct room_node node;
    struct room_amount charged;
    uint64_t usable; /* bit s: shape s may run here */
    int32_t cell;
};

struct room_cell {
    int32_t first_slot;
    int32_t slot_count;
    int32_t elastic_max; /* pods; ROOM_NOT_ELASTIC: the nodes decide */
    int32_t committed;   /* pods that exist in an elastic cell */
    int32_t pending;     /* assigned pods that no pod uses yet, over all shapes */
    bool unsettled;      /* the charge is not what room_settle() would make */
};

/* Flat arrays; all-zero is an empty table. */
struct room_table {
    int32_t cell_count;
    int32_t slot_count;
    int32_t shape_count;
    struct room_shape *shapes;
    struct room_cell *cells;
    struct room_slot *slots;
    int32_t *fits;     /* slot * shape_count + shape */
    int32_t *sums;     /* shape * cell_count + cell: sum of fits */
    int32_t *pendings; /* shape * cell_count + cell */
};

/* Takes memory for cells with slot_counts[cell] node slots each and for shape_count shapes, all
 * empty. Returns 0; or ERR_INVALID, with *table untouched, beyond the limits above. */
int room_table_init(struct room_table *table, int32_t cell_count, const int32_t *slot_counts,
                    int32_t shape_count);

/* Releases the arrays; NULL and all-zero are fine. */
void room_table_done(struct room_table *table);

/* Whether the toleration lets a pod onto a node with the taint. An empty key under Equal is not
 * valid and tolerates nothing. */
bool room_tolerates(const struct room_toleration *toleration, const struct room_taint *taint);

/* The ids (indexes into taints, at most ROOM_ID_COUNT) of taints that keep no pod with these
 * tolerations out. PreferNoSchedule is always among them. */
void room_tolerated(const struct room_taint *taints, int32_t taint_count,
                    const struct room_toleration *tolerations, int32_t toleration_count,
                    struct room_ids *ret_ids);

/* Adds an id below ROOM_ID_COUNT; returns false, and adds nothing, for one beyond. */
bool room_ids_add(struct room_ids *ids, uint32_t id);

/* Replaces one shape. Cost: every node once. Charges stay where they are. */
void room_shape_set(struct room_table *table, int32_t shape, const struct room_shape *value);

/* Replaces one node (slot counts from 0 within the cell); NULL empties the slot. Cost: shapes. The
 * charge stays where it is; returns 1 when the cell owes a room_settle(), else 0. */
int room_node_set(struct room_table *table, int32_t cell, int32_t slot,
                  const struct room_node *node);

/* Makes a cell elastic: room = max - committed - pending, whatever its nodes give.
 * ROOM_NOT_ELASTIC undoes it. A max of 0 is a max: nothing fits. */
void room_elastic_set(struct room_table *table, int32_t cell, int32_t max, int32_t committed);

/* States how many assigned pods of the shape no pod uses yet; negative reads as 0. Takes effect
 * with room_settle(). */
void room_pending_set(struct room_table *table, int32_t shape, int32_t cell, int32_t count);

/* Charges the cell afresh from its nodes and pending counts alone, shapes in ascending order: the
 * same answer whatever happened before. Cost: nodes of the cell times shapes. */
void room_settle(struct room_table *table, int32_t cell);

/* Deducts a decision: count pods of the shape go to the cell and are charged to its freest nodes,
 * which lowers the room of every shape. Returns how many found a node; the rest stay pending. */
int32_t room_reserve(struct room_table *table, int32_t shape, int32_t cell, int32_t count);

/* room_reserve() for a whole decision: counts has cell_count entries, those of 0 or less are
 * skipped. Returns how many found a node. */
int64_t room_reserve_all(struct room_table *table, int32_t shape, const int32_t *counts);

/* Pods of the shape that still fit: 0 or more. */
int32_t room_of(const struct room_table *table, int32_t shape, int32_t cell);

/* room_of() for every cell; ret_rooms has cell_count entries. */
void room_of_all(const struct room_table *table, int32_t shape, int32_t *ret_rooms);

/* Room for an app that is judged anew: its own pods are counted back. Never beyond INT32_MAX. */
int32_t room_with_own(int32_t room, int32_t own);

/* Pods with this request that fit into free: 0 or more. Negative free reads as 0. */
int32_t room_fit(const struct room_amount *free, const struct room_amount *request);

#endif
