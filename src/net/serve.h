/* serve.h - HTTP/1.1 over TLS for handlers, on libwebsockets: one thread, several ports.
 *
 * Each port is a handler of its own: hub and children of the playground, webhooks, metrics. Only
 * serve_wake() may be called from another thread.
 * Limits:    request bodies 3 MiB, header block 16 KiB; 411 for chunked request bodies and for
 *            POST, PUT and PATCH without Content-Length. An idle connection lives for 120 s. One
 *            whose peer sends during a stream, leaves more than 64 MiB unread or pauses for 10 s
 *            within a request is closed; with a request pipelined behind a body it may be. A
 *            peer that left is noticed within half a second.
 * Targets:   are decoded and encoded again: "..", "//" and %2F in a path are resolved, "+" in a
 *            query is %20.
 * Ownership: handlers and their args are the caller's and must outlive the server.
 */
#ifndef BULKHEAD_NET_SERVE_H
#define BULKHEAD_NET_SERVE_H

#include "base/err.h"
#include "net/http.h"

#define SERVE_PORTS_MAX 16
#define SERVE_BODY_MAX_BYTES ((size_t)3 << 20)

struct serve_port {
    const char *address; /* "127.0.0.1" */
    int port;            /* 0: one that is free; read it back with serve_port_number() */
    struct http_handler handler;
    const char *cert_pem; /* NULL, with key_pem: plain HTTP */
    const char *key_pem;
};

struct serve;

/* Listens on every port. ERR_INVALID names the address that could not be bound. */
int serve_new(const struct serve_port *ports, int port_count, struct serve **ret_serve,
              struct err *err);

/* Closes everything; handlers are told closed() of open replies. NULL is fine. */
void serve_free(struct serve *serve);

/* The number that port (an index into ports) listens on. */
int serve_port_number(const struct serve *serve, int port);

/* Waits up to timeout_ms for something to do and does it. */
void serve_turn(struct serve *serve, int timeout_ms);

/* Ends a serve_turn() that waits; from any thread. */
void serve_wake(struct serve *serve);

#endif
