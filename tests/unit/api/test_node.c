#include "unit.h"

#include "api/node.h"
#include "base/auto.h"
#include "base/str.h"

static const struct resource_names fleet = {{"nvidia.com/gpu", NULL, NULL, NULL}};

static int read_text(const char *json, struct names *names, struct node *ret_node,
                     struct err *err) {
    struct meta meta;

    return node_read(json, strlen(json), names, &fleet, &meta, ret_node, err);
}

static void reads_what_a_cache_keeps(void **state) {
    static const char json[] =
        "{\"status\":{\"addresses\":[{\"type\":\"Hostname\",\"address\":\"node-7.example.com\"},"
        "{\"address\":\"10.0.0.7\",\"type\":\"InternalIP\"},"
        "{\"type\":\"InternalIP\",\"address\":\"fd00::7\"}],\"capacity\":{\"cpu\":\"8\"},"
        "\"allocatable\":{\"cpu\":\"7500m\",\"memory\":\"15Gi\",\"pods\":\"110\","
        "\"ephemeral-storage\":\"90Gi\",\"nvidia.com/gpu\":\"2\"},\"conditions\":["
        "{\"type\":\"DiskPressure\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":\"True\"}]}"
        ","
        "\"spec\":{\"taints\":[{\"key\":\"dedicated\",\"value\":\"gpu\",\"effect\":\"NoSchedule\"},"
        "{\"key\":\"k\",\"effect\":\"NoExecute\"},{\"effect\":\"PreferNoSchedule\",\"key\":\"p\"},"
        "{\"key\":\"f\",\"effect\":\"NoStart\"}]},"
        "\"metadata\":{\"name\":\"node-7\",\"labels\":{\"zone\":\"eu-a\",\"empty\":\"\"}}}";
    static const enum room_effect effects[] = {ROOM_NO_SCHEDULE, ROOM_NO_EXECUTE,
                                               ROOM_PREFER_NO_SCHEDULE, ROOM_NO_SCHEDULE};
    struct names *names = names_new(32);
    struct node node;

    (void)state;
    assert_int_equal(read_text(json, names, &node, NULL), 0);
    assert_ptr_equal(node.name, names_find(names, "node-7", 6));
    assert_int_equal(node.label_count, 2);
    assert_ptr_equal(node_label(&node, "zone"), names_find(names, "eu-a", 4));
    assert_string_equal(node_label(&node, "empty"), "");
    assert_null(node_label(&node, "zon"));
    assert_int_equal(node.taint_count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(node.taints[i].effect, effects[i]);
    assert_ptr_equal(node.taints[0].key, names_find(names, "dedicated", 9));
    assert_string_equal(node.taints[0].value, "gpu");
    assert_string_equal(node.taints[1].value, "");
    assert_int_equal(node.allocatable.of[ROOM_CPU_MILLI], 7500);
    assert_int_equal(node.allocatable.of[ROOM_MEMORY_BYTES], 16106127360);
    assert_int_equal(node.allocatable.of[ROOM_PODS], 110);
    assert_int_equal(node.allocatable.of[ROOM_EXTENDED], 2);
    assert_int_equal(node.ip.family, ADDRESS_IPV4);
    assert_memory_equal(node.ip.bytes, "\x0a\x00\x00\x07", 4);
    assert_true(node.ready && node.schedulable && !node.deleting);
    node_done(&node, names);
    assert_null(node.labels);
    assert_int_equal(names_count(names), 0);
    node_done(&node, names);
    node_done(NULL, names);
    names_free(names);
}

static void ready_and_schedulable_each_on_their_own(void **state) {
    static const struct {
        const char *rest;
        bool ready;
        bool schedulable;
    } rows[] = {
        {"", false, true},
        {",\"spec\":null,\"status\":null", false, true},
        {",\"spec\":{\"unschedulable\":true}", false, false},
        {",\"spec\":{\"unschedulable\":false}", false, true},
        {",\"spec\":{\"unschedulable\":null,\"taints\":null}", false, true},
        {",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}", true, true},
        {",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}", false, true},
        {",\"status\":{\"conditions\":null,\"addresses\":null,\"allocatable\":null}", false, true},
        {",\"spec\":{\"unschedulable\":true},\"status\":{\"conditions\":[{\"type\":\"Ready\","
         "\"status\":\"True\"}]}",
         true, false},
    };
    struct names *names = names_new(4);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_free char *json = str_printf("{\"metadata\":{\"name\":\"n\"}%s}", rows[i].rest);
        struct node node;

        assert_int_equal(read_text(json, names, &node, NULL), 0);
        assert_int_equal(node.ready, rows[i].ready);
        assert_int_equal(node.schedulable, rows[i].schedulable);
        assert_null(node.labels);
        assert_int_equal(node.allocatable.of[ROOM_PODS], 0);
        node_done(&node, names);
    }
    names_free(names);
}

static void a_repeated_label_counts_once_and_last(void **state) {
    struct names *names = names_new(8);
    struct node node;

    (void)state;
    assert_int_equal(read_text("{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"1\",\"b\":\"2\","
                               "\"a\":\"3\"}}}",
                               names, &node, NULL),
                     0);
    assert_int_equal(node.label_count, 2);
    assert_string_equal(node_label(&node, "a"), "3");
    assert_null(names_find(names, "1", 1));
    node_done(&node, names);
    assert_int_equal(names_count(names), 0);
    names_free(names);
}

/* A node with that many labels and taints. */
static char *crowded(int labels, int taints) {
    struct str out;

    str_init(&out, 1 << 20);
    str_addf(&out, NULL, "{\"metadata\":{\"name\":\"n\",\"labels\":{");
    for (int i = 0; i < labels; i++)
        str_addf(&out, NULL, "%s\"l%d\":\"v\"", i ? "," : "", i);
    str_addf(&out, NULL, "}},\"spec\":{\"taints\":[");
    for (int i = 0; i < taints; i++)
        str_addf(&out, NULL, "%s{\"key\":\"t%d\",\"effect\":\"NoSchedule\"}", i ? "," : "", i);
    str_addf(&out, NULL, "]}}");
    return out.data;
}

static void lists_are_bounded(void **state) {
    static const struct {
        int labels;
        int taints;
        int want;
    } rows[] = {
        {NODE_LABELS_MAX, NODE_TAINTS_MAX, 0},
        {NODE_LABELS_MAX + 1, 0, ERR_INVALID},
        {0, NODE_TAINTS_MAX + 1, ERR_INVALID},
    };
    struct names *names = names_new(1000);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_free char *json = crowded(rows[i].labels, rows[i].taints);
        struct node node = {0};

        assert_int_equal(read_text(json, names, &node, NULL), rows[i].want);
        assert_int_equal(node.label_count, rows[i].want ? 0 : rows[i].labels);
        assert_int_equal(node.taint_count, rows[i].want ? 0 : rows[i].taints);
        node_done(&node, names);
        assert_int_equal(names_count(names), 0);
    }
    names_free(names);
}

static void a_failure_holds_nothing(void **state) {
    static const char *const rows[] = {
        "7",
        "{}",
        "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\",\"c\":7}}}",
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"taints\":{}}}",
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"taints\":[7]}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[{\"key\":\"a\"},{\"key\":7}]}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"unschedulable\":\"yes\"}}",
        "{\"metadata\":{\"name\":\"n\"},\"status\":{\"allocatable\":{\"cpu\":\"x\"}}}",
        "{\"metadata\":{\"name\":\"n\"},\"status\":{\"conditions\":{}}}",
        "{\"metadata\":{\"name\":\"n\"},\"status\":{\"addresses\":[{\"type\":7}]}}",
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}}",
    };
    struct names *names = names_new(16);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct node node = {.label_count = 9};
        struct err err = {0};

        if (read_text(rows[i], names, &node, &err) != ERR_INVALID || node.label_count != 9 ||
            names_count(names) != 0 || !*err.msg)
            fail_msg("%s", rows[i]);
    }
    names_free(names);
}

static void a_full_table_of_names_is_to_be_retried(void **state) {
    static const char json[] =
        "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\",\"c\":\"d\"}},"
        "\"spec\":{\"taints\":[{\"key\":\"e\",\"value\":\"f\"}]}}";

    (void)state;
    for (size_t room = 0; room <= 7; room++) {
        struct names *names = names_new(room);
        struct node node = {0};

        assert_int_equal(read_text(json, names, &node, NULL), room < 7 ? ERR_RETRY : 0);
        assert_int_equal(names_count(names), room < 7 ? 0 : 7);
        node_done(&node, names);
        names_free(names);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_cache_keeps),
        cmocka_unit_test(ready_and_schedulable_each_on_their_own),
        cmocka_unit_test(a_repeated_label_counts_once_and_last),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(a_failure_holds_nothing),
        cmocka_unit_test(a_full_table_of_names_is_to_be_retried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
