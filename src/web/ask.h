/* ask.h - questions of the web thread that only the control thread can answer, and their answers.
 *
 * The web thread puts a question and goes on serving; the control thread runs it between two turns,
 * with its own state at hand; the web thread then sends the answer. When control is stuck or busy
 * for longer than the question may wait, the web thread answers without it.
 * Bounds:    ASK_MAX questions at a time, in any state; one more is refused at once. The control
 *            thread runs ASK_TURN_MAX between two turns.
 * Ownership: a question that was put belongs to the box until its free() is called, which is once,
 *            on either thread, after answer() or in its place.
 * Threads:   each function says whose it is; a lock holds the box together.
 */
#ifndef BULKHEAD_WEB_ASK_H
#define BULKHEAD_WEB_ASK_H

#include "base/err.h"
#include "net/http.h"

#include <stdint.h>

#define ASK_MAX 64
#define ASK_TURN_MAX 16
#define ASK_WAIT_MS 3000 /* what a question may usually wait: under any caller's time limit */

struct manager;
struct ask_box;

/* Embedded first in the caller's own struct, which holds the question and takes the answer. */
struct ask {
    /* Control thread: fills in the answer. Must not block and must not keep anything. */
    void (*run)(struct ask *ask, struct manager *manager);
    /* Web thread: sends the answer and ends the reply. late: control did not come in time, or we
     * are ending; it may still be at it, so only what stood before ask_put() may be read. */
    void (*answer)(struct ask *ask, struct http_reply *reply, bool late);
    /* Either thread: releases the caller's struct. */
    void (*free)(struct ask *ask);
    /* The box's own. */
    struct http_reply *reply; /* NULL: nobody waits any more */
    int64_t due_ms;
    int state;
    struct ask *prev, *next;
};

/* An empty box. wake, called on the web thread, ends the control thread's wait; answered, called on
 * the control thread, the web thread's. Release with ask_box_free(). */
struct ask_box *ask_box_new(void (*wake)(void *arg), void (*answered)(void *arg), void *arg);

/* Releases it and every question without an answer; both threads have ended. NULL is fine. */
void ask_box_free(struct ask_box *box);

/* Web thread: puts a question that waits until due_ms and takes it over. ERR_RETRY when the box is
 * full: the caller keeps the question and answers by itself. */
int ask_put(struct ask_box *box, struct ask *ask, struct http_reply *reply, int64_t due_ms,
            struct err *err);

/* Web thread: the peer of this reply left; its question is still run, or dropped if it waits. */
void ask_forget(struct ask_box *box, const struct http_reply *reply);

/* Web thread: sends what was answered and what is late. Returns when to come again; INT64_MAX: only
 * after an answer. */
int64_t ask_deliver(struct ask_box *box, int64_t now_ms);

/* Control thread: runs up to ASK_TURN_MAX questions. Returns whether more wait. */
bool ask_run(struct ask_box *box, struct manager *manager);

#endif
