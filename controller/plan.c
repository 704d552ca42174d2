#include "controller/plan.h"

#include "api/condition.h"
#include "api/objectname.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

void plan_done(struct plan *plan) {
    if (!plan)
        return;
    for (int i = 0; i < plan->count; i++) {
        for (int j = 0; j < plan->lanes[i].count; j++)
            plan_step_done(&plan->lanes[i].steps[j]);
        free(plan->lanes[i].steps);
    }
    free(plan->lanes);
    for (int i = 0; i < plan->event_count; i++) {
        free(plan->events[i].kind);
        free(plan->events[i].ns);
        free(plan->events[i].name);
        free(plan->events[i].uid);
        free(plan->events[i].reason);
        free(plan->events[i].action);
        free(plan->events[i].note);
    }
    free(plan->events);
    *plan = (struct plan){0};
}

static struct plan_lane *lane_of(struct plan *plan, int target) {
    for (int i = 0; i < plan->count; i++)
        if (plan->lanes[i].target == target)
            return &plan->lanes[i];
    if (plan->count == plan->room_count) {
        plan->room_count = plan->room_count ? plan->room_count * 2 : 4;
        plan->lanes = str_resize(plan->lanes, (size_t)plan->room_count, sizeof *plan->lanes);
    }
    struct plan_lane *lane = &plan->lanes[plan->count++];

    *lane = (struct plan_lane){.target = target, .priority = QUEUE_OBSERVE};
    return lane;
}

struct plan_step *plan_add(struct plan *plan, int target, enum queue_lane priority,
                           enum kube_verb verb, const struct url_target *where) {
    struct plan_lane *lane = lane_of(plan, target);

    if (lane->count == PLAN_STEPS_MAX) {
        plan_again_at(plan, 1);
        return NULL;
    }
    if (lane->count == lane->room_count) {
        lane->room_count = lane->room_count ? lane->room_count * 2 : 4;
        lane->steps = str_resize(lane->steps, (size_t)lane->room_count, sizeof *lane->steps);
    }
    if (priority < lane->priority)
        lane->priority = priority;
    struct plan_step *step = &lane->steps[lane->count++];

    *step = (struct plan_step){
        .verb = verb,
        .group = str_dup(where->group),
        .version = str_dup(where->version),
        .resource = str_dup(where->resource),
        .ns = str_dup(where->ns),
        .name = str_dup(where->name),
        .subresource = str_dup(where->subresource),
    };
    return step;
}

void plan_apply(struct plan *plan, int target, enum queue_lane priority,
                const struct url_target *where, const char *manager, json_t *body) {
    struct plan_step *step = plan_add(plan, target, priority, KUBE_APPLY, where);

    if (step) {
        step->manager = manager;
        step->force = true;
        step->body = json_dumps(body, JSON_COMPACT);
        step->body_bytes = step->body ? strlen(step->body) : 0;
    }
    json_decref(body);
}

void plan_delete(struct plan *plan, int target, enum queue_lane priority,
                 const struct url_target *where, const char *uid, const char *propagation) {
    struct plan_step *step = plan_add(plan, target, priority, KUBE_DELETE, where);

    if (!step)
        return;
    step->uid = str_dup(uid);
    step->propagation = propagation;
}

void plan_event(struct plan *plan, const struct plan_event *event) {
    if (plan->event_count == plan->event_room) {
        plan->event_room = plan->event_room ? plan->event_room * 2 : 4;
        plan->events = str_resize(plan->events, (size_t)plan->event_room, sizeof *plan->events);
    }
    plan->events[plan->event_count++] = (struct plan_event){
        .kind = str_dup(event->kind),
        .ns = str_dup(event->ns),
        .name = str_dup(event->name),
        .uid = str_dup(event->uid),
        .warning = event->warning,
        .reason = str_dup(event->reason),
        .action = str_dup(event->action),
        .note = str_dup(event->note),
    };
}

/* Whether a condition of this type in this state is something to look at. */
static bool is_worrying(const char *type, bool holds) {
    static const char *const good[] = {"Accepted", "Placed", "RolledOut", "ChildrenKnown"};
    static const char *const bad[] = {"WorkloadInvalid", "PoolImbalanced"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (strcmp(good[i], type) == 0)
            return !holds;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (strcmp(bad[i], type) == 0)
            return holds;
    return false;
}

static bool same_text(const json_t *a, const json_t *b, const char *key) {
    const char *one = json_string_value(json_object_get(a, key));
    const char *two = json_string_value(json_object_get(b, key));

    return one && two && strcmp(one, two) == 0;
}

/* An Event for each condition that flipped or has another reason. The first sight of one that holds
 * nothing against the object is no news. */
static void conditions_tell(struct plan *plan, const struct url_target *where, const char *kind,
                            const char *uid, const json_t *old, const json_t *status) {
    size_t i;
    json_t *condition;

    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        const char *type = json_string_value(json_object_get(condition, "type"));
        const char *value = json_string_value(json_object_get(condition, "status"));
        const json_t *before = condition_find(json_object_get(old, "conditions"), type);
        const bool worrying =
            value && strcmp(value, "Unknown") != 0 && is_worrying(type, strcmp(value, "True") == 0);

        if (before
                ? same_text(before, condition, "status") && same_text(before, condition, "reason")
                : !worrying)
            continue;
        const struct plan_event event = {
            .kind = (char *)kind,
            .ns = (char *)(where->ns ? where->ns : ""),
            .name = (char *)where->name,
            .uid = (char *)uid,
            .warning = worrying,
            .reason = (char *)json_string_value(json_object_get(condition, "reason")),
            .action = (char *)type,
            .note = (char *)json_string_value(json_object_get(condition, "message")),
        };

        plan_event(plan, &event);
    }
}

void plan_status(struct plan *plan, const struct url_target *where, const char *kind,
                 const char *uid, const json_t *old, json_t *status) {
    struct url_target at = *where;

    if (old && json_equal(old, status)) {
        json_decref(status);
        return;
    }
    conditions_tell(plan, where, kind, uid, old, status);
    json_t *body = json_pack("{s:s+, s:s, s:{s:s}, s:o}", "apiVersion", where->group, "/v1alpha1",
                             "kind", kind, "metadata", "name", where->name, "status", status);

    if (where->ns)
        json_object_set_new(json_object_get(body, "metadata"), "namespace", json_string(where->ns));
    at.subresource = "status";
    plan_apply(plan, PLAN_HUB, QUEUE_OBSERVE, &at, OBJECTNAME_MANAGER, body);
}

void plan_again_at(struct plan *plan, int64_t due_ms) {
    if (plan->again_at_ms == 0 || due_ms < plan->again_at_ms)
        plan->again_at_ms = due_ms;
}

struct kube_call plan_step_call(const struct plan_step *step) {
    return (struct kube_call){
        .verb = step->verb,
        .target =
            {
                .group = step->group,
                .version = step->version,
                .resource = step->resource,
                .ns = step->ns,
                .name = step->name,
                .subresource = step->subresource,
            },
        .body = step->body,
        .body_bytes = step->body_bytes,
        .field_manager = step->manager,
        .force = step->force,
        .uid = step->uid,
        .rv = step->rv,
        .propagation = step->propagation,
        .kind = step->ungated ? HTTP_LEASE : HTTP_UNARY,
        .timeout_ms = step->timeout_ms,
    };
}

void plan_step_done(struct plan_step *step) {
    free(step->group);
    free(step->version);
    free(step->resource);
    free(step->ns);
    free(step->name);
    free(step->subresource);
    free(step->body);
    free(step->uid);
    free(step->rv);
    *step = (struct plan_step){0};
}

static uint64_t fold_text(uint64_t hash, const char *text) {
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

uint64_t plan_step_digest(const struct plan_step *step) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)step->verb;

    hash = fold_text(hash, step->group);
    hash = fold_text(hash, step->resource);
    hash = fold_text(hash, step->ns);
    hash = fold_text(hash, step->name);
    hash = fold_text(hash, step->subresource);
    hash = fold_text(hash, step->uid);
    return fold_text(hash, step->body);
}

uint64_t plan_step_object(const struct plan_step *step) {
    uint64_t hash = fold_text(UINT64_C(0xcbf29ce484222325), step->group);

    hash = fold_text(hash, step->resource);
    hash = fold_text(hash, step->ns);
    return fold_text(hash, step->name);
}
