/* jsonsplit.h - cuts a stream of bytes, in whatever chunks it comes, into JSON objects.
 *
 * LIST:   one document. Each element of its top-level "items" array is handed over by itself; kind,
 *         apiVersion, metadata.resourceVersion and metadata.continue are kept, wherever they stand.
 *         "items": null is an empty list. A document without items, such as a Status, is handed
 *         over whole to its own callback.
 * WATCH:  objects one after the other, with or without line ends between them. What is cut at the
 *         end of the stream is dropped.
 * Memory: of what was fed, at most one item is held, and none at all if a chunk holds it whole.
 *         Before the items come, all of the document is held, under the same cap. The length of a
 *         list is not capped.
 * Checks: everything but the items is validated here. An item is a { with its }, nested no deeper
 *         than JSONPULL_DEPTH_MAX and no longer than the cap; read it with jsonpull, which
 *         validates the rest. Cost is linear in the bytes.
 * Errors: ERR_INVALID with the offset in the stream, and final: later calls fail alike.
 */
#ifndef BULKHEAD_BASE_JSONSPLIT_H
#define BULKHEAD_BASE_JSONSPLIT_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSONSPLIT_ITEM_MAX_BYTES ((size_t)8 << 20)
#define JSONSPLIT_TYPE_MAX 32 /* bytes of a watch event's type, NUL counted */

enum jsonsplit_mode { JSONSPLIT_LIST, JSONSPLIT_WATCH };

/* Takes one object; bytes are valid during the call only. 0 goes on, 1 stops the stream, a negative
 * code fails it and is what jsonsplit_feed() returns. */
typedef int jsonsplit_take(void *arg, const char *bytes, size_t size_bytes, struct err *err);

/* What the caller chooses. */
struct jsonsplit_options {
    enum jsonsplit_mode mode;
    size_t item_max_bytes; /* 0 is JSONSPLIT_ITEM_MAX_BYTES */
    jsonsplit_take *item;  /* an element of items, or a watch event */
    jsonsplit_take *whole; /* LIST: a document that is no list; NULL refuses it */
    void *arg;
};

/* What a document says about itself. NULL is absent or null, "" is "". Complete only once
 * jsonsplit_end() gave 0, since metadata may come last. */
struct jsonsplit_head {
    char *kind;
    char *api_version;
    char *resource_version;
    char *continue_token;
    bool is_list; /* it has items, or items is null */
};

struct jsonsplit_scan {
    int depth;
    bool in_string;
    bool escaped; /* the last byte was a backslash in a string */
    bool scalar;  /* a number or a word: ends before a byte that cannot belong to it */
};

/* Read only: head and count; the rest is the splitter's. */
struct jsonsplit {
    struct jsonsplit_head head;
    uint64_t count; /* objects handed over */
    struct jsonsplit_options options;
    int step;
    int field;
    int result;          /* what every later call returns, once it is not 0 */
    struct err err;      /* with result < 0 */
    uint64_t base;       /* offset in the stream of the chunk's first byte */
    uint64_t keep;       /* offset of the first byte still needed */
    bool keeping;        /* whether any is */
    uint64_t mark;       /* where the current key, value or item starts */
    uint64_t held_start; /* offset of held's first byte */
    struct str held;
    struct jsonsplit_scan scan;
};

/* A watch event; both borrowed or copied from the item. */
struct jsonsplit_event {
    char type[JSONSPLIT_TYPE_MAX]; /* as the server wrote it: unknown ones too */
    const char *object;            /* the object's own JSON, validated; borrowed from the item */
    size_t object_bytes;
};

/* Starts a stream. */
void jsonsplit_init(struct jsonsplit *split, const struct jsonsplit_options *options);

/* Takes the next chunk, of any size. 0: go on; 1: the callback stopped the stream; ERR_INVALID: the
 * stream is broken; else what the callback returned. */
int jsonsplit_feed(struct jsonsplit *split, const char *bytes, size_t size_bytes, struct err *err);

/* The stream has ended. 0 if what came is whole, or is a watch; 1 if it was stopped. A list that
 * was cut is ERR_RETRY: it is never to be taken for a shorter one. */
int jsonsplit_end(struct jsonsplit *split, struct err *err);

/* Releases what is held; all-zero and NULL are fine. */
void jsonsplit_done(struct jsonsplit *split);

/* Reads one item of a watch. ERR_INVALID if it is broken, has no type or no object, or its type
 * does not fit; ret_event is then untouched. */
int jsonsplit_event_read(const char *bytes, size_t size_bytes, struct jsonsplit_event *ret_event,
                         struct err *err);

#endif
