/* client.h - one call to an API server: encoded, sent, collected, and read as kubectl would.
 *
 * Decides nothing about resending, pace or order: that is dispatch's (controller) and the
 * reflector's. It only says what the answer was.
 * Units:     milliseconds, bytes.
 * Ownership: a call's texts are copied before kube_client_call() returns; a reply's texts are valid
 *            during the callback. The transport is the caller's and must outlive the client.
 * Limits:    an answer's body is at most HTTP_BODY_MAX_BYTES.
 * Threads:   one.
 */
#ifndef BULKHEAD_KUBE_CLIENT_H
#define BULKHEAD_KUBE_CLIENT_H

#include "base/err.h"
#include "kube/url.h"
#include "net/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kube_verb {
    KUBE_GET,
    KUBE_LIST, /* one page; big types go through an informer */
    KUBE_CREATE,
    KUBE_REPLACE,
    KUBE_DELETE,
    KUBE_APPLY,       /* server-side apply; needs field_manager */
    KUBE_MERGE_PATCH, /* application/merge-patch+json */
    KUBE_JSON_PATCH,  /* application/json-patch+json */
};

struct kube_call {
    enum kube_verb verb;
    struct url_target target;
    const char *body; /* JSON; for KUBE_DELETE it is built from the fields below */
    size_t body_bytes;
    const char *field_manager; /* NULL: none named */
    bool force;                /* KUBE_APPLY: take fields from other managers */
    bool dry_run;              /* dryRun=All */
    const char *uid;           /* KUBE_DELETE precondition; NULL: none */
    const char *rv;            /* KUBE_DELETE precondition; NULL: none */
    const char *propagation; /* KUBE_DELETE: "Background", "Foreground", "Orphan"; NULL: default */
    bool at_once; /* KUBE_DELETE: gracePeriodSeconds 0, as a kubelet says of a pod that has ended */
    const char *label_selector; /* KUBE_LIST; NULL: none */
    const char *field_selector; /* KUBE_LIST; NULL: none */
    int limit;                  /* KUBE_LIST: 0 leaves it out */
    enum http_class kind;
    int64_t timeout_ms; /* 0: the class's default */
};

struct kube_reply {
    enum http_end end;
    int status;             /* HTTP status; 0 unless end is HTTP_DONE */
    const char *reason;     /* Status.reason of a failure; "" otherwise */
    const char *message;    /* Status.message, or the transport's words; for people only */
    int64_t retry_after_ms; /* header, else Status.details.retryAfterSeconds; -1: none */
    bool too_large_rv;      /* a cause says ResourceVersionTooLarge (C26) */
    const char *warning;    /* first Warning header; "" when absent */
    const char *body;       /* of a success: the object's JSON */
    size_t body_bytes;
};

/* Told once, never from inside kube_client_call(). */
typedef void kube_answer(void *arg, const struct kube_reply *reply);

struct kube_client;

/* A client of one endpoint. Release with kube_client_free(). */
struct kube_client *kube_client_new(struct transport *transport);

/* Cancels every call without a word and releases the client; NULL is fine. */
void kube_client_free(struct kube_client *client);

/* Sends one call. Returns its id, never 0; or ERR_INVALID for a path piece that cannot be encoded
 * (ret_id untouched, no callback follows). */
int kube_client_call(struct kube_client *client, const struct kube_call *call, kube_answer *answer,
                     void *arg, uint64_t *ret_id, struct err *err);

/* Ends a call without its callback. An unknown id is fine. */
void kube_client_cancel(struct kube_client *client, uint64_t id);

/* The transport it was made with; borrowed. */
struct transport *kube_client_transport(const struct kube_client *client);

/* Whether the reply is a success: HTTP_DONE with 200 to 299. */
bool kube_reply_ok(const struct kube_reply *reply);

/* One line for people: "403 Forbidden: pods is forbidden ...", or the transport's words. Copies
 * into text, at most size_bytes, always NUL-terminated. */
void kube_reply_text(const struct kube_reply *reply, char *text, size_t size_bytes);

#endif
