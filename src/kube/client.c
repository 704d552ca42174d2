#include "kube/client.h"

#include "base/jsonwrite.h"
#include "base/str.h"
#include "kube/statusbody.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#define TARGET_MAX_BYTES ((size_t)64 << 10)
#define OPTIONS_MAX_BYTES ((size_t)4 << 10) /* of a DeleteOptions */

/* A call under way. */
struct exchange {
    struct kube_client *client;
    struct exchange *prev, *next;
    uint64_t id;      /* ours */
    uint64_t sent_id; /* the transport's */
    kube_answer *answer;
    void *arg;
    int status;
    int64_t retry_after_ms;
    bool json; /* by its content type */
    bool too_large;
    char *warning;
    struct str body;
};

struct kube_client {
    struct transport *transport;
    struct exchange *exchanges;
    uint64_t last_id;
};

static const struct shape {
    const char *method;
    const char *content_type;
} shapes[] = {
    [KUBE_GET] = {"GET", NULL},
    [KUBE_LIST] = {"GET", NULL},
    [KUBE_CREATE] = {"POST", "application/json"},
    [KUBE_REPLACE] = {"PUT", "application/json"},
    [KUBE_DELETE] = {"DELETE", "application/json"},
    [KUBE_APPLY] = {"PATCH", "application/apply-patch+yaml"},
    [KUBE_MERGE_PATCH] = {"PATCH", "application/merge-patch+json"},
    [KUBE_JSON_PATCH] = {"PATCH", "application/json-patch+json"},
};

static int write_target(struct str *out, const struct kube_call *call, struct err *err);
static int write_options(struct str *out, const struct kube_call *call, struct err *err);
static void on_head(void *arg, const struct http_head *head);
static void on_data(void *arg, const char *bytes, size_t size_bytes);
static void on_done(void *arg, enum http_end end, const char *text);
static void exchange_free(struct exchange *exchange);

struct kube_client *kube_client_new(struct transport *transport) {
    struct kube_client *client = str_alloc(1, sizeof *client);

    client->transport = transport;
    return client;
}

void kube_client_free(struct kube_client *client) {
    if (!client)
        return;
    while (client->exchanges)
        kube_client_cancel(client, client->exchanges->id);
    free(client);
}

int kube_client_call(struct kube_client *client, const struct kube_call *call, kube_answer *answer,
                     void *arg, uint64_t *ret_id, struct err *err) {
    const struct shape *shape = &shapes[call->verb];
    struct str target, options;

    str_init(&target, TARGET_MAX_BYTES);
    str_init(&options, OPTIONS_MAX_BYTES);
    int r = write_target(&target, call, err);

    if (r >= 0 && call->verb == KUBE_DELETE)
        r = write_options(&options, call, err);
    if (r >= 0) {
        const bool own = call->verb == KUBE_DELETE;
        struct exchange *exchange = str_alloc(1, sizeof *exchange);
        const struct http_request request = {
            .method = shape->method,
            .target = target.data,
            .content_type = shape->content_type,
            .body = own ? options.data : call->body,
            .body_bytes = own ? options.size_bytes : call->body_bytes,
            .kind = call->kind,
            .timeout_ms = call->timeout_ms,
            .limit_bytes = HTTP_BODY_MAX_BYTES,
        };

        *exchange = (struct exchange){.client = client,
                                      .id = ++client->last_id,
                                      .answer = answer,
                                      .arg = arg,
                                      .retry_after_ms = -1};
        str_init(&exchange->body, HTTP_BODY_MAX_BYTES);
        DL_APPEND(client->exchanges, exchange);
        exchange->sent_id =
            transport_send(client->transport, &request,
                           &(struct http_receiver){on_head, on_data, on_done, exchange});
        *ret_id = exchange->id;
    }
    str_done(&target);
    str_done(&options);
    return r < 0 ? r : 0;
}

void kube_client_cancel(struct kube_client *client, uint64_t id) {
    struct exchange *exchange = NULL;

    DL_SEARCH_SCALAR(client->exchanges, exchange, id, id);
    if (!exchange)
        return;
    transport_cancel(client->transport, exchange->sent_id);
    DL_DELETE(client->exchanges, exchange);
    exchange_free(exchange);
}

struct transport *kube_client_transport(const struct kube_client *client) {
    return client->transport;
}

bool kube_reply_ok(const struct kube_reply *reply) {
    return reply->end == HTTP_DONE && reply->status >= 200 && reply->status < 300;
}

void kube_reply_text(const struct kube_reply *reply, char *text, size_t size_bytes) {
    if (reply->end != HTTP_DONE)
        snprintf(text, size_bytes, "%s", reply->message);
    else
        snprintf(text, size_bytes, "%d%s%s%s%s", reply->status, reply->reason[0] ? " " : "",
                 reply->reason, reply->message[0] ? ": " : "", reply->message);
}

static int write_target(struct str *out, const struct kube_call *call, struct err *err) {
    const bool list = call->verb == KUBE_LIST;
    char limit[16] = "";

    if (list && call->limit > 0)
        snprintf(limit, sizeof limit, "%d", call->limit);
    const struct {
        const char *key, *value;
    } queries[] = {
        {"fieldManager", call->field_manager},
        {"force", call->verb == KUBE_APPLY && call->force ? "true" : NULL},
        {"dryRun", call->dry_run ? "All" : NULL},
        {"labelSelector", list ? call->label_selector : NULL},
        {"fieldSelector", list ? call->field_selector : NULL},
        {"limit", limit[0] ? limit : NULL},
    };

    if (call->verb == KUBE_APPLY && !call->field_manager)
        return err_set(err, ERR_INVALID, "an apply needs a field manager");
    int r = url_path(out, &call->target, err);

    for (size_t i = 0; i < sizeof queries / sizeof queries[0] && r >= 0; i++)
        if (queries[i].value)
            r = url_query(out, queries[i].key, queries[i].value, err);
    return r;
}

/* A server that finds a body ignores the query, hence dryRun stands here too. */
static int write_options(struct str *out, const struct kube_call *call, struct err *err) {
    struct jsonwrite w;

    jsonwrite_init(&w, out);
    jsonwrite_object(&w);
    jsonwrite_key(&w, "kind");
    jsonwrite_text(&w, "DeleteOptions");
    jsonwrite_key(&w, "apiVersion");
    jsonwrite_text(&w, "v1");
    if (call->propagation) {
        jsonwrite_key(&w, "propagationPolicy");
        jsonwrite_text(&w, call->propagation);
    }
    if (call->at_once) {
        jsonwrite_key(&w, "gracePeriodSeconds");
        jsonwrite_int(&w, 0);
    }
    if (call->dry_run) {
        jsonwrite_key(&w, "dryRun");
        jsonwrite_array(&w);
        jsonwrite_text(&w, "All");
        jsonwrite_array_end(&w);
    }
    if (call->uid || call->rv) {
        jsonwrite_key(&w, "preconditions");
        jsonwrite_object(&w);
        if (call->uid) {
            jsonwrite_key(&w, "uid");
            jsonwrite_text(&w, call->uid);
        }
        if (call->rv) {
            jsonwrite_key(&w, "resourceVersion");
            jsonwrite_text(&w, call->rv);
        }
        jsonwrite_object_end(&w);
    }
    jsonwrite_object_end(&w);
    return jsonwrite_finish(&w, err);
}

static void on_head(void *arg, const struct http_head *head) {
    struct exchange *exchange = arg;

    exchange->status = head->status;
    exchange->retry_after_ms = head->retry_after_ms;
    exchange->json = statusbody_is_json(head->content_type);
    free(exchange->warning);
    exchange->warning = str_dup(head->warning);
}

static void on_data(void *arg, const char *bytes, size_t size_bytes) {
    struct exchange *exchange = arg;

    if (str_add(&exchange->body, bytes, size_bytes, NULL) < 0)
        exchange->too_large = true;
}

/* The exchange leaves its client first: the answer's receiver may do what it likes with both. */
static void on_done(void *arg, enum http_end end, const char *text) {
    struct exchange *exchange = arg;
    struct statusbody status;
    struct kube_reply reply = {.end = exchange->too_large ? HTTP_TOO_LARGE : end,
                               .reason = "",
                               .message = text ? text : "",
                               .retry_after_ms = -1,
                               .warning = exchange->warning ? exchange->warning : "",
                               .body = ""};

    DL_DELETE(exchange->client->exchanges, exchange);
    if (exchange->too_large)
        reply.message = "the answer is too large";
    if (reply.end == HTTP_DONE) {
        reply.status = exchange->status;
        reply.message = "";
        reply.retry_after_ms = exchange->retry_after_ms;
    }
    if (kube_reply_ok(&reply) && exchange->body.size_bytes > 0 && !exchange->json) {
        /* Something between us answered: what became of the request is not known. */
        reply.end = HTTP_BROKEN;
        reply.status = 0;
        reply.message = "the answer is not JSON";
    } else if (kube_reply_ok(&reply)) {
        reply.body = exchange->body.data ? exchange->body.data : "";
        reply.body_bytes = exchange->body.size_bytes;
    } else if (reply.end == HTTP_DONE) {
        statusbody_read(exchange->body.data, exchange->body.size_bytes, &status);
        reply.reason = status.reason;
        reply.message = status.message;
        reply.too_large_rv = status.too_large_rv;
        if (reply.retry_after_ms < 0)
            reply.retry_after_ms = status.retry_after_ms;
    }
    exchange->answer(exchange->arg, &reply);
    exchange_free(exchange);
}

static void exchange_free(struct exchange *exchange) {
    free(exchange->warning);
    str_done(&exchange->body);
    free(exchange);
}
