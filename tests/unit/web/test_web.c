/* The real thread over real sockets, beside a control thread that is this one. */
#include "web/web.h"

#include "base/clock.h"

#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_MS 20000

/* A hub that takes every request and never answers. */
struct silent {
    struct transport transport; /* first */
    uint64_t calls;
};

static uint64_t send_nowhere(struct transport *transport, const struct http_request *request,
                             const struct http_receiver *receiver) {
    (void)request;
    (void)receiver;
    return ++((struct silent *)transport)->calls;
}

static void cancel_nothing(struct transport *transport, uint64_t id) {
    (void)transport;
    (void)id;
}

static void free_nothing(struct transport *transport) {
    (void)transport;
}

static const struct transport_ops SILENT_OPS = {send_nowhere, cancel_nothing, free_nothing};

struct rig {
    struct silent hub;
    struct manager *manager;
    struct web *web;
    atomic_int wakes;
};

static void wake(void *arg) {
    struct rig *rig = arg;

    atomic_fetch_add(&rig->wakes, 1);
}

static int setup(void **state) {
    static struct rig rig;
    struct err err = {0};

    rig = (struct rig){.hub = {.transport = {&SILENT_OPS}}};
    const struct manager_options managing = {.ns = "bulkhead-system", .hub = &rig.hub.transport};
    const struct web_options serving = {.address = "127.0.0.1:0", .wake = wake, .arg = &rig};

    rig.manager = manager_new(&managing);
    assert_int_equal(web_new(&serving, &rig.web, &err), 0);
    *state = &rig;
    return 0;
}

static int teardown(void **state) {
    struct rig *rig = *state;

    web_free(rig->web);
    manager_free(rig->manager);
    return 0;
}

static int dial(const struct rig *rig) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)web_port_number(rig->web)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Asks, and returns the status; the whole answer is in text. */
static int ask_for(const struct rig *rig, const char *method, const char *target, char *text,
                   size_t size_bytes) {
    const int fd = dial(rig);
    size_t got = 0;
    int status = 0;

    dprintf(fd, "%s %s HTTP/1.0\r\nHost: x\r\n\r\n", method, target);
    while (got < size_bytes - 1) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};

        assert_int_equal(poll(&ready, 1, LIMIT_MS), 1);
        const ssize_t part = read(fd, text + got, size_bytes - 1 - got);

        if (part <= 0)
            break;
        got += (size_t)part;
    }
    close(fd);
    text[got] = '\0';
    assert_int_equal(sscanf(text, "HTTP/1.%*c %d", &status), 1);
    return status;
}

static int status_of(const struct rig *rig, const char *target) {
    char text[4096];

    return ask_for(rig, "GET", target, text, sizeof text);
}

static void probes_are_answered_beside_the_loop(void **state) {
    struct rig *rig = *state;
    char text[4096];

    assert_int_equal(status_of(rig, "/healthz"), 200);
    assert_int_equal(status_of(rig, "/readyz"), 503);
    assert_int_equal(ask_for(rig, "GET", "/readyz/config", text, sizeof text), 503);
    web_turn(rig->web, rig->manager, clock_mono_ms(NULL));
    assert_int_equal(status_of(rig, "/readyz/config"), 200);
    assert_int_equal(status_of(rig, "/readyz/hub-caches"), 503);
    assert_int_equal(ask_for(rig, "GET", "/readyz?verbose&exclude=hub-caches", text, sizeof text),
                     200);
    assert_non_null(strstr(text, "[+]children ok: 0 of 0 can be reached"));
    assert_int_equal(status_of(rig, "/readyz/none"), 404);
    assert_int_equal(status_of(rig, "/healthzz"), 404);
    assert_int_equal(status_of(rig, "/"), 404);
    assert_int_equal(ask_for(rig, "DELETE", "/healthz", text, sizeof text), 405);
    assert_int_equal(ask_for(rig, "HEAD", "/healthz", text, sizeof text), 200);
}

static void C65_told_to_stop_is_not_ready_and_still_live(void **state) {
    struct rig *rig = *state;

    web_turn(rig->web, rig->manager, clock_mono_ms(NULL));
    assert_int_equal(status_of(rig, "/readyz?exclude=hub-caches"), 200);
    web_stopping(rig->web);
    assert_int_equal(status_of(rig, "/readyz?exclude=hub-caches"), 503);
    assert_int_equal(status_of(rig, "/healthz"), 200);
}

static void snapshots_are_published_once_a_second(void **state) {
    struct rig *rig = *state;

    assert_int_equal(web_turn(rig->web, rig->manager, 5000), 5000 + WEB_PUBLISH_MS);
    assert_int_equal(web_turn(rig->web, rig->manager, 5000 + WEB_PUBLISH_MS - 1),
                     5000 + WEB_PUBLISH_MS);
    assert_int_equal(web_turn(rig->web, rig->manager, 5000 + WEB_PUBLISH_MS),
                     5000 + 2 * WEB_PUBLISH_MS);
    assert_int_equal(web_turn(NULL, rig->manager, 1), INT64_MAX);
}

static void an_address_that_is_none_is_named(void **state) {
    static const struct {
        const char *address, *text;
    } rows[] = {
        {"8080", "'8080' is not ADDR:PORT, as 0.0.0.0:8080 or [::]:8080 are"},
        {"127.0.0.1:", "'127.0.0.1:' is not ADDR:PORT, as 0.0.0.0:8080 or [::]:8080 are"},
        {"127.0.0.1:80x", "'127.0.0.1:80x' is not ADDR:PORT, as 0.0.0.0:8080 or [::]:8080 are"},
        {"127.0.0.1:65536", "'127.0.0.1:65536' is not ADDR:PORT, as 0.0.0.0:8080 or [::]:8080 are"},
        {"::1:80", "'::1:80' is not ADDR:PORT, as 0.0.0.0:8080 or [::]:8080 are"},
        {"localhost:80", "'localhost' is not an address"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct web_options serving = {.address = rows[i].address, .wake = wake};
        struct web *web = NULL;
        struct err err = {0};

        assert_int_equal(web_new(&serving, &web, &err), ERR_INVALID);
        assert_string_equal(err.msg, rows[i].text);
        assert_null(web);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(probes_are_answered_beside_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(C65_told_to_stop_is_not_ready_and_still_live, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(snapshots_are_published_once_a_second, setup, teardown),
        cmocka_unit_test(an_address_that_is_none_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
