/* reflector.h - what to ask the API server next so that a cache follows one resource type.
 *
 * Does no I/O and asks no clock: the caller feeds events and now, sends the request a step returns,
 * ends the stream when told to, and comes again at again_at_ms.
 * Units:     monotonic milliseconds, handed in.
 * Ownership: an item's object passes to the reflector with the event, whatever becomes of it.
 * Limits:    max_items in the cache; beyond it the type is `overfull` and is listed again slowly.
 * Threads:   control only.
 */
#ifndef BULKHEAD_KUBE_REFLECTOR_H
#define BULKHEAD_KUBE_REFLECTOR_H

#include "base/random.h"
#include "kube/store.h"

#include <stdbool.h>
#include <stdint.h>

#define REFLECTOR_PAGE_COUNT 500
#define REFLECTOR_BACKOFF_FIRST_MS 800
#define REFLECTOR_BACKOFF_MAX_MS 30000
#define REFLECTOR_HEALTHY_MS 120000
#define REFLECTOR_WATCHDOG_MS 120000
#define REFLECTOR_BLOCKED_MS 30000
#define REFLECTOR_RETRY_AFTER_MAX_MS 600000
#define REFLECTOR_RV_SIZE 128          /* longer versions are a decode error */
#define REFLECTOR_INTERNAL_LIMIT 6     /* in-stream 500s in a row before a list */
#define REFLECTOR_SUSPECT_PERMILLE 300 /* more than this vanished in one list */
#define REFLECTOR_FOLD_MAX 1024        /* own writes remembered; beyond it the oldest goes */
#define REFLECTOR_FOLD_MS 300000       /* and for how long */

enum reflector_event_kind {
    REFLECTOR_TIMER,    /* start, or again_at_ms has come */
    REFLECTOR_HEAD,     /* status, retry_after_ms, reason of a refusal */
    REFLECTOR_BYTES,    /* anything arrived: only feeds the watchdog */
    REFLECTOR_ITEM,     /* one element of a list: item */
    REFLECTOR_LIST_END, /* the list's metadata: rv, continue_token */
    REFLECTOR_CHANGE,   /* one line of a watch: type, item or rv, status, initial_end */
    REFLECTOR_END,      /* the response ended in order */
    REFLECTOR_BROKEN,   /* it, or the connection, did not */
    REFLECTOR_GARBLED,  /* could not be decoded */
};

enum reflector_type {
    REFLECTOR_ADDED,
    REFLECTOR_MODIFIED,
    REFLECTOR_DELETED,
    REFLECTOR_BOOKMARK,
    REFLECTOR_ERROR,
    REFLECTOR_UNKNOWN,
};

struct reflector_event {
    enum reflector_event_kind kind;
    uint64_t serial;        /* of the request it answers; a stale one is dropped. Unused by TIMER */
    int status;             /* HEAD: HTTP status; ERROR: Status.code */
    int64_t retry_after_ms; /* 0 or less: none */
    const char *reason;     /* Status.reason or cause: Expired, ResourceVersionTooLarge; or NULL */
    enum reflector_type type;
    struct store_item item;     /* ITEM, CHANGE */
    bool unwanted;              /* ADDED, MODIFIED: not one of ours any more; drop it if cached */
    const char *rv;             /* LIST_END, BOOKMARK: metadata.resourceVersion */
    const char *continue_token; /* LIST_END; NULL or "": the last page */
    bool initial_end;           /* BOOKMARK: k8s.io/initial-events-end is "true" */
};

struct reflector_request {
    uint64_t serial;
    bool watch;
    int limit;                  /* 0: leave out */
    const char *continue_token; /* NULL: leave out */
    const char *rv;             /* NULL: leave out */
    bool match_not_older;       /* resourceVersionMatch=NotOlderThan */
    bool send_initial_events;
    bool bookmarks;
    int timeout_s; /* 0: leave out */
};

struct reflector_out {
    bool drop; /* end the current stream first, without waiting */
    bool send; /* then send request; its texts are valid until the next step */
    struct reflector_request request;
    int64_t again_at_ms; /* a TIMER is due then; INT64_MAX: never */
};

struct reflector_config {
    size_t max_items;
    void (*free_object)(void *object);
    store_sink sink; /* told each change, in order; may be NULL */
    void *context;
    bool watch_list;   /* try sendInitialEvents first */
    bool no_bookmarks; /* the type is known never to send one */
};

struct reflector_status {
    bool synced;   /* a full list was applied */
    int blocked;   /* 403 or 404 while that is the answer, else 0 */
    bool suspect;  /* much vanished and no second list agreed yet: destroy nothing */
    bool overfull; /* max_items was passed */
    unsigned unknown_count;
    unsigned list_count; /* list passes begun */
    const char *rv;
};

struct reflector;

/* A reflector at rest; a TIMER starts it. Release with reflector_free(). */
struct reflector *reflector_new(const struct reflector_config *config, struct random rng);

/* Releases it and its cache; NULL is fine. */
void reflector_free(struct reflector *reflector);

/* Feeds one event. Never fails: every event has an answer in every state. */
struct reflector_out reflector_step(struct reflector *reflector,
                                    const struct reflector_event *event, int64_t now_ms);

/* Puts the answer to a write of our own into the cache if it is newer than both the cache's item
 * and the watch (C28); older news of its uid are ignored until the watch has passed it. Takes the
 * object over in any case. wanted false: the object is no longer one of ours, so a cached one is
 * dropped. Before the first list it does nothing. */
void reflector_fold(struct reflector *reflector, const struct store_item *item, bool wanted,
                    int64_t now_ms);

/* The server has completed the delete of this uid: drops it from the cache, and ignores news of it
 * until the watch tells of the delete, a later quorum list begins, or REFLECTOR_FOLD_MS pass. */
void reflector_fold_gone(struct reflector *reflector, const char *key, const char *uid,
                         int64_t now_ms);

/* The cache as handlers were told it; borrowed until the next step. */
const struct store *reflector_store(const struct reflector *reflector);

/* What to show in status; rv is borrowed until the next step. */
struct reflector_status reflector_status(const struct reflector *reflector);

#endif
