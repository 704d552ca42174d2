/* rolling.h - how many pods of a Deployment to make and to end next.
 *
 * Pure arithmetic over counts of pods that are not ending. A step never takes the available pods
 * below desired - unavailable, nor all pods beyond desired + surge.
 */
#ifndef BULKHEAD_FLEET_ROLLING_H
#define BULKHEAD_FLEET_ROLLING_H

#include <stdbool.h>

struct rolling_input {
    int desired;
    int surge;
    int unavailable;
    int fresh; /* of the current template */
    int fresh_available;
    int old; /* of any other template */
    int old_available;
    int old_ending; /* old ones that are ending: only a Recreate waits for them */
    bool recreate;  /* strategy Recreate */
    bool paused;    /* old pods are not replaced */
};

struct rolling_step {
    int create;
    int end_fresh;
    int end_old_unavailable;
    int end_old_available;
};

/* What to do next; all 0 when nothing can be done until a count changes. */
struct rolling_step rolling_step(const struct rolling_input *input);

#endif
