/* node.h - what a cache keeps of a node: what it offers, to whom, and whether it can be used.
 *
 * Ownership: texts are references into the table of names; node_done() gives them back and frees
 *            the lists. The struct may be copied as it is; one copy is then done.
 * Limits:    NODE_LABELS_MAX labels and NODE_TAINTS_MAX taints. A node with more is ERR_INVALID:
 * its room is then not offered, which is safe. Errors:    ERR_INVALID for what is no node;
 * ERR_RETRY when the table of names is full. Outputs are then untouched and nothing is held.
 */
#ifndef BULKHEAD_API_NODE_H
#define BULKHEAD_API_NODE_H

#include "api/address.h"
#include "api/meta.h"
#include "api/resources.h"
#include "base/err.h"
#include "base/names.h"
#include "core/room.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODE_LABELS_MAX 256
#define NODE_TAINTS_MAX 64

struct node_label {
    const char *key;
    const char *value;
};

struct node_taint {
    const char *key;
    const char *value;       /* "" when it has none */
    enum room_effect effect; /* one that we do not know reads as NoSchedule: it keeps pods out */
};

struct node {
    const char *name;          /* == the node of its pods, when read with the same table */
    struct node_label *labels; /* in the document's order */
    struct node_taint *taints;
    struct room_amount allocatable; /* 0 for a resource that it does not have */
    struct address ip;              /* its first InternalIP */
    uint16_t label_count;
    uint16_t taint_count;
    bool ready;       /* condition Ready is True; its absence is not */
    bool schedulable; /* not spec.unschedulable */
    bool deleting;
};

/* Reads a whole Node. resources may be NULL. The caller releases *ret_node with node_done(). */
int node_read(const char *bytes, size_t size_bytes, struct names *names,
              const struct resource_names *resources, struct meta *ret_meta, struct node *ret_node,
              struct err *err);

/* Gives the node's names back, frees its lists and zeroes it; NULL and all-zero are fine. */
void node_done(struct node *node, struct names *names);

/* The value of a label, which may be ""; NULL if the node does not have it. */
const char *node_label(const struct node *node, const char *key);

#endif
