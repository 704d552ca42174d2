/* plan.h - what a reconciler wants written: steps in lanes, one lane for each target.
 *
 * Order holds inside a lane; lanes are independent, so that one dead child never delays another.
 * What must be persisted before something else follows is kept apart by level: a child is written
 * only from a Placement that the hub has already answered with.
 * Ownership: the plan owns everything that is added to it; plan_done() releases it.
 * Limits:    PLAN_STEPS_MAX steps a lane; more are left for the next pass, which the plan asks for.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_PLAN_H
#define BULKHEAD_CONTROLLER_PLAN_H

#include "base/queue.h"
#include "kube/client.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define PLAN_HUB 0 /* the target that is the hub; child i is target i + 1 */
#define PLAN_STEPS_MAX 256

struct plan_step {
    enum kube_verb verb;
    char *group;
    char *version;
    char *resource;
    char *ns;
    char *name;
    char *subresource;
    char *body;
    size_t body_bytes;
    const char *manager;     /* static storage; NULL: none */
    const char *propagation; /* static storage; NULL: the server's default */
    char *uid;               /* delete precondition */
    char *rv;                /* delete precondition */
    bool force;
    bool ungated;       /* sent without dispatch's leave to write: the Lease itself */
    bool once;          /* an Event: what becomes of it is not remembered, nor its doubt resolved */
    int64_t timeout_ms; /* 0: the transport's own */
};

struct plan_lane {
    int target;
    enum queue_lane priority;
    struct plan_step *steps;
    int count;
    int room_count;
};

/* A fact for people, about an object of ours in the hub. */
struct plan_event {
    char *kind;
    char *ns; /* "" for what has none */
    char *name;
    char *uid;
    bool warning;
    char *reason;
    char *action;
    char *note;
};

struct plan {
    struct plan_event *events;
    int event_count;
    int event_room;
    struct plan_lane *lanes;
    int count;
    int room_count;
    int64_t again_at_ms; /* monotonic; 0: only when something changes */
};

/* Releases what the plan owns and zeroes it; all-zero and NULL are fine. */
void plan_done(struct plan *plan);

/* Appends a step to the lane of target, which is made if it is not there; a lane has the best
 * priority of its steps. The texts of where are copied. Returns the step, to be filled further and
 * valid until the next call; NULL when the lane is full: come again. */
struct plan_step *plan_add(struct plan *plan, int target, enum queue_lane priority,
                           enum kube_verb verb, const struct url_target *where);

/* plan_add() of a server-side apply by manager, which takes its fields from others (force): they
 * are ours by contract. Takes the reference to body. */
void plan_apply(struct plan *plan, int target, enum queue_lane priority,
                const struct url_target *where, const char *manager, json_t *body);

/* plan_add() of a delete, only of the object with this uid. propagation may be NULL. */
void plan_delete(struct plan *plan, int target, enum queue_lane priority,
                 const struct url_target *where, const char *uid, const char *propagation);

/* Writes the status of one of our own kinds in the hub if it is not what old (may be NULL) says,
 * and tells each condition that flipped or has a new reason as an Event. where has no subresource.
 * Takes the reference to status. */
void plan_status(struct plan *plan, const struct url_target *where, const char *kind,
                 const char *uid, const json_t *old, json_t *status);

/* Tells a fact about an object. */
void plan_event(struct plan *plan, const struct plan_event *event);

/* Asks for another pass at due_ms at the latest; the earliest ask counts. */
void plan_again_at(struct plan *plan, int64_t due_ms);

/* The call of a step; borrows from it. */
struct kube_call plan_step_call(const struct plan_step *step);

/* Releases one step's texts and zeroes it. */
void plan_step_done(struct plan_step *step);

/* A number that differs, but for chance, when where or what is written differs: FNV-1a 64. */
uint64_t plan_step_digest(const struct plan_step *step);

/* The same of the object alone, whatever is done with it or with a subresource of it. */
uint64_t plan_step_object(const struct plan_step *step);

#endif
