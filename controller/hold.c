#include "controller/hold.h"

#include "base/str.h"

#include <stdlib.h>

static struct hold *hold_find(struct holds *holds, uint64_t step) {
    for (int i = 0; i < holds->count; i++)
        if (holds->items[i].step == step)
            return &holds->items[i];
    return NULL;
}

void holds_note(struct holds *holds, const struct plan_step *step, bool refused, int64_t until_ms) {
    const uint64_t digest = plan_step_digest(step);
    struct hold *hold = hold_find(holds, digest);

    if (!hold && holds->count == holds->room_count) {
        holds->room_count = holds->room_count ? holds->room_count * 2 : 2;
        holds->items = str_resize(holds->items, (size_t)holds->room_count, sizeof *holds->items);
    }
    if (!hold)
        hold = &holds->items[holds->count++];
    *hold = (struct hold){
        .step = digest, .object = plan_step_object(step), .until_ms = until_ms, .refused = refused};
}

void holds_forget(struct holds *holds, const struct plan_step *step) {
    struct hold *hold = holds->count ? hold_find(holds, plan_step_digest(step)) : NULL;

    if (hold)
        *hold = holds->items[--holds->count];
}

int holds_drop_object(struct plan_step *steps, int from, int count, uint64_t object) {
    int kept = from;

    for (int i = from; i < count; i++) {
        if (plan_step_object(&steps[i]) == object)
            plan_step_done(&steps[i]);
        else
            steps[kept++] = steps[i];
    }
    return kept;
}

/* Marks what a step shows to be wanted still: itself, and what a live read of its object is for. */
static struct hold *planned_mark(struct holds *holds, const struct plan_step *step) {
    const uint64_t object = plan_step_object(step);

    for (int i = 0; step->verb == KUBE_GET && i < holds->count; i++)
        if (holds->items[i].object == object)
            holds->items[i].planned = true;
    struct hold *hold = hold_find(holds, plan_step_digest(step));

    if (hold)
        hold->planned = true;
    return hold;
}

static void forget_unplanned(struct holds *holds) {
    int kept = 0;

    for (int i = 0; i < holds->count; i++)
        if (holds->items[i].planned)
            holds->items[kept++] = holds->items[i];
    holds->count = kept;
}

int64_t holds_sift(struct holds *holds, struct plan_lane *lane, int64_t now_ms) {
    int64_t until_ms = INT64_MAX;

    for (int i = 0; i < holds->count; i++)
        holds->items[i].planned = false;
    for (int i = 0; holds->count && i < lane->count;) {
        const struct hold *hold = planned_mark(holds, &lane->steps[i]);

        if (!hold || now_ms >= hold->until_ms) {
            i++;
            continue;
        }
        if (hold->until_ms < until_ms)
            until_ms = hold->until_ms;
        if (hold->refused) {
            lane->count = holds_drop_object(lane->steps, i, lane->count, hold->object);
            continue;
        }
        while (lane->count > i) {
            planned_mark(holds, &lane->steps[--lane->count]);
            plan_step_done(&lane->steps[lane->count]);
        }
    }
    forget_unplanned(holds);
    return until_ms;
}

void holds_done(struct holds *holds) {
    if (!holds)
        return;
    free(holds->items);
    *holds = (struct holds){0};
}
