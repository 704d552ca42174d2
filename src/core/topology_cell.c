#include "core/topology_plan.h"

/* True if cell a is filled before cell b: those that hold the app, then most room, then by tie. */
static bool sooner(const struct topology_plan *plan, int32_t a, int32_t b) {
    const struct topology_cell *x = &plan->in->cells[a];
    const struct topology_cell *y = &plan->in->cells[b];

    if ((x->present > 0) != (y->present > 0))
        return x->present > 0;
    if (x->room != y->room)
        return x->room > y->room;
    if (x->tie != y->tie)
        return x->tie < y->tie;
    return x->cluster < y->cluster;
}

/* Restores the heap below slot i; last selects the order from the end. */
static void sift(const struct topology_plan *plan, int32_t *heap, int32_t size, int32_t i,
                 bool last) {
    const int32_t moving = heap[i];

    for (;;) {
        int32_t child = 2 * i + 1;

        if (child >= size)
            break;
        if (child + 1 < size && sooner(plan, heap[child + 1], heap[child]) != last)
            child++;
        if (sooner(plan, heap[child], moving) == last)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

static int32_t pop(const struct topology_plan *plan, int32_t *heap, int32_t *size, bool last) {
    const int32_t top = heap[0];

    heap[0] = heap[--*size];
    if (*size > 0)
        sift(plan, heap, *size, 0, last);
    return top;
}

static void heapify(const struct topology_plan *plan, int32_t *heap, int32_t size, bool last) {
    for (int32_t i = size / 2 - 1; i >= 0; i--)
        sift(plan, heap, size, i, last);
}

/* What the zone's cells have now. */
static int64_t sum_have(const struct topology_plan *plan, int32_t zone) {
    const struct topology_zone_plan *z = &plan->zones[zone];
    int64_t sum = 0;

    for (int32_t i = z->first; i < z->first + z->count; i++)
        sum += plan->have[plan->order[i]];
    return sum;
}

void topology_cell_shrink(struct topology_plan *plan, int32_t zone) {
    const struct topology_zone_plan *z = &plan->zones[zone];
    int64_t excess = sum_have(plan, zone) - z->share;
    int32_t size = 0;

    if (excess <= 0)
        return;
    for (int32_t i = z->first; i < z->first + z->count; i++) {
        const int32_t c = plan->order[i];

        if (!plan->in->cells[c].frozen && plan->have[c] > 0)
            plan->heap[size++] = c;
    }
    heapify(plan, plan->heap, size, true);
    while (excess > 0 && size > 0) {
        const int32_t c = pop(plan, plan->heap, &size, true);
        const int32_t take = plan->have[c] < excess ? plan->have[c] : (int32_t)excess;

        plan->have[c] -= take;
        plan->left[plan->in->cells[c].cluster] += take;
        excess -= take;
    }
}

int32_t topology_cell_grow(struct topology_plan *plan, int32_t zone) {
    const struct topology_zone_plan *z = &plan->zones[zone];
    int64_t need = z->share - sum_have(plan, zone);
    int32_t size = 0;

    if (need <= 0)
        return 0;
    for (int32_t i = z->first; i < z->first + z->count; i++) {
        const int32_t c = plan->order[i];

        if (!plan->in->cells[c].frozen && plan->have[c] < plan->limit[c])
            plan->heap[size++] = c;
    }
    heapify(plan, plan->heap, size, false);
    while (need > 0 && size > 0) {
        const int32_t c = pop(plan, plan->heap, &size, false);
        const int32_t cluster = plan->in->cells[c].cluster;
        int32_t give = plan->limit[c] - plan->have[c];

        if (give > plan->left[cluster])
            give = plan->left[cluster];
        if (give > need)
            give = (int32_t)need;
        if (give <= 0)
            continue;
        plan->have[c] += give;
        plan->left[cluster] -= give;
        need -= give;
    }
    return (int32_t)need;
}
