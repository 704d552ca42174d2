#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/topology.h"

static struct topology_zone zones[TOPOLOGY_ZONES_MAX];
static struct topology_cell cells[1000];
static struct topology_cell_result cell_results[1000];
static struct topology_zone_result zone_results[TOPOLOGY_ZONES_MAX];

static int64_t now_ns(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One problem; striped: each cluster holds one zone, else every cluster holds every zone. Returns
 * the nanoseconds of one decision: the best of several batches. */
static int64_t measure(int32_t zone_count, int32_t cluster_count, bool striped, int32_t replicas,
                       int rounds) {
    struct topology_input in = {
        .policy = {.replicas = replicas,
                   .min_zones = 2,
                   .max_zone_percent = 67,
                   .max_cluster_percent = 67},
        .change = TOPOLOGY_POLICY,
        .zones = zones,
        .zone_count = zone_count,
        .cluster_count = cluster_count,
        .cells = cells,
    };
    struct topology_result ret = {.cells = cell_results, .zones = zone_results};
    int64_t best = INT64_MAX;

    for (int32_t z = 0; z < zone_count; z++)
        zones[z] = (struct topology_zone){.named = true, .tie = (uint64_t)(z * 7919 % 101)};
    for (int32_t k = 0; k < cluster_count; k++)
        for (int32_t z = striped ? k % zone_count : 0; z < zone_count; z += striped ? 1000 : 1)
            cells[in.cell_count++] = (struct topology_cell){.zone = z,
                                                            .cluster = k,
                                                            .room = 1 + (k * 31 + z * 17) % 20,
                                                            .tie = (uint64_t)(k * 104729 % 9973)};
    void *scratch = malloc(topology_scratch_bytes(zone_count, cluster_count, in.cell_count));
    if (!scratch)
        return -1;
    for (int batch = 0; batch < 9; batch++) {
        const int64_t start = now_ns();

        for (int i = 0; i < rounds; i++)
            if (topology_decide(&in, scratch, &ret) != 0 || ret.shortfall != 0)
                abort();
        const int64_t spent = (now_ns() - start) / rounds;
        best = spent < best ? spent : best;
    }
    free(scratch);
    return best;
}

static void print_us(const char *name, int64_t ns) {
    printf("figure %s %lld.%02lld us\n", name, (long long)(ns / 1000), (long long)(ns % 1000 / 10));
}

int main(void) {
    printf("figure schedule_3x3_ns %lld ns\n", (long long)measure(3, 3, false, 20, 20000));
    print_us("schedule_10x10_us", measure(10, 10, false, 200, 5000));
    print_us("schedule_10x100_us", measure(10, 100, false, 2000, 500));
    print_us("schedule_50x1000_us", measure(50, 1000, true, 2000, 500));
    return 0;
}
