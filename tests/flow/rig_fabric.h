/* rig_fabric.h - hub, children, fleets and the controller as one program on a hand-turned clock.
 *
 * Everything meets over loopback, so a scenario is the same every time for a seed. Time moves only
 * in fabric_run() and fabric_until(): to what is due next.
 * Errors:  what a scenario cannot go on without fails the test at once.
 */
#ifndef BULKHEAD_TESTS_FLOW_RIG_FABRIC_H
#define BULKHEAD_TESTS_FLOW_RIG_FABRIC_H

#include "apiserver/apiserver.h"
#include "controller/manager.h"
#include "fleet/fleet.h"
#include "kube/client.h"
#include "net/loopback.h"

#include <jansson.h>

#define FABRIC_HUB (-1)
#define FABRIC_CHILDREN_MAX 8

struct fabric_cluster {
    char name[32];
    struct apiserver *server;
    struct http_handler inner; /* the server's; what transports reach counts and passes on */
    uint64_t writes;
    /* Told of each of the controller's requests, before it is carried out; NULL: nobody. */
    void (*asked)(const struct fabric_cluster *cluster, const struct http_incoming *incoming);
    bool strict;                 /* unknown and repeated fields in what it writes are refused */
    const char *refused;         /* a write whose body contains this is answered 422; NULL: none */
    bool revoked;                /* its credential is: every request is answered 401 */
    struct transport *transport; /* the test's own, without faults */
    struct kube_client *client;
    struct loopback_faults faults; /* of the controller's way to it */
    struct transport *fleet_transport;
    struct fleet *fleet; /* NULL for the hub */
    struct clock clock;  /* its own: as the fabric's, but for skew_ms of wall time */
    int64_t skew_ms;     /* set before fabric_run() */
};

struct fabric {
    struct clock clock;
    struct random rng;
    struct loopback_net *net;
    struct fabric_cluster hub;
    struct fabric_cluster children[FABRIC_CHILDREN_MAX];
    int child_count;
    struct transport *hub_transport; /* the controller's */
    struct manager *manager;         /* NULL while it is down */
    bool observe;                    /* the controller's mode at its next start */
    const char *identity;            /* it takes part in an election; NULL: none */
    bool verbose;                    /* print what the controller says */
    char last_line[768];
    void (*heard)(const char *line); /* told each line; NULL: nobody */
};

/* A hub with our CRDs, the namespaces bulkhead-system and retail, and no child. */
void fabric_open(struct fabric *fabric, uint64_t seed);

/* Releases everything. */
void fabric_close(struct fabric *fabric);

/* Adds a child cluster without nodes, its Secret and its ChildCluster. Returns its index. */
int fabric_child(struct fabric *fabric, const char *name);

/* Adds a node to a child: room for pods pods of 1000 milli-CPU each. */
void fabric_node(struct fabric *fabric, int child, const char *name, const char *zone, int pods);

/* Adds a ChildCluster of this name with more lines of YAML under spec ("{...}" merged in); no
 * cluster stands behind it. */
void fabric_declare_child(struct fabric *fabric, const char *name, const char *spec);

/* Starts the controller, or ends it where it stands. */
void fabric_start(struct fabric *fabric);
void fabric_crash(struct fabric *fabric);

/* Lets ms pass. */
void fabric_run(struct fabric *fabric, int64_t ms);

/* Delivers and does one thing that is due, or moves the clock to the next; not beyond until_ms.
 * Returns 0 once the clock stands at until_ms and nothing more is due. */
int fabric_step(struct fabric *fabric, int64_t until_ms);

/* Runs until holds(fabric, arg), at most max_ms; fails the test with what it waited for. */
void fabric_until(struct fabric *fabric, const char *what,
                  bool (*holds)(struct fabric *fabric, void *arg), void *arg, int64_t max_ms);

/* One call to a cluster (index of a child, or FABRIC_HUB), with its answer's status; body may be
 * NULL. Returns the answer's object, or NULL for a failure or an empty answer. */
json_t *fabric_call(struct fabric *fabric, int cluster, const struct kube_call *call,
                    int *ret_status);

/* Applies a JSON or YAML text of one object as kubectl apply --server-side does; fails the test if
 * it is refused. */
void fabric_apply(struct fabric *fabric, int cluster, const char *text);

/* An object by kind path ("apps/v1/deployments"; core: "v1/pods"), namespace and name; NULL: none.
 */
json_t *fabric_get(struct fabric *fabric, int cluster, const char *path, const char *ns,
                   const char *name);

/* The items of a type in a namespace (NULL: all). */
json_t *fabric_list(struct fabric *fabric, int cluster, const char *path, const char *ns);

/* Deletes an object; nothing happens if it is not there. */
void fabric_delete(struct fabric *fabric, int cluster, const char *path, const char *ns,
                   const char *name);

/* Merge-patches an object. */
void fabric_patch(struct fabric *fabric, int cluster, const char *path, const char *ns,
                  const char *name, const char *patch);

/* Applies an AppDefinition "retail/NAME" of replicas pods of 1000 milli-CPU, with more YAML lines
 * under spec (each indented by two spaces), or "". */
void fabric_app(struct fabric *fabric, const char *name, int replicas, const char *more);

/* What the Placement of retail/NAME says: "gz-3/cls-a=10 gz-4/cls-b=9", sorted; freed by caller. */
char *fabric_placement(struct fabric *fabric, const char *name);

/* Ready pods of retail/NAME in a child and zone; zone NULL: all. */
int fabric_ready(struct fabric *fabric, int child, const char *name, const char *zone);

/* A condition of retail/NAME: "True/Placed"; "" if it is not there. Static storage. */
const char *fabric_condition(struct fabric *fabric, const char *name, const char *type);

/* Writes (not reads) that reached a cluster since it was opened. */
uint64_t fabric_writes(struct fabric *fabric, int cluster);

#endif
