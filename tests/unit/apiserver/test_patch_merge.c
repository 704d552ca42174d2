#include "apiserver/patch.h"

#include "unit.h"

/* clang-format off */
static const struct row {
    const char *object;
    const char *patch;
    const char *want;
} ROWS[] = {
    /* RFC 7386, appendix A, in its order */
    {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
    {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
    {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
    {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
    {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
    {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
    {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
    {"{\"a\":\"foo\"}", "null", "null"},
    {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
    {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
    {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
    {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    /* and more */
    {"{\"a\":0}", "{}", "{\"a\":0}"},
    {"{\"a\":1,\"b\":false}", "{\"a\":0,\"b\":\"\"}", "{\"a\":0,\"b\":\"\"}"},
    {"{\"a\":[1]}", "{\"a\":[null]}", "{\"a\":[null]}"},
    {"{\"a\":1}", "{\"a\":{\"b\":1,\"c\":null}}", "{\"a\":{\"b\":1}}"},
};
/* clang-format on */

static void C52_every_case_of_the_rfc(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        json_t *object = json_loads(ROWS[i].object, JSON_DECODE_ANY, NULL);
        json_t *before = json_deep_copy(object);
        json_t *patch = json_loads(ROWS[i].patch, JSON_DECODE_ANY, NULL);
        json_t *want = json_loads(ROWS[i].want, JSON_DECODE_ANY, NULL);
        json_t *got = NULL;

        assert_int_equal(patch_merge(object, patch, &got, NULL), 0);
        if (!json_equal(got, want))
            fail_msg("%s with %s: %s", ROWS[i].object, ROWS[i].patch,
                     json_dumps(got, JSON_ENCODE_ANY));
        assert_true(json_equal(object, before));
        json_decref(got);
        json_decref(want);
        json_decref(patch);
        json_decref(before);
        json_decref(object);
    }
}

static void the_depth_of_a_patch_is_bounded(void **state) {
    json_t *patch = json_object();

    (void)state;
    for (int depth = 1; depth < 70; depth++) {
        json_t *object = json_object();
        json_t *got = NULL;
        const int r = patch_merge(object, patch, &got, NULL);

        assert_int_equal(r, depth <= 65 ? 0 : ERR_INVALID);
        json_decref(got);
        json_decref(object);
        patch = json_pack("{so}", "a", patch);
    }
    json_decref(patch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C52_every_case_of_the_rfc),
        cmocka_unit_test(the_depth_of_a_patch_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
