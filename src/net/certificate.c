#include "net/certificate.h"

#include "base/auto.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#define BACKDATE_S 3600
#define SERIAL_BYTES 16
#define NAME_MAX_BYTES 64 /* ub-common-name, ub-organization-name */
#define DNS_MAX_BYTES 253

struct certificate {
    X509 *x509;
    EVP_PKEY *key;
    char *cert_pem;
    char *key_pem;
};

static int check_subject(const struct certificate_subject *subject, struct err *err);
static int check_name(const char *name, struct err *err);
static bool is_address(const char *name);
static struct certificate *make(const struct certificate *issuer,
                                const struct certificate_subject *subject, int64_t now_ms);
static int fill(X509 *x509, const struct certificate_subject *subject, int64_t now_ms);
static int extend(X509 *x509, X509 *issuer, const struct certificate_subject *subject, bool ca);
static int add_extension(X509 *x509, X509V3_CTX *context, int nid, const char *value);
static int add_names(X509 *x509, const char *const *names);
static int set_serial(X509 *x509);
static char *pem_of(const struct certificate *certificate, bool key);
static int openssl_failed(struct err *err);

int certificate_authority_new(const char *common_name, int64_t now_ms, int days,
                              struct certificate **ret_authority, struct err *err) {
    const struct certificate_subject subject = {.common_name = common_name, .days = days};
    const int r = check_subject(&subject, err);

    if (r < 0)
        return r;
    struct certificate *authority = make(NULL, &subject, now_ms);

    if (!authority)
        return openssl_failed(err);
    *ret_authority = authority;
    return 0;
}

int certificate_issue(const struct certificate *authority,
                      const struct certificate_subject *subject, int64_t now_ms,
                      struct certificate **ret_certificate, struct err *err) {
    const int r = check_subject(subject, err);

    if (r < 0)
        return r;
    struct certificate *certificate = make(authority, subject, now_ms);

    if (!certificate)
        return openssl_failed(err);
    *ret_certificate = certificate;
    return 0;
}

void certificate_free(struct certificate *certificate) {
    if (!certificate)
        return;
    if (certificate->key_pem)
        OPENSSL_cleanse(certificate->key_pem, strlen(certificate->key_pem));
    free(certificate->key_pem);
    free(certificate->cert_pem);
    X509_free(certificate->x509);
    EVP_PKEY_free(certificate->key);
    free(certificate);
}

const char *certificate_cert_pem(const struct certificate *certificate) {
    return certificate->cert_pem;
}

const char *certificate_key_pem(const struct certificate *certificate) {
    return certificate->key_pem;
}

int certificate_not_after(const char *cert_pem, int64_t *ret_not_after_ms, struct err *err) {
    BIO *bio = BIO_new_mem_buf(cert_pem, -1);
    X509 *x509 = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    struct tm tm = {0};
    const int ok = x509 && ASN1_TIME_to_tm(X509_get0_notAfter(x509), &tm);

    X509_free(x509);
    BIO_free(bio);
    ERR_clear_error();
    if (!ok)
        return err_set(err, ERR_INVALID, "no certificate in PEM");
    *ret_not_after_ms = (int64_t)timegm(&tm) * 1000;
    return 0;
}

static int check_subject(const struct certificate_subject *subject, struct err *err) {
    const char *organisation = subject->organisation;
    size_t count = 0;

    if (!subject->common_name || subject->common_name[0] == '\0' ||
        strlen(subject->common_name) > NAME_MAX_BYTES)
        return err_set(err, ERR_INVALID, "a common name has 1 to %d bytes", NAME_MAX_BYTES);
    if (organisation && (organisation[0] == '\0' || strlen(organisation) > NAME_MAX_BYTES))
        return err_set(err, ERR_INVALID, "an organisation has 1 to %d bytes", NAME_MAX_BYTES);
    if (subject->days < 1 || subject->days > CERTIFICATE_DAYS_MAX)
        return err_set(err, ERR_INVALID, "days must be 1 to %d", CERTIFICATE_DAYS_MAX);
    for (; subject->names && subject->names[count]; count++) {
        const int r = check_name(subject->names[count], err);

        if (r < 0)
            return r;
        if (count == CERTIFICATE_NAMES_MAX)
            return err_set(err, ERR_INVALID, "more than %d names", CERTIFICATE_NAMES_MAX);
    }
    return 0;
}

/* Either an address or letters, digits, dots and dashes, with one "*." in front at most. */
static int check_name(const char *name, struct err *err) {
    static const char ALLOWED[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789.-";
    const char *rest = strncmp(name, "*.", 2) == 0 ? name + 2 : name;

    if (is_address(name))
        return 0;
    if (rest[0] == '\0' || strlen(name) > DNS_MAX_BYTES || rest[strspn(rest, ALLOWED)] != '\0')
        return err_set(err, ERR_INVALID, "'%.60s' is neither a DNS name nor an address", name);
    return 0;
}

static bool is_address(const char *name) {
    unsigned char address[16];

    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

/* NULL as issuer: signed by itself, an authority. NULL is returned if OpenSSL fails. */
static struct certificate *make(const struct certificate *issuer,
                                const struct certificate_subject *subject, int64_t now_ms) {
    struct certificate *made = str_alloc(1, sizeof *made);

    made->key = EVP_EC_gen("P-256");
    made->x509 = X509_new();
    if (made->key && made->x509 && fill(made->x509, subject, now_ms) &&
        X509_set_pubkey(made->x509, made->key) &&
        X509_set_issuer_name(made->x509,
                             X509_get_subject_name(issuer ? issuer->x509 : made->x509)) &&
        extend(made->x509, issuer ? issuer->x509 : made->x509, subject, !issuer) &&
        X509_sign(made->x509, issuer ? issuer->key : made->key, EVP_sha256())) {
        made->cert_pem = pem_of(made, false);
        made->key_pem = pem_of(made, true);
    }
    if (made->cert_pem && made->key_pem)
        return made;
    certificate_free(made);
    return NULL;
}

static int fill(X509 *x509, const struct certificate_subject *subject, int64_t now_ms) {
    const time_t now_s = (time_t)(now_ms / 1000);
    X509_NAME *name = X509_get_subject_name(x509);

    return X509_set_version(x509, X509_VERSION_3) && set_serial(x509) &&
           ASN1_TIME_set(X509_getm_notBefore(x509), now_s - BACKDATE_S) &&
           ASN1_TIME_adj(X509_getm_notAfter(x509), now_s, subject->days, 0) &&
           (!subject->organisation ||
            X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8,
                                       (const unsigned char *)subject->organisation, -1, -1, 0)) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                      (const unsigned char *)subject->common_name, -1, -1, 0);
}

static int extend(X509 *x509, X509 *issuer, const struct certificate_subject *subject, bool ca) {
    X509V3_CTX context;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
    if (!add_extension(x509, &context, NID_subject_key_identifier, "hash"))
        return 0;
    if (ca)
        return add_extension(x509, &context, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
               add_extension(x509, &context, NID_key_usage, "critical,keyCertSign,cRLSign");
    return add_extension(x509, &context, NID_authority_key_identifier, "keyid:always") &&
           add_extension(x509, &context, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(x509, &context, NID_key_usage, "critical,digitalSignature") &&
           add_extension(x509, &context, NID_ext_key_usage,
                         subject->client ? "clientAuth" : "serverAuth") &&
           add_names(x509, subject->names);
}

static int add_extension(X509 *x509, X509V3_CTX *context, int nid, const char *value) {
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, context, nid, value);
    const int ok = extension && X509_add_ext(x509, extension, -1);

    X509_EXTENSION_free(extension);
    return ok;
}

/* Built name by name: no text that OpenSSL would parse again. */
static int add_names(X509 *x509, const char *const *names) {
    GENERAL_NAMES *list = names && names[0] ? GENERAL_NAMES_new() : NULL;
    int ok = 1;

    for (size_t i = 0; list && ok && names[i]; i++) {
        GENERAL_NAME *name = GENERAL_NAME_new();
        const bool address = is_address(names[i]);
        ASN1_OCTET_STRING *value = address ? a2i_IPADDRESS(names[i]) : ASN1_IA5STRING_new();

        ok = name && value && (address || ASN1_STRING_set(value, names[i], -1)) &&
             sk_GENERAL_NAME_push(list, name) > 0;
        if (ok) {
            GENERAL_NAME_set0_value(name, address ? GEN_IPADD : GEN_DNS, value);
        } else {
            ASN1_STRING_free(value);
            GENERAL_NAME_free(name);
        }
    }
    ok = ok && (!list || X509_add1_ext_i2d(x509, NID_subject_alt_name, list, 0, 0) == 1);
    GENERAL_NAMES_free(list);
    return ok;
}

static int set_serial(X509 *x509) {
    unsigned char bytes[SERIAL_BYTES];

    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return 0;
    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive, and always as long */
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    const int ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509));

    BN_free(number);
    return ok;
}

static char *pem_of(const struct certificate *certificate, bool key) {
    BIO *bio = BIO_new(key ? BIO_s_secmem() : BIO_s_mem());
    char *text = NULL;
    char *bytes;

    if (bio &&
        (key ? PEM_write_bio_PKCS8PrivateKey(bio, certificate->key, NULL, NULL, 0, NULL, NULL)
             : PEM_write_bio_X509(bio, certificate->x509))) {
        const long size_bytes = BIO_get_mem_data(bio, &bytes);

        if (size_bytes > 0)
            text = str_dup_len(bytes, (size_t)size_bytes);
    }
    BIO_free(bio);
    return text;
}

static int openssl_failed(struct err *err) {
    char text[160];

    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    ERR_clear_error();
    return err_set(err, ERR_RETRY, "no certificate was made: %s", text);
}
