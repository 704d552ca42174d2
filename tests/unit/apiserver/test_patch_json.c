#include "apiserver/patch.h"

#include "unit.h"

struct row {
    const char *name;
    const char *object;
    const char *patch;
    const char *want; /* NULL: refused */
    int code;
};

static json_t *load(const char *text) {
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    return value;
}

static void check(const struct row *row) {
    json_t *object = load(row->object);
    json_t *before = json_deep_copy(object);
    json_t *patch = load(row->patch);
    json_t *got = NULL;
    struct err err = {0};
    const int r = patch_json(object, patch, &got, &err);

    if (r != row->code)
        fail_msg("%s: %d %s", row->name, r, err.msg);
    assert_true(json_equal(object, before));
    if (r == 0) {
        json_t *want = load(row->want);

        if (!json_equal(got, want))
            fail_msg("%s: %s", row->name, json_dumps(got, JSON_ENCODE_ANY));
        json_decref(want);
    } else {
        assert_null(got);
        assert_true(strlen(err.msg) > 0);
    }
    json_decref(got);
    json_decref(patch);
    json_decref(before);
    json_decref(object);
}

static const struct row APPENDIX[] = {
    {"A.1 member", "{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
     "{\"baz\":\"qux\",\"foo\":\"bar\"}", 0},
    {"A.2 element", "{\"foo\":[\"bar\",\"baz\"]}",
     "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
     "{\"foo\":[\"bar\",\"qux\",\"baz\"]}", 0},
    {"A.3 remove member", "{\"baz\":\"qux\",\"foo\":\"bar\"}",
     "[{\"op\":\"remove\",\"path\":\"/baz\"}]", "{\"foo\":\"bar\"}", 0},
    {"A.4 remove element", "{\"foo\":[\"bar\",\"qux\",\"baz\"]}",
     "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]", "{\"foo\":[\"bar\",\"baz\"]}", 0},
    {"A.5 replace", "{\"baz\":\"qux\",\"foo\":\"bar\"}",
     "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
     "{\"baz\":\"boo\",\"foo\":\"bar\"}", 0},
    {"A.6 move", "{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
     "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
     "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}", 0},
    {"A.7 move element", "{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}",
     "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
     "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}", 0},
    {"A.8 test holds", "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}",
     "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},"
     "{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2}]",
     "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}", 0},
    {"A.9 test fails", "{\"baz\":\"qux\"}",
     "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]", NULL, ERR_CONFLICT},
    {"A.10 nested member", "{\"foo\":\"bar\"}",
     "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
     "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}", 0},
    {"A.11 unknown member ignored", "{\"foo\":\"bar\"}",
     "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\",\"xyz\":123}]",
     "{\"foo\":\"bar\",\"baz\":\"qux\"}", 0},
    {"A.12 no such parent", "{\"foo\":\"bar\"}",
     "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]", NULL, ERR_INVALID},
    {"A.13 the last op wins", "{\"foo\":\"bar\"}",
     "[{\"op\":\"add\",\"path\":\"/foo\",\"value\":\"qux\",\"op\":\"remove\"}]", "{}", 0},
    {"A.14 escapes", "{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]",
     "{\"/\":9,\"~1\":10}", 0},
    {"A.15 text is no number", "{\"/\":9,\"~1\":10}",
     "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":\"10\"}]", NULL, ERR_CONFLICT},
    {"A.16 append", "{\"foo\":[\"bar\"]}",
     "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
     "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}", 0},
};

static const struct row MORE[] = {
    {"no list", "{}", "{}", NULL, ERR_INVALID},
    {"no object", "{}", "[1]", NULL, ERR_INVALID},
    {"no op", "{}", "[{\"path\":\"\"}]", NULL, ERR_INVALID},
    {"unknown op", "{}", "[{\"op\":\"merge\",\"path\":\"\",\"value\":1}]", NULL, ERR_INVALID},
    {"no path", "{}", "[{\"op\":\"add\",\"value\":1}]", NULL, ERR_INVALID},
    {"no value", "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", NULL, ERR_INVALID},
    {"null is a value", "{}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}",
     0},
    {"no from", "{}", "[{\"op\":\"move\",\"path\":\"/a\"}]", NULL, ERR_INVALID},
    {"path without slash", "{}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":1}]", NULL,
     ERR_INVALID},
    {"broken escape", "{}", "[{\"op\":\"add\",\"path\":\"/a~2\",\"value\":1}]", NULL, ERR_INVALID},
    {"escape cut off", "{}", "[{\"op\":\"add\",\"path\":\"/a~\",\"value\":1}]", NULL, ERR_INVALID},
    {"slash in a key", "{\"l\":{}}", "[{\"op\":\"add\",\"path\":\"/l/a~1b~0\",\"value\":1}]",
     "{\"l\":{\"a/b~\":1}}", 0},
    {"the empty key", "{}", "[{\"op\":\"add\",\"path\":\"/\",\"value\":1}]", "{\"\":1}", 0},
    {"empty keys inside", "{\"\":{\"\":2}}", "[{\"op\":\"test\",\"path\":\"//\",\"value\":2}]",
     "{\"\":{\"\":2}}", 0},
    {"the root", "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"b\":2}}]",
     "{\"b\":2}", 0},
    {"no removal of the root", "{}", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL, ERR_INVALID},
    {"leading zero", "[1,2]", "[{\"op\":\"remove\",\"path\":\"/01\"}]", NULL, ERR_INVALID},
    {"negative index", "[1,2]", "[{\"op\":\"remove\",\"path\":\"/-1\"}]", NULL, ERR_INVALID},
    {"dash is no element", "[1,2]", "[{\"op\":\"remove\",\"path\":\"/-\"}]", NULL, ERR_INVALID},
    {"dash cannot be replaced", "[1]", "[{\"op\":\"replace\",\"path\":\"/-\",\"value\":2}]", NULL,
     ERR_INVALID},
    {"the end by number", "[1]", "[{\"op\":\"add\",\"path\":\"/1\",\"value\":2}]", "[1,2]", 0},
    {"beyond the end", "[1]", "[{\"op\":\"add\",\"path\":\"/2\",\"value\":2}]", NULL, ERR_INVALID},
    {"index beyond any int", "[1]",
     "[{\"op\":\"add\",\"path\":\"/99999999999999999999\",\"value\":2}]", NULL, ERR_INVALID},
    {"replace needs a target", "{}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":2}]", NULL,
     ERR_INVALID},
    {"replace an element", "[1,2]", "[{\"op\":\"replace\",\"path\":\"/0\",\"value\":3}]", "[3,2]",
     0},
    {"remove needs a target", "{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", NULL, ERR_INVALID},
    {"test of nothing", "{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]", NULL,
     ERR_CONFLICT},
    {"numbers by value", "{\"a\":[1.0]}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":[1]}]",
     "{\"a\":[1.0]}", 0},
    {"order of keys is nothing", "{\"a\":{\"b\":1,\"c\":2}}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"c\":2,\"b\":1}}]", "{\"a\":{\"b\":1,\"c\":2}}",
     0},
    {"more keys are not the same", "{\"a\":{\"b\":1,\"c\":2}}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"b\":1}}]", NULL, ERR_CONFLICT},
    {"copy", "{\"a\":{\"b\":1}}",
     "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"},"
     "{\"op\":\"add\",\"path\":\"/c/b\",\"value\":2}]",
     "{\"a\":{\"b\":1},\"c\":{\"b\":2}}", 0},
    {"copy into itself", "{\"a\":{}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/b\"}]",
     "{\"a\":{\"b\":{}}}", 0},
    {"move into itself", "{\"a\":{}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]",
     NULL, ERR_INVALID},
    {"move into itself where another takes its place", "[{},{}]",
     "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/0/b\"}]", NULL, ERR_INVALID},
    {"fewer keys are not the same", "{\"a\":{\"b\":1}}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"b\":1,\"c\":2}}]", NULL, ERR_CONFLICT},
    {"move nowhere", "{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]",
     "{\"a\":1}", 0},
    {"move to a place that is not", "{\"a\":1}",
     "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b/c\"}]", NULL, ERR_INVALID},
    {"all or nothing", "{\"a\":1}",
     "[{\"op\":\"remove\",\"path\":\"/a\"},"
     "{\"op\":\"remove\",\"path\":\"/a\"}]",
     NULL, ERR_INVALID},
};

static void C52_every_case_of_the_rfc(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof APPENDIX / sizeof *APPENDIX; i++)
        check(&APPENDIX[i]);
}

static void C52_pointers_and_targets(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof MORE / sizeof *MORE; i++)
        check(&MORE[i]);
}

static int run(const json_t *object, const json_t *patch) {
    json_t *got = NULL;
    const int r = patch_json(object, patch, &got, NULL);

    json_decref(got);
    return r;
}

static void the_number_of_operations_is_bounded(void **state) {
    json_t *object = load("{\"a\":1}");
    json_t *test = load("{\"op\":\"test\",\"path\":\"/a\",\"value\":1}");
    json_t *patch = json_array();

    (void)state;
    for (int i = 0; i < 10000; i++)
        json_array_append(patch, test);
    assert_int_equal(run(object, patch), 0);
    json_array_append(patch, test);
    assert_int_equal(run(object, patch), ERR_INVALID);
    json_decref(patch);
    json_decref(test);
    json_decref(object);
}

/* Every copy could double the object: 40 of them would fill any memory. */
static void copies_cannot_fill_the_memory(void **state) {
    json_t *object = load("{\"a\":[\"0123456789\"]}");
    json_t *patch = json_array();
    int done = 0;

    (void)state;
    for (; done < 40; done++) {
        json_array_append_new(patch, load("{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}"));
        if (run(object, patch) < 0)
            break;
    }
    assert_in_range(done, 10, 20);
    json_decref(patch);
    json_decref(object);
}

static void copies_count_together(void **state) {
    const size_t size = 1 << 20;
    char *text = calloc(size + 1, 1);
    json_t *patch = json_array();
    json_t *object;

    (void)state;
    memset(text, 'x', size);
    object = json_pack("{ss}", "a", text);
    for (int i = 0; i < 3; i++) {
        json_array_append_new(patch, load("{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}"));
        assert_int_equal(run(object, patch), i < 2 ? 0 : ERR_INVALID);
    }
    json_decref(patch);
    json_decref(object);
    free(text);
}

static void depth_is_bounded(void **state) {
    char path[2 * 65 + 1] = "";
    json_t *object = json_object();
    json_t *at = object;
    json_t *patch;

    (void)state;
    for (int i = 0; i < 65; i++) {
        if (i == 64) {
            patch = json_pack("[{sssss{}}]", "op", "add", "path", path, "value");
            assert_int_equal(run(object, patch), 0);
            json_decref(patch);
            patch = json_pack("[{sssss{s[]}}]", "op", "add", "path", path, "value", "b");
            assert_int_equal(run(object, patch), ERR_INVALID);
            json_decref(patch);
        }
        json_object_set_new(at, "a", json_object());
        at = json_object_get(at, "a");
        strncat(path, "/a", sizeof path - strlen(path) - 1);
    }
    patch = json_array();
    assert_int_equal(run(object, patch), ERR_INVALID); /* 66 objects inside one another */
    json_decref(patch);
    json_decref(object);
    object = json_object();
    patch = json_pack("[{ssss}]", "op", "remove", "path", path);
    assert_int_equal(run(object, patch), ERR_INVALID); /* 65 steps */
    json_decref(patch);
    json_decref(object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C52_every_case_of_the_rfc),
        cmocka_unit_test(C52_pointers_and_targets),
        cmocka_unit_test(the_number_of_operations_is_bounded),
        cmocka_unit_test(copies_cannot_fill_the_memory),
        cmocka_unit_test(copies_count_together),
        cmocka_unit_test(depth_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
