/* shapes.h - the pod shapes that the fleet is asked for, and what of a node matters to them.
 *
 * Reads a pod spec into a room_shape; numbers the taints of nodes and the labels that some shape
 * selects, so that room.h can compare sets of bits.
 * Limits:    ROOM_SHAPES_MAX shapes: the one unused for longest makes place. A node with a taint
 *            beyond ROOM_ID_COUNT different ones is read as unschedulable, and a shape with a label
 *            beyond them fits nowhere: too little room is safe.
 * Ownership: texts are references into the names handed in, which must outlive the set.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_SHAPES_H
#define BULKHEAD_CONTROLLER_SHAPES_H

#include "api/node.h"
#include "base/names.h"
#include "core/room.h"

#include <jansson.h>

struct shapes;

/* What taking a shape or a node changed: the caller brings the room table up to date. */
enum shapes_change {
    SHAPES_SAME,
    SHAPES_REPLACED, /* this shape's slot now means another shape */
    SHAPES_LABELS,   /* a label more is numbered: every node is read anew; its slot is new, too */
};

/* An empty set. Release with shapes_free(). */
struct shapes *shapes_new(struct names *names);

/* Releases it; NULL is fine. */
void shapes_free(struct shapes *shapes);

/* Number of slots in use: shapes are numbered 0 .. count - 1. */
int shapes_count(const struct shapes *shapes);

/* The shape in a slot, as room.h wants it. */
struct room_shape shapes_room(const struct shapes *shapes, int shape);

/* The slot of pods with this pod spec; ret_change says what follows. ERR_INVALID names the field
 * that cannot be read. */
int shapes_take(struct shapes *shapes, const json_t *pod_spec,
                const struct resource_names *resources, int *ret_shape,
                enum shapes_change *ret_change, struct err *err);

/* The slot with the largest request, another than `but`; -1: there is none. */
int shapes_largest(const struct shapes *shapes, int but);

/* Gives the numbers of taints back: every node must be read again, then every shape given to the
 * room table again. */
void shapes_taints_forget(struct shapes *shapes);

/* What room.h wants to know of a node. Returns 1 if a taint was new: every shape's tolerated set
 * must be given to the room table again; else 0. */
int shapes_node(struct shapes *shapes, const struct node *node, struct room_node *ret_node);

#endif
