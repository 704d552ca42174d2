#include "controller/manager.h"

#include "base/str.h"
#include "controller/appdefinition.h"
#include "controller/childcluster.h"
#include "controller/election.h"
#include "controller/placement.h"
#include "kube/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUB_IN_FLIGHT 32
#define CHILD_IN_FLIGHT 8
#define EVENT_PREFIX "event/"
#define LEASE_KEY "lease/" ELECTION_LEASE

typedef int reconcile(struct world *world, const char *key, int64_t now_ms, struct plan *plan,
                      struct err *err);

/* The kinds that are reconciled, by the first part of their keys. */
static const struct {
    const char *prefix;
    reconcile *reconcile;
} kinds[] = {
    {"app/", appdefinition_reconcile},
    {"cells/", placement_reconcile},
    {"child/", childcluster_reconcile},
};

struct manager {
    struct manager_options options;
    struct world *world;
    struct queue *queue;
    struct dispatch *dispatch;
    struct kube_client *hub_client;
    struct event_recorder *events;
    struct election *election; /* NULL: none */
    bool led;                  /* as of the last turn */
    bool observed;             /* likewise: mode Observe */
    bool stopping;
    uint64_t reconciled;
    uint64_t failed;
};

static void wake(void *arg, enum queue_lane lane, const char *key, int64_t due_ms) {
    struct manager *manager = arg;

    /* A full queue is refused: MANAGER_KEYS_MAX is beyond what the caches can hold. */
    if (due_ms)
        queue_add_at(manager->queue, lane, key, due_ms, NULL);
    else
        queue_add(manager->queue, lane, key, NULL);
}

static void target_changed(void *arg, int target, struct kube_client *client) {
    struct manager *manager = arg;

    if (manager->dispatch)
        dispatch_target_set(manager->dispatch, target, client);
}

static bool may_write(void *arg) {
    const struct manager *manager = arg;

    return !manager_observes(manager) && !manager->stopping &&
           manager_leads(manager, clock_mono_ms(manager->options.clock));
}

static void log_line(struct manager *manager, const char *line) {
    if (manager->options.log)
        manager->options.log(manager->options.arg, line);
}

static const char *target_name(struct manager *manager, int target) {
    const struct child *child =
        target == PLAN_HUB ? NULL : world_child_at(manager->world, target - 1);

    return target == PLAN_HUB ? "hub" : child ? child->meta.name : "a child that is gone";
}

static const char *verb_name(enum kube_verb verb) {
    static const char *const names[] = {"get",    "list",  "create", "replace",
                                        "delete", "apply", "patch",  "patch"};

    return names[verb];
}

static void log_step(struct manager *manager, const struct dispatch_report *told,
                     const char *words) {
    char line[768];

    snprintf(line, sizeof line, "%s: %s: %s %s %s%s%s%s%s: %s", told->key,
             target_name(manager, told->target), verb_name(told->step->verb), told->step->resource,
             told->step->ns ? told->step->ns : "", told->step->ns ? "/" : "",
             told->step->name ? told->step->name : "", told->step->subresource ? "/" : "",
             told->step->subresource ? told->step->subresource : "", words);
    log_line(manager, line);
}

static void step_failed(struct manager *manager, const struct dispatch_report *told) {
    char text[400] = "it was not sent";

    if (told->reply)
        kube_reply_text(told->reply, text, sizeof text);
    log_step(manager, told, text);
    manager->failed++;
    /* A conflict or a lost object passes with the next look; the rest is for people to see. */
    if (told->code != ERR_CONFLICT)
        world_refusal_set(manager->world, told->key, told->target, text);
    if (told->retry_at_ms)
        wake(manager, QUEUE_CAPACITY, told->key, told->retry_at_ms);
    else
        wake(manager, QUEUE_CAPACITY, told->key, 0);
}

static void report(void *arg, const struct dispatch_report *told) {
    struct manager *manager = arg;
    const int64_t now_ms = clock_mono_ms(manager->options.clock);

    if (strcmp(told->key, LEASE_KEY) == 0) {
        if (election_hear(manager->election, told->step, told->reply, now_ms))
            wake(manager, QUEUE_LEASE, LEASE_KEY, 0);
        return;
    }
    if (strncmp(told->key, EVENT_PREFIX, sizeof EVENT_PREFIX - 1) == 0) {
        event_done(manager->events, strtoull(told->key + sizeof EVENT_PREFIX - 1, NULL, 10),
                   told->reply, now_ms);
        return;
    }
    if (told->code < 0) {
        step_failed(manager, told);
        return;
    }
    const bool gone = told->reply->status == 404;

    world_hear(manager->world, told->target, told->step, gone, told->reply->body,
               told->reply->body_bytes);
    if (told->step->verb != KUBE_GET) {
        char text[400] = "done";

        /* A field that a server dropped is a feature that is off in silence (C62). */
        if (*told->reply->warning)
            snprintf(text, sizeof text, "done, but it warns: %s", told->reply->warning);
        log_step(manager, told, text);
    }
    /* The words stand while anything that was refused is still wanted and held back. */
    if (!told->failing)
        world_refusal_set(manager->world, told->key, told->target, NULL);
    /* What a live read found is in no cache that would ask for the key. */
    if (told->again || told->step->verb == KUBE_GET)
        wake(manager, QUEUE_CAPACITY, told->key, 0);
}

struct manager *manager_new(const struct manager_options *options) {
    struct manager *manager = str_alloc(1, sizeof *manager);

    manager->options = *options;
    manager->queue = queue_new(MANAGER_KEYS_MAX, clock_mono_ms(options->clock));
    manager->hub_client = kube_client_new(options->hub);
    const struct dispatch_options sending = {
        .clock = options->clock,
        .rng = {.state = random_next(&manager->options.rng)},
        .hub_in_flight_max =
            options->hub_in_flight_max ? options->hub_in_flight_max : HUB_IN_FLIGHT,
        .child_in_flight_max =
            options->child_in_flight_max ? options->child_in_flight_max : CHILD_IN_FLIGHT,
        .may_write = may_write,
        .report = report,
        .arg = manager,
    };
    manager->dispatch = dispatch_new(&sending);
    dispatch_target_set(manager->dispatch, PLAN_HUB, manager->hub_client);
    const struct world_options knowing = {
        .clock = options->clock,
        .rng = {.state = random_next(&manager->options.rng)},
        .ns = options->ns,
        .connect = options->connect,
        .connect_arg = options->arg,
        .wake = wake,
        .target = target_changed,
        .arg = manager,
    };
    manager->world = world_new(&knowing, options->hub);
    manager->events = event_recorder_new(
        "bulkhead.dev/controller", options->identity ? options->identity : "bulkhead",
        (struct random){.state = random_next(&manager->options.rng)});
    if (options->identity) {
        manager->election = election_new(options->ns, options->identity);
        wake(manager, QUEUE_LEASE, LEASE_KEY, 0);
    }
    return manager;
}

void manager_free(struct manager *manager) {
    if (!manager)
        return;
    dispatch_free(manager->dispatch);
    manager->dispatch = NULL;
    world_free(manager->world);
    election_free(manager->election);
    event_recorder_free(manager->events);
    kube_client_free(manager->hub_client);
    queue_free(manager->queue);
    free(manager);
}

static void events_record(struct manager *manager, const struct plan *plan, int64_t now_ms) {
    for (int i = 0; i < plan->event_count; i++) {
        const struct plan_event *event = &plan->events[i];
        const struct event_regarding regarding = {.api_version = "bulkhead.dev/v1alpha1",
                                                  .kind = event->kind,
                                                  .ns = event->ns,
                                                  .name = event->name,
                                                  .uid = event->uid};

        event_record(manager->events, &regarding, event->warning ? EVENT_WARNING : EVENT_NORMAL,
                     event->reason, event->action, event->note, now_ms,
                     clock_wall_ms(manager->options.clock));
    }
}

/* Events that are due go out like any other write, behind everything else. */
static void events_send(struct manager *manager, int64_t now_ms) {
    struct kube_call call;
    uint64_t id;

    while (may_write(manager) && event_next(manager->events, now_ms, &call, &id) > 0) {
        struct plan plan = {0};
        struct plan_step *step = plan_add(&plan, PLAN_HUB, QUEUE_OBSERVE, call.verb, &call.target);
        char key[WORLD_KEY_SIZE];

        step->body = str_dup_len(call.body, call.body_bytes);
        step->body_bytes = call.body_bytes;
        step->manager = "bulkhead";
        step->once = true;
        snprintf(key, sizeof key, EVENT_PREFIX "%llu", (unsigned long long)id);
        dispatch_submit(manager->dispatch, key, &plan, now_ms);
    }
}

/* Words of a refusal fall with the plan that no longer wants what was refused. */
static void refusals_review(struct manager *manager, const char *key) {
    if (strncmp(key, "cells/", 6) != 0)
        return;
    for (int target = 0; target <= world_child_count(manager->world); target++)
        if (world_refusal(manager->world, key, target) &&
            !dispatch_failing(manager->dispatch, key, target))
            world_refusal_set(manager->world, key, target, NULL);
}

static void reconcile_key(struct manager *manager, const char *key, enum queue_lane lane,
                          int64_t now_ms) {
    struct plan plan = {0};
    struct err err = {0};
    int64_t delay_ms;
    int r = ERR_NOTFOUND;

    if (strcmp(key, LEASE_KEY) == 0) {
        election_plan(manager->election, now_ms, clock_wall_ms(manager->options.clock), &plan);
        r = 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t len = strlen(kinds[i].prefix);

        if (strncmp(key, kinds[i].prefix, len) == 0)
            r = kinds[i].reconcile(manager->world, key + len, now_ms, &plan, &err);
    }
    manager->reconciled++;
    if (r < 0) {
        manager->failed++;
        plan_done(&plan);
        queue_retry(manager->queue, lane, key, now_ms, &delay_ms, NULL);
        return;
    }
    queue_forget(manager->queue, key);
    /* While an earlier plan of the key is in flight this one's status is left out, and its words
     * come again with the next. */
    if (dispatch_idle(manager->dispatch, key))
        events_record(manager, &plan, now_ms);
    const int64_t again_ms = plan.again_at_ms;
    const int64_t held_ms = dispatch_submit(manager->dispatch, key, &plan, now_ms);

    refusals_review(manager, key);
    if (again_ms)
        queue_add_at(manager->queue, lane, key, again_ms, NULL);
    if (held_ms != INT64_MAX)
        queue_add_at(manager->queue, lane, key, held_ms, NULL);
}

/* Whether a key is worth a pass now. A standby follows the children and plans nothing; whoever
 * comes to lead looks at everything afresh. */
static bool is_ours(const struct manager *manager, const char *key) {
    return manager->led || strncmp(key, "lease/", 6) == 0 || strncmp(key, "child/", 6) == 0;
}

static void leadership_follow(struct manager *manager, int64_t now_ms) {
    const bool leads = manager_leads(manager, now_ms);

    if (leads == manager->led)
        return;
    manager->led = leads;
    log_line(manager, leads ? "leading" : "not leading any more");
    if (leads)
        world_wake_apps(manager->world);
}

/* What was decided and not written while observing is decided anew, on what is so then. */
static void mode_follow(struct manager *manager) {
    const bool observes = manager_observes(manager);

    if (observes == manager->observed)
        return;
    manager->observed = observes;
    log_line(manager, observes ? "mode Observe: nothing is written" : "mode Act");
    if (!observes)
        world_wake_apps(manager->world);
}

static int64_t sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t manager_turn(struct manager *manager, int64_t now_ms) {
    int64_t due_ms = world_turn(manager->world, now_ms);
    enum queue_lane lane;
    const char *key;

    leadership_follow(manager, now_ms);
    if (world_synced(manager->world))
        mode_follow(manager);
    if (manager->stopping && manager->election && dispatch_counts(manager->dispatch).in_flight == 0)
        election_release(manager->election);
    for (int i = 0; i < MANAGER_TURN_KEYS && world_synced(manager->world) &&
                    (key = queue_take(manager->queue, now_ms, &lane));
         i++) {
        if (is_ours(manager, key))
            reconcile_key(manager, key, lane, now_ms);
        queue_done(manager->queue, key);
    }
    events_send(manager, now_ms);
    if (may_write(manager)) /* those that may not be sent must not keep the loop awake */
        due_ms = sooner(due_ms, event_due_ms(manager->events));
    due_ms = sooner(due_ms, dispatch_turn(manager->dispatch, now_ms));
    int64_t queue_ms;

    if (world_synced(manager->world) && queue_next_ms(manager->queue, now_ms, &queue_ms))
        due_ms = sooner(due_ms, queue_ms);
    return due_ms;
}

bool manager_synced(const struct manager *manager) {
    return world_synced(manager->world);
}

bool manager_leads(const struct manager *manager, int64_t now_ms) {
    return !manager->election || election_leads(manager->election, now_ms);
}

bool manager_observes(const struct manager *manager) {
    switch (world_mode(manager->world)) {
    case WORLD_MODE_ACT:
        return false;
    case WORLD_MODE_OBSERVE:
        return true;
    case WORLD_MODE_UNSAID:
        break;
    }
    return manager->options.observe;
}

bool manager_lost(const struct manager *manager) {
    return manager->election && election_lost(manager->election);
}

void manager_stop(struct manager *manager) {
    manager->stopping = true;
    if (manager->election)
        wake(manager, QUEUE_LEASE, LEASE_KEY, 0);
}

bool manager_stopped(const struct manager *manager) {
    return manager->stopping && dispatch_counts(manager->dispatch).in_flight == 0 &&
           (!manager->election || election_released(manager->election));
}

bool manager_idle(const struct manager *manager, int64_t now_ms) {
    const struct dispatch_counts counts = dispatch_counts(manager->dispatch);
    int64_t queue_ms;

    return counts.in_flight == 0 && counts.waiting == 0 &&
           (!queue_next_ms(manager->queue, now_ms, &queue_ms) || queue_ms > now_ms);
}

struct world *manager_world(struct manager *manager) {
    return manager->world;
}

struct manager_counts manager_counts(const struct manager *manager) {
    return (struct manager_counts){
        .reconciled = manager->reconciled,
        .failed = manager->failed,
        .queued = queue_depth(manager->queue),
        .dispatch = dispatch_counts(manager->dispatch),
    };
}
