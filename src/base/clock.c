#include "base/clock.h"

#include <assert.h>
#include <time.h>

static int64_t kernel_ms(clockid_t id);

struct clock clock_by_hand(int64_t wall_ms, int64_t mono_ms) {
    return (struct clock){.by_hand = true, .wall_ms = wall_ms, .mono_ms = mono_ms};
}

int64_t clock_wall_ms(const struct clock *clk) {
    return clk && clk->by_hand ? clk->wall_ms : kernel_ms(CLOCK_REALTIME);
}

int64_t clock_mono_ms(const struct clock *clk) {
    return clk && clk->by_hand ? clk->mono_ms : kernel_ms(CLOCK_BOOTTIME);
}

void clock_advance(struct clock *clk, int64_t delta_ms) {
    assert(clk->by_hand && delta_ms >= 0);
    clk->wall_ms += delta_ms;
    clk->mono_ms += delta_ms;
}

void clock_step_wall(struct clock *clk, int64_t delta_ms) {
    assert(clk->by_hand);
    clk->wall_ms += delta_ms;
}

static int64_t kernel_ms(clockid_t id) {
    struct timespec now = {0};
    const int r = clock_gettime(id, &now);

    assert(r == 0);
    (void)r;
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
