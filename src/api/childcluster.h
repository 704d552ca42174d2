/* childcluster.h - a cluster that runs apps: how it is reached, which zones it has, what it takes.
 *
 * Holds no credentials: only the name of the Secret, which is always read from our own namespace.
 * Units:    replicas for an elastic capacity, seconds.
 * Ownership: the struct owns everything; childcluster_done() releases it.
 * Errors:   ERR_INVALID names the field's path, its value and the remedy.
 */
#ifndef BULKHEAD_API_CHILDCLUSTER_H
#define BULKHEAD_API_CHILDCLUSTER_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define CHILDCLUSTER_NAME_MAX 63

enum childcluster_capacity {
    CHILDCLUSTER_NODES,   /* room is what the nodes have free */
    CHILDCLUSTER_ELASTIC, /* room is max - committed: nodes come when pods wait */
};

enum childcluster_lifecycle {
    CHILDCLUSTER_ACTIVE,
    CHILDCLUSTER_CORDONED, /* keeps what it has, gains nothing */
    CHILDCLUSTER_DRAINING, /* replicas leave */
    CHILDCLUSTER_LOST,     /* gone for good: its finalizers are released */
};

/* The zone's name in the hub for a value of the zone label. */
struct childcluster_zone {
    char *value;
    char *zone;
};

/* Elastic room of one zone. */
struct childcluster_elastic {
    char *zone;
    int32_t max; /* replicas */
};

struct childcluster {
    char *name;
    char *secret;
    char *secret_key;
    char *region;
    char *zone_label;
    struct childcluster_zone *zone_map; /* a value that is not in it names its zone itself */
    int32_t zone_map_count;
    enum childcluster_capacity capacity;
    struct childcluster_elastic *elastic;
    int32_t elastic_count;
    int32_t pending_deadline_seconds;
    char **namespaces; /* allowed ones; none: no app is placed here */
    int32_t namespace_count;
    enum childcluster_lifecycle lifecycle;
};

/* Reads a whole ChildCluster. On success the caller releases *ret_cluster with
 * childcluster_done(); on failure it is untouched. */
int childcluster_parse(const json_t *root, struct childcluster *ret_cluster, struct err *err);

/* The hub's name of the zone with this label value; borrowed from cluster or from value. */
const char *childcluster_zone(const struct childcluster *cluster, const char *value);

/* Whether apps of namespace ns may run here. kube-* never may. */
bool childcluster_allows(const struct childcluster *cluster, const char *ns);

/* Releases what the struct owns and zeroes it; NULL and all-zero are fine. */
void childcluster_done(struct childcluster *cluster);

#endif
