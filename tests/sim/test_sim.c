/* Random faults from a seed against the whole program, and what must hold whatever happens.
 *
 * usage: sim_test_sim [--seeds N] [--first S] [--seed S]
 * Each seed draws a fleet, apps and a list of events: changes of owners, failures of nodes, lost
 * and repeated answers, broken streams, refusals, partitions, crashes of the controller between any
 * two steps. A failing seed is named and replays exactly; --seed prints its steps.
 */
#include "flow/rig_fabric.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define APPS "bulkhead.dev/v1alpha1/appdefinitions"
#define PLACEMENTS "bulkhead.dev/v1alpha1/placements"
#define CHILDREN "bulkhead.dev/v1alpha1/childclusters"
#define APPS_MAX 2
#define ZONES 3
#define EVENTS 12
#define SECOND 1000
#define MINUTE 60000
#ifdef __SANITIZE_ADDRESS__
#define SEEDS_DEFAULT 30 /* slower by far, and the same code */
#else
#define SEEDS_DEFAULT 500
#endif

struct sim_app {
    char name[16];
    bool exists;
    int replicas;
    int percent;
    int min_zones;
    int image;
    int ready;     /* as last counted */
    int asked_for; /* replicas of its workloads, as last counted: surge pods are not among them */
};

struct sim {
    struct fabric fabric;
    struct random rng;
    struct sim_app apps[APPS_MAX];
    int app_count;
    int nodes;
    bool disturbed;  /* a node failed: replicas may be lost by no doing of ours */
    bool unstrict;   /* a child was frozen: caps may stay exceeded until it is back */
    int64_t back_ms; /* when the controller comes back; 0: it is there */
    int64_t calm_ms; /* when the faults of the network end */
    uint64_t hash;   /* of all that happened */
};

static struct sim sim;
static uint64_t current_seed;
static bool verbose;

static int draw(int count) {
    return (int)random_below(&sim.rng, (uint64_t)count);
}

static int64_t now(void) {
    return clock_mono_ms(&sim.fabric.clock);
}

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *fmt, ...) {
    char line[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    for (const char *c = line; *c; c++)
        sim.hash = (sim.hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    if (verbose)
        printf("%8lld * %s\n", (long long)now() - 1000000, line);
}

#define HOLDS(true_, ...)                                                                          \
    do {                                                                                           \
        if (!(true_)) {                                                                            \
            printf("seed %llu, at %lld ms: ", (unsigned long long)current_seed,                    \
                   (long long)now() - 1000000);                                                    \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void app_write(const struct sim_app *app) {
    char more[512];

    snprintf(more, sizeof more,
             "  topology: {minZones: %d, maxZonePercent: %d, extension: Allowed}\n"
             "  rollout: {maxUnavailable: 0, pauseSeconds: 5}\n",
             app->min_zones, app->percent);
    fabric_app(&sim.fabric, app->name, app->replicas, more);
    if (app->image) {
        snprintf(more, sizeof more,
                 "{\"spec\":{\"workload\":{\"spec\":{\"template\":{\"metadata\":{\"labels\":{"
                 "\"v\":\"%d\"}}}}}}}",
                 app->image);
        fabric_patch(&sim.fabric, FABRIC_HUB, APPS, "retail", app->name, more);
    }
}

static void app_draw(struct sim_app *app) {
    static const int percents[] = {50, 67, 100};

    app->exists = true;
    app->replicas = 1 + draw(8);
    app->percent = percents[draw(3)];
    app->min_zones = 1 + draw(2);
    app->ready = 0;
}

static void node_add(int child, int zone) {
    char name[32], place[16];

    snprintf(name, sizeof name, "n%d", sim.nodes++);
    snprintf(place, sizeof place, "gz-%d", zone);
    fabric_node(&sim.fabric, child, name, place, 4 + draw(8));
}

static void begin(uint64_t seed) {
    sim = (struct sim){.rng = {.state = seed * 7919 + 1}, .hash = UINT64_C(0xcbf29ce484222325)};
    fabric_open(&sim.fabric, seed);
    sim.fabric.verbose = verbose;
    for (int child = 0; child < 2; child++) {
        char name[16];

        snprintf(name, sizeof name, "cls-%c", 'a' + child);
        fabric_child(&sim.fabric, name);
        for (int zone = 0; zone < ZONES; zone++)
            node_add(child, zone);
    }
    fabric_start(&sim.fabric);
    fabric_run(&sim.fabric, 3 * SECOND);
    sim.app_count = 1 + draw(APPS_MAX);
    for (int i = 0; i < sim.app_count; i++) {
        snprintf(sim.apps[i].name, sizeof sim.apps[i].name, "app-%d", i);
        app_draw(&sim.apps[i]);
        app_write(&sim.apps[i]);
    }
}

static void network_fault(struct loopback_faults *faults) {
    *faults = (struct loopback_faults){
        .delay_max_ms = draw(600),
        .unsent_permille = draw(150),
        .lost_answer_permille = draw(150),
        .cut_permille = draw(60),
        .refuse_permille = draw(150),
        .conflict_permille = draw(150),
        .gone_permille = draw(300),
    };
}

static void crash(void) {
    if (!sim.fabric.manager)
        return;
    for (int steps = draw(40); steps > 0; steps--)
        fabric_step(&sim.fabric, now());
    note("the controller crashes");
    fabric_crash(&sim.fabric);
    sim.back_ms = now() + draw(90 * SECOND);
}

static void app_event(struct sim_app *app) {
    switch (draw(5)) {
    case 0:
    case 1:
        app->replicas = draw(10);
        note("%s is scaled to %d", app->name, app->replicas);
        break;
    case 2: {
        const int image = app->image, replicas = app->replicas, ready = app->ready;

        app_draw(app);
        app->image = image;
        app->replicas = replicas;
        app->ready = ready;
        note("%s: at most %d %% in a zone, %d zones", app->name, app->percent, app->min_zones);
        break;
    }
    case 3:
        app->image++;
        note("%s gets template %d", app->name, app->image);
        break;
    default:
        note("%s is deleted", app->name);
        fabric_delete(&sim.fabric, FABRIC_HUB, APPS, "retail", app->name);
        app->exists = false;
        return;
    }
    app_write(app);
}

static void child_event(void) {
    const int child = draw(2);
    struct loopback_faults *faults = &sim.fabric.children[child].faults;
    char name[16];

    snprintf(name, sizeof name, "cls-%c", 'a' + child);
    sim.unstrict = true;
    switch (draw(3)) {
    case 0:
        note("%s is cut off", name);
        faults->silent = true;
        break;
    case 1:
        note("%s is down", name);
        faults->down = true;
        break;
    default:
        note("%s is cordoned", name);
        fabric_patch(&sim.fabric, FABRIC_HUB, CHILDREN, NULL, name,
                     "{\"spec\":{\"lifecycle\":\"Cordoned\"}}");
    }
    sim.calm_ms = now() + draw(240) * SECOND;
}

static void event(void) {
    struct sim_app *app = &sim.apps[draw(sim.app_count)];
    char name[32];

    switch (draw(9)) {
    case 0:
    case 1:
    case 2:
        if (app->exists)
            app_event(app);
        break;
    case 3:
        crash();
        break;
    case 4:
        child_event();
        break;
    case 5:
    case 6:
        note("the network is bad");
        network_fault(&sim.fabric.hub.faults);
        network_fault(&sim.fabric.children[0].faults);
        network_fault(&sim.fabric.children[1].faults);
        sim.calm_ms = now() + draw(120) * SECOND;
        break;
    case 7:
        note("the Placement of %s is deleted by hand", app->name);
        fabric_delete(&sim.fabric, FABRIC_HUB, PLACEMENTS, "retail", app->name);
        break;
    default:
        snprintf(name, sizeof name, "n%d", draw(sim.nodes));
        note("node %s fails", name);
        for (int child = 0; child < 2; child++)
            fleet_node_fail(sim.fabric.children[child].fleet, name, true, 30 * SECOND);
        sim.disturbed = true;
    }
}

static void calm_down(void) {
    sim.calm_ms = 0;
    note("the faults end");
    sim.fabric.hub.faults = (struct loopback_faults){0};
    for (int child = 0; child < 2; child++) {
        char name[16];

        sim.fabric.children[child].faults = (struct loopback_faults){0};
        snprintf(name, sizeof name, "cls-%c", 'a' + child);
        fabric_patch(&sim.fabric, FABRIC_HUB, CHILDREN, NULL, name,
                     "{\"spec\":{\"lifecycle\":\"Active\"}}");
    }
}

static int cap_of(const struct sim_app *app) {
    const int cap = app->replicas * app->percent / 100;

    return cap < 1 && app->replicas == 1 ? 1 : cap;
}

/* Replicas that the Placement assigns: to a zone, or with zone < 0 in all. */
static int assigned(const char *placement, int zone) {
    int sum = 0;

    for (const char *at = placement; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        const char *sign = strchr(at, '=');

        if (sign && (zone < 0 || at[3] == '0' + zone))
            sum += (int)strtol(sign + 1, NULL, 10);
    }
    return sum;
}

static int ready_of(const struct sim_app *app) {
    return fabric_ready(&sim.fabric, 0, app->name, NULL) +
           fabric_ready(&sim.fabric, 1, app->name, NULL);
}

/* For whoever looks into a failure: where the pods are, and what the nodes take. */
static void print_pods(void) {
    for (int child = 0; child < 2; child++) {
        json_t *pods = fabric_list(&sim.fabric, child, "v1/pods", "retail");
        json_t *nodes = fabric_list(&sim.fabric, child, "v1/nodes", NULL);
        size_t i;
        json_t *each;

        json_array_foreach(nodes, i, each) {
            char *text = json_dumps(json_object_get(json_object_get(each, "status"), "allocatable"),
                                    JSON_COMPACT);

            printf("  child %d node %s %s\n", child,
                   json_string_value(json_object_get(json_object_get(each, "metadata"), "name")),
                   text);
            free(text);
        }
        json_array_foreach(pods, i, each) {
            const json_t *spec = json_object_get(each, "spec");
            const char *node = json_string_value(json_object_get(spec, "nodeName"));

            printf("  child %d pod %s on %s\n", child,
                   json_string_value(json_object_get(json_object_get(each, "metadata"), "name")),
                   node ? node : "no node");
        }
        json_decref(pods);
        json_decref(nodes);
    }
}

/* What the workloads of an app ask for, in both children. */
static int asked_of(const struct sim_app *app) {
    char prefix[32];
    int sum = 0;

    snprintf(prefix, sizeof prefix, "%s--", app->name);
    for (int child = 0; child < 2; child++) {
        json_t *works = fabric_list(&sim.fabric, child, "apps/v1/deployments", "retail");
        size_t i;
        json_t *work;

        json_array_foreach(works, i, work) {
            const char *name =
                json_string_value(json_object_get(json_object_get(work, "metadata"), "name"));

            if (strncmp(name, prefix, strlen(prefix)) == 0)
                sum += (int)json_integer_value(
                    json_object_get(json_object_get(work, "spec"), "replicas"));
        }
        json_decref(works);
    }
    return sum;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* What holds at any moment: moves and rollouts are made before broken, so that what is asked for
 * and was ready stays ready. */
static void check_always(void) {
    for (int i = 0; i < sim.app_count; i++) {
        struct sim_app *app = &sim.apps[i];
        const int floor = least(least(app->ready, app->asked_for), app->replicas);

        app->ready = app->exists ? ready_of(app) : 0;
        app->asked_for = app->exists ? asked_of(app) : 0;
        if (!app->exists || sim.disturbed || app->ready >= floor)
            continue;
        char *placement = fabric_placement(&sim.fabric, app->name);

        printf("%s: %s\n", app->name, placement);
        free(placement);
        print_pods();
        HOLDS(false, "%s has %d ready, and had %d of %d asked for", app->name, app->ready, floor,
              app->replicas);
    }
}

/* Lets ms pass, looking each step_ms. */
static void pass(int64_t ms, int64_t step_ms) {
    const int64_t until_ms = now() + ms;

    while (now() < until_ms) {
        const int64_t left_ms = until_ms - now();

        fabric_run(&sim.fabric, left_ms < step_ms ? left_ms : step_ms);
        check_always();
        if (sim.calm_ms && now() >= sim.calm_ms)
            calm_down();
        if (sim.back_ms && now() >= sim.back_ms) {
            sim.back_ms = 0;
            note("the controller is back");
            fabric_start(&sim.fabric);
        }
    }
}

/* Whether a child runs exactly what the Placement says. */
static void check_child(const struct sim_app *app, const char *placement, int child) {
    json_t *works = fabric_list(&sim.fabric, child, "apps/v1/deployments", "retail");
    char prefix[32];
    size_t i;
    json_t *work;
    int count = 0, cells = 0;

    snprintf(prefix, sizeof prefix, "%s--", app->name);
    json_array_foreach(works, i, work) {
        const char *name =
            json_string_value(json_object_get(json_object_get(work, "metadata"), "name"));

        count += strncmp(name, prefix, strlen(prefix)) == 0;
    }
    for (const char *at = placement; (at = strstr(at, child ? "/cls-b" : "/cls-a")); at++)
        cells++;
    HOLDS(count == cells, "%s: child %d runs %d workloads, the Placement has %d cells: %s",
          app->name, child, count, cells, placement);
    json_decref(works);
}

/* What holds once everything has been mended and had time. */
static void check_end(void) {
    for (int i = 0; i < sim.app_count; i++) {
        struct sim_app *app = &sim.apps[i];
        char *placement = fabric_placement(&sim.fabric, app->name);
        const int total = assigned(placement, -1);

        note("%s: %s", app->name, placement);
        if (!app->exists) {
            json_t *left = fabric_get(&sim.fabric, FABRIC_HUB, APPS, "retail", app->name);

            HOLDS(!left, "%s was deleted and is still there: %s", app->name,
                  fabric_condition(&sim.fabric, app->name, "Deleting"));
        }
        for (int child = 0; child < 2; child++)
            check_child(app, placement, child);
        if (ready_of(app) != total)
            print_pods();
        HOLDS(ready_of(app) == total, "%s: %d are ready of %d placed: %s", app->name, ready_of(app),
              total, placement);
        if (app->exists) {
            const bool placed =
                strncmp(fabric_condition(&sim.fabric, app->name, "Placed"), "True", 4) == 0;

            HOLDS(placed == (total == app->replicas), "%s: %d of %d placed, but Placed is %s",
                  app->name, total, app->replicas,
                  fabric_condition(&sim.fabric, app->name, "Placed"));
            for (int zone = 0; zone < ZONES && !sim.unstrict; zone++)
                HOLDS(assigned(placement, zone) <= cap_of(app) || app->replicas < 2,
                      "%s: %d in gz-%d, its cap is %d: %s", app->name, assigned(placement, zone),
                      zone, cap_of(app), placement);
        }
        free(placement);
    }
}

static uint64_t run_seed(uint64_t seed) {
    current_seed = seed;
    begin(seed);
    for (int i = 0; i < EVENTS; i++) {
        pass(100 + draw(40 * SECOND), 2 * SECOND);
        event();
    }
    if (sim.calm_ms)
        calm_down();
    for (int node = 0; node < sim.nodes && sim.disturbed; node++) {
        char name[32];

        snprintf(name, sizeof name, "n%d", node);
        for (int child = 0; child < 2; child++)
            fleet_node_fail(sim.fabric.children[child].fleet, name, false, INT64_MAX);
    }
    pass(7 * MINUTE, 30 * SECOND);
    const uint64_t writes = fabric_writes(&sim.fabric, FABRIC_HUB) + fabric_writes(&sim.fabric, 0) +
                            fabric_writes(&sim.fabric, 1);

    pass(2 * MINUTE, MINUTE);
    check_end();
    const uint64_t more = fabric_writes(&sim.fabric, FABRIC_HUB) + fabric_writes(&sim.fabric, 0) +
                          fabric_writes(&sim.fabric, 1) - writes;

    HOLDS(more == 0, "%llu writes while nothing happens; the last: %s", (unsigned long long)more,
          sim.fabric.last_line);
    fabric_close(&sim.fabric);
    return sim.hash;
}

static void say_seed(void) {
    fflush(stdout);
}

int main(int argc, char **argv) {
    uint64_t seeds = SEEDS_DEFAULT, first = 1;

    atexit(say_seed);
    for (int i = 1; i + 1 < argc; i += 2) {
        const uint64_t value = strtoull(argv[i + 1], NULL, 10);

        if (strcmp(argv[i], "--seeds") == 0)
            seeds = value;
        else if (strcmp(argv[i], "--first") == 0)
            first = value;
        else if (strcmp(argv[i], "--seed") == 0)
            verbose = (first = value, seeds = 1);
    }
    if (!verbose && run_seed(first) != run_seed(first)) {
        printf("seed %llu does not replay\n", (unsigned long long)first);
        return 1;
    }
    for (uint64_t seed = first; seed < first + seeds; seed++)
        run_seed(seed);
    printf("%llu seeds from %llu: every promise held\n", (unsigned long long)seeds,
           (unsigned long long)first);
    return 0;
}
