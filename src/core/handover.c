#include "core/handover.h"

static int32_t ready_of(const struct handover_cell *cell) {
    if (!cell->known)
        return 0;
    return cell->ready < cell->current ? cell->ready : cell->current;
}

int32_t handover_plan(const struct handover_cell *cells, int32_t count, int32_t floor,
                      int32_t *ret_replicas) {
    int64_t spare = -(int64_t)floor;
    int32_t later = 0;

    for (int32_t i = 0; i < count; i++)
        spare += ready_of(&cells[i]);
    if (spare < 0)
        spare = 0;
    for (int32_t i = 0; i < count; i++) {
        const struct handover_cell *cell = &cells[i];
        const int32_t surplus = cell->current - cell->target;
        const int32_t idle = cell->current - ready_of(cell);
        int64_t leave = idle + spare;

        if (!cell->known) {
            ret_replicas[i] = HANDOVER_HOLD;
            continue;
        }
        if (surplus <= 0) {
            ret_replicas[i] = cell->target;
            continue;
        }
        if (leave > surplus)
            leave = surplus;
        if (leave > idle)
            spare -= leave - idle;
        ret_replicas[i] = cell->current - (int32_t)leave;
        later += surplus - (int32_t)leave;
    }
    return later;
}
