#include "rig_fetch.h"

#include "net/fetch_call.h"

#define STREAMS 130

static void C17_streams_get_a_second_connection_and_hold_up_no_write(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h2", NULL);
    const struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
    struct transport *transport = rig_transport(rig, &endpoint);
    struct got *streams = str_alloc(STREAMS, sizeof *streams);
    struct got lease = {0}, write = {0};
    int open = 0;
    char line[32];

    for (int i = 0; i < STREAMS; i++)
        rig_get(transport, &streams[i], "/watch", HTTP_STREAM);
    for (int i = 0; i < STREAMS; i++)
        TURN_UNTIL(rig, streams[i].body_bytes > 0);
    for (int connection = 1; connection < 10; connection++) {
        snprintf(line, sizeof line, "request %d ", connection);
        assert_true(peer_count(peer, line) <= FETCH_STREAMS_MAX);
    }
    open = peer_count(peer, "open");
    assert_in_range(open, 2, 3);
    const int64_t start_ms = clock_mono_ms(NULL);

    rig_send(transport, &lease,
             &(struct http_request){.method = "PUT", .target = "/lease", .kind = HTTP_LEASE});
    rig_send(transport, &write, &(struct http_request){.method = "PUT", .target = "/write"});
    TURN_UNTIL(rig, lease.dones && write.dones);
    assert_int_equal(lease.end, HTTP_DONE);
    assert_int_equal(write.end, HTTP_DONE);
    assert_true(clock_mono_ms(NULL) - start_ms < 1000);
    assert_int_equal(peer_count(peer, "open"), open + 2);
    transport_free(transport);
    free(streams);
    peer_free(peer);
}

/* Streams on one connection. While bytes come, cancelling one resets it alone; when none have come
 * for the limit, the connection is closed, and the others hear of it. */
static void C18_a_cancelled_silent_stream_takes_its_connection_along(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h2", NULL);
    const struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
    struct transport *transport = rig_transport(rig, &endpoint);
    struct got lively = {0}, silent = {0}, other = {0}, third = {0}, next = {0};

    rig_get(transport, &lively, "/watch", HTTP_STREAM);
    rig_get(transport, &silent, "/watch", HTTP_STREAM);
    rig_get(transport, &other, "/watch", HTTP_STREAM);
    TURN_UNTIL(rig, lively.body_bytes && silent.body_bytes && other.body_bytes);
    transport_cancel(transport, lively.id);
    rig_get(transport, &third, "/watch", HTTP_STREAM);
    TURN_UNTIL(rig, third.body_bytes && peer_count(peer, "reset 1 ") == 1);
    assert_int_equal(peer_count(peer, "close"), 0);
    assert_int_equal(peer_count(peer, "open"), 1);
    rig->fetch->silent_ms = 0;
    transport_cancel(transport, silent.id);
    TURN_UNTIL(rig, other.dones && peer_count(peer, "close 1\n") == 1);
    TURN_UNTIL(rig, third.dones);
    assert_int_equal(other.end, HTTP_BROKEN);
    assert_int_equal(third.end, HTTP_BROKEN);
    rig->fetch->silent_ms = FETCH_SILENT_MS;
    rig_get(transport, &next, "/watch", HTTP_STREAM);
    TURN_UNTIL(rig, next.body_bytes);
    assert_int_equal(peer_count(peer, "open"), 2);
    transport_cancel(transport, next.id); /* the last one on it: nothing would carry its reset */
    TURN_UNTIL(rig, peer_count(peer, "close 2\n") == 1);
    assert_int_equal(silent.dones + lively.dones, 0);
    transport_free(transport);
    peer_free(peer);
}

/* The server says GOAWAY and closes, or refuses the first stream. */
static void C20_a_read_survives_goaway_and_refused_streams(void **state) {
    static const char *const SCRIPTS[] = {"h2-goaway", "h2-refuse"};
    struct rig *rig = *state;

    for (size_t i = 0; i < 2; i++) {
        struct peer *peer = peer_new(rig, SCRIPTS[i], NULL);
        const struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
        struct transport *transport = rig_transport(rig, &endpoint);
        struct got got = {0};

        rig_get(transport, &got, "/", HTTP_UNARY);
        TURN_UNTIL(rig, got.dones);
        if (got.end == HTTP_DONE)
            assert_string_equal(got.body, "x\n");
        else
            fail_msg("%s: %d %s", SCRIPTS[i], got.end, got.text);
        transport_free(transport);
        peer_free(peer);
    }
}

static void C20_a_write_is_never_sent_twice(void **state) {
    static const char *const SCRIPTS[] = {"h2-goaway", "h2-refuse"};
    struct rig *rig = *state;

    for (size_t i = 0; i < 2; i++) {
        struct peer *peer = peer_new(rig, SCRIPTS[i], NULL);
        const struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
        struct transport *transport = rig_transport(rig, &endpoint);
        struct got got = {0};

        rig_send(
            transport, &got,
            &(struct http_request){.method = "PUT", .target = "/", .body = "{}", .body_bytes = 2});
        TURN_UNTIL(rig, got.dones);
        assert_int_equal(got.end, HTTP_BROKEN);
        assert_int_equal(peer_count(peer, "request"), 1);
        transport_free(transport);
        peer_free(peer);
    }
}

static void handles_are_kept_for_the_next_call_and_bounded(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h2", NULL);
    const struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
    struct transport *transport = rig_transport(rig, &endpoint);
    const struct endpoint *inside = (const struct endpoint *)transport;
    struct got *got = str_alloc(STREAMS, sizeof *got);

    for (int i = 0; i < STREAMS; i++)
        rig_send(transport, &got[i], &(struct http_request){.method = "POST", .target = "/"});
    for (int i = 0; i < STREAMS; i++)
        TURN_UNTIL(rig, got[i].dones);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(got[i].end, HTTP_DONE);
    assert_int_equal(inside->idle_count, FETCH_HANDLES_MAX);
    assert_null(inside->calls);
    assert_null(rig->fetch->by_id);
    transport_free(transport);
    free(got);
    peer_free(peer);
}

static void calls_beyond_the_limit_are_unsent(void **state) {
    struct rig *rig = *state;
    const struct fetch_endpoint endpoint = {.url = "https://127.0.0.1:1"};
    struct transport *transport = rig_transport(rig, &endpoint);
    struct got *got = str_alloc(FETCH_CALLS_MAX + 2, sizeof *got);

    for (int i = 0; i < FETCH_CALLS_MAX + 2; i++)
        rig_get(transport, &got[i], "/", HTTP_UNARY);
    for (int i = 0; i < FETCH_CALLS_MAX; i++)
        transport_cancel(transport, got[i].id);
    TURN_UNTIL(rig, got[FETCH_CALLS_MAX].dones && got[FETCH_CALLS_MAX + 1].dones);
    assert_int_equal(got[FETCH_CALLS_MAX].end, HTTP_UNSENT);
    assert_int_equal(got[FETCH_CALLS_MAX + 1].end, HTTP_UNSENT);
    transport_free(transport);
    free(got);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        TEST(C17_streams_get_a_second_connection_and_hold_up_no_write),
        TEST(C18_a_cancelled_silent_stream_takes_its_connection_along),
        TEST(C20_a_read_survives_goaway_and_refused_streams),
        TEST(C20_a_write_is_never_sent_twice),
        TEST(handles_are_kept_for_the_next_call_and_bounded),
        TEST(calls_beyond_the_limit_are_unsent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
