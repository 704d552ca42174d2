#include "base/timer.h"

#include "base/str.h"

#include <assert.h>
#include <stdlib.h>

static bool before(const struct timer *a, const struct timer *b);
static void put(struct timer_heap *heap, size_t i, struct timer *timer);
static void settle(struct timer_heap *heap, size_t i, struct timer *timer);

void timer_heap_done(struct timer_heap *heap) {
    if (!heap)
        return;
    free(heap->at);
    *heap = (struct timer_heap){0};
}

void timer_set(struct timer_heap *heap, struct timer *timer, int64_t due_ms) {
    timer_cancel(heap, timer);
    if (heap->count == heap->room_count) {
        heap->room_count = heap->room_count ? heap->room_count * 2 : 16;
        heap->at = str_resize(heap->at, heap->room_count, sizeof(heap->at[0]));
    }
    timer->due_ms = due_ms;
    timer->order = heap->order++;
    settle(heap, heap->count++, timer);
}

void timer_cancel(struct timer_heap *heap, struct timer *timer) {
    if (!timer_is_set(timer))
        return;
    const size_t i = timer->place - 1;

    assert(i < heap->count && heap->at[i] == timer);
    struct timer *last = heap->at[--heap->count];

    timer->place = 0;
    if (last != timer)
        settle(heap, i, last);
}

bool timer_is_set(const struct timer *timer) {
    return timer->place > 0;
}

struct timer *timer_pop(struct timer_heap *heap, int64_t now_ms) {
    struct timer *first = heap->count ? heap->at[0] : NULL;

    if (!first || first->due_ms > now_ms)
        return NULL;
    timer_cancel(heap, first);
    return first;
}

int timer_next_ms(const struct timer_heap *heap, int64_t *ret_due_ms) {
    if (!heap->count)
        return 0;
    *ret_due_ms = heap->at[0]->due_ms;
    return 1;
}

static bool before(const struct timer *a, const struct timer *b) {
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void put(struct timer_heap *heap, size_t i, struct timer *timer) {
    heap->at[i] = timer;
    timer->place = i + 1;
}

/* Places the timer at the hole i, then moves it up or down to where it belongs. */
static void settle(struct timer_heap *heap, size_t i, struct timer *timer) {
    while (i > 0 && before(timer, heap->at[(i - 1) / 2])) {
        put(heap, i, heap->at[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (size_t child = 2 * i + 1; child < heap->count; child = 2 * i + 1) {
        if (child + 1 < heap->count && before(heap->at[child + 1], heap->at[child]))
            child++;
        if (!before(heap->at[child], timer))
            break;
        put(heap, i, heap->at[child]);
        i = child;
    }
    put(heap, i, timer);
}
