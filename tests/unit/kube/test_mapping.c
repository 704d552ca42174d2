#include "kube/mapping.h"

#include "unit.h"

#include "kube/faketransport.h"

#include <stdio.h>

static const char core[] =
    "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{},\"versions\":[{\"version\":"
    "\"v1\",\"resources\":[{\"resource\":\"pods\",\"responseKind\":{\"kind\":\"Pod\"},\"scope\":"
    "\"Namespaced\",\"subresources\":[{\"subresource\":\"status\",\"responseKind\":{\"kind\":"
    "\"Pod\"}}]},{\"resource\":\"nodes\",\"responseKind\":{\"kind\":\"Node\"},\"scope\":"
    "\"Cluster\"}]}]}]}";
static const char groups[] =
    "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"dead.io\"},"
    "\"versions\":[{\"version\":\"v1\",\"freshness\":\"Stale\"}]},{\"metadata\":{\"name\":"
    "\"autoscaling\"},\"versions\":[{\"version\":\"v2\",\"resources\":[{\"resource\":"
    "\"horizontalpodautoscalers\",\"responseKind\":{\"kind\":\"HPA\"},\"scope\":\"Namespaced\"}]},"
    "{\"version\":\"v1\",\"resources\":[{\"resource\":\"old\",\"responseKind\":{\"kind\":\"HPA\"}},"
    "{\"resource\":\"a/b\",\"responseKind\":{\"kind\":\"Scale\"}},{\"resource\":\"scales\","
    "\"responseKind\":{\"kind\":\"OldKind\"},\"scope\":\"Cluster\"}]}]}]}";
static const char nothing[] = "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[]}";

struct rig {
    struct fake fake;
    struct clock clock;
    struct kube_client *client;
    struct mapping *mapping;
    char found[200];
};

static void rig_start(struct rig *rig) {
    *rig = (struct rig){.clock = clock_by_hand(0, 5000)};
    fake_init(&rig->fake);
    rig->fake.chunk_max = 20;
    rig->client = kube_client_new(&rig->fake.transport);
    rig->mapping = mapping_new(rig->client, &rig->clock);
}

static void rig_stop(struct rig *rig) {
    mapping_free(rig->mapping);
    kube_client_free(rig->client);
    assert_int_equal(fake_open_count(&rig->fake), 0);
    fake_done(&rig->fake);
}

/* "group/version/resource/scope", or "" if it is not known. */
static const char *find(struct rig *rig, const char *group, const char *kind) {
    struct mapping_resource resource;

    rig->found[0] = '\0';
    if (mapping_find(rig->mapping, group, kind, &resource))
        snprintf(rig->found, sizeof rig->found, "%s/%s/%s/%s", resource.group, resource.version,
                 resource.resource, resource.namespaced ? "ns" : "cluster");
    return rig->found;
}

static void answer(struct rig *rig, const char *path, int status, const char *text) {
    assert_string_equal(fake_last(&rig->fake)->target, path);
    assert_true(fake_last(&rig->fake)->open);
    fake_answer(&rig->fake, fake_last(&rig->fake), status, text);
}

static void C26a_aggregated(void **state) {
    struct rig rig;

    (void)state;
    rig_start(&rig);
    assert_int_equal(mapping_tick(rig.mapping, 5000), INT64_MAX);
    assert_int_equal(rig.fake.count, 0);
    assert_string_equal(find(&rig, "", "Pod"), "");
    assert_true(mapping_is_busy(rig.mapping));
    assert_non_null(strstr(fake_last(&rig.fake)->accept, "as=APIGroupDiscoveryList"));
    answer(&rig, "/api", 200, core);
    answer(&rig, "/apis", 200, groups);
    assert_false(mapping_is_busy(rig.mapping));
    assert_string_equal(find(&rig, "", "Pod"), "/v1/pods/ns");
    assert_string_equal(find(&rig, "", "Node"), "/v1/nodes/cluster");
    assert_string_equal(find(&rig, "autoscaling", "HPA"),
                        "autoscaling/v2/horizontalpodautoscalers/ns");
    assert_string_equal(find(&rig, "autoscaling", "OldKind"), "autoscaling/v1/scales/cluster");
    assert_string_equal(find(&rig, "autoscaling", "Scale"), "");
    assert_string_equal(find(&rig, "dead.io", "HPA"), "");
    rig_stop(&rig);
}

static void C26a_per_group_and_one_that_fails(void **state) {
    struct rig rig;

    (void)state;
    rig_start(&rig);
    find(&rig, "", "Pod");
    answer(&rig, "/api", 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\",7]}");
    answer(&rig, "/apis", 200,
           "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"metrics.k8s.io\",\"versions\":[{"
           "\"version\":\"v1\"}],\"preferredVersion\":{\"version\":\"v1\"}},{\"name\":\"..\","
           "\"versions\":[{\"version\":\"v1\"}]},{\"name\":\"apps\",\"versions\":[{\"version\":"
           "\"v1beta1\"},{\"version\":\"v1\"}],\"preferredVersion\":{\"version\":\"v1\"}}]}");
    answer(&rig, "/api/v1", 200,
           "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[{\"name\":"
           "\"pods/status\",\"kind\":\"Pod\"},{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":"
           "true}]}");
    answer(&rig, "/apis/metrics.k8s.io/v1", 503, "<html>");
    answer(&rig, "/apis/apps/v1", 200,
           "{\"kind\":\"APIResourceList\",\"groupVersion\":\"apps/v1\",\"resources\":[{\"name\":"
           "\"deployments\",\"kind\":\"Deployment\",\"namespaced\":true}]}");
    answer(&rig, "/apis/apps/v1beta1", 200,
           "{\"kind\":\"APIResourceList\",\"groupVersion\":\"apps/v1beta1\",\"resources\":[{"
           "\"name\":\"deployments\",\"kind\":\"Deployment\",\"namespaced\":true}]}");
    assert_false(mapping_is_busy(rig.mapping));
    assert_string_equal(find(&rig, "", "Pod"), "/v1/pods/ns");
    assert_string_equal(find(&rig, "apps", "Deployment"), "apps/v1/deployments/ns");
    rig_stop(&rig);
}

static void C26a_refresh_once_in_ten_seconds(void **state) {
    struct rig rig;

    (void)state;
    rig_start(&rig);
    find(&rig, "", "Pod");
    answer(&rig, "/api", 200, nothing);
    answer(&rig, "/apis", 200, nothing);
    for (int i = 0; i < 100; i++)
        assert_string_equal(find(&rig, "", "Pod"), "");
    assert_int_equal(rig.fake.count, 2);
    assert_int_equal(mapping_tick(rig.mapping, 14999), 15000);
    clock_advance(&rig.clock, MAPPING_REFRESH_MS);
    assert_int_equal(mapping_tick(rig.mapping, 15000), INT64_MAX);
    answer(&rig, "/api", 200, core); /* made since */
    assert_string_equal(find(&rig, "", "Pod"), "/v1/pods/ns");
    answer(&rig, "/apis", 200, nothing);
    assert_int_equal(mapping_tick(rig.mapping, 90000), INT64_MAX);
    rig_stop(&rig);
}

static void C26a_only_a_whole_refresh_forgets(void **state) {
    struct rig rig;

    (void)state;
    for (int broken = 0; broken < 3; broken++) {
        rig_start(&rig);
        find(&rig, "", "Pod");
        answer(&rig, "/api", 200, core);
        answer(&rig, "/apis", 200, nothing);
        find(&rig, "x", "Y");
        clock_advance(&rig.clock, MAPPING_REFRESH_MS);
        find(&rig, "x", "Y");
        if (broken == 2)
            fake_end(fake_last(&rig.fake), HTTP_BROKEN);
        else
            answer(&rig, "/api", 200, broken ? "[]" : nothing);
        answer(&rig, "/apis", 200, nothing);
        assert_string_equal(find(&rig, "", "Pod"), broken ? "/v1/pods/ns" : "");
        rig_stop(&rig);
    }
    mapping_free(NULL);
}

static void C26a_number_of_documents_is_bounded(void **state) {
    struct rig rig;
    struct str text;

    (void)state;
    rig_start(&rig);
    str_init(&text, 1 << 20);
    str_addf(&text, NULL, "{\"kind\":\"APIVersions\",\"versions\":[\"v0\"");
    for (int i = 1; i < 2 * MAPPING_DOCUMENT_MAX; i++)
        str_addf(&text, NULL, ",\"v%d\"", i);
    str_addf(&text, NULL, "]}");
    find(&rig, "", "Pod");
    answer(&rig, "/api", 200, text.data);
    str_done(&text);
    int count = 1;

    while (mapping_is_busy(rig.mapping)) {
        struct http_receiver receiver = fake_last(&rig.fake)->receiver;

        fake_done(&rig.fake); /* the fake keeps fewer calls than this */
        rig.fake.count = 0;
        receiver.done(receiver.arg, HTTP_UNSENT, "");
        count++;
    }
    assert_int_equal(count, MAPPING_DOCUMENT_MAX);
    rig_stop(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C26a_aggregated),
        cmocka_unit_test(C26a_per_group_and_one_that_fails),
        cmocka_unit_test(C26a_refresh_once_in_ten_seconds),
        cmocka_unit_test(C26a_only_a_whole_refresh_forgets),
        cmocka_unit_test(C26a_number_of_documents_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
