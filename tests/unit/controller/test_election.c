#include "controller/election.h"

#include "base/str.h"
#include "kube/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* The Lease as a server would hold it, and a candidate that talks to it. */
struct server {
    json_t *lease; /* NULL: none */
    int version;
    int writes;
    int64_t now_ms;
};

static struct server server;

static int open_server(void **state) {
    (void)state;
    server = (struct server){.now_ms = 1000000};
    return 0;
}

static int close_server(void **state) {
    (void)state;
    json_decref(server.lease);
    return 0;
}

static void lease_store(const char *body) {
    char version[16];

    json_decref(server.lease);
    server.lease = json_loads(body, 0, NULL);
    assert_non_null(server.lease);
    snprintf(version, sizeof version, "%d", ++server.version);
    json_object_set_new(json_object_get(server.lease, "metadata"), "resourceVersion",
                        json_string(version));
}

static struct kube_reply reply_of(int status, const char *body) {
    return (struct kube_reply){.end = HTTP_DONE,
                               .status = status,
                               .reason = "",
                               .message = "",
                               .body = body,
                               .body_bytes = strlen(body)};
}

/* Carries one planned step out as the server would; checks optimistic concurrency. */
static struct kube_reply carry_out(const struct plan_step *step, char **text) {
    json_t *sent = step->body ? json_loads(step->body, 0, NULL) : NULL;
    const char *rv =
        json_string_value(json_object_get(json_object_get(sent, "metadata"), "resourceVersion"));
    struct kube_reply reply;

    *text = server.lease ? json_dumps(server.lease, 0) : str_dup("{}");
    if (step->verb == KUBE_GET) {
        reply = reply_of(server.lease ? 200 : 404, *text);
    } else if (step->verb == KUBE_CREATE ? server.lease != NULL
                                         : !rv || strtol(rv, NULL, 10) != server.version) {
        reply = reply_of(409, *text);
    } else {
        lease_store(step->body);
        server.writes++;
        free(*text);
        *text = json_dumps(server.lease, 0);
        reply = reply_of(step->verb == KUBE_CREATE ? 201 : 200, *text);
    }
    json_decref(sent);
    return reply;
}

/* One round: as many passes as the candidate asks for at once. cut: no answer reaches it. */
static void round_of(struct election *election, bool cut) {
    bool again = true;

    for (int i = 0; again && i < 4; i++) {
        struct plan plan = {0};

        again = false;
        election_plan(election, server.now_ms, 1767225600000, &plan);
        for (int k = 0; plan.count && k < plan.lanes[0].count; k++) {
            const struct plan_step *step = &plan.lanes[0].steps[k];
            char *text;
            const struct kube_reply reply = carry_out(step, &text);

            assert_true(step->ungated);
            assert_true(step->timeout_ms < 5000);
            again = !cut && election_hear(election, step, &reply, server.now_ms);
            free(text);
        }
        plan_done(&plan);
    }
}

static const char *holder(void) {
    return json_string_value(
        json_object_get(json_object_get(server.lease, "spec"), "holderIdentity"));
}

static void C63_a_free_lease_is_taken_and_renewed(void **state) {
    (void)state;
    struct election *one = election_new("ns", "one");

    assert_false(election_leads(one, server.now_ms));
    round_of(one, false);
    assert_true(election_leads(one, server.now_ms));
    assert_string_equal(holder(), "one");
    for (int i = 0; i < 100; i++) {
        server.now_ms += LEASE_RETRY_MS;
        round_of(one, false);
        assert_true(election_leads(one, server.now_ms));
    }
    assert_int_equal(server.writes, 101);
    election_free(one);
}

static void C63_a_candidate_waits_by_its_own_clock(void **state) {
    (void)state;
    struct election *one = election_new("ns", "one"), *two = election_new("ns", "two");

    round_of(one, false);
    for (int64_t waited_ms = 0; waited_ms < LEASE_DURATION_S * 1000; waited_ms += LEASE_RETRY_MS) {
        round_of(two, false);
        assert_false(election_leads(two, server.now_ms));
        server.now_ms += LEASE_RETRY_MS;
    }
    round_of(two, false);
    assert_true(election_leads(two, server.now_ms));
    assert_string_equal(holder(), "two");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(server.lease, "spec"),
                                                        "leaseTransitions")),
                     1);
    /* The first one, whose process was frozen, writes nothing more. */
    assert_false(election_leads(one, server.now_ms));
    round_of(one, false);
    assert_true(election_lost(one));
    assert_string_equal(holder(), "two");
    election_free(one);
    election_free(two);
}

static void C64_without_answers_leadership_ends_before_the_lease_does(void **state) {
    (void)state;
    struct election *one = election_new("ns", "one");

    round_of(one, false);
    for (int64_t passed_ms = 0; passed_ms < LEASE_RENEW_DEADLINE_MS; passed_ms += LEASE_RETRY_MS) {
        assert_true(election_leads(one, server.now_ms));
        server.now_ms += LEASE_RETRY_MS;
        round_of(one, true);
    }
    assert_false(election_leads(one, server.now_ms));
    round_of(one, true);
    assert_true(election_lost(one));
    election_free(one);
}

static void C64_a_release_lets_the_next_one_lead_at_once(void **state) {
    (void)state;
    struct election *one = election_new("ns", "one"), *two = election_new("ns", "two");

    round_of(one, false);
    round_of(two, false);
    assert_false(election_leads(two, server.now_ms));
    election_release(one);
    assert_false(election_leads(one, server.now_ms));
    assert_false(election_released(one));
    round_of(one, false);
    assert_true(election_released(one));
    assert_string_equal(holder(), "");
    round_of(two, false);
    assert_true(election_leads(two, server.now_ms));
    election_free(one);
    election_free(two);
}

static void C51_two_that_race_do_not_both_win(void **state) {
    (void)state;
    struct election *one = election_new("ns", "one"), *two = election_new("ns", "two");
    struct plan first = {0}, second = {0};
    char *text;

    /* Both read that there is none, then both create. */
    election_plan(one, server.now_ms, 0, &first);
    election_plan(two, server.now_ms, 0, &second);
    struct kube_reply reply = carry_out(&first.lanes[0].steps[0], &text);

    election_hear(one, &first.lanes[0].steps[0], &reply, server.now_ms);
    election_hear(two, &second.lanes[0].steps[0], &reply, server.now_ms);
    free(text);
    plan_done(&first);
    plan_done(&second);
    round_of(one, false);
    round_of(two, false);
    assert_true(election_leads(one, server.now_ms));
    assert_false(election_leads(two, server.now_ms));
    election_free(one);
    election_free(two);
}

int main(void) {
#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, open_server, close_server)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(C63_a_free_lease_is_taken_and_renewed),
        WITH_SERVER(C63_a_candidate_waits_by_its_own_clock),
        WITH_SERVER(C64_without_answers_leadership_ends_before_the_lease_does),
        WITH_SERVER(C64_a_release_lets_the_next_one_lead_at_once),
        WITH_SERVER(C51_two_that_race_do_not_both_win),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
