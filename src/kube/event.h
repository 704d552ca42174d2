/* event.h - what we tell people about objects: Events (events.k8s.io/v1), many facts in few writes.
 *
 * Equal facts (type, action, reason, regarding) are one series: the first is created, and what
 * comes later is patched in as a count, at most every EVENT_REFRESH_MS but for the first repeat.
 * Does no I/O and asks no clock: event_next() gives the next write, event_done() takes its outcome.
 * Never blocks and never fails: a fact beyond the limits is dropped and counted. Units:     now_ms
 * is monotonic, wall_ms unix milliseconds; both are handed in. Ownership: texts are copied; a
 * write's texts are borrowed until the next call with the recorder. Limits:    EVENT_SERIES_MAX
 * series; a note is cut to EVENT_NOTE_MAX_BYTES. Threads:   one.
 */
#ifndef BULKHEAD_KUBE_EVENT_H
#define BULKHEAD_KUBE_EVENT_H

#include "base/random.h"
#include "kube/client.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENT_SERIES_MAX 1000
#define EVENT_NOTE_MAX_BYTES 1024
#define EVENT_REFRESH_MS 1800000 /* between two patches of one series */
#define EVENT_IDLE_MS 360000     /* a series that is silent for as long is over */
#define EVENT_TRY_MAX_COUNT 12   /* of one write */
#define EVENT_TRY_MS 10000       /* between two tries */

enum event_type { EVENT_NORMAL, EVENT_WARNING };

/* The object that an event is about. Texts may be "", but not NULL. */
struct event_regarding {
    const char *api_version;
    const char *kind;
    const char *ns; /* "" for what has none: its events stand in "default" */
    const char *name;
    const char *uid;
};

struct event_recorder;

/* A recorder that signs with controller, such as "bulkhead.dev/hub", and the process's own
 * instance name. Release with event_recorder_free(). */
struct event_recorder *event_recorder_new(const char *controller, const char *instance,
                                          struct random rng);

/* Releases the recorder and forgets what was not written; NULL is fine. */
void event_recorder_free(struct event_recorder *recorder);

/* Takes a fact. action and reason are CamelCase words; note is for people. */
void event_record(struct event_recorder *recorder, const struct event_regarding *regarding,
                  enum event_type type, const char *reason, const char *action, const char *note,
                  int64_t now_ms, int64_t wall_ms);

/* The next write that is due, one at a time for each series. 1: send *ret_call and report its
 * outcome under *ret_id; 0: nothing is due. */
int event_next(struct event_recorder *recorder, int64_t now_ms, struct kube_call *ret_call,
               uint64_t *ret_id);

/* How the write ended. reply NULL: it was not sent. An unknown id is fine. */
void event_done(struct event_recorder *recorder, uint64_t id, const struct kube_reply *reply,
                int64_t now_ms);

/* When event_next() may have something; INT64_MAX: only after event_record(). */
int64_t event_due_ms(const struct event_recorder *recorder);

/* Number of facts and writes given up, ever. */
unsigned event_dropped_count(const struct event_recorder *recorder);

#endif
