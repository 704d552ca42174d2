#include "api/placement.h"

#include "api/fields.h"
#include "base/str.h"
#include "core/topology.h"

#include <stdlib.h>
#include <string.h>

static const char *const known[] = {
    "apiVersion",
    "kind",
    "metadata",
    "status",
    "spec",
    "spec.inputHash",
    "spec.cells",
    "spec.cells[].zone",
    "spec.cells[].cluster",
    "spec.cells[].replicas",
    "spec.cells[].slot",
    "spec.revisions",
    "spec.revisions[].zone",
    "spec.revisions[].revision",
    "spec.overrides",
    "spec.overrides.avoidZones",
    "spec.overrides.minZones",
    "spec.overrides.maxZonePercent",
    "spec.overrides.maxClusterPercent",
    "spec.overrides.extension",
    NULL,
};

static int read_spec(const json_t *root, struct placement *placement, struct err *err);

int placement_parse(const json_t *root, struct placement *ret_placement, struct err *err) {
    struct placement placement = {0};
    const char *name;
    const char *ns;
    int r;

    if ((r = fields_header(root, "Placement", 40, &name, &ns, err)) < 0 ||
        (r = fields_check_known(root, known, err)) < 0)
        return r;
    placement.name = str_dup(name);
    placement.ns = str_dup(ns);
    r = read_spec(root, &placement, err);
    if (r < 0) {
        placement_done(&placement);
        return r;
    }
    *ret_placement = placement;
    return 0;
}

void placement_done(struct placement *placement) {
    if (!placement)
        return;
    for (int32_t i = 0; i < placement->cell_count; i++) {
        free(placement->cells[i].zone);
        free(placement->cells[i].cluster);
    }
    for (int32_t i = 0; i < placement->revision_count; i++) {
        free(placement->revisions[i].zone);
        free(placement->revisions[i].revision);
    }
    for (int32_t i = 0; i < placement->overrides.avoid_zone_count; i++)
        free(placement->overrides.avoid_zones[i]);
    free(placement->overrides.avoid_zones);
    free(placement->cells);
    free(placement->revisions);
    free(placement->input_hash);
    free(placement->name);
    free(placement->ns);
    *placement = (struct placement){0};
}

static int by_place(const void *a, const void *b) {
    const struct placement_cell *x = a;
    const struct placement_cell *y = b;
    int r = strcmp(x->zone, y->zone);

    return r ? r : strcmp(x->cluster, y->cluster);
}

/* Cells are kept in ascending order of zone and cluster, so that twins are neighbours. */
static int sort_cells(struct placement *placement, struct err *err) {
    if (placement->cell_count > 1)
        qsort(placement->cells, (size_t)placement->cell_count, sizeof(*placement->cells), by_place);
    for (int32_t i = 1; i < placement->cell_count; i++)
        if (by_place(&placement->cells[i - 1], &placement->cells[i]) == 0)
            return err_set(err, ERR_INVALID,
                           "spec.cells: zone \"%s\" in cluster \"%s\" stands there twice; add the "
                           "replicas up in one",
                           placement->cells[i].zone, placement->cells[i].cluster);
    return 0;
}

static int read_cells(const struct fields *spec, struct placement *placement, struct err *err) {
    const json_t *list;
    int64_t sum = 0;
    int r = fields_list(spec, "cells", PLACEMENT_CELLS_MAX, &list, err);

    if (r < 0 || json_array_size(list) == 0)
        return r < 0 ? r : 0;
    placement->cells = str_alloc(json_array_size(list), sizeof(*placement->cells));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct fields item;
        struct placement_cell cell = {.slot = -1};
        const char *zone;
        const char *cluster;

        if ((r = fields_item(spec, "cells", list, i, &item, err)) < 0 ||
            (r = fields_text_required(&item, "zone", 63, &zone, err)) < 0 ||
            (r = fields_text_required(&item, "cluster", 63, &cluster, err)) < 0 ||
            (r = fields_int(&item, "slot", 0, PLACEMENT_SLOT_MAX, &cell.slot, err)) < 0 ||
            (r = fields_int(&item, "replicas", 0, TOPOLOGY_REPLICAS_MAX, &cell.replicas, err)) < 0)
            return r;
        if (r == 0)
            return err_set(err, ERR_INVALID, "%s.replicas: missing; write 0 for none", item.path);
        sum += cell.replicas;
        cell.zone = str_dup(zone);
        cell.cluster = str_dup(cluster);
        placement->cells[placement->cell_count++] = cell;
    }
    if (sum > TOPOLOGY_REPLICAS_MAX)
        return err_set(err, ERR_INVALID, "spec.cells: %lld replicas in all, at most %d; lower them",
                       (long long)sum, TOPOLOGY_REPLICAS_MAX);
    return sort_cells(placement, err);
}

static int read_revisions(const struct fields *spec, struct placement *placement, struct err *err) {
    const json_t *list;
    int r = fields_list(spec, "revisions", TOPOLOGY_ZONES_MAX, &list, err);

    if (r < 0 || json_array_size(list) == 0)
        return r < 0 ? r : 0;
    placement->revisions = str_alloc(json_array_size(list), sizeof(*placement->revisions));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct fields item;
        const char *zone;
        const char *revision;

        if ((r = fields_item(spec, "revisions", list, i, &item, err)) < 0 ||
            (r = fields_text_required(&item, "zone", 63, &zone, err)) < 0 ||
            (r = fields_text_required(&item, "revision", 253, &revision, err)) < 0)
            return r;
        for (int32_t j = 0; j < placement->revision_count; j++)
            if (strcmp(placement->revisions[j].zone, zone) == 0)
                return err_set(err, ERR_INVALID, "%s.zone: \"%s\" stands there twice; remove one",
                               item.path, zone);
        placement->revisions[placement->revision_count++] =
            (struct placement_revision){str_dup(zone), str_dup(revision)};
    }
    return 0;
}

static int read_overrides(const struct fields *spec, struct placement_overrides *ret,
                          struct err *err) {
    static const char *const extensions[] = {"Forbidden", "Allowed", NULL};
    struct fields overrides;
    int extension = 0;
    int r;

    if ((r = fields_child(spec, "overrides", &overrides, err)) < 0 ||
        (r = fields_names(&overrides, "avoidZones", TOPOLOGY_ZONES_MAX, &ret->avoid_zones,
                          &ret->avoid_zone_count, err)) < 0 ||
        (r = fields_int(&overrides, "minZones", 1, TOPOLOGY_ZONES_MAX, &ret->min_zones, err)) < 0 ||
        (r = fields_int(&overrides, "maxZonePercent", 1, 100, &ret->max_zone_percent, err)) < 0 ||
        (r = fields_int(&overrides, "maxClusterPercent", 1, 100, &ret->max_cluster_percent, err)) <
            0 ||
        (r = fields_enum(&overrides, "extension", extensions, &extension, err)) < 0)
        return r;
    ret->extension = extension == 1;
    return 0;
}

static int read_spec(const json_t *root, struct placement *placement, struct err *err) {
    const struct fields top = {.object = root};
    struct fields spec;
    const char *hash = NULL;
    int r;

    if ((r = fields_child(&top, "spec", &spec, err)) < 0 ||
        (r = fields_text(&spec, "inputHash", 128, &hash, err)) < 0)
        return r;
    placement->input_hash = str_dup(hash);
    placement->hash_known = hash && strncmp(hash, "v1:", 3) == 0 && hash[3];
    if ((r = read_cells(&spec, placement, err)) < 0 ||
        (r = read_revisions(&spec, placement, err)) < 0 ||
        (r = read_overrides(&spec, &placement->overrides, err)) < 0)
        return r;
    return 0;
}
