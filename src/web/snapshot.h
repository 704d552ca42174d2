/* snapshot.h - what the control thread lets others see of it: a copy, never changed again.
 *
 * The control thread takes one and publishes it; the web thread answers from the last one it got.
 * Ownership: a snapshot is one block; snapshot_free() releases it.
 * Threads:   snapshot_take() on the control thread; the copy belongs to whoever holds it.
 */
#ifndef BULKHEAD_WEB_SNAPSHOT_H
#define BULKHEAD_WEB_SNAPSHOT_H

#include "controller/manager.h"

#include <stdbool.h>
#include <stdint.h>

struct snapshot {
    int64_t taken_ms; /* monotonic */
    bool synced;      /* the hub's caches have been filled */
    bool leads;       /* may write, as far as the Lease goes */
    bool lost;        /* led, and lost the Lease */
    bool observe;     /* writes nothing by choice */
    int children;
    int children_fresh; /* of them, those that answer */
};

/* Copies what is to be seen of manager. */
struct snapshot *snapshot_take(struct manager *manager, int64_t now_ms);

/* Releases it; NULL is fine. */
void snapshot_free(struct snapshot *snapshot);

#endif
