#include "unit.h"

#include "api/address.h"

static void reads_and_writes_the_canonical_form(void **state) {
    static const struct {
        const char *text;
        enum address_family family;
        const char *canonical;
    } rows[] = {
        {"", ADDRESS_NONE, ""},
        {NULL, ADDRESS_NONE, ""},
        {"10.0.0.1", ADDRESS_IPV4, "10.0.0.1"},
        {"255.255.255.255", ADDRESS_IPV4, "255.255.255.255"},
        {"fd00::1", ADDRESS_IPV6, "fd00::1"},
        {"FD00:0:0::0:0001", ADDRESS_IPV6, "fd00::1"},
        {"::ffff:10.0.0.1", ADDRESS_IPV6, "::ffff:10.0.0.1"},
        {"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", ADDRESS_IPV6,
         "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct address address = {.family = 9};
        char text[ADDRESS_TEXT_SIZE];

        assert_int_equal(address_parse(rows[i].text, &address, NULL), 0);
        assert_int_equal(address.family, rows[i].family);
        address_format(&address, text);
        assert_string_equal(text, rows[i].canonical);
    }
}

static void refuses_everything_else(void **state) {
    static const char *const rows[] = {
        "10.0.0", "10.0.0.256", "10.0.0.1/8", " 10.0.0.1", "node-1", "fd00::1::2", "fd00::1%eth0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct address address = {.family = 9};
        struct err err = {0};

        assert_int_equal(address_parse(rows[i], &address, &err), ERR_INVALID);
        assert_int_equal(address.family, 9);
        assert_non_null(strstr(err.msg, rows[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_the_canonical_form),
        cmocka_unit_test(refuses_everything_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
