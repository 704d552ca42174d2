/* hold.h - what a lane remembers of steps that failed, so that none is repeated before its time.
 *
 * A refused step (only a change of it can help) stops its object and nothing else; any other failed
 * step stops what follows it in the lane. A step that is planned no more is forgotten.
 * Ownership: the memory is the lane's; holds_done() releases it.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_HOLD_H
#define BULKHEAD_CONTROLLER_HOLD_H

#include "controller/plan.h"

struct hold {
    uint64_t step;   /* plan_step_digest() */
    uint64_t object; /* plan_step_object() */
    int64_t until_ms;
    bool refused;
    bool planned; /* seen in the plan that is being sifted */
};

/* All-zero is an empty memory. */
struct holds {
    struct hold *items;
    int count;
    int room_count;
};

/* Remembers a failed step until then, in place of what was remembered of it before. */
void holds_note(struct holds *holds, const struct plan_step *step, bool refused, int64_t until_ms);

/* Forgets a step, which succeeded. */
void holds_forget(struct holds *holds, const struct plan_step *step);

/* Takes out of a planned lane what must not be sent yet, and forgets what it no longer plans.
 * Returns when the first of those taken out may be sent; INT64_MAX: none was. */
int64_t holds_sift(struct holds *holds, struct plan_lane *lane, int64_t now_ms);

/* Takes the steps that concern an object out of steps[from .. count). Returns how many are left in
 * all. */
int holds_drop_object(struct plan_step *steps, int from, int count, uint64_t object);

/* Forgets everything; NULL is fine. */
void holds_done(struct holds *holds);

#endif
