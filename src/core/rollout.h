/* rollout.h - which zone may take a new template now: one zone after another, or all at once.
 *
 * A zone takes the template once every zone that has it is settled and the pause has passed;
 * faulted zones are skipped, and neither block nor follow. A zone where nothing runs takes it at
 * once, and so does one that runs it already, as when a refused template is taken back. Pure.
 * Units: *_ms is monotonic milliseconds, handed in.
 */
#ifndef BULKHEAD_CORE_ROLLOUT_H
#define BULKHEAD_CORE_ROLLOUT_H

#include <stdbool.h>
#include <stdint.h>

struct rollout_zone {
    bool current; /* it is given the wanted template already */
    bool settled; /* every workload in it runs what it was given, ready and complete */
    bool empty;   /* nothing runs there yet */
    bool same;    /* what runs there is the wanted template already */
    bool faulted;
    bool failed; /* its progress deadline passed */
};

struct rollout_input {
    const struct rollout_zone *zones; /* in the order of the rollout */
    int32_t count;
    bool all_at_once;
    bool paused;
    int64_t pause_ms;
    int64_t
        settled_ms; /* since when all current zones have been settled; 0: unknown, count from now */
    int64_t now_ms;
};

struct rollout_step {
    int32_t take;        /* index of the zone to give the template to; -1: none now */
    const char *reason;  /* CamelCase; static storage */
    int64_t again_at_ms; /* when the pause is over; INT64_MAX: when something changes */
};

/* Decides one step; the caller asks again after each. Total: every input has an answer. */
struct rollout_step rollout_next(const struct rollout_input *in);

#endif
