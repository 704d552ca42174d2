#include "apiserver/route.h"

#include "base/str.h"
#include "unit.h"

static void paths_of_resources(void **state) {
    static const struct {
        const char *path, *group, *version, *ns, *resource, *name, *subresource;
    } rows[] = {
        {"/api/v1/pods", "", "v1", "", "pods", "", ""},
        {"/api/v1/namespaces", "", "v1", "", "namespaces", "", ""},
        {"/api/v1/namespaces/shop", "", "v1", "", "namespaces", "shop", ""},
        {"/api/v1/namespaces/shop/status", "", "v1", "", "namespaces", "shop", "status"},
        {"/api/v1/namespaces/shop/finalize", "", "v1", "", "namespaces", "shop", "finalize"},
        {"/api/v1/namespaces/shop/pods", "", "v1", "shop", "pods", "", ""},
        {"/api/v1/namespaces/shop/pods/web", "", "v1", "shop", "pods", "web", ""},
        {"/api/v1/namespaces/shop/pods/web/log", "", "v1", "shop", "pods", "web", "log"},
        {"/apis/apps/v1/deployments/", "apps", "v1", "", "deployments", "", ""},
        {"/apis/apps/v1/namespaces/a/deployments/b/scale", "apps", "v1", "a", "deployments", "b",
         "scale"},
        {"/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
         "rbac.authorization.k8s.io", "v1", "", "clusterroles", "system:node", ""},
        {"/apis/apps/v1/namespaces/%61%2fb/x/%zz%4", "apps", "v1", "a/b", "x", "%zz%4", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct route route;

        assert_int_equal(route_parse(rows[i].path, "", &route, NULL), 0);
        assert_true(route.is_resource);
        assert_string_equal(route.group, rows[i].group);
        assert_string_equal(route.version, rows[i].version);
        assert_string_equal(route.ns, rows[i].ns);
        assert_string_equal(route.resource, rows[i].resource);
        assert_string_equal(route.name, rows[i].name);
        assert_string_equal(route.subresource, rows[i].subresource);
        route_done(&route);
    }
}

static void other_paths_are_no_resources(void **state) {
    const char *const paths[] = {"",
                                 "/",
                                 "/api",
                                 "/api/v1",
                                 "/apis",
                                 "/apis/apps",
                                 "/apis/apps/v1",
                                 "/healthz",
                                 "/openapi/v3/apis/apps/v1",
                                 "/api/v1/namespaces/a/pods/b/c/d",
                                 "/api/v1/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o"};

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct route route;

        assert_int_equal(route_parse(paths[i], "", &route, NULL), 0);
        assert_false(route.is_resource);
        route_done(&route);
    }
}

static void the_query_is_decoded(void **state) {
    struct route route;

    (void)state;
    assert_int_equal(route_parse("/api/v1/pods",
                                 "labelSelector=a%20in+%28b%2Cc%29&watch=true&limit=5&"
                                 "allowWatchBookmarks=false&resourceVersion=7&dryRun=All&"
                                 "sendInitialEvents=false&timeoutSeconds=9&unknown&&force=1&x=",
                                 &route, NULL),
                     0);
    assert_string_equal(route.label_selector, "a in (b,c)");
    assert_string_equal(route.rv, "7");
    assert_string_equal(route.field_selector, "");
    assert_true(route.watch && route.dry_run && route.force && !route.bookmarks);
    assert_int_equal(route.limit, 5);
    assert_int_equal(route.timeout_s, 9);
    assert_int_equal(route.send_initial, 0);
    assert_int_equal(route.grace_s, -1);
    route_done(&route);
    assert_int_equal(route_parse("/api/v1/pods", "", &route, NULL), 0);
    assert_int_equal(route.send_initial, -1);
    route_done(&route);
}

static void a_query_that_cannot_be_read_is_refused(void **state) {
    const char *const queries[] = {"limit=x", "limit=-1", "limit=99999999999999999999",
                                   "timeoutSeconds=1s", "dryRun=Some"};
    struct route route;
    struct str many;

    (void)state;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_int_equal(route_parse("/api/v1/pods", queries[i], &route, NULL), ERR_INVALID);
    str_init(&many, 1000);
    for (int i = 0; i < ROUTE_QUERY_MAX; i++)
        str_addf(&many, NULL, "a=b&");
    assert_int_equal(route_parse("/api/v1/pods", many.data, &route, NULL), 0);
    route_done(&route);
    str_addf(&many, NULL, "c");
    assert_int_equal(route_parse("/api/v1/pods", many.data, &route, NULL), ERR_INVALID);
    str_done(&many);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_of_resources),
        cmocka_unit_test(other_paths_are_no_resources),
        cmocka_unit_test(the_query_is_decoded),
        cmocka_unit_test(a_query_that_cannot_be_read_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
