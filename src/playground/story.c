#include "playground/story.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define WAIT_MS 30000
#define ZONES_MAX 8

extern char **environ;

struct story {
    struct ground *ground;
    struct story_options options;
    int64_t begun_ms;
    bool broken;
};

/* Replicas assigned and ready, by zone and child. */
struct table {
    char zones[ZONES_MAX][64];
    int zone_count;
    int assigned[ZONES_MAX][GROUND_CLUSTERS];
    int ready[ZONES_MAX][GROUND_CLUSTERS];
};

static void say(struct story *story, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct story *story, const char *fmt, ...) {
    va_list args;

    printf("\n[%5.1f s] ", (double)(clock_mono_ms(NULL) - story->begun_ms) / 1000);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

/* Whether the person at the terminal has ended it. */
static bool is_stopped(const struct story *story) {
    return *story->options.stopping != 0;
}

static void promise(struct story *story, bool held, const char *what) {
    if (is_stopped(story))
        return; /* what did not have its time is not broken */
    printf("  %s %s\n", held ? "held:  " : "BROKEN:", what);
    fflush(stdout);
    story->broken = story->broken || !held;
}

static int zone_row(struct table *table, const char *zone) {
    for (int i = 0; i < table->zone_count; i++)
        if (strcmp(table->zones[i], zone) == 0)
            return i;
    if (table->zone_count == ZONES_MAX)
        return -1;
    snprintf(table->zones[table->zone_count], sizeof table->zones[0], "%s", zone);
    return table->zone_count++;
}

static int child_column(const char *name) {
    for (enum ground_cluster i = GROUND_A; i < GROUND_CLUSTERS; i++)
        if (name && strcmp(ground_name(i), name) == 0)
            return (int)i;
    return -1;
}

static void placement_read(struct story *story, struct table *table) {
    const struct kube_call call = {.verb = KUBE_GET,
                                   .target = {.group = "bulkhead.dev",
                                              .version = "v1alpha1",
                                              .resource = "placements",
                                              .ns = "retail",
                                              .name = "checkout"}};
    json_t *placement = NULL, *cell;
    size_t i;

    if (ground_call(story->ground, GROUND_HUB, &call, &placement, NULL) < 0)
        return;
    json_array_foreach(json_object_get(json_object_get(placement, "spec"), "cells"), i, cell) {
        const int row = zone_row(table, json_string_value(json_object_get(cell, "zone")));
        const int column = child_column(json_string_value(json_object_get(cell, "cluster")));

        if (row >= 0 && column >= 0)
            table->assigned[row][column] =
                (int)json_integer_value(json_object_get(cell, "replicas"));
    }
    json_decref(placement);
}

static bool pod_ready(const json_t *pod) {
    size_t i;
    json_t *condition;

    json_array_foreach(json_object_get(json_object_get(pod, "status"), "conditions"), i,
                       condition) {
        const char *type = json_string_value(json_object_get(condition, "type"));
        const char *status = json_string_value(json_object_get(condition, "status"));

        if (type && status && strcmp(type, "Ready") == 0)
            return strcmp(status, "True") == 0;
    }
    return false;
}

static void pods_read(struct story *story, struct table *table) {
    const struct kube_call call = {.verb = KUBE_LIST,
                                   .target = {.version = "v1", .resource = "pods", .ns = "retail"}};

    for (enum ground_cluster child = GROUND_A; child < GROUND_CLUSTERS; child++) {
        json_t *list = NULL, *pod;
        size_t i;

        if (ground_call(story->ground, child, &call, &list, NULL) < 0)
            continue;
        json_array_foreach(json_object_get(list, "items"), i, pod) {
            const char *zone = json_string_value(json_object_get(
                json_object_get(json_object_get(pod, "metadata"), "labels"), "bulkhead.dev/zone"));
            const int row = zone ? zone_row(table, zone) : -1;

            if (row >= 0 && pod_ready(pod))
                table->ready[row][child]++;
        }
        json_decref(list);
    }
}

static struct table look(struct story *story) {
    struct table table = {0};

    placement_read(story, &table);
    pods_read(story, &table);
    return table;
}

static int total(const struct table *table, int column, bool ready) {
    int sum = 0;

    for (int row = 0; row < table->zone_count; row++)
        for (enum ground_cluster i = GROUND_A; i < GROUND_CLUSTERS; i++)
            if (column < 0 || column == (int)i)
                sum += ready ? table->ready[row][i] : table->assigned[row][i];
    return sum;
}

static int zone_total(const struct table *table, const char *zone, int column) {
    int sum = 0;

    for (int row = 0; row < table->zone_count; row++)
        for (enum ground_cluster i = GROUND_A; i < GROUND_CLUSTERS; i++)
            if (strcmp(table->zones[row], zone) == 0 && (column < 0 || column == (int)i))
                sum += table->assigned[row][i];
    return sum;
}

static void table_print(const struct table *table) {
    printf("  %-8s %7s %7s %7s %7s\n", "ZONE", ground_name(GROUND_A), ground_name(GROUND_B),
           "TOTAL", "READY");
    for (int row = 0; row < table->zone_count; row++) {
        int sum = 0, ready = 0;

        printf("  %-8s", table->zones[row]);
        for (enum ground_cluster i = GROUND_A; i < GROUND_CLUSTERS; i++) {
            sum += table->assigned[row][i];
            ready += table->ready[row][i];
            if (table->assigned[row][i])
                printf(" %7d", table->assigned[row][i]);
            else
                printf(" %7s", "-");
        }
        printf(" %7d %7d\n", sum, ready);
    }
    printf("  %-8s %7d %7d %7d %7d\n", "TOTAL", total(table, GROUND_A, false),
           total(table, GROUND_B, false), total(table, -1, false), total(table, -1, true));
    fflush(stdout);
}

static bool settled(const struct table *table, int replicas) {
    for (int row = 0; row < table->zone_count; row++)
        for (enum ground_cluster i = GROUND_A; i < GROUND_CLUSTERS; i++)
            if (table->assigned[row][i] != table->ready[row][i])
                return false;
    return total(table, -1, false) == replicas;
}

/* Works on until every assigned replica is ready and they are so many; prints what changes. */
static struct table until_settled(struct story *story, int replicas, int stable_ms) {
    const int64_t deadline_ms = clock_mono_ms(NULL) + WAIT_MS;
    int64_t since_ms = 0;
    struct table table = {0};
    int shown = -1;

    while (clock_mono_ms(NULL) < deadline_ms && !is_stopped(story)) {
        table = look(story);
        const int ready = total(&table, -1, true);

        if (ready != shown) {
            printf("  %d of %d placed, %d ready\n", total(&table, -1, false), replicas, ready);
            fflush(stdout);
            shown = ready;
        }
        if (!settled(&table, replicas))
            since_ms = 0;
        else if (!since_ms)
            since_ms = clock_mono_ms(NULL);
        if (since_ms && clock_mono_ms(NULL) - since_ms >= stable_ms)
            return table;
        for (int64_t turn_ms = clock_mono_ms(NULL) + 200; clock_mono_ms(NULL) < turn_ms;)
            ground_turn(story->ground, 20);
    }
    return table;
}

/* Runs kubectl on the hub while the playground works on. Returns its exit status; -1: not run. */
static int kubectl(struct story *story, char *const *args) {
    char *argv[16] = {"kubectl", "--kubeconfig",
                      (char *)ground_kubeconfig(story->ground, GROUND_HUB)};
    int count = 3, status;
    pid_t pid;

    printf("  $ kubectl");
    for (int i = 0; args[i] && count < 15; i++) {
        printf(" %s", args[i]);
        argv[count++] = args[i];
    }
    printf("\n");
    fflush(stdout);
    if (posix_spawnp(&pid, "kubectl", NULL, NULL, argv, environ) != 0)
        return -1;
    while (waitpid(pid, &status, WNOHANG) == 0)
        ground_turn(story->ground, 10);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Merge-patches the app, with kubectl where it is there. */
static bool app_patch(struct story *story, const char *patch) {
    char *args[] = {"patch", "appdefinition", "checkout", "--type=merge",
                    "-p",    (char *)patch,   NULL};
    const struct kube_call call = {.verb = KUBE_MERGE_PATCH,
                                   .target = {.group = "bulkhead.dev",
                                              .version = "v1alpha1",
                                              .resource = "appdefinitions",
                                              .ns = "retail",
                                              .name = "checkout"},
                                   .body = patch,
                                   .body_bytes = strlen(patch)};
    struct err err = {0};

    if (story->options.kubectl)
        return kubectl(story, args) == 0;
    if (ground_call(story->ground, GROUND_HUB, &call, NULL, &err) < 0)
        printf("  %s\n", err.msg);
    return err.code == 0;
}

static void tell_first(struct story *story) {
    auto_free char *path =
        str_printf("%s/manifests/samples/appdefinition.yaml", story->options.assets);
    char *args[] = {"apply", "-f", path, NULL};
    struct err err = {0};

    say(story, "An owner applies an app: 20 replicas, at least 2 zones, at most 67 %% in one.");
    if (story->options.kubectl)
        promise(story, kubectl(story, args) == 0, "kubectl applies the sample");
    else
        promise(story, ground_apply_file(story->ground, GROUND_HUB, path, &err) >= 0,
                err.code ? err.msg : "the sample is applied");
    const struct table table = until_settled(story, 20, 0);

    table_print(&table);
    promise(story, zone_total(&table, "gz-3", -1) == 10 && zone_total(&table, "gz-4", -1) == 10,
            "10 replicas in gz-3 and 10 in gz-4: 50 % each");
    promise(story,
            total(&table, GROUND_A, false) == 11 && zone_total(&table, "gz-3", GROUND_A) == 10 &&
                zone_total(&table, "gz-4", GROUND_A) == 1,
            "cls-a runs 11: 10 in gz-3 and 1 in gz-4");
    promise(story, total(&table, GROUND_B, false) == 9, "cls-b runs 9");
    promise(story, total(&table, -1, true) == 20, "all 20 are ready");
}

static void tell_scale(struct story *story) {
    char *args[] = {"scale", "appdefinition/checkout", "--replicas=24", NULL};
    struct table table;

    say(story, "It is scaled to 24: replicas are added, none moves.");
    if (story->options.kubectl)
        promise(story, kubectl(story, args) == 0, "kubectl scale works");
    else
        promise(story, app_patch(story, "{\"spec\":{\"replicas\":24}}"), "the patch is taken");
    table = until_settled(story, 24, 0);
    table_print(&table);
    promise(story,
            zone_total(&table, "gz-3", GROUND_A) >= 10 &&
                zone_total(&table, "gz-4", GROUND_A) >= 1 &&
                zone_total(&table, "gz-4", GROUND_B) >= 9,
            "every replica that was there stayed");
    promise(story, zone_total(&table, "gz-3", -1) <= 16 && zone_total(&table, "gz-4", -1) <= 16,
            "no zone is above its cap of 16");
    say(story, "And back to 20.");
    promise(story, app_patch(story, "{\"spec\":{\"replicas\":20}}"), "the patch is taken");
    table = until_settled(story, 20, 0);
    table_print(&table);
    promise(story, total(&table, -1, true) == 20, "20 are ready");
}

static void tell_policy(struct story *story) {
    const struct fleet_node node = {.name = "cls-b-gz-6",
                                    .zone = "gz-6",
                                    .cpu_milli = 20 * 250,
                                    .memory_bytes = INT64_C(16) << 30,
                                    .pods = 110};
    struct table table;

    say(story, "A zone is added: gz-6, with room for 20. Nothing moves by itself.");
    fleet_node_add(ground_fleet(story->ground, GROUND_B), &node);
    table = until_settled(story, 20, 2000);
    table_print(&table);
    promise(story, zone_total(&table, "gz-6", -1) == 0, "gz-6 stays empty until it is asked for");
    say(story, "The policy asks for three zones, at most 40 %% in one: made before broken.");
    promise(story,
            app_patch(story, "{\"spec\":{\"topology\":{\"minZones\":3,\"maxZonePercent\":40}}}"),
            "the patch is taken");
    table = until_settled(story, 20, 500);
    table_print(&table);
    promise(story, table.zone_count >= 3 && zone_total(&table, "gz-6", -1) >= 6,
            "the third zone takes its share");
    for (int row = 0; row < table.zone_count; row++)
        if (zone_total(&table, table.zones[row], -1) > 8)
            promise(story, false, "no zone is above its cap of 8");
    promise(story, total(&table, -1, true) == 20, "20 are ready");
}

static void tell_rebalance(struct story *story) {
    const struct fleet_node node = {.name = "cls-a-gz-3-2",
                                    .zone = "gz-3",
                                    .cpu_milli = 20 * 250,
                                    .memory_bytes = INT64_C(16) << 30,
                                    .pods = 110};
    struct table table;

    say(story, "More nodes come to gz-3; a person asks for a rebalance.");
    fleet_node_add(ground_fleet(story->ground, GROUND_A), &node);
    promise(story,
            app_patch(story, "{\"metadata\":{\"annotations\":{\"bulkhead.dev/rebalance\":\"1\"}}}"),
            "the annotation is taken");
    table = until_settled(story, 20, 1500);
    table_print(&table);
    promise(story, total(&table, -1, true) == 20, "20 are ready");
}

static bool app_gone(struct story *story) {
    const struct kube_call call = {.verb = KUBE_GET,
                                   .target = {.group = "bulkhead.dev",
                                              .version = "v1alpha1",
                                              .resource = "appdefinitions",
                                              .ns = "retail",
                                              .name = "checkout"}};
    struct err err = {0};

    return ground_call(story->ground, GROUND_HUB, &call, NULL, &err) < 0 && strstr(err.msg, "404");
}

static void tell_end(struct story *story) {
    char *args[] = {"delete", "appdefinition", "checkout", "--wait=false", NULL};
    const struct kube_call call = {.verb = KUBE_DELETE,
                                   .target = {.group = "bulkhead.dev",
                                              .version = "v1alpha1",
                                              .resource = "appdefinitions",
                                              .ns = "retail",
                                              .name = "checkout"}};
    const int64_t deadline_ms = clock_mono_ms(NULL) + WAIT_MS;
    bool gone = false;

    say(story, "It is deleted: what it ran goes first, then its finalizer.");
    if (story->options.kubectl)
        promise(story, kubectl(story, args) == 0, "kubectl delete works");
    else
        promise(story, ground_call(story->ground, GROUND_HUB, &call, NULL, NULL) >= 0,
                "the deletion is taken");
    while (!gone && clock_mono_ms(NULL) < deadline_ms && !is_stopped(story)) {
        gone = app_gone(story);
        ground_turn(story->ground, 50);
    }
    const struct table table = look(story);

    promise(story, gone, "the app is gone");
    promise(story, total(&table, -1, true) == 0, "nothing of it runs in any child");
}

int story_tell(struct ground *ground, const struct story_options *options) {
    static void (*const chapters[])(struct story *) = {tell_first, tell_scale, tell_policy,
                                                       tell_rebalance};
    char *args[] = {"get", "appdefinitions", "-o", "wide", NULL};
    struct story story = {.ground = ground, .options = *options, .begun_ms = clock_mono_ms(NULL)};

    for (size_t i = 0;
         i < sizeof chapters / sizeof *chapters && !story.broken && !is_stopped(&story); i++)
        chapters[i](&story);
    if (!story.broken && !is_stopped(&story) && options->kubectl) {
        say(&story, "What its owner sees:");
        promise(&story, kubectl(&story, args) == 0, "kubectl shows a table");
    }
    if (!story.broken && !is_stopped(&story) && !options->keep)
        tell_end(&story);
    printf("\n%s after %.1f s\n",
           story.broken         ? "a promise was broken"
           : is_stopped(&story) ? "broken off"
                                : "every promise held",
           (double)(clock_mono_ms(NULL) - story.begun_ms) / 1000);
    fflush(stdout);
    return story.broken || is_stopped(&story);
}
