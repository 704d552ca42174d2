#include "unit.h"

#include "api/workload.h"
#include "base/auto.h"
#include "base/str.h"

static int read_text(const char *json, struct names *names, struct workload *ret_workload,
                     struct err *err) {
    struct meta meta;

    return workload_read(WORKLOAD_STATEFULSET, json, strlen(json), names, &meta, ret_workload, err);
}

static void reads_what_a_cache_keeps(void **state) {
    static const char json[] =
        "{\"metadata\":{\"name\":\"web--eu-a\",\"namespace\":\"shop\",\"generation\":7,"
        "\"creationTimestamp\":\"2026-01-05T10:11:12Z\",\"labels\":{\"bulkhead.dev/app-uid\":"
        "\"0f3a\",\"bulkhead.dev/app\":\"web\",\"bulkhead.dev/zone\":\"eu-a\","
        "\"app.kubernetes.io/managed-by\":\"bulkhead\"},\"annotations\":{"
        "\"bulkhead.dev/template-hash\":\"v1:77\"},\"managedFields\":[{\"manager\":"
        "\"bulkhead-scale\",\"subresource\":\"scale\"}]},\"spec\":{\"replicas\":0,\"paused\":true,"
        "\"ordinals\":{\"start\":3000},\"template\":{\"spec\":{\"replicas\":9}}},\"status\":{"
        "\"replicas\":6,\"updatedReplicas\":5,\"readyReplicas\":4,\"availableReplicas\":3,"
        "\"observedGeneration\":6,\"currentRevision\":\"web-1\",\"updateRevision\":\"web-2\"}}";
    struct names *names = names_new(16);
    struct workload got;
    struct meta meta;

    (void)state;
    assert_int_equal(
        workload_read(WORKLOAD_STATEFULSET, json, strlen(json), names, &meta, &got, NULL), 0);
    assert_string_equal(meta.key, "shop/web--eu-a");
    assert_int_equal(got.kind, WORKLOAD_STATEFULSET);
    assert_string_equal(got.app_uid, "0f3a");
    assert_string_equal(got.app, "web");
    assert_string_equal(got.zone, "eu-a");
    assert_string_equal(got.template_hash, "v1:77");
    assert_string_equal(got.current_revision, "web-1");
    assert_string_equal(got.update_revision, "web-2");
    assert_int_equal(got.generation, 7);
    assert_int_equal(got.observed_generation, 6);
    assert_int_equal(got.created_ms, 1767607872000);
    assert_int_equal(got.replicas, 0);
    assert_int_equal(got.status_replicas, 6);
    assert_int_equal(got.updated_replicas, 5);
    assert_int_equal(got.ready_replicas, 4);
    assert_int_equal(got.available_replicas, 3);
    assert_int_equal(got.ordinals_start, 3000);
    assert_true(got.managed && got.scaled && got.paused && !got.deadline_exceeded && !got.deleting);
    workload_done(&got, names);
    assert_int_equal(names_count(names), 0);
    workload_done(NULL, names);
    names_free(names);
}

static void absent_null_and_zero_replicas_differ(void **state) {
    static const struct {
        const char *rest;
        int32_t want;
    } rows[] = {
        {"", 1},
        {",\"spec\":null", 1},
        {",\"spec\":{}", 1},
        {",\"spec\":{\"replicas\":null}", 1},
        {",\"spec\":{\"replicas\":0}", 0},
        {",\"spec\":{\"replicas\":12,\"ordinals\":null}", 12},
        {",\"spec\":{\"replicas\":2147483647}", INT32_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_free char *json = str_printf("{\"metadata\":{\"name\":\"n\"}%s}", rows[i].rest);
        struct workload got;

        assert_int_equal(read_text(json, NULL, &got, NULL), 0);
        assert_int_equal(got.replicas, rows[i].want);
        assert_int_equal(got.status_replicas, 0);
        assert_false(got.scaled);
        assert_null(got.app_uid);
    }
}

static void the_deadline_is_one_reason_of_one_condition(void **state) {
    static const struct {
        const char *conditions;
        bool want;
    } rows[] = {
        {"null", false},
        {"[]", false},
        {"[{\"type\":\"Progressing\",\"status\":\"False\",\"reason\":\"ProgressDeadlineExceeded\"}"
         "]",
         true},
        {"[{\"reason\":\"ProgressDeadlineExceeded\",\"type\":\"Available\"},"
         "{\"type\":\"Progressing\",\"status\":\"True\",\"reason\":\"NewReplicaSetAvailable\"}]",
         false},
        {"[{\"type\":\"Progressing\",\"status\":\"False\"}]", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_free char *json = str_printf(
            "{\"metadata\":{\"name\":\"n\"},\"status\":{\"conditions\":%s}}", rows[i].conditions);
        struct workload got;

        assert_int_equal(read_text(json, NULL, &got, NULL), 0);
        assert_int_equal(got.deadline_exceeded, rows[i].want);
    }
}

static void a_failure_holds_nothing(void **state) {
    static const char *const rows[] = {
        "{}",
        "{\"metadata\":{\"labels\":{\"bulkhead.dev/app\":\"web\"}}}",
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"bulkhead.dev/app\":\"web\"}},\"spec\":[]}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"replicas\":-1}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"replicas\":2147483648}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"replicas\":\"1\"}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"replicas\":1.0}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"paused\":1}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"ordinals\":{\"start\":-1}}}",
        "{\"metadata\":{\"name\":\"n\"},\"status\":{\"readyReplicas\":true}}",
        "{\"metadata\":{\"name\":\"n\"},\"status\":{\"updateRevision\":\"a\",\"replicas\":-1}}",
        "{\"metadata\":{\"name\":\"n\"},\"status\":{\"currentRevision\":\"a\"}",
    };
    struct names *names = names_new(16);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct workload got = {.replicas = 9};
        struct err err = {0};

        if (read_text(rows[i], names, &got, &err) != ERR_INVALID || got.replicas != 9 ||
            names_count(names) != 0 || !*err.msg)
            fail_msg("%s", rows[i]);
    }
    names_free(names);
}

static void a_complaint_says_where(void **state) {
    struct workload got;
    struct err err = {0};

    (void)state;
    assert_int_equal(read_text("{\"metadata\":{\"name\":\"n\",\"namespace\":\"shop\"},\"spec\":{"
                               "\"replicas\":-1}}",
                               NULL, &got, &err),
                     ERR_INVALID);
    assert_string_equal(err.msg, "workload: shop/n: spec.replicas: -1 is not from 0 to 2147483647");
}

static void names_are_bounded(void **state) {
    struct names *names = names_new(2);
    char text[NAMES_TEXT_MAX + 2] = {0};

    (void)state;
    for (size_t more = 0; more < 2; more++) {
        struct workload got = {0};

        memset(text, 'x', NAMES_TEXT_MAX + more);
        auto_free char *json = str_printf(
            "{\"metadata\":{\"name\":\"n\"},\"status\":{\"updateRevision\":\"%s\"}}", text);

        assert_int_equal(read_text(json, names, &got, NULL), more ? ERR_INVALID : 0);
        workload_done(&got, names);
    }
    names_free(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_cache_keeps),
        cmocka_unit_test(absent_null_and_zero_replicas_differ),
        cmocka_unit_test(the_deadline_is_one_reason_of_one_condition),
        cmocka_unit_test(a_failure_holds_nothing),
        cmocka_unit_test(a_complaint_says_where),
        cmocka_unit_test(names_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
