/* appdefinition.h - reconciles one AppDefinition: decides its Placement and says how it stands.
 *
 * Writes the Placement, the ControllerRevisions that zones run, our finalizer and the app's status;
 * never the app's spec, and nothing in a child (placement.h does, from the persisted Placement).
 */
#ifndef BULKHEAD_CONTROLLER_APPDEFINITION_H
#define BULKHEAD_CONTROLLER_APPDEFINITION_H

#include "controller/plan.h"
#include "controller/world.h"

/* Fills plan for the app of this key ("NS/NAME"); an app that is gone needs nothing. */
int appdefinition_reconcile(struct world *world, const char *key, int64_t now_ms, struct plan *plan,
                            struct err *err);

/* The name of the ControllerRevision that holds the workload spec with this hash. */
void appdefinition_revision_name(const char *app, const char *hash, char *ret_name,
                                 size_t size_bytes);

#endif
