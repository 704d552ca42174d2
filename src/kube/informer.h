/* informer.h - keeps a cache of one resource type up to date over a transport.
 *
 * The reflector (reflector.h) decides what to ask; this sends it, cuts the answer into items as it
 * arrives (jsonsplit.h), has each read into the caller's own packed struct, and feeds the results
 * back. JSON that the reader skips is never built into anything.
 * Units:     monotonic milliseconds.
 * Ownership: objects a reader makes pass to the cache, which releases them with free_object. The
 *            transport, the clock and the reader's arg are the caller's and must outlive it.
 * Threads:   control only. Callbacks of the transport drive it between ticks.
 */
#ifndef BULKHEAD_KUBE_INFORMER_H
#define BULKHEAD_KUBE_INFORMER_H

#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"
#include "kube/reflector.h"
#include "kube/url.h"
#include "net/http.h"

struct informer_options {
    struct transport *transport;
    const struct clock *clock;
    struct url_target target;   /* group, version, resource; ns or NULL for all. Texts are copied */
    const char *label_selector; /* NULL: all */
    const char *field_selector; /* NULL: all */
    /* Reads one object's JSON. Fills ret_item (key "namespace/name" or "name", uid, rv, object);
     * its texts must stay valid until the next call. 1: keep it; 0: not wanted, as if it did not
     * exist; ERR_INVALID: it makes no sense, the item is counted and skipped. */
    int (*read)(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                struct err *err);
    void *read_arg;
    void (*free_object)(void *object);
    store_sink sink; /* told each change, in order; may be NULL */
    void *context;   /* the sink's */
    size_t max_items;
    bool watch_list;
    bool no_bookmarks;
    struct random rng;
};

struct informer;

/* An informer at rest; the first tick starts it. Release with informer_free(). */
struct informer *informer_new(const struct informer_options *options);

/* Ends its streams and releases it and its cache; NULL is fine. The sink hears nothing of it. */
void informer_free(struct informer *informer);

/* Does what is due at now. Returns when to come again; INT64_MAX: only after a callback. */
int64_t informer_tick(struct informer *informer, int64_t now_ms);

/* When the next tick is due; changes with every callback of the transport. */
int64_t informer_due_ms(const struct informer *informer);

/* The cache; borrowed until the next tick or callback. */
const struct store *informer_store(const struct informer *informer);

/* See reflector.h. */
struct reflector_status informer_status(const struct informer *informer);

/* Number of items that could not be read, ever; the latest one's complaint is in text. */
unsigned informer_fault_count(const struct informer *informer, const char **ret_text);

/* Folds the answer to one of our own writes into the cache if it is newer (C28), so that a decision
 * made before the watch tells us does not see the old state. bytes: the object's JSON. A read that
 * fails is ignored: the watch will tell. */
void informer_fold(struct informer *informer, const char *bytes, size_t size_bytes);

/* Folds the answer to a delete that the server has completed: forgets the key if its uid is uid,
 * and ignores older news of that uid (a tombstone) until the watch has passed it. */
void informer_fold_gone(struct informer *informer, const char *key, const char *uid);

#endif
