/* companions.h - keeps copies of what an app's pod template names in every child that runs it.
 *
 * A copy carries our label; what somebody else put under the name is left alone and used, but for a
 * ServiceAccount, which must carry bulkhead.dev/allow-apps. Copies that no app of the namespace
 * names any more go with the last of them.
 */
#ifndef BULKHEAD_CONTROLLER_COMPANIONS_H
#define BULKHEAD_CONTROLLER_COMPANIONS_H

#include "controller/plan.h"
#include "controller/world.h"

/* Plans the reads and writes that are due in a child. Returns 1 once everything is there, 0 while
 * something is on its way; or ERR_INVALID with words for the owner, when a name is missing in the
 * hub or is a ServiceAccount that may not be used. */
int companions_plan(struct world *world, const struct app *app, const struct child *child,
                    int64_t now_ms, struct plan *plan, struct err *err);

/* Plans the removal of the copies that only this app names. Returns whether none is left. */
bool companions_remove(struct world *world, const struct app *app, const struct child *child,
                       int64_t now_ms, struct plan *plan);

#endif
