#include "core/room.h"

#include "base/err.h"
#include "base/str.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define AMOUNT_MAX (INT64_MAX / 4) /* sums and differences of two stay inside 64 bits */

static int64_t clamp(int64_t amount);
static bool may_run(const struct room_node *node, const struct room_shape *shape);
static void free_of(const struct room_slot *slot, struct room_amount *ret_free);
static void fit_put(struct room_table *table, int32_t slot, int32_t shape, int32_t fit);
static void slot_refit(struct room_table *table, int32_t slot);
static void slot_charge(struct room_table *table, int32_t slot, int32_t shape, int32_t count);
static int32_t charge(struct room_table *table, int32_t shape, int32_t cell, int32_t count);
static int32_t water_level(const struct room_table *table, int32_t shape,
                           const struct room_cell *cell, int32_t count, int32_t *ret_above);
static int32_t add_capped(int32_t a, int32_t b);

int room_table_init(struct room_table *table, int32_t cell_count, const int32_t *slot_counts,
                    int32_t shape_count) {
    int64_t slots = 0;

    if (cell_count < 0 || cell_count > ROOM_CELLS_MAX || shape_count < 0 ||
        shape_count > ROOM_SHAPES_MAX)
        return ERR_INVALID;
    for (int32_t i = 0; i < cell_count; i++) {
        if (slot_counts[i] < 0)
            return ERR_INVALID;
        slots += slot_counts[i];
    }
    if (slots > ROOM_NODES_MAX)
        return ERR_INVALID;
    size_t cells = (size_t)cell_count, shapes = (size_t)shape_count, nodes = (size_t)slots;
    *table = (struct room_table){
        .cell_count = cell_count,
        .slot_count = (int32_t)slots,
        .shape_count = shape_count,
        .shapes = str_alloc(shapes + 1, sizeof(struct room_shape)),
        .cells = str_alloc(cells + 1, sizeof(struct room_cell)),
        .slots = str_alloc(nodes + 1, sizeof(struct room_slot)),
        .fits = str_alloc(nodes * shapes + 1, sizeof(int32_t)),
        .sums = str_alloc(cells * shapes + 1, sizeof(int32_t)),
        .pendings = str_alloc(cells * shapes + 1, sizeof(int32_t)),
    };
    int32_t first = 0;
    for (int32_t i = 0; i < cell_count; i++) {
        table->cells[i].first_slot = first;
        table->cells[i].slot_count = slot_counts[i];
        table->cells[i].elastic_max = ROOM_NOT_ELASTIC;
        for (int32_t k = 0; k < slot_counts[i]; k++)
            table->slots[first++].cell = i;
    }
    return 0;
}

void room_table_done(struct room_table *table) {
    if (!table)
        return;
    free(table->shapes);
    free(table->cells);
    free(table->slots);
    free(table->fits);
    free(table->sums);
    free(table->pendings);
    *table = (struct room_table){0};
}

bool room_tolerates(const struct room_toleration *toleration, const struct room_taint *taint) {
    if (toleration->effect != ROOM_EFFECT_ANY && toleration->effect != taint->effect)
        return false;
    if (toleration->key == 0)
        return toleration->exists;
    if (toleration->key != taint->key)
        return false;
    return toleration->exists || toleration->value == taint->value;
}

void room_tolerated(const struct room_taint *taints, int32_t taint_count,
                    const struct room_toleration *tolerations, int32_t toleration_count,
                    struct room_ids *ret_ids) {
    *ret_ids = (struct room_ids){0};
    for (int32_t i = 0; i < taint_count && i < ROOM_ID_COUNT; i++) {
        bool passes = taints[i].effect == ROOM_PREFER_NO_SCHEDULE;
        for (int32_t k = 0; k < toleration_count && !passes; k++)
            passes = room_tolerates(&tolerations[k], &taints[i]);
        if (passes)
            room_ids_add(ret_ids, (uint32_t)i);
    }
}

bool room_ids_add(struct room_ids *ids, uint32_t id) {
    if (id >= ROOM_ID_COUNT)
        return false;
    ids->word[id / 64] |= UINT64_C(1) << (id % 64);
    return true;
}

void room_shape_set(struct room_table *table, int32_t shape, const struct room_shape *value) {
    assert(shape >= 0 && shape < table->shape_count);
    struct room_shape *mine = &table->shapes[shape];

    *mine = *value;
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        mine->request.of[i] = clamp(mine->request.of[i]);
    mine->request.of[ROOM_PODS] = 1;
    for (int32_t s = 0; s < table->slot_count; s++) {
        struct room_slot *slot = &table->slots[s];
        struct room_amount left;
        bool runs = may_run(&slot->node, mine);

        free_of(slot, &left);
        slot->usable &= ~(UINT64_C(1) << shape);
        slot->usable |= (uint64_t)runs << shape;
        fit_put(table, s, shape, runs ? room_fit(&left, &mine->request) : 0);
    }
    for (int32_t c = 0; c < table->cell_count; c++)
        table->cells[c].unsettled |= table->cells[c].pending > 0;
}

int room_node_set(struct room_table *table, int32_t cell, int32_t slot,
                  const struct room_node *node) {
    assert(cell >= 0 && cell < table->cell_count);
    struct room_cell *home = &table->cells[cell];
    assert(slot >= 0 && slot < home->slot_count);
    int32_t at = home->first_slot + slot;
    struct room_slot *mine = &table->slots[at];

    mine->node = node ? *node : (struct room_node){0};
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++) {
        mine->node.allocatable.of[i] = clamp(mine->node.allocatable.of[i]);
        mine->node.requested.of[i] = clamp(mine->node.requested.of[i]);
    }
    if (mine->node.allocatable.of[ROOM_PODS] > ROOM_NODE_PODS_MAX)
        mine->node.allocatable.of[ROOM_PODS] = ROOM_NODE_PODS_MAX;
    mine->usable = 0;
    for (int32_t s = 0; s < table->shape_count; s++)
        mine->usable |= (uint64_t)may_run(&mine->node, &table->shapes[s]) << s;
    slot_refit(table, at);
    home->unsettled |= home->pending > 0;
    return home->unsettled;
}

void room_elastic_set(struct room_table *table, int32_t cell, int32_t max, int32_t committed) {
    assert(cell >= 0 && cell < table->cell_count);
    table->cells[cell].elastic_max = max < 0 ? ROOM_NOT_ELASTIC : max;
    table->cells[cell].committed = committed < 0 ? 0 : committed;
}

void room_pending_set(struct room_table *table, int32_t shape, int32_t cell, int32_t count) {
    assert(shape >= 0 && shape < table->shape_count && cell >= 0 && cell < table->cell_count);
    struct room_cell *home = &table->cells[cell];
    int64_t sum = 0;

    table->pendings[shape * table->cell_count + cell] = count < 0 ? 0 : count;
    for (int32_t s = 0; s < table->shape_count; s++)
        sum += table->pendings[s * table->cell_count + cell];
    home->pending = sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
    home->unsettled = true;
}

void room_settle(struct room_table *table, int32_t cell) {
    assert(cell >= 0 && cell < table->cell_count);
    struct room_cell *home = &table->cells[cell];

    for (int32_t i = 0; i < home->slot_count; i++) {
        table->slots[home->first_slot + i].charged = (struct room_amount){0};
        slot_refit(table, home->first_slot + i);
    }
    for (int32_t s = 0; s < table->shape_count; s++)
        charge(table, s, cell, table->pendings[s * table->cell_count + cell]);
    home->unsettled = false;
}

int32_t room_reserve(struct room_table *table, int32_t shape, int32_t cell, int32_t count) {
    assert(shape >= 0 && shape < table->shape_count && cell >= 0 && cell < table->cell_count);
    if (count <= 0)
        return 0;
    int32_t *pending = &table->pendings[shape * table->cell_count + cell];
    struct room_cell *home = &table->cells[cell];

    *pending = add_capped(*pending, count);
    home->pending = add_capped(home->pending, count);
    home->unsettled = true; /* a later shape may have been charged first */
    return charge(table, shape, cell, count);
}

int64_t room_reserve_all(struct room_table *table, int32_t shape, const int32_t *counts) {
    int64_t found = 0;

    for (int32_t c = 0; c < table->cell_count; c++)
        if (counts[c] > 0)
            found += room_reserve(table, shape, c, counts[c]);
    return found;
}

int32_t room_of(const struct room_table *table, int32_t shape, int32_t cell) {
    assert(shape >= 0 && shape < table->shape_count && cell >= 0 && cell < table->cell_count);
    const struct room_cell *home = &table->cells[cell];

    if (home->elastic_max == ROOM_NOT_ELASTIC)
        return table->sums[shape * table->cell_count + cell];
    int64_t left = (int64_t)home->elastic_max - home->committed - home->pending;
    return left < 0 ? 0 : (int32_t)left;
}

void room_of_all(const struct room_table *table, int32_t shape, int32_t *ret_rooms) {
    for (int32_t c = 0; c < table->cell_count; c++)
        ret_rooms[c] = room_of(table, shape, c);
}

int32_t room_with_own(int32_t room, int32_t own) {
    return add_capped(room < 0 ? 0 : room, own < 0 ? 0 : own);
}

int32_t room_fit(const struct room_amount *free, const struct room_amount *request) {
    int64_t fit = free->of[ROOM_PODS];

    if (fit > ROOM_NODE_PODS_MAX)
        fit = ROOM_NODE_PODS_MAX;
    for (int i = 0; i < ROOM_RESOURCE_COUNT && fit > 0; i++) {
        if (i == ROOM_PODS || request->of[i] <= 0)
            continue;
        int64_t here = free->of[i] < request->of[i] ? 0 : free->of[i] / request->of[i];
        if (here < fit)
            fit = here;
    }
    return fit < 0 ? 0 : (int32_t)fit;
}

static int64_t clamp(int64_t amount) {
    return amount < 0 ? 0 : amount > AMOUNT_MAX ? AMOUNT_MAX : amount;
}

static bool may_run(const struct room_node *node, const struct room_shape *shape) {
    uint64_t wrong = 0;

    for (int i = 0; i < ROOM_ID_COUNT / 64; i++)
        wrong |= (node->taints.word[i] & ~shape->tolerated.word[i]) |
                 (shape->selector.word[i] & ~node->labels.word[i]);
    return node->ready && node->schedulable && !wrong;
}

static void free_of(const struct room_slot *slot, struct room_amount *ret_free) {
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        ret_free->of[i] =
            slot->node.allocatable.of[i] - slot->node.requested.of[i] - slot->charged.of[i];
}

static void fit_put(struct room_table *table, int32_t slot, int32_t shape, int32_t fit) {
    int32_t *mine = &table->fits[(int64_t)slot * table->shape_count + shape];

    table->sums[shape * table->cell_count + table->slots[slot].cell] += fit - *mine;
    *mine = fit;
}

static void slot_refit(struct room_table *table, int32_t slot) {
    uint64_t usable = table->slots[slot].usable;
    struct room_amount left;

    free_of(&table->slots[slot], &left);
    for (int32_t s = 0; s < table->shape_count; s++)
        fit_put(table, slot, s, usable >> s & 1 ? room_fit(&left, &table->shapes[s].request) : 0);
}

static void slot_charge(struct room_table *table, int32_t slot, int32_t shape, int32_t count) {
    struct room_slot *mine = &table->slots[slot];

    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++) /* it fits, so the product does, too */
        mine->charged.of[i] += table->shapes[shape].request.of[i] * count;
    slot_refit(table, slot);
}

/* One pod after the other onto the node with the largest fit, the lowest slot among equals. Since
 * each pod lowers its node's fit by one, that ends at a common level, found by bisection. */
static int32_t charge(struct room_table *table, int32_t shape, int32_t cell, int32_t count) {
    const struct room_cell *home = &table->cells[cell];
    int32_t sum = table->sums[shape * table->cell_count + cell];
    int32_t todo = count < sum ? count : sum;
    int32_t above = 0;

    if (todo <= 0)
        return 0;
    int32_t level = water_level(table, shape, home, todo, &above);
    int32_t extra = todo - above;
    for (int32_t i = 0; i < home->slot_count; i++) {
        int32_t slot = home->first_slot + i;
        int32_t fit = table->fits[(int64_t)slot * table->shape_count + shape];

        if (fit == 0 || fit < level)
            continue;
        int32_t take = fit - level + (extra > 0);
        extra -= extra > 0;
        if (take > 0)
            slot_charge(table, slot, shape, take);
    }
    return todo;
}

/* The lowest level to which every fuller node can come down with count pods; *ret_above is how many
 * pods that takes. */
static int32_t water_level(const struct room_table *table, int32_t shape,
                           const struct room_cell *cell, int32_t count, int32_t *ret_above) {
    const int32_t *fits = &table->fits[(int64_t)cell->first_slot * table->shape_count + shape];
    int32_t low = 0, high = ROOM_NODE_PODS_MAX;

    *ret_above = 0;
    while (low < high) {
        int32_t level = low + (high - low) / 2;
        int32_t above = 0;

        for (int64_t i = 0; i < cell->slot_count; i++) {
            int32_t fit = fits[i * table->shape_count];
            above += fit > level ? fit - level : 0;
        }
        if (above <= count) {
            high = level;
            *ret_above = above;
        } else {
            low = level + 1;
        }
    }
    return low;
}

static int32_t add_capped(int32_t a, int32_t b) {
    int64_t sum = (int64_t)a + b;

    return sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}
