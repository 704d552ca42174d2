#include "core/topology.h"

#include <string.h>

#include "base/err.h"
#include "core/topology_plan.h"

uint64_t topology_tie(const char *uid, const char *name) {
    const uint64_t prime = UINT64_C(1099511628211);
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *uid; uid++)
        hash = (hash ^ (unsigned char)*uid) * prime;
    hash *= prime; /* the zero byte between the two */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * prime;
    hash ^= hash >> 33;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    hash *= UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

int32_t topology_cap(int32_t replicas, int32_t percent) {
    const int32_t cap = (int32_t)((int64_t)replicas * percent / 100);

    return cap == 0 && replicas == 1 ? 1 : cap;
}

uint64_t topology_scratch_bytes(int32_t zone_count, int32_t cluster_count, int32_t cell_count) {
    return (uint64_t)zone_count * sizeof(struct topology_zone_plan) +
           4 * sizeof(int32_t) * (uint64_t)cell_count +
           2 * sizeof(int32_t) * (uint64_t)cluster_count;
}

static bool valid_policy(const struct topology_policy *p) {
    return p->replicas >= 0 && p->replicas <= TOPOLOGY_REPLICAS_MAX && p->min_zones >= 1 &&
           p->max_zone_percent >= 1 && p->max_zone_percent <= 100 && p->max_cluster_percent >= 1 &&
           p->max_cluster_percent <= 100 && (unsigned)p->spread <= TOPOLOGY_CAPACITY &&
           (unsigned)p->when_short <= TOPOLOGY_REJECT;
}

/* Checks the bounds, and that no cluster has two cells in one zone once cells are grouped. */
static bool valid_input(const struct topology_input *in) {
    int64_t present = 0;

    if (!valid_policy(&in->policy) || (unsigned)in->change > TOPOLOGY_SHORTFALL)
        return false;
    if (in->zone_count < 0 || in->zone_count > TOPOLOGY_ZONES_MAX || in->cluster_count < 0 ||
        in->cluster_count > TOPOLOGY_CLUSTERS_MAX || in->cell_count < 0 ||
        in->cell_count > TOPOLOGY_CELLS_MAX)
        return false;
    for (int32_t c = 0; c < in->cell_count; c++) {
        const struct topology_cell *cell = &in->cells[c];

        if (cell->zone < 0 || cell->zone >= in->zone_count || cell->cluster < 0 ||
            cell->cluster >= in->cluster_count || cell->present < 0)
            return false;
        present += cell->present;
    }
    return present <= 2 * (int64_t)TOPOLOGY_REPLICAS_MAX;
}

static void lay_out(struct topology_plan *plan, void *scratch) {
    const struct topology_input *in = plan->in;

    plan->zones = scratch;
    plan->order = (int32_t *)(plan->zones + in->zone_count);
    plan->have = plan->order + in->cell_count;
    plan->limit = plan->have + in->cell_count;
    plan->heap = plan->limit + in->cell_count;
    plan->left = plan->heap + in->cell_count;
    plan->marker = plan->left + in->cluster_count;
}

/* Groups the cells by zone. Returns false if a cluster names a zone twice. */
static bool group(struct topology_plan *plan) {
    const struct topology_input *in = plan->in;
    int32_t first = 0;

    if (in->zone_count > 0)
        memset(plan->zones, 0, (size_t)in->zone_count * sizeof(plan->zones[0]));
    for (int32_t c = 0; c < in->cell_count; c++)
        plan->zones[in->cells[c].zone].count++;
    for (int32_t z = 0; z < in->zone_count; z++) {
        plan->zones[z].first = first;
        first += plan->zones[z].count;
        plan->zones[z].count = 0;
    }
    for (int32_t c = 0; c < in->cell_count; c++) {
        struct topology_zone_plan *zone = &plan->zones[in->cells[c].zone];

        plan->order[zone->first + zone->count++] = c;
    }
    for (int32_t k = 0; k < in->cluster_count; k++)
        plan->marker[k] = -1;
    for (int32_t z = 0; z < in->zone_count; z++) {
        const struct topology_zone_plan *zone = &plan->zones[z];

        for (int32_t i = zone->first; i < zone->first + zone->count; i++) {
            int32_t *marker = &plan->marker[in->cells[plan->order[i]].cluster];

            if (*marker == z)
                return false;
            *marker = z;
        }
    }
    return true;
}

/* Reads one cell into what it keeps, what it could hold, and its zone's sums. */
static void read_cell(struct topology_plan *plan, int32_t c, int64_t *most) {
    const struct topology_cell *cell = &plan->in->cells[c];
    struct topology_zone_plan *zone = &plan->zones[cell->zone];
    const bool avoided = plan->in->zones[cell->zone].avoided;
    const bool owed_only = plan->in->change == TOPOLOGY_SHORTFALL;
    int32_t *left = &plan->left[cell->cluster];
    int64_t limit = cell->present;
    int32_t stays = cell->present;

    zone->held += cell->present;
    if (cell->frozen) {
        zone->room_frozen = zone->room_frozen || cell->room > 0;
        plan->have[c] = plan->limit[c] = cell->present;
        return;
    }
    if (avoided && plan->afresh)
        limit = 0;
    else if (!avoided && cell->room > 0)
        limit += cell->room;
    if (limit > INT32_MAX)
        limit = INT32_MAX;
    plan->limit[c] = (int32_t)limit;
    if (stays > limit)
        stays = (int32_t)limit;
    if (stays > *left && !owed_only)
        stays = *left > 0 ? *left : 0;
    *left -= stays;
    plan->have[c] = stays;
    zone->kept += stays;
    zone->weight += limit;
    /* marker holds the cluster's cap less what is frozen there: the most one cell may hold */
    const int32_t cap = plan->marker[cell->cluster];
    zone->room_over_cap = zone->room_over_cap || limit > (cap > 0 ? cap : 0);
    *most += limit < cap ? limit : (cap > 0 ? cap : 0);
}

static void read_cells(struct topology_plan *plan) {
    const struct topology_input *in = plan->in;

    for (int32_t k = 0; k < in->cluster_count; k++)
        plan->left[k] = plan->cluster_cap;
    for (int32_t c = 0; c < in->cell_count; c++) {
        if (in->cells[c].frozen) {
            plan->left[in->cells[c].cluster] -= in->cells[c].present;
            plan->zones[in->cells[c].zone].frozen += in->cells[c].present;
        }
    }
    for (int32_t k = 0; k < in->cluster_count; k++)
        plan->marker[k] = plan->left[k];
    for (int32_t z = 0; z < in->zone_count; z++) {
        struct topology_zone_plan *zone = &plan->zones[z];
        const int32_t cap = plan->zone_cap > zone->frozen ? plan->zone_cap : zone->frozen;
        int64_t most = zone->frozen;

        zone->kept = zone->frozen;
        zone->weight = zone->frozen;
        for (int32_t i = zone->first; i < zone->first + zone->count; i++)
            read_cell(plan, plan->order[i], &most);
        if (zone->weight > INT32_MAX)
            zone->weight = INT32_MAX;
        if (most > cap) {
            zone->room_over_cap = true;
            most = cap;
        }
        zone->most = (int32_t)most;
        if (zone->kept > cap && in->change != TOPOLOGY_SHORTFALL)
            zone->kept = cap;
    }
}

/* Places each zone's share in its clusters, and offers to other zones what a cluster's cap, shared
 * between zones, did not let in. */
static void place(struct topology_plan *plan) {
    const int32_t zones = plan->in->zone_count;

    for (int32_t z = 0; z < zones; z++)
        topology_cell_shrink(plan, z);
    for (int32_t round = 0; round <= zones; round++) {
        int32_t over = 0;

        for (int32_t z = 0; z < zones; z++) {
            const int32_t unfit = topology_cell_grow(plan, z);

            if (unfit == 0)
                continue;
            plan->zones[z].share -= unfit;
            plan->zones[z].most = plan->zones[z].high = plan->zones[z].share;
            plan->zones[z].room_over_cap = true;
            over += unfit;
        }
        if (over == 0)
            return;
        topology_zone_extend(plan, plan->in->policy.replicas);
        topology_zone_add(plan, over);
    }
    for (int32_t z = 0; z < zones; z++) /* no round is left: what is not in a cell is owed */
        plan->zones[z].share -= topology_cell_grow(plan, z);
}

static bool equal_met(const struct topology_plan *plan) {
    int32_t low = INT32_MAX;
    int32_t high = 0;

    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        const int32_t share = plan->zones[z].share;

        if (!plan->zones[z].wanted && share == 0)
            continue;
        low = share < low ? share : low;
        high = share > high ? share : high;
    }
    return high == 0 || high - low <= 1;
}

static enum topology_block find_block(const struct topology_plan *plan) {
    bool cap = false;
    bool frozen = false;

    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        const struct topology_zone_plan *zone = &plan->zones[z];

        if (!zone->usable && !plan->in->zones[z].avoided && zone->most > zone->share)
            return TOPOLOGY_BLOCK_EXTENSION;
        if (plan->in->zones[z].avoided)
            continue;
        cap = cap || (zone->usable && zone->room_over_cap);
        frozen = frozen || zone->room_frozen;
    }
    if (cap)
        return TOPOLOGY_BLOCK_CAP;
    return frozen ? TOPOLOGY_BLOCK_FROZEN : TOPOLOGY_BLOCK_ROOM;
}

static enum topology_reason cell_reason(const struct topology_plan *plan, int32_t c) {
    const struct topology_cell *cell = &plan->in->cells[c];

    if (cell->frozen)
        return TOPOLOGY_BY_FREEZE;
    if (plan->have[c] == 0)
        return TOPOLOGY_UNUSED;
    if (plan->have[c] == cell->present)
        return TOPOLOGY_BY_KEEP;
    if (plan->have[c] == plan->limit[c])
        return TOPOLOGY_BY_ROOM;
    return plan->left[cell->cluster] <= 0 ? TOPOLOGY_BY_CAP : TOPOLOGY_BY_SHARE;
}

static enum topology_reason zone_reason(const struct topology_plan *plan,
                                        const struct topology_zone_plan *zone) {
    if (zone->share == 0)
        return TOPOLOGY_UNUSED;
    if (zone->share == zone->frozen)
        return TOPOLOGY_BY_FREEZE;
    if (zone->share == plan->zone_cap)
        return TOPOLOGY_BY_CAP;
    if (zone->share == zone->most)
        return zone->room_over_cap ? TOPOLOGY_BY_CAP : TOPOLOGY_BY_ROOM;
    return zone->share == zone->held ? TOPOLOGY_BY_KEEP : TOPOLOGY_BY_SHARE;
}

static void write_result(const struct topology_plan *plan, struct topology_result *ret) {
    const struct topology_input *in = plan->in;
    int64_t placed = 0;
    int64_t gone = 0;
    int64_t come = 0;

    for (int32_t c = 0; c < in->cell_count; c++) {
        const int32_t present = in->cells[c].present;
        const int32_t replicas = ret->rejected ? present : plan->have[c];

        ret->cells[c].replicas = replicas;
        ret->cells[c].reason = !ret->rejected ? cell_reason(plan, c)
                               : present > 0  ? TOPOLOGY_BY_KEEP
                                              : TOPOLOGY_UNUSED;
        placed += replicas;
        gone += replicas < present ? present - replicas : 0;
        come += replicas > present ? replicas - present : 0;
    }
    for (int32_t z = 0; z < in->zone_count; z++) {
        const struct topology_zone_plan *zone = &plan->zones[z];
        const int32_t replicas = ret->rejected ? zone->held : zone->share;

        ret->zones[z].replicas = replicas;
        ret->zones[z].reason = !ret->rejected ? zone_reason(plan, zone)
                               : replicas > 0 ? TOPOLOGY_BY_KEEP
                                              : TOPOLOGY_UNUSED;
        ret->beyond_cap = ret->beyond_cap || replicas > plan->zone_cap;
    }
    ret->shortfall = in->policy.replicas > placed ? (int32_t)(in->policy.replicas - placed) : 0;
    ret->moves = (int32_t)(gone < come ? gone : come);
}

static bool cluster_beyond_cap(const struct topology_plan *plan) {
    for (int32_t k = 0; k < plan->in->cluster_count; k++)
        if (plan->left[k] < 0)
            return true;
    return false;
}

int topology_decide(const struct topology_input *in, void *scratch, struct topology_result *ret) {
    struct topology_plan plan = {.in = in};
    int64_t placed = 0;

    if (!valid_input(in))
        return ERR_INVALID;
    lay_out(&plan, scratch);
    if (!group(&plan))
        return ERR_INVALID;
    plan.afresh = in->change == TOPOLOGY_POLICY || in->change == TOPOLOGY_REBALANCE;
    plan.zone_cap = topology_cap(in->policy.replicas, in->policy.max_zone_percent);
    plan.cluster_cap = topology_cap(in->policy.replicas, in->policy.max_cluster_percent);
    read_cells(&plan);
    topology_zone_choose(&plan);
    topology_zone_extend(&plan, in->policy.replicas);
    topology_zone_divide(&plan);
    place(&plan);
    for (int32_t z = 0; z < in->zone_count; z++)
        placed += plan.zones[z].share;
    if (placed < in->policy.replicas && in->policy.max_cluster_percent < 100)
        topology_owed_place(&plan, (int32_t)(in->policy.replicas - placed));
    placed = 0;
    for (int32_t z = 0; z < in->zone_count; z++)
        placed += plan.zones[z].share;
    ret->block = placed < in->policy.replicas ? find_block(&plan) : TOPOLOGY_PLACED;
    ret->rejected = ret->block != TOPOLOGY_PLACED && in->policy.when_short == TOPOLOGY_REJECT;
    if (in->policy.spread == TOPOLOGY_EQUAL &&
        (ret->block != TOPOLOGY_PLACED || !equal_met(&plan))) {
        ret->block = TOPOLOGY_BLOCK_EQUAL;
        ret->rejected = true;
    }
    ret->beyond_cap = cluster_beyond_cap(&plan) ||
                      (in->policy.replicas == 1 &&
                       (in->policy.max_zone_percent < 100 || in->policy.max_cluster_percent < 100));
    write_result(&plan, ret);
    return 0;
}

const char *topology_reason_name(enum topology_reason reason) {
    static const char *const names[] = {"Share", "Cap", "Room", "Frozen", "Kept", "Unused"};

    return (unsigned)reason < TOPOLOGY_REASON_MAX ? names[reason] : "Unknown";
}

const char *topology_block_name(enum topology_block block) {
    static const char *const names[] = {"Placed",       "ZoneCap", "NoRoom",
                                        "ExtensionOff", "Frozen",  "EqualRatio"};

    return (unsigned)block < TOPOLOGY_BLOCK_MAX ? names[block] : "Unknown";
}
