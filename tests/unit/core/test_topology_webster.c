/* Capacity against published Webster vectors, and properties of large random problems. */
#include "unit.h"

#include <jansson.h>
#include <stdio.h>

#include "core/topology.h"

#define ZONES 16
#define CELLS 256

struct problem {
    struct topology_input in;
    struct topology_zone zones[ZONES];
    struct topology_cell cells[CELLS];
    struct topology_cell_result cell_results[CELLS];
    struct topology_zone_result zone_results[ZONES];
    struct topology_result ret;
    uint64_t scratch[1024];
};

static void decide(struct problem *p) {
    p->in.zones = p->zones;
    p->in.cells = p->cells;
    p->ret.cells = p->cell_results;
    p->ret.zones = p->zone_results;
    assert_true(topology_scratch_bytes(p->in.zone_count, p->in.cluster_count, p->in.cell_count) <=
                sizeof(p->scratch));
    assert_int_equal(topology_decide(&p->in, p->scratch, &p->ret), 0);
}

/* True if our rule is the same: seats from none, ties by ascending name, and no party has two seats
 * while another has none, since we give each wanted zone one first. */
static bool ours(const json_t *input, json_t *expect) {
    const char *tie = json_string_value(json_object_get(input, "tie"));
    bool zero = false;
    bool two = false;
    const char *name;
    json_t *value;

    if (!json_is_object(expect) || !tie || strcmp(tie, "fewer_seats_then_name_asc") != 0 ||
        json_object_size(json_object_get(input, "initial")) != 0)
        return false;
    json_object_foreach(expect, name, value) {
        zero = zero || json_integer_value(value) == 0;
        two = two || json_integer_value(value) > 1;
    }
    return !(zero && two);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Votes become free room, parties become named zones of one cluster each. */
static void check_vector(const json_t *input, const json_t *expect) {
    json_t *votes = json_object_get(input, "votes");
    const char *names[ZONES];
    int32_t count = 0;
    const char *name;
    json_t *value;
    struct problem p;

    memset(&p, 0, sizeof(p));
    json_object_foreach(votes, name, value) names[count++] = name;
    qsort(names, (size_t)count, sizeof(names[0]), by_name);
    p.in.policy = (struct topology_policy){
        .replicas = (int32_t)json_integer_value(json_object_get(input, "new_seats")),
        .spread = TOPOLOGY_CAPACITY,
        .min_zones = 1,
        .max_zone_percent = 100,
        .max_cluster_percent = 100};
    p.in.zone_count = p.in.cluster_count = p.in.cell_count = count;
    for (int32_t z = 0; z < count; z++) {
        const json_int_t vote = json_integer_value(json_object_get(votes, names[z]));

        p.zones[z] = (struct topology_zone){.named = true, .tie = (uint64_t)z};
        p.cells[z] = (struct topology_cell){.zone = z, .cluster = z, .room = (int32_t)vote};
    }
    decide(&p);
    for (int32_t z = 0; z < count; z++) {
        const json_int_t want = json_integer_value(json_object_get(expect, names[z]));

        assert_int_equal(p.zone_results[z].replicas, want);
    }
}

static void karmada_vectors(void **state) {
    json_auto_t *root = json_load_file(SHARED_DIR "/vectors/karmada_webster.json", 0, NULL);
    json_t *one;
    size_t i;
    int checked = 0;

    (void)state;
    if (!root) {
        printf("vectors/karmada_webster.json is absent\n");
        skip();
    }
    json_array_foreach(json_object_get(root, "cases"), i, one) {
        const json_t *input = json_object_get(one, "input");
        json_t *expect = json_object_get(one, "expect");

        if (!ours(input, expect))
            continue;
        printf("%s\n", json_string_value(json_object_get(one, "id")));
        check_vector(input, expect);
        checked++;
    }
    assert_true(checked > 0);
}

static uint32_t next(uint32_t *seed, uint32_t limit) {
    *seed = *seed * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)*seed * limit) >> 32);
}

/* Webster, seat by seat: the slow form of the rule. */
static void seat_by_seat(const int32_t *room, int32_t count, int32_t seats, int32_t *share) {
    int32_t given = 0;

    for (int32_t z = 0; z < count && given < seats; z++)
        given += share[z] = 1;
    for (; given < seats; given++) {
        int32_t best = -1;

        for (int32_t z = 0; z < count; z++) {
            if (share[z] == room[z])
                continue;
            if (best < 0) {
                best = z;
                continue;
            }
            const int64_t mine = (int64_t)room[z] * (2 * share[best] + 1);
            const int64_t other = (int64_t)room[best] * (2 * share[z] + 1);

            if (mine > other || (mine == other && share[z] < share[best]))
                best = z;
        }
        share[best]++;
    }
}

static void capacity_equals_seat_by_seat(void **state) {
    uint32_t seed = 7;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        const int32_t count = 1 + (int32_t)next(&seed, ZONES);
        int32_t room[ZONES];
        int32_t share[ZONES] = {0};
        int32_t sum = 0;
        struct problem p;

        memset(&p, 0, sizeof(p));
        for (int32_t z = 0; z < count; z++) {
            sum += room[z] = 1 + (int32_t)next(&seed, round % 2 ? 5000 : 9);
            p.zones[z] = (struct topology_zone){.named = true, .tie = (uint64_t)z};
            p.cells[z] = (struct topology_cell){.zone = z, .cluster = z, .room = room[z]};
        }
        const int32_t seats = count + (int32_t)next(&seed, (uint32_t)(sum - count + 1));
        p.in.policy = (struct topology_policy){.replicas = seats,
                                               .spread = TOPOLOGY_CAPACITY,
                                               .min_zones = 1,
                                               .max_zone_percent = 100,
                                               .max_cluster_percent = 100};
        p.in.zone_count = p.in.cluster_count = p.in.cell_count = count;
        decide(&p);
        seat_by_seat(room, count, seats, share);
        for (int32_t z = 0; z < count; z++)
            assert_int_equal(p.zone_results[z].replicas, share[z]);
    }
}

/* A life of one app in a region of 16 zones and 16 clusters: caps, room, freeze and sums hold. */
static void random_lives_hold_the_bounds(void **state) {
    uint32_t seed = 11;
    struct problem p;

    (void)state;
    memset(&p, 0, sizeof(p));
    p.in.zone_count = p.in.cluster_count = ZONES;
    for (int32_t c = 0; c < CELLS; c++)
        p.cells[p.in.cell_count++] = (struct topology_cell){
            .zone = c / ZONES, .cluster = c % ZONES, .tie = (uint64_t)(c % ZONES * 7 % 16)};
    for (int round = 0; round < 3000; round++) {
        int32_t placed = 0;

        p.in.policy = (struct topology_policy){.replicas = (int32_t)next(&seed, 3000),
                                               .spread = next(&seed, 2) ? TOPOLOGY_BALANCED
                                                                        : TOPOLOGY_CAPACITY,
                                               .min_zones = 1 + (int32_t)next(&seed, 5),
                                               .max_zone_percent = 10 + (int32_t)next(&seed, 91),
                                               .max_cluster_percent = 10 + (int32_t)next(&seed, 91),
                                               .extension = next(&seed, 2) != 0};
        p.in.change = (enum topology_change)next(&seed, 4);
        for (int32_t c = 0; c < CELLS; c++) {
            p.cells[c].room = (int32_t)next(&seed, 30) - 3;
            p.cells[c].frozen = next(&seed, 20) == 0;
        }
        decide(&p);
        for (int32_t c = 0; c < CELLS; c++) {
            const struct topology_cell *cell = &p.cells[c];
            const int32_t have = p.cell_results[c].replicas;

            assert_true(have >= 0 && have <= cell->present + (cell->room > 0 ? cell->room : 0));
            assert_true(!cell->frozen || have == cell->present);
            assert_true(p.in.change != TOPOLOGY_SHORTFALL || have >= cell->present);
            p.zone_results[cell->zone].replicas -= have;
            placed += have;
        }
        for (int32_t z = 0; z < ZONES; z++)
            assert_int_equal(p.zone_results[z].replicas, 0);
        assert_int_equal(p.ret.shortfall,
                         placed < p.in.policy.replicas ? p.in.policy.replicas - placed : 0);
        assert_int_equal(p.ret.shortfall > 0, p.ret.block != TOPOLOGY_PLACED);
        for (int32_t c = 0; c < CELLS; c++)
            p.cells[c].present = p.cell_results[c].replicas;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(karmada_vectors),
        cmocka_unit_test(capacity_equals_seat_by_seat),
        cmocka_unit_test(random_lives_hold_the_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
