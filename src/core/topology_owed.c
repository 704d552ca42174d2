/* What is owed although a chain of exchanges would place it: a cluster's cap is shared by zones, so
 * one zone may have to use another cluster for this one to get in. */
#include "core/topology_plan.h"

enum { VIA_ROOT = -1, VIA_NONE = -2 };

/* Cells in ascending order of cluster into heap, so that the listing order does not matter. */
static void sort_cells(const struct topology_plan *plan) {
    const struct topology_input *in = plan->in;
    int32_t next = 0;

    for (int32_t k = 0; k < in->cluster_count; k++)
        plan->marker[k] = 0;
    for (int32_t c = 0; c < in->cell_count; c++)
        plan->marker[in->cells[c].cluster]++;
    for (int32_t k = 0; k < in->cluster_count; k++) {
        const int32_t count = plan->marker[k];

        plan->marker[k] = next;
        next += count;
    }
    for (int32_t i = 0; i < in->cell_count; i++) /* order is grouped by zone */
        plan->heap[plan->marker[in->cells[plan->order[i]].cluster]++] = plan->order[i];
}

/* What may leave the cell again: for a replica change, only what this decision gave it. */
static int32_t loose(const struct topology_plan *plan, int32_t c) {
    if (plan->in->cells[c].frozen)
        return 0;
    if (plan->afresh)
        return plan->have[c];
    return plan->have[c] > plan->in->cells[c].present ? plan->have[c] - plan->in->cells[c].present
                                                      : 0;
}

/* Labels zones and clusters that a replica can reach; returns a cluster with a free place, or -1.
 */
static int32_t reach(struct topology_plan *plan) {
    const struct topology_input *in = plan->in;
    bool changed = true;

    for (int32_t z = 0; z < in->zone_count; z++) {
        const struct topology_zone_plan *zone = &plan->zones[z];
        const bool root = zone->usable && zone->share < plan->zone_cap;

        plan->zones[z].via = root ? VIA_ROOT : VIA_NONE;
    }
    for (int32_t k = 0; k < in->cluster_count; k++)
        plan->marker[k] = VIA_NONE;
    while (changed) {
        changed = false;
        for (int32_t i = 0; i < in->cell_count; i++) {
            const int32_t c = plan->heap[i];
            const struct topology_cell *cell = &in->cells[c];
            int32_t *zone_via = &plan->zones[cell->zone].via;
            int32_t *cluster_via = &plan->marker[cell->cluster];

            if (*zone_via != VIA_NONE && *cluster_via == VIA_NONE && !cell->frozen &&
                plan->have[c] < plan->limit[c]) {
                *cluster_via = c;
                changed = true;
                if (plan->left[cell->cluster] > 0)
                    return cell->cluster;
            } else if (*zone_via == VIA_NONE && *cluster_via != VIA_NONE && loose(plan, c) > 0) {
                *zone_via = c;
                changed = true;
            }
        }
    }
    return -1;
}

static int32_t least(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* Walks back from cluster to the root zone; amount 0 measures, else carries out. */
static int32_t walk(struct topology_plan *plan, int32_t cluster, int32_t amount) {
    int32_t room = plan->left[cluster];

    for (;;) {
        const int32_t in_cell = plan->marker[cluster];
        struct topology_zone_plan *zone = &plan->zones[plan->in->cells[in_cell].zone];

        room = least(room, plan->limit[in_cell] - plan->have[in_cell]);
        plan->have[in_cell] += amount;
        if (zone->via == VIA_ROOT) {
            room = least(room, plan->zone_cap - zone->share);
            zone->share += amount;
            return room;
        }
        room = least(room, loose(plan, zone->via));
        plan->have[zone->via] -= amount;
        cluster = plan->in->cells[zone->via].cluster;
    }
}

void topology_owed_place(struct topology_plan *plan, int32_t owed) {
    sort_cells(plan);
    for (int32_t round = 0; owed > 0 && round < TOPOLOGY_OWED_ROUNDS; round++) {
        const int32_t cluster = reach(plan);

        if (cluster < 0)
            return;
        const int32_t amount = least(owed, walk(plan, cluster, 0));
        plan->left[cluster] -= amount;
        walk(plan, cluster, amount);
        owed -= amount;
    }
}
