/* fleet.h - simulated nodes and kubelets of one cluster: a client of whatever API server it is
 * given.
 *
 * Makes Nodes in zones; turns Deployments and StatefulSets into Pods (ReplicaSets are left out),
 * binds Pods to nodes as the kube-scheduler would (requests, nodeSelector, taints, the freest node
 * first), makes them ready after a while, and writes the workloads' status. It drives a real API
 * server just as well, as long as no other controller does the same work there.
 * Never:     knows Bulkhead's kinds or labels.
 * Units:     milliseconds of the clock handed in; cpu in milli, memory in bytes.
 * Ownership: the transport and the clock are the caller's and must outlive the fleet.
 * Limits:    10,000 nodes, 200,000 pods.
 * Threads:   one.
 */
#ifndef BULKHEAD_FLEET_FLEET_H
#define BULKHEAD_FLEET_FLEET_H

#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"

#include <stdbool.h>
#include <stdint.h>

struct fleet;
struct transport;

struct fleet_options {
    struct transport *transport;
    const struct clock *clock;
    struct random rng;
    int start_ms;           /* from bound to ready, at least; 0: at once */
    int start_more_ms;      /* and up to so much more, drawn */
    int stop_ms;            /* from deletion to gone */
    const char *zone_label; /* NULL: topology.kubernetes.io/zone */
};

struct fleet_node {
    const char *name;
    const char *zone;
    int32_t cpu_milli;
    int64_t memory_bytes;
    int32_t pods;
};

struct fleet_counts {
    int nodes;
    int nodes_ready;
    int pods;
    int pods_bound;
    int pods_ready;
};

/* A fleet without nodes of its own; it works on what the API server shows. Release: fleet_free().
 */
struct fleet *fleet_new(const struct fleet_options *options);

/* Ends its watches and calls and releases it; NULL is fine. Objects stay on the server. */
void fleet_free(struct fleet *fleet);

/* Does what is due. Returns when to come again; the caller also comes after each answer. */
int64_t fleet_turn(struct fleet *fleet, int64_t now_ms);

/* Asks for a Node to be made (or made anew). Texts are copied. */
void fleet_node_add(struct fleet *fleet, const struct fleet_node *node);

/* Asks for a Node to be deleted, its pods with it. */
void fleet_node_remove(struct fleet *fleet, const char *name);

/* Fails (or mends) a node: it turns NotReady and its pods with it; after evict_ms they are deleted,
 * as the node lifecycle controller does (INT64_MAX: never). */
void fleet_node_fail(struct fleet *fleet, const char *name, bool failed, int64_t evict_ms);

/* fleet_node_fail() for every node of a zone. */
void fleet_zone_fail(struct fleet *fleet, const char *zone, bool failed, int64_t evict_ms);

/* Makes every pod that starts from now on fail to become ready (a bad image), or stops doing so. */
void fleet_pods_broken(struct fleet *fleet, bool broken);

/* What it sees. */
struct fleet_counts fleet_counts(const struct fleet *fleet);

/* Whether nothing is due now and nothing is in flight. */
bool fleet_idle(const struct fleet *fleet, int64_t now_ms);

#endif
