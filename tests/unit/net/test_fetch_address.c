#include "unit.h"

#include "net/fetch_address.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/un.h>

static bool allowed(const char *text, bool loopback) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return fetch_address_allowed((const struct sockaddr *)&in, loopback);
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return fetch_address_allowed((const struct sockaddr *)&in6, loopback);
}

static void C82_inner_addresses_are_refused(void **state) {
    static const char *const DENIED[] = {
        "0.0.0.0",
        "0.1.2.3",
        "169.254.0.0",
        "169.254.169.254",
        "169.254.255.255",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "fe80::1",
        "febf:ffff::1",
        "fec0::1",
        "ff02::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::ffff:169.254.169.254",
        "::ffff:0.0.0.0",
        "::169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::1",
        "2002:a9fe:a9fe::1",
        "2001::1",
    };
    static const char *const ALLOWED[] = {
        "1.1.1.1",     "10.0.0.1",    "126.255.255.255", "128.0.0.1",       "169.253.255.255",
        "169.255.0.0", "172.16.0.1",  "192.168.1.1",     "100.100.100.201", "223.255.255.255",
        "fd00::1",     "2a00:1::1",   "2001:db8::1",     "::ffff:10.0.0.1", "64:ff9b::10.0.0.1",
        "fd00:ec3::1", "fe7f:ffff::", "2002:a00:1::1",   "64:ff9b:2::1",
    };
    static const char *const LOOPBACK[] = {
        "127.0.0.0", "127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
    };

    (void)state;
    for (int loopback = 0; loopback < 2; loopback++) {
        for (size_t i = 0; i < sizeof DENIED / sizeof *DENIED; i++) {
            if (allowed(DENIED[i], loopback))
                fail_msg("%s was allowed", DENIED[i]);
        }
        for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++) {
            if (!allowed(ALLOWED[i], loopback))
                fail_msg("%s was refused", ALLOWED[i]);
        }
        for (size_t i = 0; i < sizeof LOOPBACK / sizeof *LOOPBACK; i++) {
            if (allowed(LOOPBACK[i], loopback) != loopback)
                fail_msg("%s with loopback %d", LOOPBACK[i], loopback);
        }
    }
}

/* Every IPv4 /16, wrapped or not, gets one verdict. */
static void C82_wrapping_changes_no_verdict(void **state) {
    static const char *const WRAPS[] = {"::ffff:%s", "::%s", "64:ff9b::%s"};

    (void)state;
    for (int block = 0; block < 65536; block++) {
        char plain[32], wrapped[64];

        snprintf(plain, sizeof plain, "%d.%d.9.9", block >> 8, block & 255);
        for (size_t i = 0; i < 3; i++) {
            snprintf(wrapped, sizeof wrapped, "%.*s%s", (int)strcspn(WRAPS[i], "%"), WRAPS[i],
                     plain);
            assert_int_equal(allowed(wrapped, false), allowed(plain, false));
        }
    }
}

static void C82_other_families_are_refused(void **state) {
    const struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/run/x"};

    (void)state;
    assert_false(fetch_address_allowed((const struct sockaddr *)&un, true));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C82_inner_addresses_are_refused),
        cmocka_unit_test(C82_wrapping_changes_no_verdict),
        cmocka_unit_test(C82_other_families_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
