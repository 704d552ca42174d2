#include "unit.h"

#include "base/names.h"
#include "base/random.h"

#include <stdio.h>

static const char *take(struct names *names, const char *text) {
    return names_take(names, text, strlen(text));
}

static void same_text_is_the_same_pointer(void **state) {
    struct names *names = names_new(8);
    const char *eu = names_take(names, "eu-a-and-more", 4);

    (void)state;
    assert_string_equal(eu, "eu-a");
    assert_ptr_equal(take(names, "eu-a"), eu);
    assert_ptr_not_equal(take(names, "eu-b"), eu);
    assert_ptr_equal(names_find(names, "eu-a", 4), eu);
    assert_null(names_find(names, "eu-", 3));
    assert_string_equal(names_take(names, NULL, 0), "");
    assert_ptr_equal(names_find(names, NULL, 0), take(names, ""));
    assert_int_equal(names_count(names), 3);
    names_free(names);
    names_free(NULL);
    assert_int_equal(names_count(NULL), 0);
}

static void a_text_goes_with_its_last_reference(void **state) {
    struct names *names = names_new(8);
    const char *text = take(names, "node-1");

    (void)state;
    assert_ptr_equal(names_hold(names, text), text);
    assert_ptr_equal(take(names, "node-1"), text);
    names_drop(names, text);
    names_drop(names, text);
    assert_int_equal(names_count(names), 1);
    assert_string_equal(text, "node-1");
    names_drop(names, text);
    assert_int_equal(names_count(names), 0);
    assert_null(names_find(names, "node-1", 6));
    names_drop(names, NULL);
    assert_null(names_hold(names, NULL));
    names_free(names);
}

static void bounds_refuse_only_what_is_new(void **state) {
    struct names *names = names_new(2);
    char long_text[NAMES_TEXT_MAX + 1];
    const char *a = take(names, "a");

    (void)state;
    memset(long_text, 'x', sizeof(long_text));
    assert_null(names_take(names, long_text, NAMES_TEXT_MAX + 1));
    assert_null(names_take(names, "a\0b", 3));
    assert_non_null(names_take(names, long_text, NAMES_TEXT_MAX));
    assert_null(take(names, "b"));
    assert_ptr_equal(take(names, "a"), a);
    names_drop(names, a);
    names_drop(names, a);
    assert_non_null(take(names, "b"));
    assert_int_equal(names_count(names), 2);
    names_free(names);
}

#define TEXTS 40

static void random_holds_and_drops_keep_the_count(void **state) {
    struct names *names = names_new(TEXTS / 2);
    struct random rng = {11};
    const char *held[TEXTS] = {0};
    int refs[TEXTS] = {0};
    size_t live = 0;

    (void)state;
    for (int round = 0; round < 100000; round++) {
        const size_t i = random_below(&rng, TEXTS);
        char text[16];

        snprintf(text, sizeof(text), "zone-%zu", i * 7);
        if (random_below(&rng, 2) && refs[i] > 0) {
            names_drop(names, held[i]);
            live -= --refs[i] == 0;
        } else {
            const char *got = take(names, text);

            assert_int_equal(got != NULL, refs[i] > 0 || live < TEXTS / 2);
            if (!got)
                continue;
            assert_string_equal(got, text);
            if (refs[i] > 0)
                assert_ptr_equal(got, held[i]);
            live += refs[i]++ == 0;
            held[i] = got;
        }
        assert_int_equal(names_count(names), live);
    }
    names_free(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_text_is_the_same_pointer),
        cmocka_unit_test(a_text_goes_with_its_last_reference),
        cmocka_unit_test(bounds_refuse_only_what_is_new),
        cmocka_unit_test(random_holds_and_drops_keep_the_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
