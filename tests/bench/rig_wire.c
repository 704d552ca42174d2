#include "bench/rig_wire.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>
#include <utlist.h>

#define OUT_MAX_BYTES ((size_t)1 << 30)

struct link {
    struct transport transport;
    struct wire *wire;
    struct http_handler handler;
    int cluster;
};

struct call {
    struct http_reply reply; /* first: what the handler holds */
    struct wire *wire;
    struct link *link;
    uint64_t id;
    size_t record;
    struct http_receiver receiver;
    char *accept;
    char *body;
    int status;
    char content_type[64];
    struct str out; /* answered and not yet told */
    bool asked;     /* the handler has the request */
    bool head_told;
    bool ended;
    bool queued;
    bool telling;
    bool client_open;
    bool server_open;
    struct call *next; /* in the line */
    UT_hash_handle hh;
};

struct wire {
    struct call *first;
    struct call *last;
    struct call *calls;
    uint64_t last_id;
    struct wire_record *records;
    size_t count;
    size_t room;
    bool keep;
    int64_t served_ns;
};

int64_t wire_now_ns(void) {
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t wire_own_ns(const struct wire *wire) {
    return wire_now_ns() - wire->served_ns;
}

struct wire *wire_new(void) {
    struct wire *wire = str_alloc(1, sizeof *wire);

    wire->keep = true;
    return wire;
}

void wire_free(struct wire *wire) {
    if (wire)
        wire_drain(wire);
    for (size_t i = 0; wire && i < wire->count; i++) {
        free(wire->records[i].method);
        free(wire->records[i].target);
        free(wire->records[i].content_type);
        free(wire->records[i].body);
    }
    if (wire)
        free(wire->records);
    free(wire);
}

void wire_keep(struct wire *wire, bool bodies) {
    wire->keep = bodies;
}

const struct wire_record *wire_records(const struct wire *wire, size_t *ret_count) {
    *ret_count = wire->count;
    return wire->records;
}

static void enqueue(struct call *call) {
    struct wire *wire = call->wire;

    if (call->queued)
        return;
    call->queued = true;
    call->next = NULL;
    if (wire->last)
        wire->last->next = call;
    else
        wire->first = call;
    wire->last = call;
}

static void call_free(struct call *call) {
    if (call->queued || call->telling || call->client_open || call->server_open)
        return;
    str_done(&call->out);
    free(call->accept);
    if (call->wire->records[call->record].body != call->body)
        free(call->body);
    free(call);
}

static void reply_head(struct http_reply *reply, int status, const char *content_type,
                       const char *warning) {
    struct call *call = (struct call *)reply;

    (void)warning;
    call->status = status;
    snprintf(call->content_type, sizeof call->content_type, "%s", content_type);
    enqueue(call);
}

static void reply_data(struct http_reply *reply, const char *bytes, size_t size_bytes) {
    struct call *call = (struct call *)reply;

    if (call->client_open && str_add(&call->out, bytes, size_bytes, NULL) < 0)
        abort();
    enqueue(call);
}

static void reply_end(struct http_reply *reply) {
    struct call *call = (struct call *)reply;

    call->server_open = false;
    call->ended = true;
    enqueue(call);
}

static size_t reply_backlog(const struct http_reply *reply) {
    (void)reply;
    return 0;
}

static const struct http_reply_ops reply_ops = {reply_head, reply_data, reply_end, reply_backlog};

static struct wire_record *record_new(struct wire *wire) {
    if (wire->count == wire->room) {
        wire->room = wire->room ? wire->room * 2 : 1024;
        wire->records = str_resize(wire->records, wire->room, sizeof *wire->records);
    }
    wire->records[wire->count] = (struct wire_record){0};
    return &wire->records[wire->count++];
}

static uint64_t link_send(struct transport *transport, const struct http_request *request,
                          const struct http_receiver *receiver) {
    struct link *link = (struct link *)transport;
    struct wire *wire = link->wire;
    struct call *call = str_alloc(1, sizeof *call);
    struct wire_record *record = record_new(wire);

    call->reply.ops = &reply_ops;
    call->wire = wire;
    call->link = link;
    call->id = ++wire->last_id;
    call->record = wire->count - 1;
    call->receiver = *receiver;
    call->accept = str_dup(request->accept ? request->accept : "application/json");
    call->body = request->body ? str_dup_len(request->body, request->body_bytes) : NULL;
    call->client_open = true;
    str_init(&call->out, OUT_MAX_BYTES);
    *record = (struct wire_record){.cluster = link->cluster,
                                   .method = str_dup(request->method),
                                   .target = str_dup(request->target),
                                   .content_type = str_dup(request->content_type),
                                   .body = wire->keep ? call->body : NULL,
                                   .body_bytes = request->body_bytes,
                                   .kind = request->kind,
                                   .sent_ns = wire_now_ns(),
                                   .own_ns = wire_own_ns(wire)};
    HASH_ADD(hh, wire->calls, id, sizeof call->id, call);
    enqueue(call);
    return call->id;
}

static void leave(struct call *call) {
    HASH_DEL(call->wire->calls, call);
    call->client_open = false;
    if (call->server_open) {
        call->server_open = false;
        call->link->handler.closed(call->link->handler.arg, &call->reply);
    }
    call_free(call);
}

static void link_cancel(struct transport *transport, uint64_t id) {
    struct wire *wire = ((struct link *)transport)->wire;
    struct call *call;

    HASH_FIND(hh, wire->calls, &id, sizeof id, call);
    if (call)
        leave(call);
}

static void link_free(struct transport *transport) {
    struct link *link = (struct link *)transport;
    struct call *call, *next;

    HASH_ITER(hh, link->wire->calls, call, next) {
        if (call->link == link)
            leave(call);
    }
    free(link);
}

static const struct transport_ops link_ops = {link_send, link_cancel, link_free};

struct transport *wire_transport_new(struct wire *wire, const struct http_handler *handler,
                                     int cluster) {
    struct link *link = str_alloc(1, sizeof *link);

    *link = (struct link){{&link_ops}, wire, *handler, cluster};
    return &link->transport;
}

static void ask(struct call *call) {
    struct wire_record *record = &call->wire->records[call->record];
    char *query = strchr(record->target, '?');
    const int64_t start_ns = wire_now_ns();
    char path[2048];

    snprintf(path, sizeof path, "%.*s", (int)(query ? query - record->target : 2000),
             record->target);
    const struct http_incoming incoming = {
        .method = record->method,
        .path = path,
        .query = query ? query + 1 : "",
        .accept = call->accept,
        .content_type = record->content_type ? record->content_type : "",
        .bearer = "",
        .user_agent = "",
        .body = call->body,
        .body_bytes = record->body_bytes,
    };

    call->asked = true;
    call->server_open = true;
    call->link->handler.request(call->link->handler.arg, &incoming, &call->reply);
    call->wire->served_ns += wire_now_ns() - start_ns;
}

/* The receiver may cancel this call in any of its functions. */
static void tell(struct call *call) {
    const struct http_receiver receiver = call->receiver;
    struct str out = call->out;

    str_init(&call->out, OUT_MAX_BYTES);
    call->telling = true;
    if (!call->head_told && call->status) {
        const struct http_head head = {call->status, -1, call->content_type, ""};

        call->head_told = true;
        if (receiver.head)
            receiver.head(receiver.arg, &head);
    }
    if (call->client_open && out.size_bytes)
        receiver.data(receiver.arg, out.data, out.size_bytes);
    str_done(&out);
    if (call->client_open && call->ended && !call->out.size_bytes) {
        struct wire_record *record = &call->wire->records[call->record];

        record->status = call->status;
        record->answered_ns = wire_now_ns();
        HASH_DEL(call->wire->calls, call);
        call->client_open = false;
        receiver.done(receiver.arg, HTTP_DONE, "");
    }
    call->telling = false;
    call_free(call);
}

int wire_step(struct wire *wire) {
    struct call *call = wire->first;

    if (!call)
        return 0;
    wire->first = call->next;
    if (!wire->first)
        wire->last = NULL;
    call->queued = false;
    if (!call->client_open)
        call_free(call);
    else if (!call->asked)
        ask(call);
    else
        tell(call);
    return 1;
}

void wire_drain(struct wire *wire) {
    while (wire_step(wire)) {
    }
}
