/* queue.h - which key a worker handles next: a set of keys with lanes, delays and backoff.
 *
 * A key is never with two workers, and no add is lost: an add while the key is being handled gives
 * one more run afterwards. A hundred such adds give one, too. A lower lane is taken first, always.
 * Units:     monotonic milliseconds, handed in.
 * Limits:    at most max_keys keys are known (waiting, delayed, running, or remembered for their
 *            failures). An add beyond that is ERR_RETRY and changes nothing.
 * Ownership: keys are copied.
 * Threads:   control only.
 */
#ifndef BULKHEAD_BASE_QUEUE_H
#define BULKHEAD_BASE_QUEUE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_BACKOFF_FIRST_MS 5
#define QUEUE_BACKOFF_MAX_MS 1000000
#define QUEUE_RETRY_PER_S 10
#define QUEUE_RETRY_BURST_COUNT 100

enum queue_lane {
    QUEUE_LEASE,
    QUEUE_CUT,
    QUEUE_RESTORE,
    QUEUE_CAPACITY,
    QUEUE_OBSERVE,
};
#define QUEUE_LANE_COUNT 5

struct queue;

/* An empty queue of at most max_keys > 0 keys. Release with queue_free(). */
struct queue *queue_new(size_t max_keys, int64_t now_ms);

/* Releases the queue and every key; NULL is fine. */
void queue_free(struct queue *queue);

/* Asks for one run of key. If it waits already, only a better lane is taken over. Returns 0 or,
 * when the queue is full, ERR_RETRY: the caller then owes the whole kind a new look. */
int queue_add(struct queue *queue, enum queue_lane lane, const char *key, struct err *err);

/* Asks for a run at due_ms. Of several such asks the earliest time and the best lane stay; a plain
 * add does not cancel it. Errors as queue_add(). */
int queue_add_at(struct queue *queue, enum queue_lane lane, const char *key, int64_t due_ms,
                 struct err *err);

/* Asks for a run after a failure: waits for the longer of the key's own backoff and the shared
 * bucket. Counts the failure. Returns 0 and the wait, or as queue_add(). */
int queue_retry(struct queue *queue, enum queue_lane lane, const char *key, int64_t now_ms,
                int64_t *ret_delay_ms, struct err *err);

/* Success: the key's failures start again at 0. Does not touch what is queued. */
void queue_forget(struct queue *queue, const char *key);

/* How often queue_retry() was called since the last queue_forget(). */
unsigned queue_failures(const struct queue *queue, const char *key);

/* Hands out the next key whose time has come; NULL if there is none. The text is the queue's and is
 * valid until queue_done(), which the caller owes. ret_lane may be NULL. */
const char *queue_take(struct queue *queue, int64_t now_ms, enum queue_lane *ret_lane);

/* The run of key is over. It runs again if it was added meanwhile. */
void queue_done(struct queue *queue, const char *key);

/* Number of keys ready to be taken: each counts once; delayed and running ones do not. */
size_t queue_depth(const struct queue *queue);

/* Number of keys known in any way; the one that max_keys bounds. */
size_t queue_key_count(const struct queue *queue);

/* Returns 1 and the time from which queue_take() has a key (now_ms if one is ready), else 0. */
int queue_next_ms(const struct queue *queue, int64_t now_ms, int64_t *ret_due_ms);

#endif
