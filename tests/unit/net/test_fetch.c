#include "rig_fetch.h"

static void a_get_is_answered_with_head_body_and_end(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h1", NULL);
    const struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
    struct transport *transport = rig_transport(rig, &endpoint);
    struct got got = {0};

    rig_get(transport, &got, "/api/v1/pods?limit=5", HTTP_UNARY);
    TURN_UNTIL(rig, got.dones);
    assert_int_equal(got.end, HTTP_DONE);
    assert_int_equal(got.head.status, 200);
    assert_string_equal(got.content_type, "application/json");
    assert_string_equal(got.body, "{}");
    assert_string_equal(got.text, "");
    assert_int_equal(peer_count(peer, "request GET /api/v1/pods?limit=5\n"), 1);
    assert_int_equal(peer_count(peer, "header accept: application/json\n"), 1);
    assert_int_equal(peer_count(peer, "header user-agent: bulkhead/test\n"), 1);
    assert_int_equal(peer_count(peer, "header authorization"), 0);
    assert_int_equal(peer_count(peer, "header accept-encoding"), 0);
    transport_free(transport);
    peer_free(peer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_get_is_answered_with_head_body_and_end, rig_setup,
                                        rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
