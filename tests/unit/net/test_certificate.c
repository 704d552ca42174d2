#include "net/certificate.h"

#include "unit.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define NOW_MS INT64_C(1767225600000) /* 2026-01-01 */
#define DAY_MS INT64_C(86400000)

static X509 *parse(const struct certificate *certificate) {
    BIO *bio = BIO_new_mem_buf(certificate_cert_pem(certificate), -1);
    X509 *x509 = PEM_read_bio_X509(bio, NULL, NULL, NULL);

    assert_non_null(x509);
    BIO_free(bio);
    return x509;
}

/* OpenSSL's own verdict on a certificate under one trusted authority. */
static int verdict(const struct certificate *authority, const struct certificate *certificate,
                   int64_t now_ms, int purpose, const char *host, const char *address) {
    X509 *trusted = parse(authority);
    X509 *x509 = parse(certificate);
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    int result;

    assert_int_equal(X509_STORE_add_cert(store, trusted), 1);
    assert_int_equal(X509_STORE_CTX_init(context, store, x509, NULL), 1);
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(context);

    X509_VERIFY_PARAM_set_time(param, now_ms / 1000);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
    X509_VERIFY_PARAM_set_purpose(param, purpose);
    if (host)
        X509_VERIFY_PARAM_set1_host(param, host, 0);
    if (address)
        X509_VERIFY_PARAM_set1_ip_asc(param, address);
    result = X509_verify_cert(context) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    X509_free(x509);
    X509_free(trusted);
    return result;
}

static void a_server_is_trusted_under_its_names_and_addresses(void **state) {
    static const char *const names[] = {"hub.example", "*.pods.example", "127.0.0.1", "::1", NULL};
    static const struct {
        const char *host;
        const char *address;
        int want;
    } rows[] = {
        {"hub.example", NULL, X509_V_OK},
        {"a.pods.example", NULL, X509_V_OK},
        {NULL, "127.0.0.1", X509_V_OK},
        {NULL, "::1", X509_V_OK},
        {"other.example", NULL, X509_V_ERR_HOSTNAME_MISMATCH},
        {"127.0.0.1.example", NULL, X509_V_ERR_HOSTNAME_MISMATCH},
        {NULL, "127.0.0.2", X509_V_ERR_IP_ADDRESS_MISMATCH},
    };
    const struct certificate_subject subject = {.common_name = "hub", .names = names, .days = 10};
    struct certificate *ca = NULL, *other = NULL, *server = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(certificate_authority_new("test CA", NOW_MS, 30, &ca, &err), 0);
    assert_int_equal(certificate_authority_new("test CA", NOW_MS, 30, &other, &err), 0);
    assert_int_equal(certificate_issue(ca, &subject, NOW_MS, &server, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(
            verdict(ca, server, NOW_MS, X509_PURPOSE_SSL_SERVER, rows[i].host, rows[i].address),
            rows[i].want);
    assert_int_not_equal(verdict(other, server, NOW_MS, X509_PURPOSE_SSL_SERVER, NULL, NULL),
                         X509_V_OK);
    assert_int_equal(verdict(ca, server, NOW_MS, X509_PURPOSE_SSL_CLIENT, NULL, NULL),
                     X509_V_ERR_INVALID_PURPOSE);
    certificate_free(server);
    certificate_free(other);
    certificate_free(ca);
    certificate_free(NULL);
}

static void a_client_carries_its_user_and_group(void **state) {
    const struct certificate_subject subject = {
        .common_name = "bulkhead", .organisation = "system:masters", .client = true, .days = 1};
    struct certificate *ca = NULL, *client = NULL;
    char text[100];

    (void)state;
    assert_int_equal(certificate_authority_new("ca", NOW_MS, 2, &ca, NULL), 0);
    assert_int_equal(certificate_issue(ca, &subject, NOW_MS, &client, NULL), 0);
    assert_int_equal(verdict(ca, client, NOW_MS, X509_PURPOSE_SSL_CLIENT, NULL, NULL), X509_V_OK);
    assert_int_equal(verdict(ca, client, NOW_MS, X509_PURPOSE_SSL_SERVER, NULL, NULL),
                     X509_V_ERR_INVALID_PURPOSE);
    X509 *x509 = parse(client);

    X509_NAME_get_text_by_NID(X509_get_subject_name(x509), NID_commonName, text, sizeof text);
    assert_string_equal(text, "bulkhead");
    X509_NAME_get_text_by_NID(X509_get_subject_name(x509), NID_organizationName, text, sizeof text);
    assert_string_equal(text, "system:masters");
    X509_free(x509);
    certificate_free(client);
    certificate_free(ca);
}

static void an_issued_certificate_may_not_issue(void **state) {
    const struct certificate_subject subject = {.common_name = "x", .days = 1};
    struct certificate *ca = NULL, *middle = NULL, *leaf = NULL;

    (void)state;
    assert_int_equal(certificate_authority_new("ca", NOW_MS, 2, &ca, NULL), 0);
    assert_int_equal(certificate_issue(ca, &subject, NOW_MS, &middle, NULL), 0);
    assert_int_equal(certificate_issue(middle, &subject, NOW_MS, &leaf, NULL), 0);
    assert_int_not_equal(verdict(middle, leaf, NOW_MS, X509_PURPOSE_ANY, NULL, NULL), X509_V_OK);
    certificate_free(leaf);
    certificate_free(middle);
    certificate_free(ca);
}

static void validity_starts_an_hour_early_and_is_read_back(void **state) {
    static const int days[] = {1, 90, 9000, CERTIFICATE_DAYS_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        const struct certificate_subject subject = {.common_name = "x", .days = days[i]};
        struct certificate *ca = NULL, *leaf = NULL;
        int64_t not_after_ms = 0;
        const int64_t end_ms = NOW_MS + days[i] * DAY_MS;

        assert_int_equal(
            certificate_authority_new("ca", NOW_MS - DAY_MS, CERTIFICATE_DAYS_MAX, &ca, NULL), 0);
        assert_int_equal(certificate_issue(ca, &subject, NOW_MS, &leaf, NULL), 0);
        assert_int_equal(certificate_not_after(certificate_cert_pem(leaf), &not_after_ms, NULL), 0);
        assert_int_equal(not_after_ms, end_ms);
        assert_int_equal(verdict(ca, leaf, NOW_MS - 3600000, X509_PURPOSE_ANY, NULL, NULL),
                         X509_V_OK);
        assert_int_equal(verdict(ca, leaf, NOW_MS - 3601000, X509_PURPOSE_ANY, NULL, NULL),
                         X509_V_ERR_CERT_NOT_YET_VALID);
        if (i < 3)
            assert_int_equal(verdict(ca, leaf, end_ms + 1000, X509_PURPOSE_ANY, NULL, NULL),
                             X509_V_ERR_CERT_HAS_EXPIRED);
        certificate_free(leaf);
        certificate_free(ca);
    }
}

static void what_is_no_certificate_has_no_end(void **state) {
    static const char *const texts[] = {
        "", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"};
    int64_t not_after_ms = 7;
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(certificate_not_after(texts[i], &not_after_ms, &err), ERR_INVALID);
    assert_int_equal(not_after_ms, 7);
}

static void keys_and_serials_are_never_the_same(void **state) {
    struct certificate *made[8];

    (void)state;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(certificate_authority_new("ca", NOW_MS, 1, &made[i], NULL), 0);
        X509 *x509 = parse(made[i]);

        assert_int_equal(ASN1_STRING_length(X509_get0_serialNumber(x509)), 16);
        for (int j = 0; j < i; j++) {
            X509 *other = parse(made[j]);

            assert_int_not_equal(
                ASN1_INTEGER_cmp(X509_get0_serialNumber(x509), X509_get0_serialNumber(other)), 0);
            assert_string_not_equal(certificate_key_pem(made[i]), certificate_key_pem(made[j]));
            X509_free(other);
        }
        BIO *bio = BIO_new_mem_buf(certificate_key_pem(made[i]), -1);
        EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

        assert_int_equal(X509_check_private_key(x509, key), 1);
        EVP_PKEY_free(key);
        BIO_free(bio);
        X509_free(x509);
    }
    for (int i = 0; i < 8; i++)
        certificate_free(made[i]);
}

static void bad_subjects_are_refused(void **state) {
    static const char LONG[] = "0123456789012345678901234567890123456789012345678901234567890123+";
    static const char *const space[] = {"a b", NULL};
    static const char *const comma[] = {"a,DNS:b", NULL};
    static const char *const empty[] = {"ok", "", NULL};
    static const char *const star[] = {"a.*.b", NULL};
    const char *many[CERTIFICATE_NAMES_MAX + 2] = {NULL};
    struct certificate *ca = NULL, *made = NULL;
    struct err err = {0};

    (void)state;
    for (int i = 0; i <= CERTIFICATE_NAMES_MAX; i++)
        many[i] = "a.example";
    const struct certificate_subject rows[] = {
        {.common_name = NULL, .days = 1},
        {.common_name = "", .days = 1},
        {.common_name = LONG, .days = 1},
        {.common_name = "a", .organisation = "", .days = 1},
        {.common_name = "a", .organisation = LONG, .days = 1},
        {.common_name = "a", .days = 0},
        {.common_name = "a", .days = CERTIFICATE_DAYS_MAX + 1},
        {.common_name = "a", .days = 1, .names = space},
        {.common_name = "a", .days = 1, .names = comma},
        {.common_name = "a", .days = 1, .names = empty},
        {.common_name = "a", .days = 1, .names = star},
        {.common_name = "a", .days = 1, .names = many},
    };

    assert_int_equal(certificate_authority_new("ca", NOW_MS, 1, &ca, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        err.msg[0] = '\0';
        assert_int_equal(certificate_issue(ca, &rows[i], NOW_MS, &made, &err), ERR_INVALID);
        assert_int_not_equal(err.msg[0], '\0');
        assert_null(made);
    }
    many[CERTIFICATE_NAMES_MAX] = NULL;
    assert_int_equal(certificate_issue(ca, &rows[11], NOW_MS, &made, &err), 0);
    certificate_free(made);
    certificate_free(ca);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_trusted_under_its_names_and_addresses),
        cmocka_unit_test(a_client_carries_its_user_and_group),
        cmocka_unit_test(an_issued_certificate_may_not_issue),
        cmocka_unit_test(validity_starts_an_hour_early_and_is_read_back),
        cmocka_unit_test(what_is_no_certificate_has_no_end),
        cmocka_unit_test(keys_and_serials_are_never_the_same),
        cmocka_unit_test(bad_subjects_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
