/* placing.h - decides the Placement of one app from what the world knows.
 *
 * Gathers zones, cells and room, asks core/topology, and says what the Placement should be. Writes
 * nothing. A new decision is made only when replicas or policy changed, a rebalance was asked for,
 * or replicas are owed, as those are whose pods waited too long for a node in an elastic cell; a
 * fault, a pod's death, other inventory or a restart changes nothing.
 * Ownership: placing_done() releases a result.
 */
#ifndef BULKHEAD_CONTROLLER_PLACING_H
#define BULKHEAD_CONTROLLER_PLACING_H

#include "controller/world.h"
#include "core/topology.h"

#define PLACING_HASH_SIZE 48 /* "v1:", 16 hex digits, ":", replicas */

struct placing_cell {
    char *zone;
    char *cluster;
    int child; /* -1: there is no such child any more */
    int32_t replicas;
    int32_t slot; /* -1: none */
    enum topology_reason reason;
    bool frozen;
};

struct placing_zone {
    char *name;
    int32_t replicas;
    enum topology_reason reason;
};

enum placing_outcome {
    PLACING_KEPT,     /* nothing asked for a decision, or it came out the same */
    PLACING_DECIDED,  /* the Placement has to be written */
    PLACING_REJECTED, /* it cannot be met and the policy says to keep the last one */
    PLACING_WAITS,    /* what it depends on is not known yet: hold */
};

struct placing {
    enum placing_outcome outcome;
    const char *waits_for; /* with PLACING_WAITS: for people; static storage */
    enum topology_change change;
    char input_hash[PLACING_HASH_SIZE];
    const char *rebalanced;     /* token that this answers; NULL: none. Borrowed from the app */
    struct placing_cell *cells; /* all that were considered, zero ones too */
    int32_t cell_count;
    struct placing_zone *zones; /* ascending */
    int32_t zone_count;
    int32_t shortfall;
    int32_t moves;
    enum topology_block block;
    bool beyond_cap;
    int32_t next_slot;
    int32_t overdue;     /* of elastic cells: replicas that waited too long for a node */
    int64_t again_at_ms; /* when a wait for nodes runs out; INT64_MAX: none does */
};

/* Decides. decision may be NULL: what the children run is then adopted. ERR_INVALID for an app that
 * no decision can be made for, with the words for its owner; *ret is then untouched. */
int placing_decide(struct world *world, const struct app *app, const struct decision *decision,
                   int64_t now_ms, struct placing *ret, struct err *err);

/* Releases what a result owns and zeroes it. */
void placing_done(struct placing *placing);

/* Whether an app may have cells in a child: its region, its labels, its namespaces; never in our
 * own namespace (safety rule 11). */
bool placing_eligible(struct world *world, const struct app *app, const struct child *child);

#endif
