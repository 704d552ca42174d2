#include "net/loopback.h"

#include "base/auto.h"
#include "base/jsonwrite.h"
#include "base/str.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define BACKLOG_MAX_BYTES ((size_t)64 << 20) /* of one answer; beyond it the stream breaks */
#define RETRY_AFTER_MS 1000
#define HELD SIZE_MAX          /* the slot of a parcel that came due in silence */
#define IN_HAND (SIZE_MAX - 1) /* of one that is being delivered */

enum parcel_kind { PARCEL_REQUEST, PARCEL_HEAD, PARCEL_DATA, PARCEL_DONE, PARCEL_CLOSED, TIMER };

enum fate {
    FATE_CARRIED_OUT,
    FATE_UNSENT,
    FATE_LOST_ANSWER,
    FATE_REFUSE,
    FATE_CONFLICT,
    FATE_GONE
};

/* One thing on its way. */
struct parcel {
    enum parcel_kind kind;
    struct call *call;
    int64_t due_ms;
    uint64_t serial; /* orders what is due at the same time */
    size_t slot;     /* in the heap */
    struct parcel *prev, *next;
    enum http_end end; /* PARCEL_DONE */
    const char *why;
    int status; /* PARCEL_HEAD */
    int64_t retry_after_ms;
    char *content_type;
    char *warning;
    char *bytes; /* PARCEL_DATA */
    size_t size_bytes;
};

/* A request from send() until both ends have let go of it. */
struct call {
    struct http_reply reply; /* first: what the handler holds is the call */
    struct link *link;
    struct call *prev, *next;
    struct parcel *parcels; /* all of this call, in the order they were sent */
    uint64_t id;
    struct http_receiver receiver;
    enum fate fate;
    bool client_open; /* the receiver waits for done() */
    bool server_open; /* the handler may still write */
    bool arrived;     /* the request was delivered */
    bool ended;       /* the end is on its way, nothing more follows */
    int64_t last_ms;  /* when the latest parcel is due: the next is not earlier */
    size_t limit_bytes;
    size_t got_bytes;
    size_t backlog_bytes;
    char *method;
    char *path;
    char *query;
    char *accept;
    char *content_type;
    char *body;
    size_t body_bytes;
};

struct link {
    struct transport transport; /* first: the public face */
    struct loopback_net *net;
    struct link *prev, *next;
    struct http_handler handler;
    const struct loopback_faults *faults;
    char *bearer;
    struct call *calls;
    size_t held_count; /* parcels that came due in silence */
};

struct loopback_net {
    struct random rng;
    int64_t now_ms;
    uint64_t serial;
    uint64_t last_id;
    struct link *links;
    struct parcel **heap;
    size_t count;
    size_t room;
};

static const struct loopback_faults NO_FAULTS;

static uint64_t send_call(struct transport *transport, const struct http_request *request,
                          const struct http_receiver *receiver);
static void cancel_call(struct transport *transport, uint64_t id);
static void free_link(struct transport *transport);
static void reply_head(struct http_reply *reply, int status, const char *content_type,
                       const char *warning);
static void reply_data(struct http_reply *reply, const char *bytes, size_t size_bytes);
static void reply_end(struct http_reply *reply);
static size_t reply_backlog_bytes(const struct http_reply *reply);
static void deliver(struct parcel *parcel);
static void deliver_request(struct call *call);
static void deliver_data(struct call *call, const struct parcel *parcel);
static void deliver_closed(struct call *call);
static void finish(struct call *call, enum http_end end, const char *why);
static void leave(struct call *call);
static void free_call(struct call *call);
static void answer_fault(struct call *call);
static void send_status(struct call *call, bool in_stream, int status, const char *reason,
                        const char *message);
static enum fate draw_fate(struct link *link, const struct http_request *request,
                           const char *query);
static bool draw(struct loopback_net *net, int permille);
static bool is_watch(const char *query);
static void set_timer(struct call *call, const struct http_request *request);
static struct parcel *post(struct call *call, enum parcel_kind kind);
static void post_head(struct call *call, int status, const char *content_type, const char *warning,
                      int64_t retry_after_ms);
static void post_data(struct call *call, const char *bytes, size_t size_bytes);
static void post_done(struct call *call, enum http_end end, const char *why);
static void discard(struct parcel *parcel);
static void heap_push(struct loopback_net *net, struct parcel *parcel);
static void heap_remove(struct loopback_net *net, struct parcel *parcel);
static void heap_up(struct loopback_net *net, size_t slot);
static void heap_down(struct loopback_net *net, size_t slot);
static void release_held(struct link *link);
static struct call *broken_call(const struct link *link);

static const struct transport_ops TRANSPORT_OPS = {send_call, cancel_call, free_link};
static const struct http_reply_ops REPLY_OPS = {reply_head, reply_data, reply_end,
                                                reply_backlog_bytes};

struct loopback_net *loopback_net_new(struct random rng) {
    struct loopback_net *net = str_alloc(1, sizeof *net);

    net->rng = rng;
    return net;
}

void loopback_net_free(struct loopback_net *net) {
    if (!net)
        return;
    assert(!net->links && net->count == 0);
    free(net->heap);
    free(net);
}

struct transport *loopback_transport_new(struct loopback_net *net,
                                         const struct http_handler *handler, const char *bearer,
                                         const struct loopback_faults *faults) {
    struct link *link = str_alloc(1, sizeof *link);

    link->transport.ops = &TRANSPORT_OPS;
    link->net = net;
    link->handler = *handler;
    link->faults = faults ? faults : &NO_FAULTS;
    link->bearer = str_dup(bearer ? bearer : "");
    DL_APPEND(net->links, link);
    return &link->transport;
}

int loopback_step(struct loopback_net *net, int64_t now_ms) {
    struct link *link;

    net->now_ms = now_ms > net->now_ms ? now_ms : net->now_ms;
    DL_FOREACH(net->links, link) {
        struct call *call = broken_call(link);

        if (call) {
            finish(call, call->arrived ? HTTP_BROKEN : HTTP_UNSENT, "the server is down");
            return 1;
        }
        release_held(link);
    }
    while (net->count > 0 && net->heap[0]->due_ms <= net->now_ms) {
        struct parcel *parcel = net->heap[0];

        heap_remove(net, parcel);
        if (parcel->kind != TIMER && parcel->call->link->faults->silent) {
            parcel->slot = HELD;
            parcel->call->link->held_count++;
            continue;
        }
        deliver(parcel);
        return 1;
    }
    return 0;
}

int64_t loopback_due_ms(const struct loopback_net *net) {
    const struct link *link;

    DL_FOREACH(net->links, link) {
        if (broken_call(link) || (link->held_count > 0 && !link->faults->silent))
            return net->now_ms;
    }
    return net->count > 0 ? net->heap[0]->due_ms : INT64_MAX;
}

static uint64_t send_call(struct transport *transport, const struct http_request *request,
                          const struct http_receiver *receiver) {
    struct link *link = (struct link *)transport;
    struct call *call = str_alloc(1, sizeof *call);
    const size_t path_len = strcspn(request->target, "?");
    const bool stream = request->kind == HTTP_STREAM;

    call->reply.ops = &REPLY_OPS;
    call->link = link;
    call->id = ++link->net->last_id;
    call->receiver = *receiver;
    call->client_open = true;
    call->limit_bytes = request->limit_bytes ? request->limit_bytes
                        : stream             ? SIZE_MAX
                                             : HTTP_BODY_MAX_BYTES;
    call->method = str_dup(request->method);
    call->path = str_dup_len(request->target, path_len);
    call->query = str_dup(request->target + path_len + (request->target[path_len] == '?'));
    call->accept = str_dup(request->accept ? request->accept : "application/json");
    call->content_type = str_dup(request->content_type ? request->content_type : "");
    call->body = str_dup_len(request->body, request->body_bytes);
    call->body_bytes = request->body_bytes;
    DL_APPEND(link->calls, call);
    set_timer(call, request);
    call->fate = draw_fate(link, request, call->query);
    if (call->fate == FATE_UNSENT)
        post_done(call, HTTP_UNSENT, "the connection was refused");
    else
        post(call, PARCEL_REQUEST);
    return call->id;
}

static void cancel_call(struct transport *transport, uint64_t id) {
    struct link *link = (struct link *)transport;
    struct call *call;

    DL_FOREACH(link->calls, call) {
        if (call->id == id && call->client_open) {
            leave(call);
            return;
        }
    }
}

static void free_link(struct transport *transport) {
    struct link *link = (struct link *)transport;

    while (link->calls) {
        struct call *call = link->calls;

        if (call->server_open)
            deliver_closed(call);
        else
            free_call(call);
    }
    DL_DELETE(link->net->links, link);
    free(link->bearer);
    free(link);
}

static void reply_head(struct http_reply *reply, int status, const char *content_type,
                       const char *warning) {
    struct call *call = (struct call *)reply;

    if (!call->client_open || call->ended)
        return;
    if (call->fate == FATE_LOST_ANSWER)
        post_done(call, HTTP_BROKEN, "the connection broke before an answer");
    else
        post_head(call, status, content_type, warning, -1);
}

static void reply_data(struct http_reply *reply, const char *bytes, size_t size_bytes) {
    struct call *call = (struct call *)reply;

    if (!call->client_open || call->ended)
        return;
    if (size_bytes > BACKLOG_MAX_BYTES - call->backlog_bytes)
        post_done(call, HTTP_BROKEN, "the receiver lags too far behind");
    else
        post_data(call, bytes, size_bytes);
}

static void reply_end(struct http_reply *reply) {
    struct call *call = (struct call *)reply;

    call->server_open = false;
    if (!call->client_open)
        free_call(call);
    else if (!call->ended)
        post_done(call, HTTP_DONE, "");
}

static size_t reply_backlog_bytes(const struct http_reply *reply) {
    return ((const struct call *)reply)->backlog_bytes;
}

/* The parcel is out of the heap. A callback may cancel, send, or release the transport: whatever
 * the net has to note is noted before it. */
static void deliver(struct parcel *parcel) {
    struct call *call = parcel->call;
    const struct http_receiver *receiver = &call->receiver;

    DL_DELETE(call->parcels, parcel);
    switch (parcel->kind) {
    case PARCEL_REQUEST:
        deliver_request(call);
        break;
    case PARCEL_HEAD:
        if (receiver->head)
            receiver->head(receiver->arg,
                           &(struct http_head){parcel->status, parcel->retry_after_ms,
                                               parcel->content_type, parcel->warning});
        break;
    case PARCEL_DATA:
        deliver_data(call, parcel);
        break;
    case PARCEL_DONE:
        finish(call, parcel->end, parcel->why);
        break;
    case PARCEL_CLOSED:
        deliver_closed(call);
        break;
    case TIMER:
        finish(call, HTTP_TIMEOUT, "no whole answer in time");
        break;
    }
    discard(parcel);
}

static void deliver_request(struct call *call) {
    const struct http_handler handler = call->link->handler;
    const struct http_incoming incoming = {
        .method = call->method,
        .path = call->path,
        .query = call->query,
        .accept = call->accept,
        .content_type = call->content_type,
        .bearer = call->link->bearer,
        .user_agent = "",
        .body = call->body,
        .body_bytes = call->body_bytes,
    };

    call->arrived = true;
    if (call->fate == FATE_CARRIED_OUT || call->fate == FATE_LOST_ANSWER) {
        call->server_open = true;
        handler.request(handler.arg, &incoming, &call->reply);
    } else {
        answer_fault(call);
    }
}

static void deliver_data(struct call *call, const struct parcel *parcel) {
    const struct http_receiver receiver = call->receiver;

    call->backlog_bytes -= parcel->size_bytes;
    if (parcel->size_bytes > call->limit_bytes - call->got_bytes) {
        finish(call, HTTP_TOO_LARGE, "the answer is too large");
    } else if (draw(call->link->net, call->link->faults->cut_permille)) {
        finish(call, HTTP_BROKEN, "the connection broke");
    } else {
        call->got_bytes += parcel->size_bytes;
        receiver.data(receiver.arg, parcel->bytes, parcel->size_bytes);
    }
}

static void deliver_closed(struct call *call) {
    const struct http_handler handler = call->link->handler;

    call->server_open = false;
    call->client_open = false;
    handler.closed(handler.arg, &call->reply);
    free_call(call);
}

static void finish(struct call *call, enum http_end end, const char *why) {
    const struct http_receiver receiver = call->receiver;

    leave(call);
    receiver.done(receiver.arg, end, why);
}

/* The receiver is out of it; the handler learns so later, as over a network. */
static void leave(struct call *call) {
    struct parcel *parcel, *next;

    call->client_open = false;
    call->backlog_bytes = 0;
    DL_FOREACH_SAFE(call->parcels, parcel, next) {
        DL_DELETE(call->parcels, parcel);
        discard(parcel);
    }
    if (call->server_open)
        post(call, PARCEL_CLOSED);
    else
        free_call(call);
}

static void free_call(struct call *call) {
    struct parcel *parcel, *next;

    DL_FOREACH_SAFE(call->parcels, parcel, next)
    discard(parcel);
    DL_DELETE(call->link->calls, call);
    free(call->method);
    free(call->path);
    free(call->query);
    free(call->accept);
    free(call->content_type);
    free(call->body);
    free(call);
}

static void answer_fault(struct call *call) {
    struct random *rng = &call->link->net->rng;

    if (call->fate == FATE_CONFLICT) {
        send_status(call, false, 409, "Conflict", "the object has been modified");
    } else if (call->fate == FATE_GONE) {
        send_status(call, random_below(rng, 2), 410, "Expired", "too old resource version");
    } else {
        switch (random_below(rng, 3)) {
        case 0:
            send_status(call, false, 429, "TooManyRequests", "too many requests");
            break;
        case 1:
            send_status(call, false, 500, "InternalError", "an internal error occurred");
            break;
        default:
            send_status(call, false, 503, "ServiceUnavailable", "the server is unavailable");
        }
    }
}

/* A Status as the whole answer, or as the one ERROR line of a stream that then ends. */
static void send_status(struct call *call, bool in_stream, int status, const char *reason,
                        const char *message) {
    struct str text;
    struct jsonwrite json;

    str_init(&text, 1024);
    jsonwrite_init(&json, &text);
    jsonwrite_object(&json);
    if (in_stream) {
        jsonwrite_key(&json, "type");
        jsonwrite_text(&json, "ERROR");
        jsonwrite_key(&json, "object");
        jsonwrite_object(&json);
    }
    jsonwrite_key(&json, "kind");
    jsonwrite_text(&json, "Status");
    jsonwrite_key(&json, "apiVersion");
    jsonwrite_text(&json, "v1");
    jsonwrite_key(&json, "metadata");
    jsonwrite_object(&json);
    jsonwrite_object_end(&json);
    jsonwrite_key(&json, "status");
    jsonwrite_text(&json, "Failure");
    jsonwrite_key(&json, "message");
    jsonwrite_text(&json, message);
    jsonwrite_key(&json, "reason");
    jsonwrite_text(&json, reason);
    jsonwrite_key(&json, "code");
    jsonwrite_int(&json, status);
    if (in_stream)
        jsonwrite_object_end(&json);
    jsonwrite_object_end(&json);
    const int r = jsonwrite_finish(&json, NULL);

    assert(r == 0);
    post_head(call, in_stream ? 200 : status, "application/json", NULL,
              status == 429 ? RETRY_AFTER_MS : -1);
    post_data(call, text.data, text.size_bytes);
    if (in_stream)
        post_data(call, "\n", 1);
    post_done(call, HTTP_DONE, "");
    str_done(&text);
}

static enum fate draw_fate(struct link *link, const struct http_request *request,
                           const char *query) {
    const struct loopback_faults *faults = link->faults;
    const bool reads = strcmp(request->method, "GET") == 0 ||
                       strcmp(request->method, "HEAD") == 0 ||
                       strcmp(request->method, "OPTIONS") == 0;

    if (faults->down || draw(link->net, faults->unsent_permille))
        return FATE_UNSENT;
    if (draw(link->net, faults->refuse_permille))
        return FATE_REFUSE;
    if (!reads && draw(link->net, faults->conflict_permille))
        return FATE_CONFLICT;
    if (reads && is_watch(query) && draw(link->net, faults->gone_permille))
        return FATE_GONE;
    if (draw(link->net, faults->lost_answer_permille))
        return FATE_LOST_ANSWER;
    return FATE_CARRIED_OUT;
}

/* A fault that is off takes nothing from the generator. */
static bool draw(struct loopback_net *net, int permille) {
    return permille > 0 && random_below(&net->rng, 1000) < (uint64_t)permille;
}

static bool is_watch(const char *query) {
    for (const char *p = query; *p != '\0'; p += strcspn(p, "&"), p += *p == '&') {
        const size_t len = strcspn(p, "&");

        if ((len == 10 && strncmp(p, "watch=true", len) == 0) ||
            (len == 7 && strncmp(p, "watch=1", len) == 0))
            return true;
    }
    return false;
}

static void set_timer(struct call *call, const struct http_request *request) {
    if (request->timeout_ms == 0 && request->kind == HTTP_STREAM)
        return;
    struct parcel *parcel = str_alloc(1, sizeof *parcel);

    parcel->kind = TIMER;
    parcel->call = call;
    parcel->due_ms =
        call->link->net->now_ms + (request->timeout_ms ? request->timeout_ms : HTTP_TIMEOUT_MS);
    DL_APPEND(call->parcels, parcel);
    heap_push(call->link->net, parcel);
}

/* Never due before what the same call posted earlier. */
static struct parcel *post(struct call *call, enum parcel_kind kind) {
    struct loopback_net *net = call->link->net;
    struct parcel *parcel = str_alloc(1, sizeof *parcel);
    const int delay_max_ms = call->link->faults->delay_max_ms;

    parcel->kind = kind;
    parcel->call = call;
    parcel->due_ms = net->now_ms;
    if (delay_max_ms > 0)
        parcel->due_ms += (int64_t)random_below(&net->rng, (uint64_t)delay_max_ms + 1);
    if (parcel->due_ms < call->last_ms)
        parcel->due_ms = call->last_ms;
    call->last_ms = parcel->due_ms;
    DL_APPEND(call->parcels, parcel);
    heap_push(net, parcel);
    return parcel;
}

static void post_head(struct call *call, int status, const char *content_type, const char *warning,
                      int64_t retry_after_ms) {
    struct parcel *parcel = post(call, PARCEL_HEAD);

    parcel->status = status;
    parcel->retry_after_ms = retry_after_ms;
    parcel->content_type = str_dup(content_type ? content_type : "");
    parcel->warning = str_dup(warning ? warning : "");
}

/* Cuts at random: every place may be the end of a chunk, most chunks are large. */
static void post_data(struct call *call, const char *bytes, size_t size_bytes) {
    while (size_bytes > 0) {
        const size_t piece_bytes = 1 + (size_t)random_below(&call->link->net->rng, size_bytes);
        struct parcel *parcel = post(call, PARCEL_DATA);

        parcel->bytes = str_dup_len(bytes, piece_bytes);
        parcel->size_bytes = piece_bytes;
        call->backlog_bytes += piece_bytes;
        bytes += piece_bytes;
        size_bytes -= piece_bytes;
    }
}

static void post_done(struct call *call, enum http_end end, const char *why) {
    struct parcel *parcel = post(call, PARCEL_DONE);

    parcel->end = end;
    parcel->why = why;
    call->ended = true;
}

static void discard(struct parcel *parcel) {
    if (parcel->slot == HELD)
        parcel->call->link->held_count--;
    else if (parcel->slot != IN_HAND)
        heap_remove(parcel->call->link->net, parcel);
    free(parcel->content_type);
    free(parcel->warning);
    free(parcel->bytes);
    free(parcel);
}

static bool is_earlier(const struct parcel *a, const struct parcel *b) {
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->serial < b->serial;
}

static void heap_set(struct loopback_net *net, size_t slot, struct parcel *parcel) {
    net->heap[slot] = parcel;
    parcel->slot = slot;
}

static void heap_push(struct loopback_net *net, struct parcel *parcel) {
    if (net->count == net->room) {
        net->room = net->room ? net->room * 2 : 64;
        net->heap = str_resize(net->heap, net->room, sizeof(*net->heap));
    }
    if (parcel->serial == 0)
        parcel->serial = ++net->serial;
    heap_set(net, net->count++, parcel);
    heap_up(net, parcel->slot);
}

static void heap_remove(struct loopback_net *net, struct parcel *parcel) {
    const size_t slot = parcel->slot;

    parcel->slot = IN_HAND;
    if (slot == --net->count)
        return;
    heap_set(net, slot, net->heap[net->count]);
    heap_up(net, slot);
    heap_down(net, slot);
}

static void heap_up(struct loopback_net *net, size_t slot) {
    struct parcel *parcel = net->heap[slot];

    for (; slot > 0 && is_earlier(parcel, net->heap[(slot - 1) / 2]); slot = (slot - 1) / 2)
        heap_set(net, slot, net->heap[(slot - 1) / 2]);
    heap_set(net, slot, parcel);
}

static void heap_down(struct loopback_net *net, size_t slot) {
    struct parcel *parcel = net->heap[slot];

    for (size_t child; (child = 2 * slot + 1) < net->count; slot = child) {
        if (child + 1 < net->count && is_earlier(net->heap[child + 1], net->heap[child]))
            child++;
        if (!is_earlier(net->heap[child], parcel))
            break;
        heap_set(net, slot, net->heap[child]);
    }
    heap_set(net, slot, parcel);
}

/* The silence is over: what came due in it keeps its time, so that order is kept too. */
static void release_held(struct link *link) {
    struct call *call;
    struct parcel *parcel;

    if (link->held_count == 0 || link->faults->silent)
        return;
    link->held_count = 0;
    DL_FOREACH(link->calls, call) {
        DL_FOREACH(call->parcels, parcel) {
            if (parcel->slot == HELD)
                heap_push(link->net, parcel);
        }
    }
}

static struct call *broken_call(const struct link *link) {
    struct call *call;

    if (!link->faults->down)
        return NULL;
    DL_FOREACH(link->calls, call) {
        if (call->client_open)
            return call;
    }
    return NULL;
}
