#include "base/backoff.h"

#include <assert.h>

int64_t backoff_ms(int64_t first_ms, int64_t max_ms, unsigned failures) {
    int64_t delay_ms = first_ms;

    assert(first_ms > 0 && first_ms <= max_ms);
    for (; failures > 0; failures--) {
        if (delay_ms > max_ms / 2)
            return max_ms;
        delay_ms *= 2;
    }
    return delay_ms;
}

struct bucket bucket_full(int64_t rate_per_s, int64_t burst_count, int64_t now_ms) {
    assert(rate_per_s > 0 && burst_count > 0);
    return (struct bucket){rate_per_s, burst_count, burst_count * 1000, now_ms};
}

int64_t bucket_reserve_ms(struct bucket *bucket, int64_t now_ms) {
    const int64_t full_milli = bucket->burst_count * 1000;

    if (now_ms > bucket->seen_ms) {
        const int64_t passed_ms = now_ms - bucket->seen_ms;
        const int64_t missing_milli = full_milli - bucket->tokens_milli;

        /* One token per second is one thousandth per millisecond. */
        if (passed_ms >= missing_milli / bucket->rate_per_s + 1)
            bucket->tokens_milli = full_milli;
        else
            bucket->tokens_milli += passed_ms * bucket->rate_per_s;
        bucket->seen_ms = now_ms;
    }
    bucket->tokens_milli -= 1000;
    if (bucket->tokens_milli >= 0)
        return 0;
    return (-bucket->tokens_milli + bucket->rate_per_s - 1) / bucket->rate_per_s;
}
