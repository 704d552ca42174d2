#include "apiserver/selector.h"

#include "base/str.h"
#include "unit.h"

static json_t *pod(void) {
    return json_pack("{s:{s:s, s:s, s:{s:s, s:s, s:s}}, s:{s:s, s:b}, s:{s:s}}", "metadata", "name",
                     "web", "namespace", "shop", "labels", "app", "web", "tier", "front", "empty",
                     "", "spec", "nodeName", "n1", "unschedulable", 1, "status", "phase",
                     "Running");
}

static void labels_in_every_form(void **state) {
    static const struct {
        const char *text;
        int want; /* 1 matches, 0 does not, -1 is refused */
    } rows[] = {
        // clang-format off
        {"", 1}, {"  ", 1}, {"app=web", 1}, {"app==web", 1}, {"app = web", 1}, {"app=other", 0},
        {"app!=web", 0}, {"app!=other", 1}, {"none!=x", 1}, {"none=x", 0}, {"none=", 0},
        {"empty=", 1}, {"empty=,app=web", 1}, {"app in (web)", 1}, {"app in (x, web ,y)", 1},
        {"app in (x,y)", 0}, {"none in (x)", 0}, {"app notin (x,y)", 1}, {"app notin (web)", 0},
        {"none notin (web)", 1}, {"app", 1}, {"none", 0}, {"!app", 0}, {"!none", 1}, {"! none", 1},
        {"app,tier in (front),!none", 1}, {"app,tier in (back),!none", 0}, {"in in (a)", 0},
        {"empty in ()", 1}, {"a.b/c-d_e", 0}, {"in", 0},
        {"=", -1}, {"app=web,", -1}, {"app in web", -1}, {"app in (web", -1}, {"app web", -1},
        {"app=(web)", -1}, {"!", -1}, {"app=a b", -1}, {",app", -1}, {"app>1", -1},
        {"app=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", -1},
        // clang-format on
    };
    json_t *object = pod();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct selector selector = {0};
        const int r = selector_labels(rows[i].text, &selector, NULL);

        if (r != (rows[i].want < 0 ? ERR_INVALID : 0) ||
            (r == 0 && selector_has_labels(&selector, object) != rows[i].want))
            fail_msg("'%s': %d", rows[i].text, r);
        selector_done(&selector);
    }
    json_decref(object);
}

static void fields_that_are_known_and_others(void **state) {
    static const struct {
        const char *text;
        int want;
    } rows[] = {
        {"", 1},
        {"metadata.name=web", 1},
        {"metadata.name==web,metadata.namespace=shop", 1},
        {"metadata.name!=web", 0},
        {"spec.nodeName=n1", 1},
        {"spec.nodeName=", 0},
        {"status.phase!=Running,status.phase!=Failed", 0},
        {"status.phase!=Pending", 1},
        {"metadata.name=w\\,eb", 0},
        {"metadata.name=w\\eb", 1},
        {"spec.replicas=1", -1},
        {"reason=x", -1},
        {"metadata.name", -1},
        {"=x", -1},
    };
    json_t *object = pod();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct selector selector = {0};
        const int r = selector_fields(rows[i].text, "", "pods", &selector, NULL);

        if (r != (rows[i].want < 0 ? ERR_INVALID : 0) ||
            (r == 0 && selector_has_fields(&selector, object) != rows[i].want))
            fail_msg("'%s': %d", rows[i].text, r);
        selector_done(&selector);
    }
    json_decref(object);
}

static void event_fields_have_two_names(void **state) {
    struct selector selector = {0};
    json_t *event = json_pack("{s:{s:s}, s:{s:s}, s:s}", "involvedObject", "kind", "Pod", "source",
                              "component", "me", "type", "Normal");

    (void)state;
    assert_int_equal(selector_fields("regarding.kind=Pod,involvedObject.kind=Pod,source=me,"
                                     "type=Normal",
                                     "events.k8s.io", "events", &selector, NULL),
                     0);
    assert_true(selector_has_fields(&selector, event));
    assert_string_equal(selector_demands(&selector, "type"), "Normal");
    assert_null(selector_demands(&selector, "reason"));
    selector_done(&selector);
    json_decref(event);
}

static void the_number_of_terms_and_values_is_bounded(void **state) {
    struct selector selector = {0};
    struct str text;

    (void)state;
    str_init(&text, 100000);
    for (int i = 0; i < SELECTOR_TERMS_MAX; i++)
        str_addf(&text, NULL, "%sa", i ? "," : "");
    assert_int_equal(selector_labels(text.data, &selector, NULL), 0);
    selector_done(&selector);
    str_addf(&text, NULL, ",a");
    assert_int_equal(selector_labels(text.data, &selector, NULL), ERR_INVALID);
    str_clear(&text);
    str_addf(&text, NULL, "a in (b");
    for (int i = 1; i < SELECTOR_VALUES_MAX; i++)
        str_addf(&text, NULL, ",b");
    str_addf(&text, NULL, ")");
    assert_int_equal(selector_labels(text.data, &selector, NULL), 0);
    selector_done(&selector);
    str_addf(&text, NULL, ",c=d");
    assert_int_equal(selector_labels(text.data, &selector, NULL), ERR_INVALID);
    str_done(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_in_every_form),
        cmocka_unit_test(fields_that_are_known_and_others),
        cmocka_unit_test(event_fields_have_two_names),
        cmocka_unit_test(the_number_of_terms_and_values_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
