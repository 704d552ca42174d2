#include "unit.h"

#include "api/objectname.h"
#include "base/random.h"
#include "controller/inventory.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- a small world, in plain words ---- */

#define CHILDREN 3
#define NODES 18
#define PODS 60
#define APPS 4
#define TEMPLATES 7
#define ZONES 6
#define VALUES 5
#define MAPS 3
#define GI (INT64_C(1) << 30)

static const char *const zones[ZONES] = {"v1", "v2", "v2b", "v3", "z2", "Zone 3!"};
static const char *const values[VALUES] = {NULL, "v1", "v2", "v2b", "v3"};

/* Hub zone of each value, in the order of values; then the map as it is declared. */
static const struct {
    const char *zone_of[VALUES];
    struct childcluster_zone map[3];
    int count;
} maps[MAPS] = {
    {{NULL, "v1", "v2", "v2b", "v3"}, {{0}}, 0},
    {{NULL, "v1", "z2", "z2", "Zone 3!"}, {{"v2b", "z2"}, {"v3", "Zone 3!"}, {"v2", "z2"}}, 3},
    {{NULL, "z2", "v2", "v2b", "Zone 3!"}, {{"v3", "Zone 3!"}, {"v1", "z2"}}, 2},
};

static const struct {
    int64_t cpu;
    int64_t memory;
    const char *node_kind; /* nodeSelector kind=... */
    const char *toleration;
    const char *tolerated_key; /* NULL: none; "": every key */
    const char *tolerated_value;
    enum room_effect tolerated_effect;
} templates[TEMPLATES] = {
    {100, GI / 4, NULL, NULL, NULL, NULL, ROOM_EFFECT_ANY},
    {700, GI / 2, "fast", NULL, NULL, NULL, ROOM_EFFECT_ANY},
    {300, GI, NULL, "{\"key\":\"team\",\"operator\":\"Equal\",\"value\":\"a\"}", "team", "a",
     ROOM_EFFECT_ANY},
    {250, 0, "slow", "{\"operator\":\"Exists\"}", "", NULL, ROOM_EFFECT_ANY},
    {900, 2 * GI, NULL, "{\"key\":\"team\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"}",
     "team", NULL, ROOM_NO_EXECUTE},
    {500, GI, "fast", "{\"key\":\"team\",\"value\":\"a\",\"effect\":\"NoSchedule\"}", "team", "a",
     ROOM_NO_SCHEDULE},
    {400, GI, "none", NULL, NULL, NULL, ROOM_EFFECT_ANY},
};

struct plain_node {
    bool present, ready, cordoned, deleting;
    int child, value; /* in values */
    int64_t cpu, memory, pods;
    const char *kind;
    struct node_taint taints[2];
    int taint_count;
    char odd[16]; /* the text of a value that never comes again */
};

struct plain_pod {
    bool used, managed, ready, terminating;
    int child, node, app, zone; /* node -1: not bound */
    enum pod_phase phase;
    int32_t cpu;
    int64_t memory;
};

struct plain_assignment {
    int32_t replicas;
    int template;
};

struct plain {
    struct names *names;
    struct inventory *inventory;
    struct random rng;
    struct {
        bool set, elastic;
        int map;
        struct childcluster_elastic elastics[2];
        int elastic_count;
    } children[CHILDREN];
    struct plain_node nodes[NODES];
    struct plain_pod pods[PODS];
    struct plain_assignment assigned[APPS][CHILDREN][ZONES];
    int shapes[TEMPLATES]; /* -1: never asked for */
    int seen[8];           /* how often what was to be tested came about */
};

static int below(struct plain *plain, int count) {
    return (int)random_below(&plain->rng, (uint64_t)count);
}

static const char *plain_zone(const struct plain *plain, const struct plain_node *node) {
    if (!node->present || !plain->children[node->child].set)
        return NULL;
    return maps[plain->children[node->child].map].zone_of[node->value];
}

/* ---- what the inventory must say, from nothing but the small world ---- */

static bool tolerates(int template, const struct node_taint *taint) {
    const char *key = templates[template].tolerated_key;

    if (taint->effect == ROOM_PREFER_NO_SCHEDULE)
        return true;
    return key && (!*key || strcmp(key, taint->key) == 0) &&
           (!templates[template].tolerated_value ||
            strcmp(templates[template].tolerated_value, taint->value) == 0) &&
           (templates[template].tolerated_effect == ROOM_EFFECT_ANY ||
            templates[template].tolerated_effect == taint->effect);
}

struct plain_free {
    const struct plain_node *node;
    int64_t cpu, memory, pods;
};

static void plain_use(struct plain_free *free, int64_t cpu, int64_t memory) {
    free->cpu -= cpu;
    free->memory -= memory;
    free->pods--;
}

static bool pod_ended(const struct plain_pod *pod) {
    return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

/* One pod at a time, until none fits. */
static int32_t plain_fit(struct plain_free free, int template) {
    const struct plain_node *node = free.node;
    const char *kind = templates[template].node_kind;
    int32_t fit = 0;

    if (!node->ready || node->cordoned || node->deleting ||
        (kind && (!node->kind || strcmp(kind, node->kind) != 0)))
        return 0;
    for (int i = 0; i < node->taint_count; i++)
        if (!tolerates(template, &node->taints[i]))
            return 0;
    while (free.pods >= 1 && free.cpu >= templates[template].cpu &&
           (templates[template].memory == 0 || free.memory >= templates[template].memory)) {
        plain_use(&free, templates[template].cpu, templates[template].memory);
        fit++;
    }
    return fit;
}

static void plain_charge(struct plain_free *frees, int count, int template, int32_t pods) {
    for (; pods > 0; pods--) {
        int best = -1;
        int32_t best_fit = 0;

        for (int i = 0; i < count; i++) {
            const int32_t fit = plain_fit(frees[i], template);

            if (fit > best_fit) {
                best = i;
                best_fit = fit;
            }
        }
        if (best < 0)
            return;
        plain_use(&frees[best], templates[template].cpu, templates[template].memory);
    }
}

static struct inventory_pods plain_pods(const struct plain *plain, int app, int child, int zone) {
    struct inventory_pods pods = {0};

    for (int i = 0; i < PODS; i++) {
        const struct plain_pod *pod = &plain->pods[i];

        if (!pod->used || !pod->managed || pod_ended(pod) || pod->app != app ||
            pod->child != child || pod->zone != zone)
            continue;
        if (pod->terminating) {
            pods.leaving++;
            continue;
        }
        pods.count++;
        pods.bound += pod->node >= 0;
        pods.ready += pod->ready;
    }
    return pods;
}

static int32_t plain_waiting(const struct plain *plain, int app, int child, int zone) {
    const int32_t waiting =
        plain->assigned[app][child][zone].replicas - plain_pods(plain, app, child, zone).bound;

    return waiting > 0 ? waiting : 0;
}

/* Nodes of a cell in the order of their names, less what their pods take. */
static int plain_frees(const struct plain *plain, int child, int zone, struct plain_free *frees) {
    int count = 0;

    for (int i = 0; i < NODES; i++) {
        const struct plain_node *node = &plain->nodes[i];
        const char *at = plain_zone(plain, node);

        if (node->child != child || !at || strcmp(at, zones[zone]) != 0)
            continue;
        struct plain_free *free = &frees[count++];

        *free = (struct plain_free){node, node->cpu, node->memory, node->pods};
        for (int k = 0; k < PODS; k++)
            if (plain->pods[k].used && plain->pods[k].node == i && !pod_ended(&plain->pods[k]))
                plain_use(free, plain->pods[k].cpu, plain->pods[k].memory);
    }
    return count;
}

static int32_t plain_elastic_max(const struct plain *plain, int child, int zone) {
    for (int i = 0; i < plain->children[child].elastic_count; i++)
        if (plain->children[child].set && plain->children[child].elastic &&
            strcmp(plain->children[child].elastics[i].zone, zones[zone]) == 0)
            return plain->children[child].elastics[i].max;
    return -1;
}

/* Fills the room of every template. Returns whether the cell exists. */
static bool plain_rooms(struct plain *plain, int child, int zone, int32_t rooms[TEMPLATES],
                        int *ret_nodes) {
    struct plain_free frees[NODES];
    const int count = plain_frees(plain, child, zone, frees);
    const int32_t max = plain_elastic_max(plain, child, zone);

    *ret_nodes = count;
    if (max >= 0) {
        int32_t left = max;

        for (int app = 0; app < APPS; app++) {
            const int32_t exist = plain_pods(plain, app, child, zone).count;
            const int32_t assigned = plain->assigned[app][child][zone].replicas;

            left -= exist > assigned ? exist : assigned;
            plain->seen[0] += exist > 0 && assigned > 0;
        }
        for (int t = 0; t < TEMPLATES; t++)
            rooms[t] = left < 0 ? 0 : left;
        return true;
    }
    for (int shape = 0; shape < TEMPLATES; shape++)
        for (int app = 0; app < APPS; app++) {
            const int t = plain->assigned[app][child][zone].template;

            if (plain->assigned[app][child][zone].replicas > 0 && plain->shapes[t] == shape) {
                /* All of one shape together, as one count. */
                int32_t pods = 0;

                for (int other = 0; other < APPS; other++)
                    if (plain->assigned[other][child][zone].template == t)
                        pods += plain_waiting(plain, other, child, zone);
                plain_charge(frees, count, t, pods);
                plain->seen[1] += pods > 0 && count > 1;
                break;
            }
        }
    for (int t = 0; t < TEMPLATES; t++) {
        rooms[t] = 0;
        for (int i = 0; i < count; i++)
            rooms[t] += plain_fit(frees[i], t);
        plain->seen[2] += rooms[t] > 0;
    }
    return count > 0;
}

/* The value that pods are pinned to: of those that a node has, or if none has one, of all, the
 * first of the map; else the zone's own name. */
static const char *plain_value(const struct plain *plain, int child, int zone, int nodes) {
    const int map = plain->children[child].map;

    for (int i = 0; i < maps[map].count; i++) {
        bool there = nodes == 0;

        for (int k = 0; k < NODES; k++)
            there |= plain->nodes[k].present && plain->nodes[k].child == child &&
                     plain->nodes[k].value > 0 &&
                     strcmp(values[plain->nodes[k].value], maps[map].map[i].value) == 0;
        if (there && strcmp(maps[map].map[i].zone, zones[zone]) == 0)
            return maps[map].map[i].value;
    }
    return zones[zone];
}

static const struct inventory_cell *cell_named(const struct inventory_cell *cells, int count,
                                               int child, const char *zone) {
    for (int i = 0; i < count; i++)
        if (cells[i].child == child && strcmp(cells[i].zone, zone) == 0)
            return &cells[i];
    return NULL;
}

static void check_counts(struct plain *plain) {
    for (int app = 0; app < APPS; app++)
        for (int child = 0; child < CHILDREN; child++)
            for (int zone = 0; zone < ZONES; zone++) {
                char uid[16];
                const struct inventory_pods want = plain_pods(plain, app, child, zone);

                snprintf(uid, sizeof uid, "uid-%d", app);
                const struct inventory_pods have =
                    inventory_pods(plain->inventory, uid, child, zones[zone]);
                assert_memory_equal(&have, &want, sizeof have);
            }
    for (int child = 0; child < CHILDREN; child++) {
        int nodes = 0;

        for (int i = 0; i < NODES; i++)
            nodes += plain->nodes[i].present && plain->nodes[i].child == child;
        assert_int_equal(inventory_nodes(plain->inventory, child), nodes);
    }
}

static void check_rooms(struct plain *plain, int event) {
    const struct inventory_cell *cells;
    const int count = inventory_cells(plain->inventory, &cells);
    int expected = 0;

    for (int child = 0; child < CHILDREN; child++)
        for (int zone = 0; zone < ZONES; zone++) {
            int32_t rooms[TEMPLATES];
            int nodes;
            char label[64];
            const bool exists = plain_rooms(plain, child, zone, rooms, &nodes);
            const struct inventory_cell *cell = cell_named(cells, count, child, zones[zone]);

            if (exists != (cell != NULL))
                fail_msg("event %d: cell %d/%s", event, child, zones[zone]);
            if (!cell)
                continue;
            expected++;
            objectname_zone_label(zones[zone], label);
            assert_string_equal(cell->label, label);
            assert_int_equal(cell->nodes, nodes);
            assert_string_equal(cell->value, plain_value(plain, child, zone, nodes));
            for (int t = 0; t < TEMPLATES; t++) {
                const int32_t room =
                    plain->shapes[t] < 0
                        ? rooms[t]
                        : inventory_room(plain->inventory, plain->shapes[t], (int)(cell - cells));

                if (room != rooms[t])
                    fail_msg("event %d: template %d in %d/%s: %d, should be %d", event, t, child,
                             zones[zone], room, rooms[t]);
            }
        }
    assert_int_equal(count, expected);
    for (int i = 1; i < count; i++)
        assert_true(
            strcmp(cells[i - 1].zone, cells[i].zone) < 0 ||
            (strcmp(cells[i - 1].zone, cells[i].zone) == 0 && cells[i - 1].child < cells[i].child));
}

/* ---- events ---- */

static const char *take(struct plain *plain, const char *text) {
    return names_take(plain->names, text, strlen(text));
}

static void node_tell(struct plain *plain, int at) {
    const struct plain_node *from = &plain->nodes[at];
    struct node_label labels[2];
    struct node_taint taints[2];
    struct node node = {.labels = labels, .taints = taints};
    char name[16];

    snprintf(name, sizeof name, "node-%02d", at);
    node.name = take(plain, name);
    if (from->value > 0)
        labels[node.label_count++] =
            (struct node_label){take(plain, "zone"), take(plain, values[from->value])};
    if (from->kind)
        labels[node.label_count++] =
            (struct node_label){take(plain, "kind"), take(plain, from->kind)};
    for (int i = 0; i < from->taint_count; i++)
        taints[node.taint_count++] =
            (struct node_taint){take(plain, from->taints[i].key),
                                take(plain, from->taints[i].value), from->taints[i].effect};
    node.allocatable.of[ROOM_CPU_MILLI] = from->cpu;
    node.allocatable.of[ROOM_MEMORY_BYTES] = from->memory;
    node.allocatable.of[ROOM_PODS] = from->pods;
    node.ready = from->ready;
    node.schedulable = !from->cordoned;
    node.deleting = from->deleting;
    inventory_node(plain->inventory, from->child, node.name, from->present ? &node : NULL);
    for (int i = 0; i < node.label_count; i++) {
        names_drop(plain->names, labels[i].key);
        names_drop(plain->names, labels[i].value);
    }
    for (int i = 0; i < node.taint_count; i++) {
        names_drop(plain->names, taints[i].key);
        names_drop(plain->names, taints[i].value);
    }
    names_drop(plain->names, node.name);
}

/* Each of a node's traits changes on its own now and then; new ones of all come with a new node. */
static void node_event(struct plain *plain) {
    const int at = below(plain, NODES);
    struct plain_node *node = &plain->nodes[at];
    const bool is_new = !node->present;

    if (!is_new && below(plain, 6) == 0) {
        node->present = false;
        node_tell(plain, at);
        return;
    }
    node->present = true;
    if (is_new || below(plain, 8) == 0)
        node->value = below(plain, VALUES);
    if (is_new || below(plain, 3) == 0) {
        node->cpu = below(plain, 4000);
        node->memory = below(plain, 8) * GI;
        node->pods = below(plain, 12);
    }
    node->ready = below(plain, 8) > 0;
    node->cordoned = below(plain, 8) == 0;
    node->deleting = below(plain, 20) == 0;
    if (is_new || below(plain, 4) == 0)
        node->kind = (const char *[]){NULL, "fast", "slow"}[below(plain, 3)];
    if (below(plain, 3) == 0) {
        node->taint_count = below(plain, 3);
        for (int i = 0; i < node->taint_count; i++)
            node->taints[i] =
                (struct node_taint){(const char *[]){"team", "gone"}[below(plain, 2)],
                                    (const char *[]){"a", "b", "", node->odd}[below(plain, 4)],
                                    (enum room_effect)(ROOM_NO_SCHEDULE + below(plain, 3))};
        snprintf(node->odd, sizeof node->odd, "%d", below(plain, 1000000));
    }
    node_tell(plain, at);
}

static struct pod pod_made(struct plain *plain, const struct plain_pod *from) {
    struct pod pod = {.cpu_milli = from->cpu,
                      .memory_bytes = from->memory,
                      .phase = (uint8_t)from->phase,
                      .ready = from->ready,
                      .terminating = from->terminating,
                      .managed = from->managed};
    char text[64];

    if (from->node >= 0) {
        snprintf(text, sizeof text, "node-%02d", from->node);
        pod.node = take(plain, text);
    }
    snprintf(text, sizeof text, "uid-%d", from->app);
    pod.app_uid = take(plain, text);
    objectname_zone_label(zones[from->zone], text);
    pod.zone = take(plain, text);
    return pod;
}

/* A cache tells of a change in one step, or of the new one first and of the old one later. */
static void pod_tell(struct plain *plain, const struct plain_pod *before,
                     const struct plain_pod *after) {
    struct pod old = {0}, new = {0};
    const int child = before->used ? before->child : after->child;

    if (before->used)
        old = pod_made(plain, before);
    if (after->used)
        new = pod_made(plain, after);
    if (below(plain, 2)) {
        inventory_pod(plain->inventory, child, before->used ? &old : NULL,
                      after->used ? &new : NULL);
    } else {
        if (after->used)
            inventory_pod(plain->inventory, child, NULL, &new);
        if (before->used)
            inventory_pod(plain->inventory, child, &old, NULL);
    }
    pod_done(&old, plain->names);
    pod_done(&new, plain->names);
}

static int any_node_of(struct plain *plain, int child) {
    const int at = below(plain, NODES / CHILDREN) * CHILDREN + child;

    plain->seen[3] += !plain->nodes[at].present;
    return at;
}

static void pod_event(struct plain *plain) {
    struct plain_pod *pod = &plain->pods[below(plain, PODS)];
    const struct plain_pod before = *pod;

    if (!pod->used) {
        *pod = (struct plain_pod){.used = true,
                                  .managed = below(plain, 6) > 0,
                                  .child = below(plain, CHILDREN),
                                  .node = -1,
                                  .app = below(plain, APPS),
                                  .zone = below(plain, ZONES),
                                  .cpu = below(plain, 500),
                                  .memory = below(plain, 3) * (GI / 2)};
        if (below(plain, 3) == 0)
            pod->node = any_node_of(plain, pod->child);
    } else if (pod->node < 0 && below(plain, 2)) {
        pod->node = any_node_of(plain, pod->child);
    } else {
        switch (below(plain, 5)) {
        case 0:
            pod->ready = !pod->ready;
            break;
        case 1:
            pod->terminating = true;
            break;
        case 2:
            pod->phase = (enum pod_phase)below(plain, POD_UNKNOWN + 1);
            break;
        case 3:
            pod->cpu = below(plain, 500); /* a resize in place */
            break;
        default:
            pod->used = false;
        }
    }
    pod_tell(plain, &before, pod);
}

static json_t *template_new(int t) {
    char text[600], kind[60] = "", toleration[200] = "";

    if (templates[t].node_kind)
        snprintf(kind, sizeof kind, ",\"nodeSelector\":{\"kind\":\"%s\"}", templates[t].node_kind);
    if (templates[t].toleration)
        snprintf(toleration, sizeof toleration, ",\"tolerations\":[%s]", templates[t].toleration);
    snprintf(text, sizeof text,
             "{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
             "{\"cpu\":\"%dm\",\"memory\":%lld}}}]%s%s}",
             (int)templates[t].cpu, (long long)templates[t].memory, kind, toleration);
    return json_loads(text, 0, NULL);
}

static void template_ask(struct plain *plain, int t) {
    json_t *spec = template_new(t);
    struct err err = {0};
    int shape = -1;

    assert_non_null(spec);
    assert_int_equal(inventory_shape(plain->inventory, spec, &shape, &err), 0);
    assert_true(plain->shapes[t] < 0 || plain->shapes[t] == shape);
    plain->shapes[t] = shape;
    json_decref(spec);
}

static void assign_event(struct plain *plain) {
    const int app = below(plain, APPS), child = below(plain, CHILDREN), zone = below(plain, ZONES);
    struct plain_assignment *assigned = &plain->assigned[app][child][zone];
    char uid[16];

    snprintf(uid, sizeof uid, "uid-%d", app);
    assigned->replicas = below(plain, 3) ? below(plain, 9) : 0;
    assigned->template = below(plain, 3) ? app : below(plain, TEMPLATES);
    template_ask(plain, assigned->template);
    inventory_assign(plain->inventory, uid, child, zones[zone], plain->shapes[assigned->template],
                     assigned->replicas);
}

static void child_forget(struct plain *plain, int child) {
    inventory_child_forget(plain->inventory, child);
    for (int i = 0; i < NODES; i++)
        if (plain->nodes[i].child == child)
            plain->nodes[i].present = false;
    for (int i = 0; i < PODS; i++)
        if (plain->pods[i].child == child)
            plain->pods[i].used = false;
}

static void child_drop(struct plain *plain, int child) {
    child_forget(plain, child);
    inventory_child_drop(plain->inventory, child);
    plain->children[child].set = false;
    for (int app = 0; app < APPS; app++)
        for (int zone = 0; zone < ZONES; zone++)
            plain->assigned[app][child][zone] = (struct plain_assignment){0};
}

static void child_event(struct plain *plain) {
    const int child = below(plain, CHILDREN);
    struct childcluster spec = {.zone_label = "zone"};

    const int fate = below(plain, 6);

    if (fate == 0) {
        child_drop(plain, child);
        return;
    }
    if (fate == 1) {
        child_forget(plain, child);
        return;
    }
    plain->children[child].set = true;
    plain->children[child].map = below(plain, MAPS);
    plain->children[child].elastic = below(plain, 3) == 0;
    plain->children[child].elastic_count = below(plain, 3);
    const int first = below(plain, ZONES - 1);

    for (int i = 0; i < plain->children[child].elastic_count; i++)
        plain->children[child].elastics[i] = (struct childcluster_elastic){
            .zone = (char *)zones[first + i], .max = below(plain, 30)};
    spec.zone_map = (struct childcluster_zone *)maps[plain->children[child].map].map;
    spec.zone_map_count = maps[plain->children[child].map].count;
    spec.capacity = plain->children[child].elastic ? CHILDCLUSTER_ELASTIC : CHILDCLUSTER_NODES;
    spec.elastic = plain->children[child].elastics;
    spec.elastic_count = plain->children[child].elastic_count;
    inventory_child_set(plain->inventory, child, &spec);
}

static void plain_start(struct plain *plain, uint64_t seed) {
    *plain = (struct plain){.names = names_new(10000), .rng = {seed}};
    plain->inventory = inventory_new(plain->names);
    for (int i = 0; i < NODES; i++)
        plain->nodes[i].child = i % CHILDREN;
    for (int t = 0; t < TEMPLATES; t++)
        plain->shapes[t] = -1;
}

static void plain_stop(struct plain *plain) {
    inventory_free(plain->inventory);
    assert_int_equal(names_count(plain->names), 0);
    names_free(plain->names);
}

#define SEEDS 12
#define EVENTS 1500

static void test_any_events_give_what_is_computed_afresh(void **state) {
    (void)state;
    static struct plain plain;
    int seen[8] = {0};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        plain_start(&plain, seed);
        for (int event = 0; event < EVENTS; event++) {
            const int kind = below(&plain, 100);

            if (kind < 35)
                node_event(&plain);
            else if (kind < 80)
                pod_event(&plain);
            else if (kind < 98)
                assign_event(&plain);
            else
                child_event(&plain);
            check_counts(&plain);
            if (below(&plain, 3) > 0) /* else several events before one settling */
                check_rooms(&plain, event);
        }
        for (int i = 0; i < 8; i++)
            seen[i] += plain.seen[i];
        plain_stop(&plain);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i] > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_events_give_what_is_computed_afresh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
