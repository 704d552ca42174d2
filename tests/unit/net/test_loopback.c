#include "net/loopback.h"

#include "base/str.h"

#include "unit.h"

#include <jansson.h>
#include <stdio.h>

#define OPEN_MAX 64
#define CALLS_MAX 400

/* A handler that answers "/echo..." at once with its request, and keeps every other reply. */
struct server {
    struct http_reply *open[OPEN_MAX];
    int open_count;
    int request_count;
    int closed_count;
    char last[512]; /* "METHOD path query accept type bearer body" */
};

/* What one receiver saw. */
struct seen {
    struct transport *transport;
    uint64_t id;
    int status;
    int64_t retry_after_ms;
    char type[64];
    char warning[64];
    struct str body;
    int chunk_count;
    uint64_t ends; /* of chunks, modulo 64, as a set */
    int done_count;
    enum http_end end;
    bool cancel_at_data;
    bool resend_at_done;
    struct str *trace; /* NULL: none */
};

static void on_request(void *arg, const struct http_incoming *in, struct http_reply *reply) {
    struct server *server = arg;

    server->request_count++;
    snprintf(server->last, sizeof server->last, "%s %s %s %s %s %s %.*s", in->method, in->path,
             in->query, in->accept, in->content_type, in->bearer, (int)in->body_bytes, in->body);
    if (strncmp(in->path, "/echo", 5) == 0) {
        http_answer(reply, 200, "text/plain", in->body, in->body_bytes);
    } else {
        assert_true(server->open_count < OPEN_MAX);
        reply->owner = server;
        server->open[server->open_count++] = reply;
    }
}

static void on_closed(void *arg, struct http_reply *reply) {
    struct server *server = arg;

    assert_ptr_equal(reply->owner, server);
    server->closed_count++;
    for (int i = 0; i < server->open_count; i++) {
        if (server->open[i] == reply) {
            server->open[i] = server->open[--server->open_count];
            return;
        }
    }
    fail_msg("closed() of a reply that is not open");
}

static struct http_handler handler_of(struct server *server) {
    return (struct http_handler){on_request, on_closed, server};
}

static void on_head(void *arg, const struct http_head *head) {
    struct seen *seen = arg;

    assert_int_equal(seen->status, 0);
    assert_int_equal(seen->done_count, 0);
    seen->status = head->status;
    seen->retry_after_ms = head->retry_after_ms;
    snprintf(seen->type, sizeof seen->type, "%s", head->content_type);
    snprintf(seen->warning, sizeof seen->warning, "%s", head->warning);
    if (seen->trace)
        str_addf(seen->trace, NULL, "%d head %d\n", (int)seen->id, head->status);
}

static void on_data(void *arg, const char *bytes, size_t size_bytes) {
    struct seen *seen = arg;

    assert_true(size_bytes > 0);
    assert_int_not_equal(seen->status, 0);
    assert_int_equal(seen->done_count, 0);
    str_add(&seen->body, bytes, size_bytes, NULL);
    seen->chunk_count++;
    seen->ends |= UINT64_C(1) << seen->body.size_bytes % 64;
    if (seen->trace)
        str_addf(seen->trace, NULL, "%d data %.*s\n", (int)seen->id, (int)size_bytes, bytes);
    if (seen->cancel_at_data)
        transport_cancel(seen->transport, seen->id);
}

static void send_to(struct seen *seen, const char *method, const char *target,
                    enum http_class kind);

static void on_done(void *arg, enum http_end end, const char *text) {
    struct seen *seen = arg;

    assert_non_null(text);
    seen->done_count++;
    seen->end = end;
    if (seen->trace)
        str_addf(seen->trace, NULL, "%d done %d %s\n", (int)seen->id, (int)end, text);
    if (seen->resend_at_done) {
        seen->resend_at_done = false;
        seen->status = 0;
        seen->done_count = 0;
        send_to(seen, "GET", "/echo/again", HTTP_UNARY);
    }
}

static void send_request(struct seen *seen, const struct http_request *request) {
    const struct http_receiver receiver = {on_head, on_data, on_done, seen};

    seen->id = transport_send(seen->transport, request, &receiver);
    assert_true(seen->id != 0);
    assert_int_equal(seen->done_count, 0);
}

static void send_to(struct seen *seen, const char *method, const char *target,
                    enum http_class kind) {
    const char *body = strcmp(method, "GET") == 0 ? "" : "body";

    send_request(seen, &(struct http_request){.method = method,
                                              .target = target,
                                              .body = body,
                                              .body_bytes = strlen(body),
                                              .kind = kind});
}

static struct seen seen_of(struct transport *transport) {
    struct seen seen = {.transport = transport};

    str_init(&seen.body, (size_t)128 << 20);
    return seen;
}

/* Delivers all that is due up to and including until_ms; returns how many things that was. */
static int run(struct loopback_net *net, int64_t until_ms) {
    int count = 0;

    for (int64_t due_ms; (due_ms = loopback_due_ms(net)) <= until_ms;) {
        while (loopback_step(net, due_ms) > 0)
            count++;
    }
    count += loopback_step(net, until_ms);
    return count;
}

struct rig {
    struct server server;
    struct loopback_faults faults;
    struct loopback_net *net;
    struct transport *transport;
    struct seen seen;
};

static void rig_init(struct rig *rig, uint64_t seed) {
    const struct http_handler handler = handler_of(&rig->server);

    memset(rig, 0, sizeof *rig);
    rig->net = loopback_net_new((struct random){seed});
    rig->transport = loopback_transport_new(rig->net, &handler, "token", &rig->faults);
    rig->seen = seen_of(rig->transport);
}

static void rig_done(struct rig *rig) {
    transport_free(rig->transport);
    assert_int_equal(rig->server.open_count, 0);
    loopback_net_free(rig->net);
    str_done(&rig->seen.body);
}

static void a_request_and_its_answer_arrive_whole(void **state) {
    struct rig rig;
    const struct http_request request = {.method = "PUT",
                                         .target = "/echo/a%20b?x=%3F&y",
                                         .content_type = "application/json",
                                         .body = "payload\0tail",
                                         .body_bytes = 12};

    (void)state;
    rig_init(&rig, 1);
    send_request(&rig.seen, &request);
    assert_int_equal(rig.server.request_count, 0); /* nothing happens inside send() */
    assert_int_equal(loopback_due_ms(rig.net), 0);
    assert_true(run(rig.net, 0) >= 4);
    assert_string_equal(rig.server.last,
                        "PUT /echo/a%20b x=%3F&y application/json application/json token payload");
    assert_int_equal(rig.seen.status, 200);
    assert_string_equal(rig.seen.type, "text/plain");
    assert_string_equal(rig.seen.warning, "");
    assert_int_equal(rig.seen.retry_after_ms, -1);
    assert_int_equal(rig.seen.body.size_bytes, 12);
    assert_memory_equal(rig.seen.body.data, "payload\0tail", 12);
    assert_int_equal(rig.seen.end, HTTP_DONE);
    assert_int_equal(rig.seen.done_count, 1);
    assert_true(loopback_due_ms(rig.net) == INT64_MAX); /* its timeout is forgotten */
    assert_int_equal(loopback_step(rig.net, 100000), 0);
    transport_cancel(rig.transport, rig.seen.id); /* finished: fine */
    rig_done(&rig);
    loopback_net_free(NULL);
}

static void a_stream_is_cut_anywhere_and_stays_in_order(void **state) {
    uint64_t ends = 0;

    (void)state;

    for (uint64_t seed = 0; seed < 300; seed++) {
        struct rig rig;
        char want[64 * 26 + 1] = "";

        rig_init(&rig, seed);
        rig.faults.delay_max_ms = 50;
        send_to(&rig.seen, "GET", "/watch", HTTP_STREAM);
        run(rig.net, 60);
        rig.server.open[0]->ops->head(rig.server.open[0], 200, "application/json", "careful");
        for (int i = 0; i < 26; i++) {
            char line[64];

            memset(line, 'a' + i, sizeof line);
            memcpy(want + i * 64, line, sizeof line);
            rig.server.open[0]->ops->data(rig.server.open[0], line, sizeof line);
            run(rig.net, 61 + i);
        }
        assert_int_equal(rig.server.open[0]->ops->backlog_bytes(rig.server.open[0]),
                         26 * 64 - rig.seen.body.size_bytes);
        run(rig.net, 1000000);
        ends |= rig.seen.ends;
        assert_int_equal(rig.seen.done_count, 0); /* a stream has no timeout */
        assert_int_equal(rig.seen.body.size_bytes, 26 * 64);
        assert_memory_equal(rig.seen.body.data, want, 26 * 64);
        assert_string_equal(rig.seen.warning, "careful");
        assert_int_equal(rig.server.open[0]->ops->backlog_bytes(rig.server.open[0]), 0);
        rig.server.open[0]->ops->end(rig.server.open[0]);
        rig.server.open_count = 0;
        run(rig.net, 1000100);
        assert_int_equal(rig.seen.done_count, 1);
        assert_int_equal(rig.seen.end, HTTP_DONE);
        rig_done(&rig);
    }
    assert_true(ends == UINT64_MAX);
}

static void a_unary_call_times_out_and_the_handler_is_told(void **state) {
    static const struct {
        enum http_class kind;
        int64_t timeout_ms;
        int64_t want_ms;
    } rows[] = {
        {HTTP_UNARY, 0, HTTP_TIMEOUT_MS},
        {HTTP_LEASE, 0, HTTP_TIMEOUT_MS},
        {HTTP_UNARY, 70, 70},
        {HTTP_STREAM, 500, 500},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig rig;
        const struct http_request request = {.method = "GET",
                                             .target = "/slow",
                                             .kind = rows[i].kind,
                                             .timeout_ms = rows[i].timeout_ms};

        rig_init(&rig, i);
        loopback_step(rig.net, 1000); /* the time of a send is that of the last step */
        send_request(&rig.seen, &request);
        run(rig.net, 999 + rows[i].want_ms);
        assert_int_equal(rig.seen.done_count, 0);
        assert_int_equal(rig.server.open_count, 1);
        assert_int_equal(loopback_due_ms(rig.net), 1000 + rows[i].want_ms);
        run(rig.net, 1000 + rows[i].want_ms);
        assert_int_equal(rig.seen.done_count, 1);
        assert_int_equal(rig.seen.end, HTTP_TIMEOUT);
        assert_int_equal(rig.server.closed_count, 1);
        rig_done(&rig);
    }
}

static void a_cancelled_call_is_silent_for_good(void **state) {
    struct rig rig;
    struct http_reply *reply;

    (void)state;
    rig_init(&rig, 3);
    rig.faults.delay_max_ms = 10;
    send_to(&rig.seen, "GET", "/a", HTTP_UNARY); /* not yet arrived */
    transport_cancel(rig.transport, rig.seen.id);
    transport_cancel(rig.transport, rig.seen.id);
    transport_cancel(rig.transport, 0);
    run(rig.net, 100);
    assert_int_equal(rig.server.request_count, 0);

    send_to(&rig.seen, "GET", "/b", HTTP_STREAM); /* open at the handler */
    run(rig.net, 200);
    reply = rig.server.open[0];
    reply->ops->head(reply, 200, "text/plain", NULL);
    transport_cancel(rig.transport, rig.seen.id);
    reply->ops->data(reply, "late", 4); /* it does not know yet */
    assert_int_equal(reply->ops->backlog_bytes(reply), 0);
    run(rig.net, 300);
    assert_int_equal(rig.server.closed_count, 1);

    send_to(&rig.seen, "GET", "/c", HTTP_STREAM); /* ended before it is told */
    run(rig.net, 400);
    transport_cancel(rig.transport, rig.seen.id);
    http_answer(rig.server.open[0], 200, "text/plain", "x", 1);
    rig.server.open_count = 0;
    run(rig.net, 500);
    assert_int_equal(rig.server.closed_count, 1);
    assert_int_equal(rig.seen.status + rig.seen.chunk_count + rig.seen.done_count, 0);
    rig_done(&rig);
}

static void a_receiver_may_cancel_and_send_from_its_callbacks(void **state) {
    struct rig rig;

    (void)state;
    rig_init(&rig, 4);
    rig.seen.cancel_at_data = true;
    send_to(&rig.seen, "PUT", "/echo", HTTP_UNARY);
    run(rig.net, 10);
    assert_int_equal(rig.seen.chunk_count, 1);
    assert_int_equal(rig.seen.done_count, 0);
    rig.seen.cancel_at_data = false;
    rig.seen.status = 0;
    rig.seen.resend_at_done = true;
    send_to(&rig.seen, "PUT", "/echo", HTTP_UNARY);
    run(rig.net, 10);
    assert_int_equal(rig.seen.done_count, 1);
    assert_int_equal(rig.server.request_count, 3);
    rig_done(&rig);
}

static void an_answer_over_its_limit_is_too_large(void **state) {
    (void)state;
    for (size_t limit_bytes = 1; limit_bytes < 20; limit_bytes++) {
        struct rig rig;
        const struct http_request request = {.method = "POST",
                                             .target = "/echo",
                                             .body = "0123456789",
                                             .body_bytes = 10,
                                             .limit_bytes = limit_bytes};

        rig_init(&rig, limit_bytes);
        send_request(&rig.seen, &request);
        run(rig.net, 0);
        assert_int_equal(rig.seen.done_count, 1);
        assert_int_equal(rig.seen.end, limit_bytes < 10 ? HTTP_TOO_LARGE : HTTP_DONE);
        assert_true(rig.seen.body.size_bytes <= limit_bytes);
        rig_done(&rig);
    }
}

static void a_backlog_has_a_ceiling(void **state) {
    struct rig rig;
    const size_t block_bytes = (size_t)1 << 20;
    char *block = str_alloc(block_bytes, 1);

    (void)state;
    rig_init(&rig, 9);
    send_to(&rig.seen, "GET", "/watch", HTTP_STREAM);
    run(rig.net, 0);
    rig.faults.silent = true;
    rig.server.open[0]->ops->head(rig.server.open[0], 200, "text/plain", NULL);
    for (int i = 0; i < 70; i++) {
        rig.server.open[0]->ops->data(rig.server.open[0], block, block_bytes);
        assert_true(rig.server.open[0]->ops->backlog_bytes(rig.server.open[0]) <= 64 * block_bytes);
    }
    rig.faults.silent = false;
    run(rig.net, 1);
    assert_int_equal(rig.seen.end, HTTP_BROKEN);
    assert_int_equal(rig.seen.body.size_bytes, 64 * block_bytes);
    assert_int_equal(rig.server.closed_count, 1);
    free(block);
    rig_done(&rig);
}

/* The answer is a Status whose code is that of the head. */
static void assert_status(const char *text, int code, const char *reason) {
    json_t *body = json_loads(text, 0, NULL);

    assert_non_null(body);
    assert_string_equal(json_string_value(json_object_get(body, "kind")), "Status");
    assert_string_equal(json_string_value(json_object_get(body, "apiVersion")), "v1");
    assert_string_equal(json_string_value(json_object_get(body, "status")), "Failure");
    assert_string_equal(json_string_value(json_object_get(body, "reason")), reason);
    assert_true(json_string_length(json_object_get(body, "message")) > 0);
    assert_int_equal(json_integer_value(json_object_get(body, "code")), code);
    json_decref(body);
}

static void refusals_are_statuses_of_three_kinds(void **state) {
    struct rig rig;
    int seen_count[600] = {0};

    (void)state;
    rig_init(&rig, 5);
    rig.faults.refuse_permille = 1000;
    for (int i = 0; i < 60; i++) {
        struct seen seen = seen_of(rig.transport);

        send_to(&seen, i % 2 ? "GET" : "PUT", "/echo", HTTP_UNARY);
        run(rig.net, i);
        assert_int_equal(seen.end, HTTP_DONE);
        assert_string_equal(seen.type, "application/json");
        assert_int_equal(seen.retry_after_ms, seen.status == 429 ? 1000 : -1);
        assert_status(seen.body.data, seen.status,
                      seen.status == 429   ? "TooManyRequests"
                      : seen.status == 500 ? "InternalError"
                                           : "ServiceUnavailable");
        seen_count[seen.status]++;
        str_done(&seen.body);
    }
    assert_int_equal(seen_count[429] + seen_count[500] + seen_count[503], 60);
    assert_true(seen_count[429] && seen_count[500] && seen_count[503]);
    assert_int_equal(rig.server.request_count, 0);
    rig_done(&rig);
}

static void conflicts_hit_writes_only(void **state) {
    static const char *const methods[] = {"PUT", "POST", "PATCH", "DELETE", "GET"};
    struct rig rig;

    (void)state;
    rig_init(&rig, 6);
    rig.faults.conflict_permille = 1000;
    for (size_t i = 0; i < 5; i++) {
        struct seen seen = seen_of(rig.transport);

        send_to(&seen, methods[i], "/echo", HTTP_UNARY);
        run(rig.net, 0);
        assert_int_equal(seen.status, i < 4 ? 409 : 200);
        if (i < 4)
            assert_status(seen.body.data, 409, "Conflict");
        str_done(&seen.body);
    }
    assert_int_equal(rig.server.request_count, 1);
    rig_done(&rig);
}

static void C33_gone_comes_as_a_status_and_as_a_line(void **state) {
    struct rig rig;
    int gone_count = 0;
    int line_count = 0;

    (void)state;
    rig_init(&rig, 7);
    rig.faults.gone_permille = 1000;
    for (int i = 0; i < 40; i++) {
        struct seen seen = seen_of(rig.transport);

        send_to(&seen, "GET", i % 2 ? "/x?watch=true&a=b" : "/x?a=b&watch=1", HTTP_STREAM);
        run(rig.net, 0);
        assert_int_equal(seen.end, HTTP_DONE);
        if (seen.status == 410) {
            assert_status(seen.body.data, 410, "Expired");
            gone_count++;
        } else {
            json_t *line = json_loads(seen.body.data, 0, NULL);
            char *object = json_dumps(json_object_get(line, "object"), 0);

            assert_int_equal(seen.status, 200);
            assert_string_equal(json_string_value(json_object_get(line, "type")), "ERROR");
            assert_status(object, 410, "Expired");
            assert_int_equal(seen.body.data[seen.body.size_bytes - 1], '\n');
            line_count++;
            free(object);
            json_decref(line);
        }
        str_done(&seen.body);
    }
    assert_true(gone_count > 0 && line_count > 0);
    assert_int_equal(rig.server.request_count, 0);
    send_to(&rig.seen, "GET", "/echo?watch=false&xwatch=true&watch=10", HTTP_UNARY);
    run(rig.net, 0);
    assert_int_equal(rig.seen.status, 200); /* no watch */
    rig_done(&rig);
}

static void an_unsent_request_never_arrives(void **state) {
    struct rig rig;

    (void)state;
    rig_init(&rig, 8);
    rig.faults.unsent_permille = 1000;
    send_to(&rig.seen, "PUT", "/echo", HTTP_UNARY);
    run(rig.net, 0);
    assert_int_equal(rig.seen.end, HTTP_UNSENT);
    assert_int_equal(rig.seen.status, 0);
    assert_int_equal(rig.server.request_count, 0);
    rig_done(&rig);
}

static void a_lost_answer_was_carried_out(void **state) {
    static const char *const targets[] = {"/echo", "/kept"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig;

        rig_init(&rig, 10);
        rig.faults.lost_answer_permille = 1000;
        send_to(&rig.seen, "PUT", targets[i], HTTP_UNARY);
        run(rig.net, 0);
        assert_int_equal(rig.server.request_count, 1);
        if (i == 1) {
            assert_int_equal(rig.seen.done_count, 0);
            rig.server.open[0]->ops->head(rig.server.open[0], 200, "text/plain", NULL);
            rig.server.open[0]->ops->data(rig.server.open[0], "x", 1);
            run(rig.net, 1);
        }
        assert_int_equal(rig.seen.end, HTTP_BROKEN);
        assert_int_equal(rig.seen.status, 0);
        assert_int_equal(rig.server.closed_count, i);
        rig_done(&rig);
    }
}

static void a_cut_breaks_the_stream_at_a_chunk(void **state) {
    int cut_count = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct rig rig;

        rig_init(&rig, seed);
        rig.faults.cut_permille = 200;
        send_to(&rig.seen, "GET", "/watch", HTTP_STREAM);
        run(rig.net, 0);
        rig.server.open[0]->ops->head(rig.server.open[0], 200, "text/plain", NULL);
        rig.server.open[0]->ops->data(rig.server.open[0], "0123456789", 10);
        run(rig.net, 1);
        if (rig.seen.done_count) {
            cut_count++;
            assert_int_equal(rig.seen.end, HTTP_BROKEN);
            assert_true(rig.seen.body.size_bytes < 10);
            assert_int_equal(rig.server.closed_count, 1);
        } else {
            assert_int_equal(rig.seen.body.size_bytes, 10);
        }
        rig_done(&rig);
    }
    assert_in_range(cut_count, 30, 170);
}

static void silence_holds_everything_and_loses_nothing(void **state) {
    struct rig rig;
    struct seen unary;

    (void)state;
    rig_init(&rig, 11);
    rig.faults.delay_max_ms = 5;
    send_to(&rig.seen, "GET", "/watch", HTTP_STREAM);
    run(rig.net, 10);
    rig.server.open[0]->ops->head(rig.server.open[0], 200, "text/plain", NULL);
    rig.server.open[0]->ops->data(rig.server.open[0], "abcdefgh", 8);
    rig.faults.silent = true;
    unary = seen_of(rig.transport);
    send_to(&unary, "PUT", "/echo", HTTP_UNARY);
    run(rig.net, 10 + HTTP_TIMEOUT_MS);
    assert_int_equal(unary.end, HTTP_TIMEOUT);
    assert_int_equal(unary.done_count, 1);
    assert_int_equal(rig.seen.status, 0);
    assert_int_equal(rig.seen.done_count, 0);
    assert_int_equal(rig.server.request_count, 1);
    assert_true(loopback_due_ms(rig.net) == INT64_MAX);
    rig.server.open[0]->ops->data(rig.server.open[0], "ijkl", 4);
    rig.faults.silent = false;
    assert_int_equal(loopback_due_ms(rig.net), 10 + HTTP_TIMEOUT_MS);
    run(rig.net, 100000);
    assert_string_equal(rig.seen.body.data, "abcdefghijkl");
    assert_int_equal(rig.server.request_count, 1);
    rig.faults.silent = true; /* a cancel is not heard either */
    transport_cancel(rig.transport, rig.seen.id);
    run(rig.net, 200000);
    assert_int_equal(rig.server.closed_count, 0);
    rig.faults.silent = false;
    run(rig.net, 300000);
    assert_int_equal(rig.server.closed_count, 1);
    str_done(&unary.body);
    rig_done(&rig);
}

static void down_breaks_streams_and_sends_nothing(void **state) {
    struct rig rig;
    struct seen early, late;

    (void)state;
    rig_init(&rig, 12);
    rig.faults.delay_max_ms = 100;
    send_to(&rig.seen, "GET", "/watch", HTTP_STREAM);
    run(rig.net, 200);
    early = seen_of(rig.transport);
    late = seen_of(rig.transport);
    send_to(&early, "PUT", "/echo", HTTP_UNARY);
    rig.faults.down = true;
    send_to(&late, "PUT", "/echo", HTTP_UNARY);
    assert_int_equal(loopback_due_ms(rig.net), 200);
    assert_int_equal(rig.seen.done_count + early.done_count + late.done_count, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(loopback_step(rig.net, 200), 1);
    assert_int_equal(rig.seen.end, HTTP_BROKEN);
    assert_int_equal(early.end, HTTP_UNSENT);
    assert_int_equal(late.end, HTTP_UNSENT);
    run(rig.net, 400);
    assert_int_equal(rig.server.closed_count, 1);
    rig.faults.down = false;
    run(rig.net, 100000);
    assert_int_equal(rig.server.request_count, 1);
    assert_int_equal(early.done_count + late.done_count, 2);
    str_done(&early.body);
    str_done(&late.body);
    rig_done(&rig);
}

/* Two links, every fault, random calls, cancels and stream writes: what happened, as text. */
static void play(uint64_t seed, struct str *trace) {
    struct server servers[2] = {0};
    struct loopback_faults faults[2];
    struct transport *transports[2];
    struct loopback_net *net = loopback_net_new((struct random){seed});
    struct random rng = {seed + 1};
    struct seen *calls = str_alloc(CALLS_MAX, sizeof *calls);

    for (int i = 0; i < 2; i++) {
        const struct http_handler handler = handler_of(&servers[i]);

        faults[i] = (struct loopback_faults){40, 50, 50, 30, 50, 50, 300, false, false};
        transports[i] = loopback_transport_new(net, &handler, "", &faults[i]);
    }
    for (int i = 0; i < CALLS_MAX; i++) {
        const uint64_t dice = random_below(&rng, 8);
        struct server *server = &servers[i % 2];

        calls[i] = seen_of(transports[i % 2]);
        calls[i].trace = trace;
        faults[i % 2].silent = random_below(&rng, 20) == 0;
        faults[i % 2].down = random_below(&rng, 40) == 0;
        send_to(&calls[i], dice < 4 ? "PUT" : "GET", dice < 6 ? "/echo" : "/watch?watch=true",
                dice < 6 ? HTTP_UNARY : HTTP_STREAM);
        if (dice == 0)
            transport_cancel(transports[i % 2], calls[i].id);
        run(net, i * 20);
        if (server->open_count > 8 || (server->open_count > 0 && dice > 5)) {
            struct http_reply *reply = server->open[0];

            server->open[0] = server->open[--server->open_count];
            http_answer(reply, 200, "text/plain", "some words", 10);
        }
    }
    faults[0] = faults[1] = (struct loopback_faults){0};
    run(net, CALLS_MAX * 20 + HTTP_TIMEOUT_MS);
    transport_free(transports[0]);
    transport_free(transports[1]);
    assert_true(loopback_due_ms(net) == INT64_MAX);
    loopback_net_free(net);
    for (int i = 0; i < CALLS_MAX; i++) {
        assert_true(calls[i].done_count <= 1);
        str_done(&calls[i].body);
    }
    free(calls);
}

static void the_same_seed_gives_the_same_run(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct str first, second, other;

        str_init(&first, 1 << 20);
        str_init(&second, 1 << 20);
        str_init(&other, 1 << 20);
        play(seed, &first);
        play(seed, &second);
        play(seed + 1000, &other);
        assert_true(first.size_bytes > 1000);
        assert_string_equal(first.data, second.data);
        assert_string_not_equal(first.data, other.data);
        str_done(&first);
        str_done(&second);
        str_done(&other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_and_its_answer_arrive_whole),
        cmocka_unit_test(a_stream_is_cut_anywhere_and_stays_in_order),
        cmocka_unit_test(a_unary_call_times_out_and_the_handler_is_told),
        cmocka_unit_test(a_cancelled_call_is_silent_for_good),
        cmocka_unit_test(a_receiver_may_cancel_and_send_from_its_callbacks),
        cmocka_unit_test(an_answer_over_its_limit_is_too_large),
        cmocka_unit_test(a_backlog_has_a_ceiling),
        cmocka_unit_test(refusals_are_statuses_of_three_kinds),
        cmocka_unit_test(conflicts_hit_writes_only),
        cmocka_unit_test(C33_gone_comes_as_a_status_and_as_a_line),
        cmocka_unit_test(an_unsent_request_never_arrives),
        cmocka_unit_test(a_lost_answer_was_carried_out),
        cmocka_unit_test(a_cut_breaks_the_stream_at_a_chunk),
        cmocka_unit_test(silence_holds_everything_and_loses_nothing),
        cmocka_unit_test(down_breaks_streams_and_sends_nothing),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
