#include "core/handover.h"

#include "base/random.h"
#include "unit.h"

static int32_t ready_of(const struct handover_cell *cell) {
    return !cell->known ? 0 : cell->ready < cell->current ? cell->ready : cell->current;
}

/* What is left ready in the worst case after the plan: those that are not ready leave first. */
static int64_t ready_after(const struct handover_cell *cells, const int32_t *to, int32_t count) {
    int64_t ready = 0;

    for (int32_t i = 0; i < count; i++) {
        if (!cells[i].known)
            continue;
        ready += to[i] < ready_of(&cells[i]) ? to[i] : ready_of(&cells[i]);
    }
    return ready;
}

static void a_move_grows_first_and_shrinks_by_what_is_ready(void **state) {
    (void)state;
    struct handover_cell cells[] = {
        {.target = 0, .current = 10, .ready = 10, .known = true},
        {.target = 20, .current = 10, .ready = 10, .known = true},
    };
    int32_t to[2];

    assert_int_equal(handover_plan(cells, 2, 20, to), 10);
    assert_int_equal(to[0], 10);
    assert_int_equal(to[1], 20);
    cells[1] = (struct handover_cell){.target = 20, .current = 20, .ready = 14, .known = true};
    assert_int_equal(handover_plan(cells, 2, 20, to), 6);
    assert_int_equal(to[0], 6);
    cells[0] = (struct handover_cell){.target = 0, .current = 6, .ready = 6, .known = true};
    cells[1].ready = 20;
    assert_int_equal(handover_plan(cells, 2, 20, to), 0);
    assert_int_equal(to[0], 0);
}

static void replicas_that_are_not_ready_leave_freely(void **state) {
    (void)state;
    const struct handover_cell cell = {.target = 0, .current = 7, .ready = 0, .known = true};
    int32_t to;

    assert_int_equal(handover_plan(&cell, 1, 7, &to), 0);
    assert_int_equal(to, 0);
}

static void a_silent_child_is_held_and_counts_for_nothing(void **state) {
    (void)state;
    const struct handover_cell cells[] = {
        {.target = 0, .current = 5, .ready = 5, .known = true},
        {.target = 10, .current = 5, .ready = 5, .known = false},
    };
    int32_t to[2];

    assert_int_equal(handover_plan(cells, 2, 5, to), 5);
    assert_int_equal(to[0], 5);
    assert_int_equal(to[1], HANDOVER_HOLD);
}

/* Every input of up to three cells with small numbers: the floor is never crossed by our doing,
 * growth is never held back, and shrinking never stops while it could go on. */
static void all_small_inputs_keep_the_floor(void **state) {
    (void)state;
    const int32_t most = 3;

    for (int32_t code = 0; code < 4 * 4 * 4 * 4 * 4 * 4 * 4 * 4 * 4; code++) {
        struct handover_cell cells[3];
        int32_t to[3], rest = code;

        for (int i = 0; i < 3; i++) {
            cells[i] = (struct handover_cell){.known = true};
            cells[i].target = rest % (most + 1);
            rest /= most + 1;
            cells[i].current = rest % (most + 1);
            rest /= most + 1;
            cells[i].ready = rest % (most + 1);
            rest /= most + 1;
        }
        for (int32_t floor = 0; floor <= 6; floor++) {
            const int32_t later = handover_plan(cells, 3, floor, to);
            int64_t before = 0;
            int32_t owed = 0;

            for (int i = 0; i < 3; i++) {
                before += ready_of(&cells[i]);
                if (cells[i].target >= cells[i].current)
                    assert_int_equal(to[i], cells[i].target);
                else
                    assert_in_range(to[i], cells[i].target, cells[i].current);
                owed += to[i] > cells[i].target ? to[i] - cells[i].target : 0;
            }
            const int64_t after = ready_after(cells, to, 3);

            assert_int_equal(owed, later);
            assert_true(after >= floor || after == before);
            if (later > 0)
                assert_true(after <= floor);
        }
    }
}

/* Repeated until nothing changes, with what is asked for becoming ready in random portions, a move
 * ends at its target and never had fewer ready than the floor or than it began with. */
static void a_move_ends_and_never_dips(void **state) {
    (void)state;
    struct random rng = {.state = 11};

    for (int round = 0; round < 2000; round++) {
        struct handover_cell cells[6];
        const int32_t count = 2 + (int32_t)random_below(&rng, 5);
        int32_t total = 0, to[6];

        for (int32_t i = 0; i < count; i++) {
            const int32_t now = (int32_t)random_below(&rng, 12);

            cells[i] = (struct handover_cell){.current = now, .ready = now, .known = true};
            total += now;
        }
        for (int32_t i = 0, left = total; i < count; i++) {
            cells[i].target =
                i + 1 == count ? left : (int32_t)random_below(&rng, (uint64_t)left + 1);
            left -= cells[i].target;
        }
        for (int step = 0; step < 200; step++) {
            const int32_t later = handover_plan(cells, count, total, to);
            int32_t ready = 0;
            bool done = later == 0;

            for (int32_t i = 0; i < count; i++) {
                cells[i].current = to[i];
                if (cells[i].ready > to[i])
                    cells[i].ready = to[i];
                cells[i].ready +=
                    (int32_t)random_below(&rng, (uint64_t)(to[i] - cells[i].ready) + 1);
                ready += cells[i].ready;
                done = done && cells[i].current == cells[i].target;
            }
            assert_true(ready >= total);
            if (done)
                break;
            assert_true(step < 199);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_grows_first_and_shrinks_by_what_is_ready),
        cmocka_unit_test(replicas_that_are_not_ready_leave_freely),
        cmocka_unit_test(a_silent_child_is_held_and_counts_for_nothing),
        cmocka_unit_test(all_small_inputs_keep_the_floor),
        cmocka_unit_test(a_move_ends_and_never_dips),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
