/* bench_api_pod - pods of about 5 KB, as an API server lists them, into the struct that the cache
 * keeps: names interned, quantities read, the rest skipped. */
#include "api/pod.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PODS 200
#define ROUNDS 100
#define REPEATS 5

static double now_s(void) {
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void add_metadata(struct str *out, int n) {
    str_addf(out, NULL,
             "{\"metadata\":{\"name\":\"web-7d4b9c6f5-%05d\",\"generateName\":\"web-7d4b9c6f5-\","
             "\"namespace\":\"shop\",\"uid\":\"0f3a9c1e-7b1d-4f0e-9a55-2c7d3b%06d\","
             "\"resourceVersion\":\"%d\",\"creationTimestamp\":\"2026-01-05T10:11:12Z\","
             "\"labels\":{\"app.kubernetes.io/managed-by\":\"bulkhead\",\"bulkhead.dev/app\":"
             "\"web\",\"bulkhead.dev/app-uid\":\"5b0c7a44-0000-4000-8000-%012d\","
             "\"bulkhead.dev/zone\":\"eu-%c\",\"pod-template-hash\":\"7d4b9c6f5\"",
             n, n, 184467 + n, n % 20, 'a' + n % 3);
    for (int i = 0; i < 6; i++)
        str_addf(out, NULL, ",\"example.com/label-%d\":\"value-%d\"", i, i * 37);
    str_addf(out, NULL,
             "},\"annotations\":{\"note\":\"a \\\"quoted\\\" line\\n\"},"
             "\"managedFields\":[");
    for (int i = 0; i < 2; i++)
        str_addf(out, NULL,
                 "%s{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
                 "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},"
                 "\"f:app\":{},\"f:pod-template-hash\":{}}},\"f:spec\":{\"f:containers\":{"
                 "\"k:{\\\"name\\\":\\\"web\\\"}\":{\".\":{},\"f:image\":{},\"f:resources\":{"
                 "\".\":{},\"f:requests\":{\".\":{},\"f:cpu\":{},\"f:memory\":{}}}}}}}}",
                 i ? "," : "");
    str_addf(out, NULL, "]},");
}

static void add_spec(struct str *out, int n) {
    str_addf(out, NULL, "\"spec\":{\"nodeName\":\"node-eu-a-%04d\",\"containers\":[", n % 50);
    for (int i = 0; i < 3; i++) {
        str_addf(
            out, NULL,
            "%s{\"name\":\"c%d\",\"image\":\"registry.example.com/shop/web:v1.2.%d\",\"env\":[",
            i ? "," : "", i, i);
        for (int e = 0; e < 14; e++)
            str_addf(out, NULL, "%s{\"name\":\"SETTING_%d\",\"value\":\"https://host-%d/\"}",
                     e ? "," : "", e, e);
        str_addf(out, NULL,
                 "],\"resources\":{\"requests\":{\"cpu\":\"250m\",\"memory\":\"256Mi\"}},"
                 "\"ports\":[{\"containerPort\":%d,\"protocol\":\"TCP\"}],\"readinessProbe\":{"
                 "\"httpGet\":{\"path\":\"/healthz\",\"port\":8080,\"scheme\":\"HTTP\"},"
                 "\"timeoutSeconds\":1,\"periodSeconds\":10}}",
                 8080 + i);
    }
    str_addf(out, NULL, "]},");
}

static void add_pod(struct str *out, int n) {
    add_metadata(out, n);
    add_spec(out, n);
    str_addf(out, NULL, "\"status\":{\"phase\":\"Running\",\"conditions\":[");
    for (int i = 0; i < 5; i++)
        str_addf(out, NULL,
                 "%s{\"type\":\"%s\",\"status\":\"True\",\"lastProbeTime\":null,"
                 "\"lastTransitionTime\":\"2026-01-05T10:11:%02dZ\"}",
                 i ? "," : "", i == 3 ? "Ready" : "Initialized", i + 20);
    str_addf(out, NULL, "],\"podIP\":\"10.1.2.%d\",\"startTime\":\"2026-01-05T10:11:13Z\"}}",
             n % 250);
}

/* Reads all pods, keeps them, gives them back. */
static double read_all_s(const struct str *texts, struct names *names) {
    static struct pod pods[PODS];
    struct meta meta;
    double start = now_s();

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PODS; i++)
            if (pod_read(texts[i].data, texts[i].size_bytes, names, NULL, &meta, &pods[i], NULL) <
                    0 ||
                pods[i].cpu_milli != 750 || !pods[i].ready || !pods[i].managed)
                abort();
        for (int i = 0; i < PODS; i++)
            pod_done(&pods[i], names);
    }
    return now_s() - start;
}

int main(void) {
    static struct str texts[PODS];
    struct names *names = names_new(1000);
    size_t sum_bytes = 0;
    double best_s = 1e9;

    for (int i = 0; i < PODS; i++) {
        str_init(&texts[i], 1 << 20);
        add_pod(&texts[i], i);
        sum_bytes += texts[i].size_bytes;
    }
    for (int i = 0; i < REPEATS; i++) { /* a shared machine only adds time */
        const double s = read_all_s(texts, names);

        best_s = s < best_s ? s : best_s;
    }
    if (names_count(names) != 0)
        abort();
    printf("figure pod_read_mb_per_s %.0f MB/s\n", (double)sum_bytes * ROUNDS / best_s / 1e6);
    printf("figure pod_struct_bytes %zu B\n", sizeof(struct pod));
    printf("# %d pods of %zu bytes on average\n", PODS, sum_bytes / PODS);
    for (int i = 0; i < PODS; i++)
        str_done(&texts[i]);
    names_free(names);
    return 0;
}
