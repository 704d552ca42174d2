/* dispatch.h - the only sender: carries plans out, lane by lane, and says what came of each step.
 *
 * A newer plan of a key drops the unsent steps of the older one. While a step of a key is in flight
 * to a target, the newer plan's lane to it is left out: the answer brings the key back. What was
 * sent and not answered is uncertain: the object is read live before anything more of that key is
 * written there.
 * Bounds:    in flight a target; 429 and 5xx that name a wait are resent after it (C22).
 * Failures:  a step that only a change can help (400, 403, 413, 422 and their like) stops its
 * object and the rest of the lane goes on; any other failed step ends the lane. The same step is
 *            held back with growing waits, a changed one is not.
 * Gate:      may_write() is asked before every write; without it nothing but reads is sent.
 * Ownership: a submitted plan's steps move in. Clients are the caller's; set NULL before they go.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_DISPATCH_H
#define BULKHEAD_CONTROLLER_DISPATCH_H

#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"
#include "controller/plan.h"

#define DISPATCH_TARGETS_MAX 1025 /* the hub and every child */
#define DISPATCH_BACKOFF_FIRST_MS 50
#define DISPATCH_BACKOFF_MAX_MS 300000
#define DISPATCH_INVALID_WAIT_MS 300000 /* for a step that only a change can help */

/* What became of one step. */
struct dispatch_report {
    const char *key;
    int target;
    const struct plan_step *step;
    const struct kube_reply *reply; /* NULL: it was never sent */
    int code;                       /* 0, or an enum err_code */
    bool lane_done;                 /* it was the lane's last: finished or given up */
    bool failing;                   /* something of the lane is held back since it failed */
    bool again;                     /* a newer plan was left out meanwhile: reconcile the key */
    int64_t retry_at_ms;            /* with code < 0: when the key should be tried again */
};

struct dispatch_options {
    const struct clock *clock;
    struct random rng;
    int hub_in_flight_max;
    int child_in_flight_max;
    bool (*may_write)(void *arg);
    /* Told of each step, and of live reads, whose verb is KUBE_GET. Must not submit. */
    void (*report)(void *arg, const struct dispatch_report *report);
    void *arg;
};

struct dispatch_counts {
    uint64_t sent;
    uint64_t failed;
    uint64_t resent;
    uint64_t gated; /* writes not sent for want of may_write() */
    int in_flight;
    int waiting; /* lanes with steps that are not sent yet */
};

struct dispatch;

/* A dispatch without targets. Release with dispatch_free(). */
struct dispatch *dispatch_new(const struct dispatch_options *options);

/* Cancels what is in flight and releases everything; NULL is fine. */
void dispatch_free(struct dispatch *dispatch);

/* Names or, with NULL, takes away the client of a target. Steps in flight to it become uncertain,
 * unsent ones are dropped and their keys reported with ERR_RETRY. */
void dispatch_target_set(struct dispatch *dispatch, int target, struct kube_client *client);

/* Takes over the plan, which is empty afterwards. Lanes without steps and targets without a client
 * are dropped. Returns when the key has to be reconciled again because steps are held back;
 * INT64_MAX: no need. */
int64_t dispatch_submit(struct dispatch *dispatch, const char *key, struct plan *plan,
                        int64_t now_ms);

/* Starts what may start. Returns when to come again; INT64_MAX: only after an answer. */
int64_t dispatch_turn(struct dispatch *dispatch, int64_t now_ms);

/* Whether nothing of this key is waiting or in flight. */
bool dispatch_idle(const struct dispatch *dispatch, const char *key);

/* Whether something of this key is held back from this target since it failed. */
bool dispatch_failing(const struct dispatch *dispatch, const char *key, int target);

/* Numbers for metrics. */
struct dispatch_counts dispatch_counts(const struct dispatch *dispatch);

#endif
