#include "kube/reflector.h"

#include "base/backoff.h"
#include "base/str.h"
#include "kube/resourceversion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum phase { WAITING, LISTING, FILLING, WATCHING }; /* FILLING: a watch-list before its bookmark */
enum want { WANT_LIST, WANT_FILL, WANT_WATCH };

/* An object whose own write was answered: what is older than the answer is stale. */
struct note {
    char *uid;
    char *key;
    char *rv; /* NULL: it is deleted for good */
    int64_t at_ms;
    UT_hash_handle hh; /* in the order they were made */
};

struct reflector {
    struct reflector_config config;
    struct reflector_status status;
    struct random rng;
    struct store *cache;
    struct store *side; /* a list or watch-list under way */
    enum phase phase;
    enum want want;  /* of the next request */
    uint64_t serial; /* of the request under way */
    char rv[REFLECTOR_RV_SIZE];
    char *next_page; /* the continue token, or NULL */
    bool unset;      /* the next list goes without a version: quorum */
    bool list_unset; /* the list under way did */
    bool unpaged;
    bool synthetic; /* ADDED events carry versions out of order */
    bool had_event;
    bool had_head;
    bool bookmarked; /* the type has sent one at some time */
    int timeout_s;
    int64_t due_ms;
    int64_t started_ms;
    int64_t list_ms; /* when the first page of the list was asked for */
    int64_t byte_ms;
    int64_t failed_ms;
    unsigned failures;
    unsigned internal; /* in-stream 500s in a row */
    unsigned silent;   /* watches in a row that ended early without an event */
    struct note *notes;
};

static struct reflector_out on_head(struct reflector *r, const struct reflector_event *e,
                                    int64_t now_ms);
static struct reflector_out on_item(struct reflector *r, const struct reflector_event *e,
                                    int64_t now_ms);
static struct reflector_out on_list_end(struct reflector *r, const struct reflector_event *e,
                                        int64_t now_ms);
static struct reflector_out on_change(struct reflector *r, const struct reflector_event *e,
                                      int64_t now_ms);
static struct reflector_out on_error(struct reflector *r, const struct reflector_event *e,
                                     int64_t now_ms);
static struct reflector_out on_end(struct reflector *r, bool clean, int64_t now_ms);
static struct reflector_out on_timer(struct reflector *r, int64_t now_ms);
static struct reflector_out request(struct reflector *r, int64_t now_ms);
static struct reflector_out fail(struct reflector *r, enum want want, bool drop,
                                 int64_t retry_after_ms, int64_t now_ms);
static struct reflector_out wait_until(struct reflector *r, enum want want, bool drop,
                                       int64_t due_ms);
static struct reflector_out stay(const struct reflector *r);
static struct reflector_out finish(struct reflector *r, const char *rv, bool stream,
                                   int64_t now_ms);
static int apply(struct reflector *r, const struct reflector_event *e);
static int replace(struct reflector *r, struct store *store, const struct store_item *item,
                   bool loud);
static void carry(struct reflector *r, const char *rv);
static void note_add(struct reflector *r, const struct store_item *item, bool gone, int64_t now_ms);
static void note_remove(struct reflector *r, struct note *note);
static void note_pass(struct reflector *r, const struct reflector_event *e);
static void notes_prune(struct reflector *r, int64_t now_ms);
static struct note *note_find(const struct reflector *r, const char *uid);
static bool is_stale(const struct reflector *r, const struct store_item *item);
static bool is_after_note(const struct reflector *r, const struct note *note);
static void ignore(void *context, enum store_change change, const struct store_item *item);
static void move_rv(struct reflector *r, const char *rv);
static bool is_older(const char *a, const char *b);
static bool is_expired(const struct reflector_event *e);
static void tell(const struct reflector *r, enum store_change change,
                 const struct store_item *item);
static void free_event_object(const struct reflector *r, const struct reflector_event *e);

struct reflector *reflector_new(const struct reflector_config *config, struct random rng) {
    struct reflector *r = str_alloc(1, sizeof *r);

    r->config = *config;
    r->rng = rng;
    r->cache = store_new(config->max_items, config->free_object);
    r->want = config->watch_list ? WANT_FILL : WANT_LIST;
    return r;
}

void reflector_free(struct reflector *r) {
    if (!r)
        return;
    store_free(r->cache);
    store_free(r->side);
    free(r->next_page);
    while (r->notes)
        note_remove(r, r->notes);
    free(r);
}

struct reflector_out reflector_step(struct reflector *r, const struct reflector_event *e,
                                    int64_t now_ms) {
    if (e->kind == REFLECTOR_TIMER)
        return on_timer(r, now_ms);
    if (r->phase == WAITING || e->serial != r->serial) {
        free_event_object(r, e);
        return stay(r);
    }
    r->byte_ms = now_ms;
    notes_prune(r, now_ms);
    switch (e->kind) {
    case REFLECTOR_HEAD:
        return on_head(r, e, now_ms);
    case REFLECTOR_ITEM:
        return on_item(r, e, now_ms);
    case REFLECTOR_LIST_END:
        return on_list_end(r, e, now_ms);
    case REFLECTOR_CHANGE:
        return on_change(r, e, now_ms);
    case REFLECTOR_END:
        return on_end(r, true, now_ms);
    case REFLECTOR_BROKEN:
        return on_end(r, false, now_ms);
    case REFLECTOR_GARBLED:
        return fail(r, WANT_LIST, true, 0, now_ms);
    case REFLECTOR_BYTES:
    case REFLECTOR_TIMER:
        break;
    }
    return stay(r);
}

const struct store *reflector_store(const struct reflector *r) {
    return r->cache;
}

struct reflector_status reflector_status(const struct reflector *r) {
    struct reflector_status status = r->status;

    status.rv = r->rv;
    return status;
}

void reflector_fold(struct reflector *r, const struct store_item *item, bool wanted,
                    int64_t now_ms) {
    const struct store_item *old = item->key ? store_get(r->cache, item->key) : NULL;
    const bool newer = r->status.synced && item->key && item->uid && item->rv &&
                       strlen(item->rv) < sizeof r->rv && is_older(r->rv, item->rv) &&
                       (!old || is_older(old->rv, item->rv)) && !is_stale(r, item);
    bool taken = false;

    if (newer && wanted) {
        taken = replace(r, r->cache, item, true) == 0;
    } else if (newer && old && strcmp(old->uid, item->uid) == 0) {
        tell(r, STORE_DELETE, old);
        store_remove(r->cache, item->key);
    }
    if (newer && (taken || !wanted))
        note_add(r, item, false, now_ms);
    if (!taken && item->object && r->config.free_object)
        r->config.free_object(item->object);
}

void reflector_fold_gone(struct reflector *r, const char *key, const char *uid, int64_t now_ms) {
    const struct store_item gone = {.key = key, .uid = uid};
    const struct store_item *old = store_get(r->cache, key);
    const struct store_item *listed = r->side ? store_get(r->side, key) : NULL;

    if (old && strcmp(old->uid, uid) == 0) {
        tell(r, STORE_DELETE, old);
        store_remove(r->cache, key);
    }
    if (listed && strcmp(listed->uid, uid) == 0)
        store_remove(r->side, key);
    note_add(r, &gone, true, now_ms);
}

static struct reflector_out on_timer(struct reflector *r, int64_t now_ms) {
    if (r->phase == WAITING)
        return now_ms >= r->due_ms ? request(r, now_ms) : stay(r);
    if (now_ms < stay(r).again_at_ms)
        return stay(r);
    /* Not a byte, not even a bookmark: the next watch ends by itself before this can happen. */
    if (r->phase == WATCHING && r->had_head && !r->bookmarked)
        r->config.no_bookmarks = true;
    return fail(r, r->phase == WATCHING ? WANT_WATCH : WANT_LIST, true, 0, now_ms);
}

static struct reflector_out on_head(struct reflector *r, const struct reflector_event *e,
                                    int64_t now_ms) {
    const bool watching = r->phase == WATCHING;

    if (e->status >= 200 && e->status < 300) {
        r->had_head = true;
        r->status.blocked = 0;
        return stay(r);
    }
    if (e->status == 403 || e->status == 404) {
        r->status.blocked = e->status;
        return wait_until(r, WANT_LIST, true,
                          now_ms + random_jitter_ms(&r->rng, REFLECTOR_BLOCKED_MS, 1000));
    }
    if (is_expired(e)) {
        r->unpaged = r->next_page != NULL;
        r->unset = !watching;
        return fail(r, WANT_LIST, true, e->retry_after_ms, now_ms);
    }
    if (r->phase == FILLING && (e->status == 400 || e->status == 422)) {
        r->config.watch_list = false; /* the server does not know it: ask no more */
        struct reflector_out out = wait_until(r, WANT_LIST, true, now_ms);

        out.send = true;
        out.request = request(r, now_ms).request;
        out.again_at_ms = stay(r).again_at_ms;
        return out;
    }
    return fail(r, watching ? WANT_WATCH : WANT_LIST, true, e->retry_after_ms, now_ms);
}

static struct reflector_out on_item(struct reflector *r, const struct reflector_event *e,
                                    int64_t now_ms) {
    if (r->phase != LISTING || !e->item.key || is_stale(r, &e->item)) {
        free_event_object(r, e);
        return stay(r);
    }
    if (store_put(r->side, &e->item, NULL) == 0)
        return stay(r);
    free_event_object(r, e);
    r->status.overfull = true;
    return fail(r, WANT_LIST, true, REFLECTOR_BLOCKED_MS, now_ms);
}

static struct reflector_out on_list_end(struct reflector *r, const struct reflector_event *e,
                                        int64_t now_ms) {
    if (r->phase != LISTING || !e->rv || strlen(e->rv) >= sizeof r->rv)
        return fail(r, WANT_LIST, true, 0, now_ms);
    if (e->continue_token && e->continue_token[0] != '\0') {
        char *token = str_dup(e->continue_token);

        free(r->next_page);
        r->next_page = token;
        r->want = WANT_LIST;
        return request(r, now_ms);
    }
    if (!r->list_unset && is_older(e->rv, r->rv)) {
        r->unset = true; /* a server that lags: never back in time */
        return fail(r, WANT_LIST, false, 0, now_ms);
    }
    return finish(r, e->rv, false, now_ms);
}

/* The side store is complete: swap it in, tell the difference, and go on watching. */
static struct reflector_out finish(struct reflector *r, const char *rv, bool stream,
                                   int64_t now_ms) {
    struct store *before = r->cache;

    carry(r, rv);
    const size_t vanished = store_vanished(before, r->side);
    const bool quorum = r->list_unset && !stream;

    if (vanished * 1000 > store_count(before) * REFLECTOR_SUSPECT_PERMILLE)
        r->status.suspect = true;
    else if (quorum)
        r->status.suspect = false;
    r->status.synced = true;
    r->status.overfull = false;
    snprintf(r->rv, sizeof r->rv, "%s", rv);
    r->cache = r->side;
    r->side = NULL;
    store_diff(before, r->cache, r->config.sink ? r->config.sink : ignore, r->config.context);
    store_free(before);
    free(r->next_page);
    r->next_page = NULL;
    r->unpaged = false;
    r->internal = 0;
    if (r->status.suspect) {
        r->unset = true;
        return fail(r, WANT_LIST, stream, 0, now_ms);
    }
    r->unset = false;
    if (stream) {
        r->phase = WATCHING;
        r->synthetic = false;
        return stay(r);
    }
    r->want = WANT_WATCH;
    return request(r, now_ms);
}

static struct reflector_out on_change(struct reflector *r, const struct reflector_event *e,
                                      int64_t now_ms) {
    const char *rv = e->type == REFLECTOR_BOOKMARK ? e->rv : e->item.rv;

    if (r->phase == LISTING) {
        free_event_object(r, e);
        return fail(r, WANT_LIST, true, 0, now_ms);
    }
    if (e->type == REFLECTOR_ERROR)
        return on_error(r, e, now_ms);
    if (e->type == REFLECTOR_UNKNOWN) {
        r->status.unknown_count++;
        free_event_object(r, e);
        return stay(r);
    }
    if (!rv || strlen(rv) >= sizeof r->rv || (e->type != REFLECTOR_BOOKMARK && !e->item.key)) {
        free_event_object(r, e);
        return fail(r, WANT_LIST, true, 0, now_ms);
    }
    r->had_event = true;
    r->silent = 0;
    r->internal = 0;
    if (e->type == REFLECTOR_BOOKMARK) {
        r->bookmarked = true;
        if (r->phase == FILLING && e->initial_end) {
            if (r->list_unset || !is_older(rv, r->rv))
                return finish(r, rv, true, now_ms);
            r->unset = true;
            return fail(r, WANT_LIST, true, 0, now_ms);
        }
        r->synthetic = false;
        if (r->phase == WATCHING)
            move_rv(r, rv);
        return stay(r);
    }
    if (r->phase == WATCHING && e->type != REFLECTOR_ADDED)
        r->synthetic = false;
    if (apply(r, e) < 0) {
        r->status.overfull = true;
        return fail(r, WANT_LIST, true, REFLECTOR_BLOCKED_MS, now_ms);
    }
    return stay(r);
}

static struct reflector_out on_error(struct reflector *r, const struct reflector_event *e,
                                     int64_t now_ms) {
    const bool filling = r->phase == FILLING;

    free_event_object(r, e);
    if (is_expired(e)) {
        r->unset = filling;
        return fail(r, WANT_LIST, true, e->retry_after_ms, now_ms);
    }
    if (e->status == 500 && ++r->internal >= REFLECTOR_INTERNAL_LIMIT) {
        r->internal = 0;
        return fail(r, WANT_LIST, true, e->retry_after_ms, now_ms);
    }
    return fail(r, filling ? WANT_LIST : WANT_WATCH, true, e->retry_after_ms, now_ms);
}

static struct reflector_out on_end(struct reflector *r, bool clean, int64_t now_ms) {
    const int64_t lived_ms = now_ms - r->started_ms;

    if (r->phase != WATCHING)
        return fail(r, WANT_LIST, false, 0, now_ms);
    if (!clean)
        return fail(r, WANT_WATCH, false, 0, now_ms);
    if (r->had_event || lived_ms >= (r->timeout_s - 5) * INT64_C(1000)) {
        r->silent = 0;
        return wait_until(r, WANT_WATCH, false, lived_ms >= 1000 ? now_ms : r->started_ms + 1000);
    }
    /* Early and without a word: the second time, the version may be a lie. */
    r->silent++;
    return fail(r, r->silent == 2 ? WANT_LIST : WANT_WATCH, false, 0, now_ms);
}

static int apply(struct reflector *r, const struct reflector_event *e) {
    struct store *store = r->phase == FILLING ? r->side : r->cache;
    const struct store_item *old = store_get(store, e->item.key);
    const bool loud = r->phase == WATCHING;
    const char *uid = e->item.uid ? e->item.uid : "";
    const bool same = old && strcmp(old->uid, uid) == 0;
    int order = 1;
    int code = 0;

    if (loud && !r->synthetic && e->type != REFLECTOR_DELETED &&
        resourceversion_compare(e->item.rv, r->rv, &order) && order <= 0) {
        free_event_object(r, e); /* a replay: the stream is in order, so this is known */
        return 0;
    }
    if (e->type == REFLECTOR_DELETED || e->unwanted) {
        if (same && !is_older(e->item.rv, old->rv)) {
            if (loud)
                tell(r, STORE_DELETE, old);
            store_remove(store, e->item.key);
        }
        free_event_object(r, e);
    } else if (is_stale(r, &e->item) ||
               (same && (strcmp(old->rv, e->item.rv) == 0 || is_older(e->item.rv, old->rv)))) {
        free_event_object(r, e);
    } else {
        code = replace(r, store, &e->item, loud);
        if (code < 0)
            free_event_object(r, e);
    }
    if (code == 0 && loud)
        note_pass(r, e);
    if (code == 0 && loud && !r->synthetic)
        move_rv(r, e->item.rv);
    return code;
}

/* Puts an item in the place of what has its key, and tells of it when loud. */
static int replace(struct reflector *r, struct store *store, const struct store_item *item,
                   bool loud) {
    const struct store_item *old = store_get(store, item->key);
    const bool same = old && strcmp(old->uid, item->uid ? item->uid : "") == 0;

    if (old && !same) {
        if (loud)
            tell(r, STORE_DELETE, old);
        store_remove(store, item->key);
    }
    const int code = store_put(store, item, NULL);

    if (code == 0 && loud)
        tell(r, same ? STORE_UPDATE : STORE_ADD, store_get(store, item->key));
    return code;
}

static struct reflector_out request(struct reflector *r, int64_t now_ms) {
    struct reflector_out out = {.send = true, .request.serial = ++r->serial};
    struct reflector_request *q = &out.request;

    r->started_ms = r->byte_ms = now_ms;
    r->had_head = r->had_event = false;
    if (r->want == WANT_LIST) {
        r->phase = LISTING;
        q->continue_token = r->next_page;
        if (!r->next_page) {
            r->status.list_count++;
            r->list_unset = r->unset;
            r->list_ms = now_ms;
            store_free(r->side);
            r->side = store_new(r->config.max_items, r->config.free_object);
            if (!r->unset)
                q->rv = r->rv[0] ? r->rv : "0";
            q->match_not_older = !r->unset;
        }
        /* With a version set, paging would bypass the watch cache. */
        if (!r->unpaged && (r->next_page || !q->rv || strcmp(q->rv, "0") == 0))
            q->limit = REFLECTOR_PAGE_COUNT;
        out.again_at_ms = stay(r).again_at_ms;
        return out;
    }
    const uint64_t low_s = r->config.no_bookmarks ? 60 : 300;

    r->timeout_s = (int)(low_s + random_below(&r->rng, r->config.no_bookmarks ? 61 : 301));
    q->watch = q->bookmarks = true;
    q->timeout_s = r->timeout_s;
    q->rv = r->rv[0] ? r->rv : NULL;
    r->phase = WATCHING;
    r->synthetic = !r->rv[0] || strcmp(r->rv, "0") == 0;
    if (r->want == WANT_FILL) {
        r->phase = FILLING;
        r->synthetic = true;
        r->status.list_count++;
        r->list_unset = r->rv[0] == '\0';
        r->list_ms = now_ms;
        store_free(r->side);
        r->side = store_new(r->config.max_items, r->config.free_object);
        q->send_initial_events = q->match_not_older = true;
    }
    out.again_at_ms = stay(r).again_at_ms;
    return out;
}

static struct reflector_out fail(struct reflector *r, enum want want, bool drop,
                                 int64_t retry_after_ms, int64_t now_ms) {
    if (now_ms - r->failed_ms >= REFLECTOR_HEALTHY_MS)
        r->failures = 0;
    r->failed_ms = now_ms;
    int64_t wait_ms =
        backoff_ms(REFLECTOR_BACKOFF_FIRST_MS, REFLECTOR_BACKOFF_MAX_MS, r->failures++);

    if (retry_after_ms > REFLECTOR_RETRY_AFTER_MAX_MS)
        retry_after_ms = REFLECTOR_RETRY_AFTER_MAX_MS;
    if (retry_after_ms > wait_ms)
        wait_ms = retry_after_ms;
    return wait_until(r, want, drop, now_ms + random_jitter_ms(&r->rng, wait_ms, 1000));
}

static struct reflector_out wait_until(struct reflector *r, enum want want, bool drop,
                                       int64_t due_ms) {
    /* A watch-list that failed falls back to one list; a later relist may try it again. */
    if (want == WANT_LIST && r->phase == WATCHING && r->config.watch_list && !r->unset)
        want = WANT_FILL;
    /* Without a version to resume at, deletes in the gap would be missed. */
    if (want == WANT_WATCH && r->synthetic)
        want = WANT_LIST;
    store_free(r->side);
    r->side = NULL;
    free(r->next_page);
    r->next_page = NULL;
    r->phase = WAITING;
    r->want = want;
    r->due_ms = due_ms;
    return (struct reflector_out){.drop = drop, .again_at_ms = due_ms};
}

static struct reflector_out stay(const struct reflector *r) {
    int64_t quiet_ms = REFLECTOR_WATCHDOG_MS;

    if (r->phase == WAITING)
        return (struct reflector_out){.again_at_ms = r->due_ms};
    /* Where no bookmark comes, the server's own timeout has to come first. */
    if (r->phase == WATCHING && r->config.no_bookmarks)
        quiet_ms += 10000;
    return (struct reflector_out){.again_at_ms = r->byte_ms + quiet_ms};
}

/* A list that is older than a write of our own must not take it back: what was folded goes over,
 * with an object that store_diff() exchanges for the known one. */
static void carry(struct reflector *r, const char *rv) {
    for (const struct note *note = r->notes; note; note = note->hh.next) {
        const struct store_item *known = store_get(r->cache, note->key);

        if (!note->rv || !known || strcmp(known->uid, note->uid) != 0 ||
            strcmp(known->rv, note->rv) != 0 || !is_older(rv, note->rv) || is_after_note(r, note))
            continue;
        const struct store_item item = {known->key, known->uid, known->rv, NULL};

        store_put(r->side, &item, NULL);
    }
}

static void note_add(struct reflector *r, const struct store_item *item, bool gone,
                     int64_t now_ms) {
    struct note *note = note_find(r, item->uid);

    if (note)
        note_remove(r, note);
    if (HASH_COUNT(r->notes) >= REFLECTOR_FOLD_MAX)
        note_remove(r, r->notes);
    note = str_alloc(1, sizeof *note);
    note->uid = str_dup(item->uid);
    note->key = str_dup(item->key);
    note->rv = gone ? NULL : str_dup(item->rv);
    note->at_ms = now_ms;
    HASH_ADD_KEYPTR(hh, r->notes, note->uid, strlen(note->uid), note);
}

static void note_remove(struct reflector *r, struct note *note) {
    HASH_DEL(r->notes, note);
    free(note->uid);
    free(note->key);
    free(note->rv);
    free(note);
}

/* What the watch has told of needs no note: a delete, or news as new as our own. */
static void note_pass(struct reflector *r, const struct reflector_event *e) {
    struct note *note = e->item.uid ? note_find(r, e->item.uid) : NULL;

    if (note && (e->type == REFLECTOR_DELETED || (note->rv && !is_older(e->item.rv, note->rv))))
        note_remove(r, note);
}

static void notes_prune(struct reflector *r, int64_t now_ms) {
    while (r->notes && now_ms - r->notes->at_ms >= REFLECTOR_FOLD_MS)
        note_remove(r, r->notes);
}

static struct note *note_find(const struct reflector *r, const char *uid) {
    struct note *note = NULL;

    HASH_FIND(hh, r->notes, uid, strlen(uid), note);
    return note;
}

/* Whether our own write has overtaken this news. */
static bool is_stale(const struct reflector *r, const struct store_item *item) {
    const struct note *note = item->uid ? note_find(r, item->uid) : NULL;

    return note && (!note->rv || (item->rv && is_older(item->rv, note->rv))) &&
           !is_after_note(r, note);
}

/* A quorum list begun after our write's answer knows better, even after a restored backup. */
static bool is_after_note(const struct reflector *r, const struct note *note) {
    return r->phase != WATCHING && r->side && r->list_unset && note->at_ms < r->list_ms;
}

static void ignore(void *context, enum store_change change, const struct store_item *item) {
    (void)context;
    (void)change;
    (void)item;
}

static void move_rv(struct reflector *r, const char *rv) {
    if (!is_older(rv, r->rv))
        snprintf(r->rv, sizeof r->rv, "%s", rv);
}

static bool is_older(const char *a, const char *b) {
    int order = 0;

    return resourceversion_compare(a, b, &order) && order < 0;
}

static bool is_expired(const struct reflector_event *e) {
    const char *reason = e->reason ? e->reason : "";

    return e->status == 410 || strcmp(reason, "Expired") == 0 || strcmp(reason, "Gone") == 0 ||
           strcmp(reason, "ResourceVersionTooLarge") == 0;
}

static void tell(const struct reflector *r, enum store_change change,
                 const struct store_item *item) {
    if (r->config.sink)
        r->config.sink(r->config.context, change, item);
}

static void free_event_object(const struct reflector *r, const struct reflector_event *e) {
    if (e->item.object && r->config.free_object)
        r->config.free_object(e->item.object);
}
