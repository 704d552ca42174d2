/* http.h - one request and its answer, and the two vtables between which they travel.
 *
 * A transport sends requests to one endpoint: one cluster, one identity. curl over the network
 * (fetch.h) and the in-process pair of the tests (loopback.h) are transports. A handler answers
 * requests: the embedded API server is one, behind libwebsockets (serve.h) or behind loopback.
 * Rules:     a transport calls no receiver from inside send() or cancel(); done() comes exactly
 * once and last, unless the request was cancelled: then nothing comes any more. Units:
 * milliseconds, bytes. Ownership: a transport copies what it keeps of a request before send()
 * returns; what a receiver or a handler is given is valid during the call only. Threads:   a
 * transport and its receivers live on one thread.
 */
#ifndef BULKHEAD_NET_HTTP_H
#define BULKHEAD_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_BODY_MAX_BYTES ((size_t)8 << 20) /* of a whole answer that is kept */
#define HTTP_TIMEOUT_MS 32000                 /* of a unary call that names none */

/* Keeps a lease renewal and a write from waiting behind a stream (C17). */
enum http_class { HTTP_UNARY, HTTP_STREAM, HTTP_LEASE };

struct http_request {
    const char *method;       /* "GET", "PUT", "POST", "PATCH", "DELETE" */
    const char *target;       /* encoded path and query, from "/" on */
    const char *content_type; /* of the body; NULL without one */
    const char *accept;       /* NULL: application/json */
    const char *body;         /* may be NULL when body_bytes is 0 */
    size_t body_bytes;
    enum http_class kind;
    int64_t timeout_ms; /* of the whole call; 0: HTTP_TIMEOUT_MS, or none for a stream */
    size_t limit_bytes; /* of the answer's body; 0: HTTP_BODY_MAX_BYTES, or none for a stream */
};

struct http_head {
    int status;
    int64_t retry_after_ms;   /* -1: no such header */
    const char *content_type; /* "" when absent */
    const char *warning;      /* text of the first Warning header; "" when absent */
};

/* How a call ended. Only HTTP_DONE carries a whole answer. */
enum http_end {
    HTTP_DONE,
    HTTP_UNSENT,    /* it never reached the server: resending is safe */
    HTTP_BROKEN,    /* it may have been carried out: uncertain */
    HTTP_TIMEOUT,   /* likewise */
    HTTP_UNTRUSTED, /* certificate or name refused: nothing was sent */
    HTTP_TOO_LARGE, /* the answer passed limit_bytes */
    HTTP_REFUSED,   /* we would not send it: credentials over plain HTTP, a closed transport */
};

struct http_receiver {
    void (*head)(void *arg, const struct http_head *head); /* may be NULL */
    void (*data)(void *arg, const char *bytes, size_t size_bytes);
    void (*done)(void *arg, enum http_end end, const char *text); /* text: why, for people */
    void *arg;
};

struct transport;

struct transport_ops {
    /* Starts a call and returns its id, which is never 0. */
    uint64_t (*send)(struct transport *transport, const struct http_request *request,
                     const struct http_receiver *receiver);
    /* Ends a call without a word to its receiver. An unknown or finished id is fine. */
    void (*cancel)(struct transport *transport, uint64_t id);
    /* Cancels every call and releases the transport. */
    void (*free)(struct transport *transport);
};

/* Embedded first in every transport. */
struct transport {
    const struct transport_ops *ops;
};

/* transport->ops->send. */
uint64_t transport_send(struct transport *transport, const struct http_request *request,
                        const struct http_receiver *receiver);

/* transport->ops->cancel; id 0 is fine. */
void transport_cancel(struct transport *transport, uint64_t id);

/* transport->ops->free; NULL is fine. */
void transport_free(struct transport *transport);

/* What a handler is asked. */
struct http_incoming {
    const char *method;
    const char *path;         /* as sent: still encoded, without its query */
    const char *query;        /* what follows "?", still encoded; "" when absent */
    const char *accept;       /* "" when absent */
    const char *content_type; /* "" when absent */
    const char *bearer;       /* the token of the Authorization header; "" when absent */
    const char *user_agent;   /* "" when absent */
    const char *body;
    size_t body_bytes;
};

struct http_reply;

struct http_reply_ops {
    /* Status line and headers; once, first. warning may be NULL. */
    void (*head)(struct http_reply *reply, int status, const char *content_type,
                 const char *warning);
    /* Body bytes, copied; any number of times. */
    void (*data)(struct http_reply *reply, const char *bytes, size_t size_bytes);
    /* The answer is whole. reply is gone afterwards. */
    void (*end)(struct http_reply *reply);
    /* Bytes accepted and not yet taken by the peer: a handler ends a stream that lags. */
    size_t (*backlog_bytes)(const struct http_reply *reply);
};

/* An answer in the making. A handler may keep it after request() returned, until it calls end or is
 * told closed(). */
struct http_reply {
    const struct http_reply_ops *ops;
    void *owner; /* the handler's own mark; NULL at first */
};

struct http_handler {
    /* Answers, now or later. */
    void (*request)(void *arg, const struct http_incoming *incoming, struct http_reply *reply);
    /* The peer left before end(): reply is gone afterwards. */
    void (*closed)(void *arg, struct http_reply *reply);
    void *arg;
};

/* Sends a whole answer and ends it. */
void http_answer(struct http_reply *reply, int status, const char *content_type, const char *bytes,
                 size_t size_bytes);

#endif
