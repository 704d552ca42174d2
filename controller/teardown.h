/* teardown.h - removes what an app has in children, and lets the app go once all of it is gone.
 *
 * Deletes by uid, and only in a child whose view is fresh; a silent child keeps the app's finalizer
 * and is named in the app's status, a Lost one releases it. deletionPolicy Orphan removes nothing.
 * Safety:    when more than max(20, 10 %) of the apps vanish within five minutes, all deletion is
 *            held until a person confirms it (world_deletions_held()).
 */
#ifndef BULKHEAD_CONTROLLER_TEARDOWN_H
#define BULKHEAD_CONTROLLER_TEARDOWN_H

#include "controller/plan.h"
#include "controller/world.h"

/* Plans the next deletions of a deleted app or, when nothing is left, the end of its finalizer;
 * says in status what it waits for. */
void teardown_plan(struct world *world, const struct app *app, int64_t now_ms, struct plan *plan);

/* Plans the deletion of the Services and budgets of an app in a child that has no workload and no
 * cell of it any more. Returns whether nothing is left. */
bool teardown_leftovers(struct world *world, const struct app *app, const struct child *child,
                        struct plan *plan);

#endif
