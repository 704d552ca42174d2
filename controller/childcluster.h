/* childcluster.h - reconciles one ChildCluster: its credentials, its identity, its status.
 *
 * Plans the live reads by which a child is known and heard, and says in status what is wrong and
 * what to do about it. A child whose kube-system namespace has another uid than when it joined is
 * never written to (C78a).
 */
#ifndef BULKHEAD_CONTROLLER_CHILDCLUSTER_H
#define BULKHEAD_CONTROLLER_CHILDCLUSTER_H

#include "controller/plan.h"
#include "controller/world.h"

/* Fills plan for the child of this name; a child that is gone needs nothing. Returns 0. */
int childcluster_reconcile(struct world *world, const char *name, int64_t now_ms, struct plan *plan,
                           struct err *err);

#endif
