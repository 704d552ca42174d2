/* handover.h - how far each cell of an app may be scaled now, so that moves are made before broken.
 *
 * Growing is never held back. Shrinking may cost ready replicas only while the app keeps its ready
 * floor; replicas that are not ready go first, as a ReplicaSet chooses them.
 * Pure: no clock, no I/O, no allocation. Units: replicas.
 */
#ifndef BULKHEAD_CORE_HANDOVER_H
#define BULKHEAD_CORE_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#define HANDOVER_HOLD (-1) /* leave the cell as it is */

struct handover_cell {
    int32_t target;  /* what the Placement wants here */
    int32_t current; /* replicas that the workload asks for; 0 without one */
    int32_t ready;   /* of them; more than current reads as current */
    bool known;      /* the child's view is fresh; false: its replicas count as not ready */
};

/* Fills ret_replicas, one a cell: what to scale to now, or HANDOVER_HOLD for a cell that is
 * unknown. floor: ready replicas that must remain. Returns how many replicas still have to leave
 * later. */
int32_t handover_plan(const struct handover_cell *cells, int32_t count, int32_t floor,
                      int32_t *ret_replicas);

#endif
