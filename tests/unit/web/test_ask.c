#include "web/ask.h"

#include "base/str.h"

#include "unit.h"

/* A question that notes what becomes of it. */
struct question {
    struct ask ask;
    int runs;
    bool run_within; /* while it runs, the time it may wait passes */
};

static struct ask_box *box;
static int wakes, wakes_back, answers, lates, frees, runs;
static int64_t now_ms;

static void wake(void *arg) {
    (void)arg;
    wakes++;
}

static void wake_back(void *arg) {
    (void)arg;
    wakes_back++;
}

static void run(struct ask *ask, struct manager *manager) {
    struct question *question = (struct question *)ask;

    assert_null(manager);
    question->runs++;
    runs++;
    if (question->run_within) {
        now_ms += ASK_WAIT_MS + 1;
        assert_int_equal(ask_deliver(box, now_ms), INT64_MAX);
    }
}

static void answer(struct ask *ask, struct http_reply *reply, bool late) {
    assert_non_null(reply);
    assert_true(late || ((struct question *)ask)->runs == 1);
    answers++;
    lates += late;
}

static void release(struct ask *ask) {
    frees++;
    free(ask);
}

static struct question *question_new(void) {
    struct question *question = str_alloc(1, sizeof *question);

    question->ask = (struct ask){.run = run, .answer = answer, .free = release};
    return question;
}

static int setup(void **state) {
    (void)state;
    wakes = wakes_back = answers = lates = frees = runs = 0;
    now_ms = 1000;
    box = ask_box_new(wake, wake_back, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    ask_box_free(box);
    return 0;
}

static void put(struct question *question, struct http_reply *reply) {
    assert_int_equal(ask_put(box, &question->ask, reply, now_ms + ASK_WAIT_MS, NULL), 0);
}

static void a_question_is_run_there_and_answered_here(void **state) {
    struct http_reply reply = {0};

    (void)state;
    put(question_new(), &reply);
    assert_int_equal(wakes, 1);
    assert_int_equal(ask_deliver(box, now_ms), now_ms + ASK_WAIT_MS);
    assert_false(ask_run(box, NULL));
    assert_int_equal(wakes_back, 1);
    assert_int_equal(answers, 0);
    assert_int_equal(ask_deliver(box, now_ms), INT64_MAX);
    assert_int_equal(answers, 1);
    assert_int_equal(lates, 0);
    assert_int_equal(frees, 1);
}

static void a_stuck_control_thread_is_not_waited_for(void **state) {
    struct http_reply reply = {0};

    (void)state;
    put(question_new(), &reply);
    assert_int_equal(ask_deliver(box, now_ms + ASK_WAIT_MS - 1), now_ms + ASK_WAIT_MS);
    assert_int_equal(answers, 0);
    assert_int_equal(ask_deliver(box, now_ms + ASK_WAIT_MS), INT64_MAX);
    assert_int_equal(lates, 1);
    assert_int_equal(frees, 1);
    assert_false(ask_run(box, NULL));
    assert_int_equal(runs, 0);
}

static void one_that_is_late_while_it_runs_is_answered_once(void **state) {
    struct http_reply reply = {0};
    struct question *question = question_new();

    (void)state;
    question->run_within = true;
    put(question, &reply);
    ask_run(box, NULL);
    assert_int_equal(lates, 1);
    assert_int_equal(frees, 0);
    ask_deliver(box, now_ms);
    assert_int_equal(answers, 1);
    assert_int_equal(frees, 1);
}

static void a_full_box_refuses_at_once(void **state) {
    struct http_reply replies[ASK_MAX + 1] = {0};
    struct question *more = question_new();
    struct err err = {0};

    (void)state;
    for (int i = 0; i < ASK_MAX; i++)
        put(question_new(), &replies[i]);
    assert_int_equal(ask_put(box, &more->ask, &replies[ASK_MAX], now_ms + 1, &err), ERR_RETRY);
    assert_string_equal(err.msg, "64 questions wait for the control loop already: try again");
    free(more);
    for (int i = 0; i < ASK_MAX / ASK_TURN_MAX; i++)
        assert_true(ask_run(box, NULL));
    assert_false(ask_run(box, NULL));
    assert_int_equal(runs, ASK_MAX);
    ask_deliver(box, now_ms);
    assert_int_equal(answers, ASK_MAX);
    assert_int_equal(frees, ASK_MAX);
}

static void a_peer_that_left_is_not_answered(void **state) {
    struct http_reply waits = {0}, answered = {0}, other = {0};

    (void)state;
    put(question_new(), &answered);
    ask_run(box, NULL);
    put(question_new(), &waits);
    ask_forget(box, &other);
    assert_int_equal(frees, 0);
    ask_forget(box, &waits);
    ask_forget(box, &answered);
    assert_int_equal(frees, 2);
    ask_run(box, NULL);
    ask_deliver(box, now_ms + ASK_WAIT_MS);
    assert_int_equal(runs, 1);
    assert_int_equal(answers, 0);
}

static void what_is_left_is_released(void **state) {
    struct http_reply reply = {0};

    (void)state;
    put(question_new(), &reply);
    ask_box_free(box);
    box = NULL;
    assert_int_equal(frees, 1);
    assert_int_equal(answers, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_question_is_run_there_and_answered_here, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stuck_control_thread_is_not_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_late_while_it_runs_is_answered_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_full_box_refuses_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_peer_that_left_is_not_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_left_is_released, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
