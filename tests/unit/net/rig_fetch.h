/* rig_fetch.h - a loop, a peer in a child process and what they say, for the tests of fetch. */
#ifndef BULKHEAD_TESTS_UNIT_NET_RIG_FETCH_H
#define BULKHEAD_TESTS_UNIT_NET_RIG_FETCH_H

#include "unit.h"

#include "base/clock.h"
#include "base/str.h"
#include "net/certificate.h"
#include "net/fetch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000 /* far beyond what anything here takes */

struct peer {
    pid_t pid;
    int in;
    int out;
    int port;
    char url[64];
    char log[262144];
    size_t log_bytes;
};

struct rig {
    struct fetch *fetch;
    struct certificate *authority;
    struct certificate *server;
    char folder[64];
    char files[3][96]; /* certificate, key, authority */
};

/* One call and all that its receiver was told. */
struct got {
    uint64_t id;
    struct http_head head;
    char content_type[64];
    char warning[64];
    char text[256];
    char body[64];
    size_t body_bytes;
    int heads, dones;
    enum http_end end;
    void (*on_data)(struct got *got);
    void *extra;
};

static bool rig_turning;

static void rig_write(const char *path, const char *text) {
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int rig_setup(void **state) {
    static const char *const names[] = {"localhost", "api.example", "127.0.0.1", NULL};
    const struct certificate_subject subject = {
        .common_name = "server", .names = names, .days = 30};
    const int64_t now_ms = clock_wall_ms(NULL);
    struct rig *rig = str_alloc(1, sizeof *rig);
    struct err err = {0};

    unsetenv("http_proxy");
    unsetenv("https_proxy");
    unsetenv("HTTPS_PROXY");
    unsetenv("ALL_PROXY");
    unsetenv("all_proxy");
    assert_int_equal(fetch_new(&rig->fetch, &err), 0);
    assert_int_equal(certificate_authority_new("ca", now_ms, 30, &rig->authority, &err), 0);
    assert_int_equal(certificate_issue(rig->authority, &subject, now_ms, &rig->server, &err), 0);
    snprintf(rig->folder, sizeof rig->folder, "/tmp/fetch-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    for (int i = 0; i < 3; i++)
        snprintf(rig->files[i], sizeof rig->files[i], "%s/%d.pem", rig->folder, i);
    rig_write(rig->files[0], certificate_cert_pem(rig->server));
    rig_write(rig->files[1], certificate_key_pem(rig->server));
    rig_write(rig->files[2], certificate_cert_pem(rig->authority));
    *state = rig;
    return 0;
}

static int rig_teardown(void **state) {
    struct rig *rig = *state;

    fetch_free(rig->fetch);
    certificate_free(rig->authority);
    certificate_free(rig->server);
    for (int i = 0; i < 3; i++)
        unlink(rig->files[i]);
    rmdir(rig->folder);
    free(rig);
    return 0;
}

static void peer_read(struct peer *peer) {
    ssize_t n;

    while ((n = read(peer->out, peer->log + peer->log_bytes,
                     sizeof peer->log - 1 - peer->log_bytes)) > 0)
        peer->log_bytes += (size_t)n;
    peer->log[peer->log_bytes] = '\0';
}

/* How many lines of the peer's log begin with text. */
static int peer_count(struct peer *peer, const char *text) {
    int count = 0;

    peer_read(peer);
    for (const char *line = peer->log; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        count += strncmp(line, text, strlen(text)) == 0;
    }
    return count;
}

/* arg replaces the files if it is not NULL. */
static struct peer *peer_new(const struct rig *rig, const char *script, const char *arg) {
    struct peer *peer = str_alloc(1, sizeof *peer);
    int in[2], out[2];

    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    peer->pid = fork();
    if (peer->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execlp("python3", "python3", SOURCE_DIR "/tests/peers/fetch_peer.py", script,
               arg ? arg : rig->files[0], rig->files[1], rig->files[2], (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    peer->in = in[1];
    peer->out = out[0];
    fcntl(peer->out, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < PATIENCE_MS && peer_count(peer, "port ") == 0; i++)
        usleep(1000);
    assert_int_equal(sscanf(peer->log, "port %d", &peer->port), 1);
    snprintf(peer->url, sizeof peer->url, "%s://127.0.0.1:%d",
             strcmp(script, "plain") == 0 ? "http" : "https", peer->port);
    return peer;
}

static void peer_free(struct peer *peer) {
    close(peer->in);
    waitpid(peer->pid, NULL, 0);
    close(peer->out);
    free(peer);
}

static void got_head(void *arg, const struct http_head *head) {
    struct got *got = arg;

    assert_true(rig_turning);
    assert_int_equal(got->dones, 0);
    got->heads++;
    got->head = *head;
    snprintf(got->content_type, sizeof got->content_type, "%s", head->content_type);
    snprintf(got->warning, sizeof got->warning, "%s", head->warning);
}

static void got_data(void *arg, const char *bytes, size_t size_bytes) {
    struct got *got = arg;

    assert_true(rig_turning);
    assert_int_equal(got->heads, 1);
    assert_int_equal(got->dones, 0);
    for (size_t i = 0; i < size_bytes && got->body_bytes + i < sizeof got->body - 1; i++)
        got->body[got->body_bytes + i] = bytes[i];
    got->body_bytes += size_bytes;
    if (got->on_data)
        got->on_data(got);
}

static void got_done(void *arg, enum http_end end, const char *text) {
    struct got *got = arg;

    assert_true(rig_turning);
    got->dones++;
    got->end = end;
    snprintf(got->text, sizeof got->text, "%s", text);
}

static void rig_send(struct transport *transport, struct got *got,
                     const struct http_request *request) {
    const struct http_receiver receiver = {got_head, got_data, got_done, got};

    got->id = transport_send(transport, request, &receiver);
    assert_true(got->id != 0);
}

static void rig_get(struct transport *transport, struct got *got, const char *target,
                    enum http_class kind) {
    rig_send(transport, got,
             &(struct http_request){.method = "GET", .target = target, .kind = kind});
}

static void rig_turn(struct rig *rig) {
    rig_turning = true;
    fetch_turn(rig->fetch, 10);
    rig_turning = false;
}

#define TURN_UNTIL(rig, condition)                                                                 \
    do {                                                                                           \
        const int64_t start_ms_ = clock_mono_ms(NULL);                                             \
        while (!(condition)) {                                                                     \
            if (clock_mono_ms(NULL) - start_ms_ > PATIENCE_MS)                                     \
                fail_msg("never came true: %s", #condition);                                       \
            rig_turn(rig);                                                                         \
        }                                                                                          \
    } while (0)

/* An endpoint at the peer that trusts the rig's authority. */
static struct fetch_endpoint rig_endpoint(const struct rig *rig, const struct peer *peer) {
    const bool plain = strncmp(peer->url, "http:", 5) == 0;

    return (struct fetch_endpoint){
        .url = peer->url,
        .ca_pem = plain ? NULL : certificate_cert_pem(rig->authority),
        .user_agent = "bulkhead/test",
        .loopback = true,
    };
}

static struct transport *rig_transport(struct rig *rig, const struct fetch_endpoint *endpoint) {
    struct transport *transport = NULL;
    struct err err = {0};

    if (fetch_endpoint_new(rig->fetch, endpoint, &transport, &err) < 0)
        fail_msg("no endpoint: %s", err.msg);
    return transport;
}

#endif
