/* certificate.h - X.509 certificates made in memory: an authority and what it signs.
 *
 * For the playground's servers and clients and for tests; nothing is written to disk. Keys are
 * EC P-256, serials random. What is issued is valid from an hour before now, so that a clock that
 * is a little behind accepts it.
 * Units:     wall milliseconds, handed in; whole days.
 * Ownership: texts belong to the certificate; its key is wiped when it is freed.
 * Errors:    ERR_INVALID for what cannot stand in a certificate, naming it; ERR_RETRY if OpenSSL
 *            fails.
 */
#ifndef BULKHEAD_NET_CERTIFICATE_H
#define BULKHEAD_NET_CERTIFICATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define CERTIFICATE_NAMES_MAX 64
#define CERTIFICATE_DAYS_MAX 36500

struct certificate;

struct certificate_subject {
    const char *common_name;  /* of a client: the user name; 1 to 64 bytes */
    const char *organisation; /* of a client: its group; NULL: none */
    const char *const *names; /* of a server: DNS names and IP addresses, NULL-terminated; or NULL
                               */
    bool client;              /* for clients; otherwise for servers */
    int days;
};

/* A self-signed authority that may sign end certificates only. Release with certificate_free(). */
int certificate_authority_new(const char *common_name, int64_t now_ms, int days,
                              struct certificate **ret_authority, struct err *err);

/* A certificate signed by authority, which need not outlive it. Release with certificate_free(). */
int certificate_issue(const struct certificate *authority,
                      const struct certificate_subject *subject, int64_t now_ms,
                      struct certificate **ret_certificate, struct err *err);

/* Wipes the key and releases the certificate; NULL is fine. */
void certificate_free(struct certificate *certificate);

/* The certificate as PEM. */
const char *certificate_cert_pem(const struct certificate *certificate);

/* Its private key as PEM (PKCS #8, not encrypted). */
const char *certificate_key_pem(const struct certificate *certificate);

/* Until when the first certificate in a PEM text is valid. ERR_INVALID if there is none. */
int certificate_not_after(const char *cert_pem, int64_t *ret_not_after_ms, struct err *err);

#endif
