#include "controller/dispatch.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define SENT_MAX 256

/* A transport that keeps what is sent until the test answers it. */
struct wire {
    struct transport transport;
    struct {
        uint64_t id;
        char method[8];
        char target[200];
        struct http_receiver receiver;
        bool open;
    } sent[SENT_MAX];
    int count;
};

static uint64_t wire_send(struct transport *transport, const struct http_request *request,
                          const struct http_receiver *receiver) {
    struct wire *wire = (struct wire *)transport;
    const int at = wire->count++;

    assert_in_range(at, 0, SENT_MAX - 1);
    wire->sent[at].id = (uint64_t)at + 1;
    snprintf(wire->sent[at].method, sizeof wire->sent[at].method, "%s", request->method);
    snprintf(wire->sent[at].target, sizeof wire->sent[at].target, "%s", request->target);
    wire->sent[at].receiver = *receiver;
    wire->sent[at].open = true;
    return wire->sent[at].id;
}

static void wire_cancel(struct transport *transport, uint64_t id) {
    ((struct wire *)transport)->sent[id - 1].open = false;
}

static void wire_free(struct transport *transport) {
    (void)transport;
}

static const struct transport_ops wire_ops = {wire_send, wire_cancel, wire_free};

struct bed {
    struct clock clock;
    struct wire hub_wire, child_wire;
    struct kube_client *hub, *child;
    struct dispatch *dispatch;
    bool may_write;
    char told[4096]; /* "key/target/code[!] " for each report: ! when the lane is done,
                        ? when something of it is held back, + when the key must come again */
    int64_t retry_ms;
};

static struct bed bed;

static bool may_write(void *arg) {
    return ((struct bed *)arg)->may_write;
}

static void report(void *arg, const struct dispatch_report *told) {
    struct bed *of = arg;
    const size_t used = strlen(of->told);

    snprintf(of->told + used, sizeof of->told - used, "%s/%d/%d%s%s%s ", told->key, told->target,
             told->code, told->lane_done ? "!" : "", told->failing ? "?" : "",
             told->again ? "+" : "");
    if (told->retry_at_ms)
        of->retry_ms = told->retry_at_ms;
}

static int open_bed(void **state) {
    (void)state;
    bed = (struct bed){.clock = clock_by_hand(0, 1000), .may_write = true};
    bed.hub_wire.transport.ops = &wire_ops;
    bed.child_wire.transport.ops = &wire_ops;
    bed.hub = kube_client_new(&bed.hub_wire.transport);
    bed.child = kube_client_new(&bed.child_wire.transport);
    const struct dispatch_options options = {.clock = &bed.clock,
                                             .hub_in_flight_max = 2,
                                             .child_in_flight_max = 1,
                                             .may_write = may_write,
                                             .report = report,
                                             .arg = &bed};

    bed.dispatch = dispatch_new(&options);
    dispatch_target_set(bed.dispatch, PLAN_HUB, bed.hub);
    dispatch_target_set(bed.dispatch, 1, bed.child);
    return 0;
}

static int close_bed(void **state) {
    (void)state;
    dispatch_free(bed.dispatch);
    kube_client_free(bed.hub);
    kube_client_free(bed.child);
    return 0;
}

static int64_t now(void) {
    return clock_mono_ms(&bed.clock);
}

static void answer(struct wire *wire, int at, int status, int64_t retry_after_ms,
                   const char *body) {
    const struct http_head head = {.status = status,
                                   .retry_after_ms = retry_after_ms,
                                   .content_type = "application/json",
                                   .warning = ""};

    assert_true(wire->sent[at].open);
    wire->sent[at].open = false;
    if (wire->sent[at].receiver.head)
        wire->sent[at].receiver.head(wire->sent[at].receiver.arg, &head);
    wire->sent[at].receiver.data(wire->sent[at].receiver.arg, body, strlen(body));
    wire->sent[at].receiver.done(wire->sent[at].receiver.arg, HTTP_DONE, "");
}

static void breaks(struct wire *wire, int at, enum http_end end) {
    wire->sent[at].open = false;
    wire->sent[at].receiver.done(wire->sent[at].receiver.arg, end, "broken");
}

static void add(struct plan *plan, int target, const char *name) {
    const struct url_target where = {
        .group = "apps", .version = "v1", .resource = "deployments", .ns = "n", .name = name};

    plan_apply(plan, target, QUEUE_CAPACITY, &where, "bulkhead", json_pack("{s:s}", "a", name));
}

static void add_scale(struct plan *plan, int target, const char *name) {
    const struct url_target where = {.group = "apps",
                                     .version = "v1",
                                     .resource = "deployments",
                                     .ns = "n",
                                     .name = name,
                                     .subresource = "scale"};

    plan_apply(plan, target, QUEUE_CAPACITY, &where, "bulkhead-scale", json_pack("{s:i}", "n", 1));
}

static void steps_of_a_lane_go_in_order_and_lanes_apart(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, PLAN_HUB, "h1");
    add(&plan, PLAN_HUB, "h2");
    add(&plan, 1, "c1");
    assert_int_equal(dispatch_submit(bed.dispatch, "k", &plan, now()), INT64_MAX);
    assert_int_equal(plan.count, 0);
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.hub_wire.count, 1);
    assert_int_equal(bed.child_wire.count, 1);
    assert_non_null(strstr(bed.hub_wire.sent[0].target, "/h1?"));
    answer(&bed.hub_wire, 0, 200, -1, "{}");
    dispatch_turn(bed.dispatch, now());
    assert_non_null(strstr(bed.hub_wire.sent[1].target, "/h2?"));
    answer(&bed.hub_wire, 1, 201, -1, "{}");
    answer(&bed.child_wire, 0, 200, -1, "{}");
    assert_string_equal(bed.told, "k/0/0 k/0/0! k/1/0! ");
    assert_true(dispatch_idle(bed.dispatch, "k"));
}

static void a_failed_step_ends_its_lane_only(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, PLAN_HUB, "h1");
    add(&plan, PLAN_HUB, "h2");
    add(&plan, 1, "c1");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    answer(&bed.hub_wire, 0, 409, -1, "{\"reason\":\"Conflict\"}");
    answer(&bed.child_wire, 0, 200, -1, "{}");
    dispatch_turn(bed.dispatch, now());
    assert_string_equal(bed.told, "k/0/-2!? k/1/0! ");
    assert_int_equal(bed.hub_wire.count, 1);
}

static void C23_in_flight_is_bounded_by_target(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct plan plan = {0};
        char key[16];

        snprintf(key, sizeof key, "k%d", i);
        add(&plan, PLAN_HUB, "x");
        add(&plan, 1, "x");
        dispatch_submit(bed.dispatch, key, &plan, now());
    }
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.hub_wire.count, 2);
    assert_int_equal(bed.child_wire.count, 1);
    answer(&bed.child_wire, 0, 200, -1, "{}");
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.child_wire.count, 2);
    assert_int_equal(dispatch_counts(bed.dispatch).in_flight, 3);
}

static void C22_a_named_wait_is_waited_and_resent_ten_times(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, 1, "c");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    for (int i = 0; i < 10; i++) {
        answer(&bed.child_wire, i, 429, 3000, "{\"reason\":\"TooManyRequests\"}");
        const int64_t due_ms = dispatch_turn(bed.dispatch, now());

        assert_in_range(due_ms - now(), 3000, 3300);
        clock_advance(&bed.clock, 2999);
        dispatch_turn(bed.dispatch, now());
        assert_int_equal(bed.child_wire.count, i + 1);
        clock_advance(&bed.clock, 302);
        dispatch_turn(bed.dispatch, now());
        assert_int_equal(bed.child_wire.count, i + 2);
    }
    assert_string_equal(bed.told, "");
    answer(&bed.child_wire, 10, 429, 3000, "{\"reason\":\"TooManyRequests\"}");
    assert_string_equal(bed.told, "k/1/-1!? ");
}

static void C22_a_500_without_a_wait_is_sent_once(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, 1, "c");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    answer(&bed.child_wire, 0, 500, -1, "oops");
    assert_string_equal(bed.told, "k/1/-1!? ");
    assert_true(bed.retry_ms > now());
}

static void the_same_failed_step_is_held_back_and_a_changed_one_is_not(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, 1, "c");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    answer(&bed.child_wire, 0, 422, -1, "{\"reason\":\"Invalid\",\"message\":\"no\"}");
    assert_string_equal(bed.told, "k/1/-4!? ");
    add(&plan, 1, "c");
    assert_int_equal(dispatch_submit(bed.dispatch, "k", &plan, now()), bed.retry_ms);
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.child_wire.count, 1);
    add(&plan, 1, "d");
    assert_int_equal(dispatch_submit(bed.dispatch, "k", &plan, now()), INT64_MAX);
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.child_wire.count, 2);
}

static void a_refusal_stops_its_object_and_nothing_else(void **state) {
    (void)state;
    struct plan plan = {0};

    for (int round = 0; round < 3; round++) {
        bed.told[0] = '\0';
        add(&plan, 1, "a");
        add(&plan, 1, "b");
        add_scale(&plan, 1, "b");
        add(&plan, 1, "c");
        const int at = bed.child_wire.count;
        const int64_t again_ms = dispatch_submit(bed.dispatch, "k", &plan, now());

        dispatch_turn(bed.dispatch, now());
        answer(&bed.child_wire, at, 200, -1, "{}");
        dispatch_turn(bed.dispatch, now());
        if (round != 1) { /* b is held back in the second */
            assert_int_equal(again_ms, INT64_MAX);
            assert_non_null(strstr(bed.child_wire.sent[at + 1].target, "/b?"));
            answer(&bed.child_wire, at + 1, 422, -1, "{\"reason\":\"Invalid\"}");
            dispatch_turn(bed.dispatch, now());
        }
        const int last = bed.child_wire.count - 1;

        assert_non_null(strstr(bed.child_wire.sent[last].target, "/c?"));
        answer(&bed.child_wire, last, 200, -1, "{}");
        assert_string_equal(bed.told, round == 1   ? "k/1/0? k/1/0!? "
                                      : round == 0 ? "k/1/0 k/1/-4? k/1/0!? "
                                                   : "k/1/0? k/1/-4? k/1/0!? ");
        assert_true(dispatch_failing(bed.dispatch, "k", 1));
        assert_true(dispatch_idle(bed.dispatch, "k"));
        if (round == 1) {
            assert_in_range(again_ms - now(), 1, DISPATCH_INVALID_WAIT_MS);
            clock_advance(&bed.clock, DISPATCH_INVALID_WAIT_MS);
        }
    }
    add(&plan, 1, "a");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    assert_false(dispatch_failing(bed.dispatch, "k", 1));
}

static void a_live_read_of_a_refused_object_keeps_it_held(void **state) {
    static const struct url_target where = {
        .group = "apps", .version = "v1", .resource = "deployments", .ns = "n", .name = "a"};
    struct plan plan = {0};

    (void)state;
    add(&plan, 1, "a");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    answer(&bed.child_wire, 0, 403, -1, "{\"reason\":\"Forbidden\"}");
    plan_add(&plan, 1, QUEUE_CAPACITY, KUBE_GET, &where);
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    answer(&bed.child_wire, 1, 404, -1, "{\"reason\":\"NotFound\"}");
    assert_true(dispatch_failing(bed.dispatch, "k", 1));
    add(&plan, 1, "a");
    assert_int_equal(dispatch_submit(bed.dispatch, "k", &plan, now()), bed.retry_ms);
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.child_wire.count, 2);
}

static void what_precedes_a_failed_step_is_sent_and_what_follows_waits(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, 1, "b");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    answer(&bed.child_wire, 0, 500, -1, "oops");
    add(&plan, 1, "a");
    add(&plan, 1, "b");
    add(&plan, 1, "c");
    assert_int_equal(dispatch_submit(bed.dispatch, "k", &plan, now()), bed.retry_ms);
    dispatch_turn(bed.dispatch, now());
    assert_non_null(strstr(bed.child_wire.sent[1].target, "/a?"));
    answer(&bed.child_wire, 1, 200, -1, "{}");
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.child_wire.count, 2);
    assert_true(dispatch_failing(bed.dispatch, "k", 1));
    clock_advance(&bed.clock, bed.retry_ms - now());
    add(&plan, 1, "b");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    answer(&bed.child_wire, 2, 200, -1, "{}");
    assert_false(dispatch_failing(bed.dispatch, "k", 1));
}

static void what_had_no_answer_is_read_before_it_is_written_again(void **state) {
    (void)state;
    const enum http_end ends[] = {HTTP_BROKEN, HTTP_TIMEOUT};

    for (size_t i = 0; i < 2; i++) {
        struct plan plan = {0};
        const int at = bed.child_wire.count;

        add(&plan, 1, "c");
        dispatch_submit(bed.dispatch, "k", &plan, now());
        dispatch_turn(bed.dispatch, now());
        breaks(&bed.child_wire, at, ends[i]);
        clock_advance(&bed.clock, 400000);
        add(&plan, 1, "c");
        dispatch_submit(bed.dispatch, "k", &plan, now());
        dispatch_turn(bed.dispatch, now());
        assert_int_equal(bed.child_wire.count, at + 2);
        assert_string_equal(bed.child_wire.sent[at + 1].method, "GET");
        bed.told[0] = '\0';
        answer(&bed.child_wire, at + 1, 200, -1, "{\"kind\":\"Deployment\"}");
        dispatch_turn(bed.dispatch, now());
        assert_string_equal(bed.told, "k/1/0!? ");
        assert_int_equal(bed.child_wire.count, at + 2);
        add(&plan, 1, "c");
        clock_advance(&bed.clock, 400000);
        dispatch_submit(bed.dispatch, "k", &plan, now());
        dispatch_turn(bed.dispatch, now());
        assert_string_equal(bed.child_wire.sent[at + 2].method, "PATCH");
        answer(&bed.child_wire, at + 2, 200, -1, "{}");
    }
}

static void what_was_never_sent_is_not_in_doubt(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, 1, "c");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    breaks(&bed.child_wire, 0, HTTP_UNSENT);
    clock_advance(&bed.clock, 400000);
    add(&plan, 1, "c");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    assert_string_equal(bed.child_wire.sent[1].method, "PATCH");
}

static void a_newer_plan_drops_what_is_unsent(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, 1, "c1");
    add(&plan, 1, "c2");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    add(&plan, 1, "c3");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    answer(&bed.child_wire, 0, 200, -1, "{}");
    dispatch_turn(bed.dispatch, now());
    /* Neither c2 nor c3: the answer asks for the key, whose next plan knows it. */
    assert_int_equal(bed.child_wire.count, 1);
    assert_string_equal(bed.told, "k/1/0!+ ");
}

static void without_leave_nothing_but_reads_is_sent(void **state) {
    (void)state;
    const struct url_target where = {
        .version = "v1", .resource = "secrets", .ns = "n", .name = "s"};
    struct plan plan = {0};

    bed.may_write = false;
    add(&plan, 1, "c");
    plan_add(&plan, PLAN_HUB, QUEUE_CAPACITY, KUBE_GET, &where);
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.child_wire.count, 0);
    assert_int_equal(bed.hub_wire.count, 1);
    assert_int_equal(dispatch_counts(bed.dispatch).gated, 1);
    bed.may_write = true;
    dispatch_turn(bed.dispatch, now());
    assert_int_equal(bed.child_wire.count, 0);
    answer(&bed.hub_wire, 0, 404, -1, "{\"reason\":\"NotFound\"}");
    assert_string_equal(bed.told, "k/0/0! ");
}

static void a_target_that_goes_leaves_its_writes_in_doubt(void **state) {
    (void)state;
    struct plan plan = {0};

    add(&plan, 1, "c1");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    dispatch_target_set(bed.dispatch, 1, NULL);
    assert_false(bed.child_wire.sent[0].open);
    assert_string_equal(bed.told, "k/1/-1! ");
    add(&plan, 1, "c1");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_target_set(bed.dispatch, 1, bed.child);
    add(&plan, 1, "c1");
    dispatch_submit(bed.dispatch, "k", &plan, now());
    dispatch_turn(bed.dispatch, now());
    assert_string_equal(bed.child_wire.sent[1].method, "GET");
}

static void a_full_lane_asks_to_come_again(void **state) {
    (void)state;
    struct plan plan = {0};

    for (int i = 0; i < PLAN_STEPS_MAX + 3; i++)
        add(&plan, 1, "c");
    assert_int_equal(plan.lanes[0].count, PLAN_STEPS_MAX);
    assert_true(plan.again_at_ms > 0);
    plan_done(&plan);
}

int main(void) {
#define WITH_BED(test) cmocka_unit_test_setup_teardown(test, open_bed, close_bed)
    const struct CMUnitTest tests[] = {
        WITH_BED(steps_of_a_lane_go_in_order_and_lanes_apart),
        WITH_BED(a_failed_step_ends_its_lane_only),
        WITH_BED(C23_in_flight_is_bounded_by_target),
        WITH_BED(C22_a_named_wait_is_waited_and_resent_ten_times),
        WITH_BED(C22_a_500_without_a_wait_is_sent_once),
        WITH_BED(the_same_failed_step_is_held_back_and_a_changed_one_is_not),
        WITH_BED(a_refusal_stops_its_object_and_nothing_else),
        WITH_BED(a_live_read_of_a_refused_object_keeps_it_held),
        WITH_BED(what_precedes_a_failed_step_is_sent_and_what_follows_waits),
        WITH_BED(what_had_no_answer_is_read_before_it_is_written_again),
        WITH_BED(what_was_never_sent_is_not_in_doubt),
        WITH_BED(a_newer_plan_drops_what_is_unsent),
        WITH_BED(without_leave_nothing_but_reads_is_sent),
        WITH_BED(a_target_that_goes_leaves_its_writes_in_doubt),
        WITH_BED(a_full_lane_asks_to_come_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
