/* timer.h - what is due next: a binary heap of timers that live inside their owners' structs.
 *
 * Equal times fire in the order in which they were set. Setting a set timer moves it.
 * Units:     monotonic milliseconds.
 * Ownership: the heap points at timers and never frees one; cancel before the owner goes away.
 */
#ifndef BULKHEAD_BASE_TIMER_H
#define BULKHEAD_BASE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All-zero is a timer that is not set. */
struct timer {
    int64_t due_ms;
    uint64_t order; /* which of two equal times was set first */
    size_t place;   /* index in the heap plus 1; 0 when not set */
};

/* All-zero is an empty heap. It grows with the number of set timers, which their owners bound. */
struct timer_heap {
    struct timer **at;
    size_t count;
    size_t room_count;
    uint64_t order;
};

/* Releases the heap's own memory, no timer. NULL and all-zero are fine. */
void timer_heap_done(struct timer_heap *heap);

/* Sets the timer, or moves it if it is set. */
void timer_set(struct timer_heap *heap, struct timer *timer, int64_t due_ms);

/* Takes the timer out; nothing happens if it is not set. */
void timer_cancel(struct timer_heap *heap, struct timer *timer);

/* Whether the timer waits in a heap. */
bool timer_is_set(const struct timer *timer);

/* Takes out the earliest timer with due_ms <= now_ms; NULL if there is none. */
struct timer *timer_pop(struct timer_heap *heap, int64_t now_ms);

/* Returns 1 and the earliest time, or 0 when no timer is set. */
int timer_next_ms(const struct timer_heap *heap, int64_t *ret_due_ms);

#endif
