#include "rig_fetch.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>

#define WITH(...)                                                                                  \
    &(struct http_request) {                                                                       \
        __VA_ARGS__                                                                                \
    }

struct fixture {
    struct rig *rig;
    struct peer *peer;
    struct transport *transport;
};

static int setup(void **state) {
    struct fixture *f = str_alloc(1, sizeof *f);

    rig_setup((void **)&f->rig);
    f->peer = peer_new(f->rig, "h1", NULL);
    const struct fetch_endpoint endpoint = rig_endpoint(f->rig, f->peer);

    f->transport = rig_transport(f->rig, &endpoint);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;

    transport_free(f->transport);
    peer_free(f->peer);
    rig_teardown((void **)&f->rig);
    free(f);
    return 0;
}

static void a_get_is_answered_with_head_body_and_end(void **state) {
    struct fixture *f = *state;
    struct got got = {0};

    rig_get(f->transport, &got, "/api/v1/pods?limit=5", HTTP_UNARY);
    TURN_UNTIL(f->rig, got.dones);
    assert_int_equal(got.end, HTTP_DONE);
    assert_int_equal(got.head.status, 200);
    assert_int_equal(got.head.retry_after_ms, -1);
    assert_string_equal(got.content_type, "application/json");
    assert_string_equal(got.warning, "");
    assert_string_equal(got.body, "{}");
    assert_string_equal(got.text, "");
    assert_int_equal(peer_count(f->peer, "request GET /api/v1/pods?limit=5\n"), 1);
    assert_int_equal(peer_count(f->peer, "header accept: application/json\n"), 1);
    assert_int_equal(peer_count(f->peer, "header user-agent: bulkhead/test\n"), 1);
    assert_int_equal(peer_count(f->peer, "header authorization"), 0);
    assert_int_equal(peer_count(f->peer, "header accept-encoding"), 0);
}

/* One handle and one connection carry every method in turn; nothing of a call sticks to the next.
 */
static void methods_and_bodies_arrive_as_they_were_sent(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *method, *body, *type;
    } rows[] = {
        {"PUT", "{\"a\":1}", "application/json"},
        {"GET", NULL, NULL},
        {"POST", "", "application/json"},
        {"DELETE", NULL, NULL},
        {"PATCH", "[]", "application/json-patch+json"},
        {"DELETE", "{}", "application/json"},
        {"GET", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *body = rows[i].body ? rows[i].body : "";
        struct got got = {0};
        char line[64];

        rig_send(f->transport, &got,
                 WITH(.method = rows[i].method, .target = "/echo", .body = rows[i].body,
                      .body_bytes = strlen(body), .content_type = rows[i].type));
        TURN_UNTIL(f->rig, got.dones);
        assert_int_equal(got.end, HTTP_DONE);
        assert_string_equal(got.body, body);
        snprintf(line, sizeof line, "request %s /echo\n", rows[i].method);
        assert_true(peer_count(f->peer, line) > 0);
    }
    assert_int_equal(peer_count(f->peer, "open"), 1);
    assert_int_equal(peer_count(f->peer, "header content-type:"), 4);
    assert_int_equal(peer_count(f->peer, "header content-type: application/json-patch+json\n"), 1);
}

static void a_large_body_waits_for_no_permission(void **state) {
    struct fixture *f = *state;
    const size_t size_bytes = (size_t)3 << 20;
    char *body = str_alloc(size_bytes, 1);
    struct got got = {0};

    memset(body, 'y', size_bytes);
    rig_send(f->transport, &got,
             WITH(.method = "PUT", .target = "/echo", .body = body, .body_bytes = size_bytes));
    free(body);
    TURN_UNTIL(f->rig, got.dones);
    assert_int_equal(got.end, HTTP_DONE);
    assert_int_equal(got.body_bytes, size_bytes);
    assert_int_equal(peer_count(f->peer, "header expect"), 0);
}

static void heads_are_read(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *target;
        int status;
        int64_t retry_after_ms;
        const char *warning;
    } rows[] = {
        {"/retry", 429, 7000, "old \"API\""},
        {"/date", 503, -1, ""},
        {"/early", 201, -1, ""},
        {"/nothing", 204, -1, ""},
        {"/ok", 200, -1, ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct got got = {0};

        rig_get(f->transport, &got, rows[i].target, HTTP_UNARY);
        TURN_UNTIL(f->rig, got.dones);
        assert_int_equal(got.end, HTTP_DONE);
        assert_int_equal(got.heads, 1);
        assert_int_equal(got.head.status, rows[i].status);
        assert_int_equal(got.head.retry_after_ms, rows[i].retry_after_ms);
        assert_string_equal(got.warning, rows[i].warning);
    }
}

static void C16_redirect_is_an_answer_and_is_never_followed(void **state) {
    struct fixture *f = *state;
    struct peer *other = peer_new(f->rig, "h1", NULL);
    struct got got = {0};
    char target[64];

    snprintf(target, sizeof target, "/redirect?%d", other->port);
    rig_get(f->transport, &got, target, HTTP_UNARY);
    TURN_UNTIL(f->rig, got.dones);
    assert_int_equal(got.end, HTTP_DONE);
    assert_int_equal(got.head.status, 302);
    assert_int_equal(peer_count(other, "open"), 0);
    peer_free(other);
}

static void the_limit_ends_an_answer_that_passes_it(void **state) {
    struct fixture *f = *state;
    static const struct {
        size_t size_bytes, limit_bytes;
        enum http_end end;
    } rows[] = {
        {1000, 1000, HTTP_DONE},
        {1001, 1000, HTTP_TOO_LARGE},
        {HTTP_BODY_MAX_BYTES, 0, HTTP_DONE},
        {HTTP_BODY_MAX_BYTES + 1, 0, HTTP_TOO_LARGE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct got got = {0};
        char target[64];

        snprintf(target, sizeof target, "/big?%zu", rows[i].size_bytes);
        rig_send(f->transport, &got,
                 WITH(.method = "GET", .target = target, .limit_bytes = rows[i].limit_bytes));
        TURN_UNTIL(f->rig, got.dones);
        assert_int_equal(got.end, rows[i].end);
        assert_true(got.body_bytes <= rows[i].size_bytes);
    }
}

static void C20_ends_are_told_honestly(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *method, *target;
        enum http_end end;
    } rows[] = {
        {"GET", "/cut", HTTP_BROKEN},    {"GET", "/drop", HTTP_BROKEN},
        {"PUT", "/drop", HTTP_BROKEN},   {"GET", "/hang", HTTP_TIMEOUT},
        {"POST", "/hang", HTTP_TIMEOUT},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct got got = {0};

        rig_send(f->transport, &got,
                 WITH(.method = rows[i].method, .target = rows[i].target, .timeout_ms = 300));
        TURN_UNTIL(f->rig, got.dones);
        assert_int_equal(got.end, rows[i].end);
        assert_true(strlen(got.text) > 0);
    }
}

/* The connection dies under a request that reused it, before an answer: curl would send it again.
 */
static void C20_a_read_is_repeated_and_a_write_is_not(void **state) {
    struct fixture *f = *state;
    static const char *const METHODS[] = {"GET", "PUT", "DELETE", "POST", "PATCH"};

    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        struct got first = {0}, second = {0};
        char line[64];

        rig_get(f->transport, &first, "/once", HTTP_UNARY);
        TURN_UNTIL(f->rig, first.dones);
        rig_send(f->transport, &second, WITH(.method = METHODS[i], .target = "/second"));
        TURN_UNTIL(f->rig, second.dones);
        assert_int_equal(peer_count(f->peer, "dropped"), i + 1);
        snprintf(line, sizeof line, "request %s /second\n", METHODS[i]);
        assert_int_equal(second.end, i == 0 ? HTTP_DONE : HTTP_BROKEN);
        assert_int_equal(peer_count(f->peer, line), i == 0 ? 1 : 0);
    }
}

static void C20_what_never_reached_the_server_is_unsent(void **state) {
    struct fixture *f = *state;
    struct fetch_endpoint endpoint = rig_endpoint(f->rig, f->peer);
    struct peer *gone = peer_new(f->rig, "h1", NULL);
    struct got got = {0};

    endpoint.url = gone->url;
    struct transport *transport = rig_transport(f->rig, &endpoint);

    kill(gone->pid, SIGKILL);
    waitpid(gone->pid, NULL, 0);
    rig_send(transport, &got, WITH(.method = "POST", .target = "/ok"));
    TURN_UNTIL(f->rig, got.dones);
    assert_int_equal(got.end, HTTP_UNSENT);
    transport_free(transport);
    peer_free(gone);
}

/* The connection is accepted and nobody shakes hands. */
static void C21_a_silent_server_is_given_up_in_time(void **state) {
    struct fixture *f = *state;
    struct peer *silent = peer_new(f->rig, "silent", NULL);
    struct fetch_endpoint endpoint = rig_endpoint(f->rig, silent);
    struct got late = {0}, own = {0}, patient = {0};

    endpoint.timeout_ms = 200;
    struct transport *transport = rig_transport(f->rig, &endpoint);

    rig_get(transport, &late, "/", HTTP_UNARY);
    TURN_UNTIL(f->rig, late.dones);
    assert_int_equal(late.end, HTTP_UNSENT);
    rig_send(transport, &own, WITH(.method = "GET", .target = "/", .timeout_ms = 100));
    TURN_UNTIL(f->rig, own.dones);
    assert_int_equal(own.end, HTTP_UNSENT);
    /* also when another call is the one that connects */
    memset(&own, 0, sizeof own);
    rig_send(transport, &patient, WITH(.method = "GET", .target = "/", .timeout_ms = 60000));
    rig_send(transport, &own, WITH(.method = "GET", .target = "/", .timeout_ms = 100));
    TURN_UNTIL(f->rig, own.dones);
    assert_int_equal(own.end, HTTP_UNSENT);
    assert_int_equal(patient.dones, 0);
    transport_free(transport);
    peer_free(silent);
}

static void C21_a_stream_has_no_limit_of_its_own(void **state) {
    struct fixture *f = *state;
    struct fetch_endpoint endpoint = rig_endpoint(f->rig, f->peer);
    struct got stream = {0}, unary = {0};

    endpoint.timeout_ms = 150;
    struct transport *transport = rig_transport(f->rig, &endpoint);

    rig_get(transport, &stream, "/quiet", HTTP_STREAM);
    TURN_UNTIL(f->rig, stream.body_bytes);
    rig_get(transport, &unary, "/hang", HTTP_UNARY);
    TURN_UNTIL(f->rig, unary.dones);
    assert_int_equal(unary.end, HTTP_TIMEOUT);
    assert_int_equal(stream.dones, 0);
    transport_free(transport);
}

static void C17_classes_never_share_a_connection(void **state) {
    struct fixture *f = *state;
    struct got got[6] = {{0}};

    for (int i = 0; i < 6; i++) {
        rig_get(f->transport, &got[i], "/ok", (enum http_class)(i % 3));
        TURN_UNTIL(f->rig, got[i].dones);
        assert_int_equal(got[i].end, HTTP_DONE);
    }
    assert_int_equal(peer_count(f->peer, "open"), 3);
}

static void two_endpoints_never_share_a_connection(void **state) {
    struct fixture *f = *state;
    const struct fetch_endpoint endpoint = rig_endpoint(f->rig, f->peer);
    struct transport *twin = rig_transport(f->rig, &endpoint);
    struct got got[2] = {{0}};

    rig_get(f->transport, &got[0], "/ok", HTTP_UNARY);
    TURN_UNTIL(f->rig, got[0].dones);
    rig_get(twin, &got[1], "/ok", HTTP_UNARY);
    TURN_UNTIL(f->rig, got[1].dones);
    assert_int_equal(peer_count(f->peer, "open"), 2);
    transport_free(twin);
}

/* The options of this process's sockets to the peer. */
static void C18_connections_are_kept_alive(void **state) {
    struct fixture *f = *state;
    static const struct {
        int level, name, value;
    } rows[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},          {IPPROTO_TCP, TCP_KEEPIDLE, 30},
        {IPPROTO_TCP, TCP_KEEPINTVL, 10},       {IPPROTO_TCP, TCP_KEEPCNT, 3},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000},
    };
    struct got got = {0};
    int found = 0;

    rig_get(f->transport, &got, "/quiet", HTTP_STREAM);
    TURN_UNTIL(f->rig, got.body_bytes);
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_in to = {0};
        socklen_t size = sizeof to;

        if (getpeername(fd, (struct sockaddr *)&to, &size) < 0 || to.sin_family != AF_INET ||
            ntohs(to.sin_port) != f->peer->port)
            continue;
        found++;
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            int value = -1;

            size = sizeof value;
            assert_int_equal(getsockopt(fd, rows[i].level, rows[i].name, &value, &size), 0);
            assert_int_equal(value, rows[i].value);
        }
    }
    assert_int_equal(found, 1);
}

static void C18_a_cancelled_stream_closes_its_connection(void **state) {
    struct fixture *f = *state;
    struct got stream = {0}, next = {0};

    rig_get(f->transport, &stream, "/quiet", HTTP_STREAM);
    TURN_UNTIL(f->rig, stream.body_bytes);
    assert_int_equal(peer_count(f->peer, "close"), 0);
    transport_cancel(f->transport, stream.id);
    TURN_UNTIL(f->rig, peer_count(f->peer, "close") == 1);
    rig_get(f->transport, &next, "/ok", HTTP_STREAM);
    TURN_UNTIL(f->rig, next.dones);
    assert_int_equal(next.end, HTTP_DONE);
    assert_int_equal(peer_count(f->peer, "open"), 2);
    assert_int_equal(stream.dones, 0);
}

static void a_cancelled_call_is_never_heard_of(void **state) {
    struct fixture *f = *state;
    struct got before = {0}, during = {0}, refused = {0}, last = {0};

    rig_get(f->transport, &before, "/ok", HTTP_UNARY);
    transport_cancel(f->transport, before.id);
    rig_get(f->transport, &refused, "not a path", HTTP_UNARY);
    transport_cancel(f->transport, refused.id);
    transport_cancel(f->transport, refused.id);
    transport_cancel(f->transport, 12345);
    transport_cancel(f->transport, 0);
    rig_get(f->transport, &during, "/hang", HTTP_UNARY);
    TURN_UNTIL(f->rig, peer_count(f->peer, "request GET /hang") == 1);
    transport_cancel(f->transport, during.id);
    rig_get(f->transport, &last, "/ok", HTTP_UNARY);
    TURN_UNTIL(f->rig, last.dones);
    assert_int_equal(before.heads + before.dones + during.dones + refused.dones, 0);
}

static struct fixture *now;
static struct got chained[8];

static void cancel_self(struct got *got) {
    transport_cancel(now->transport, got->id);
}

static void start_more(struct got *got) {
    (void)got;
    if (chained[0].id == 0)
        rig_get(now->transport, &chained[0], "/ok", HTTP_UNARY);
}

static void cancel_other(struct got *got) {
    transport_cancel(now->transport, ((struct got *)got->extra)->id);
}

static void free_endpoint(struct got *got) {
    (void)got;
    transport_free(now->transport);
    now->transport = NULL;
}

static void change_certificate(struct got *got) {
    struct err err = {0};

    (void)got;
    assert_int_equal(fetch_endpoint_certificate(now->transport, NULL, NULL, &err), 0);
}

static void a_receiver_may_cancel_start_and_release(void **state) {
    struct fixture *f = *state;
    struct got self = {.on_data = cancel_self}, more = {.on_data = start_more}, victim = {0};
    struct got killer = {.on_data = cancel_other, .extra = &victim};
    struct got changer = {.on_data = change_certificate}, releaser = {.on_data = free_endpoint};

    now = f;
    memset(chained, 0, sizeof chained);
    rig_get(f->transport, &self, "/flow", HTTP_STREAM);
    rig_get(f->transport, &more, "/ok", HTTP_UNARY);
    TURN_UNTIL(f->rig, chained[0].dones && self.body_bytes);
    assert_int_equal(self.body_bytes, 2);
    assert_int_equal(more.dones, 1);
    rig_get(f->transport, &victim, "/quiet", HTTP_STREAM);
    TURN_UNTIL(f->rig, victim.body_bytes);
    rig_get(f->transport, &killer, "/ok", HTTP_UNARY);
    TURN_UNTIL(f->rig, killer.dones && peer_count(f->peer, "close") >= 2);
    rig_get(f->transport, &changer, "/ok", HTTP_UNARY);
    TURN_UNTIL(f->rig, changer.dones);
    assert_int_equal(changer.end, HTTP_BROKEN);
    rig_get(f->transport, &releaser, "/flow", HTTP_STREAM);
    TURN_UNTIL(f->rig, !f->transport);
    for (int i = 0; i < 5; i++)
        rig_turn(f->rig);
    assert_int_equal(victim.dones + self.dones + releaser.dones, 0);
}

static void what_cannot_be_sent_is_refused_in_the_loop(void **state) {
    struct fixture *f = *state;
    static const struct http_request ROWS[] = {
        {.method = "GET", .target = "relative"},
        {.method = "GET", .target = ""},
        {.method = "GET", .target = "/a b"},
        {.method = "GET", .target = "/a#b"},
        {.method = "GET", .target = "/a\r\nX: y"},
        {.method = "", .target = "/"},
        {.method = "GET /x HTTP/1.1\r\n", .target = "/"},
        {.method = "GET", .target = "/", .accept = "a\nb"},
        {.method = "PUT", .target = "/", .body = "x", .body_bytes = 1, .content_type = "a\rb"},
        {.method = "PUT", .target = "/", .body = "", .body_bytes = HTTP_BODY_MAX_BYTES + 1},
    };

    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct got got = {0};

        rig_send(f->transport, &got, &ROWS[i]);
        assert_int_equal(got.dones, 0);
        TURN_UNTIL(f->rig, got.dones);
        assert_int_equal(got.end, HTTP_REFUSED);
        assert_int_equal(got.heads, 0);
    }
    assert_int_equal(peer_count(f->peer, "open"), 0);
}

/* One stream's receiver is slow and gets megabytes: another goes on. */
static void C19_a_flood_holds_up_no_other_stream(void **state) {
    struct fixture *f = *state;
    struct got flood = {0}, flow = {0};

    rig_get(f->transport, &flood, "/big?40000000", HTTP_STREAM);
    rig_get(f->transport, &flow, "/flow", HTTP_STREAM);
    TURN_UNTIL(f->rig, flood.dones && flow.body_bytes > 20);
    assert_int_equal(flood.end, HTTP_DONE);
    assert_int_equal(flood.body_bytes, 40000000);
}

static void *wake_later(void *arg) {
    usleep(20000);
    fetch_wake(arg);
    return NULL;
}

static void a_wake_ends_a_turn_that_waits(void **state) {
    struct fixture *f = *state;
    const int64_t start_ms = clock_mono_ms(NULL);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, wake_later, f->rig->fetch), 0);
    fetch_turn(f->rig->fetch, PATIENCE_MS);
    assert_true(clock_mono_ms(NULL) - start_ms < PATIENCE_MS);
    pthread_join(thread, NULL);
    fetch_turn(f->rig->fetch, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_get_is_answered_with_head_body_and_end),
        TEST(methods_and_bodies_arrive_as_they_were_sent),
        TEST(a_large_body_waits_for_no_permission),
        TEST(heads_are_read),
        TEST(C16_redirect_is_an_answer_and_is_never_followed),
        TEST(the_limit_ends_an_answer_that_passes_it),
        TEST(C20_ends_are_told_honestly),
        TEST(C20_a_read_is_repeated_and_a_write_is_not),
        TEST(C20_what_never_reached_the_server_is_unsent),
        TEST(C21_a_silent_server_is_given_up_in_time),
        TEST(C21_a_stream_has_no_limit_of_its_own),
        TEST(C17_classes_never_share_a_connection),
        TEST(two_endpoints_never_share_a_connection),
        TEST(C18_connections_are_kept_alive),
        TEST(C18_a_cancelled_stream_closes_its_connection),
        TEST(a_cancelled_call_is_never_heard_of),
        TEST(a_receiver_may_cancel_start_and_release),
        TEST(what_cannot_be_sent_is_refused_in_the_loop),
        TEST(C19_a_flood_holds_up_no_other_stream),
        TEST(a_wake_ends_a_turn_that_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
