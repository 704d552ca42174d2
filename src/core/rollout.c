#include "core/rollout.h"

static struct rollout_step step_of(int32_t take, const char *reason, int64_t again_at_ms) {
    return (struct rollout_step){.take = take, .reason = reason, .again_at_ms = again_at_ms};
}

/* The first zone that still has to take the template, or of those where it changes nothing that
 * runs; -1: none. */
static int32_t pending_of(const struct rollout_input *in, bool idle_only) {
    for (int32_t i = 0; i < in->count; i++) {
        const struct rollout_zone *zone = &in->zones[i];

        if (!zone->current && (zone->empty || zone->same || (!idle_only && !zone->faulted)))
            return i;
    }
    return -1;
}

struct rollout_step rollout_next(const struct rollout_input *in) {
    const int32_t idle = pending_of(in, true);
    const int32_t pending = pending_of(in, false);
    bool begun = false;

    if (idle >= 0)
        return step_of(idle, in->zones[idle].empty ? "NewZone" : "Unchanged", INT64_MAX);
    if (pending < 0)
        return step_of(-1, "Complete", INT64_MAX);
    if (in->paused)
        return step_of(-1, "Paused", INT64_MAX);
    if (in->all_at_once)
        return step_of(pending, "AllAtOnce", INT64_MAX);
    for (int32_t i = 0; i < in->count; i++) {
        const struct rollout_zone *zone = &in->zones[i];

        if (!zone->current || zone->faulted)
            continue;
        begun = true;
        if (zone->failed)
            return step_of(-1, "ProgressDeadlineExceeded", INT64_MAX);
        if (!zone->settled)
            return step_of(-1, "Settling", INT64_MAX);
    }
    if (!begun)
        return step_of(pending, "FirstZone", INT64_MAX);
    const int64_t since_ms = in->settled_ms ? in->settled_ms : in->now_ms;

    if (in->now_ms - since_ms < in->pause_ms)
        return step_of(-1, "PauseBetweenZones", since_ms + in->pause_ms);
    return step_of(pending, "NextZone", INT64_MAX);
}
