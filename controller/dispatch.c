#include "controller/dispatch.h"

#include "base/str.h"
#include "controller/hold.h"
#include "kube/status.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

enum lane_state {
    LANE_REST,    /* nothing to send; kept for its failures or its doubt */
    LANE_WAITS,   /* in its target's list */
    LANE_SENT,    /* a step or a live read is in flight */
    LANE_RESENDS, /* waits out a Retry-After */
};

struct lane {
    struct key *owner;
    int target;
    enum queue_lane priority;
    enum lane_state state;
    struct plan_step *steps;
    int count;
    int next;
    uint64_t digest; /* of all its steps, those that are done too */
    uint64_t call;   /* id of what is in flight */
    bool reading;    /* what is in flight is the live read of doubt */
    bool left_out;   /* a newer plan's lane was left out while this one was in flight */
    bool in_doubt;   /* doubt names an object whose last write had no answer */
    struct plan_step doubt;
    int resent_count;
    int64_t resend_ms;
    unsigned failures;
    struct holds holds;
    struct lane *next_lane; /* of the same key */
    struct lane *prev;      /* in the target's list, or in the list of resends */
    struct lane *after;
    struct dispatch *dispatch;
};

struct key {
    char *name;
    struct lane *lanes;
    UT_hash_handle hh;
};

struct target {
    struct kube_client *client;
    int in_flight;
    struct lane *waiting[QUEUE_LANE_COUNT];
};

struct dispatch {
    struct dispatch_options options;
    struct target *targets;
    int target_count; /* one more than the highest that ever had a client */
    struct key *keys;
    struct lane *resends;
    struct dispatch_counts counts;
};

static void lane_start(struct lane *lane, int64_t now_ms);

struct dispatch *dispatch_new(const struct dispatch_options *options) {
    struct dispatch *dispatch = str_alloc(1, sizeof *dispatch);

    dispatch->options = *options;
    dispatch->targets = str_alloc(DISPATCH_TARGETS_MAX, sizeof *dispatch->targets);
    return dispatch;
}

static void steps_drop(struct lane *lane) {
    for (int i = lane->next; i < lane->count; i++)
        plan_step_done(&lane->steps[i]);
    free(lane->steps);
    lane->steps = NULL;
    lane->count = 0;
    lane->next = 0;
}

static void lane_unlist(struct lane *lane) {
    struct dispatch *dispatch = lane->dispatch;

    if (lane->state == LANE_WAITS) {
        DL_DELETE2(dispatch->targets[lane->target].waiting[lane->priority], lane, prev, after);
        dispatch->counts.waiting--;
    } else if (lane->state == LANE_RESENDS) {
        DL_DELETE2(dispatch->resends, lane, prev, after);
    } else if (lane->state == LANE_SENT) {
        dispatch->targets[lane->target].in_flight--;
        dispatch->counts.in_flight--;
    }
    lane->state = LANE_REST;
}

static void lane_free(struct lane *lane) {
    steps_drop(lane);
    plan_step_done(&lane->doubt);
    holds_done(&lane->holds);
    free(lane);
}

static void key_free(struct dispatch *dispatch, struct key *key) {
    HASH_DEL(dispatch->keys, key);
    free(key->name);
    free(key);
}

void dispatch_free(struct dispatch *dispatch) {
    struct key *key, *next_key;

    if (!dispatch)
        return;
    HASH_ITER(hh, dispatch->keys, key, next_key) {
        for (struct lane *lane = key->lanes, *next; lane; lane = next) {
            next = lane->next_lane;
            if (lane->state == LANE_SENT)
                kube_client_cancel(dispatch->targets[lane->target].client, lane->call);
            lane_unlist(lane);
            lane_free(lane);
        }
        key_free(dispatch, key);
    }
    free(dispatch->targets);
    free(dispatch);
}

/* Forgets a lane, and its key with the last one, once nothing has to be remembered of it. */
static void lane_settle(struct lane *lane) {
    struct key *key = lane->owner;

    if (lane->state != LANE_REST || lane->failures || lane->in_doubt || lane->holds.count)
        return;
    for (struct lane **at = &key->lanes; *at; at = &(*at)->next_lane) {
        if (*at == lane) {
            *at = lane->next_lane;
            break;
        }
    }
    struct dispatch *dispatch = lane->dispatch;

    lane_free(lane);
    if (!key->lanes)
        key_free(dispatch, key);
}

static void report(struct lane *lane, const struct plan_step *step, const struct kube_reply *reply,
                   int code, bool lane_done, int64_t retry_at_ms) {
    const struct dispatch_options *options = &lane->dispatch->options;
    const struct dispatch_report told = {
        .key = lane->owner->name,
        .target = lane->target,
        .step = step,
        .reply = reply,
        .code = code,
        .lane_done = lane_done,
        .failing = lane->holds.count > 0,
        .again = lane_done && lane->left_out,
        .retry_at_ms = retry_at_ms,
    };

    if (lane_done)
        lane->left_out = false;
    if (options->report)
        options->report(options->arg, &told);
}

static void lane_wait(struct lane *lane) {
    struct dispatch *dispatch = lane->dispatch;

    lane->state = LANE_WAITS;
    dispatch->counts.waiting++;
    DL_APPEND2(dispatch->targets[lane->target].waiting[lane->priority], lane, prev, after);
}

/* Gives the lane up after its step failed: the rest of it is dropped. */
static void lane_fail(struct lane *lane, const struct kube_reply *reply, int code, int64_t now_ms) {
    const struct plan_step *step = &lane->steps[lane->next];
    const unsigned doublings = lane->failures < 16 ? lane->failures : 16;
    int64_t wait_ms = (int64_t)DISPATCH_BACKOFF_FIRST_MS << doublings;

    if (wait_ms > DISPATCH_BACKOFF_MAX_MS)
        wait_ms = DISPATCH_BACKOFF_MAX_MS;
    wait_ms = random_jitter_ms(&lane->dispatch->options.rng, wait_ms, 100);
    lane->dispatch->counts.failed++;
    if (!step->once) {
        lane->failures++;
        holds_note(&lane->holds, step, false, now_ms + wait_ms);
    }
    report(lane, step, reply, code, true, now_ms + wait_ms);
    steps_drop(lane);
    lane_settle(lane);
}

/* Goes on to the next step, or rests after the last. */
static void lane_go_on(struct lane *lane) {
    plan_step_done(&lane->steps[lane->next]);
    lane->next++;
    if (lane->next < lane->count) {
        lane_wait(lane);
        return;
    }
    steps_drop(lane);
    lane_settle(lane);
}

/* Only a change can help this step: what concerns other objects does not wait for it. */
static void step_refused(struct lane *lane, const struct kube_reply *reply, int64_t now_ms) {
    const struct plan_step *step = &lane->steps[lane->next];
    const int64_t until_ms = now_ms + DISPATCH_INVALID_WAIT_MS;

    lane->dispatch->counts.failed++;
    if (!step->once)
        holds_note(&lane->holds, step, true, until_ms);
    lane->count =
        holds_drop_object(lane->steps, lane->next + 1, lane->count, plan_step_object(step));
    report(lane, step, reply, ERR_INVALID, lane->next + 1 == lane->count, until_ms);
    lane_go_on(lane);
}

/* What the answer to a write means for the lane: 0, or an enum err_code. */
static int reply_code(const struct plan_step *step, const struct kube_reply *reply) {
    if (kube_reply_ok(reply))
        return 0;
    if (reply->end == HTTP_UNTRUSTED || reply->end == HTTP_REFUSED)
        return ERR_RETRY;
    if (reply->end != HTTP_DONE)
        return ERR_RETRY;
    if (reply->status == 404 && (step->verb == KUBE_DELETE || step->verb == KUBE_GET))
        return 0; /* it is gone, which is what was wanted to be known */
    switch (status_action(reply->status, reply->reason)) {
    case STATUS_READ_AGAIN:
    case STATUS_RELIST:
        return ERR_CONFLICT;
    case STATUS_GONE:
        return ERR_NOTFOUND;
    case STATUS_REPORT:
        return ERR_INVALID;
    case STATUS_BACKOFF:
    case STATUS_LOGIN:
        break;
    }
    return ERR_RETRY;
}

static bool uncertain(const struct plan_step *step, const struct kube_reply *reply) {
    return step->verb != KUBE_GET && (reply->end == HTTP_BROKEN || reply->end == HTTP_TIMEOUT ||
                                      reply->end == HTTP_TOO_LARGE);
}

/* Remembers which object has to be read before anything more of this lane is written. */
static void lane_doubt(struct lane *lane, const struct plan_step *step) {
    plan_step_done(&lane->doubt);
    lane->doubt = (struct plan_step){
        .verb = KUBE_GET,
        .group = str_dup(step->group),
        .version = str_dup(step->version),
        .resource = str_dup(step->resource),
        .ns = str_dup(step->ns),
        .name = str_dup(step->name),
        .uid = str_dup(step->uid),
    };
    lane->in_doubt = step->name != NULL;
}

static bool resend(struct lane *lane, const struct kube_reply *reply, int64_t now_ms) {
    int64_t wait_ms;

    if (reply->end != HTTP_DONE ||
        !status_resend(reply->status, reply->retry_after_ms, lane->resent_count, &wait_ms))
        return false;
    lane->resent_count++;
    lane->dispatch->counts.resent++;
    lane->resend_ms = now_ms + random_jitter_ms(&lane->dispatch->options.rng, wait_ms, 100);
    lane->state = LANE_RESENDS;
    DL_APPEND2(lane->dispatch->resends, lane, prev, after);
    return true;
}

/* The live read of an object in doubt was answered. */
static void doubt_answered(struct lane *lane, const struct kube_reply *reply, int64_t now_ms) {
    const int code = reply_code(&lane->doubt, reply);

    lane->reading = false;
    if (code < 0) {
        if (lane->count > lane->next)
            lane_fail(lane, reply, code, now_ms);
        else
            report(lane, &lane->doubt, reply, code, true,
                   now_ms + random_jitter_ms(&lane->dispatch->options.rng, 1000, 500));
        return;
    }
    lane->in_doubt = false;
    report(lane, &lane->doubt, reply, 0, true, 0);
    /* What was planned was planned in ignorance of this answer: the key is reconciled again. */
    steps_drop(lane);
    lane_settle(lane);
}

static void step_answered(struct lane *lane, const struct kube_reply *reply, int64_t now_ms) {
    struct plan_step *step = &lane->steps[lane->next];
    const int code = reply_code(step, reply);

    if (code < 0 && resend(lane, reply, now_ms))
        return;
    if (uncertain(step, reply) && !step->once) {
        lane_doubt(lane, step);
        lane_fail(lane, reply, ERR_RETRY, now_ms);
        return;
    }
    lane->resent_count = 0;
    if (code == ERR_INVALID) {
        step_refused(lane, reply, now_ms);
        return;
    }
    if (code < 0) {
        lane_fail(lane, reply, code, now_ms);
        return;
    }
    lane->failures = 0;
    holds_forget(&lane->holds, step);
    report(lane, step, reply, 0, lane->next + 1 == lane->count, 0);
    lane_go_on(lane);
}

static void answered(void *arg, const struct kube_reply *reply) {
    struct lane *lane = arg;
    const int64_t now_ms = clock_mono_ms(lane->dispatch->options.clock);

    lane_unlist(lane);
    if (lane->reading)
        doubt_answered(lane, reply, now_ms);
    else
        step_answered(lane, reply, now_ms);
}

/* Sends the lane's next step, or first the live read that it owes. */
static void lane_start(struct lane *lane, int64_t now_ms) {
    struct dispatch *dispatch = lane->dispatch;
    struct target *target = &dispatch->targets[lane->target];
    const struct plan_step *step = lane->in_doubt ? &lane->doubt : &lane->steps[lane->next];
    const struct kube_call call = plan_step_call(step);
    struct kube_reply unsent = {.end = HTTP_REFUSED, .reason = "", .warning = "", .body = ""};
    struct err err = {0};

    lane_unlist(lane);
    if (kube_client_call(target->client, &call, answered, lane, &lane->call, &err) < 0) {
        unsent.message = err.msg;
        if (lane->in_doubt)
            lane->in_doubt = false; /* an object that cannot be named was never written */
        if (lane->count > lane->next)
            step_refused(lane, &unsent, now_ms);
        return;
    }
    lane->reading = lane->in_doubt;
    lane->state = LANE_SENT;
    target->in_flight++;
    dispatch->counts.in_flight++;
    dispatch->counts.sent++;
}

static bool lane_may_start(struct lane *lane) {
    const struct dispatch_options *options = &lane->dispatch->options;

    if (lane->in_doubt || lane->steps[lane->next].verb == KUBE_GET ||
        lane->steps[lane->next].ungated || !options->may_write)
        return true;
    return options->may_write(options->arg);
}

static void target_turn(struct dispatch *dispatch, int number, int64_t now_ms) {
    struct target *target = &dispatch->targets[number];
    const int most = number == PLAN_HUB ? dispatch->options.hub_in_flight_max
                                        : dispatch->options.child_in_flight_max;

    for (int priority = 0; priority < QUEUE_LANE_COUNT; priority++) {
        while (target->client && target->in_flight < most && target->waiting[priority]) {
            struct lane *lane = target->waiting[priority];

            if (lane_may_start(lane)) {
                lane_start(lane, now_ms);
                continue;
            }
            /* A write without leave is dropped, not kept: whoever leads next decides afresh. */
            lane_unlist(lane);
            dispatch->counts.gated++;
            steps_drop(lane);
            lane_settle(lane);
        }
    }
}

int64_t dispatch_turn(struct dispatch *dispatch, int64_t now_ms) {
    int64_t due_ms = INT64_MAX;
    struct lane *lane, *next;

    DL_FOREACH_SAFE2(dispatch->resends, lane, next, after) {
        if (lane->resend_ms <= now_ms) {
            lane_unlist(lane);
            lane_wait(lane);
        } else if (lane->resend_ms < due_ms) {
            due_ms = lane->resend_ms;
        }
    }
    for (int i = 0; dispatch->counts.waiting > 0 && i < dispatch->target_count; i++)
        target_turn(dispatch, i, now_ms);
    return due_ms;
}

void dispatch_target_set(struct dispatch *dispatch, int number, struct kube_client *client) {
    struct target *target = &dispatch->targets[number];
    struct key *key, *next_key;

    if (target->client == client)
        return;
    HASH_ITER(hh, dispatch->keys, key, next_key) {
        for (struct lane *lane = key->lanes, *next; lane; lane = next) {
            next = lane->next_lane;
            if (lane->target != number || lane->state == LANE_REST)
                continue;
            if (lane->state == LANE_SENT) {
                kube_client_cancel(target->client, lane->call);
                if (!lane->reading && lane->steps[lane->next].verb != KUBE_GET)
                    lane_doubt(lane, &lane->steps[lane->next]);
            }
            lane_unlist(lane);
            lane->reading = false;
            if (lane->count > lane->next)
                report(lane, &lane->steps[lane->next], NULL, ERR_RETRY, true, 0);
            steps_drop(lane);
            lane_settle(lane);
        }
    }
    target->client = client;
    if (client && number >= dispatch->target_count)
        dispatch->target_count = number + 1;
}

static struct lane *lane_find(struct dispatch *dispatch, const char *name, int target, bool make) {
    struct key *key;
    struct lane *lane;

    HASH_FIND_STR(dispatch->keys, name, key);
    if (!key && !make)
        return NULL;
    if (!key) {
        key = str_alloc(1, sizeof *key);
        key->name = str_dup(name);
        HASH_ADD_KEYPTR(hh, dispatch->keys, key->name, strlen(key->name), key);
    }
    for (lane = key->lanes; lane; lane = lane->next_lane)
        if (lane->target == target)
            return lane;
    if (!make)
        return NULL;
    lane = str_alloc(1, sizeof *lane);
    lane->owner = key;
    lane->target = target;
    lane->dispatch = dispatch;
    lane->next_lane = key->lanes;
    key->lanes = lane;
    return lane;
}

static uint64_t lane_digest(const struct plan_step *steps, int count) {
    uint64_t digest = (uint64_t)count;

    for (int i = 0; i < count; i++)
        digest = digest * UINT64_C(0x100000001b3) ^ plan_step_digest(&steps[i]);
    return digest;
}

/* Whether the newer plan wants just what the lane is in the middle of: it then goes on. Otherwise
 * one that is planned anew faster than it is answered would never get beyond its first step. */
static bool goes_on(const struct lane *lane, const struct plan *plan) {
    for (int i = 0; i < plan->count; i++)
        if (plan->lanes[i].target == lane->target)
            return lane->state != LANE_REST && lane->count > lane->next && !lane->in_doubt &&
                   lane->digest == lane_digest(plan->lanes[i].steps, plan->lanes[i].count);
    return false;
}

static bool plan_writes_to(const struct plan *plan, int target) {
    for (int i = 0; i < plan->count; i++)
        if (plan->lanes[i].target == target)
            return true;
    return false;
}

/* Takes out of the plan what failed and is held back. Returns when the first of it may be sent. */
static int64_t key_sift(struct dispatch *dispatch, const char *name, struct plan *plan,
                        int64_t now_ms) {
    int64_t again_ms = INT64_MAX;

    for (int i = 0; i < plan->count; i++) {
        struct lane *lane = lane_find(dispatch, name, plan->lanes[i].target, false);
        const int64_t until_ms =
            lane ? holds_sift(&lane->holds, &plan->lanes[i], now_ms) : INT64_MAX;

        if (until_ms < again_ms)
            again_ms = until_ms;
    }
    return again_ms;
}

/* Drops what the key had waiting: the newer plan knows better. A target that it no longer writes to
 * is forgotten, failures and doubts with it. */
static void key_supersede(struct dispatch *dispatch, const char *name, const struct plan *plan) {
    struct key *key;

    HASH_FIND_STR(dispatch->keys, name, key);
    for (struct lane *lane = key ? key->lanes : NULL, *next; lane; lane = next) {
        next = lane->next_lane;
        if (goes_on(lane, plan))
            continue;
        if (lane->state == LANE_SENT) {
            for (int i = lane->next + 1; i < lane->count; i++)
                plan_step_done(&lane->steps[i]);
            if (lane->count > lane->next)
                lane->count = lane->next + 1;
            continue;
        }
        lane_unlist(lane);
        steps_drop(lane);
        lane->resent_count = 0;
        if (!plan_writes_to(plan, lane->target)) {
            lane->failures = 0;
            lane->in_doubt = false;
            holds_done(&lane->holds);
        }
        lane_settle(lane);
    }
}

int64_t dispatch_submit(struct dispatch *dispatch, const char *name, struct plan *plan,
                        int64_t now_ms) {
    const int64_t again_ms = key_sift(dispatch, name, plan, now_ms);

    key_supersede(dispatch, name, plan);
    for (int i = 0; i < plan->count; i++) {
        struct plan_lane *planned = &plan->lanes[i];

        assert(planned->target >= 0 && planned->target < DISPATCH_TARGETS_MAX);
        if (planned->count == 0 || !dispatch->targets[planned->target].client)
            continue;
        struct lane *lane = lane_find(dispatch, name, planned->target, true);

        if (goes_on(lane, plan))
            continue;
        if (lane->state == LANE_SENT) {
            lane->left_out = true;
            continue;
        }
        lane->digest = lane_digest(planned->steps, planned->count);
        lane->steps = planned->steps;
        lane->count = planned->count;
        lane->next = 0;
        lane->priority = planned->priority;
        planned->steps = NULL;
        planned->count = 0;
        lane_wait(lane);
    }
    plan_done(plan);
    return again_ms;
}

bool dispatch_idle(const struct dispatch *dispatch, const char *name) {
    struct key *key;

    HASH_FIND_STR(dispatch->keys, name, key);
    for (const struct lane *lane = key ? key->lanes : NULL; lane; lane = lane->next_lane)
        if (lane->state != LANE_REST)
            return false;
    return true;
}

bool dispatch_failing(const struct dispatch *dispatch, const char *name, int target) {
    struct key *key;

    HASH_FIND_STR(dispatch->keys, name, key);
    for (const struct lane *lane = key ? key->lanes : NULL; lane; lane = lane->next_lane)
        if (lane->target == target)
            return lane->holds.count > 0;
    return false;
}

struct dispatch_counts dispatch_counts(const struct dispatch *dispatch) {
    return dispatch->counts;
}
