/* sets.h - what Deployments and StatefulSets share: their pods, new ones, and their status.
 *
 * Times: wall milliseconds where an object's own times are compared, else monotonic.
 */
#ifndef BULKHEAD_FLEET_SETS_H
#define BULKHEAD_FLEET_SETS_H

#include "fleet/state.h"

/* Whether an active pod has been ready for minReadySeconds. If it will be later, *due_ms comes down
 * to that wall time. */
bool sets_is_available(const struct fleet *fleet, const struct sim_set *set,
                       const struct sim_pod *pod, int64_t *due_ms);

/* Sends one new pod of the current template. label: which revision label carries hash. extra:
 * more labels (taken over; NULL: none). */
void sets_create_pod(struct fleet *fleet, struct sim_set *set, const char *name, const char *label,
                     const char *hash, json_t *extra);

/* Sends the status (taken over) unless the object shows it already. */
void sets_write_status(struct fleet *fleet, struct sim_set *set, json_t *status);

/* A whole number of spec or of what stands below it; otherwise other. */
int sets_int(const json_t *object, const char *key, int other);

/* One turn of a Deployment. */
void deployments_run(struct fleet *fleet, struct sim_set *set, int64_t now_ms);

/* One turn of a StatefulSet. */
void statefulsets_run(struct fleet *fleet, struct sim_set *set, int64_t now_ms);

#endif
