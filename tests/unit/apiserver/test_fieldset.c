#include "apiserver/fieldset.h"

#include "base/random.h"
#include "patchtest.h"

static struct fieldset parsed(const char *text) {
    json_t *json = load(text);
    struct fieldset set = {0};
    struct err err = {0};

    if (fieldset_parse(json, &set, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    json_decref(json);
    return set;
}

/* Compares the bytes, so that the order of keys counts. */
static void is(const struct fieldset *set, const char *want) {
    json_t *json = fieldset_json_new(set);
    char *got = json_dumps(json, JSON_COMPACT);

    assert_string_equal(got, want);
    free(got);
    json_decref(json);
}

static void what_is_written_is_canonical(void **state) {
    struct fieldset set =
        parsed("{'f:spec':{'v:\\'b\\'':{},'f:b':{},'k:{\\'name\\': \\'x\\', \\'a\\':1}':{'.':{},"
               "'f:z':{}},'f:a':{'.':{},'f:c':{}}},'f:a':{}}");

    (void)state;
    is(&set, "{\"f:a\":{},\"f:spec\":{\"f:a\":{\".\":{},\"f:c\":{}},\"f:b\":{},"
             "\"k:{\\\"a\\\":1,\\\"name\\\":\\\"x\\\"}\":{\".\":{},\"f:z\":{}},"
             "\"v:\\\"b\\\"\":{}}}");
    fieldset_done(&set);
    set = parsed("{}");
    assert_true(fieldset_is_empty(&set));
    is(&set, "{}");
    fieldset_done(&set);
}

static void what_is_no_set_is_refused(void **state) {
    static const char *const BAD[] = {"[]",          "{'a':{}}",    "{'f':{}}",   "{'':{}}",
                                      "{'f:a':1}",   "{'x:a':{}}",  "{'k:a':{}}", "{'k:[]':{}}",
                                      "{'v:{}':{}}", "{'v:\\'':{}}"};
    json_t *deep = json_object();
    struct fieldset set = {0};

    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        json_t *json = load(BAD[i]);

        if (fieldset_parse(json, &set, NULL) != ERR_INVALID)
            fail_msg("%s", BAD[i]);
        json_decref(json);
    }
    for (int i = 0; i < 64; i++)
        deep = json_pack("{so}", "f:a", deep);
    assert_int_equal(fieldset_parse(deep, &set, NULL), 0);
    fieldset_done(&set);
    deep = json_pack("{so}", "f:a", deep);
    assert_int_equal(fieldset_parse(deep, &set, NULL), ERR_INVALID);
    json_decref(deep);
}

/* Random sets over the paths of 3 steps of 3 names, against a plain table of members. */
#define PATHS 39

static void path_of(int at, char *ret_path) {
    static const int FIRST[] = {0, 3, 12, PATHS};
    int length = 1;

    while (at >= FIRST[length])
        length++;
    at -= FIRST[length - 1];
    for (int i = 0; i < length; i++, at /= 3)
        ret_path[i] = (char)('a' + at % 3);
    ret_path[length] = '\0';
}

static struct fieldset set_of(const bool *members) {
    json_t *json = json_object();
    struct fieldset set;

    for (int i = 0; i < PATHS; i++) {
        char path[4];
        json_t *at = json;

        path_of(i, path);
        for (int k = 0; members[i] && path[k]; k++) {
            const char name[] = {'f', ':', path[k], '\0'};

            if (!json_object_get(at, name))
                json_object_set_new(at, name, json_object());
            at = json_object_get(at, name);
            if (!path[k + 1])
                json_object_set_new(at, ".", json_object());
        }
    }
    assert_int_equal(fieldset_parse(json, &set, NULL), 0);
    json_decref(json);
    return set;
}

static void same(struct fieldset got, const bool *members) {
    struct fieldset want = set_of(members);
    json_t *json = fieldset_json_new(&got);
    struct fieldset again;

    assert_true(fieldset_equals(&got, &want));
    assert_int_equal(fieldset_parse(json, &again, NULL), 0);
    assert_true(fieldset_equals(&again, &want));
    json_decref(json);
    fieldset_done(&again);
    fieldset_done(&want);
    fieldset_done(&got);
}

static void the_algebra_of_sets_holds(void **state) {
    struct random rng = {.state = 7};

    (void)state;
    for (int round = 0; round < 500; round++) {
        bool a[PATHS];
        bool b[PATHS];
        bool either[PATHS];
        bool both[PATHS];
        bool rest[PATHS];
        const uint64_t density = 1 + random_below(&rng, 9);

        for (int i = 0; i < PATHS; i++) {
            a[i] = random_below(&rng, 10) < density;
            b[i] = random_below(&rng, 10) < density;
            either[i] = a[i] || b[i];
            both[i] = a[i] && b[i];
            rest[i] = a[i] && !b[i];
        }
        struct fieldset x = set_of(a);
        struct fieldset y = set_of(b);

        same(fieldset_union(&x, &y), either);
        same(fieldset_intersection(&x, &y), both);
        same(fieldset_difference(&x, &y), rest);
        assert_int_equal(fieldset_equals(&x, &y), memcmp(a, b, sizeof a) == 0);
        fieldset_done(&x);
        fieldset_done(&y);
    }
}

/* clang-format off */
static const struct { const char *spec; const char *want; /* NULL: refused */ } STATED[] = {
    {"{'replicas':0,'image':null}", "{'f:image':{},'f:replicas':{}}"},
    {"{'labels':{'a':'1'},'selector':{'a':'1'},'args':['a']}",
     "{'f:args':{},'f:labels':{'f:a':{}},'f:selector':{}}"},
    {"{'labels':{},'strategy':{'rolling':{'surge':1}}}",
     "{'f:labels':{},'f:strategy':{'f:rolling':{'f:surge':{}}}}"},
    {"{'tags':['b','a']}", "{'f:tags':{'v:\\'a\\'':{},'v:\\'b\\'':{}}}"},
    {"{'ports':[{'port':80}]}",
     "{'f:ports':{'k:{\\'port\\':80,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:port':{}}}}"},
    {"{'ports':[{'port':80},{'port':80,'protocol':'UDP'}]}",
     "{'f:ports':{'k:{\\'port\\':80,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:port':{}},"
     "'k:{\\'port\\':80,\\'protocol\\':\\'UDP\\'}':{'.':{},'f:port':{},'f:protocol':{}}}}"},
    {"{'ports':[{'port':80},{'port':80,'protocol':'TCP'}]}", NULL},
    {"{'ports':[{'protocol':'TCP'}]}", NULL},
    {"{'ports':[80]}", NULL},
    {"{'tags':['a','a']}", NULL},
    {"{'tags':[['a']]}", NULL},
    {"{'open':{'a':{'b':[{'c':1}],'d':{}}}}", "{'f:open':{'f:a':{'f:b':{},'f:d':{}}}}"},
};
/* clang-format on */

static void an_object_states_fields(void **state) {
    struct schema *schema = patchtest_schema();

    (void)state;
    for (size_t i = 0; i < sizeof STATED / sizeof *STATED; i++) {
        json_t *object = load("{'apiVersion':'v1','kind':'X','metadata':{'name':'a','uid':'u'}}");
        struct fieldset set = {0};
        struct err err = {0};

        json_object_set_new(object, "spec", load(STATED[i].spec));
        const int r = fieldset_of(object, schema, &set, &err);

        if (r != (STATED[i].want ? 0 : ERR_INVALID))
            fail_msg("%s: %d %s", STATED[i].spec, r, err.msg);
        json_t *got = fieldset_json_new(&set);

        if (r == 0) {
            assert_int_equal(json_object_size(got), 1);
            assert_json(STATED[i].spec, json_object_get(got, "f:spec"), STATED[i].want);
        }
        json_decref(got);
        fieldset_done(&set);
        json_decref(object);
    }
    schema_free(schema);
}

/* clang-format off */
static const struct { const char *before, *after, *changed, *removed; } CHANGES[] = {
    {"{'replicas':1}", "{'replicas':1}", NULL, NULL},
    {"{'replicas':1}", "{'replicas':2}", "{'f:replicas':{}}", NULL},
    {"{'replicas':1}", "{'image':'a'}", "{'f:image':{}}", "{'f:replicas':{}}"},
    {"{}", "{'labels':{'a':'1'}}", "{'f:labels':{'.':{},'f:a':{}}}", NULL},
    {"{'labels':{'a':'1','b':'1'}}", "{'labels':{'a':'2'}}", "{'f:labels':{'f:a':{}}}",
     "{'f:labels':{'f:b':{}}}"},
    {"{'selector':{'a':'1'}}", "{'selector':{'a':'2'}}", "{'f:selector':{}}", NULL},
    {"{'args':['a']}", "{'args':['a','b']}", "{'f:args':{}}", NULL},
    {"{'tags':['a','b']}", "{'tags':['b','c']}", "{'f:tags':{'v:\\'c\\'':{}}}",
     "{'f:tags':{'v:\\'a\\'':{}}}"},
    {"{'tags':['a','b']}", "{'tags':['b','a']}", NULL, NULL},
    {"{'ports':[{'port':1,'name':'a'}]}", "{'ports':[{'port':1,'protocol':'TCP','name':'b'}]}",
     "{'f:ports':{'k:{\\'port\\':1,\\'protocol\\':\\'TCP\\'}':{'f:name':{},'f:protocol':{}}}}",
     NULL},
    {"{'labels':{'a':'1'}}", "{'labels':'x'}", "{'f:labels':{}}",
     "{'f:labels':{'.':{},'f:a':{}}}"},
};
/* clang-format on */

static void is_spec(const struct fieldset *set, const char *want) {
    json_t *got = fieldset_json_new(set);

    if (want)
        assert_json(want, json_object_get(got, "f:spec"), want);
    else
        assert_int_equal(json_object_size(got), 0);
    json_decref(got);
}

static void what_differs_is_a_set(void **state) {
    struct schema *schema = patchtest_schema();

    (void)state;
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        json_t *before = json_pack("{s{ss}so}", "metadata", "resourceVersion", "1", "spec",
                                   load(CHANGES[i].before));
        json_t *after = json_pack("{s{ss}so}", "metadata", "resourceVersion", "2", "spec",
                                  load(CHANGES[i].after));
        struct fieldset changed;
        struct fieldset removed;

        fieldset_compare(before, after, schema, &changed, &removed);
        is_spec(&changed, CHANGES[i].changed);
        is_spec(&removed, CHANGES[i].removed);
        fieldset_done(&changed);
        fieldset_done(&removed);
        json_decref(before);
        json_decref(after);
    }
    schema_free(schema);
}

static void add_path(void *arg, const char *path) {
    json_array_append_new(arg, json_string(path));
}

static void paths_are_told_in_words(void **state) {
    struct fieldset set = parsed("{'f:spec':{'f:ports':{'k:{\\'port\\':80,\\'protocol\\':"
                                 "\\'TCP\\'}':{'.':{},'f:name':{}}},'f:tags':{'v:\\'a\\'':{}}}}");
    json_t *paths = json_array();
    char name[600];

    (void)state;
    fieldset_each(&set, add_path, paths);
    assert_json("paths", paths,
                "['.spec.ports[port=80,protocol=\\'TCP\\']',"
                "'.spec.ports[port=80,protocol=\\'TCP\\'].name','.spec.tags[=\\'a\\']']");
    fieldset_done(&set);
    json_array_clear(paths);

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memcpy(name, "f:", 2);
    json_t *json = json_pack("{s{s{}}}", name, "f:y");

    assert_int_equal(fieldset_parse(json, &set, NULL), 0);
    fieldset_each(&set, add_path, paths);
    assert_int_equal(json_array_size(paths), 1);
    assert_int_equal(json_string_length(json_array_get(paths, 0)), FIELDSET_PATH_SIZE - 1);
    fieldset_done(&set);
    json_decref(json);
    json_decref(paths);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_canonical), cmocka_unit_test(what_is_no_set_is_refused),
        cmocka_unit_test(the_algebra_of_sets_holds),    cmocka_unit_test(an_object_states_fields),
        cmocka_unit_test(what_differs_is_a_set),        cmocka_unit_test(paths_are_told_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
