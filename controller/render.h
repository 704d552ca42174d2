/* render.h - the objects that an app has in a child cluster, as JSON to apply.
 *
 * Pure: says what they should be, not whether they must be written.
 * Ownership: every function returns a new reference; what it is given stays the caller's.
 */
#ifndef BULKHEAD_CONTROLLER_RENDER_H
#define BULKHEAD_CONTROLLER_RENDER_H

#include "api/appdefinition.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RENDER_HASH_SIZE 17 /* 16 hex digits and a NUL */

/* One zone of one child. */
struct render_cell {
    const char *zone;       /* the hub's name */
    const char *zone_label; /* the child's node label */
    const char *zone_value; /* its value for this zone */
    int32_t replicas;       /* of this cell, for surge and unavailable */
    int32_t slot;           /* StatefulSet; -1: none */
};

/* Hash of a workload spec: equal JSON, whatever the order of keys, has an equal hash. */
void render_template_hash(const json_t *workload_spec, char ret_hash[RENDER_HASH_SIZE]);

/* Hash of any object we apply, for its annotation. */
void render_hash(const json_t *object, char ret_hash[RENDER_HASH_SIZE]);

/* The Deployment or StatefulSet of a cell. workload_spec is the revision that the zone runs, hash
 * its render_template_hash(). replicas < 0 leaves the field out: it is owned through /scale. */
json_t *render_workload_new(const struct appdefinition *app, const struct render_cell *cell,
                            const json_t *workload_spec, const char *hash, int32_t replicas);

/* autoscaling/v1 Scale of a workload. */
json_t *render_scale_new(const char *ns, const char *name, int32_t replicas);

/* The Service of one zone, or with zone NULL that of all zones. NULL if the app has no ports. */
json_t *render_service_new(const struct appdefinition *app, const char *zone);

/* The PodDisruptionBudget of the app in a child that runs replicas of it. */
json_t *render_budget_new(const struct appdefinition *app, int32_t replicas);

/* A Namespace with the pod-security labels of the hub's one, or baseline when it has none. */
json_t *render_namespace_new(const char *name, const json_t *hub_labels);

/* The rolling update bounds of a cell with cell_replicas out of the app's total: never more
 * unavailable in sum over cells than the app allows. */
void render_bounds(const struct appdefinition *app, int32_t cell_replicas, int32_t *ret_surge,
                   int32_t *ret_unavailable);

#endif
