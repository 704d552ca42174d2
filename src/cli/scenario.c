#include "cli/scenario.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static int read_cell(const json_t *entry, size_t index, const char *count_key,
                     struct scenario_cell *ret_cell, struct err *err);
static struct scenario_cell *find_cell(const struct scenario *scenario, const char *zone,
                                       const char *cluster);
static struct scenario_cell *add_cell(struct scenario *scenario, const char *zone,
                                      const char *cluster);
static int32_t sorted_names(const struct scenario *scenario, bool zones, const char ***ret_names);
static int32_t name_index(const char **names, int32_t count, const char *name);
static bool name_listed(char *const *names, int32_t count, const char *name);

void scenario_init(struct scenario *scenario) {
    *scenario = (struct scenario){0};
}

void scenario_done(struct scenario *scenario) {
    if (!scenario)
        return;
    for (int32_t i = 0; i < scenario->cell_count; i++) {
        free(scenario->cells[i].zone);
        free(scenario->cells[i].cluster);
    }
    for (int32_t i = 0; i < scenario->named_count; i++)
        free(scenario->named_zones[i]);
    for (int32_t i = 0; i < scenario->avoided_count; i++)
        free(scenario->avoided_zones[i]);
    free(scenario->cells);
    free(scenario->named_zones);
    free(scenario->avoided_zones);
    free(scenario->salt);
    *scenario = (struct scenario){0};
}

void scenario_add_name(char ***names, int32_t *count, const char *name) {
    *names = str_resize(*names, (size_t)*count + 1, sizeof(char *));
    (*names)[(*count)++] = str_dup(name);
}

int scenario_read_inventory(struct scenario *scenario, const json_t *root, struct err *err) {
    const json_t *cells = json_object_get(root, "cells");
    json_t *entry;
    size_t i;

    if (!json_is_array(cells))
        return err_set(err, ERR_INVALID,
                       "cells: required, a list of {zone, cluster, room, frozen}");
    json_array_foreach(cells, i, entry) {
        struct scenario_cell cell = {0};
        const int r = read_cell(entry, i, "room", &cell, err);

        if (r < 0)
            return r;
        if (find_cell(scenario, cell.zone, cell.cluster))
            return err_set(err, ERR_INVALID,
                           "cells[%zu]: zone %s of cluster %s is listed twice; keep one", i,
                           cell.zone, cell.cluster);
        if (scenario->cell_count == SCENARIO_CELLS_MAX)
            return err_set(err, ERR_INVALID, "cells: more than %d", SCENARIO_CELLS_MAX);
        struct scenario_cell *added = add_cell(scenario, cell.zone, cell.cluster);

        added->room = cell.room;
        added->frozen = cell.frozen;
    }
    return 0;
}

int scenario_read_placement(struct scenario *scenario, const json_t *root, struct err *err) {
    const json_t *cells = json_object_get(json_object_get(root, "spec"), "cells");
    json_t *entry;
    size_t i;

    if (!json_is_array(cells))
        return err_set(err, ERR_INVALID, "spec.cells: required in a Placement, may be empty");
    json_array_foreach(cells, i, entry) {
        struct scenario_cell cell = {0};
        const int r = read_cell(entry, i, "replicas", &cell, err);

        if (r < 0)
            return err_wrap(err, r, "spec");
        struct scenario_cell *known = find_cell(scenario, cell.zone, cell.cluster);

        if (!known) {
            if (scenario->cell_count == SCENARIO_CELLS_MAX)
                return err_set(err, ERR_INVALID, "spec.cells: more than %d", SCENARIO_CELLS_MAX);
            known = add_cell(scenario, cell.zone, cell.cluster);
            known->frozen = true;
        }
        known->present = cell.room; /* read_cell() leaves the asked-for count in room */
    }
    return 0;
}

/* Borrows the names from entry; the count under count_key comes back in .room. */
static int read_cell(const json_t *entry, size_t index, const char *count_key,
                     struct scenario_cell *ret_cell, struct err *err) {
    const json_t *zone = json_object_get(entry, "zone");
    const json_t *cluster = json_object_get(entry, "cluster");
    const json_t *count = json_object_get(entry, count_key);
    const json_t *frozen = json_object_get(entry, "frozen");
    const char *key;
    json_t *value;

    if (!json_is_object(entry))
        return err_set(err, ERR_INVALID, "cells[%zu]: not an object", index);
    json_object_foreach((json_t *)entry, key, value) {
        if (strcmp(key, "zone") != 0 && strcmp(key, "cluster") != 0 &&
            strcmp(key, count_key) != 0 && strcmp(key, "frozen") != 0 && strcmp(key, "slot") != 0 &&
            strcmp(key, "reason") != 0)
            return err_set(err, ERR_INVALID, "cells[%zu].%s: unknown field", index, key);
    }
    if (!json_string_length(zone))
        return err_set(err, ERR_INVALID, "cells[%zu].zone: required, the zone's name", index);
    if (!json_string_length(cluster))
        return err_set(err, ERR_INVALID, "cells[%zu].cluster: required, the child's name", index);
    if (!json_is_integer(count) || json_integer_value(count) < 0 ||
        json_integer_value(count) > TOPOLOGY_REPLICAS_MAX)
        return err_set(err, ERR_INVALID, "cells[%zu].%s: required, a whole number from 0 to %d",
                       index, count_key, TOPOLOGY_REPLICAS_MAX);
    if (frozen && !json_is_boolean(frozen))
        return err_set(err, ERR_INVALID, "cells[%zu].frozen: must be true or false", index);
    ret_cell->zone = (char *)json_string_value(zone);
    ret_cell->cluster = (char *)json_string_value(cluster);
    ret_cell->room = (int32_t)json_integer_value(count);
    ret_cell->frozen = json_is_true(frozen);
    return 0;
}

static struct scenario_cell *find_cell(const struct scenario *scenario, const char *zone,
                                       const char *cluster) {
    for (int32_t i = 0; i < scenario->cell_count; i++) {
        struct scenario_cell *cell = &scenario->cells[i];

        if (strcmp(cell->zone, zone) == 0 && strcmp(cell->cluster, cluster) == 0)
            return cell;
    }
    return NULL;
}

static struct scenario_cell *add_cell(struct scenario *scenario, const char *zone,
                                      const char *cluster) {
    scenario->cells =
        str_resize(scenario->cells, (size_t)scenario->cell_count + 1, sizeof(scenario->cells[0]));
    struct scenario_cell *cell = &scenario->cells[scenario->cell_count++];

    *cell = (struct scenario_cell){.zone = str_dup(zone), .cluster = str_dup(cluster)};
    return cell;
}

int scenario_problem_init(struct scenario_problem *problem, const struct scenario *scenario,
                          enum topology_change change, struct err *err) {
    const size_t count = (size_t)scenario->cell_count;

    *problem = (struct scenario_problem){0};
    const int32_t zones = sorted_names(scenario, true, &problem->zone_names);
    const int32_t clusters = sorted_names(scenario, false, &problem->cluster_names);

    if (zones > TOPOLOGY_ZONES_MAX || clusters > TOPOLOGY_CLUSTERS_MAX) {
        scenario_problem_done(problem);
        return err_set(err, ERR_INVALID, "%d zones and %d clusters: at most %d and %d", zones,
                       clusters, TOPOLOGY_ZONES_MAX, TOPOLOGY_CLUSTERS_MAX);
    }
    problem->zones = str_alloc((size_t)zones, sizeof(struct topology_zone));
    problem->cells = str_alloc(count, sizeof(struct topology_cell));
    problem->result.cells = str_alloc(count, sizeof(struct topology_cell_result));
    problem->result.zones = str_alloc((size_t)zones, sizeof(struct topology_zone_result));
    for (int32_t z = 0; z < zones; z++) {
        const char *name = problem->zone_names[z];

        problem->zones[z] = (struct topology_zone){
            .named = name_listed(scenario->named_zones, scenario->named_count, name),
            .avoided = name_listed(scenario->avoided_zones, scenario->avoided_count, name),
            .tie = topology_tie(scenario->salt, name)};
    }
    for (size_t i = 0; i < count; i++) {
        const struct scenario_cell *cell = &scenario->cells[i];

        problem->cells[i] = (struct topology_cell){
            .zone = name_index(problem->zone_names, zones, cell->zone),
            .cluster = name_index(problem->cluster_names, clusters, cell->cluster),
            .present = cell->present,
            .room = cell->room,
            .frozen = cell->frozen,
            .tie = topology_tie(scenario->salt, cell->cluster)};
    }
    problem->input = (struct topology_input){.policy = scenario->policy,
                                             .change = change,
                                             .zones = problem->zones,
                                             .zone_count = zones,
                                             .cluster_count = clusters,
                                             .cells = problem->cells,
                                             .cell_count = scenario->cell_count};
    problem->scratch = str_alloc(topology_scratch_bytes(zones, clusters, scenario->cell_count), 1);
    return 0;
}

void scenario_problem_done(struct scenario_problem *problem) {
    free(problem->zones);
    free(problem->zone_names);
    free(problem->cluster_names);
    free(problem->cells);
    free(problem->result.cells);
    free(problem->result.zones);
    free(problem->scratch);
    *problem = (struct scenario_problem){0};
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The distinct names of zones or clusters, ascending, named zones that no cell has included. */
static int32_t sorted_names(const struct scenario *scenario, bool zones, const char ***ret_names) {
    const size_t extra = zones ? (size_t)scenario->named_count : 0;
    const size_t total = (size_t)scenario->cell_count + extra;
    const char **names = str_alloc(total, sizeof(char *));
    int32_t count = 0;

    for (size_t i = 0; i < (size_t)scenario->cell_count; i++)
        names[i] = zones ? scenario->cells[i].zone : scenario->cells[i].cluster;
    for (size_t i = 0; i < extra; i++)
        names[(size_t)scenario->cell_count + i] = scenario->named_zones[i];
    qsort(names, total, sizeof(char *), by_name);
    for (size_t i = 0; i < total; i++)
        if (count == 0 || strcmp(names[count - 1], names[i]) != 0)
            names[count++] = names[i];
    *ret_names = names;
    return count;
}

/* Where a name that is in the sorted list stands. */
static int32_t name_index(const char **names, int32_t count, const char *name) {
    const char **found = bsearch(&name, names, (size_t)count, sizeof(char *), by_name);

    return (int32_t)(found - names);
}

static bool name_listed(char *const *names, int32_t count, const char *name) {
    for (int32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}
