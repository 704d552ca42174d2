/* topology_plan.h - what the two halves of the topology scheduler share; nobody else includes it.
 *
 * topology.c reads the input and writes the answer, topology_zone.c divides replicas among zones,
 * topology_cell.c divides a zone's replicas among its clusters.
 * Ownership: every array lies in the caller's scratch. Units: replicas.
 */
#ifndef BULKHEAD_CORE_TOPOLOGY_PLAN_H
#define BULKHEAD_CORE_TOPOLOGY_PLAN_H

#include "core/topology.h"

struct topology_zone_plan {
    int64_t weight; /* free room and what is present, before caps; at most INT32_MAX */
    int32_t first;  /* its cells are order[first] .. order[first + count - 1] */
    int32_t count;  /* cells */
    int32_t frozen; /* held by frozen cells */
    int32_t held;   /* held by all cells before the decision */
    int32_t kept;   /* what may stay: frozen, and the rest within the caps */
    int32_t most;   /* frozen plus what the open cells could hold, within the caps */
    int32_t low;    /* bounds of this division */
    int32_t high;
    int32_t share; /* replicas given by the division */
    int32_t via;   /* of topology_owed.c: the cell through which it is reached */
    bool room_over_cap;
    bool room_frozen;
    bool wanted;
    bool usable; /* wanted, or added by extension */
};

struct topology_plan {
    const struct topology_input *in;
    int32_t zone_cap;
    int32_t cluster_cap;
    bool afresh; /* spread outranks fewest moves */
    struct topology_zone_plan *zones;
    int32_t *order;  /* cells grouped by zone */
    int32_t *have;   /* per cell: replicas decided so far */
    int32_t *limit;  /* per cell: the most it could hold by room */
    int32_t *heap;   /* per cell: work space */
    int32_t *left;   /* per cluster: what its cap still allows */
    int32_t *marker; /* per cluster: the last zone that named it */
};

/* Chooses the wanted zones, and the further ones when extension is allowed and needed. */
void topology_zone_choose(struct topology_plan *plan);

/* Adds the fewest zones by extension so that total fits, where it can. */
void topology_zone_extend(struct topology_plan *plan, int32_t total);

/* Divides the replicas among zones: fills share of each zone. */
void topology_zone_divide(struct topology_plan *plan);

/* Adds up to more replicas, above what each zone has, up to its high bound. */
void topology_zone_add(struct topology_plan *plan, int32_t more);

/* Takes replicas from the zone's open cells, fullest pools first, until it has its share. */
void topology_cell_shrink(struct topology_plan *plan, int32_t zone);

/* Gives the zone's open cells replicas until it has its share; returns what did not fit. */
int32_t topology_cell_grow(struct topology_plan *plan, int32_t zone);

#define TOPOLOGY_OWED_ROUNDS 256 /* exchanges tried for one decision */

/* Places up to owed replicas by exchanges between zones that share clusters at their caps. */
void topology_owed_place(struct topology_plan *plan, int32_t owed);

#endif
