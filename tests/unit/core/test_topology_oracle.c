/* Every small problem against a search over every placement. */
#include "unit.h"

#include "core/topology.h"

#define CELLS_MAX 6

struct problem {
    struct topology_input in;
    struct topology_zone zones[3];
    struct topology_cell cells[CELLS_MAX];
    struct topology_cell_result cell_results[CELLS_MAX];
    struct topology_zone_result zone_results[3];
    struct topology_result ret;
    uint64_t scratch[128];
};

/* The best that a search finds under the bounds alone. */
struct best {
    int32_t placed; /* most replicas */
    int32_t spread; /* least sum of squares of zones at that */
    int32_t lost;   /* least replicas that leave a cell at that spread */
};

static int32_t frozen_in(const struct problem *p, int32_t zone) {
    int32_t sum = 0;

    for (int c = 0; c < p->in.cell_count; c++)
        if (p->cells[c].frozen && p->cells[c].zone == zone)
            sum += p->cells[c].present;
    return sum;
}

static int32_t zone_limit(const struct problem *p, int32_t zone) {
    const int32_t cap = topology_cap(p->in.policy.replicas, p->in.policy.max_zone_percent);
    const int32_t frozen = frozen_in(p, zone);

    return cap > frozen ? cap : frozen;
}

static void judge(const struct problem *p, const int32_t *have, struct best *best) {
    int32_t zone_sum[3] = {0};
    int32_t cluster_sum[2] = {0};
    int32_t cluster_frozen[2] = {0};
    const int32_t cluster_cap =
        topology_cap(p->in.policy.replicas, p->in.policy.max_cluster_percent);
    struct best now = {0};

    for (int c = 0; c < p->in.cell_count; c++) {
        const struct topology_cell *cell = &p->cells[c];

        zone_sum[cell->zone] += have[c];
        cluster_sum[cell->cluster] += have[c];
        cluster_frozen[cell->cluster] += cell->frozen ? cell->present : 0;
        now.lost += have[c] < cell->present ? cell->present - have[c] : 0;
        now.placed += have[c];
    }
    for (int z = 0; z < p->in.zone_count; z++) {
        if (zone_sum[z] > zone_limit(p, z))
            return;
        now.spread += zone_sum[z] * zone_sum[z];
    }
    for (int k = 0; k < 2; k++)
        if (cluster_sum[k] > cluster_cap && cluster_sum[k] > cluster_frozen[k])
            return;
    if (now.placed < best->placed)
        return;
    if (now.placed > best->placed || now.spread < best->spread ||
        (now.spread == best->spread && now.lost < best->lost))
        *best = now;
}

static void search(const struct problem *p, int32_t *have, int c, int32_t rest, struct best *best) {
    if (c == p->in.cell_count) {
        judge(p, have, best);
        return;
    }
    const struct topology_cell *cell = &p->cells[c];
    const int32_t low = cell->frozen ? cell->present : 0;
    const int32_t high = cell->present + (cell->frozen ? 0 : cell->room);

    for (int32_t n = low; n <= high && n - low <= rest; n++) {
        have[c] = n;
        search(p, have, c + 1, rest - (n - low), best);
    }
}

static void decide(struct problem *p) {
    p->in.zones = p->zones;
    p->in.cells = p->cells;
    p->ret.cells = p->cell_results;
    p->ret.zones = p->zone_results;
    assert_true(topology_scratch_bytes(p->in.zone_count, p->in.cluster_count, p->in.cell_count) <=
                sizeof(p->scratch));
    assert_int_equal(topology_decide(&p->in, p->scratch, &p->ret), 0);
}

/* Bounds that hold whatever was asked. Returns what was placed. */
static int32_t check_bounds(const struct problem *p) {
    int32_t placed = 0;
    int32_t zone_sum[3] = {0};

    for (int c = 0; c < p->in.cell_count; c++) {
        const struct topology_cell *cell = &p->cells[c];
        const int32_t have = p->cell_results[c].replicas;

        assert_true(have >= 0 && have <= cell->present + cell->room);
        if (cell->frozen)
            assert_int_equal(have, cell->present);
        zone_sum[cell->zone] += have;
        placed += have;
    }
    for (int z = 0; z < p->in.zone_count; z++) {
        assert_int_equal(zone_sum[z], p->zone_results[z].replicas);
        if (p->in.change != TOPOLOGY_SHORTFALL)
            assert_true(zone_sum[z] <= zone_limit(p, z));
    }
    assert_int_equal(p->ret.shortfall,
                     placed < p->in.policy.replicas ? p->in.policy.replicas - placed : 0);
    assert_int_equal(p->ret.shortfall > 0, p->ret.block != TOPOLOGY_PLACED);
    return placed;
}

static int32_t lost_in(const struct problem *p) {
    int32_t lost = 0;

    for (int c = 0; c < p->in.cell_count; c++)
        if (p->cell_results[c].replicas < p->cells[c].present)
            lost += p->cells[c].present - p->cell_results[c].replicas;
    return lost;
}

/* Two clusters, zone_count zones; digit i of code is the state of cell i. */
static void build(struct problem *p, int32_t zone_count, bool shared, uint32_t code, uint32_t base,
                  int32_t frozen) {
    memset(p, 0, sizeof(*p));
    p->in.zone_count = zone_count;
    p->in.cluster_count = 2;
    p->in.policy = (struct topology_policy){.min_zones = 1, .max_cluster_percent = 100};
    for (int32_t z = 0; z < zone_count; z++) {
        p->zones[z] = (struct topology_zone){.named = true, .tie = (uint64_t)(z * 5 % 3)};
        for (int32_t k = 0; k < (shared ? 2 : 1); k++) {
            const uint32_t state = code % base;

            code /= base;
            p->cells[p->in.cell_count++] = (struct topology_cell){.zone = z,
                                                                  .cluster = shared ? k : z % 2,
                                                                  .present = (int32_t)(state % 3),
                                                                  .room = (int32_t)(state / 3 % 4),
                                                                  .tie = (uint64_t)k};
        }
    }
    if (frozen >= 0)
        p->cells[frozen].frozen = true;
}

static void check_afresh(struct problem *p) {
    int32_t have[CELLS_MAX];
    struct best best = {.placed = -1};

    p->in.change = TOPOLOGY_POLICY;
    decide(p);
    check_bounds(p);
    int32_t rest = p->in.policy.replicas;
    for (int z = 0; z < p->in.zone_count; z++)
        rest -= frozen_in(p, z);
    search(p, have, 0, rest > 0 ? rest : 0, &best);
    assert_true(best.placed >= 0);
    int32_t placed = 0;
    int32_t spread = 0;

    for (int z = 0; z < p->in.zone_count; z++) {
        placed += p->zone_results[z].replicas;
        spread += p->zone_results[z].replicas * p->zone_results[z].replicas;
    }
    assert_int_equal(placed, best.placed);
    assert_int_equal(spread, best.spread);
    assert_int_equal(lost_in(p), best.lost);
}

/* Without a bound or an empty zone in the way, growing takes nothing and shrinking adds nothing. */
static void check_delta(struct problem *p) {
    int32_t present = 0;
    bool forced = false;

    p->in.change = TOPOLOGY_REPLICAS;
    decide(p);
    check_bounds(p);
    for (int z = 0; z < p->in.zone_count; z++) {
        int32_t held = 0;

        for (int c = 0; c < p->in.cell_count; c++)
            held += p->cells[c].zone == z ? p->cells[c].present : 0;
        forced = forced || held > zone_limit(p, z) || held == 0;
        present += held;
    }
    for (int c = 0; c < p->in.cell_count && !forced; c++) {
        if (p->in.policy.replicas >= present)
            assert_true(p->cell_results[c].replicas >= p->cells[c].present);
        if (p->in.policy.replicas <= present)
            assert_true(p->cell_results[c].replicas <= p->cells[c].present);
    }
    if (!forced)
        assert_int_equal(p->ret.moves, 0);
    p->in.change = TOPOLOGY_SHORTFALL;
    decide(p);
    check_bounds(p);
    for (int c = 0; c < p->in.cell_count; c++)
        assert_true(p->cell_results[c].replicas >= p->cells[c].present);
}

static void check_all(int32_t zone_count, bool shared, uint32_t base, uint32_t step) {
    static const int32_t percents[] = {34, 50, 67, 100};
    const int32_t cells = zone_count * (shared ? 2 : 1);
    uint32_t codes = 1;
    struct problem p;

    for (int32_t c = 0; c < cells; c++)
        codes *= base;
    for (uint32_t code = 0; code < codes; code += step) {
        for (int32_t frozen = -1; frozen < cells; frozen++) {
            for (int i = 0; i < 4; i++) {
                for (int32_t n = 0; n <= 6; n++) {
                    build(&p, zone_count, shared, code, base, frozen);
                    p.in.policy.replicas = n;
                    p.in.policy.max_zone_percent = percents[i];
                    check_afresh(&p);
                    check_delta(&p);
                }
            }
        }
    }
}

static void every_problem_of_one_cluster_a_zone(void **state) {
    (void)state;
    check_all(1, false, 12, 1);
    check_all(2, false, 12, 1);
    check_all(3, false, 12, 1);
}

static void every_problem_of_two_zones_and_clusters(void **state) {
    (void)state;
    check_all(1, true, 12, 1);
    check_all(2, true, 12, 7);
}

static void a_sample_of_three_zones_and_two_clusters(void **state) {
    (void)state;
    check_all(3, true, 12, 19997);
}

/* A cap on clusters that hold several zones: never exceeded, and a shortfall has a name. */
static void cluster_caps_hold(void **state) {
    struct problem p;

    (void)state;
    for (uint32_t code = 0; code < 12 * 12 * 12 * 12; code += 3) {
        for (int32_t n = 0; n <= 6; n++) {
            build(&p, 2, true, code, 12, -1);
            p.in.policy.replicas = n;
            p.in.policy.max_zone_percent = 67;
            p.in.policy.max_cluster_percent = 50;
            p.in.change = code % 2 ? TOPOLOGY_POLICY : TOPOLOGY_REPLICAS;
            decide(&p);
            const int32_t placed = check_bounds(&p);
            if (p.in.change == TOPOLOGY_POLICY) {
                int32_t have[CELLS_MAX];
                struct best best = {.placed = -1};

                search(&p, have, 0, n, &best);
                assert_int_equal(placed, best.placed);
            }
            for (int k = 0; k < 2; k++)
                assert_true(p.cell_results[k].replicas + p.cell_results[k + 2].replicas <=
                            topology_cap(n, 50));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_problem_of_one_cluster_a_zone),
        cmocka_unit_test(every_problem_of_two_zones_and_clusters),
        cmocka_unit_test(a_sample_of_three_zones_and_two_clusters),
        cmocka_unit_test(cluster_caps_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
