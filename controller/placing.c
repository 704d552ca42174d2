#include "controller/placing.h"

#include "api/labelselector.h"
#include "api/objectname.h"
#include "base/auto.h"
#include "base/sha256.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a pass gathers before the decision; cells and zones end up in the result. */
struct gathering {
    struct world *world;
    const struct app *app;
    const struct decision *decision;
    int64_t now_ms;
    struct placing *out;
    int32_t cell_room;
    int32_t *present; /* by cell */
    int32_t *rooms;
    struct topology_policy policy; /* as declared, and the standing overrides */
    int32_t wanted;
    int32_t kept;  /* present replicas in cells that still count */
    bool adopting; /* no Placement to go by */
    bool in_place; /* replicas must not move: only zones that hold some are wanted */
};

bool placing_eligible(struct world *world, const struct app *app, const struct child *child) {
    if (!child || !child->valid || child->meta.deleting ||
        strcmp(app->spec.ns, world_options(world)->ns) == 0)
        return false;
    if (app->spec.region && (!child->spec.region || strcmp(app->spec.region, child->spec.region)))
        return false;
    if (!childcluster_allows(&child->spec, app->spec.ns))
        return false;
    return labelselector_matches(app->spec.cluster_selector, child->labels, NULL) > 0;
}

/* Whether replicas may stay in a child at all; in others they are owed to the rest. */
static bool holds(const struct gathering *g, const struct child *child) {
    return placing_eligible(g->world, g->app, child) &&
           child->spec.lifecycle != CHILDCLUSTER_LOST &&
           child->spec.lifecycle != CHILDCLUSTER_DRAINING;
}

static bool is_frozen(const struct gathering *g, const struct child *child) {
    return child->spec.lifecycle == CHILDCLUSTER_CORDONED || !child_known(child) ||
           !child_fresh(child, g->now_ms);
}

/* Among the first count cells. */
static int32_t cell_find(const struct placing *out, int32_t count, const char *zone,
                         const char *cluster) {
    for (int32_t i = 0; i < count; i++)
        if (strcmp(out->cells[i].zone, zone) == 0 && strcmp(out->cells[i].cluster, cluster) == 0)
            return i;
    return -1;
}

static int32_t cell_add(struct gathering *g, const char *zone, const struct child *child) {
    struct placing *out = g->out;

    if (out->cell_count == g->cell_room) {
        g->cell_room = g->cell_room ? g->cell_room * 2 : 16;
        const size_t count = (size_t)g->cell_room;

        out->cells = str_resize(out->cells, count, sizeof *out->cells);
        g->present = str_resize(g->present, count, sizeof *g->present);
        g->rooms = str_resize(g->rooms, count, sizeof *g->rooms);
    }
    const int32_t at = out->cell_count++;

    out->cells[at] = (struct placing_cell){
        .zone = str_dup(zone),
        .cluster = str_dup(child->spec.name),
        .child = child->index,
        .slot = -1,
        .frozen = is_frozen(g, child),
    };
    g->present[at] = 0;
    g->rooms[at] = 0;
    return at;
}

/* Whether replicas of the app may leave their cell for a better one. */
static bool movable(const struct app *app) {
    return app->spec.kind != APPDEFINITION_STATEFULSET ||
           json_array_size(json_object_get(app->spec.workload_spec, "volumeClaimTemplates")) == 0;
}

static struct inventory_wait waiting(const struct gathering *g, const struct child *child,
                                     const char *zone) {
    return inventory_waiting(world_inventory(g->world), g->app->meta.uid, child->index, zone,
                             (int64_t)child->spec.pending_deadline_seconds * 1000);
}

/* Whether no node came to an elastic cell for pods of the app lately; asks to look again after. */
static bool is_barren(struct gathering *g, const struct child *child, const char *zone) {
    if (child->spec.capacity != CHILDCLUSTER_ELASTIC)
        return false;
    const int64_t until_ms = waiting(g, child, zone).barren_until_ms;

    if (until_ms && until_ms < g->out->again_at_ms)
        g->out->again_at_ms = until_ms;
    return until_ms != 0;
}

/* How many of a cell's replicas are owed since their pods waited too long for a node. Replicas with
 * volumes are not given up: which of them waits is not ours to choose. */
static int32_t overdue_of(struct gathering *g, const struct child *child, const char *zone,
                          int32_t replicas) {
    if (child->spec.capacity != CHILDCLUSTER_ELASTIC || is_frozen(g, child) || !movable(g->app))
        return 0;
    const struct inventory_wait wait = waiting(g, child, zone);

    if (wait.due_ms < g->out->again_at_ms)
        g->out->again_at_ms = wait.due_ms;
    return wait.overdue < replicas ? wait.overdue : replicas;
}

/* Cells that the inventory knows, with their room. Only the first cells may be among them already:
 * those that hold replicas. */
static void gather_inventory(struct gathering *g) {
    struct inventory *inventory = world_inventory(g->world);
    const struct inventory_cell *cells;
    const int count = inventory_cells(inventory, &cells);
    const int32_t held = g->out->cell_count;

    for (int i = 0; i < count && g->out->cell_count < TOPOLOGY_CELLS_MAX; i++) {
        const struct child *child = world_child_at(g->world, cells[i].child);

        if (!child || !holds(g, child))
            continue;
        int32_t at = cell_find(g->out, held, cells[i].zone, child->spec.name);

        if (at < 0)
            at = cell_add(g, cells[i].zone, child);
        g->rooms[at] =
            is_barren(g, child, cells[i].zone) ? 0 : inventory_room(inventory, g->app->shape, i);
    }
}

/* Whether some child that may hold replicas of the app cannot be seen. */
static bool children_unknown(const struct gathering *g) {
    for (int i = 0; i < world_child_count(g->world); i++) {
        const struct child *child = world_child_at(g->world, i);

        if (child && holds(g, child) && !child_fresh(child, g->now_ms))
            return true;
    }
    return false;
}

/* What the last Placement assigned. A cell of a child that is gone counts as nothing: its replicas
 * are owed. */
static void gather_decision(struct gathering *g) {
    const struct placement *spec = &g->decision->spec;

    for (int32_t i = 0; i < spec->cell_count; i++) {
        const struct placement_cell *cell = &spec->cells[i];
        const struct child *child = world_child(g->world, cell->cluster);

        if (!child || !holds(g, child))
            continue;
        int32_t at = cell_find(g->out, g->out->cell_count, cell->zone, cell->cluster);

        if (at < 0 && g->out->cell_count < TOPOLOGY_CELLS_MAX)
            at = cell_add(g, cell->zone, child);
        if (at < 0)
            continue;
        const int32_t overdue = overdue_of(g, child, cell->zone, cell->replicas);

        g->present[at] = cell->replicas - overdue;
        g->out->cells[at].slot = cell->slot;
        g->kept += cell->replicas - overdue;
        g->out->overdue += overdue;
    }
}

/* Without a Placement: what the children run is what was decided. */
static void gather_works(struct gathering *g) {
    g->adopting = true;
    for (const struct work *work = world_works(g->world, g->app->spec.uid); work;
         work = work->next) {
        const struct child *child = world_child_at(g->world, work->child);

        if (!child || !holds(g, child) || !work->state.zone)
            continue;
        int32_t at = cell_find(g->out, g->out->cell_count, work->state.zone, child->spec.name);

        if (at < 0 && g->out->cell_count < TOPOLOGY_CELLS_MAX)
            at = cell_add(g, work->state.zone, child);
        if (at < 0)
            continue;
        g->present[at] = work->state.replicas;
        if (work->stateful)
            g->out->cells[at].slot = work->state.ordinals_start / 1000;
        g->kept += work->state.replicas;
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_text(json_t *into, const char *key, char *const *names, int32_t count) {
    char **sorted = str_alloc((size_t)count + 1, sizeof *sorted);
    json_t *list = json_array();

    if (count > 0)
        memcpy(sorted, names, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_name);
    for (int32_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(sorted[i]));
    free(sorted);
    json_object_set_new(into, key, list);
}

static const struct placement_overrides *overrides_of(const struct gathering *g) {
    static const struct placement_overrides none;

    return g->decision && g->decision->valid ? &g->decision->spec.overrides : &none;
}

/* The declared policy with what a person chose to keep of an operation. */
static struct topology_policy policy_of(const struct gathering *g) {
    const struct placement_overrides *kept = overrides_of(g);
    struct topology_policy policy = g->app->spec.policy;

    if (kept->min_zones)
        policy.min_zones = kept->min_zones;
    if (kept->max_zone_percent)
        policy.max_zone_percent = kept->max_zone_percent;
    if (kept->max_cluster_percent)
        policy.max_cluster_percent = kept->max_cluster_percent;
    policy.extension = policy.extension || kept->extension;
    return policy;
}

/* Everything that a decision depends on, but for replicas, inventory and chance. */
static void policy_hash(const struct gathering *g, char ret_hash[RENDER_HASH_SIZE]) {
    const struct app *app = g->app;
    const struct topology_policy *policy = &g->policy;
    const struct placement_overrides *kept = overrides_of(g);
    json_t *all =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:b}", "spread", (int)policy->spread, "whenShort",
                  (int)policy->when_short, "minZones", (int)policy->min_zones, "zonePercent",
                  (int)policy->max_zone_percent, "clusterPercent", (int)policy->max_cluster_percent,
                  "extension", policy->extension);

    list_text(all, "zones", app->spec.zones, app->spec.zone_count);
    list_text(all, "avoid", app->spec.avoid_zones, app->spec.avoid_zone_count);
    if (kept->avoid_zone_count)
        list_text(all, "avoidToo", kept->avoid_zones, kept->avoid_zone_count);
    if (app->spec.region)
        json_object_set_new(all, "region", json_string(app->spec.region));
    if (app->spec.cluster_selector)
        json_object_set(all, "clusters", app->spec.cluster_selector);
    render_hash(all, ret_hash);
    json_decref(all);
}

static bool same(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Why a decision is due. Returns false when none is. */
static bool change_of(const struct gathering *g, enum topology_change *ret_change) {
    const struct decision *decision = g->decision;
    const char *rebalance = g->app->rebalance;
    const char *stored = g->adopting ? NULL : decision->spec.input_hash;
    const char *tail = stored ? strrchr(stored, ':') : NULL;
    const size_t policy_len = strlen("v1:") + RENDER_HASH_SIZE - 1;

    *ret_change = TOPOLOGY_SHORTFALL;
    if (g->adopting)
        *ret_change = g->kept ? TOPOLOGY_REPLICAS : TOPOLOGY_POLICY;
    else if (rebalance && !same(rebalance, decision->rebalanced))
        *ret_change = TOPOLOGY_REBALANCE;
    else if (!tail || strncmp(stored, g->out->input_hash, policy_len) != 0)
        *ret_change = TOPOLOGY_POLICY;
    else if (strcmp(stored, g->out->input_hash) != 0)
        *ret_change = TOPOLOGY_REPLICAS;
    else if (g->kept > g->wanted)
        *ret_change = TOPOLOGY_REPLICAS; /* cells that were frozen kept more than was wanted */
    else
        return g->kept < g->wanted;
    return true;
}

static void zones_gather(struct gathering *g, char **names, int32_t *count) {
    for (int32_t i = 0; i < g->out->cell_count; i++)
        names[(*count)++] = g->out->cells[i].zone;
    for (int32_t i = 0; i < g->app->spec.zone_count; i++)
        names[(*count)++] = g->app->spec.zones[i];
    qsort(names, (size_t)*count, sizeof *names, by_name);
    int32_t kept = 0;

    for (int32_t i = 0; i < *count; i++)
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    *count = kept < TOPOLOGY_ZONES_MAX ? kept : TOPOLOGY_ZONES_MAX;
}

static bool listed(char *const *names, int32_t count, const char *name) {
    for (int32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int32_t index_of(char *const *sorted, int32_t count, const char *name) {
    char *const *at = bsearch(&name, sorted, (size_t)count, sizeof *sorted, by_name);

    return at ? (int32_t)(at - sorted) : -1;
}

static bool zone_is_empty(const struct gathering *g, const char *zone) {
    for (int32_t i = 0; i < g->out->cell_count; i++)
        if (g->present[i] > 0 && strcmp(g->out->cells[i].zone, zone) == 0)
            return false;
    return true;
}

/* Hands the gathered facts to the scheduler and its answer to the result. */
static int decide(struct gathering *g, enum topology_change change, struct err *err) {
    struct placing *out = g->out;
    const int32_t cells = out->cell_count;
    const struct appdefinition *spec = &g->app->spec;
    const struct placement_overrides *kept = overrides_of(g);
    const size_t names_max = (size_t)cells + (size_t)spec->zone_count + 1;
    auto_free char **names = str_alloc(names_max, sizeof *names);
    auto_free char **clusters = str_alloc((size_t)cells + 1, sizeof *clusters);
    int32_t zone_count = 0, cluster_count = 0;

    zones_gather(g, names, &zone_count);
    for (int32_t i = 0; i < cells; i++)
        clusters[i] = out->cells[i].cluster;
    qsort(clusters, (size_t)cells, sizeof *clusters, by_name);
    for (int32_t i = 0; i < cells; i++)
        if (cluster_count == 0 || strcmp(clusters[cluster_count - 1], clusters[i]) != 0)
            clusters[cluster_count++] = clusters[i];

    auto_free struct topology_zone *zones = str_alloc((size_t)zone_count + 1, sizeof *zones);
    auto_free struct topology_cell *in_cells = str_alloc((size_t)cells + 1, sizeof *in_cells);
    auto_free struct topology_cell_result *cell_results =
        str_alloc((size_t)cells + 1, sizeof *cell_results);
    auto_free struct topology_zone_result *zone_results =
        str_alloc((size_t)zone_count + 1, sizeof *zone_results);
    auto_free void *scratch =
        str_alloc(1, topology_scratch_bytes(zone_count, cluster_count, cells) + 8);
    struct topology_result result = {.cells = cell_results, .zones = zone_results};

    for (int32_t i = 0; i < zone_count; i++)
        zones[i] = (struct topology_zone){
            .named = listed(spec->zones, spec->zone_count, names[i]) &&
                     !(g->in_place && zone_is_empty(g, names[i])),
            .avoided = listed(spec->avoid_zones, spec->avoid_zone_count, names[i]) ||
                       listed(kept->avoid_zones, kept->avoid_zone_count, names[i]),
            .tie = topology_tie(spec->uid, names[i]),
        };
    for (int32_t i = 0; i < cells; i++)
        in_cells[i] = (struct topology_cell){
            .zone = index_of(names, zone_count, out->cells[i].zone),
            .cluster = index_of(clusters, cluster_count, out->cells[i].cluster),
            .present = g->present[i],
            .room = g->rooms[i],
            .frozen = out->cells[i].frozen,
            .tie = topology_tie(spec->uid, out->cells[i].cluster),
        };
    const struct topology_input input = {
        .policy = g->policy,
        .change = change,
        .zones = zones,
        .zone_count = zone_count,
        .cluster_count = cluster_count,
        .cells = in_cells,
        .cell_count = cells,
    };
    if (topology_decide(&input, scratch, &result) < 0)
        return err_set(err, ERR_INVALID,
                       "spec: %d zones, %d clusters and %d cells are more than can be decided on",
                       zone_count, cluster_count, cells);
    out->zones = str_alloc((size_t)zone_count + 1, sizeof *out->zones);
    out->zone_count = zone_count;
    for (int32_t i = 0; i < zone_count; i++)
        out->zones[i] = (struct placing_zone){.name = str_dup(names[i]),
                                              .replicas = zone_results[i].replicas,
                                              .reason = zone_results[i].reason};
    for (int32_t i = 0; i < cells; i++) {
        out->cells[i].replicas = cell_results[i].replicas;
        out->cells[i].reason = cell_results[i].reason;
    }
    out->shortfall = result.shortfall;
    out->moves = result.moves;
    out->block = result.block;
    out->beyond_cap = result.beyond_cap;
    out->outcome = result.rejected ? PLACING_REJECTED : PLACING_DECIDED;
    return 0;
}

/* Ordinals of a StatefulSet's cells never meet: a cell keeps its slot, a new one gets the next. */
static void slots_give(struct gathering *g) {
    struct placing *out = g->out;

    if (g->app->spec.kind != APPDEFINITION_STATEFULSET)
        return;
    for (int32_t i = 0; i < out->cell_count; i++)
        if (out->cells[i].slot >= out->next_slot)
            out->next_slot = out->cells[i].slot + 1;
    for (int32_t i = 0; i < out->cell_count; i++)
        if (out->cells[i].replicas > 0 && out->cells[i].slot < 0)
            out->cells[i].slot = out->next_slot++;
}

/* Whether writing the result would change nothing. */
static bool unchanged(const struct gathering *g) {
    const struct placing *out = g->out;

    if (g->adopting || out->overdue || !same(g->decision->spec.input_hash, out->input_hash) ||
        (g->app->rebalance && !same(g->app->rebalance, g->decision->rebalanced)))
        return false;
    for (int32_t i = 0; i < out->cell_count; i++)
        if (out->cells[i].replicas != g->present[i])
            return false;
    for (int32_t i = 0; i < g->decision->spec.cell_count; i++) {
        const struct placement_cell *cell = &g->decision->spec.cells[i];

        if (cell->replicas > 0 && cell_find(out, out->cell_count, cell->zone, cell->cluster) < 0)
            return false;
    }
    return true;
}

/* Fills in the result of a pass that decides nothing. */
static void keep(struct gathering *g) {
    struct placing *out = g->out;
    auto_free char **names =
        str_alloc((size_t)out->cell_count + (size_t)g->app->spec.zone_count + 1, sizeof *names);

    out->outcome = PLACING_KEPT;
    out->shortfall = g->wanted > g->kept ? g->wanted - g->kept : 0;
    zones_gather(g, names, &out->zone_count);
    out->zones = str_alloc((size_t)out->zone_count + 1, sizeof *out->zones);
    for (int32_t i = 0; i < out->zone_count; i++)
        out->zones[i] =
            (struct placing_zone){.name = str_dup(names[i]), .reason = TOPOLOGY_BY_KEEP};
    for (int32_t i = 0; i < out->cell_count; i++) {
        const int32_t zone = index_of(names, out->zone_count, out->cells[i].zone);

        out->cells[i].replicas = g->present[i];
        out->cells[i].reason = g->present[i] ? TOPOLOGY_BY_KEEP : TOPOLOGY_UNUSED;
        if (zone >= 0)
            out->zones[zone].replicas += g->present[i];
    }
}

/* Replicas with volumes leave no zone for the sake of another: only zones that hold some are
 * wanted. */
static void stay_in_place(struct gathering *g) {
    int32_t zones = 0;

    for (int32_t i = 0; i < g->out->cell_count; i++) {
        bool seen = g->present[i] == 0;

        for (int32_t k = 0; k < i && !seen; k++)
            seen = g->present[k] > 0 && strcmp(g->out->cells[i].zone, g->out->cells[k].zone) == 0;
        zones += !seen;
    }
    if (zones > 0 && zones < g->policy.min_zones)
        g->policy.min_zones = zones;
    g->in_place = true;
}

/* Of a result that moves nothing: whether the Placement still has to say what it answers. */
static enum placing_outcome outcome_of(const struct gathering *g) {
    return unchanged(g) ? PLACING_KEPT : PLACING_DECIDED;
}

/* Whether some child that could take replicas is new and has not come yet. */
static bool children_joining(const struct gathering *g) {
    for (int i = 0; i < world_child_count(g->world); i++) {
        const struct child *child = world_child_at(g->world, i);

        if (child && holds(g, child) && child_joining(child, g->now_ms))
            return true;
    }
    return false;
}

static int placing_make(struct gathering *g, struct err *err) {
    enum topology_change change;
    char hash[RENDER_HASH_SIZE];

    if (g->decision && g->decision->valid && g->decision->spec.hash_known)
        gather_decision(g);
    else
        gather_works(g);
    policy_hash(g, hash);
    snprintf(g->out->input_hash, sizeof g->out->input_hash, "v1:%s:%d", hash, (int)g->wanted);
    if (g->adopting && children_unknown(g) &&
        json_integer_value(json_object_get(g->app->status, "placedReplicas")) > 0) {
        keep(g);
        g->out->outcome = PLACING_WAITS;
        g->out->waits_for = "a child cluster that is not reachable: the Placement is missing, and "
                            "what runs there must be seen before it is made again";
        return 0;
    }
    if (!change_of(g, &change)) {
        keep(g);
        return 0;
    }
    if (children_joining(g)) {
        keep(g);
        g->out->outcome = PLACING_WAITS;
        g->out->waits_for = "a child cluster that is being connected";
        return 0;
    }
    if (!movable(g->app) && g->kept > 0) {
        if (g->kept == g->wanted) {
            keep(g);
            g->out->outcome = g->adopting ? PLACING_DECIDED : outcome_of(g);
            slots_give(g);
            return 0;
        }
        change = g->kept < g->wanted ? TOPOLOGY_SHORTFALL : TOPOLOGY_REPLICAS;
        stay_in_place(g);
    }
    g->out->change = change;
    gather_inventory(g);
    const int r = decide(g, change, err);

    if (r < 0)
        return r;
    if (g->out->outcome == PLACING_REJECTED)
        return 0;
    g->out->rebalanced = g->app->rebalance;
    slots_give(g);
    g->out->outcome = outcome_of(g);
    return 0;
}

int placing_decide(struct world *world, const struct app *app, const struct decision *decision,
                   int64_t now_ms, struct placing *ret, struct err *err) {
    struct placing out = {.again_at_ms = INT64_MAX};
    struct gathering g = {
        .world = world,
        .app = app,
        .decision = decision,
        .now_ms = now_ms,
        .out = &out,
        .wanted = app->spec.policy.replicas,
    };

    g.policy = policy_of(&g);
    const int r = placing_make(&g, err);

    free(g.present);
    free(g.rooms);
    if (r < 0) {
        placing_done(&out);
        return r;
    }
    *ret = out;
    return 0;
}

void placing_done(struct placing *placing) {
    for (int32_t i = 0; i < placing->cell_count; i++) {
        free(placing->cells[i].zone);
        free(placing->cells[i].cluster);
    }
    for (int32_t i = 0; i < placing->zone_count; i++)
        free(placing->zones[i].name);
    free(placing->cells);
    free(placing->zones);
    *placing = (struct placing){0};
}
