/* How a child is reached, as the peer of the connection sees it. */
#include "controller/connection.h"

#include "base/clock.h"
#include "net/http.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

#define PATIENCE_MS 20000

static void nothing_data(void *arg, const char *bytes, size_t size_bytes) {
    (void)arg, (void)bytes, (void)size_bytes;
}

static void nothing_done(void *arg, enum http_end end, const char *text) {
    (void)arg, (void)end, (void)text;
}

/* A socket that listens on loopback, and its port. */
static int listen_anywhere(int *ret_port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* Turns the loop until the peer has a whole request head. */
static void head_read(struct fetch *fetch, int listener, char *text, size_t size_bytes) {
    const int64_t end_ms = clock_mono_ms(NULL) + PATIENCE_MS;
    size_t used = 0;
    int fd = -1;

    text[0] = '\0';
    while (!strstr(text, "\r\n\r\n") && clock_mono_ms(NULL) < end_ms) {
        fetch_turn(fetch, 10);
        if (fd < 0)
            fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        const ssize_t got = fd < 0 ? -1 : read(fd, text + used, size_bytes - used - 1);

        used += got > 0 ? (size_t)got : 0;
        text[used] = '\0';
    }
    if (fd >= 0)
        close(fd);
}

static void C80_requests_say_who_sends_them(void **state) {
    const struct http_request request = {.method = "GET", .target = "/version"};
    const struct http_receiver receiver = {.data = nothing_data, .done = nothing_done};
    struct connection connection = {.loopback = true};
    struct transport *transport = NULL;
    struct err err = {0};
    char config[512], head[4096];
    int port;

    (void)state;
    const int listener = listen_anywhere(&port);

    snprintf(config, sizeof config,
             "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: "
             "{cluster: c, user: u}}], users: [{name: u, user: {}}], clusters: [{name: c, "
             "cluster: {server: 'http://127.0.0.1:%d'}}]}",
             port);
    assert_int_equal(fetch_new(&connection.fetch, &err), 0);
    if (connection_open(&connection, "cls-a", config, &transport, &err) < 0)
        fail_msg("%s", err.msg);
    transport_send(transport, &request, &receiver);
    head_read(connection.fetch, listener, head, sizeof head);
    assert_non_null(strstr(head, "User-Agent: bulkhead/0.1.0 (linux/"));
    transport_free(transport);
    fetch_free(connection.fetch);
    close(listener);
}

/* Whatever is wrong with a kubeconfig, the words about it show nothing of its secrets. */
static void C68_a_broken_kubeconfig_is_not_quoted(void **state) {
    static const char *const users[] = {
        "{token: planted}", /* beside a broken authority */
        "{token: planted, username: planted, password: planted}",
        "{token: [planted]}",
        "{token: \"planted\\nplanted\"}",
        "{tokenFile: /x, password: planted}",
        "{client-key-data: planted, client-certificate-data: planted}",
        "{client-key-data: cGxhbnRlZA==, client-certificate-data: cGxhbnRlZA==}",
        ("{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true, env: [{name: A, "
         "value: planted}], args: [planted]}}"),
        "{auth-provider: {name: gcp, config: {access-token: planted}}}",
        "{as: other, token: planted, as-uid: x}",
        "planted",
        "{token: planted",
    };
    struct connection connection = {.loopback = false};

    (void)state;
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        struct transport *transport = NULL;
        struct err err = {0};
        char config[1024];

        snprintf(config, sizeof config,
                 "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, "
                 "context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "
                 "'https://h'%s}}], users: [{name: u, user: %s}]}",
                 i == 0 ? ", certificate-authority-data: planted" : "", users[i]);
        assert_int_equal(fetch_new(&connection.fetch, &err), 0);
        assert_true(connection_open(&connection, "cls-a", config, &transport, &err) < 0);
        assert_true(err.msg[0] != '\0');
        if (strstr(err.msg, "planted"))
            fail_msg("%s", err.msg);
        fetch_free(connection.fetch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C80_requests_say_who_sends_them),
        cmocka_unit_test(C68_a_broken_kubeconfig_is_not_quoted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
