#include "apiserver/jsonpath.h"

#include "unit.h"

#include "base/str.h"

static const char document[] =
    "{\"spec\":{\"replicas\":3,\"a.b\":\"dotted\",\"ports\":[{\"port\":80,\"name\":\"http\"},"
    "{\"port\":443,\"name\":\"https\"},{\"port\":8080}],\"on\":true},"
    "\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"web\"}},"
    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"code\":7},"
    "{\"type\":\"Synced\",\"status\":\"False\"}]}}";

static void paths_find_what_they_name(void **state) {
    static const struct {
        const char *path;
        const char *finds;
    } rows[] = {
        {".spec.replicas", "[3]"},
        {"{.spec.replicas}", "[3]"},
        {"$.spec.replicas", "[3]"},
        {".spec['replicas']", "[3]"},
        {".spec[\"a.b\"]", "[\"dotted\"]"},
        {".spec.a\\.b", "[\"dotted\"]"},
        {".metadata.labels.app\\.kubernetes\\.io/name", "[\"web\"]"},
        {".metadata.labels['app.kubernetes.io/name']", "[\"web\"]"},
        {".spec.ports[0].port", "[80]"},
        {".spec.ports[-1].port", "[8080]"},
        {".spec.ports[-4].port", "[]"},
        {".spec.ports[3].port", "[]"},
        {".spec.ports[1:3].port", "[443,8080]"},
        {".spec.ports[:2].port", "[80,443]"},
        {".spec.ports[1:].port", "[443,8080]"},
        {".spec.ports[*].port", "[80,443,8080]"},
        {".spec.ports.*.port", "[80,443,8080]"},
        {".spec.ports[*].name", "[\"http\",\"https\"]"},
        {".status.conditions[?(@.type==\"Ready\")].status", "[\"True\"]"},
        {".status.conditions[?(@.type=='Ready')].status", "[\"True\"]"},
        {".status.conditions[?(@.type == \"Synced\")].status", "[\"False\"]"},
        {".status.conditions[?(@.type!=\"Ready\")].type", "[\"Synced\"]"},
        {".status.conditions[?(@.type==\"None\")].status", "[]"},
        {".status.conditions[?(@.code)].type", "[\"Ready\"]"},
        {".spec.ports[?(@.port>80)].port", "[443,8080]"},
        {".spec.ports[?(@.port>=443)].port", "[443,8080]"},
        {".spec.ports[?(@.port<443)].port", "[80]"},
        {".spec.ports[?(@.port<=443)].port", "[80,443]"},
        {"..port", "[80,443,8080]"},
        {".status..type", "[\"Ready\",\"Synced\"]"},
        {".nothing.at.all", "[]"},
        {".spec.replicas.more", "[]"},
        {".spec.on", "[true]"},
    };
    json_t *root = json_loads(document, 0, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jsonpath *path = NULL;
        struct err err = {0};
        json_t *want = json_loads(rows[i].finds, 0, NULL);
        json_t *got;

        if (jsonpath_new(rows[i].path, &path, &err) < 0)
            fail_msg("%s: %s", rows[i].path, err.msg);
        got = jsonpath_find_new(path, root);
        if (!json_equal(got, want))
            fail_msg("%s finds %s", rows[i].path, json_dumps(got, 0));
        json_decref(got);
        json_decref(want);
        jsonpath_free(path);
    }
    json_decref(root);
}

static void broken_paths_are_refused(void **state) {
    static const char *const rows[] = {
        "spec",         ".",         ".a[",  ".a[x]", ".a['b", ".a['b'",          ".a[?(b)]",
        ".a[?(@.b==)]", ".a[?(@.b]", ".a[1", ".a..",  ".a[]",  ".a[?(@.b==\"x)]", ".a b",
        "..",           ".a[1:2"};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jsonpath *path = NULL;
        struct err err = {0};

        if (jsonpath_new(rows[i], &path, &err) != ERR_INVALID)
            fail_msg("%s is taken", rows[i]);
        assert_null(path);
        assert_true(err.msg[0] != '\0');
    }
}

/* Paths come from CRDs: their length, their steps and what they find are bounded. */
static void bounds_hold(void **state) {
    char *text = str_alloc(JSONPATH_MAX_BYTES + 2, 1);
    struct jsonpath *path = NULL;
    struct err err = {0};
    json_t *list = json_array();
    json_t *found;

    (void)state;
    memset(text, 'a', JSONPATH_MAX_BYTES + 1);
    text[0] = '.';
    assert_int_equal(jsonpath_new(text, &path, &err), ERR_INVALID);
    text[JSONPATH_MAX_BYTES] = '\0';
    assert_int_equal(jsonpath_new(text, &path, &err), 0);
    jsonpath_free(path);
    for (int i = 0; i <= JSONPATH_STEPS_MAX; i++)
        memcpy(text + 2 * i, ".a", 3);
    assert_int_equal(jsonpath_new(text, &path, &err), ERR_INVALID);
    text[(size_t)2 * JSONPATH_STEPS_MAX] = '\0';
    assert_int_equal(jsonpath_new(text, &path, &err), 0);
    jsonpath_free(path);
    for (int i = 0; i < JSONPATH_FINDS_MAX + 5; i++)
        json_array_append_new(list, json_integer(i));
    assert_int_equal(jsonpath_new("[*]", &path, &err), 0);
    found = jsonpath_find_new(path, list);
    assert_int_equal(json_array_size(found), JSONPATH_FINDS_MAX);
    json_decref(found);
    json_decref(list);
    jsonpath_free(path);
    free(text);
}

/* Any bytes are either refused or give a path that can be run. */
static void random_paths_do_no_harm(void **state) {
    static const char letters[] = ".[]()?@*'\"=<>!:-01ab \\{}$";
    json_t *root = json_loads(document, 0, NULL);
    uint32_t seed = 7;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[16];
        struct jsonpath *path = NULL;

        for (size_t i = 0; i < sizeof(text) - 1; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = letters[(seed >> 16) % (sizeof(letters) - 1)];
        }
        text[(seed >> 24) % sizeof(text)] = '\0';
        text[sizeof(text) - 1] = '\0';
        if (jsonpath_new(text, &path, NULL) >= 0)
            json_decref(jsonpath_find_new(path, root));
        jsonpath_free(path);
    }
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_find_what_they_name),
        cmocka_unit_test(broken_paths_are_refused),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(random_paths_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
