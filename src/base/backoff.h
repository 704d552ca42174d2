/* backoff.h - how long to wait: per key doubling, and one shared token bucket.
 *
 * Pure: the caller hands in now. Integers only: the bucket counts thousandths of a token, and a
 * wait is rounded up to whole milliseconds.
 */
#ifndef BULKHEAD_BASE_BACKOFF_H
#define BULKHEAD_BASE_BACKOFF_H

#include <stdint.h>

/* first_ms doubled `failures` times, at most max_ms. Both > 0, first_ms <= max_ms. */
int64_t backoff_ms(int64_t first_ms, int64_t max_ms, unsigned failures);

struct bucket {
    int64_t rate_per_s;   /* tokens that come back per second, > 0 */
    int64_t burst_count;  /* the most it holds */
    int64_t tokens_milli; /* below 0: promised to callers that now wait */
    int64_t seen_ms;      /* monotonic time of the last call */
};

/* A full bucket. rate_per_s > 0, burst_count > 0. */
struct bucket bucket_full(int64_t rate_per_s, int64_t burst_count, int64_t now_ms);

/* Takes one token, on credit if need be; returns how long the caller has to wait for it, 0 or more.
 * A now_ms before the last one counts as no time passed. */
int64_t bucket_reserve_ms(struct bucket *bucket, int64_t now_ms);

#endif
