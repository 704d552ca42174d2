#include "unit.h"

#include "api/placement.h"

#include <stdio.h>

static int parse(const char *spec, struct placement *ret, struct err *err) {
    char text[2048];

    snprintf(text, sizeof(text),
             "{\"apiVersion\": \"bulkhead.dev/v1alpha1\", \"kind\": \"Placement\", \"metadata\": "
             "{\"name\": \"checkout\"}, \"spec\": {%s}}",
             spec);
    json_t *root = json_loads(text, 0, NULL);

    assert_non_null(root);
    int r = placement_parse(root, ret, err);

    json_decref(root);
    return r;
}

static void placement_reads_every_field(void **state) {
    (void)state;
    struct placement p;
    struct err err = {0};

    if (parse("\"inputHash\": \"v1:ab\", \"cells\": [{\"zone\": \"b\", \"cluster\": \"k1\", "
              "\"replicas\": 0}, {\"zone\": \"a\", \"cluster\": \"k1\", \"replicas\": 7, \"slot\": "
              "0}], \"revisions\": [{\"zone\": \"a\", \"revision\": \"checkout-5\"}], "
              "\"overrides\": {\"avoidZones\": [\"c\"], \"minZones\": 1, \"maxZonePercent\": 80, "
              "\"maxClusterPercent\": 90, \"extension\": \"Allowed\"}",
              &p, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(p.hash_known);
    assert_int_equal(p.cell_count, 2);
    assert_string_equal(p.cells[0].zone, "a"); /* sorted */
    assert_int_equal(p.cells[0].replicas, 7);
    assert_int_equal(p.cells[0].slot, 0);
    assert_int_equal(p.cells[1].slot, -1); /* absent is not slot 0 */
    assert_string_equal(p.revisions[0].revision, "checkout-5");
    assert_string_equal(p.overrides.avoid_zones[0], "c");
    assert_int_equal(p.overrides.max_zone_percent, 80);
    assert_true(p.overrides.extension);
    placement_done(&p);
    placement_done(&p);
    placement_done(NULL);
}

static void placement_hash_of_another_version_is_unknown(void **state) {
    (void)state;
    static const char *const rows[] = {"", "\"inputHash\": \"v2:ab\"", "\"inputHash\": \"v1:\""};

    for (size_t i = 0; i < 3; i++) {
        struct placement p;

        assert_int_equal(parse(rows[i], &p, NULL), 0);
        assert_false(p.hash_known);
        placement_done(&p);
    }
}

static void placement_refuses(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        const char *part;
    } rows[] = {
        {"\"cells\": [{\"zone\": \"a\", \"cluster\": \"k\"}]", "spec.cells[0].replicas: missing"},
        {"\"cells\": [{\"cluster\": \"k\", \"replicas\": 1}]", "spec.cells[0].zone: missing"},
        {"\"cells\": [{\"zone\": \"a\", \"cluster\": \"k\", \"replicas\": -1}]",
         "spec.cells[0].replicas: -1"},
        {"\"cells\": [{\"zone\": \"a\", \"cluster\": \"k\", \"replicas\": 1}, {\"zone\": \"a\", "
         "\"cluster\": \"k\", \"replicas\": 1}]",
         "twice"},
        {"\"cells\": [{\"zone\": \"a\", \"cluster\": \"k\", \"replicas\": 1000000}, {\"zone\": "
         "\"b\", \"cluster\": \"k\", \"replicas\": 1}]",
         "1000001 replicas in all"},
        {"\"cells\": [1]", "spec.cells[0]: must be an object"},
        {"\"cell\": []", "did you mean spec.cells?"},
        {"\"overrides\": {\"minZones\": 0}", "spec.overrides.minZones: 0"},
        {"\"revisions\": [{\"zone\": \"a\"}]", "spec.revisions[0].revision: missing"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct placement p = {.cell_count = 77};
        struct err err = {0};

        if (parse(rows[i].spec, &p, &err) != ERR_INVALID || p.cell_count != 77)
            fail_msg("%s: accepted", rows[i].spec);
        if (!strstr(err.msg, rows[i].part))
            fail_msg("%s: %s", rows[i].spec, err.msg);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placement_reads_every_field),
        cmocka_unit_test(placement_hash_of_another_version_is_unknown),
        cmocka_unit_test(placement_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
