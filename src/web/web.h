/* web.h - the web thread: probes and metrics over plain HTTP, answered from snapshots.
 *
 * It shares nothing with the control thread but the last snapshot that was published, a counter of
 * its turns and the box of questions (ask.h), so a stuck control loop does not silence the probes
 * that tell of it. A page is one row of the table in web.c.
 * Units:     monotonic milliseconds of the kernel's clock.
 * Ownership: web_new() starts the thread, web_free() ends it.
 * Threads:   all functions but web_ask() belong to the control thread.
 */
#ifndef BULKHEAD_WEB_WEB_H
#define BULKHEAD_WEB_WEB_H

#include "base/err.h"
#include "controller/manager.h"
#include "net/http.h"
#include "web/ask.h"

#include <stdbool.h>
#include <stdint.h>

#define WEB_PUBLISH_MS 1000 /* how old a snapshot may get while the control loop turns */

struct web_options {
    const char *address; /* "0.0.0.0:8080", "[::]:8080"; port 0: one that is free */
    /* Ends the control thread's wait; called on the web thread. */
    void (*wake)(void *arg);
    void *arg;
};

struct web;

/* Listens and starts the thread. ERR_INVALID names the address that is none or cannot be bound.
 * Release with web_free(). */
int web_new(const struct web_options *options, struct web **ret_web, struct err *err);

/* Ends the thread and every connection; NULL is fine. */
void web_free(struct web *web);

/* The port that is listened on. */
int web_port_number(const struct web *web);

/* After each turn of the control loop: says that it lives, publishes what is new of manager, and
 * answers questions. NULL is fine. Returns when to come again. */
int64_t web_turn(struct web *web, struct manager *manager, int64_t now_ms);

/* We were told to stop: not ready from now on, whatever else holds. NULL is fine. */
void web_stopping(struct web *web);

/* Web thread, in a page: puts a question to the control thread. As ask_put(), which see. */
int web_ask(struct web *web, struct ask *ask, struct http_reply *reply, int64_t wait_ms,
            struct err *err);

#endif
