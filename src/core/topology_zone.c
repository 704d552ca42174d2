#include "core/topology_plan.h"

#define WEBSTER_SHIFT 40

static int32_t clamp(int64_t value, int32_t low, int32_t high) {
    if (value < low)
        return low;
    return value > high ? high : (int32_t)value;
}

/* True if a is to be chosen before b: present first, then the richest, then by tie. */
static bool richer(const struct topology_plan *plan, int32_t a, int32_t b, bool present_first) {
    const struct topology_zone_plan *x = &plan->zones[a];
    const struct topology_zone_plan *y = &plan->zones[b];

    if (present_first && x->held != y->held)
        return x->held > y->held;
    if (x->most != y->most)
        return x->most > y->most;
    if (x->held != y->held)
        return x->held > y->held;
    if (plan->in->zones[a].tie != plan->in->zones[b].tie)
        return plan->in->zones[a].tie < plan->in->zones[b].tie;
    return a < b;
}

/* The best zone not yet usable and not avoided that could hold something; -1 if none. */
static int32_t next_zone(const struct topology_plan *plan, bool present_first) {
    int32_t best = -1;

    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        const struct topology_zone_plan *zone = &plan->zones[z];

        if (zone->usable || plan->in->zones[z].avoided || zone->most == 0)
            continue;
        if (best < 0 || richer(plan, z, best, present_first))
            best = z;
    }
    return best;
}

void topology_zone_choose(struct topology_plan *plan) {
    bool named = false;
    int32_t chosen = 0;

    for (int32_t z = 0; z < plan->in->zone_count; z++)
        named = named || plan->in->zones[z].named;
    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        const struct topology_zone *zone = &plan->in->zones[z];
        const bool holds = !plan->afresh && plan->zones[z].held > 0;
        const bool want = !zone->avoided && (named ? zone->named : holds);

        plan->zones[z].wanted = plan->zones[z].usable = want;
        chosen += want;
    }
    while (!named && chosen < plan->in->policy.min_zones) {
        const int32_t best = next_zone(plan, true);

        if (best < 0)
            break;
        plan->zones[best].wanted = plan->zones[best].usable = true;
        chosen++;
    }
}

/* What a zone that may not be used holds on to. */
static int32_t residue(const struct topology_plan *plan, const struct topology_zone_plan *zone) {
    return plan->afresh ? zone->frozen : zone->kept;
}

void topology_zone_extend(struct topology_plan *plan, int32_t total) {
    int64_t sum = 0;

    if (!plan->in->policy.extension)
        return;
    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        const struct topology_zone_plan *zone = &plan->zones[z];

        sum += zone->usable ? zone->most : residue(plan, zone);
    }
    while (sum < total) {
        const int32_t best = next_zone(plan, !plan->afresh);

        if (best < 0)
            return;
        plan->zones[best].usable = true;
        sum += plan->zones[best].most - residue(plan, &plan->zones[best]);
    }
}

/* What the zone gets when the water stands at level; for Webster, level is the scaled inverse of
 * the divisor, and a zone has every seat whose turn came. */
static int32_t at_level(const struct topology_plan *plan, const struct topology_zone_plan *zone,
                        int64_t level) {
    if (plan->in->policy.spread != TOPOLOGY_CAPACITY)
        return clamp(level, zone->low, zone->high);
    const __int128 half = (__int128)1 << (WEBSTER_SHIFT - 1);

    return clamp((int64_t)((zone->weight * (__int128)level + half) >> WEBSTER_SHIFT), zone->low,
                 zone->high);
}

static int64_t sum_at(const struct topology_plan *plan, int64_t level) {
    int64_t sum = 0;

    for (int32_t z = 0; z < plan->in->zone_count; z++)
        sum += at_level(plan, &plan->zones[z], level);
    return sum;
}

/* True if zone a takes the next replica before zone b. */
static bool before(const struct topology_plan *plan, int32_t a, int32_t b) {
    const struct topology_zone_plan *x = &plan->zones[a];
    const struct topology_zone_plan *y = &plan->zones[b];

    if (plan->in->policy.spread == TOPOLOGY_CAPACITY) {
        const int64_t left = x->weight * (2 * (int64_t)y->share + 1);
        const int64_t right = y->weight * (2 * (int64_t)x->share + 1);

        if (left != right)
            return left > right;
    }
    if (x->share != y->share)
        return x->share < y->share;
    if ((x->held > x->share) != (y->held > y->share))
        return x->held > x->share; /* it need not move */
    if (plan->in->zones[a].tie != plan->in->zones[b].tie)
        return plan->in->zones[a].tie < plan->in->zones[b].tie;
    return a < b;
}

/* Fills shares between low and high so that they sum to total, or as near as the bounds allow. */
static void fill(struct topology_plan *plan, int64_t total) {
    const bool webster = plan->in->policy.spread == TOPOLOGY_CAPACITY;
    int64_t low = 0;
    int64_t high = webster ? total << WEBSTER_SHIFT : total;

    while (low < high) { /* the highest level whose sum is not above total */
        const int64_t middle = low + (high - low + 1) / 2;

        if (sum_at(plan, middle) <= total)
            low = middle;
        else
            high = middle - 1;
    }
    int64_t rest = total;
    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        plan->zones[z].share = at_level(plan, &plan->zones[z], low);
        rest -= plan->zones[z].share;
    }
    for (; rest > 0; rest--) {
        int32_t best = -1;

        for (int32_t z = 0; z < plan->in->zone_count; z++)
            if (plan->zones[z].share < plan->zones[z].high && (best < 0 || before(plan, z, best)))
                best = z;
        if (best < 0)
            return;
        plan->zones[best].share++;
    }
}

/* Shrinking: from base down to floor; one per wanted zone goes last. */
static void divide_down(struct topology_plan *plan, int32_t total) {
    int64_t floors = 0;

    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        struct topology_zone_plan *zone = &plan->zones[z];
        const bool one = zone->wanted && zone->most > zone->frozen && zone->frozen == 0;

        zone->high = zone->low;
        zone->low = one ? 1 : zone->frozen;
        floors += zone->low;
    }
    if (floors > total) {
        for (int32_t z = 0; z < plan->in->zone_count; z++) {
            plan->zones[z].high = plan->zones[z].low;
            plan->zones[z].low = plan->zones[z].frozen;
        }
    }
    fill(plan, total);
}

void topology_zone_divide(struct topology_plan *plan) {
    const bool owed_only = plan->in->change == TOPOLOGY_SHORTFALL;
    const int32_t total = plan->in->policy.replicas;
    int64_t base = 0;

    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        struct topology_zone_plan *zone = &plan->zones[z];

        zone->low = residue(plan, zone);
        zone->high = zone->usable && zone->most > zone->low ? zone->most : zone->low;
        if (!owed_only && zone->wanted && zone->low == 0 && zone->high > 0)
            zone->low = 1;
        base += zone->low;
    }
    if (base <= total || owed_only)
        fill(plan, total > base ? total : base);
    else
        divide_down(plan, total);
}

void topology_zone_add(struct topology_plan *plan, int32_t more) {
    int64_t total = more;

    for (int32_t z = 0; z < plan->in->zone_count; z++) {
        struct topology_zone_plan *zone = &plan->zones[z];

        zone->low = zone->share;
        if (zone->usable && zone->high < zone->most)
            zone->high = zone->most;
        if (zone->high < zone->low)
            zone->high = zone->low;
        total += zone->share;
    }
    fill(plan, total);
}
