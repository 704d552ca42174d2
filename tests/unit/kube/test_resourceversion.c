#include "kube/resourceversion.h"

#include "unit.h"

static void C28_ten_is_newer_than_nine(void **state) {
    int order = 5;

    (void)state;
    assert_int_equal(resourceversion_compare("9", "10", &order), 1);
    assert_int_equal(order, -1);
    assert_int_equal(resourceversion_compare("10", "9", &order), 1);
    assert_int_equal(order, 1);
    assert_int_equal(
        resourceversion_compare("99999999999999999999998", "99999999999999999999999", &order), 1);
    assert_int_equal(order, -1);
}

static void C28_malformed_is_equal_or_unordered(void **state) {
    static const char *const bad[] = {"abc", "0", "", "01", "-1", "1a", " 1", NULL};
    int order = 5;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(resourceversion_compare(bad[i], "7", &order), 0);
        assert_int_equal(resourceversion_compare("7", bad[i], &order), 0);
        assert_int_equal(order, 5);
        assert_false(resourceversion_is_ordered(bad[i]));
    }
    assert_int_equal(resourceversion_compare("abc", "abc", &order), 1);
    assert_int_equal(order, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C28_ten_is_newer_than_nine),
        cmocka_unit_test(C28_malformed_is_equal_or_unordered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
