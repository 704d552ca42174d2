#include "kube/url.h"

#include "unit.h"

static void path_is(struct url_target target, const char *want) {
    struct str out;

    str_init(&out, 500);
    assert_int_equal(url_path(&out, &target, NULL), want ? 0 : ERR_INVALID);
    if (want)
        assert_string_equal(out.data, want);
    str_done(&out);
}

static void C24_paths_of_core_and_group_resources(void **state) {
    (void)state;
    path_is((struct url_target){NULL, "v1", "nodes", NULL, NULL, NULL}, "/api/v1/nodes");
    path_is((struct url_target){"", "v1", "pods", "shop", "web-0", "eviction"},
            "/api/v1/namespaces/shop/pods/web-0/eviction");
    path_is((struct url_target){"apps", "v1", "deployments", "a/b", "c?d", "scale"},
            "/apis/apps/v1/namespaces/a%2Fb/deployments/c%3Fd/scale");
    path_is((struct url_target){"apps", "v1", "deployments", "..", NULL, NULL}, NULL);
    path_is((struct url_target){"apps", "v1", "deployments", "", NULL, NULL}, NULL);
    path_is((struct url_target){"apps", "v1", "deployments", "a", NULL, "status"}, NULL);
}

static void C24_selector_is_encoded_in_full(void **state) {
    struct str out;

    (void)state;
    str_init(&out, 500);
    assert_int_equal(url_query(&out, "labelSelector", "a in (b,c),!d=e", NULL), 0);
    assert_int_equal(url_query(&out, "continue", "x+/&%", NULL), 0);
    assert_string_equal(out.data, "?labelSelector=a%20in%20%28b%2Cc%29%2C%21d%3De"
                                  "&continue=x%2B%2F%26%25");
    str_done(&out);
}

/* Every byte, decoded again by hand, is itself. */
static void C24_every_byte_comes_back(void **state) {
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        const char text[] = {(char)byte, '\0'};
        struct str out;

        str_init(&out, 3);
        assert_int_equal(url_encode(&out, text, NULL), 0);
        assert_int_equal(out.data[0] == '%' ? strtol(out.data + 1, NULL, 16) : out.data[0], byte);
        assert_int_equal(strlen(out.data), out.data[0] == '%' ? 3 : 1);
        str_done(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C24_paths_of_core_and_group_resources),
        cmocka_unit_test(C24_selector_is_encoded_in_full),
        cmocka_unit_test(C24_every_byte_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
