/* random.h - numbers for jitter and for simulations: the same seed gives the same run.
 *
 * Never for secrets. The generator is splitmix64; the kernel is asked only by random_seed().
 * Threads: one generator belongs to one thread.
 */
#ifndef BULKHEAD_BASE_RANDOM_H
#define BULKHEAD_BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state; /* any value is a valid seed, 0 too */
};

/* A seed from the kernel; aborts if it has none. */
uint64_t random_seed(void);

/* The next 64 bits. */
uint64_t random_next(struct random *rng);

/* A number in 0..count-1, each equally likely. count must not be 0 (aborts). */
uint64_t random_below(struct random *rng, uint64_t count);

/* base_ms plus 0..spread_permille thousandths of it, in whole ms; base_ms in 0..2^50. */
int64_t random_jitter_ms(struct random *rng, int64_t base_ms, int spread_permille);

#endif
