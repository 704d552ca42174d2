/* watch.h - every open watch: what it has been sent, and what each change means to it.
 *
 * A frame is written once for all watches that see a change alike. An object that stops matching a
 * selector is told as DELETED, one that starts as ADDED. A watch that lags is ended: its client
 * comes back and reads what it missed.
 * Time:      monotonic milliseconds, handed in.
 * Ownership: a watch owns its reply from watches_start() on, until it ends it or is told closed.
 * Limits:    WATCHES_MAX watches, WATCH_BACKLOG_MAX_BYTES unsent bytes of one.
 */
#ifndef BULKHEAD_APISERVER_WATCH_H
#define BULKHEAD_APISERVER_WATCH_H

#include "apiserver/kind.h"
#include "apiserver/objects.h"
#include "apiserver/selector.h"
#include "apiserver/view.h"
#include "base/clock.h"
#include "net/http.h"

#include <stdbool.h>
#include <stdint.h>

#define WATCHES_MAX 2000
#define WATCH_BACKLOG_MAX_BYTES ((size_t)16 << 20)
#define WATCH_BOOKMARK_MS 60000

struct watches;

/* What a watch is asked for. Texts are copied, selectors taken over. */
struct watch_request {
    const struct kind *kind;
    struct object_set *set;
    enum view_form form;
    const char *include_object;
    const char *ns; /* "" is all */
    struct selector labels;
    struct selector fields;
    uint64_t from_rv;  /* changes after this one; 0: from now on */
    bool initial;      /* first every object there is, as ADDED */
    bool initial_mark; /* then a bookmark that says that this was all */
    bool bookmarks;
    int64_t timeout_ms;
};

/* No watches. objects and kinds must outlive it. Release with watches_free(). */
struct watches *watches_new(struct objects *objects, const struct kinds *kinds,
                            const struct clock *clock);

/* Ends every watch and releases it; NULL is fine. */
void watches_free(struct watches *watches);

/* Opens a watch on reply. ERR_RETRY if there are too many; the reply is then still the caller's,
 * and the selectors too. */
int watches_start(struct watches *watches, struct watch_request *request, struct http_reply *reply,
                  struct err *err);

/* Tells a change to every watch that it concerns. */
void watches_tell(struct watches *watches, const struct change *change);

/* Ends the watches of a set whose kind is no longer served. */
void watches_end_unserved(struct watches *watches);

/* The peer of this reply has left. */
void watches_closed(struct watches *watches, struct http_reply *reply);

/* Sends bookmarks and ends what is over. Returns when to come again; INT64_MAX: no watch. */
int64_t watches_tick(struct watches *watches, int64_t now_ms);

/* How many are open. */
int watches_count(const struct watches *watches);

#endif
