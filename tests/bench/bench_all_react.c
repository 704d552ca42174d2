/* bench_all_react - how soon a changed app, one of many, is on its way to its children. */
#include "bench/rig_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APPS 10000
#define CHANGES 2000

static int by_size(const void *a, const void *b) {
    const double one = *(const double *)a, two = *(const double *)b;

    return (one > two) - (one < two);
}

/* When the first write to a child was sent, among the records from first on, on the controller's
 * own clock; 0: none was. */
static int64_t child_write_ns(const struct stage *stage, size_t first) {
    size_t count;
    const struct wire_record *records = wire_records(stage->wire, &count);

    for (size_t i = first; i < count; i++)
        if (records[i].cluster > 0 && strcmp(records[i].method, "GET") != 0)
            return records[i].own_ns;
    return 0;
}

/* One app is changed: the time the controller itself takes from the event on. */
static double react_ms(struct stage *stage, int app, int replicas) {
    size_t first;
    int64_t sent_ns;

    wire_records(stage->wire, &first);
    const int64_t start_ns = wire_own_ns(stage->wire);

    stage_app(stage, app, replicas);
    first++; /* the user's own */
    do {
        stage_turn(stage);
        sent_ns = child_write_ns(stage, first);
    } while (!sent_ns && wire_own_ns(stage->wire) - start_ns < INT64_C(5000000000));
    if (!sent_ns) {
        fprintf(stderr, "bench: app %d was changed and no child heard of it\n", app);
        exit(1);
    }
    return (double)(sent_ns - start_ns) / 1e6;
}

int main(void) {
    static double times[CHANGES];
    struct stage stage;

    stage_open(&stage, false);
    wire_keep(stage.wire, false);
    stage_start(&stage);
    for (int i = 0; i < APPS; i++)
        stage_app(&stage, i, 6);
    stage_settle(&stage, 1000);
    for (int i = 0; i < CHANGES; i++) {
        times[i] = react_ms(&stage, (i * 7919) % APPS, 7 + i / APPS);
        stage_turn(&stage);
    }
    stage_close(&stage);
    qsort(times, CHANGES, sizeof *times, by_size);
    printf(
        "# react: one of %d apps is changed; the controller's own time from the watch's bytes to "
        "the first write to a child\n",
        APPS);
    printf("figure react_p50_ms %.3f ms\n", times[CHANGES / 2]);
    printf("figure react_p99_ms %.3f ms\n", times[CHANGES * 99 / 100]);
    return 0;
}
