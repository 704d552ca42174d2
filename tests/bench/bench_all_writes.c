/* bench_all_writes - what the controller adds to the time that its requests take by themselves.
 *
 * Many apps are applied at once and the requests of everybody are kept until the last write to a
 * child is acknowledged. Then clusters in the same state are sent the same requests by a plain
 * client, with as many in flight, over the same wire and with the same watches open.
 */
#include "bench/rig_stage.h"

#include "base/auto.h"
#include "base/str.h"
#include "kube/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SINK_APPS 10000
#define EMBEDDED_APPS 1000
#define HUB_IN_FLIGHT 32
#define CHILD_IN_FLIGHT 8

struct raw {
    struct stage stage;
    int in_flight[STAGE_CLUSTERS];
    size_t unlike; /* answers of another status than the recorded ones */
};

/* One recorded request, made ready. */
struct ready {
    struct raw *raw;
    const struct wire_record *record;
    struct kube_call call;
    char *path; /* into which the call's target points */
    bool stream;
};

static void answered(void *arg, const struct kube_reply *reply) {
    struct ready *ready = arg;

    ready->raw->in_flight[ready->record->cluster]--;
    ready->raw->unlike += reply->status != ready->record->status;
}

static void drop(void *arg, const char *bytes, size_t size_bytes) {
    (void)arg;
    (void)bytes;
    (void)size_bytes;
}

static void ended(void *arg, enum http_end end, const char *text) {
    (void)arg;
    (void)end;
    (void)text;
}

/* Cuts the next piece off at; NULL: there is none. */
static char *piece(char **at) {
    return *at && **at ? strsep(at, "/") : NULL;
}

static void target_read(struct ready *ready, char *query) {
    struct url_target *target = &ready->call.target;
    char *at = ready->path + 1;
    const bool core = strcmp(piece(&at), "api") == 0;

    if (query)
        *query = '\0';
    target->group = core ? NULL : piece(&at);
    target->version = piece(&at);
    target->resource = piece(&at);
    target->name = piece(&at);
    char *deeper = piece(&at);

    if (!deeper)
        return;
    if (strcmp(target->resource, "namespaces") != 0) {
        target->subresource = deeper;
        return;
    }
    target->ns = target->name;
    target->resource = deeper;
    target->name = piece(&at);
    target->subresource = piece(&at);
}

/* Managers are static texts in the controller, and one of these. */
static const char *manager_of(const char *query) {
    static const char *const managers[] = {"bulkhead-scale", "bulkhead", "user"};
    const char *named = query ? strstr(query, "fieldManager=") : NULL;

    for (size_t i = 0; named && i < sizeof managers / sizeof *managers; i++)
        if (strncmp(named + 13, managers[i], strlen(managers[i])) == 0)
            return managers[i];
    return NULL;
}

static void ready_make(struct ready *ready, struct raw *raw, const struct wire_record *record) {
    *ready = (struct ready){.raw = raw, .record = record, .path = str_dup(record->target)};
    char *query = strchr(ready->path, '?');
    struct kube_call *call = &ready->call;

    ready->stream = record->kind == HTTP_STREAM;
    call->body = record->body;
    call->body_bytes = record->body_bytes;
    call->field_manager = manager_of(query);
    call->force = query && strstr(query, "force=true");
    if (strcmp(record->method, "PATCH") == 0)
        call->verb = strstr(record->content_type, "merge-patch") ? KUBE_MERGE_PATCH : KUBE_APPLY;
    else
        call->verb = strcmp(record->method, "POST") == 0 ? KUBE_CREATE : KUBE_GET;
    target_read(ready, query);
}

static void ready_send(struct ready *ready) {
    const struct http_receiver receiver = {.data = drop, .done = ended};
    const struct stage_cluster *cluster = &ready->raw->stage.clusters[ready->record->cluster];
    struct err err = {0};
    uint64_t id;

    if (ready->stream) {
        const struct http_request request = {
            .method = "GET", .target = ready->record->target, .kind = HTTP_STREAM};

        transport_send(cluster->user, &request, &receiver);
        return;
    }
    ready->raw->in_flight[ready->record->cluster]++;
    if (kube_client_call(cluster->client, &ready->call, answered, ready, &id, &err) < 0) {
        fprintf(stderr, "bench: %s: %s\n", ready->record->target, err.msg);
        exit(1);
    }
}

/* Sends records first..count, at most most in flight a child. Returns the time it took. */
static double raw_send(struct raw *raw, const struct wire_record *records, size_t count, int hub,
                       int child) {
    auto_free struct ready *all = str_alloc(count + 1, sizeof *all);

    for (size_t i = 0; i < count; i++)
        ready_make(&all[i], raw, &records[i]);
    const int64_t start_ns = wire_now_ns();

    for (size_t i = 0; i < count; i++) {
        const int cluster = records[i].cluster;

        while (raw->in_flight[cluster] >= (cluster ? child : hub))
            wire_step(raw->stage.wire);
        ready_send(&all[i]);
    }
    wire_drain(raw->stage.wire);
    const int64_t spent_ns = wire_now_ns() - start_ns;

    for (size_t i = 0; i < count; i++)
        free(all[i].path);
    return (double)spent_ns / 1e9;
}

/* When the last write to a child was acknowledged; ret_writes says how many were. */
static int64_t end_ns(const struct wire_record *records, size_t first, size_t count,
                      size_t *ret_writes) {
    int64_t last_ns = 0;

    *ret_writes = 0;
    for (size_t i = first; i < count; i++) {
        if (records[i].cluster == 0 || strcmp(records[i].method, "GET") == 0)
            continue;
        ++*ret_writes;
        if (records[i].answered_ns > last_ns)
            last_ns = records[i].answered_ns;
    }
    return last_ns;
}

static void measure(bool embedded, int apps, const char *name) {
    struct stage stage;
    struct raw raw = {0};
    size_t first, count, writes, sent = 0;

    stage_open(&stage, embedded);
    stage_start(&stage);
    wire_records(stage.wire, &first);
    const int64_t start_ns = wire_now_ns();
    const int64_t start_own_ns = wire_own_ns(stage.wire);

    for (int i = 0; i < apps; i++)
        stage_app(&stage, i, 6);
    stage_settle(&stage, 1000);
    const struct wire_record *records = wire_records(stage.wire, &count);
    const int64_t last_ns = end_ns(records, first, count, &writes);
    int64_t own_ns = 0;

    while (first + sent < count && records[first + sent].sent_ns <= last_ns)
        own_ns = records[first + sent++].own_ns;
    stage_open(&raw.stage, embedded);
    wire_keep(raw.stage.wire, false);
    raw_send(&raw, records, first, 1, 1);
    raw.unlike = 0;
    const double raw_s = raw_send(&raw, records + first, sent, HUB_IN_FLIGHT, CHILD_IN_FLIGHT);
    const double all_s = (double)(last_ns - start_ns) / 1e9;

    if (writes < (size_t)apps || raw.unlike > sent / 1000) {
        fprintf(stderr, "bench: %zu writes to children; %zu of %zu answers were others\n", writes,
                raw.unlike, sent);
        exit(1);
    }
    printf("# %s: %d apps, %zu requests, %zu of them writes to children; %.2f s, raw %.2f s\n",
           name, apps, sent, writes, all_s, raw_s);
    printf("figure writes_over_raw_%s %.2f ratio\n", name, all_s / raw_s);
    printf("figure controller_us_per_request_%s %.1f us\n", name,
           (double)(own_ns - start_own_ns) / 1e3 / (double)sent);
    stage_close(&raw.stage);
    stage_close(&stage);
}

int main(int argc, char **argv) {
    const int apps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;

    printf("# writes_over_raw: apps applied at once until the last answer of a child, over the "
           "same requests sent by a plain client; a sink answers for next to nothing\n");
    measure(true, apps ? apps : EMBEDDED_APPS, "embedded");
    measure(false, apps ? apps : SINK_APPS, "sink");
    return 0;
}
