#include "base/queue.h"
#include "base/random.h"

#include "unit.h"

#include <stdio.h>

static void C47_hundred_adds_during_a_run_give_one_more_run(void **state) {
    struct queue *queue = queue_new(10, 0);
    int64_t due_ms;

    (void)state;
    assert_int_equal(queue_add(queue, QUEUE_OBSERVE, "a", NULL), 0);
    assert_string_equal(queue_take(queue, 0, NULL), "a");
    for (int i = 0; i < 100; i++)
        assert_int_equal(queue_add(queue, QUEUE_OBSERVE, "a", NULL), 0);
    assert_int_equal(queue_depth(queue), 0);
    assert_null(queue_take(queue, 0, NULL)); /* never with two workers */
    queue_done(queue, "a");
    assert_int_equal(queue_depth(queue), 1);
    assert_string_equal(queue_take(queue, 0, NULL), "a");
    queue_done(queue, "a");
    assert_null(queue_take(queue, 1000000, NULL));
    assert_int_equal(queue_key_count(queue), 0);
    assert_int_equal(queue_next_ms(queue, 0, &due_ms), 0);
    queue_free(queue);
    queue_free(NULL);
}

static void C47_lanes_are_taken_in_order_and_only_get_better(void **state) {
    static const char *const want[] = {"lease", "late", "cut", "restore", "capacity", "observe"};
    struct queue *queue = queue_new(10, 0);
    enum queue_lane lane;

    (void)state;
    queue_add(queue, QUEUE_OBSERVE, "late", NULL);
    queue_add(queue, QUEUE_OBSERVE, "observe", NULL);
    queue_add(queue, QUEUE_CAPACITY, "capacity", NULL);
    queue_add(queue, QUEUE_RESTORE, "restore", NULL);
    queue_add(queue, QUEUE_CUT, "late", NULL);
    queue_add(queue, QUEUE_CUT, "cut", NULL);
    queue_add(queue, QUEUE_OBSERVE, "cut", NULL);
    queue_add(queue, QUEUE_LEASE, "lease", NULL);
    assert_int_equal(queue_depth(queue), 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(queue_take(queue, 0, &lane), want[i]);
    assert_int_equal(lane, QUEUE_OBSERVE);
    queue_free(queue);
}

static void C48_a_delayed_add_keeps_the_earliest_time(void **state) {
    struct queue *queue = queue_new(10, 0);
    int64_t due_ms = 0;

    (void)state;
    queue_add_at(queue, QUEUE_OBSERVE, "a", 500, NULL);
    queue_add_at(queue, QUEUE_OBSERVE, "a", 900, NULL);
    queue_add_at(queue, QUEUE_OBSERVE, "a", 300, NULL);
    queue_add_at(queue, QUEUE_OBSERVE, "a", 400, NULL);
    assert_int_equal(queue_next_ms(queue, 0, &due_ms), 1);
    assert_int_equal(due_ms, 300);
    assert_null(queue_take(queue, 299, NULL));
    assert_string_equal(queue_take(queue, 300, NULL), "a");
    queue_done(queue, "a");
    assert_null(queue_take(queue, 1000, NULL));
    queue_free(queue);
}

static void C48_failures_wait_5_ms_to_1000_s_and_success_resets(void **state) {
    struct queue *queue = queue_new(10, 0);
    int64_t now_ms = 0, delay_ms = 0, want_ms = 5;

    (void)state;
    for (int i = 0; i <= 18; i++, want_ms *= 2) {
        assert_int_equal(queue_failures(queue, "a"), i);
        assert_int_equal(queue_retry(queue, QUEUE_CUT, "a", now_ms, &delay_ms, NULL), 0);
        assert_int_equal(delay_ms, want_ms < 1000000 ? want_ms : 1000000);
        now_ms += delay_ms;
        assert_null(queue_take(queue, now_ms - 1, NULL));
        assert_string_equal(queue_take(queue, now_ms, NULL), "a");
        queue_done(queue, "a");
    }
    assert_int_equal(queue_key_count(queue), 1); /* its failures are remembered */
    queue_forget(queue, "a");
    assert_int_equal(queue_key_count(queue), 0);
    queue_retry(queue, QUEUE_CUT, "a", now_ms, &delay_ms, NULL);
    assert_int_equal(delay_ms, 5);
    queue_free(queue);
}

static void C48_retries_of_many_keys_share_one_bucket(void **state) {
    struct queue *queue = queue_new(1000, 0);
    char key[16];

    (void)state;
    for (int i = 0; i < 300; i++) {
        int64_t delay_ms = -1;

        snprintf(key, sizeof(key), "k%d", i);
        queue_retry(queue, QUEUE_CUT, key, 0, &delay_ms, NULL);
        assert_int_equal(delay_ms, i < 100 ? 5 : (i - 99) * 100);
    }
    queue_free(queue);
}

static void queue_refuses_keys_beyond_its_bound(void **state) {
    struct queue *queue = queue_new(2, 0);
    struct err err = {0};
    int64_t delay_ms = -7;

    (void)state;
    assert_int_equal(queue_add(queue, QUEUE_CUT, "a", &err), 0);
    assert_int_equal(queue_add_at(queue, QUEUE_CUT, "b", 5, &err), 0);
    assert_int_equal(queue_add(queue, QUEUE_CUT, "c", &err), ERR_RETRY);
    assert_int_equal(queue_retry(queue, QUEUE_CUT, "c", 0, &delay_ms, &err), ERR_RETRY);
    assert_int_equal(queue_add_at(queue, QUEUE_CUT, "c", 5, &err), ERR_RETRY);
    assert_int_equal(delay_ms, -7);
    assert_int_equal(queue_add(queue, QUEUE_CUT, "b", &err), 0);
    assert_int_equal(queue_key_count(queue), 2);
    queue_free(queue);
}

/* What the queue should know of one key, in the plainest form. */
struct model {
    bool dirty, running, later;
    int lane, later_lane;
    uint64_t order; /* of the wait in its lane */
    int64_t due_ms;
};

/* Random calls against the model, with the clock moving: what is taken, from which lane, is always
 * what the model says, and in the end nothing that was asked for is missing. */
static void C47_random_calls_agree_with_a_plain_model(void **state) {
    enum { KEYS = 8 };
    static const char *const name[KEYS] = {"a", "b", "c", "d", "e", "f", "g", "h"};

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random rng = {seed};
        struct queue *queue = queue_new(KEYS, 0);
        struct model model[KEYS] = {0};
        uint64_t order = 0;
        int64_t now_ms = 0;

        for (int step = 0; step < 600; step++) {
            const uint64_t k = random_below(&rng, KEYS);
            struct model *m = &model[k];
            const int lane = (int)random_below(&rng, QUEUE_LANE_COUNT);
            const int64_t due_ms = now_ms + 1 + (int64_t)random_below(&rng, 20);
            size_t depth = 0;
            int best = -1;

            switch (random_below(&rng, 5)) {
            case 0:
                queue_add(queue, lane, name[k], NULL);
                if (!m->dirty || lane < m->lane) {
                    m->order = ++order;
                    m->lane = lane;
                }
                m->dirty = true;
                break;
            case 1:
                /* due times differ between keys, so that the order of expiry is no question */
                queue_add_at(queue, lane, name[k], due_ms * KEYS + (int64_t)k, NULL);
                if (!m->later || lane < m->later_lane)
                    m->later_lane = lane;
                if (!m->later || due_ms * KEYS + (int64_t)k < m->due_ms)
                    m->due_ms = due_ms * KEYS + (int64_t)k;
                m->later = true;
                break;
            case 2:
                if (!m->running)
                    break;
                queue_done(queue, name[k]);
                m->running = false;
                m->order = ++order;
                break;
            case 3:
                now_ms += (int64_t)random_below(&rng, 4);
                break;
            default:
                for (int64_t t = 0; t <= now_ms * KEYS + KEYS - 1; t++) {
                    struct model *d = &model[t % KEYS];

                    if (!d->later || d->due_ms != t)
                        continue;
                    d->later = false;
                    if (!d->dirty || d->later_lane < d->lane) {
                        d->lane = d->later_lane;
                        d->order = ++order;
                    }
                    d->dirty = true;
                }
                for (int i = 0; i < KEYS; i++) {
                    if (model[i].dirty && !model[i].running &&
                        (best < 0 || model[i].lane < model[best].lane ||
                         (model[i].lane == model[best].lane && model[i].order < model[best].order)))
                        best = i;
                }
                enum queue_lane got_lane = 0;
                const char *got = queue_take(queue, now_ms * KEYS + KEYS - 1, &got_lane);

                if (best < 0) {
                    assert_null(got);
                    break;
                }
                assert_non_null(got);
                assert_string_equal(got, name[best]);
                assert_int_equal(got_lane, model[best].lane);
                model[best].dirty = false;
                model[best].running = true;
            }
            for (int i = 0; i < KEYS; i++)
                depth += model[i].dirty && !model[i].running;
            assert_int_equal(queue_depth(queue), depth);
        }
        queue_free(queue);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C47_hundred_adds_during_a_run_give_one_more_run),
        cmocka_unit_test(C47_lanes_are_taken_in_order_and_only_get_better),
        cmocka_unit_test(C47_random_calls_agree_with_a_plain_model),
        cmocka_unit_test(C48_a_delayed_add_keeps_the_earliest_time),
        cmocka_unit_test(C48_failures_wait_5_ms_to_1000_s_and_success_resets),
        cmocka_unit_test(C48_retries_of_many_keys_share_one_bucket),
        cmocka_unit_test(queue_refuses_keys_beyond_its_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
