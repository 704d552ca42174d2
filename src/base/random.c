#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

uint64_t random_seed(void) {
    uint64_t seed = 0;
    ssize_t r;

    do
        r = getrandom(&seed, sizeof(seed), 0);
    while (r < 0 && errno == EINTR);
    assert(r == (ssize_t)sizeof(seed));
    return seed;
}

uint64_t random_next(struct random *rng) {
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t random_below(struct random *rng, uint64_t count) {
    uint64_t value;

    assert(count > 0);
    /* Drop the values below 2^64 mod count: what is left divides evenly. */
    const uint64_t unfair = (UINT64_MAX - count + 1) % count;

    do
        value = random_next(rng);
    while (value < unfair);
    return value % count;
}

int64_t random_jitter_ms(struct random *rng, int64_t base_ms, int spread_permille) {
    assert(base_ms >= 0 && base_ms <= INT64_C(1) << 50 && spread_permille >= 0 &&
           spread_permille <= 4000);
    const uint64_t spread_ms = (uint64_t)base_ms * (uint64_t)spread_permille / 1000;

    return base_ms + (int64_t)random_below(rng, spread_ms + 1);
}
