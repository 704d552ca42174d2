#include "web/snapshot.h"

#include "base/str.h"

#include <stdlib.h>

struct snapshot *snapshot_take(struct manager *manager, int64_t now_ms) {
    struct world *world = manager_world(manager);
    struct snapshot *snapshot = str_alloc(1, sizeof *snapshot);

    snapshot->taken_ms = now_ms;
    snapshot->synced = manager_synced(manager);
    snapshot->leads = manager_leads(manager, now_ms);
    snapshot->lost = manager_lost(manager);
    snapshot->observe = manager_observes(manager);
    for (int i = 0; i < world_child_count(world); i++) {
        const struct child *child = world_child_at(world, i);

        if (!child)
            continue;
        snapshot->children++;
        snapshot->children_fresh += child_fresh(child, now_ms);
    }
    return snapshot;
}

void snapshot_free(struct snapshot *snapshot) {
    free(snapshot);
}
