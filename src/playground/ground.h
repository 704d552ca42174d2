/* ground.h - a hub, two children, their nodes and the controller, in one process on loopback ports.
 *
 * The API servers run on the web thread; the controller, the fleets and whoever tells a story run
 * on the control thread and reach them over TLS, as they would reach real ones. Ownership:
 * ground_free() ends the thread and releases everything. Threads:   every function here belongs to
 * the control thread.
 */
#ifndef BULKHEAD_PLAYGROUND_GROUND_H
#define BULKHEAD_PLAYGROUND_GROUND_H

#include "base/err.h"
#include "controller/manager.h"
#include "fleet/fleet.h"
#include "kube/client.h"

#include <jansson.h>

enum ground_cluster { GROUND_HUB, GROUND_A, GROUND_B, GROUND_CLUSTERS };

struct ground_options {
    const char *assets;         /* folder that holds crds/ and manifests/ */
    const char *kubeconfig_dir; /* where the kubeconfigs go; made if it is missing */
    bool quiet;                 /* do not print what the controller writes */
};

struct ground;

/* Starts everything: servers, CRDs, namespaces, children with their nodes, the controller. */
int ground_new(const struct ground_options *options, struct ground **ret_ground, struct err *err);

/* Ends everything; NULL is fine. */
void ground_free(struct ground *ground);

/* Lets the control thread work for up to wait_ms. */
void ground_turn(struct ground *ground, int wait_ms);

/* "hub", "cls-a", "cls-b". */
const char *ground_name(enum ground_cluster cluster);

/* The path of a cluster's kubeconfig; borrowed. */
const char *ground_kubeconfig(const struct ground *ground, enum ground_cluster cluster);

/* The simulated nodes of a child. */
struct fleet *ground_fleet(struct ground *ground, enum ground_cluster cluster);

/* Makes one call and works on until it is answered. On success *ret_object (may be NULL to drop it)
 * is a new reference, or NULL for an empty answer. */
int ground_call(struct ground *ground, enum ground_cluster cluster, const struct kube_call *call,
                json_t **ret_object, struct err *err);

/* Server-side applies one object to a cluster; the reference stays the caller's. */
int ground_apply(struct ground *ground, enum ground_cluster cluster, const json_t *object,
                 struct err *err);

/* Applies every document of a YAML file to a cluster. */
int ground_apply_file(struct ground *ground, enum ground_cluster cluster, const char *path,
                      struct err *err);

#endif
