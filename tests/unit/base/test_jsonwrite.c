#include "base/jsonwrite.h"

#include "base/random.h"
#include "base/str.h"

#include <jansson.h>

#include "unit.h"

static void commas_and_colons_are_its_own(void **state) {
    struct jsonwrite write;
    struct str out;

    (void)state;
    str_init(&out, 1000);
    str_add(&out, "before ", 7, NULL);
    jsonwrite_init(&write, &out);
    jsonwrite_object(&write);
    jsonwrite_key(&write, "replicas");
    jsonwrite_int(&write, 0);
    jsonwrite_key(&write, "none");
    jsonwrite_null(&write);
    jsonwrite_key(&write, "empty");
    jsonwrite_text(&write, "");
    jsonwrite_key(&write, "off");
    jsonwrite_bool(&write, false);
    jsonwrite_key(&write, "nil");
    jsonwrite_text(&write, NULL);
    jsonwrite_key(&write, "a");
    jsonwrite_array(&write);
    jsonwrite_object(&write);
    jsonwrite_object_end(&write);
    jsonwrite_array(&write);
    jsonwrite_array_end(&write);
    jsonwrite_bool(&write, true);
    jsonwrite_int(&write, INT64_MIN);
    jsonwrite_raw(&write, "{\"x\":[1.5]}", 11);
    jsonwrite_array_end(&write);
    jsonwrite_key(&write, "z");
    jsonwrite_int(&write, INT64_MAX);
    jsonwrite_object_end(&write);
    assert_int_equal(jsonwrite_finish(&write, NULL), 0);
    assert_string_equal(out.data, "before {\"replicas\":0,\"none\":null,\"empty\":\"\","
                                  "\"off\":false,\"nil\":null,"
                                  "\"a\":[{},[],true,-9223372036854775808,{\"x\":[1.5]}],"
                                  "\"z\":9223372036854775807}");
    str_done(&out);
}

static void one_scalar_is_a_document(void **state) {
    struct jsonwrite write;
    struct str out;

    (void)state;
    str_init(&out, 100);
    jsonwrite_init(&write, &out);
    jsonwrite_text(&write, "x");
    assert_int_equal(jsonwrite_finish(&write, NULL), 0);
    assert_string_equal(out.data, "\"x\"");
    str_done(&out);
}

static void escapes_are_the_shortest(void **state) {
    struct jsonwrite write;
    struct str out;

    (void)state;
    str_init(&out, 1000);
    jsonwrite_init(&write, &out);
    jsonwrite_string(&write, "\"\\/\b\f\n\r\t\0\x1F\x7F\xC3\xA9\xF0\x9F\x98\x80", 17);
    assert_int_equal(jsonwrite_finish(&write, NULL), 0);
    assert_string_equal(out.data, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7F\xC3\xA9"
                                  "\xF0\x9F\x98\x80\"");
    str_done(&out);
}

/* Random bytes: jansson reads back what was written, or it was no UTF-8 and nothing was. */
static void C25_what_is_written_reads_back(void **state) {
    struct random rng = {.state = 41};
    int written = 0, refused = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        char bytes[40];
        const size_t size = random_below(&rng, sizeof(bytes));
        const uint64_t range = i % 4 ? 128 : 256;
        struct jsonwrite write;
        struct str out;

        for (size_t b = 0; b < size; b++)
            bytes[b] = (char)random_below(&rng, range);
        str_init(&out, 1000);
        jsonwrite_init(&write, &out);
        jsonwrite_array(&write);
        jsonwrite_string(&write, bytes, size);
        jsonwrite_array_end(&write);
        json_t *want = json_stringn(bytes, size);

        if (jsonwrite_finish(&write, NULL) == 0) {
            json_t *read = json_loadb(out.data, out.size_bytes, JSON_ALLOW_NUL, NULL);

            assert_non_null(want);
            assert_true(json_equal(json_array_get(read, 0), want));
            json_decref(read);
            written++;
        } else {
            assert_null(want); /* jansson judges UTF-8 alike */
            assert_int_equal(out.size_bytes, 0);
            refused++;
        }
        json_decref(want);
        str_done(&out);
    }
    assert_true(written > 1000 && refused > 1000);
}

/* Every limit: the document is whole, or the buffer is as before and the error says why. */
static void C25_the_limit_of_the_buffer_holds(void **state) {
    const size_t whole = strlen("{\"key\":[\"a\\nb\",12]}");

    (void)state;
    for (size_t limit = 1; limit < whole + 5; limit++) {
        struct jsonwrite write;
        struct err err = {0};
        struct str out;

        str_init(&out, limit);
        str_add(&out, "#", 1, NULL);
        jsonwrite_init(&write, &out);
        jsonwrite_object(&write);
        jsonwrite_key(&write, "key");
        jsonwrite_array(&write);
        jsonwrite_text(&write, "a\nb");
        jsonwrite_int(&write, 12);
        jsonwrite_array_end(&write);
        jsonwrite_object_end(&write);
        const int r = jsonwrite_finish(&write, &err);

        assert_int_equal(r, limit > whole ? 0 : ERR_INVALID);
        assert_int_equal(out.size_bytes, limit > whole ? whole + 1 : 1);
        assert_int_equal(out.data[out.size_bytes], '\0');
        assert_int_equal(err.code, r);
        str_done(&out);
    }
}

static void C25_raw_must_be_json(void **state) {
    static const char *const BAD[] = {"", "1,2", "{", "1}", "\"a", "\x80"};

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct jsonwrite write;
        struct str out;

        str_init(&out, 100);
        jsonwrite_init(&write, &out);
        jsonwrite_array(&write);
        jsonwrite_raw(&write, BAD[i], strlen(BAD[i]));
        jsonwrite_array_end(&write);
        assert_int_equal(jsonwrite_finish(&write, NULL), ERR_INVALID);
        assert_int_equal(out.size_bytes, 0);
        str_done(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_colons_are_its_own),
        cmocka_unit_test(one_scalar_is_a_document),
        cmocka_unit_test(escapes_are_the_shortest),
        cmocka_unit_test(C25_what_is_written_reads_back),
        cmocka_unit_test(C25_the_limit_of_the_buffer_holds),
        cmocka_unit_test(C25_raw_must_be_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
