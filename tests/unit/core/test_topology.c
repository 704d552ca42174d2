#include "unit.h"

#include "base/err.h"
#include "core/topology.h"

#define ZONES 8
#define CLUSTERS 8

/* A small region: cell z, k has room room[z][k]; -1 means that there is no such cell. */
struct region {
    struct topology_input in;
    struct topology_zone zones[ZONES];
    struct topology_cell cells[ZONES * CLUSTERS];
    struct topology_cell_result cell_results[ZONES * CLUSTERS];
    struct topology_zone_result zone_results[ZONES];
    struct topology_result ret;
    uint64_t scratch[2048];
};

static void region_init(struct region *r, const char *uid, int32_t replicas, int32_t percent) {
    memset(r, 0, sizeof(*r));
    r->in.policy = (struct topology_policy){.replicas = replicas,
                                            .when_short = TOPOLOGY_REJECT,
                                            .min_zones = 2,
                                            .max_zone_percent = percent,
                                            .max_cluster_percent = 100};
    r->in.change = TOPOLOGY_POLICY;
    r->in.zones = r->zones;
    r->in.cells = r->cells;
    for (int z = 0; z < ZONES; z++) {
        const char name[] = {'z', (char)('0' + z), 0};

        r->zones[z].tie = topology_tie(uid, name);
    }
}

static struct topology_cell *region_cell(struct region *r, const char *uid, int32_t zone,
                                         int32_t cluster, int32_t present, int32_t room) {
    const char name[] = {'c', (char)('0' + cluster), 0};
    struct topology_cell *cell = &r->cells[r->in.cell_count++];

    *cell = (struct topology_cell){.zone = zone,
                                   .cluster = cluster,
                                   .present = present,
                                   .room = room,
                                   .tie = topology_tie(uid, name)};
    if (zone >= r->in.zone_count)
        r->in.zone_count = zone + 1;
    if (cluster >= r->in.cluster_count)
        r->in.cluster_count = cluster + 1;
    return cell;
}

static void region_decide(struct region *r) {
    r->ret.cells = r->cell_results;
    r->ret.zones = r->zone_results;
    assert_true(topology_scratch_bytes(r->in.zone_count, r->in.cluster_count, r->in.cell_count) <=
                sizeof(r->scratch));
    assert_int_equal(topology_decide(&r->in, r->scratch, &r->ret), 0);
}

/* Takes the answer as what is present, as a controller does between two decisions. */
static void region_settle(struct region *r) {
    for (int c = 0; c < r->in.cell_count; c++) {
        r->cells[c].room += r->cells[c].present - r->cell_results[c].replicas;
        r->cells[c].present = r->cell_results[c].replicas;
    }
}

static void article(struct region *r) {
    region_init(r, "app", 20, 67);
    region_cell(r, "app", 0, 0, 0, 10);
    region_cell(r, "app", 1, 0, 0, 1);
    region_cell(r, "app", 1, 1, 0, 9);
}

static void T01_article_example(void **state) {
    struct region r;

    (void)state;
    article(&r);
    region_decide(&r);
    assert_int_equal(r.zone_results[0].replicas, 10);
    assert_int_equal(r.zone_results[1].replicas, 10);
    assert_int_equal(r.cell_results[0].replicas, 10);
    assert_int_equal(r.cell_results[1].replicas, 1);
    assert_int_equal(r.cell_results[2].replicas, 9);
    assert_int_equal(r.ret.block, TOPOLOGY_PLACED);
}

static void T02_shares_pass_the_cap(void **state) {
    struct region r;

    (void)state;
    article(&r);
    region_decide(&r);
    for (int z = 0; z < 2; z++) {
        assert_int_equal(r.zone_results[z].replicas * 100 / 20, 50);
        assert_true(r.zone_results[z].replicas <= topology_cap(20, 67));
    }
    assert_false(r.ret.beyond_cap);
    assert_int_equal(topology_cap(20, 67), 13);
    assert_int_equal(topology_cap(3, 67), 2);
    assert_int_equal(topology_cap(2, 67), 1);
    assert_int_equal(topology_cap(30, 67), 20);
}

static void T03_cap_floor_and_named_failure(void **state) {
    struct region r;

    (void)state;
    region_init(&r, "app", 20, 67);
    region_cell(&r, "app", 0, 0, 0, 1000);
    region_cell(&r, "app", 1, 0, 0, 7);
    region_decide(&r);
    assert_int_equal(r.zone_results[0].replicas, 13);
    assert_int_equal(r.zone_results[1].replicas, 7);
    r.cells[1].room = 6;
    region_decide(&r);
    assert_true(r.ret.rejected);
    assert_int_equal(r.ret.block, TOPOLOGY_BLOCK_CAP);
    assert_int_equal(r.ret.shortfall, 20);
    r.in.policy.when_short = TOPOLOGY_PARTIAL;
    region_decide(&r);
    assert_false(r.ret.rejected);
    assert_int_equal(r.ret.shortfall, 1);
}

static void short_of_two_zones(struct region *r) {
    region_init(r, "app", 20, 67);
    region_cell(r, "app", 0, 0, 4, 4);
    region_cell(r, "app", 1, 0, 2, 5);
    region_cell(r, "app", 2, 0, 0, 5);
}

static void T04_extension_takes_a_third_zone(void **state) {
    struct region r;

    (void)state;
    short_of_two_zones(&r);
    r.in.policy.extension = true;
    region_decide(&r);
    assert_int_equal(r.ret.block, TOPOLOGY_PLACED);
    assert_int_equal(r.zone_results[0].replicas, 8);
    assert_int_equal(r.zone_results[1].replicas, 7);
    assert_int_equal(r.zone_results[2].replicas, 5);
}

static void T05_extension_off_keeps_the_last(void **state) {
    struct region r;

    (void)state;
    short_of_two_zones(&r);
    region_decide(&r);
    assert_true(r.ret.rejected);
    assert_int_equal(r.ret.block, TOPOLOGY_BLOCK_EXTENSION);
    assert_int_equal(r.cell_results[0].replicas, 4);
    assert_int_equal(r.cell_results[1].replicas, 2);
    assert_int_equal(r.cell_results[2].replicas, 0);
}

static void T06_one_replica_is_placed_and_flagged(void **state) {
    struct region r;

    (void)state;
    article(&r);
    r.in.policy.replicas = 1;
    region_decide(&r);
    assert_int_equal(r.zone_results[0].replicas + r.zone_results[1].replicas, 1);
    assert_int_equal(r.ret.shortfall, 0);
    assert_false(r.ret.rejected);
    assert_true(r.ret.beyond_cap);
}

static void T07_three_over_two_zones(void **state) {
    struct region r;

    (void)state;
    article(&r);
    r.in.policy.replicas = 3;
    region_decide(&r);
    assert_int_equal(r.ret.block, TOPOLOGY_PLACED);
    assert_int_equal(abs(r.zone_results[0].replicas - r.zone_results[1].replicas), 1);
    r.in.policy.max_zone_percent = 66;
    region_decide(&r);
    assert_true(r.ret.rejected);
    assert_int_equal(r.ret.block, TOPOLOGY_BLOCK_CAP);
}

static void T08_equal_or_a_named_failure(void **state) {
    struct region r;
    int first = -1;

    (void)state;
    for (int i = 0; i < 100; i++) {
        region_init(&r, "app", 20, 67);
        r.in.policy.spread = TOPOLOGY_EQUAL;
        r.zones[0].named = r.zones[1].named = true;
        region_cell(&r, "app", i % 2, 0, 0, 50);
        region_cell(&r, "app", 1 - i % 2, 0, 0, 40);
        region_decide(&r);
        assert_int_equal(r.zone_results[0].replicas, 10);
        assert_int_equal(r.zone_results[1].replicas, 10);
        r.in.policy.replicas = 21;
        region_decide(&r);
        assert_int_equal(r.zone_results[0].replicas + r.zone_results[1].replicas, 21);
        const int more = r.zone_results[1].replicas == 11;
        assert_int_equal(r.zone_results[more].replicas, 11);
        if (first < 0)
            first = more;
        assert_int_equal(more, first);
    }
    r.cells[0].room = 5;
    region_decide(&r);
    assert_true(r.ret.rejected);
    assert_int_equal(r.ret.block, TOPOLOGY_BLOCK_EQUAL);
}

static void T09_T11_T12_same_input_moves_nothing(void **state) {
    struct region r;

    (void)state;
    for (int change = TOPOLOGY_REPLICAS; change <= TOPOLOGY_SHORTFALL; change++) {
        article(&r);
        region_decide(&r);
        region_settle(&r);
        r.in.change = (enum topology_change)change;
        region_decide(&r);
        assert_int_equal(r.ret.moves, 0);
        for (int c = 0; c < r.in.cell_count; c++)
            assert_int_equal(r.cell_results[c].replicas, r.cells[c].present);
    }
}

static void T10_T13_frozen_zone_keeps_and_gains_none(void **state) {
    struct region r;

    (void)state;
    for (int32_t n = 0; n <= 40; n++) {
        for (int change = TOPOLOGY_REPLICAS; change <= TOPOLOGY_SHORTFALL; change++) {
            region_init(&r, "app", n, 67);
            r.in.policy.when_short = TOPOLOGY_PARTIAL;
            r.in.change = (enum topology_change)change;
            region_cell(&r, "app", 0, 0, 10, 90)->frozen = true;
            region_cell(&r, "app", 1, 0, 10, 90);
            region_decide(&r);
            assert_int_equal(r.zone_results[0].replicas, 10);
            assert_int_equal(r.cell_results[0].reason, TOPOLOGY_BY_FREEZE);
        }
    }
}

static void T14_any_listing_order(void **state) {
    struct region r;
    int32_t want[9];
    uint32_t seed = 1;

    (void)state;
    region_init(&r, "app", 37, 50);
    r.in.policy.max_cluster_percent = 45;
    for (int c = 0; c < 9; c++)
        region_cell(&r, "app", c / 3, c % 3, c == 4 ? 3 : 0, 5 + c % 2);
    r.in.policy.extension = true;
    r.in.policy.when_short = TOPOLOGY_PARTIAL;
    region_decide(&r);
    for (int c = 0; c < 9; c++)
        want[c] = r.cell_results[c].replicas;
    for (int i = 0; i < 100; i++) {
        for (int c = 8; c > 0; c--) {
            seed = seed * 1664525 + 1013904223;
            const int other = (int)((seed >> 8) % (uint32_t)(c + 1));
            const struct topology_cell cell = r.cells[c];
            r.cells[c] = r.cells[other];
            r.cells[other] = cell;
        }
        region_decide(&r);
        for (int c = 0; c < 9; c++)
            assert_int_equal(r.cell_results[c].replicas,
                             want[r.cells[c].zone * 3 + r.cells[c].cluster]);
    }
}

static void T15_growth_leaves_what_runs(void **state) {
    struct region r;

    (void)state;
    article(&r);
    region_decide(&r);
    region_settle(&r);
    for (int c = 0; c < 3; c++)
        r.cells[c].room = 5;
    r.in.policy.replicas = 22;
    r.in.change = TOPOLOGY_REPLICAS;
    region_decide(&r);
    assert_int_equal(r.ret.shortfall, 0);
    assert_int_equal(r.ret.moves, 0);
    for (int c = 0; c < 3; c++)
        assert_true(r.cell_results[c].replicas >= r.cells[c].present);
}

static void MZ_001_at_least_one_each(void **state) {
    struct region r;

    (void)state;
    for (int spread = TOPOLOGY_BALANCED; spread <= TOPOLOGY_CAPACITY; spread++) {
        region_init(&r, "app", 2, 100);
        r.in.policy.spread = (enum topology_spread)spread;
        r.zones[0].named = r.zones[1].named = true;
        region_cell(&r, "app", 0, 0, 0, 2000);
        region_cell(&r, "app", 1, 1, 0, 1);
        region_decide(&r);
        assert_int_equal(r.zone_results[0].replicas, 1);
        assert_int_equal(r.zone_results[1].replicas, 1);
    }
}

static void MZ_002_growth_never_shrinks(void **state) {
    static const int32_t room[] = {17, 11, 6};
    struct region r;

    (void)state;
    for (int spread = TOPOLOGY_BALANCED; spread <= TOPOLOGY_CAPACITY; spread += 2) {
        region_init(&r, "app", 0, 100);
        r.in.policy.spread = (enum topology_spread)spread;
        for (int z = 0; z < 3; z++) {
            r.zones[z].named = true;
            region_cell(&r, "app", z, z, 0, room[z]);
        }
        r.in.change = TOPOLOGY_REPLICAS;
        for (int n = 1; n <= 34; n++) {
            r.in.policy.replicas = n;
            region_decide(&r);
            assert_int_equal(r.ret.shortfall, 0);
            for (int c = 0; c < 3; c++)
                assert_true(r.cell_results[c].replicas >= r.cells[c].present);
            region_settle(&r);
        }
        for (int n = 33; n >= 0; n--) {
            r.in.policy.replicas = n;
            region_decide(&r);
            for (int c = 0; c < 3; c++)
                assert_true(r.cell_results[c].replicas <= r.cells[c].present);
            region_settle(&r);
        }
    }
}

static void MZ_003_odd_replica_is_spread_over_a_fleet(void **state) {
    struct region r;
    int first = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const char uid[] = {'a', (char)('a' + i / 100), (char)('a' + i / 10 % 10),
                            (char)('a' + i % 10), 0};

        region_init(&r, uid, 3, 67);
        region_cell(&r, uid, 0, 0, 0, 100);
        region_cell(&r, uid, 1, 1, 0, 100);
        region_decide(&r);
        first += r.zone_results[0].replicas == 2;
        region_settle(&r);
        r.in.change = TOPOLOGY_REBALANCE;
        region_decide(&r);
        assert_int_equal(r.ret.moves, 0);
    }
    assert_in_range(first, 430, 570);
}

static void MZ_004_minimums_do_not_bend_the_ratio(void **state) {
    struct region r;

    (void)state;
    region_init(&r, "app", 10, 100);
    r.in.policy.spread = TOPOLOGY_CAPACITY;
    r.zones[0].named = r.zones[1].named = true;
    region_cell(&r, "app", 0, 0, 0, 4);
    region_cell(&r, "app", 1, 1, 0, 6);
    region_decide(&r);
    assert_int_equal(r.zone_results[0].replicas, 4);
    assert_int_equal(r.zone_results[1].replicas, 6);
}

static void MZ_005_caps_that_round_short_are_named(void **state) {
    struct region r;

    (void)state;
    region_init(&r, "app", 10, 33);
    r.in.policy.when_short = TOPOLOGY_PARTIAL;
    for (int z = 0; z < 3; z++) {
        r.zones[z].named = true;
        region_cell(&r, "app", z, z, 0, 100);
    }
    region_decide(&r);
    assert_int_equal(r.ret.shortfall, 1);
    assert_int_equal(r.ret.block, TOPOLOGY_BLOCK_CAP);
    region_settle(&r);
    r.in.policy.replicas = 6;
    r.in.change = TOPOLOGY_REPLICAS;
    region_decide(&r);
    assert_int_equal(r.ret.moves, 0);
    for (int z = 0; z < 3; z++)
        assert_true(r.zone_results[z].replicas <= r.cells[z].present);
}

static void MZ_008_replan_in_a_full_cluster_moves_nothing(void **state) {
    struct region r;

    (void)state;
    for (int change = TOPOLOGY_REPLICAS; change <= TOPOLOGY_SHORTFALL; change++) {
        region_init(&r, "app", 8, 100);
        r.in.policy.min_zones = 1;
        r.in.change = (enum topology_change)change;
        region_cell(&r, "app", 0, 0, 8, 0);
        region_cell(&r, "app", 0, 1, 0, 100);
        region_decide(&r);
        assert_int_equal(r.ret.moves, 0);
        assert_int_equal(r.cell_results[0].replicas, 8);
    }
}

/* In a zone: who holds the app there, then the most room, each within its cap. */
static void clusters_of_a_zone_in_order(void **state) {
    struct region r;

    (void)state;
    region_init(&r, "app", 10, 100);
    r.in.policy.min_zones = 1;
    r.in.policy.max_cluster_percent = 50;
    region_cell(&r, "app", 0, 0, 0, 20);
    region_cell(&r, "app", 0, 1, 1, 2);
    region_cell(&r, "app", 0, 2, 0, 30);
    region_decide(&r);
    assert_int_equal(r.cell_results[1].replicas, 3);
    assert_int_equal(r.cell_results[2].replicas, 5);
    assert_int_equal(r.cell_results[0].replicas, 2);
    assert_int_equal(r.ret.moves, 0);
}

/* Unnamed zones: the present first, then the richest, up to minZones; never an avoided one. */
static void unnamed_zones_are_chosen(void **state) {
    struct region r;

    (void)state;
    region_init(&r, "app", 6, 67);
    region_cell(&r, "app", 0, 0, 0, 5);
    region_cell(&r, "app", 1, 0, 2, 1);
    region_cell(&r, "app", 2, 0, 0, 3);
    region_cell(&r, "app", 3, 0, 0, 50);
    r.zones[3].avoided = true;
    region_decide(&r);
    assert_int_equal(r.zone_results[0].replicas, 3);
    assert_int_equal(r.zone_results[1].replicas, 3);
    assert_int_equal(r.zone_results[2].reason, TOPOLOGY_UNUSED);
    assert_int_equal(r.zone_results[3].reason, TOPOLOGY_UNUSED);
}

static void invalid_inputs_leave_the_result_alone(void **state) {
    struct region r;

    (void)state;
    article(&r);
    r.ret.shortfall = 77;
    r.cells[0].zone = 2;
    assert_int_equal(topology_decide(&r.in, r.scratch, &r.ret), ERR_INVALID);
    article(&r);
    r.ret.shortfall = 77;
    r.cells[1].cluster = 1; /* twice in zone 1 */
    assert_int_equal(topology_decide(&r.in, r.scratch, &r.ret), ERR_INVALID);
    r.in.policy.replicas = -1;
    assert_int_equal(topology_decide(&r.in, r.scratch, &r.ret), ERR_INVALID);
    assert_int_equal(r.ret.shortfall, 77);
    assert_string_equal(topology_block_name((enum topology_block)99), "Unknown");
    assert_string_equal(topology_block_name(TOPOLOGY_BLOCK_EQUAL), "EqualRatio");
    assert_string_equal(topology_reason_name(TOPOLOGY_UNUSED), "Unused");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(T01_article_example),
        cmocka_unit_test(T02_shares_pass_the_cap),
        cmocka_unit_test(T03_cap_floor_and_named_failure),
        cmocka_unit_test(T04_extension_takes_a_third_zone),
        cmocka_unit_test(T05_extension_off_keeps_the_last),
        cmocka_unit_test(T06_one_replica_is_placed_and_flagged),
        cmocka_unit_test(T07_three_over_two_zones),
        cmocka_unit_test(T08_equal_or_a_named_failure),
        cmocka_unit_test(T09_T11_T12_same_input_moves_nothing),
        cmocka_unit_test(T10_T13_frozen_zone_keeps_and_gains_none),
        cmocka_unit_test(T14_any_listing_order),
        cmocka_unit_test(T15_growth_leaves_what_runs),
        cmocka_unit_test(MZ_001_at_least_one_each),
        cmocka_unit_test(MZ_002_growth_never_shrinks),
        cmocka_unit_test(MZ_003_odd_replica_is_spread_over_a_fleet),
        cmocka_unit_test(MZ_004_minimums_do_not_bend_the_ratio),
        cmocka_unit_test(MZ_005_caps_that_round_short_are_named),
        cmocka_unit_test(MZ_008_replan_in_a_full_cluster_moves_nothing),
        cmocka_unit_test(clusters_of_a_zone_in_order),
        cmocka_unit_test(unnamed_zones_are_chosen),
        cmocka_unit_test(invalid_inputs_leave_the_result_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
