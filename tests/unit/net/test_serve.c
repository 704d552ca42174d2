#include "net/serve.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "net/certificate.h"

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEPT_MAX 256
#define LIMIT_MS 20000 /* of anything that is waited for: far more than it takes */
#define STREAM_COUNT 200

/* "/keep..." is answered by the test, anything else at once with what was asked. */
struct app {
    struct http_reply *kept[KEPT_MAX];
    int kept_count;
    int request_count;
    int closed_count;
    size_t body_bytes;
};

static void on_request(void *arg, const struct http_incoming *in, struct http_reply *reply) {
    struct app *app = arg;

    app->request_count++;
    app->body_bytes = in->body_bytes;
    if (strncmp(in->path, "/keep", 5) == 0) {
        assert_true(app->kept_count < KEPT_MAX);
        app->kept[app->kept_count++] = reply;
        return;
    }
    char *text = str_printf("%s %s [%s] [%s] [%s] [%s] [%s] %zu:%.20s", in->method, in->path,
                            in->query, in->accept, in->content_type, in->bearer, in->user_agent,
                            in->body_bytes, in->body);

    reply->ops->head(reply, 201, "text/plain",
                     strcmp(in->path, "/warn") ? NULL : "be \"good\"\r\n");
    reply->ops->data(reply, text, strlen(text));
    reply->ops->end(reply);
    free(text);
}

static void on_closed(void *arg, struct http_reply *reply) {
    struct app *app = arg;

    app->closed_count++;
    for (int i = 0; i < app->kept_count; i++) {
        if (app->kept[i] == reply) {
            app->kept[i] = app->kept[--app->kept_count];
            return;
        }
    }
    fail_msg("closed() of a reply that is not open");
}

/* A server with one plain port per app and one TLS port for the last. */
struct rig {
    struct serve *serve;
    struct app apps[2];
    struct certificate *authority;
    struct certificate *certificate;
};

/* A client's end of a connection; plain unless ssl is set. */
struct peer {
    int fd;
    SSL *ssl;
    struct str in;
    bool closed;
};

static void rig_init(struct rig *rig) {
    static const char *const names[] = {"127.0.0.1", NULL};
    const struct certificate_subject subject = {.common_name = "hub", .names = names, .days = 1};
    const int64_t now_ms = clock_wall_ms(NULL);
    struct err err = {0};

    memset(rig, 0, sizeof *rig);
    assert_int_equal(certificate_authority_new("ca", now_ms, 1, &rig->authority, &err), 0);
    assert_int_equal(certificate_issue(rig->authority, &subject, now_ms, &rig->certificate, &err),
                     0);
    const struct serve_port ports[] = {
        {.address = "127.0.0.1", .handler = {on_request, on_closed, &rig->apps[0]}},
        {.address = "127.0.0.1", .handler = {on_request, on_closed, &rig->apps[1]}},
        {.address = "127.0.0.1",
         .handler = {on_request, on_closed, &rig->apps[1]},
         .cert_pem = certificate_cert_pem(rig->certificate),
         .key_pem = certificate_key_pem(rig->certificate)},
    };

    assert_int_equal(serve_new(ports, 3, &rig->serve, &err), 0);
}

static void rig_done(struct rig *rig) {
    serve_free(rig->serve);
    assert_int_equal(rig->apps[0].kept_count + rig->apps[1].kept_count, 0);
    certificate_free(rig->certificate);
    certificate_free(rig->authority);
}

static struct peer dial(struct rig *rig, int port) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(serve_port_number(rig->serve, port)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct peer peer = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

    str_init(&peer.in, (size_t)256 << 20);
    assert_int_equal(connect(peer.fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(fcntl(peer.fd, F_SETFL, O_NONBLOCK), 0);
    return peer;
}

static void hang_up(struct peer *peer) {
    SSL_free(peer->ssl);
    close(peer->fd);
    str_done(&peer->in);
}

/* Lets the server work once and takes what it sent. */
static void turn(struct rig *rig, struct peer *peer) {
    static char bytes[65536];
    ssize_t n;

    serve_turn(rig->serve, 1);
    while (peer && !peer->closed) {
        n = peer->ssl ? SSL_read(peer->ssl, bytes, sizeof bytes)
                      : recv(peer->fd, bytes, sizeof bytes, 0);
        if (n > 0)
            assert_int_equal(str_add(&peer->in, bytes, (size_t)n, NULL), 0);
        else if (peer->ssl && SSL_get_error(peer->ssl, (int)n) == SSL_ERROR_WANT_READ)
            return;
        else if (!peer->ssl && n < 0 && errno == EAGAIN)
            return;
        else
            peer->closed = true;
    }
}

static void say_bytes(struct rig *rig, struct peer *peer, const char *bytes, size_t size_bytes) {
    const int64_t limit_ms = clock_mono_ms(NULL) + LIMIT_MS;

    while (size_bytes > 0 && !peer->closed) {
        const ssize_t n = peer->ssl ? SSL_write(peer->ssl, bytes, (int)size_bytes)
                                    : send(peer->fd, bytes, size_bytes, MSG_NOSIGNAL);

        assert_true(clock_mono_ms(NULL) < limit_ms);
        if (n > 0) {
            bytes += n;
            size_bytes -= (size_t)n;
        } else {
            turn(rig, peer);
        }
    }
}

static void say(struct rig *rig, struct peer *peer, const char *text) {
    say_bytes(rig, peer, text, strlen(text));
}

/* Turns until the peer has seen text, and forgets all up to its end. */
static void expect(struct rig *rig, struct peer *peer, const char *text) {
    const int64_t limit_ms = clock_mono_ms(NULL) + LIMIT_MS;
    const char *at = NULL;

    while (!(at = peer->in.data ? strstr(peer->in.data, text) : NULL)) {
        if (peer->closed || clock_mono_ms(NULL) > limit_ms)
            fail_msg("no '%s' but '%s'%s", text, peer->in.data ? peer->in.data : "",
                     peer->closed ? " and the end" : "");
        turn(rig, peer);
    }
    at += strlen(text);
    peer->in.size_bytes -= (size_t)(at - peer->in.data);
    memmove(peer->in.data, at, peer->in.size_bytes + 1);
}

static void expect_end(struct rig *rig, struct peer *peer) {
    const int64_t limit_ms = clock_mono_ms(NULL) + LIMIT_MS;

    while (!peer->closed && clock_mono_ms(NULL) < limit_ms)
        turn(rig, peer);
    assert_true(peer->closed);
}

static void wait_for(struct rig *rig, struct peer *peer, const int *count, int want) {
    const int64_t limit_ms = clock_mono_ms(NULL) + LIMIT_MS;

    while (*count != want && clock_mono_ms(NULL) < limit_ms)
        turn(rig, peer);
    assert_int_equal(*count, want);
}

/* One request on a new connection and the start of its answer. */
static void ask_once(struct rig *rig, const char *request, const char *answer) {
    struct peer peer = dial(rig, 0);

    say(rig, &peer, request);
    expect(rig, &peer, answer);
    hang_up(&peer);
}

static void every_method_arrives_with_its_headers(void **state) {
    static const char *const methods[] = {"GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"};
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        char request[512], want[512];
        const bool body = i > 0;

        snprintf(request, sizeof request,
                 "%s /api/v1?timeout=32s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t.o-k\r\n"
                 "Accept: application/json\r\nUser-Agent: test/1\r\n%s",
                 methods[i], body ? "Content-Type: a/b\r\nContent-Length: 5\r\n\r\nhello" : "\r\n");
        snprintf(want, sizeof want,
                 "%s /api/v1 [timeout=32s] [application/json] [%s] [t.o-k] [test/1] %s", methods[i],
                 body ? "a/b" : "", body ? "5:hello" : "0:");
        ask_once(&rig, request, want);
    }
    ask_once(&rig, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic eA==\r\n\r\n",
             "GET / [] [] [] [] [] 0:");
    ask_once(&rig, "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n", "DELETE / [] [] [] [] [] 0:");
    ask_once(&rig, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
             "POST / [] [] [] [] [] 0:");
    assert_int_equal(rig.apps[0].request_count, 9);
    assert_int_equal(rig.apps[1].request_count, 0);
    rig_done(&rig);
}

static void targets_stay_encoded(void **state) {
    static const struct {
        const char *target;
        const char *want;
    } rows[] = {
        {"/a%20b/%25c", "/a%20b/%25c []"},
        {"/a?labelSelector=a%3Db%26c%2Bd+e", "/a [labelSelector=a%3Db%26c%2Bd%20e]"},
        {"/a?watch&x=1&y=", "/a [watch&x=1&y=]"},
        {"/a?path=/b/c&f=metadata.name%3Dx", "/a [path=/b/c&f=metadata.name%3Dx]"},
        {"/%C3%A9?%C3%A9=%C3%A9", "/%C3%A9 [%C3%A9=%C3%A9]"},
        {"/a/../b/./c//d", "/b/c/d []"},
    };
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char request[256], want[256];

        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", rows[i].target);
        snprintf(want, sizeof want, "GET %s [", rows[i].want);
        ask_once(&rig, request, want);
    }
    rig_done(&rig);
}

static void a_whole_answer_has_a_length_and_the_connection_lives_on(void **state) {
    struct rig rig;
    struct peer peer;

    (void)state;
    rig_init(&rig);
    peer = dial(&rig, 0);
    for (int i = 0; i < 5; i++) {
        say(&rig, &peer, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
        expect(&rig, &peer,
               "HTTP/1.1 201 Created\r\ncontent-type: text/plain\r\n"
               "content-length: 24\r\n\r\nGET /a [] [] [] [] [] 0:");
        say(&rig, &peer, "PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab");
        expect(&rig, &peer, "content-length: 26\r\n\r\nPUT /b [] [] [] [] [] 2:ab");
    }
    say(&rig, &peer, "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&rig, &peer, "content-length: 25\r\n\r\n"); /* and no body follows */
    say(&rig, &peer, "GET /warn HTTP/1.1\r\nHost: x\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&rig, &peer, "HTTP/1.1 201 Created\r\n");
    expect(&rig, &peer, "warning: 299 - \"be  good   \"\r\n");
    expect(&rig, &peer, "GET /c [] [] [] [] [] 0:"); /* pipelined behind no body */
    say(&rig, &peer, "GET /d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(&rig, &peer, "GET /d [] [] [] [] [] 0:");
    expect_end(&rig, &peer);
    hang_up(&peer);
    rig_done(&rig);
}

static void a_stream_is_chunked_and_its_end_is_told(void **state) {
    struct rig rig;
    struct peer peer;
    struct http_reply *reply;

    (void)state;
    rig_init(&rig);
    peer = dial(&rig, 0);
    for (int i = 0; i < 2; i++) {
        say(&rig, &peer, "GET /keep?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_for(&rig, &peer, &rig.apps[0].kept_count, 1);
        reply = rig.apps[0].kept[0];
        assert_null(reply->owner);
        reply->ops->head(reply, 200, "application/json", NULL);
        expect(&rig, &peer, "transfer-encoding: chunked\r\n\r\n");
        assert_int_equal(peer.in.size_bytes, 0);
        reply->ops->data(reply, "one\n", 4);
        expect(&rig, &peer, "4\r\none\n\r\n");
        assert_int_equal(reply->ops->backlog_bytes(reply), 0);
        reply->ops->data(reply, "two two two two\n", 16);
        assert_int_equal(reply->ops->backlog_bytes(reply), 16);
        expect(&rig, &peer, "10\r\ntwo two two two\n\r\n");
        assert_int_equal(peer.in.size_bytes, 0);
        rig.apps[0].kept_count = 0;
        reply->ops->end(reply);
        expect(&rig, &peer, "0\r\n\r\n");
    }
    assert_int_equal(rig.apps[0].closed_count, 0);
    hang_up(&peer);
    rig_done(&rig);
}

static void a_stream_may_be_silent_for_long(void **state) {
    struct rig rig;
    struct peer peer;
    int64_t until_ms;

    (void)state;
    rig_init(&rig);
    peer = dial(&rig, 0);
    say(&rig, &peer, "PUT /keep HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab");
    wait_for(&rig, &peer, &rig.apps[0].kept_count, 1);
    rig.apps[0].kept[0]->ops->head(rig.apps[0].kept[0], 200, "text/plain", NULL);
    rig.apps[0].kept[0]->ops->data(rig.apps[0].kept[0], "x", 1);
    until_ms = clock_mono_ms(NULL) + 11500; /* longer than a request may pause */
    while (clock_mono_ms(NULL) < until_ms && !peer.closed) {
        serve_turn(rig.serve, 100);
        turn(&rig, &peer);
    }
    assert_false(peer.closed);
    assert_int_equal(rig.apps[0].closed_count, 0);
    rig.apps[0].kept[0]->ops->data(rig.apps[0].kept[0], "later", 5);
    expect(&rig, &peer, "5\r\nlater\r\n");
    hang_up(&peer);
    rig_done(&rig);
}

static void what_cannot_be_read_is_refused_and_hung_up_on(void **state) {
    static const struct {
        const char *request;
        const char *answer;
    } rows[] = {
        {"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
         "HTTP/1.1 411 "},
        {"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nab",
         "HTTP/1.1 411 "},
        {"GET /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "HTTP/1.1 411 "},
        {"PATCH /a HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 411 "},
        {"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3145729\r\n\r\n", "HTTP/1.1 413 "},
        {"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
         "HTTP/1.1 413 "},
        {"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 400 "},
        {"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
         "HTTP/1.1 400 "},
        {"GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 400 "},
    };
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct peer peer = dial(&rig, 0);

        say(&rig, &peer, rows[i].request);
        expect(&rig, &peer, rows[i].answer);
        expect(&rig, &peer, "connection: close\r\n");
        expect_end(&rig, &peer);
        hang_up(&peer);
    }
    assert_int_equal(rig.apps[0].request_count, 0);
    rig_done(&rig);
}

/* Behind an answer given at once the library would report the end of the body for ever. */
static void a_request_behind_a_body_does_no_harm(void **state) {
    static const char *const targets[] = {"/now", "/keep"};
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 2; i++) {
        struct peer peer = dial(&rig, 0);
        char request[200];

        snprintf(request, sizeof request,
                 "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
                 "GET /second HTTP/1.1\r\nHost: x\r\n\r\n",
                 targets[i]);
        say(&rig, &peer, request);
        if (i == 0) {
            expect_end(&rig, &peer);
            assert_int_equal(rig.apps[0].request_count, 1);
        } else {
            wait_for(&rig, &peer, &rig.apps[0].kept_count, 1);
            rig.apps[0].kept_count = 0;
            http_answer(rig.apps[0].kept[0], 200, "text/plain", "first", 5);
            expect(&rig, &peer, "first");
            expect(&rig, &peer, "GET /second [");
        }
        hang_up(&peer);
    }
    rig_done(&rig);
}

static void bodies_have_a_ceiling_of_3_mib(void **state) {
    const size_t size_bytes = SERVE_BODY_MAX_BYTES;
    char *body = str_alloc(size_bytes + 1, 1);
    struct rig rig;

    (void)state;
    rig_init(&rig);
    memset(body, 'x', size_bytes + 1);
    struct peer peer = dial(&rig, 0);

    say(&rig, &peer,
        "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3145728\r\nExpect: 100-continue\r\n\r\n");
    expect(&rig, &peer, "HTTP/1.1 100 Continue\r\n\r\n");
    say_bytes(&rig, &peer, body, size_bytes);
    expect(&rig, &peer, "3145728:xxxxxxxxxxxxxxxxxxxx");
    assert_int_equal(rig.apps[0].body_bytes, size_bytes);
    say(&rig, &peer, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3145729\r\n\r\n");
    expect(&rig, &peer, "HTTP/1.1 413 ");
    expect_end(&rig, &peer);
    hang_up(&peer);
    free(body);
    rig_done(&rig);
}

static void a_header_block_may_have_16_kib_and_no_more(void **state) {
    static const int sizes[] = {1000, 5000, 15000, 20000, 100000};
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct peer peer = dial(&rig, 0);
        char *token = str_alloc((size_t)sizes[i] + 1, 1);
        char *request;

        memset(token, 't', (size_t)sizes[i]);
        request =
            str_printf("GET /a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token);
        say(&rig, &peer, request);
        if (sizes[i] < 16000)
            expect(&rig, &peer, token);
        else
            expect_end(&rig, &peer);
        hang_up(&peer);
        free(request);
        free(token);
    }
    ask_once(&rig, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a"); /* and it still serves */
    rig_done(&rig);
}

static void other_protocols_are_hung_up_on(void **state) {
    static const char *const requests[] = {
        "GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "BREW /a HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct peer peer = dial(&rig, 0);

        say(&rig, &peer, requests[i]);
        shutdown(peer.fd, SHUT_WR);
        expect_end(&rig, &peer);
        assert_true(!peer.in.data || !strstr(peer.in.data, "HTTP/1.1 101"));
        hang_up(&peer);
    }
    assert_int_equal(rig.apps[0].request_count, 0);
    rig_done(&rig);
}

static void a_peer_that_leaves_is_told_to_the_handler(void **state) {
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 3; i++) {
        struct peer peer = dial(&rig, 1);

        say(&rig, &peer, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_for(&rig, &peer, &rig.apps[1].kept_count, 1);
        if (i > 0)
            rig.apps[1].kept[0]->ops->head(rig.apps[1].kept[0], 200, "text/plain", NULL);
        if (i > 1)
            expect(&rig, &peer, "chunked\r\n\r\n");
        hang_up(&peer);
        wait_for(&rig, NULL, &rig.apps[1].closed_count, i + 1);
        assert_int_equal(rig.apps[1].kept_count, 0);
    }
    rig_done(&rig);
}

static void a_peer_that_speaks_during_a_stream_is_hung_up_on(void **state) {
    struct rig rig;
    clock_t start;
    struct peer peer;

    (void)state;
    rig_init(&rig);
    peer = dial(&rig, 0);
    say(&rig, &peer, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for(&rig, &peer, &rig.apps[0].kept_count, 1);
    rig.apps[0].kept[0]->ops->head(rig.apps[0].kept[0], 200, "text/plain", NULL);
    expect(&rig, &peer, "chunked\r\n\r\n");
    say(&rig, &peer, "GET /second HTTP/1.1\r\nHost: x\r\n\r\n");
    start = clock();
    while (rig.apps[0].closed_count == 0 && clock() - start < CLOCKS_PER_SEC)
        serve_turn(rig.serve, 1000);
    assert_true(clock() - start < CLOCKS_PER_SEC / 4); /* it waits, and does not turn in circles */
    expect_end(&rig, &peer);
    assert_int_equal(rig.apps[0].request_count, 1);
    hang_up(&peer);
    rig_done(&rig);
}

static void a_peer_that_does_not_read_is_cut_off(void **state) {
    const size_t block_bytes = (size_t)1 << 20;
    char *block = str_alloc(block_bytes, 1);
    size_t given_bytes = 0;
    struct rig rig;
    struct peer peer;

    (void)state;
    rig_init(&rig);
    peer = dial(&rig, 0);
    say(&rig, &peer, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for(&rig, NULL, &rig.apps[0].kept_count, 1);
    rig.apps[0].kept[0]->ops->head(rig.apps[0].kept[0], 200, "text/plain", NULL);
    for (int i = 0; i < 100 && rig.apps[0].kept_count == 1; i++) {
        struct http_reply *reply = rig.apps[0].kept[0];

        reply->ops->data(reply, block, block_bytes);
        given_bytes += block_bytes;
        assert_true(reply->ops->backlog_bytes(reply) <= 64 * block_bytes);
        serve_turn(rig.serve, 0);
        serve_turn(rig.serve, 0);
    }
    wait_for(&rig, NULL, &rig.apps[0].closed_count, 1);
    assert_true(given_bytes > 64 * block_bytes);
    hang_up(&peer);
    free(block);
    rig_done(&rig);
}

static void a_large_answer_arrives_whole(void **state) {
    const size_t size_bytes = 20000003;
    char *body = str_alloc(size_bytes + 1, 1);
    struct random rng = {1};
    struct rig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < size_bytes; i++)
        body[i] = (char)('a' + random_next(&rng) % 26);
    for (int i = 0; i < 2; i++) {
        struct peer peer = dial(&rig, 0);
        struct http_reply *reply;

        say(&rig, &peer,
            i ? "GET /keep HTTP/1.0\r\n\r\n" : "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_for(&rig, &peer, &rig.apps[0].kept_count, 1);
        rig.apps[0].kept_count = 0;
        reply = rig.apps[0].kept[0];
        if (i == 1) { /* streamed to a client that knows no chunks: up to the end */
            reply->ops->head(reply, 200, "text/plain", NULL);
            expect(&rig, &peer, "\r\n\r\n");
            reply->ops->data(reply, body, size_bytes);
            reply->ops->end(reply);
            expect_end(&rig, &peer);
        } else {
            http_answer(reply, 200, "text/plain", body, size_bytes);
            expect(&rig, &peer, "content-length: 20000003\r\n\r\n");
            while (peer.in.size_bytes < size_bytes && !peer.closed)
                turn(&rig, &peer);
        }
        assert_int_equal(peer.in.size_bytes, size_bytes);
        assert_memory_equal(peer.in.data, body, size_bytes);
        hang_up(&peer);
    }
    free(body);
    rig_done(&rig);
}

/* A client that trusts the rig's authority and asks for the given protocols. */
static void start_tls(struct rig *rig, struct peer *peer, SSL_CTX *context, const char *alpn) {
    int r;

    peer->ssl = SSL_new(context);
    SSL_set_fd(peer->ssl, peer->fd);
    assert_int_equal(
        SSL_set_alpn_protos(peer->ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn)), 0);
    assert_int_equal(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(peer->ssl), "127.0.0.1"), 1);
    while ((r = SSL_connect(peer->ssl)) != 1) {
        assert_int_equal(SSL_get_error(peer->ssl, r), SSL_ERROR_WANT_READ);
        serve_turn(rig->serve, 1);
    }
}

static SSL_CTX *trust(const struct rig *rig) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO *bio = BIO_new_mem_buf(certificate_cert_pem(rig->authority), -1);
    X509 *authority = PEM_read_bio_X509(bio, NULL, NULL, NULL);

    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    X509_free(authority);
    BIO_free(bio);
    return context;
}

static void tls_is_trusted_and_speaks_http_1_only(void **state) {
    static const char *const alpn[] = {"\x02h2\x08http/1.1", "\x08http/1.1", "\x02h2"};
    struct rig rig;

    (void)state;
    rig_init(&rig);
    SSL_CTX *context = trust(&rig);

    for (size_t i = 0; i < sizeof alpn / sizeof alpn[0]; i++) {
        struct peer peer = dial(&rig, 2);
        const unsigned char *chosen;
        unsigned len;

        start_tls(&rig, &peer, context, alpn[i]);
        SSL_get0_alpn_selected(peer.ssl, &chosen, &len);
        assert_int_equal(len, i < 2 ? 8 : 0);
        assert_true(len == 0 || memcmp(chosen, "http/1.1", 8) == 0);
        assert_true(SSL_version(peer.ssl) >= TLS1_2_VERSION);
        say(&rig, &peer, "PUT /tls HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab");
        expect(&rig, &peer, "PUT /tls [] [] [] [] [] 2:ab");
        say(&rig, &peer, "GET /again HTTP/1.1\r\nHost: x\r\n\r\n");
        expect(&rig, &peer, "GET /again [] [] [] [] [] 0:");
        hang_up(&peer);
    }
    SSL_CTX_free(context);
    rig_done(&rig);
}

static void two_hundred_streams_get_what_is_theirs(void **state) {
    struct rig rig;
    static struct peer peers[STREAM_COUNT];

    (void)state;
    rig_init(&rig);
    SSL_CTX *context = trust(&rig);
    struct app *app = &rig.apps[1];

    for (int i = 0; i < STREAM_COUNT; i++) {
        peers[i] = dial(&rig, 1 + i % 2);
        if (i % 2)
            start_tls(&rig, &peers[i], context, "\x08http/1.1");
        say(&rig, &peers[i], "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_for(&rig, &peers[i], &app->kept_count, i + 1);
        app->kept[i]->ops->head(app->kept[i], 200, "text/plain", NULL);
    }
    for (int round = 0; round < 5; round++) {
        char text[64];

        for (int i = 0; i < STREAM_COUNT; i++) {
            snprintf(text, sizeof text, "<%d of stream %d>", round, i);
            app->kept[i]->ops->data(app->kept[i], text, strlen(text));
        }
        for (int i = 0; i < STREAM_COUNT; i++) {
            snprintf(text, sizeof text, "<%d of stream %d>", round, i);
            expect(&rig, &peers[i], text);
        }
    }
    for (int i = 0; i < STREAM_COUNT; i++)
        hang_up(&peers[i]);
    wait_for(&rig, NULL, &app->closed_count, STREAM_COUNT);
    SSL_CTX_free(context);
    rig_done(&rig);
}

static void *wake_soon(void *arg) {
    poll(NULL, 0, 50);
    serve_wake(arg);
    return NULL;
}

static void a_turn_ends_in_time_or_when_woken(void **state) {
    struct rig rig;
    pthread_t thread;
    int64_t start_ms;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 3; i++)
        serve_turn(rig.serve, 0);
    start_ms = clock_mono_ms(NULL);
    serve_turn(rig.serve, 100);
    assert_in_range(clock_mono_ms(NULL) - start_ms, 90, LIMIT_MS);
    start_ms = clock_mono_ms(NULL);
    assert_int_equal(pthread_create(&thread, NULL, wake_soon, rig.serve), 0);
    serve_turn(rig.serve, 2 * LIMIT_MS);
    assert_true(clock_mono_ms(NULL) - start_ms < LIMIT_MS);
    pthread_join(thread, NULL);
    rig_done(&rig);
}

static void open_replies_are_told_when_the_server_ends(void **state) {
    struct rig rig;
    struct peer peer;

    (void)state;
    rig_init(&rig);
    peer = dial(&rig, 0);
    say(&rig, &peer, "GET /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for(&rig, &peer, &rig.apps[0].kept_count, 1);
    rig_done(&rig);
    assert_int_equal(rig.apps[0].closed_count, 1);
    hang_up(&peer);
    serve_free(NULL);
}

static void a_port_that_cannot_be_is_named(void **state) {
    struct rig rig;
    struct serve *serve = NULL;

    (void)state;
    rig_init(&rig);
    const int taken = serve_port_number(rig.serve, 0);
    const char *cert = certificate_cert_pem(rig.certificate);
    const char *key = certificate_key_pem(rig.certificate);
    const char *other_key = certificate_key_pem(rig.authority);
    const struct serve_port rows[] = {
        {.address = "127.0.0.1", .port = taken},
        {.address = "192.0.2.1", .port = 0},
        {.address = "hub.example", .port = 0},
        {.address = "127.0.0.1", .port = 65536},
        {.address = "127.0.0.1", .cert_pem = cert},
        {.address = "127.0.0.1", .cert_pem = cert, .key_pem = "nonsense"},
        {.address = "127.0.0.1", .cert_pem = "nonsense", .key_pem = key},
        {.address = "127.0.0.1", .cert_pem = cert, .key_pem = other_key},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct serve_port ports[] = {{.address = "127.0.0.1"}, rows[i]};
        struct err err = {0};

        assert_int_equal(serve_new(ports, 2, &serve, &err), ERR_INVALID);
        assert_non_null(strstr(err.msg, rows[i].address));
        assert_null(serve);
    }
    ask_once(&rig, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a");
    rig_done(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_arrives_with_its_headers),
        cmocka_unit_test(targets_stay_encoded),
        cmocka_unit_test(a_whole_answer_has_a_length_and_the_connection_lives_on),
        cmocka_unit_test(a_stream_is_chunked_and_its_end_is_told),
        cmocka_unit_test(a_stream_may_be_silent_for_long),
        cmocka_unit_test(what_cannot_be_read_is_refused_and_hung_up_on),
        cmocka_unit_test(a_request_behind_a_body_does_no_harm),
        cmocka_unit_test(bodies_have_a_ceiling_of_3_mib),
        cmocka_unit_test(a_header_block_may_have_16_kib_and_no_more),
        cmocka_unit_test(other_protocols_are_hung_up_on),
        cmocka_unit_test(a_peer_that_leaves_is_told_to_the_handler),
        cmocka_unit_test(a_peer_that_speaks_during_a_stream_is_hung_up_on),
        cmocka_unit_test(a_peer_that_does_not_read_is_cut_off),
        cmocka_unit_test(a_large_answer_arrives_whole),
        cmocka_unit_test(tls_is_trusted_and_speaks_http_1_only),
        cmocka_unit_test(two_hundred_streams_get_what_is_theirs),
        cmocka_unit_test(a_turn_ends_in_time_or_when_woken),
        cmocka_unit_test(open_replies_are_told_when_the_server_ends),
        cmocka_unit_test(a_port_that_cannot_be_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
