/* placement.h - carries a persisted Placement out: the app's objects in every child.
 *
 * A child is written only while it is fresh; one that is silent is held as it is. The first write
 * of an object follows a live read that found nothing under its name. Replicas are owned through
 * /scale; moves are made before broken (core/handover.h). A deleted app's objects are removed, and
 * its finalizer with the last of them.
 */
#ifndef BULKHEAD_CONTROLLER_PLACEMENT_H
#define BULKHEAD_CONTROLLER_PLACEMENT_H

#include "controller/plan.h"
#include "controller/world.h"

/* Fills plan for the app of this key ("NS/NAME"); an app that is gone needs nothing. */
int placement_reconcile(struct world *world, const char *key, int64_t now_ms, struct plan *plan,
                        struct err *err);

#endif
