#include "base/str.h"

#include "unit.h"

static void err_keeps_code_and_text(void **state) {
    struct err err = {0};

    (void)state;
    assert_int_equal(err_set(&err, ERR_INVALID, "spec.%s: %d", "replicas", -1), ERR_INVALID);
    assert_string_equal(err.msg, "spec.replicas: -1");
    assert_int_equal(err_wrap(&err, ERR_RETRY, "shop/eu"), ERR_RETRY);
    assert_int_equal(err.code, ERR_RETRY);
    assert_string_equal(err.msg, "shop/eu: spec.replicas: -1");
    assert_int_equal(err_set(NULL, ERR_RETRY, "x"), ERR_RETRY);
    assert_int_equal(err_wrap(NULL, ERR_RETRY, "x"), ERR_RETRY);
}

static void err_cuts_long_text(void **state) {
    char text[500];
    struct err err = {0};

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err_set(&err, ERR_INVALID, "%s", text);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
    err_wrap(&err, ERR_INVALID, "%s", text);
    assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
}

/* Every limit and every split of the bytes: what fits is kept whole, what does not changes nothing.
 */
static void str_never_passes_its_limit(void **state) {
    (void)state;
    for (size_t limit = 0; limit < 200; limit++) {
        for (size_t step = 1; step < 70; step += 7) {
            struct str str;
            char chunk[70];
            int r = 0;

            memset(chunk, 'x', sizeof(chunk));
            str_init(&str, limit);
            while (r == 0) {
                const size_t before = str.size_bytes;

                r = str_add(&str, chunk, step, NULL);
                if (r < 0) {
                    assert_int_equal(r, ERR_INVALID);
                    assert_int_equal(str.size_bytes, before);
                } else {
                    assert_int_equal(strlen(str.data), str.size_bytes);
                }
            }
            assert_true(str.size_bytes <= limit && str.size_bytes + step > limit);
            str_done(&str);
        }
    }
}

static void str_formats_clears_and_copies(void **state) {
    struct str str;
    char *copy = str_printf("%s-%d", "gz", 3);

    (void)state;
    str_init(&str, 16);
    assert_int_equal(str_addf(&str, NULL, "%s=%d", "n", 20), 0);
    assert_string_equal(str.data, "n=20");
    str_clear(&str);
    assert_int_equal(str.size_bytes, 0);
    assert_string_equal(str.data, "");
    assert_string_equal(copy, "gz-3");
    assert_null(str_dup(NULL));
    free(copy);
    str_done(&str);
    str_done(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_keeps_code_and_text),
        cmocka_unit_test(err_cuts_long_text),
        cmocka_unit_test(str_never_passes_its_limit),
        cmocka_unit_test(str_formats_clears_and_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
