#include "base/jsonpull.h"

#include "base/jsonbuild.h"
#include "base/random.h"
#include "base/str.h"

#include "unit.h"

static struct jsonpull at(const char *json) {
    struct jsonpull pull;

    jsonpull_init(&pull, json, strlen(json));
    return pull;
}

static int validate(const char *json, struct err *err) {
    struct jsonpull pull = at(json);

    return jsonpull_end(&pull, err);
}

static void reads_in_order_and_skips_the_rest(void **state) {
    const char *json =
        " {\"kind\":\"Pod\", \"n\" : -7, \"skip\":{\"a\":[1,{\"b\":[]}]},\"on\":true,"
        "\"none\":null,\"list\":[1, 2 ,3],\"last\":0}\r\n";
    struct jsonpull pull = at(json);
    struct jsonpull_text key, text;
    int64_t n = 0, sum = 0;
    bool on = false;
    int nulls = 0, keys = 0;

    (void)state;
    assert_int_equal(jsonpull_enter_object(&pull, NULL), 0);
    while (jsonpull_next_key(&pull, &key, NULL) == 1) {
        keys++;
        if (jsonpull_text_is(&key, "kind")) {
            assert_int_equal(jsonpull_string(&pull, NULL, 0, &text, NULL), 0);
            assert_ptr_equal(text.bytes, strstr(json, "Pod"));
            assert_int_equal(text.size_bytes, 3);
        } else if (jsonpull_text_is(&key, "n")) {
            assert_int_equal(jsonpull_int(&pull, &n, NULL), 0);
        } else if (jsonpull_text_is(&key, "on")) {
            assert_int_equal(jsonpull_null(&pull, NULL), 0);
            assert_int_equal(jsonpull_bool(&pull, &on, NULL), 0);
        } else if (jsonpull_text_is(&key, "none")) {
            nulls += jsonpull_null(&pull, NULL);
        } else if (jsonpull_text_is(&key, "list")) {
            assert_int_equal(jsonpull_enter_array(&pull, NULL), 0);
            while (jsonpull_next_item(&pull, NULL) == 1) {
                int64_t item;

                assert_int_equal(jsonpull_int(&pull, &item, NULL), 0);
                sum += item;
            }
        }
    }
    assert_int_equal(jsonpull_end(&pull, NULL), 0);
    assert_int_equal(keys, 7);
    assert_int_equal(n, -7);
    assert_true(on);
    assert_int_equal(nulls, 1);
    assert_int_equal(sum, 6);
}

static void raw_is_the_values_own_bytes(void **state) {
    struct jsonpull pull = at("[ {\"a\": [1]} , \"x\\n\" ]");
    const char *bytes;
    size_t size;

    (void)state;
    assert_int_equal(jsonpull_enter_array(&pull, NULL), 0);
    assert_int_equal(jsonpull_next_item(&pull, NULL), 1);
    assert_int_equal(jsonpull_raw(&pull, &bytes, &size, NULL), 0);
    assert_int_equal(size, strlen("{\"a\": [1]}"));
    assert_memory_equal(bytes, "{\"a\": [1]}", size);
    assert_int_equal(jsonpull_next_item(&pull, NULL), 1);
    assert_int_equal(jsonpull_raw(&pull, &bytes, &size, NULL), 0);
    assert_memory_equal(bytes, "\"x\\n\"", size);
    assert_int_equal(jsonpull_next_item(&pull, NULL), 0);
}

static void C25_reals_are_not_ints(void **state) {
    static const char *const REALS[] = {"1.0", "1e3", "-0.0", "1E+2", "0.5", "10e-1"};
    static const char *const FAR[] = {"9223372036854775808", "-9223372036854775809",
                                      "99999999999999999999999"};
    struct err err;
    int64_t value = 42;

    (void)state;
    for (size_t i = 0; i < sizeof(REALS) / sizeof(REALS[0]); i++) {
        struct jsonpull pull = at(REALS[i]);

        assert_int_equal(jsonpull_type(&pull, NULL), JSONPULL_REAL);
        assert_int_equal(jsonpull_int(&pull, &value, &err), ERR_INVALID);
        assert_string_equal(err.msg, "json: byte 0: not a whole number");
        assert_int_equal(value, 42);
        assert_int_equal(jsonpull_end(&pull, NULL), 0); /* unread, not broken */
    }
    for (size_t i = 0; i < sizeof(FAR) / sizeof(FAR[0]); i++) {
        struct jsonpull pull = at(FAR[i]);

        assert_int_equal(jsonpull_int(&pull, &value, NULL), ERR_INVALID);
        assert_int_equal(value, 42);
        assert_int_equal(jsonpull_skip(&pull, NULL), 0);
    }
}

static void C25_integers_are_int64(void **state) {
    static const struct {
        const char *json;
        int64_t want;
    } ROWS[] = {{"0", 0},
                {"-0", 0},
                {"-1", -1},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"9007199254740993", INT64_C(9007199254740993)}};

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        struct jsonpull pull = at(ROWS[i].json);
        int64_t value;

        assert_int_equal(jsonpull_int(&pull, &value, NULL), 0);
        assert_true(value == ROWS[i].want);
    }
}

static void C25_depth_has_a_limit(void **state) {
    char json[2 * JSONPULL_DEPTH_MAX + 3];
    struct err err;

    (void)state;
    for (int object = 0; object < 2; object++) {
        for (int depth = 1; depth <= JSONPULL_DEPTH_MAX + 1; depth++) {
            struct jsonpull pull;

            memset(json, '[', depth);
            memset(json + depth, ']', depth);
            if (object) { /* the innermost one */
                json[depth - 1] = '{';
                json[depth] = '}';
            }
            jsonpull_init(&pull, json, 2 * depth);
            if (depth <= JSONPULL_DEPTH_MAX) {
                assert_int_equal(jsonpull_end(&pull, NULL), 0);
            } else {
                assert_int_equal(jsonpull_end(&pull, &err), ERR_INVALID);
                assert_string_equal(err.msg, "json: byte 256: nested too deeply");
            }
        }
    }
}

static void C25_broken_text_is_refused_with_its_offset(void **state) {
    static const struct {
        const char *json;
        int offset;
    } ROWS[] = {
        {"", 0},
        {" ", 1},
        {"{", 1},
        {"[1", 2},
        {"[1,]", 3},
        {"[,1]", 1},
        {"{\"a\" 1}", 5},
        {"{\"a\":}", 5},
        {"{\"a\":1,}", 7},
        {"{1:2}", 1},
        {"[1}", 2},
        {"{\"a\":1]", 6},
        {"tru", 0},
        {"nul", 0},
        {"True", 0},
        {"01", 1},
        {"-", 1},
        {"1.", 2},
        {"1e", 2},
        {"1e+", 3},
        {".5", 0},
        {"+1", 0},
        {"1 2", 2},
        {"\"a", 2},
        {"\"\t\"", 1},
        {"\"\\x\"", 1},
        {"\"\\u12g4\"", 1},
        {"\"\\u123", 1},
        {"\"\\", 1},
        {"\"\x80\"", 1},
        {"\"\xC3\"", 1},
        {"NaN", 0},
        {"\xEF\xBB\xBF", 0},
        {"'a'", 0},
        {"[1 2]", 3},
        {"-a", 1},
        {"{\"a\":1 \"b\":2}", 7},
        {"/**/1", 0},
        {"truex", 4},
        {"[\"a\\\"]", 6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        struct err err = {0};
        char want[40];

        snprintf(want, sizeof(want), "json: byte %d:", ROWS[i].offset);
        if (validate(ROWS[i].json, &err) != ERR_INVALID ||
            strncmp(err.msg, want, strlen(want)) != 0)
            fail_msg("%s: '%s', wanted %s", ROWS[i].json, err.msg, want);
    }
}

static void C25_broken_text_stays_broken(void **state) {
    struct jsonpull pull = at("{\"a\":1,\"b\":tru}");
    struct jsonpull_text key;
    struct err err;
    const char *bytes;
    size_t size;
    int64_t value;
    bool flag;

    (void)state;
    assert_int_equal(jsonpull_enter_object(&pull, NULL), 0);
    assert_int_equal(jsonpull_next_key(&pull, &key, NULL), 1);
    assert_int_equal(jsonpull_next_key(&pull, &key, NULL), 1);
    assert_int_equal(jsonpull_next_key(&pull, &key, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_next_key(&pull, &key, &err), ERR_INVALID);
    assert_string_equal(err.msg, "json: byte 11: not a value");
    assert_int_equal(jsonpull_next_item(&pull, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_type(&pull, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_int(&pull, &value, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_bool(&pull, &flag, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_null(&pull, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_text(&pull, &key, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_enter_object(&pull, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_enter_array(&pull, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_raw(&pull, &bytes, &size, NULL), ERR_INVALID);
    assert_int_equal(jsonpull_end(&pull, NULL), ERR_INVALID);
}

static void C25_another_type_stays_unread(void **state) {
    static const char *const VALUES[] = {"{\"a\":1}", "[1]", "\"s\"", "1", "1.5", "true", "null"};

    (void)state;
    for (int i = 0; i < 7; i++) {
        struct jsonpull_text text;
        int64_t value;
        bool flag;

        for (int read = JSONPULL_OBJECT; read <= JSONPULL_BOOL; read++) {
            struct jsonpull pull = at(VALUES[i]);
            int r = ERR_INVALID;

            if (read == JSONPULL_OBJECT)
                r = jsonpull_enter_object(&pull, NULL);
            else if (read == JSONPULL_ARRAY)
                r = jsonpull_enter_array(&pull, NULL);
            else if (read == JSONPULL_STRING)
                r = jsonpull_text(&pull, &text, NULL);
            else if (read == JSONPULL_INT)
                r = jsonpull_int(&pull, &value, NULL);
            else if (read == JSONPULL_BOOL)
                r = jsonpull_bool(&pull, &flag, NULL);
            assert_int_equal(r, read == i + 1 && read != JSONPULL_REAL ? 0 : ERR_INVALID);
            assert_int_equal(jsonpull_end(&pull, NULL), 0);
        }
    }
}

static void C25_utf8_is_validated(void **state) {
    static const char *const GOOD[] = {"\xC2\x80",     "\xDF\xBF",         "\xE0\xA0\x80",
                                       "\xED\x9F\xBF", "\xEE\x80\x80",     "\xEF\xBF\xBF",
                                       "\x7F",         "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"};
    static const char *const BAD[] = {
        "\x80",         "\xC0\x80", "\xC1\xBF",         "\xE0\x9F\xBF",     "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xC2",     "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80",
        "\xFF",         "\xE2\x82", "\xF0\x9F\x98",     "\xC2\x41"};
    char json[64];

    (void)state;
    for (int pad = 0; pad < 20; pad++) { /* every place within the words that are scanned at once */
        for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
            snprintf(json, sizeof(json), "\"%.*s%szz\"", pad, "abcdefghijklmnopqrst", GOOD[i]);
            assert_int_equal(validate(json, NULL), 0);
        }
        for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
            snprintf(json, sizeof(json), "\"%.*s%szz\"", pad, "abcdefghijklmnopqrst", BAD[i]);
            assert_int_equal(validate(json, NULL), ERR_INVALID);
        }
    }
}

static void C25_control_characters_are_refused(void **state) {
    char json[64];

    (void)state;
    for (int pad = 0; pad < 20; pad++) {
        for (int c = 1; c < 0x80; c++) {
            struct err err;
            const int size = snprintf(json, sizeof(json), "\"%.*s%c%czz\"", pad,
                                      "abcdefghijklmnopqrst", c, c == '\\' ? c : 'z');

            assert_true(size > 0);
            assert_int_equal(validate(json, &err), c < 0x20 || c == '"' ? ERR_INVALID : 0);
            if (c < 0x20)
                assert_non_null(strstr(err.msg, "control character"));
        }
    }
}

static void C25_escapes_and_surrogates(void **state) {
    static const struct {
        const char *json;
        const char *want; /* NULL: refused */
    } ROWS[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"a\\u0041\\u00e9\\u20AC!\"", "aA\xC3\xA9\xE2\x82\xAC!"},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80"},
        {"\"\\uD800\\uDC00\"", "\xF0\x90\x80\x80"},
        {"\"\\uDBFF\\uDFFF\"", "\xF4\x8F\xBF\xBF"},
        {"\"\\ud83d\"", NULL},
        {"\"\\ude00\"", NULL},
        {"\"\\ud83d\\u0041\"", NULL},
        {"\"\\ud83dxxxxxx\"", NULL},
        {"\"\\ud83d\\ud83d\"", NULL},
        {"\"\\ud83d\\ude0\"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        struct jsonpull pull = at(ROWS[i].json);
        struct jsonpull_text raw, text;
        char room[40];
        const int r = jsonpull_string(&pull, room, sizeof(room), &text, NULL);

        assert_int_equal(r, ROWS[i].want ? 0 : ERR_INVALID);
        if (!ROWS[i].want)
            continue;
        assert_string_equal(room, ROWS[i].want);
        assert_int_equal(text.size_bytes, strlen(ROWS[i].want));
        pull = at(ROWS[i].json);
        assert_int_equal(jsonpull_text(&pull, &raw, NULL), 0);
        assert_true(jsonpull_text_is(&raw, ROWS[i].want));
        assert_false(jsonpull_text_is(&raw, ""));
        assert_false(jsonpull_text_is(&raw, "zz"));
        /* A room of any size: it fits with its NUL, or nothing is read. */
        for (size_t size = 0; size < sizeof(room); size++) {
            pull = at(ROWS[i].json);
            assert_int_equal(jsonpull_string(&pull, room, size, &text, NULL),
                             size > strlen(ROWS[i].want) ? 0 : ERR_INVALID);
            assert_int_equal(jsonpull_end(&pull, NULL), 0);
        }
    }
}

static void C25_nul_is_passed_over_but_never_copied(void **state) {
    struct jsonpull pull = at("[\"kube-system\\u0000x\"]");
    struct jsonpull_text text;
    struct err err;
    char room[40];

    (void)state;
    assert_int_equal(jsonpull_enter_array(&pull, NULL), 0);
    assert_int_equal(jsonpull_next_item(&pull, NULL), 1);
    assert_int_equal(jsonpull_string(&pull, room, sizeof(room), &text, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "U+0000"));
    assert_int_equal(jsonpull_text(&pull, &text, NULL), 0);
    assert_false(jsonpull_text_is(&text, "kube-system"));
    assert_int_equal(jsonpull_end(&pull, NULL), 0);
}

static void C25_repeated_keys_are_all_reported(void **state) {
    struct jsonpull pull = at("{\"a\":1,\"\\u0061\":2}");
    struct jsonpull_text key;
    int seen = 0;

    (void)state;
    assert_int_equal(jsonpull_enter_object(&pull, NULL), 0);
    while (jsonpull_next_key(&pull, &key, NULL) == 1)
        seen += jsonpull_text_is(&key, "a");
    assert_int_equal(seen, 2);
}

/* Every cut of a document is refused, and nothing beyond the cut is read: the copy is exact, so
 * that the sanitizer sees one byte too many. */
static void C25_no_cut_of_a_document_is_one(void **state) {
    const char *json = "{\"a\":[1,-2.5e+3,true,false,null,\"\\ud83d\\ude00\xC3\xA9\"],\"b\":{}}";

    (void)state;
    for (size_t size = 0; size <= strlen(json); size++) {
        char *copy = malloc(size ? size : 1);
        struct jsonpull pull;

        memcpy(copy, json, size);
        jsonpull_init(&pull, copy, size);
        assert_int_equal(jsonpull_end(&pull, NULL), size < strlen(json) ? ERR_INVALID : 0);
        free(copy);
    }
}

static void add_text(struct str *str, struct random *rng) {
    static const char *const PIECES[] = {"a",
                                         "name",
                                         "\\n",
                                         "\\\"",
                                         "\\\\",
                                         "\\/",
                                         "\\u0041",
                                         "\\u00e9",
                                         "\\ud83d\\ude00",
                                         "\xC3\xA9",
                                         "\xE2\x82\xAC",
                                         "\xF0\x9F\x98\x80",
                                         " ",
                                         "{[,:]}",
                                         "\\u0000",
                                         "\\ud83d",
                                         "\x80",
                                         "\\x",
                                         "\x01",
                                         "kubernetes.io/name",
                                         "/"};
    const uint64_t kinds = random_below(rng, 40) ? 14 : sizeof(PIECES) / sizeof(PIECES[0]);

    str_add(str, "\"", 1, NULL);
    for (uint64_t i = random_below(rng, 6); i > 0; i--)
        str_addf(str, NULL, "%s", PIECES[random_below(rng, kinds)]);
    str_add(str, "\"", 1, NULL);
}

static void add_value(struct str *str, struct random *rng, int depth) {
    static const char *const SCALARS[] = {"0",
                                          "-0",
                                          "1",
                                          "-17",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "0.5",
                                          "1e3",
                                          "-1.25E-2",
                                          "true",
                                          "false",
                                          "null",
                                          "123456789012",
                                          "1.0"};
    static const char *const ODD[] = {"9223372036854775808", "1e999", "01", "1.", "nul", "-", ""};
    const uint64_t kind = random_below(rng, depth > 5 ? 2 : 4);

    if (random_below(rng, 4) == 0)
        str_add(str, " \n\t\r", random_below(rng, 5), NULL);
    if (kind == 0) {
        const bool odd = random_below(rng, 60) == 0;

        str_addf(str, NULL, "%s",
                 odd ? ODD[random_below(rng, sizeof(ODD) / sizeof(ODD[0]))]
                     : SCALARS[random_below(rng, sizeof(SCALARS) / sizeof(SCALARS[0]))]);
    } else if (kind == 1) {
        add_text(str, rng);
    } else {
        str_add(str, kind == 2 ? "{" : "[", 1, NULL);
        for (uint64_t i = 0, count = random_below(rng, 5); i < count; i++) {
            if (i > 0)
                str_add(str, ",", 1, NULL);
            if (kind == 2) {
                add_text(str, rng);
                str_add(str, ":", 1, NULL);
            }
            add_value(str, rng, depth + 1);
        }
        str_add(str, kind == 2 ? "}" : "]", 1, NULL);
    }
    if (random_below(rng, 4) == 0)
        str_add(str, " ", 1, NULL);
}

static void mutate(struct str *str, struct random *rng) {
    static const char BYTES[] = "{}[],:\"\\0123456789.eE+-truefalsn \n\x01\x80\xC3\xED\xF0u";

    for (uint64_t i = 1 + random_below(rng, 3); i > 0 && str->size_bytes > 0; i--) {
        const size_t at = random_below(rng, str->size_bytes);

        switch (random_below(rng, 4)) {
        case 0:
            str->data[at] = BYTES[random_below(rng, sizeof(BYTES))];
            break;
        case 1:
            memmove(str->data + at, str->data + at + 1, str->size_bytes - at - 1);
            str->size_bytes--;
            break;
        case 2:
            str->size_bytes = at;
            break;
        default:
            str_add(str, str->data + at, 1, NULL);
        }
    }
}

/* 60000 documents from a seed, valid and mutated: jansson and the decoder agree about each, in
 * verdict and in value. jsonbuild.h names the deviations. */
static void C25_agrees_with_jansson(void **state) {
    struct random rng = {.state = 25};
    struct str str;
    int valid = 0, count = 60000;

    (void)state;
    str_init(&str, 1 << 20);
    for (int i = 0; i < count; i++) {
        bool both;

        str_clear(&str);
        add_value(&str, &rng, 0);
        if (i % 2)
            mutate(&str, &rng);
        char *exact = str_dup_len(str.data, str.size_bytes); /* the sanitizer guards its end */
        const char *differs = jsonbuild_differs(exact, str.size_bytes, &both);

        if (differs)
            fail_msg("document %d: %s: %s", i, differs, exact);
        valid += both;
        free(exact);
    }
    assert_in_range(valid, count / 3, count * 3 / 4); /* both verdicts are met often */
    str_done(&str);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_in_order_and_skips_the_rest),
        cmocka_unit_test(raw_is_the_values_own_bytes),
        cmocka_unit_test(C25_reals_are_not_ints),
        cmocka_unit_test(C25_integers_are_int64),
        cmocka_unit_test(C25_depth_has_a_limit),
        cmocka_unit_test(C25_broken_text_is_refused_with_its_offset),
        cmocka_unit_test(C25_broken_text_stays_broken),
        cmocka_unit_test(C25_another_type_stays_unread),
        cmocka_unit_test(C25_utf8_is_validated),
        cmocka_unit_test(C25_control_characters_are_refused),
        cmocka_unit_test(C25_escapes_and_surrogates),
        cmocka_unit_test(C25_nul_is_passed_over_but_never_copied),
        cmocka_unit_test(C25_repeated_keys_are_all_reported),
        cmocka_unit_test(C25_no_cut_of_a_document_is_one),
        cmocka_unit_test(C25_agrees_with_jansson),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
