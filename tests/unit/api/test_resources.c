#include "unit.h"

#include "api/resources.h"

#include <stdio.h>

static const struct resource_names gpus = {{NULL, "nvidia.com/gpu", "hugepages-2Mi", NULL}};

static int read_map(const char *json, const struct resource_names *names, struct resources *ret) {
    struct jsonpull pull;

    jsonpull_init(&pull, json, strlen(json));
    return resources_read(&pull, names, ret, NULL);
}

static void each_resource_in_its_slot(void **state) {
    struct resources got;

    (void)state;
    assert_int_equal(read_map("{\"memory\":\"1.5Gi\",\"nvidia.com/gpu\":2,\"cpu\":\"250m\","
                              "\"pods\":\"110\",\"hugepages-2Mi\":\"64Mi\"}",
                              &gpus, &got),
                     0);
    assert_int_equal(got.amount.of[ROOM_CPU_MILLI], 250);
    assert_int_equal(got.amount.of[ROOM_MEMORY_BYTES], 1610612736);
    assert_int_equal(got.amount.of[ROOM_PODS], 110);
    assert_int_equal(got.amount.of[ROOM_EXTENDED], 0);
    assert_int_equal(got.amount.of[ROOM_EXTENDED + 1], 2);
    assert_int_equal(got.amount.of[ROOM_EXTENDED + 2], 67108864);
    assert_false(got.named[ROOM_EXTENDED]);
    assert_true(got.named[ROOM_EXTENDED + 1]);
    assert_false(got.uncounted);
}

static void quantities_are_strings_or_numbers(void **state) {
    static const struct {
        const char *quantity;
        int64_t milli; /* of cpu */
        int64_t whole; /* of memory */
    } rows[] = {
        {"\"500m\"", 500, 1}, {"2", 2000, 2},           {"0.5", 500, 1},  {"1e3", 1000000, 1000},
        {"0", 0, 0},          {"\"0\"", 0, 0},          {"\"1n\"", 1, 1}, {"\"1000m\"", 1000, 1},
        {"1.5", 1500, 2},     {"\"\\u0031\"", 1000, 1}, {"null", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct resources got;
        char json[128];

        snprintf(json, sizeof(json), "{\"cpu\":%s,\"memory\":%s}", rows[i].quantity,
                 rows[i].quantity);
        if (read_map(json, NULL, &got) != 0 || got.amount.of[ROOM_CPU_MILLI] != rows[i].milli ||
            got.amount.of[ROOM_MEMORY_BYTES] != rows[i].whole ||
            got.named[ROOM_CPU_MILLI] != (strcmp(rows[i].quantity, "null") != 0))
            fail_msg("%s", json);
    }
}

static void what_nobody_counts_is_only_said_to_be_there(void **state) {
    static const struct {
        const char *json;
        bool uncounted;
    } rows[] = {
        {"null", false},
        {"{}", false},
        {"{\"cpu\":1,\"pods\":1}", false},
        {"{\"example.com/fpga\":0}", false},
        {"{\"example.com/fpga\":\"1\"}", true},
        {"{\"ephemeral-storage\":\"1Gi\",\"example.com/fpga\":0}", true},
        {"{\"example.com/fpga\":\"1m\"}", true},
        {"{\"example.com/fpga\":null}", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct resources got;

        assert_int_equal(read_map(rows[i].json, &gpus, &got), 0);
        assert_int_equal(got.uncounted, rows[i].uncounted);
    }
}

static void refuses_what_is_no_quantity(void **state) {
    static const char *const rows[] = {
        "[]",
        "7",
        "{\"cpu\":true}",
        "{\"cpu\":{}}",
        "{\"cpu\":\"\"}",
        "{\"cpu\":\"much\"}",
        "{\"cpu\":-1}",
        "{\"cpu\":1",
        "{\"memory\":\"9Ei\",\"cpu\":1}",
        "{\"cpu\":0.00000000000000000000000000000000000000000000000000000000000000000001}",
        "{\"example.com/fpga\":\"many\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct resources got = {.uncounted = true};

        if (read_map(rows[i], NULL, &got) != ERR_INVALID || !got.uncounted)
            fail_msg("%s", rows[i]);
    }
}

static void sums_stay_at_the_limit(void **state) {
    struct room_amount a = {{1, INT64_MAX - 1, 3}};
    const struct room_amount b = {{4, 2, 1}};

    (void)state;
    resources_max(&a, &b);
    assert_int_equal(a.of[0], 4);
    assert_int_equal(a.of[2], 3);
    resources_add(&a, &b);
    assert_int_equal(a.of[0], 8);
    assert_true(a.of[1] == INT64_MAX);
    assert_int_equal(a.of[2], 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_resource_in_its_slot),
        cmocka_unit_test(quantities_are_strings_or_numbers),
        cmocka_unit_test(what_nobody_counts_is_only_said_to_be_there),
        cmocka_unit_test(refuses_what_is_no_quantity),
        cmocka_unit_test(sums_stay_at_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
