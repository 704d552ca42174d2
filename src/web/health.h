/* health.h - whether we live, whether we are ready, and what else an operator should know.
 *
 * Live: the control loop turns. Ready: the configuration is loaded, the hub's caches were filled
 * once, and we are not ending. Everything else (a standby, a lease that is lost, children that
 * cannot be reached, mode Observe) is told and fails nothing: a restart would not help (C66).
 * Pure: facts in, text out.
 * Units:  milliseconds of the caller's monotonic clock.
 */
#ifndef BULKHEAD_WEB_HEALTH_H
#define BULKHEAD_WEB_HEALTH_H

#include "base/str.h"
#include "web/snapshot.h"

#include <stdbool.h>
#include <stdint.h>

#define HEALTH_STUCK_MS 30000 /* without a turn finished for so long, the loop is stuck */
#define HEALTH_GAP_MS 5000    /* the watcher itself stood still: judge afresh */
#define HEALTH_TEXT_MAX 8192

/* Watches a counter that the control thread moves on after each turn. All-zero has seen nothing. */
struct pulse {
    uint64_t turns;
    int64_t since_ms;  /* when turns was first seen to have this value */
    int64_t looked_ms; /* 0: never */
};

/* Looks; more often than every HEALTH_GAP_MS. Returns for how long nothing has moved. A process
 * that was stopped as a whole does not count its sleep against the control loop. */
int64_t pulse_look(struct pulse *pulse, uint64_t turns, int64_t now_ms);

struct health_facts {
    const struct snapshot *snapshot; /* NULL: nothing was published yet */
    int64_t still_ms;                /* what pulse_look() said */
    bool stopping;
};

enum health_probe { HEALTH_LIVE, HEALTH_READY };

/* Answers "/healthz" or "/readyz". check: the rest of the path, "" for all checks; query: as
 * sent, "verbose" and "exclude=NAME" are understood. Adds the text to out and returns the HTTP
 * status: 200, 503, or 404 for a check that does not exist. */
int health_answer(enum health_probe probe, const struct health_facts *facts, const char *check,
                  const char *query, struct str *out);

#endif
