/* clock.h - the only place that asks the kernel what time it is.
 *
 * Everything else is handed `now`. A hand-turned clock lets a test move wall and monotonic time
 * apart, as NTP steps and paused machines do.
 * Units:   milliseconds. Wall time counts from the unix epoch; monotonic time from some start, and
 * it goes on while the machine is suspended, so that a deadline passes during a freeze. Threads:
 * any, for the kernel's clock; a hand-turned clock belongs to one thread.
 */
#ifndef BULKHEAD_BASE_CLOCK_H
#define BULKHEAD_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* All-zero is the kernel's clock. */
struct clock {
    bool by_hand;
    int64_t wall_ms; /* both only read when by_hand */
    int64_t mono_ms;
};

/* A clock that stands still until clock_advance() moves it. */
struct clock clock_by_hand(int64_t wall_ms, int64_t mono_ms);

/* Wall time: for what is written into objects. May jump either way. NULL is the kernel's clock. */
int64_t clock_wall_ms(const struct clock *clk);

/* Monotonic time: for every age and deadline. Never goes back. NULL is the kernel's clock. */
int64_t clock_mono_ms(const struct clock *clk);

/* Lets delta_ms >= 0 pass on both scales of a hand-turned clock. */
void clock_advance(struct clock *clk, int64_t delta_ms);

/* Steps only the wall time of a hand-turned clock, forward or back. */
void clock_step_wall(struct clock *clk, int64_t delta_ms);

#endif
