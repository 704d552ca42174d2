#include "api/objectname.h"
#include "base/str.h"
#include "controller/inventory_state.h"

#include <stdlib.h>
#include <string.h>

static int by_zone_and_child(const void *a, const void *b) {
    const struct inventory_cell *one = a, *two = b;
    const int order = strcmp(one->zone, two->zone);

    return order ? order : (one->child > two->child) - (one->child < two->child);
}

static int by_cell_and_name(const void *a, const void *b) {
    const struct inventory_node *one = *(struct inventory_node *const *)a;
    const struct inventory_node *two = *(struct inventory_node *const *)b;

    return one->cell != two->cell ? (one->cell > two->cell) - (one->cell < two->cell)
                                  : strcmp(one->name, two->name);
}

/* How early the map names the label value; a value outside comes last. */
static int32_t value_rank(const struct member *member, const char *value) {
    int32_t rank = 0;

    while (rank < member->map_count && member->map[rank].value != value)
        rank++;
    return rank;
}

static void cell_note(struct inventory *inventory, int *room, int child, const char *zone,
                      const char *value) {
    char label[64];

    objectname_zone_label(zone, label);
    const char *shared = inventory_intern(inventory, label);

    if (!shared)
        return;
    if (inventory->cell_count == *room) {
        *room = *room ? *room * 2 : 64;
        inventory->cells = str_resize(inventory->cells, (size_t)*room, sizeof *inventory->cells);
    }
    inventory->cells[inventory->cell_count++] = (struct inventory_cell){
        .child = child,
        .zone = names_hold(inventory->names, zone),
        .label = shared,
        .value = names_hold(inventory->names, value),
    };
}

/* Among the first count cells, which are sorted. */
static int cell_find(const struct inventory *inventory, int count, int child, const char *zone) {
    const struct inventory_cell wanted = {.child = child, .zone = zone};
    const struct inventory_cell *at =
        count ? bsearch(&wanted, inventory->cells, (size_t)count, sizeof wanted, by_zone_and_child)
              : NULL;

    return at ? (int)(at - inventory->cells) : -1;
}

/* Sorts the cells and makes each unique, with the label value that the map names first. */
static void cells_sort(struct inventory *inventory) {
    int kept = 0;

    if (inventory->cell_count)
        qsort(inventory->cells, (size_t)inventory->cell_count, sizeof *inventory->cells,
              by_zone_and_child);
    for (int i = 0; i < inventory->cell_count; i++) {
        struct inventory_cell *cell = &inventory->cells[i];
        struct inventory_cell *last = kept > 0 ? &inventory->cells[kept - 1] : NULL;
        const struct member *member = &inventory->members[cell->child];

        if (!last || by_zone_and_child(last, cell) != 0) {
            inventory->cells[kept++] = *cell;
            continue;
        }
        if (value_rank(member, cell->value) < value_rank(member, last->value)) {
            const char *better = cell->value;

            cell->value = last->value;
            last->value = better;
        }
        inventory_cell_drop(inventory, cell);
    }
    while (kept > ROOM_CELLS_MAX)
        inventory_cell_drop(inventory, &inventory->cells[--kept]);
    inventory->cell_count = kept;
}

/* A cell for every zone that a node is in, then for every elastic zone without nodes. */
static void cells_collect(struct inventory *inventory) {
    struct inventory_node *node, *next;
    int room = 0;

    HASH_ITER(hh, inventory->nodes, node, next) {
        const struct member *member = node->present ? &inventory->members[node->child] : NULL;
        const char *zone = member ? inventory_zone_of(member, &node->node) : NULL;

        if (zone)
            cell_note(inventory, &room, node->child, zone,
                      node_label(&node->node, member->zone_label));
    }
    cells_sort(inventory);
    const int noded = inventory->cell_count;

    for (int child = 0; child < inventory->member_room; child++) {
        const struct member *member = &inventory->members[child];

        for (int32_t i = 0; i < member->elastic_count; i++) {
            const char *zone = member->elastics[i].zone;
            int32_t at = 0;

            if (!zone || cell_find(inventory, noded, child, zone) >= 0)
                continue;
            while (at < member->map_count && member->map[at].zone != zone)
                at++;
            cell_note(inventory, &room, child, zone,
                      at < member->map_count ? member->map[at].value : zone);
        }
    }
    cells_sort(inventory);
}

/* Gives every node its cell and slot, slots in ascending order of name; fills counts by cell. */
static void slots_give(struct inventory *inventory, int32_t *counts) {
    const size_t all = HASH_COUNT(inventory->nodes);
    struct inventory_node **order = str_alloc(all + 1, sizeof(struct inventory_node *));
    struct inventory_node *node, *next;
    size_t count = 0;

    HASH_ITER(hh, inventory->nodes, node, next) {
        const char *zone =
            node->present ? inventory_zone_of(&inventory->members[node->child], &node->node) : NULL;

        node->changed = false;
        node->cell = zone ? cell_find(inventory, inventory->cell_count, node->child, zone) : -1;
        if (node->cell >= 0)
            order[count++] = node;
    }
    qsort(order, count, sizeof(struct inventory_node *), by_cell_and_name);
    while (count > ROOM_NODES_MAX)
        order[--count]->cell = -1; /* too little room is safe */
    for (size_t i = 0; i < count; i++) {
        order[i]->slot = counts[order[i]->cell]++;
        inventory->cells[order[i]->cell].nodes = counts[order[i]->cell];
    }
    free(order);
}

static void elastic_show(struct inventory *inventory, int cell) {
    const struct inventory_cell *at = &inventory->cells[cell];
    const struct member *member = &inventory->members[at->child];

    for (int32_t i = 0; i < member->elastic_count; i++)
        if (member->elastics[i].zone == at->zone)
            room_elastic_set(&inventory->table, cell, member->elastics[i].max,
                             inventory->committed[cell]);
}

static int by_label(const void *a, const void *b, void *cells) {
    const struct inventory_cell *two = (struct inventory_cell *)cells + *(const int *)b;

    return inventory_by_label((struct inventory_cell *)cells + *(const int *)a, two->label,
                              two->child);
}

/* Takes memory for what is kept by cell and by node. */
static void totals_init(struct inventory *inventory) {
    const size_t cells = (size_t)inventory->cell_count;

    inventory->by_label = str_alloc(cells + 1, sizeof *inventory->by_label);
    inventory->pending = str_alloc(cells * ROOM_SHAPES_MAX + 1, sizeof *inventory->pending);
    inventory->committed = str_alloc(cells + 1, sizeof *inventory->committed);
    inventory->unsettled = str_alloc(cells + 1, sizeof *inventory->unsettled);
    inventory->unsettled_cells = str_alloc(cells + 1, sizeof *inventory->unsettled_cells);
    inventory->unsettled_count = 0;
    inventory->changed_nodes =
        str_alloc(HASH_COUNT(inventory->nodes) + 1, sizeof *inventory->changed_nodes);
    inventory->changed_count = 0;
    for (int i = 0; i < inventory->cell_count; i++)
        inventory->by_label[i] = i;
    if (cells)
        qsort_r(inventory->by_label, cells, sizeof *inventory->by_label, by_label,
                inventory->cells);
}

static void table_init(struct inventory *inventory, const int32_t *counts) {
    struct inventory_node *node, *next;
    const int shape_count = shapes_count(inventory->shapes);

    room_table_init(&inventory->table, inventory->cell_count, counts, shape_count);
    shapes_taints_forget(inventory->shapes);
    HASH_ITER(hh, inventory->nodes, node, next) {
        struct room_node seen;

        if (node->cell >= 0)
            shapes_node(inventory->shapes, &node->node, &seen); /* numbers its taints */
    }
    for (int i = 0; i < shape_count; i++) {
        const struct room_shape shape = shapes_room(inventory->shapes, i);

        room_shape_set(&inventory->table, i, &shape);
    }
}

/* Builds cells, slots and the room table from all that is known. */
static void rebuild(struct inventory *inventory) {
    struct inventory_node *node, *next_node;
    struct presence *presence, *next_presence;

    inventory_cells_free(inventory);
    cells_collect(inventory);
    int32_t *counts = str_alloc((size_t)inventory->cell_count + 1, sizeof *counts);

    slots_give(inventory, counts);
    totals_init(inventory);
    table_init(inventory, counts);
    free(counts);
    inventory->stale = false;
    HASH_ITER(hh, inventory->nodes, node, next_node) {
        if (node->cell >= 0)
            inventory_node_show(inventory, node);
    }
    HASH_ITER(hh, inventory->presences, presence, next_presence) {
        presence->cell = inventory_cell_of(inventory, (int)presence->key.child, presence->key.zone);
        presence->charged = 0;
        presence->committed = 0;
        inventory_presence_charge(inventory, presence);
    }
    for (int i = 0; i < inventory->cell_count; i++)
        inventory_cell_unsettle(inventory, i);
}

/* An event may have come and gone again: only what differs in the end costs a new charge. */
static void cell_settle(struct inventory *inventory, int cell) {
    struct room_table *table = &inventory->table;
    const int32_t *pending = &inventory->pending[cell * ROOM_SHAPES_MAX];

    inventory->unsettled[cell] = false;
    elastic_show(inventory, cell);
    for (int shape = 0; shape < table->shape_count; shape++)
        if (table->pendings[shape * table->cell_count + cell] != pending[shape])
            room_pending_set(table, shape, cell, pending[shape]);
    if (table->cells[cell].unsettled)
        room_settle(table, cell);
}

void inventory_settle(struct inventory *inventory) {
    for (int i = 0; i < inventory->changed_count && !inventory->stale; i++)
        inventory->stale = !inventory_node_show(inventory, inventory->changed_nodes[i]);
    inventory->changed_count = 0;
    if (inventory->stale)
        rebuild(inventory);
    for (int i = 0; i < inventory->unsettled_count; i++)
        cell_settle(inventory, inventory->unsettled_cells[i]);
    inventory->unsettled_count = 0;
}
