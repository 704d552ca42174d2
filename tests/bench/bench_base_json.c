/* bench_base_json - a synthetic pod of about 5 KB: read by the pull decoder for what a cache keeps
 * of it, split out of a list, and parsed by jansson, in the same run. */
#include "base/jsonpull.h"
#include "base/jsonsplit.h"
#include "base/str.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PULL_ROUNDS 40000
#define JANSSON_ROUNDS 4000
#define REPEATS 5
#define CHUNK_BYTES 16384

static double now_s(void) {
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void add_pod(struct str *out) {
    str_addf(
        out, NULL,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-7d4b9c6f5-x2x9k\","
        "\"generateName\":\"web-7d4b9c6f5-\",\"namespace\":\"shop\",\"uid\":"
        "\"0f3a9c1e-7b1d-4f0e-9a55-2c7d3b1f8e66\",\"resourceVersion\":\"184467\","
        "\"creationTimestamp\":\"2026-01-05T10:11:12Z\",\"labels\":{");
    for (int i = 0; i < 8; i++)
        str_addf(out, NULL, "\"app.kubernetes.io/label-%d\":\"value-%d\",", i, i * 37);
    str_addf(out, NULL,
             "\"app\":\"web\"},\"annotations\":{\"note\":\"a \\\"quoted\\\" line\\n\"},"
             "\"managedFields\":[");
    for (int i = 0; i < 2; i++)
        str_addf(out, NULL,
                 "%s{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
                 "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},"
                 "\"f:app\":{},\"f:pod-template-hash\":{}}},\"f:spec\":{\"f:containers\":{"
                 "\"k:{\\\"name\\\":\\\"web\\\"}\":{\".\":{},\"f:image\":{},\"f:resources\":{"
                 "\".\":{},\"f:requests\":{\".\":{},\"f:cpu\":{},\"f:memory\":{}}}}}}}}",
                 i ? "," : "");
    str_addf(out, NULL, "]},\"spec\":{\"nodeName\":\"node-eu-a-0017\",\"containers\":[");
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
    str_addf(out, NULL,
             "],\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":"
             "\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]},"
             "\"status\":{\"phase\":\"Running\",\"conditions\":[");
    for (int i = 0; i < 5; i++)
        str_addf(out, NULL,
                 "%s{\"type\":\"Condition%d\",\"status\":\"True\",\"lastProbeTime\":null,"
                 "\"lastTransitionTime\":\"2026-01-05T10:11:%02dZ\"}",
                 i ? "," : "", i, i + 20);
    str_addf(out, NULL, "],\"podIP\":\"10.1.2.3\",\"startTime\":\"2026-01-05T10:11:13Z\"}}");
}

static size_t read_metadata(struct jsonpull *pull) {
    struct jsonpull_text key, text;
    size_t sum = 0;

    if (jsonpull_enter_object(pull, NULL) < 0)
        abort();
    while (jsonpull_next_key(pull, &key, NULL) > 0)
        if (jsonpull_text_is(&key, "name") || jsonpull_text_is(&key, "namespace") ||
            jsonpull_text_is(&key, "uid"))
            sum += jsonpull_text(pull, &text, NULL) == 0 ? text.size_bytes : 0;
    return sum;
}

static size_t read_pod(const char *bytes, size_t size) {
    struct jsonpull pull;
    struct jsonpull_text key;
    size_t sum = 0;

    jsonpull_init(&pull, bytes, size);
    if (jsonpull_enter_object(&pull, NULL) < 0)
        abort();
    while (jsonpull_next_key(&pull, &key, NULL) > 0)
        if (jsonpull_text_is(&key, "metadata"))
            sum += read_metadata(&pull);
    if (jsonpull_end(&pull, NULL) < 0)
        abort();
    return sum;
}

static int take_item(void *arg, const char *bytes, size_t size_bytes, struct err *err) {
    (void)err;
    *(size_t *)arg += read_pod(bytes, size_bytes);
    return 0;
}

static double split_s(const struct str *list) {
    size_t sum = 0;
    const struct jsonsplit_options options = {
        .mode = JSONSPLIT_LIST, .item = take_item, .arg = &sum};
    struct jsonsplit split;
    const double start = now_s();

    jsonsplit_init(&split, &options);
    for (size_t at = 0; at < list->size_bytes; at += CHUNK_BYTES) {
        const size_t left = list->size_bytes - at;

        jsonsplit_feed(&split, list->data + at, left < CHUNK_BYTES ? left : CHUNK_BYTES, NULL);
    }
    if (jsonsplit_end(&split, NULL) < 0)
        abort();
    jsonsplit_done(&split);
    return now_s() - start;
}

static double least(double a, double b) {
    return a < b ? a : b;
}

int main(void) {
    double pull = 1e9, jansson = 1e9, split = 1e9;
    struct str pod, list;
    size_t sum = 0;

    str_init(&pod, 1 << 20);
    add_pod(&pod);
    str_init(&list, (size_t)256 << 20);
    str_addf(&list, NULL, "{\"kind\":\"PodList\",\"items\":[");
    for (int i = 0; i < 10000; i++) {
        str_add(&list, i ? "," : "", i ? 1 : 0, NULL);
        str_add(&list, pod.data, pod.size_bytes, NULL);
    }
    str_addf(&list, NULL, "]}");
    for (int repeat = 0; repeat < REPEATS; repeat++) { /* the best of each, taken in turns */
        double start = now_s();

        for (int i = 0; i < PULL_ROUNDS; i++)
            sum += read_pod(pod.data, pod.size_bytes);
        pull = least(pull, (now_s() - start) / PULL_ROUNDS);
        start = now_s();
        for (int i = 0; i < JANSSON_ROUNDS; i++)
            json_decref(json_loadb(pod.data, pod.size_bytes, 0, NULL));
        jansson = least(jansson, (now_s() - start) / JANSSON_ROUNDS);
        split = least(split, split_s(&list));
    }
    const double pod_mb = (double)pod.size_bytes / 1e6;

    if (sum == 0)
        return 1;
    printf("figure json_pod_bytes %zu B\n", pod.size_bytes);
    printf("figure json_pull_mb_per_s %.0f MB/s\n", pod_mb / pull);
    printf("figure json_jansson_mb_per_s %.0f MB/s\n", pod_mb / jansson);
    printf("figure json_pull_over_jansson %.1f ratio\n", jansson / pull);
    printf("figure json_split_and_pull_mb_per_s %.0f MB/s\n",
           (double)list.size_bytes / 1e6 / split);
    str_done(&pod);
    str_done(&list);
    return 0;
}
