/* placement.h - the stored decision: how many replicas of an app run in which cell.
 *
 * Written by the topology scheduler alone and read back after a restart, so that a hand-over moves
 *          nothing. An input hash of another version reads as unknown: adopt, do not decide again.
 * Units:    replicas; ordinals of a StatefulSet's cell start at slot * 1000.
 * Ownership: the struct owns everything; placement_done() releases it.
 * Errors:   ERR_INVALID names the field's path, its value and the remedy.
 */
#ifndef BULKHEAD_API_PLACEMENT_H
#define BULKHEAD_API_PLACEMENT_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define PLACEMENT_CELLS_MAX 16384
#define PLACEMENT_SLOT_MAX 2000000 /* slot * 1000 stays an int32 */

struct placement_cell {
    char *zone;
    char *cluster;
    int32_t replicas;
    int32_t slot; /* -1: none, as for a Deployment */
};

struct placement_revision {
    char *zone;
    char *revision; /* the ControllerRevision that runs there */
};

/* What outlives the operation that asked for it; absent parts leave the policy as declared. */
struct placement_overrides {
    char **avoid_zones;
    int32_t avoid_zone_count;
    int32_t min_zones;           /* 0: as declared */
    int32_t max_zone_percent;    /* 0: as declared */
    int32_t max_cluster_percent; /* 0: as declared */
    bool extension;              /* false: as declared */
};

struct placement {
    char *ns; /* NULL when the document names none */
    char *name;
    char *input_hash; /* NULL when absent */
    bool hash_known;  /* it is of a version this program writes */
    struct placement_cell *cells;
    int32_t cell_count;
    struct placement_revision *revisions;
    int32_t revision_count;
    struct placement_overrides overrides;
};

/* Reads a whole Placement. On success the caller releases *ret_placement with placement_done(); on
 * failure it is untouched. */
int placement_parse(const json_t *root, struct placement *ret_placement, struct err *err);

/* Releases what the struct owns and zeroes it; NULL and all-zero are fine. */
void placement_done(struct placement *placement);

#endif
