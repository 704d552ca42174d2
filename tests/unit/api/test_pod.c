#include "unit.h"

#include "api/pod.h"
#include "base/auto.h"
#include "base/random.h"
#include "base/str.h"

#include <jansson.h>
#include <stdio.h>

static const struct resource_names fleet = {{"nvidia.com/gpu", NULL, "hugepages-2Mi", NULL}};

static int read_text(const char *json, struct names *names, struct meta *ret_meta,
                     struct pod *ret_pod, struct err *err) {
    return pod_read(json, strlen(json), names, &fleet, ret_meta, ret_pod, err);
}

static void reads_what_a_cache_keeps(void **state) {
    static const char json[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-1\",\"namespace\":"
        "\"shop\",\"uid\":\"u1\",\"resourceVersion\":\"9\",\"labels\":{\"bulkhead.dev/app-uid\":"
        "\"0f3a\",\"bulkhead.dev/app\":\"web\",\"bulkhead.dev/zone\":\"eu-a\","
        "\"app.kubernetes.io/managed-by\":\"bulkhead\",\"pod-template-hash\":\"7d4b\"}},"
        "\"spec\":{\"nodeName\":\"node-7\",\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"limits\":{\"cpu\":\"9\"},\"requests\":{\"cpu\":\"250m\",\"memory\":\"1Gi\","
        "\"nvidia.com/gpu\":1}}}]},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.1.2.3\","
        "\"startTime\":\"2026-01-05T10:11:12Z\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
        "\"True\",\"lastTransitionTime\":\"2026-01-05T10:11:22Z\"}]}}";
    struct names *names = names_new(16);
    struct room_amount request;
    struct meta meta;
    struct pod pod;

    (void)state;
    assert_int_equal(read_text(json, names, &meta, &pod, NULL), 0);
    assert_string_equal(meta.key, "shop/web-1");
    assert_ptr_equal(pod.node, names_find(names, "node-7", 6));
    assert_ptr_equal(pod.app_uid, names_find(names, "0f3a", 4));
    assert_ptr_equal(pod.app, names_find(names, "web", 3));
    assert_ptr_equal(pod.zone, names_find(names, "eu-a", 4));
    assert_ptr_equal(pod.revision, names_find(names, "7d4b", 4));
    assert_int_equal(pod.phase, POD_RUNNING);
    assert_int_equal(pod.started_ms, 1767607872000);
    assert_int_equal(pod.ready_changed_ms, 1767607882000);
    assert_true(pod.ready && pod.managed && !pod.terminating && !pod.uncounted);
    assert_int_equal(pod.ip.family, ADDRESS_IPV4);
    assert_memory_equal(pod.ip.bytes, "\x0a\x01\x02\x03", 4);
    pod_request(&pod, &request);
    assert_int_equal(request.of[ROOM_CPU_MILLI], 250);
    assert_int_equal(request.of[ROOM_MEMORY_BYTES], 1073741824);
    assert_int_equal(request.of[ROOM_PODS], 1);
    assert_int_equal(request.of[ROOM_EXTENDED], 1);
    pod_done(&pod, names);
    assert_null(pod.node);
    assert_int_equal(names_count(names), 0);
    pod_done(NULL, names);
    names_free(names);
}

/* What nobody reads takes no place, however much of it there is. */
static void C44_managed_fields_and_unread_ones_are_not_kept(void **state) {
    struct names *names = names_new(16);
    struct str text;
    struct meta meta;
    struct pod pod;

    (void)state;
    str_init(&text, 1 << 20);
    str_addf(&text, NULL,
             "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\",\"uid\":\"u1\","
             "\"resourceVersion\":\"9\",\"managedFields\":[");
    for (int i = 0; i < 1000; i++)
        str_addf(&text, NULL,
                 "%s{\"manager\":\"m%d\",\"fieldsV1\":{\"f:spec\":{\"nodeName\":\"x\"}}}",
                 i ? "," : "", i);
    str_addf(&text, NULL,
             "],\"annotations\":{\"bulkhead.dev/app\":\"other\"}},\"spec\":{\"nodeName\":"
             "\"node-7\",\"hostname\":\"h\",\"containers\":[]},\"status\":{}}");
    assert_int_equal(read_text(text.data, names, &meta, &pod, NULL), 0);
    assert_string_equal(pod.node, "node-7");
    assert_null(pod.app);
    assert_int_equal(names_count(names), 1);
    pod_done(&pod, names);
    names_free(names);
    str_done(&text);
}

/* What a spec takes, cpu alone, and whether something in it is not counted. */
static void the_request_is_the_schedulers(void **state) {
    static const struct {
        const char *name;
        const char *spec;
        int64_t cpu_milli;
        int64_t huge;
        bool uncounted;
    } rows[] = {
        {"nothing", "null", 0, 0, false},
        {"no requests", "{\"containers\":[{},{\"resources\":{}},{\"resources\":null}]}", 0, 0,
         false},
        {"limits are no requests", "{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":1}}}]}", 0,
         0, false},
        {"containers add up",
         "{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":1}}},"
         "{\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]}",
         1500, 0, false},
        {"a small init container hides behind them",
         "{\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":1}}}],"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}]}",
         2000, 0, false},
        {"the largest init container counts, not their sum",
         "{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}],"
         "\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":3}}},"
         "{\"resources\":{\"requests\":{\"cpu\":4}}}]}",
         4000, 0, false},
        {"a sidecar adds up with containers",
         "{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}],"
         "\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":1}},\"restartPolicy\":"
         "\"Always\"}]}",
         3000, 0, false},
        {"init containers run beside the sidecars before them",
         "{\"initContainers\":[{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":"
         "{\"cpu\":1}}},{\"resources\":{\"requests\":{\"cpu\":4}}}],"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}]}",
         5000, 0, false},
        {"but not beside those after them",
         "{\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":4}}},"
         "{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":1}}}],"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}]}",
         4000, 0, false},
        {"another restartPolicy is an init container's",
         "{\"initContainers\":[{\"restartPolicy\":\"OnFailure\",\"resources\":{\"requests\":"
         "{\"cpu\":4}}}],\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}]}",
         4000, 0, false},
        {"overhead is on top of the larger",
         "{\"overhead\":{\"cpu\":\"250m\"},\"initContainers\":[{\"resources\":{\"requests\":"
         "{\"cpu\":4}}}],\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}]}",
         4250, 0, false},
        {"pod level replaces what containers say",
         "{\"resources\":{\"requests\":{\"cpu\":3}},\"overhead\":{\"cpu\":1},"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":9,\"hugepages-2Mi\":2}}}]}",
         4000, 2, false},
        {"pod level huge pages too",
         "{\"resources\":{\"requests\":{\"hugepages-2Mi\":8}},"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":9,\"hugepages-2Mi\":2}}}]}",
         9000, 8, false},
        {"a resource that nobody counts",
         "{\"containers\":[{\"resources\":{\"requests\":{\"example.com/fpga\":1}}},{}]}", 0, 0,
         true},
        {"one at pod level", "{\"resources\":{\"requests\":{\"example.com/fpga\":1}}}", 0, 0, true},
        {"one as overhead", "{\"overhead\":{\"example.com/fpga\":1}}", 0, 0, true},
        {"one in an init container",
         "{\"initContainers\":[{\"resources\":{\"requests\":"
         "{\"example.com/fpga\":1}}}]}",
         0, 0, true},
    };
    struct names *names = names_new(4);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_free char *json =
            str_printf("{\"metadata\":{\"name\":\"n\"},\"spec\":%s}", rows[i].spec);
        struct room_amount request;
        struct err err = {0};
        struct meta meta;
        struct pod pod;

        if (read_text(json, names, &meta, &pod, &err) != 0)
            fail_msg("%s: %s", rows[i].name, err.msg);
        pod_request(&pod, &request);
        if (request.of[ROOM_CPU_MILLI] != rows[i].cpu_milli || request.of[ROOM_PODS] != 1 ||
            request.of[ROOM_EXTENDED + 2] != rows[i].huge || pod.uncounted != rows[i].uncounted)
            fail_msg("%s: %lld", rows[i].name, (long long)request.of[ROOM_CPU_MILLI]);
    }
    names_free(names);
}

static void a_terminal_pod_takes_nothing(void **state) {
    static const struct {
        const char *phase;
        enum pod_phase want;
        bool terminal;
    } rows[] = {
        {"null", POD_PENDING, false},           {"\"\"", POD_PENDING, false},
        {"\"Pending\"", POD_PENDING, false},    {"\"Running\"", POD_RUNNING, false},
        {"\"Succeeded\"", POD_SUCCEEDED, true}, {"\"Failed\"", POD_FAILED, true},
        {"\"Unknown\"", POD_UNKNOWN, false},    {"\"Dreaming\"", POD_UNKNOWN, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_free char *json = str_printf(
            "{\"metadata\":{\"name\":\"n\",\"deletionTimestamp\":\"2026-01-05T10:11:12Z\"},"
            "\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}]},"
            "\"status\":{\"phase\":%s}}",
            rows[i].phase);
        struct room_amount request;
        struct meta meta;
        struct pod pod;

        assert_int_equal(read_text(json, NULL, &meta, &pod, NULL), 0);
        assert_int_equal(pod.phase, rows[i].want);
        assert_int_equal(pod_is_terminal(&pod), rows[i].terminal);
        assert_true(pod.terminating);
        pod_request(&pod, &request);
        assert_int_equal(request.of[ROOM_CPU_MILLI], rows[i].terminal ? 0 : 2000);
        assert_int_equal(request.of[ROOM_PODS], !rows[i].terminal);
    }
}

static void a_failure_holds_nothing(void **state) {
    static const char *const rows[] = {
        "",
        "[]",
        "{}",
        "{\"metadata\":null}",
        "{\"metadata\":{\"labels\":{\"bulkhead.dev/app\":\"web\"}}}",
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"bulkhead.dev/app\":\"web\"}},\"spec\":7}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\",\"containers\":{}}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\",\"containers\":[7]}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\",\"containers\":[{\"resources\""
        ":{\"requests\":{\"cpu\":\"lots\"}}}]}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":7}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\"},\"status\":{\"podIP\":\"?\"}"
        "}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\"},\"status\":{\"startTime\":1}"
        "}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\"},\"status\":{\"phase\":1}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\"}} x",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\"}",
    };
    struct names *names = names_new(4);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct meta meta = {.generation = 9};
        struct pod pod = {.cpu_milli = 9};
        struct err err = {0};

        if (read_text(rows[i], names, &meta, &pod, &err) != ERR_INVALID || pod.cpu_milli != 9 ||
            meta.generation != 9 || names_count(names) != 0 || !*err.msg)
            fail_msg("%s: %zu names", rows[i], names_count(names));
    }
    names_free(names);
}

static void a_repeated_name_counts_once_and_last(void **state) {
    struct names *names = names_new(4);
    struct meta meta;
    struct pod pod;

    (void)state;
    assert_int_equal(
        read_text("{\"metadata\":{\"name\":\"n\",\"labels\":{\"bulkhead.dev/app\":\"a\","
                  "\"bulkhead.dev/app\":\"b\"}},\"spec\":{\"nodeName\":\"c\","
                  "\"nodeName\":null}}",
                  names, &meta, &pod, NULL),
        0);
    assert_string_equal(pod.app, "b");
    assert_null(pod.node);
    assert_int_equal(names_count(names), 1);
    pod_done(&pod, names);
    assert_int_equal(names_count(names), 0);
    names_free(names);
}

static void a_full_table_of_names_is_to_be_retried(void **state) {
    static const char json[] =
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"bulkhead.dev/app\":\"web\","
        "\"bulkhead.dev/zone\":\"a\"}},\"spec\":{\"nodeName\":\"node-7\"}}";

    (void)state;
    for (size_t room = 0; room <= 3; room++) {
        struct names *names = names_new(room);
        struct meta meta;
        struct pod pod = {0};

        assert_int_equal(read_text(json, names, &meta, &pod, NULL), room < 3 ? ERR_RETRY : 0);
        assert_int_equal(names_count(names), room < 3 ? 0 : 3);
        pod_done(&pod, names);
        names_free(names);
    }
}

/* Quantities with what they mean in thousandths and, rounded up, in whole pieces. */
static const struct {
    const char *json;
    int64_t milli;
    int64_t whole;
} quantities[] = {
    {"\"100m\"", 100, 1},       {"\"1\"", 1000, 1},   {"3", 3000, 3},
    {"0.25", 250, 1},           {"\"1.5\"", 1500, 2}, {"\"2k\"", 2000000, 2000},
    {"\"1Ki\"", 1024000, 1024}, {"0", 0, 0},
};
static const char *const kinds[] = {"cpu", "memory", "nvidia.com/gpu", "hugepages-2Mi",
                                    "example.com/fpga"};
#define KIND_COUNT 5

static bool chance(struct random *rng, uint64_t percent) {
    return random_below(rng, 100) < percent;
}

static json_t *random_requests(struct random *rng) {
    json_t *map = json_object();

    for (size_t i = 0; i < KIND_COUNT; i++)
        if (chance(rng, i == 4 ? 5 : 40)) {
            const size_t q = random_below(rng, sizeof(quantities) / sizeof(quantities[0]));

            json_object_set_new(map, kinds[i],
                                json_loads(quantities[q].json, JSON_DECODE_ANY, NULL));
        }
    return map;
}

static json_t *random_container(struct random *rng, bool init) {
    json_t *container = json_pack("{s:s,s:[{s:s}]}", "name", "c\"\n", "env", "name", "resources");

    if (chance(rng, 80))
        json_object_set_new(container, "resources",
                            json_pack("{s:o,s:o}", "limits", random_requests(rng), "requests",
                                      random_requests(rng)));
    if (init && chance(rng, 50))
        json_object_set_new(container, "restartPolicy",
                            chance(rng, 80) ? json_string("Always") : json_null());
    return container;
}

static json_t *random_containers(struct random *rng, bool init) {
    json_t *list = json_array();

    for (uint64_t n = random_below(rng, 4); n > 0; n--)
        json_array_append_new(list, random_container(rng, init));
    return list;
}

static json_t *random_metadata(struct random *rng) {
    static const char *const labels[] = {"bulkhead.dev/app-uid",     "bulkhead.dev/app",
                                         "bulkhead.dev/zone",        "app.kubernetes.io/managed-by",
                                         "controller-revision-hash", "other"};
    static const char *const values[] = {"bulkhead", "web", "", "eu-\xc3\xa4"};
    json_t *metadata = json_pack("{s:s,s:s}", "namespace", "shop", "name", "web-1");
    json_t *map = json_object();

    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
        if (chance(rng, 60))
            json_object_set_new(map, labels[i], json_string(values[random_below(rng, 4)]));
    json_object_set_new(metadata, "labels", map);
    if (chance(rng, 20))
        json_object_set_new(metadata, "deletionTimestamp", json_string("2026-01-05T10:11:12Z"));
    return metadata;
}

static json_t *random_status(struct random *rng) {
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
    static const char *const states[] = {"True", "False", "Unknown"};
    json_t *status = json_pack("{s:s}", "phase", phases[random_below(rng, 5)]);
    json_t *conditions = json_array();

    for (int i = 0; i < 3; i++)
        if (chance(rng, 70))
            json_array_append_new(conditions, json_pack("{s:s,s:s,s:s}", "lastTransitionTime",
                                                        "2026-01-05T10:11:12Z", "status",
                                                        states[random_below(rng, 3)], "type",
                                                        i == 1 ? "Ready" : "ContainersReady"));
    json_object_set_new(status, "conditions", conditions);
    if (chance(rng, 50))
        json_object_set_new(status, "startTime", json_string("2026-01-05T10:11:12Z"));
    if (chance(rng, 50))
        json_object_set_new(status, "podIP", json_string("10.0.0.9"));
    return status;
}

static json_t *random_pod(struct random *rng) {
    json_t *pod = json_object();
    json_t *spec = json_object();

    if (chance(rng, 50))
        json_object_set_new(spec, "initContainers", random_containers(rng, true));
    json_object_set_new(spec, "containers", random_containers(rng, false));
    if (chance(rng, 20)) /* either order */
        json_object_set_new(spec, "initContainers", random_containers(rng, true));
    if (chance(rng, 30))
        json_object_set_new(spec, "overhead", random_requests(rng));
    if (chance(rng, 30))
        json_object_set_new(spec, "resources",
                            json_pack("{s:o}", "requests", random_requests(rng)));
    if (chance(rng, 70))
        json_object_set_new(spec, "nodeName", json_string(chance(rng, 90) ? "node-1" : ""));
    if (chance(rng, 50))
        json_object_set_new(pod, "status", random_status(rng));
    json_object_set_new(pod, "metadata", random_metadata(rng));
    json_object_set_new(pod, "spec", spec);
    if (!json_object_get(pod, "status") && chance(rng, 80))
        json_object_set_new(pod, "status", random_status(rng));
    return pod;
}

/* The straightforward reading: the scheduler's sentence, one resource at a time. */
static int64_t asked(const json_t *map, size_t kind) {
    auto_free char *text = NULL;
    const json_t *value = json_object_get(map, kinds[kind]);

    if (!value)
        return 0;
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    for (size_t i = 0; i < sizeof(quantities) / sizeof(quantities[0]); i++)
        if (strcmp(quantities[i].json, text) == 0)
            return kind == 0 ? quantities[i].milli : quantities[i].whole;
    fail_msg("%s", text);
    return -1;
}

static const json_t *requests_of(const json_t *object) {
    return json_object_get(json_object_get(object, "resources"), "requests");
}

static int64_t max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t plain_request(const json_t *spec, size_t kind) {
    const json_t *containers = json_object_get(spec, "containers");
    const json_t *inits = json_object_get(spec, "initContainers");
    const json_t *level = requests_of(spec);
    int64_t running = 0;
    int64_t sidecars = 0;
    int64_t starting = 0;

    for (size_t i = 0; i < json_array_size(containers); i++)
        running += asked(requests_of(json_array_get(containers, i)), kind);
    for (size_t i = 0; i < json_array_size(inits); i++) {
        const json_t *init = json_array_get(inits, i);
        const char *policy = json_string_value(json_object_get(init, "restartPolicy"));
        const int64_t own = asked(requests_of(init), kind);

        starting = max(starting, sidecars + own);
        if (policy && strcmp(policy, "Always") == 0)
            sidecars += own;
    }
    if (kind != 2 && json_object_get(level, kinds[kind]))
        return asked(level, kind) + asked(json_object_get(spec, "overhead"), kind);
    return max(running + sidecars, starting) + asked(json_object_get(spec, "overhead"), kind);
}

static const json_t *ready_of(const json_t *status) {
    const json_t *list = json_object_get(status, "conditions");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "type")), "Ready") ==
            0)
            return json_array_get(list, i);
    return NULL;
}

static bool same_text(const char *got, const json_t *want) {
    const char *text = json_string_value(want);

    return text && *text ? got && strcmp(got, text) == 0 : !got;
}

static bool is(const json_t *value, const char *text) {
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

static void check_pod(const json_t *json, const struct pod *pod) {
    const json_t *metadata = json_object_get(json, "metadata");
    const json_t *labels = json_object_get(metadata, "labels");
    const json_t *spec = json_object_get(json, "spec");
    const json_t *status = json_object_get(json, "status");
    const json_t *phase = json_object_get(status, "phase");
    const json_t *ready = ready_of(status);

    assert_true(same_text(pod->app_uid, json_object_get(labels, "bulkhead.dev/app-uid")));
    assert_true(same_text(pod->app, json_object_get(labels, "bulkhead.dev/app")));
    assert_true(same_text(pod->zone, json_object_get(labels, "bulkhead.dev/zone")));
    assert_true(same_text(pod->revision, json_object_get(labels, "controller-revision-hash")));
    assert_true(same_text(pod->node, json_object_get(spec, "nodeName")));
    assert_int_equal(pod->managed,
                     is(json_object_get(labels, "app.kubernetes.io/managed-by"), "bulkhead"));
    assert_int_equal(pod->terminating, json_object_get(metadata, "deletionTimestamp") != NULL);
    assert_int_equal(pod->ready, is(json_object_get(ready, "status"), "True"));
    assert_int_equal(pod->ready_changed_ms, ready ? 1767607872000 : 0);
    assert_int_equal(pod->started_ms, json_object_get(status, "startTime") ? 1767607872000 : 0);
    assert_int_equal(pod->ip.family,
                     json_object_get(status, "podIP") ? ADDRESS_IPV4 : ADDRESS_NONE);
    assert_int_equal(pod_is_terminal(pod), is(phase, "Succeeded") || is(phase, "Failed"));
    assert_int_equal(pod->phase == POD_RUNNING, is(phase, "Running"));
}

static void random_pods_read_as_jansson_reads_them(void **state) {
    static const int slots[] = {ROOM_CPU_MILLI, ROOM_MEMORY_BYTES, ROOM_EXTENDED,
                                ROOM_EXTENDED + 2};
    struct names *names = names_new(8);
    struct random rng = {2026};

    (void)state;
    for (int round = 0; round < 20000; round++) {
        json_t *json = random_pod(&rng);
        auto_free char *text = json_dumps(json, (chance(&rng, 50) ? JSON_INDENT(2) : JSON_COMPACT) |
                                                    (chance(&rng, 50) ? JSON_ENSURE_ASCII : 0));
        const json_t *spec = json_object_get(json, "spec");
        struct room_amount request;
        struct meta meta;
        struct pod pod;
        struct err err = {0};

        if (read_text(text, names, &meta, &pod, &err) != 0)
            fail_msg("%s: %s", text, err.msg);
        check_pod(json, &pod);
        pod_request(&pod, &request);
        for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
            const int64_t want = pod_is_terminal(&pod) ? 0 : plain_request(spec, i);

            if (request.of[slots[i]] != want)
                fail_msg("%s: %s %lld, not %lld", text, kinds[i], (long long)request.of[slots[i]],
                         (long long)want);
        }
        pod_done(&pod, names);
        json_decref(json);
        assert_int_equal(names_count(names), 0);
    }
    names_free(names);
}

static void amounts_beyond_the_struct_stay_at_its_limit(void **state) {
    static const char json[] =
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"containers\":[{\"resources\":{\"requests\":"
        "{\"cpu\":\"3M\",\"memory\":\"7Ei\"}}},{\"resources\":{\"requests\":{\"memory\":"
        "\"7Ei\"}}}]}}";
    struct room_amount request;
    struct meta meta;
    struct pod pod;

    (void)state;
    assert_int_equal(read_text(json, NULL, &meta, &pod, NULL), 0);
    pod_request(&pod, &request);
    assert_int_equal(request.of[ROOM_CPU_MILLI], INT32_MAX);
    assert_true(request.of[ROOM_MEMORY_BYTES] == INT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_cache_keeps),
        cmocka_unit_test(C44_managed_fields_and_unread_ones_are_not_kept),
        cmocka_unit_test(the_request_is_the_schedulers),
        cmocka_unit_test(a_terminal_pod_takes_nothing),
        cmocka_unit_test(a_failure_holds_nothing),
        cmocka_unit_test(a_repeated_name_counts_once_and_last),
        cmocka_unit_test(a_full_table_of_names_is_to_be_retried),
        cmocka_unit_test(random_pods_read_as_jansson_reads_them),
        cmocka_unit_test(amounts_beyond_the_struct_stay_at_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
