/* rig_stage.h - a hub, a few children and the controller over a wire, on the kernel's clock.
 *
 * The clusters are sinks, or embedded API servers. Objects of users are sent over the same wire, so
 * that its records hold all that a cluster ever was told.
 * Errors:  what a bench cannot go on without ends the program.
 */
#ifndef BULKHEAD_TESTS_BENCH_RIG_STAGE_H
#define BULKHEAD_TESTS_BENCH_RIG_STAGE_H

#include "apiserver/apiserver.h"
#include "bench/rig_sink.h"
#include "bench/rig_wire.h"
#include "controller/manager.h"

#define STAGE_CHILDREN 4
#define STAGE_CLUSTERS (STAGE_CHILDREN + 1) /* 0 is the hub */
#define STAGE_ZONES 3

struct stage_cluster {
    struct sink *sink;        /* or */
    struct apiserver *server; /* this */
    struct http_handler handler;
    struct transport *user;
    struct kube_client *client;
};

struct stage {
    bool embedded;
    struct wire *wire;
    struct stage_cluster clusters[STAGE_CLUSTERS];
    struct transport *hub;   /* the controller's */
    struct manager *manager; /* NULL: none runs */
};

/* Clusters without anything in them. */
void stage_open(struct stage *stage, bool embedded);

/* Releases everything. */
void stage_close(struct stage *stage);

/* Fills the clusters with our CRDs, namespaces, ChildClusters and nodes, starts the controller and
 * lets it come to know them. */
void stage_start(struct stage *stage);

/* Applies app number index of replicas as a user does. */
void stage_app(struct stage *stage, int index, int replicas);

/* Gives the wire and then the controller a turn. */
void stage_turn(struct stage *stage);

/* Turns until nothing was sent for quiet_ms and the controller waits for nothing. */
void stage_settle(struct stage *stage, int64_t quiet_ms);

#endif
