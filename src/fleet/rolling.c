#include "fleet/rolling.h"

static int least(int a, int b) {
    return a < b ? a : b;
}

static int at_least_0(int count) {
    return count > 0 ? count : 0;
}

static struct rolling_step recreate(const struct rolling_input *in) {
    struct rolling_step step = {.end_fresh = at_least_0(in->fresh - in->desired)};

    if (in->old > 0) {
        step.end_old_available = in->old_available;
        step.end_old_unavailable = in->old - in->old_available;
    } else if (in->old_ending == 0) {
        step.create = at_least_0(in->desired - in->fresh);
    }
    return step;
}

/* A paused Deployment still follows its replicas, with whatever pods it has. */
static struct rolling_step paused(const struct rolling_input *in) {
    const int surplus = in->fresh + in->old - in->desired;
    struct rolling_step step = {.create = at_least_0(-surplus)};

    step.end_old_unavailable = least(at_least_0(surplus), in->old - in->old_available);
    step.end_old_available =
        least(at_least_0(surplus) - step.end_old_unavailable, in->old_available);
    step.end_fresh = at_least_0(surplus) - step.end_old_unavailable - step.end_old_available;
    return step;
}

/* As the Deployment controller: old pods that are not available go first, as long as those the
 * fresh ones still owe are left; available ones only for what is beyond the least allowed. */
struct rolling_step rolling_step(const struct rolling_input *in) {
    const int needed = at_least_0(in->desired - in->unavailable);
    const int total = in->fresh + in->old;
    const int beyond = total - needed - (in->fresh - in->fresh_available);
    const int available_beyond = in->fresh_available + in->old_available - needed;
    struct rolling_step step = {.end_fresh = at_least_0(in->fresh - in->desired)};

    if (in->recreate && !in->paused)
        return recreate(in);
    if (in->paused)
        return paused(in);
    step.create = at_least_0(least(in->desired - in->fresh, in->desired + in->surge - total));
    if (step.end_fresh > 0 || in->old == 0)
        return step;
    step.end_old_unavailable = least(at_least_0(beyond), in->old - in->old_available);
    if (beyond > 0)
        step.end_old_available = least(at_least_0(available_beyond), in->old_available);
    return step;
}
