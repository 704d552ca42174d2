#include "apiserver/patch.h"

#include "patchtest.h"

/* Each row is about .spec alone. */
static const struct row {
    const char *name;
    const char *object;
    const char *patch;
    const char *want; /* NULL: refused */
} ROWS[] = {
    {"scalar", "{'replicas':1}", "{'replicas':0}", "{'replicas':0}"},
    {"null removes", "{'replicas':1}", "{'replicas':null}", "{}"},
    {"maps merge", "{'labels':{'a':'1','b':'2'}}", "{'labels':{'b':null,'c':'3'}}",
     "{'labels':{'a':'1','c':'3'}}"},
    {"a new map without its nulls", "{}", "{'labels':{'b':null,'c':'3'}}", "{'labels':{'c':'3'}}"},
    {"a map instead of a value", "{'labels':1}", "{'labels':{'c':'3'}}", "{'labels':{'c':'3'}}"},
    {"atomic lists are replaced", "{'args':['a','b']}", "{'args':['c']}", "{'args':['c']}"},
    {"sets grow", "{'tags':['a','b']}", "{'tags':['c','b']}", "{'tags':['a','b','c']}"},
    {"a new set", "{}", "{'tags':['c','c']}", "{'tags':['c']}"},
    {"sets shrink", "{'tags':['a','b','c']}", "{'$deleteFromPrimitiveList/tags':['a','c','x']}",
     "{'tags':['b']}"},
    {"grow and shrink", "{'tags':['a','b']}",
     "{'tags':['c'],'$deleteFromPrimitiveList/tags':['a']}", "{'tags':['b','c']}"},
    {"shrink nothing", "{}", "{'$deleteFromPrimitiveList/tags':['a']}", "{}"},
    {"shrink by no list", "{}", "{'$deleteFromPrimitiveList/tags':'a'}", NULL},
    {"order of a set", "{'tags':['a','b']}", "{'tags':['c'],'$setElementOrder/tags':['c','b','a']}",
     "{'tags':['c','b','a']}"},
    {"items merge by key", "{'containers':[{'name':'a','image':'1'},{'name':'b','image':'1'}]}",
     "{'containers':[{'name':'b','image':'2'},{'name':'c'}]}",
     "{'containers':[{'name':'a','image':'1'},{'name':'b','image':'2'},{'name':'c'}]}"},
    {"items inside items",
     "{'containers':[{'name':'a','env':[{'name':'x','value':'1'},{'name':'y','value':'1'}]}]}",
     "{'containers':[{'name':'a','env':[{'name':'y','value':'2'}]}]}",
     "{'containers':[{'name':'a','env':[{'name':'x','value':'1'},{'name':'y','value':'2'}]}]}"},
    {"an item goes", "{'containers':[{'name':'a'},{'name':'b'}]}",
     "{'containers':[{'$patch':'delete','name':'a'}]}", "{'containers':[{'name':'b'}]}"},
    {"an item that is not goes", "{'containers':[{'name':'b'}]}",
     "{'containers':[{'$patch':'delete','name':'a'}]}", "{'containers':[{'name':'b'}]}"},
    {"a list is replaced", "{'containers':[{'name':'a','image':'1'},{'name':'b'}]}",
     "{'containers':[{'$patch':'replace'},{'name':'a'}]}", "{'containers':[{'name':'a'}]}"},
    {"a list is emptied", "{'containers':[{'name':'a'}]}", "{'containers':[{'$patch':'replace'}]}",
     "{'containers':[]}"},
    {"merge in words", "{'containers':[{'name':'a','image':'1'}]}",
     "{'containers':[{'$patch':'merge','name':'a','args':['x']}]}",
     "{'containers':[{'name':'a','image':'1','args':['x']}]}"},
    {"an item without its key", "{}", "{'containers':[{'image':'1'}]}", NULL},
    {"an item that is none", "{}", "{'containers':['a']}", NULL},
    {"two keys, one by default",
     "{'ports':[{'port':1,'protocol':'UDP'},{'port':1,'protocol':'TCP'}]}",
     "{'ports':[{'port':1,'name':'x'}]}",
     "{'ports':[{'port':1,'protocol':'UDP'},{'port':1,'protocol':'TCP','name':'x'}]}"},
    {"the other key", "{'ports':[{'port':1,'protocol':'UDP'},{'port':1}]}",
     "{'ports':[{'$patch':'delete','port':1,'protocol':'UDP'}]}", "{'ports':[{'port':1}]}"},
    {"order, new first", "{'containers':[{'name':'a'},{'name':'b'}]}",
     "{'$setElementOrder/containers':[{'name':'c'},{'name':'a'},{'name':'b'}],"
     "'containers':[{'name':'c'}]}",
     "{'containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}"},
    {"order alone", "{'containers':[{'name':'a'},{'name':'b'}]}",
     "{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}]}",
     "{'containers':[{'name':'b'},{'name':'a'}]}"},
    {"order leaves others where they are",
     "{'containers':[{'name':'x'},{'name':'a'},{'name':'b'},{'name':'y'}]}",
     "{'$setElementOrder/containers':[{'name':'b'},{'name':'a'},{'name':'c'}],"
     "'containers':[{'name':'c'}]}",
     "{'containers':[{'name':'x'},{'name':'b'},{'name':'a'},{'name':'c'},{'name':'y'}]}"},
    {"order after a removal", "{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}",
     "{'$setElementOrder/containers':[{'name':'c'},{'name':'b'}],"
     "'containers':[{'$patch':'delete','name':'a'}]}",
     "{'containers':[{'name':'c'},{'name':'b'}]}"},
    {"order after a removal and an addition",
     "{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}",
     "{'$setElementOrder/containers':[{'name':'d'},{'name':'b'}],"
     "'containers':[{'$patch':'delete','name':'a'},{'name':'d'}]}",
     "{'containers':[{'name':'d'},{'name':'b'},{'name':'c'}]}"},
    {"a default on both sides", "{'ports':[{'port':1}]}", "{'ports':[{'port':1,'name':'x'}]}",
     "{'ports':[{'port':1,'name':'x'}]}"},
    {"order of nothing", "{}", "{'$setElementOrder/containers':[{'name':'b'}]}", "{}"},
    {"order that is none", "{'tags':['a']}", "{'$setElementOrder/tags':'a'}", NULL},
    {"a map is replaced", "{'labels':{'a':'1'}}", "{'labels':{'$patch':'replace','b':'2'}}",
     "{'labels':{'b':'2'}}"},
    {"a map is emptied", "{'labels':{'a':'1'}}", "{'labels':{'$patch':'delete'}}", "{'labels':{}}"},
    {"an unknown directive", "{}", "{'labels':{'$patch':'sort'}}", NULL},
    {"a directive that is none", "{}", "{'labels':{'$patch':1}}", NULL},
    {"retained keys", "{'strategy':{'type':'RollingUpdate','rolling':{'surge':1}}}",
     "{'strategy':{'$retainKeys':['type'],'type':'Recreate'}}", "{'strategy':{'type':'Recreate'}}"},
    {"keys not retained", "{}", "{'strategy':{'$retainKeys':['rolling'],'type':'Recreate'}}", NULL},
    {"no list of keys", "{}", "{'strategy':{'$retainKeys':'type','type':'Recreate'}}", NULL},
    {"other dollars are keys", "{}", "{'open':{'$ref':'#/a'}}", "{'open':{'$ref':'#/a'}}"},
    {"undescribed: maps merge, lists are replaced", "{'open':{'a':{'b':1},'l':[{'name':'a'}]}}",
     "{'open':{'a':{'c':2},'l':[{'name':'b'}]}}",
     "{'open':{'a':{'b':1,'c':2},'l':[{'name':'b'}]}}"},
};

static void C52_lists_merge_by_their_keys(void **state) {
    struct schema *schema = patchtest_schema();

    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        json_t *object = json_pack("{so}", "spec", load(ROWS[i].object));
        json_t *before = json_deep_copy(object);
        json_t *patch = json_pack("{so}", "spec", load(ROWS[i].patch));
        json_t *got = NULL;
        struct err err = {0};
        const int r = patch_strategic(object, patch, schema, &got, &err);

        if (r != (ROWS[i].want ? 0 : ERR_INVALID))
            fail_msg("%s: %d %s", ROWS[i].name, r, err.msg);
        if (ROWS[i].want)
            assert_json(ROWS[i].name, json_object_get(got, "spec"), ROWS[i].want);
        assert_true(json_equal(object, before));
        json_decref(got);
        json_decref(patch);
        json_decref(before);
        json_decref(object);
    }
    schema_free(schema);
}

static void without_a_schema_it_is_a_merge_patch(void **state) {
    json_t *object = load("{'spec':{'tags':['a'],'labels':{'a':'1'}}}");
    json_t *patch = load("{'spec':{'tags':['b'],'labels':{'b':'2','a':null}}}");
    json_t *got = NULL;

    (void)state;
    assert_int_equal(patch_strategic(object, patch, NULL, &got, NULL), 0);
    assert_json("no schema", got, "{'spec':{'tags':['b'],'labels':{'b':'2'}}}");
    json_decref(got);
    assert_int_equal(patch_strategic(object, json_object_get(patch, "none"), NULL, &got, NULL),
                     ERR_INVALID);
    json_decref(patch);
    json_decref(object);
}

static void the_depth_of_a_patch_is_bounded(void **state) {
    json_t *object = json_object();
    json_t *patch = json_object();

    (void)state;
    for (int depth = 1; depth < 70; depth++) {
        json_t *got = NULL;

        assert_int_equal(patch_strategic(object, patch, NULL, &got, NULL),
                         depth <= 65 ? 0 : ERR_INVALID);
        json_decref(got);
        patch = json_pack("{so}", "a", patch);
    }
    json_decref(patch);
    json_decref(object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C52_lists_merge_by_their_keys),
        cmocka_unit_test(without_a_schema_it_is_a_merge_patch),
        cmocka_unit_test(the_depth_of_a_patch_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
