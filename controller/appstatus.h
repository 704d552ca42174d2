/* appstatus.h - what an AppDefinition's status says: numbers by zone and cluster, and why.
 *
 * Pure but for what it reads of the world. Ownership: returns a new reference.
 */
#ifndef BULKHEAD_CONTROLLER_APPSTATUS_H
#define BULKHEAD_CONTROLLER_APPSTATUS_H

#include "controller/placing.h"
#include "controller/world.h"
#include "core/rollout.h"

/* What a pass found out. */
struct appstatus_input {
    const struct app *app;
    const struct placing *placing; /* NULL: the app is not valid, or is being deleted */
    const char *rollout;           /* reason of the last rollout step; NULL: none */
    const char *blocked;           /* what deletion waits for; NULL: nothing */
};

/* The whole status, conditions carried over from the present one. */
json_t *appstatus_new(struct world *world, const struct appstatus_input *in, int64_t now_ms);

#endif
