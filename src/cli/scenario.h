/* scenario.h - the input of a simulation: an app's policy, the room per cell, the last placement.
 *
 * Ownership: scenario_init() makes an empty one, scenario_done() releases everything in it; names
 *            are copied in.
 * Units:     replicas.
 * Errors:    ERR_INVALID names the field, the value and what to do; the scenario is then unchanged
 *            but for names that were interned.
 */
#ifndef BULKHEAD_CLI_SCENARIO_H
#define BULKHEAD_CLI_SCENARIO_H

#include "base/err.h"
#include "core/topology.h"

#include <jansson.h>

#define SCENARIO_CELLS_MAX 4096

/* A cell by its names, before zones and clusters are numbered. */
struct scenario_cell {
    char *zone;
    char *cluster;
    int32_t present;
    int32_t room;
    bool frozen;
};

struct scenario {
    struct scenario_cell *cells; /* in the order of the inventory, then of the placement */
    int32_t cell_count;
    struct topology_policy policy;
    char **named_zones; /* owned */
    int32_t named_count;
    char **avoided_zones; /* owned */
    int32_t avoided_count;
    char *salt; /* what breaks ties: the app's uid, or namespace/name before it has one */
};

/* Numbered and sorted, ready for topology_decide(). Borrows names from the scenario. */
struct scenario_problem {
    struct topology_input input;
    struct topology_zone *zones;
    const char **zone_names;
    const char **cluster_names;
    struct topology_cell *cells; /* same order as scenario.cells */
    struct topology_result result;
    void *scratch;
};

/* An empty scenario. */
void scenario_init(struct scenario *scenario);

/* Releases everything; NULL and all-zero are fine. */
void scenario_done(struct scenario *scenario);

/* Adds a name to an owned list, such as &scenario->named_zones with &scenario->named_count. */
void scenario_add_name(char ***names, int32_t *count, const char *name);

/* Reads {cells: [{zone, cluster, room, frozen}]}. A cell named twice is refused. */
int scenario_read_inventory(struct scenario *scenario, const json_t *root, struct err *err);

/* Reads spec.cells [{zone, cluster, replicas}] of a Placement into .present; a cell that the
 * inventory lacks is added with room 0 and frozen, since a silent child keeps what it has. */
int scenario_read_placement(struct scenario *scenario, const json_t *root, struct err *err);

/* Numbers zones and clusters by ascending name and allocates the result. The caller releases it
 * with scenario_problem_done(), before the scenario. ERR_INVALID beyond the bounds of topology.h.
 */
int scenario_problem_init(struct scenario_problem *problem, const struct scenario *scenario,
                          enum topology_change change, struct err *err);

/* Releases what scenario_problem_init() made; all-zero is fine. */
void scenario_problem_done(struct scenario_problem *problem);

#endif
