#include "base/base64.h"

#include "unit.h"

static void encodes_and_decodes_rfc_4648(void **state) {
    static const struct {
        const char *plain;
        const char *coded;
    } rows[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xfe", "//4="},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str out;

        str_init(&out, 100);
        assert_int_equal(base64_encode(&out, rows[i].plain, strlen(rows[i].plain), NULL), 0);
        assert_string_equal(out.data ? out.data : "", rows[i].coded);
        str_clear(&out);
        assert_int_equal(base64_decode(&out, rows[i].coded, strlen(rows[i].coded), NULL), 0);
        assert_string_equal(out.data ? out.data : "", rows[i].plain);
        str_done(&out);
    }
}

static void every_length_survives_a_round_trip_wrapped_anywhere(void **state) {
    unsigned char bytes[200];
    uint32_t seed = 7;

    (void)state;
    for (size_t size = 0; size <= sizeof bytes; size++) {
        struct str coded;
        struct str wrapped;
        struct str plain;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
        str_init(&coded, 1000);
        str_init(&wrapped, 3000);
        str_init(&plain, size);
        assert_int_equal(base64_encode(&coded, bytes, size, NULL), 0);
        for (size_t i = 0; i < coded.size_bytes; i++) {
            str_add(&wrapped, coded.data + i, 1, NULL);
            if (i % (1 + size % 7) == 0)
                str_add(&wrapped, "\r\n \t", 1 + size % 4, NULL);
        }
        assert_int_equal(
            base64_decode(&plain, wrapped.data ? wrapped.data : "", wrapped.size_bytes, NULL), 0);
        assert_int_equal(plain.size_bytes, size);
        if (size > 0)
            assert_memory_equal(plain.data, bytes, size);
        str_done(&coded);
        str_done(&wrapped);
        str_done(&plain);
    }
}

static void garbage_leaves_the_buffer_as_it_was(void **state) {
    static const char *const rows[] = {
        "Zg",    "Zg=",   "Z",     "=",    "====",  "Zg==Zg==", "Zm9v!",
        "Zm9vZ", "Zg===", "Zm8==", "Z===", "Zm9v=", "Z-_v"};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {0};
        struct str out;

        str_init(&out, 100);
        str_add(&out, "kept", 4, NULL);
        if (base64_decode(&out, rows[i], strlen(rows[i]), &err) != ERR_INVALID)
            fail_msg("%s was taken", rows[i]);
        assert_int_equal(out.size_bytes, 4);
        assert_null(strstr(err.msg, rows[i][1] ? rows[i] : "\n"));
        str_done(&out);
    }
}

static void limits_hold_both_ways(void **state) {
    struct err err = {0};
    struct str out;

    (void)state;
    str_init(&out, 7);
    assert_int_equal(base64_encode(&out, "foob", 4, &err), ERR_INVALID);
    assert_int_equal(out.size_bytes, 0);
    assert_int_equal(base64_decode(&out, "Zm9vYmFyZm9v", 12, &err), ERR_INVALID);
    assert_int_equal(out.size_bytes, 0);
    assert_int_equal(base64_decode(&out, "Zm9vYmFyZg==", 12, &err), 0);
    str_done(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_and_decodes_rfc_4648),
        cmocka_unit_test(every_length_survives_a_round_trip_wrapped_anywhere),
        cmocka_unit_test(garbage_leaves_the_buffer_as_it_was),
        cmocka_unit_test(limits_hold_both_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
