#include "base/queue.h"

#include "base/backoff.h"
#include "base/str.h"
#include "base/timer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct timer timer; /* first, so that a popped timer is its entry */
    struct entry *hash_next;
    struct entry *next, *prev;  /* in its lane, while dirty and not running */
    enum queue_lane lane;       /* of the wanted run; valid while dirty */
    enum queue_lane later_lane; /* of the delayed run; valid while the timer is set */
    bool dirty;                 /* a run is wanted */
    bool running;
    unsigned failures;
    char key[];
};

struct lane {
    struct entry *first, *last;
};

struct queue {
    struct lane lanes[QUEUE_LANE_COUNT];
    struct timer_heap later;
    struct bucket bucket;
    struct entry **slots;
    size_t slot_count; /* a power of two */
    size_t max_keys;
    size_t key_count;
    size_t ready_count;
};

static struct entry **find(const struct queue *queue, const char *key);
static struct entry *find_or_add(struct queue *queue, const char *key, struct err *err);
static void want(struct queue *queue, struct entry *entry, enum queue_lane lane);
static void want_at(struct queue *queue, struct entry *entry, enum queue_lane lane, int64_t due_ms);
static void lane_push(struct queue *queue, struct entry *entry);
static void lane_remove(struct queue *queue, struct entry *entry);
static void drop_if_idle(struct queue *queue, struct entry **link);

struct queue *queue_new(size_t max_keys, int64_t now_ms) {
    struct queue *queue = str_alloc(1, sizeof(*queue));

    assert(max_keys > 0);
    queue->max_keys = max_keys;
    queue->bucket = bucket_full(QUEUE_RETRY_PER_S, QUEUE_RETRY_BURST_COUNT, now_ms);
    queue->slot_count = 16;
    while (queue->slot_count < max_keys && queue->slot_count < 65536)
        queue->slot_count *= 2;
    queue->slots = str_alloc(queue->slot_count, sizeof(queue->slots[0]));
    return queue;
}

void queue_free(struct queue *queue) {
    if (!queue)
        return;
    for (size_t i = 0; i < queue->slot_count; i++) {
        for (struct entry *entry = queue->slots[i], *next; entry; entry = next) {
            next = entry->hash_next;
            free(entry);
        }
    }
    timer_heap_done(&queue->later);
    free(queue->slots);
    free(queue);
}

int queue_add(struct queue *queue, enum queue_lane lane, const char *key, struct err *err) {
    struct entry *entry = find_or_add(queue, key, err);

    if (!entry)
        return ERR_RETRY;
    want(queue, entry, lane);
    return 0;
}

int queue_add_at(struct queue *queue, enum queue_lane lane, const char *key, int64_t due_ms,
                 struct err *err) {
    struct entry *entry = find_or_add(queue, key, err);

    if (!entry)
        return ERR_RETRY;
    want_at(queue, entry, lane, due_ms);
    return 0;
}

int queue_retry(struct queue *queue, enum queue_lane lane, const char *key, int64_t now_ms,
                int64_t *ret_delay_ms, struct err *err) {
    struct entry *entry = find_or_add(queue, key, err);

    if (!entry)
        return ERR_RETRY;
    const int64_t own_ms =
        backoff_ms(QUEUE_BACKOFF_FIRST_MS, QUEUE_BACKOFF_MAX_MS, entry->failures);
    const int64_t shared_ms = bucket_reserve_ms(&queue->bucket, now_ms);
    const int64_t delay_ms = own_ms > shared_ms ? own_ms : shared_ms;

    if (entry->failures < UINT32_MAX)
        entry->failures++;
    want_at(queue, entry, lane, now_ms + delay_ms);
    *ret_delay_ms = delay_ms;
    return 0;
}

void queue_forget(struct queue *queue, const char *key) {
    struct entry **link = find(queue, key);

    if (!*link)
        return;
    (*link)->failures = 0;
    drop_if_idle(queue, link);
}

unsigned queue_failures(const struct queue *queue, const char *key) {
    const struct entry *entry = *find(queue, key);

    return entry ? entry->failures : 0;
}

const char *queue_take(struct queue *queue, int64_t now_ms, enum queue_lane *ret_lane) {
    for (struct timer *timer; (timer = timer_pop(&queue->later, now_ms)) != NULL;) {
        struct entry *entry = (struct entry *)timer;

        want(queue, entry, entry->later_lane);
    }
    for (size_t i = 0; i < QUEUE_LANE_COUNT; i++) {
        struct entry *entry = queue->lanes[i].first;

        if (!entry)
            continue;
        lane_remove(queue, entry);
        entry->dirty = false;
        entry->running = true;
        if (ret_lane)
            *ret_lane = entry->lane;
        return entry->key;
    }
    return NULL;
}

void queue_done(struct queue *queue, const char *key) {
    struct entry **link = find(queue, key);

    assert(*link && (*link)->running);
    (*link)->running = false;
    if ((*link)->dirty)
        lane_push(queue, *link);
    else
        drop_if_idle(queue, link);
}

size_t queue_depth(const struct queue *queue) {
    return queue->ready_count;
}

size_t queue_key_count(const struct queue *queue) {
    return queue->key_count;
}

int queue_next_ms(const struct queue *queue, int64_t now_ms, int64_t *ret_due_ms) {
    int64_t due_ms = now_ms;

    if (!queue->ready_count && !timer_next_ms(&queue->later, &due_ms))
        return 0;
    *ret_due_ms = due_ms > now_ms ? due_ms : now_ms;
    return 1;
}

/* The link that points at key's entry, or the NULL link where it would go. */
static struct entry **find(const struct queue *queue, const char *key) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    struct entry **link = &queue->slots[(hash ^ hash >> 32) & (queue->slot_count - 1)];

    while (*link && strcmp((*link)->key, key) != 0)
        link = &(*link)->hash_next;
    return link;
}

static struct entry *find_or_add(struct queue *queue, const char *key, struct err *err) {
    struct entry **link = find(queue, key);

    if (*link)
        return *link;
    if (queue->key_count == queue->max_keys) {
        err_set(err, ERR_RETRY, "queue is full at %zu keys", queue->max_keys);
        return NULL;
    }
    const size_t key_bytes = strlen(key) + 1;

    *link = str_alloc(1, sizeof(**link) + key_bytes);
    memcpy((*link)->key, key, key_bytes);
    queue->key_count++;
    return *link;
}

static void want(struct queue *queue, struct entry *entry, enum queue_lane lane) {
    if (entry->dirty && entry->lane <= lane)
        return;
    if (entry->dirty && !entry->running)
        lane_remove(queue, entry);
    entry->dirty = true;
    entry->lane = lane;
    if (!entry->running)
        lane_push(queue, entry);
}

static void want_at(struct queue *queue, struct entry *entry, enum queue_lane lane,
                    int64_t due_ms) {
    const bool set = timer_is_set(&entry->timer);

    if (!set || lane < entry->later_lane)
        entry->later_lane = lane;
    if (!set || due_ms < entry->timer.due_ms)
        timer_set(&queue->later, &entry->timer, due_ms);
}

static void lane_push(struct queue *queue, struct entry *entry) {
    struct lane *lane = &queue->lanes[entry->lane];

    entry->next = NULL;
    entry->prev = lane->last;
    if (lane->last)
        lane->last->next = entry;
    else
        lane->first = entry;
    lane->last = entry;
    queue->ready_count++;
}

static void lane_remove(struct queue *queue, struct entry *entry) {
    struct lane *lane = &queue->lanes[entry->lane];

    if (entry->prev)
        entry->prev->next = entry->next;
    else
        lane->first = entry->next;
    if (entry->next)
        entry->next->prev = entry->prev;
    else
        lane->last = entry->prev;
    queue->ready_count--;
}

/* Frees an entry that nothing refers to any more and that has no failures to remember. */
static void drop_if_idle(struct queue *queue, struct entry **link) {
    struct entry *entry = *link;

    if (entry->dirty || entry->running || entry->failures || timer_is_set(&entry->timer))
        return;
    *link = entry->hash_next;
    free(entry);
    queue->key_count--;
}
