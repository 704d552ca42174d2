#include "unit.h"

#include "base/err.h"
#include "base/random.h"
#include "core/room.h"

#define GI (INT64_C(1) << 30)

static struct room_node node_of(int64_t cpu, int64_t memory, int64_t pods) {
    struct room_node node = {.ready = true, .schedulable = true};

    node.allocatable.of[ROOM_CPU_MILLI] = cpu;
    node.allocatable.of[ROOM_MEMORY_BYTES] = memory;
    node.allocatable.of[ROOM_PODS] = pods;
    return node;
}

static struct room_shape shape_of(int64_t cpu, int64_t memory) {
    struct room_shape shape = {0};

    shape.request.of[ROOM_CPU_MILLI] = cpu;
    shape.request.of[ROOM_MEMORY_BYTES] = memory;
    return shape;
}

/* ---- oracle: no division, no levels, one pod at a time ---- */

struct plain_cell {
    struct room_node nodes[8];
    struct room_amount used[8];
};

static bool plain_takes(const struct room_node *node, const struct room_amount *used,
                        const struct room_shape *shape) {
    if (!node->ready || !node->schedulable)
        return false;
    for (int id = 0; id < ROOM_ID_COUNT; id++) {
        uint64_t bit = UINT64_C(1) << (id % 64);
        int w = id / 64;

        if ((node->taints.word[w] & bit) && !(shape->tolerated.word[w] & bit))
            return false;
        if ((shape->selector.word[w] & bit) && !(node->labels.word[w] & bit))
            return false;
    }
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++) {
        int64_t asked = i == ROOM_PODS ? 1 : shape->request.of[i];
        int64_t has = node->allocatable.of[i] > 0 ? node->allocatable.of[i] : 0;
        int64_t spent = node->requested.of[i] > 0 ? node->requested.of[i] : 0;

        if (i == ROOM_PODS && has > ROOM_NODE_PODS_MAX)
            has = ROOM_NODE_PODS_MAX;
        if (asked > 0 && spent + used->of[i] + asked > has)
            return false;
    }
    return true;
}

static void plain_use(struct room_amount *used, const struct room_shape *shape) {
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        if (i == ROOM_PODS)
            used->of[i]++;
        else if (shape->request.of[i] > 0)
            used->of[i] += shape->request.of[i];
}

static int32_t plain_fit(const struct room_node *node, const struct room_amount *used,
                         const struct room_shape *shape) {
    struct room_amount now = *used;
    int32_t fit = 0;

    for (; plain_takes(node, &now, shape); fit++)
        plain_use(&now, shape);
    return fit;
}

static int32_t plain_charge(struct plain_cell *cell, int count, const struct room_shape *shape,
                            int32_t pods) {
    int32_t found = 0;

    for (; found < pods; found++) {
        int best = -1, best_fit = 0;

        for (int i = 0; i < count; i++) {
            int32_t fit = plain_fit(&cell->nodes[i], &cell->used[i], shape);
            if (fit > best_fit) {
                best = i;
                best_fit = fit;
            }
        }
        if (best < 0)
            break;
        plain_use(&cell->used[best], shape);
    }
    return found;
}

static int32_t plain_room(const struct plain_cell *cell, int count,
                          const struct room_shape *shape) {
    int32_t sum = 0;

    for (int i = 0; i < count; i++)
        sum += plain_fit(&cell->nodes[i], &cell->used[i], shape);
    return sum;
}

static struct room_node any_node(struct random *rng) {
    struct room_node node = {0};

    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++) {
        node.allocatable.of[i] = (int64_t)random_below(rng, 40) - 3;
        node.requested.of[i] = (int64_t)random_below(rng, 20) - 3;
    }
    node.ready = random_below(rng, 10) > 0;
    node.schedulable = random_below(rng, 10) > 0;
    for (int i = 0; i < 3; i++) {
        if (random_below(rng, 6) == 0)
            room_ids_add(&node.taints, (uint32_t)(i * 100));
        if (random_below(rng, 3) > 0)
            room_ids_add(&node.labels, (uint32_t)(i * 127));
    }
    return node;
}

static struct room_shape any_shape(struct random *rng) {
    struct room_shape shape = {0};

    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        shape.request.of[i] = random_below(rng, 3) ? 0 : (int64_t)random_below(rng, 7) - 1;
    for (int i = 0; i < 3; i++) {
        if (random_below(rng, 2))
            room_ids_add(&shape.tolerated, (uint32_t)(i * 100));
        if (random_below(rng, 6) == 0)
            room_ids_add(&shape.selector, (uint32_t)(i * 127));
    }
    return shape;
}

#define CELLS 3
#define SHAPES 5

static void check_all(const struct room_table *table, const struct plain_cell *cells,
                      const int32_t *counts, const struct room_shape *shapes) {
    for (int s = 0; s < SHAPES; s++)
        for (int c = 0; c < CELLS; c++)
            assert_int_equal(room_of(table, s, c), plain_room(&cells[c], counts[c], &shapes[s]));
}

static void test_random_against_oracle(void **state) {
    (void)state;
    struct random rng = {7};

    for (int round = 0; round < 400; round++) {
        struct room_table table = {0};
        struct plain_cell cells[CELLS] = {0};
        struct room_shape shapes[SHAPES];
        int32_t counts[CELLS], pending[SHAPES][CELLS] = {0};

        for (int c = 0; c < CELLS; c++)
            counts[c] = (int32_t)random_below(&rng, 9);
        assert_int_equal(room_table_init(&table, CELLS, counts, SHAPES), 0);
        for (int s = 0; s < SHAPES; s++) {
            shapes[s] = any_shape(&rng);
            room_shape_set(&table, s, &shapes[s]);
        }
        for (int c = 0; c < CELLS; c++)
            for (int i = 0; i < counts[c]; i++) {
                cells[c].nodes[i] = any_node(&rng);
                room_node_set(&table, c, i, &cells[c].nodes[i]);
            }
        check_all(&table, cells, counts, shapes);
        for (int step = 0; step < 12; step++) {
            int s = (int)random_below(&rng, SHAPES), c = (int)random_below(&rng, CELLS);
            int32_t pods = (int32_t)random_below(&rng, 12);

            assert_int_equal(room_reserve(&table, s, c, pods),
                             plain_charge(&cells[c], counts[c], &shapes[s], pods));
            pending[s][c] += pods;
            check_all(&table, cells, counts, shapes);
        }
        /* One node changes: its cell is settled to what a fresh start would give. */
        int c = (int)random_below(&rng, CELLS);
        if (counts[c] > 0) {
            int i = (int)random_below(&rng, (uint64_t)counts[c]);
            cells[c].nodes[i] = any_node(&rng);
            room_node_set(&table, c, i, &cells[c].nodes[i]);
        }
        for (c = 0; c < CELLS; c++) {
            room_settle(&table, c);
            memset(cells[c].used, 0, sizeof(cells[c].used));
            for (int s = 0; s < SHAPES; s++)
                plain_charge(&cells[c], counts[c], &shapes[s], pending[s][c]);
        }
        check_all(&table, cells, counts, shapes);
        room_table_done(&table);
    }
}

static void test_batch_lowers_every_shape(void **state) {
    (void)state;
    struct room_table table = {0};
    struct room_shape small = shape_of(500, GI), large = shape_of(2000, 4 * GI);
    struct room_node node = node_of(4000, 8 * GI, 110);
    int32_t rooms[2], takes[2] = {4, -3};

    room_table_init(&table, 2, (const int32_t[]){2, 2}, 2);
    room_shape_set(&table, 0, &small);
    room_shape_set(&table, 1, &large);
    for (int i = 0; i < 4; i++)
        room_node_set(&table, i / 2, i % 2, &node);
    assert_int_equal(room_reserve_all(&table, 1, takes), 4);
    room_of_all(&table, 0, rooms);
    assert_int_equal(rooms[0], 0);
    assert_int_equal(rooms[1], 16);
    /* A second mass move sees what the first took: nothing piles up. */
    assert_int_equal(room_reserve(&table, 0, 0, 100), 0);
    room_table_done(&table);
}

/* ---- taints: every toleration against every taint, by the documented rule ---- */

static void test_toleration_table(void **state) {
    (void)state;
    int seen_true = 0, seen_false = 0;

    for (uint32_t n = 0; n < 3 * 3 * 4 * 2 * 2 * 3 * 3; n++) {
        uint32_t rest = n;
        struct room_toleration tol = {0};
        struct room_taint taint = {0};
        tol.key = rest % 3, rest /= 3;
        tol.value = rest % 3, rest /= 3;
        tol.effect = (enum room_effect)(rest % 4), rest /= 4;
        tol.exists = rest % 2, rest /= 2;
        taint.key = 1 + rest % 2, rest /= 2;
        taint.value = rest % 3, rest /= 3;
        taint.effect = (enum room_effect)(1 + rest % 3);

        bool effect_ok = tol.effect == ROOM_EFFECT_ANY || tol.effect == taint.effect;
        bool key_ok = tol.key == taint.key || (tol.key == 0 && tol.exists);
        bool value_ok = tol.exists || tol.value == taint.value;
        bool want = effect_ok && key_ok && value_ok;
        assert_int_equal(room_tolerates(&tol, &taint), want);

        struct room_ids ids;
        room_tolerated(&taint, 1, &tol, 1, &ids);
        assert_int_equal(ids.word[0], want || taint.effect == ROOM_PREFER_NO_SCHEDULE);
        want ? seen_true++ : seen_false++;
    }
    assert_true(seen_true > 50 && seen_false > 50);
}

static void test_toleration_rows(void **state) {
    (void)state;
    // clang-format off
    static const struct {
        const char *name;
        struct room_toleration tol;
        struct room_taint taint;
        bool want;
    } rows[] = {
        {"Exists, no key, no effect: everything",
         {0, 0, ROOM_EFFECT_ANY, true}, {5, 6, ROOM_NO_EXECUTE}, true},
        {"Exists, no key, one effect",
         {0, 0, ROOM_NO_SCHEDULE, true}, {5, 6, ROOM_NO_EXECUTE}, false},
        {"Equal, no key: not valid",
         {0, 0, ROOM_EFFECT_ANY, false}, {5, 0, ROOM_NO_EXECUTE}, false},
        {"Equal, same",
         {5, 6, ROOM_NO_SCHEDULE, false}, {5, 6, ROOM_NO_SCHEDULE}, true},
        {"Equal, no effect",
         {5, 6, ROOM_EFFECT_ANY, false}, {5, 6, ROOM_NO_EXECUTE}, true},
        {"Equal, other value",
         {5, 7, ROOM_EFFECT_ANY, false}, {5, 6, ROOM_NO_EXECUTE}, false},
        {"Equal, both values empty",
         {5, 0, ROOM_EFFECT_ANY, false}, {5, 0, ROOM_NO_EXECUTE}, true},
        {"Exists, value does not count",
         {5, 0, ROOM_EFFECT_ANY, true}, {5, 6, ROOM_NO_SCHEDULE}, true},
        {"Exists, other key",
         {4, 0, ROOM_EFFECT_ANY, true}, {5, 6, ROOM_NO_SCHEDULE}, false},
        {"PreferNoSchedule toleration, hard taint",
         {5, 6, ROOM_PREFER_NO_SCHEDULE, false}, {5, 6, ROOM_NO_SCHEDULE}, false},
    };
    // clang-format on
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (room_tolerates(&rows[i].tol, &rows[i].taint) != rows[i].want)
            fail_msg("%s", rows[i].name);
}

static void test_ids_bound(void **state) {
    (void)state;
    struct room_ids ids = {0};

    assert_true(room_ids_add(&ids, ROOM_ID_COUNT - 1));
    assert_false(room_ids_add(&ids, ROOM_ID_COUNT));
    assert_int_equal(ids.word[3] >> 63, 1);
}

static void test_limits(void **state) {
    (void)state;
    struct room_table table = {0};
    const int32_t one[] = {1}, negative[] = {-1}, many[] = {ROOM_NODES_MAX, 1};

    assert_int_equal(room_table_init(&table, 1, negative, 1), ERR_INVALID);
    assert_int_equal(room_table_init(&table, 2, many, 1), ERR_INVALID);
    assert_int_equal(room_table_init(&table, 1, one, ROOM_SHAPES_MAX + 1), ERR_INVALID);
    assert_int_equal(room_table_init(&table, ROOM_CELLS_MAX + 1, one, 1), ERR_INVALID);
    assert_null(table.slots);
    room_table_done(&table);
    room_table_done(NULL);
    assert_int_equal(room_table_init(&table, 0, NULL, 0), 0);
    room_table_done(&table);
    /* The last shape has a bit of its own. */
    struct room_shape shape = shape_of(1000, 0);
    struct room_node node = node_of(3000, 0, 110);
    assert_int_equal(room_table_init(&table, 1, one, ROOM_SHAPES_MAX), 0);
    room_node_set(&table, 0, 0, &node);
    room_shape_set(&table, ROOM_SHAPES_MAX - 1, &shape);
    assert_int_equal(room_of(&table, ROOM_SHAPES_MAX - 1, 0), 3);
    room_node_set(&table, 0, 0, NULL);
    assert_int_equal(room_of(&table, ROOM_SHAPES_MAX - 1, 0), 0);
    room_table_done(&table);
}

static void test_waiting_pod_takes_the_new_node(void **state) {
    (void)state;
    struct room_table table = {0};
    struct room_shape large = shape_of(3000, 0), small = shape_of(1000, 0);
    struct room_node node = node_of(2000, 0, 110), added = node_of(4000, 0, 110);

    room_table_init(&table, 1, (const int32_t[]){2}, 2);
    room_shape_set(&table, 0, &small);
    room_shape_set(&table, 1, &large);
    assert_int_equal(room_node_set(&table, 0, 0, &node), 0);
    assert_int_equal(room_reserve(&table, 1, 0, 1), 0);
    assert_int_equal(room_of(&table, 0, 0), 2);
    assert_int_equal(room_of(&table, 1, 0), 0);
    assert_int_equal(room_node_set(&table, 0, 1, &added), 1); /* owes a settle */
    room_settle(&table, 0);
    assert_int_equal(room_of(&table, 1, 0), 0);
    assert_int_equal(room_of(&table, 0, 0), 3);
    assert_int_equal(room_node_set(&table, 0, 0, NULL), 1); /* its charge is judged again */
    room_table_done(&table);
}

static void test_elastic(void **state) {
    (void)state;
    struct room_table table = {0};
    struct room_shape shape = shape_of(1000, 0);

    room_table_init(&table, 1, (const int32_t[]){0}, 1);
    room_shape_set(&table, 0, &shape);
    assert_int_equal(room_of(&table, 0, 0), 0);
    room_elastic_set(&table, 0, 50, 20);
    assert_int_equal(room_of(&table, 0, 0), 30);
    assert_int_equal(room_reserve(&table, 0, 0, 25), 0); /* no node yet: Pending */
    assert_int_equal(room_of(&table, 0, 0), 5);
    room_elastic_set(&table, 0, 50, 45); /* the pods exist now */
    room_pending_set(&table, 0, 0, 0);
    assert_int_equal(room_of(&table, 0, 0), 5);
    room_elastic_set(&table, 0, 50, 70);
    assert_int_equal(room_of(&table, 0, 0), 0);
    room_table_done(&table);
}

static void MZ_006_full_child_gets_no_new_pod(void **state) {
    (void)state;
    struct room_table table = {0};
    struct room_shape running = shape_of(110, 0), pod = shape_of(100, 0);
    struct room_node a = node_of(2000, GI, 110), b = a;

    a.requested.of[ROOM_CPU_MILLI] = 1936;
    b.requested.of[ROOM_CPU_MILLI] = 1500;
    room_table_init(&table, 2, (const int32_t[]){1, 1}, 2);
    room_shape_set(&table, 0, &running);
    room_shape_set(&table, 1, &pod);
    room_node_set(&table, 0, 0, &a);
    room_node_set(&table, 1, 0, &b);
    room_pending_set(&table, 0, 1, 1);
    room_settle(&table, 1);
    assert_int_equal(room_of(&table, 1, 1), 3);
    assert_int_equal(4 - room_reserve(&table, 1, 1, 4), 1); /* one stays unplaced */
    assert_int_equal(room_of(&table, 1, 1), 0);
    /* In flight and bound already: 2000 - 1936 - 110 is less than nothing, which is nothing. */
    a.requested.of[ROOM_CPU_MILLI] = 1936 + 110;
    room_node_set(&table, 0, 0, &a);
    assert_int_equal(room_of(&table, 1, 0), 0);
    /* The negative node does not eat the room of a neighbour, and the pod count binds, too. */
    b.requested.of[ROOM_PODS] = 109;
    b.requested.of[ROOM_CPU_MILLI] = 0;
    room_pending_set(&table, 0, 1, 0);
    room_pending_set(&table, 1, 1, 0);
    room_node_set(&table, 1, 0, &b);
    room_settle(&table, 1);
    assert_int_equal(room_of(&table, 1, 1), 1);
    room_table_done(&table);
}

static void MZ_007_absent_and_zero_bounds(void **state) {
    (void)state;
    struct room_table table = {0};
    struct room_shape shape = shape_of(1000, 0), gpu = shape;
    struct room_node node = node_of(4000, GI, 110);

    gpu.request.of[ROOM_EXTENDED] = 1;
    room_table_init(&table, 1, (const int32_t[]){1}, 2);
    room_shape_set(&table, 0, &shape);
    room_shape_set(&table, 1, &gpu);
    room_node_set(&table, 0, 0, &node);
    assert_int_equal(room_of(&table, 0, 0), 4); /* no elastic bound: the nodes decide */
    assert_int_equal(room_of(&table, 1, 0), 0); /* a resource that no node names is not endless */
    room_elastic_set(&table, 0, 0, 0);
    assert_int_equal(room_of(&table, 0, 0), 0); /* 0 is a bound */
    room_elastic_set(&table, 0, ROOM_NOT_ELASTIC, 0);
    assert_int_equal(room_of(&table, 0, 0), 4);
    room_table_done(&table);
}

static void MZ_008_own_pods_count_back(void **state) {
    (void)state;
    struct room_table table = {0};
    struct room_shape shape = shape_of(1000, 0);
    struct room_node node = node_of(10000, GI, 110);

    node.requested.of[ROOM_CPU_MILLI] = 8000;
    room_table_init(&table, 1, (const int32_t[]){1}, 1);
    room_shape_set(&table, 0, &shape);
    room_node_set(&table, 0, 0, &node);
    assert_int_equal(room_of(&table, 0, 0), 2);
    assert_int_equal(room_with_own(room_of(&table, 0, 0), 8), 10);
    assert_int_equal(room_with_own(INT32_MAX, 8), INT32_MAX);
    assert_int_equal(room_with_own(-5, 8), 8);
    room_table_done(&table);
}

static void MZ_040_tiny_request_is_bounded_by_pods(void **state) {
    (void)state;
    struct room_amount room = node_of(INT64_MAX, 8 * GI, 110).allocatable;
    struct room_amount tiny = {0}, none = {0};

    tiny.of[ROOM_MEMORY_BYTES] = 1; /* 0.4 bytes, rounded up */
    assert_int_equal(room_fit(&room, &tiny), 110);
    assert_int_equal(room_fit(&room, &none), 110);
    room.of[ROOM_PODS] = INT64_MAX;
    assert_int_equal(room_fit(&room, &tiny), ROOM_NODE_PODS_MAX);
    room.of[ROOM_PODS] = -4;
    assert_int_equal(room_fit(&room, &tiny), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_against_oracle),
        cmocka_unit_test(test_batch_lowers_every_shape),
        cmocka_unit_test(test_toleration_table),
        cmocka_unit_test(test_toleration_rows),
        cmocka_unit_test(test_ids_bound),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_waiting_pod_takes_the_new_node),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(MZ_006_full_child_gets_no_new_pod),
        cmocka_unit_test(MZ_007_absent_and_zero_bounds),
        cmocka_unit_test(MZ_008_own_pods_count_back),
        cmocka_unit_test(MZ_040_tiny_request_is_bounded_by_pods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
