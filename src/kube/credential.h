/* credential.h - keeps one login's secrets current: which to send, and when to look again.
 *
 * A token file is read again every minute, certificates, keys and CA every five (C05, C08, C09);
 * what cannot be read or makes no sense leaves the last good value in place. A 401 makes the next
 * step look at once, if what failed is still what we have; the failed call is not repeated by us.
 * For a login with exec it says when to run the program, one run at a time (C11).
 * Never:     touches the network or runs a program: the caller hands changes to its transport.
 * Units:     now_ms is monotonic, wall_ms wall time (for expiry alone).
 * Ownership: the login must outlive it. Texts are borrowed until the next call that takes one.
 */
#ifndef BULKHEAD_KUBE_CREDENTIAL_H
#define BULKHEAD_KUBE_CREDENTIAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define CREDENTIAL_TOKEN_PERIOD_MS 60000
#define CREDENTIAL_LEEWAY_MS 10000       /* so much before a period or a life ends we look again */
#define CREDENTIAL_FILE_PERIOD_MS 300000 /* certificates, keys and CA */
#define CREDENTIAL_RETRY_MS 10000        /* after a read or a run that failed */
#define CREDENTIAL_REJECT_GAP_MS 1000    /* a storm of 401 reads no file more often */

struct credential;
struct execplugin_result;
struct kubeconfig_login;

struct credential_step {
    bool token;          /* changed: fetch_endpoint_token() */
    bool certificate;    /* changed: fetch_endpoint_certificate(), which ends live connections */
    bool ca;             /* changed: a new endpoint for new connections; old ones may stay */
    bool run;            /* start the login's exec program, then credential_ran() */
    int64_t again_at_ms; /* INT64_MAX: never, but for a 401 */
    struct err problem;  /* code 0, or why a value could not be renewed; the old one stays */
};

/* Starts with what the login holds. Release with credential_free(). */
struct credential *credential_new(const struct kubeconfig_login *login, int64_t now_ms);

/* Wipes and releases it; NULL is fine. */
void credential_free(struct credential *credential);

/* Reads what is due. To be called at again_at_ms, after credential_rejected() and
 * credential_ran(). */
struct credential_step credential_step(struct credential *credential, int64_t now_ms,
                                       int64_t wall_ms);

/* Names what a call is sent with; changes with token or certificate. */
uint64_t credential_generation(const struct credential *credential);

/* A call sent with this generation was answered 401. */
void credential_rejected(struct credential *credential, uint64_t generation, int64_t now_ms);

/* The transport refused the last change (a key that does not fit its certificate yet): it is read
 * and told again after CREDENTIAL_RETRY_MS. */
void credential_refused(struct credential *credential, int64_t now_ms);

/* The program ended: its result is taken over and emptied; NULL if it failed. The next step tells
 * what changed. */
void credential_ran(struct credential *credential, struct execplugin_result *result,
                    int64_t now_ms);

/* False while a login with exec has no result yet: a call would go out without a name. */
bool credential_ready(const struct credential *credential);

/* The bearer token, or NULL. */
const char *credential_token(const struct credential *credential);

/* The client certificate, or NULL; and its key. */
const char *credential_certificate(const struct credential *credential, const char **ret_key_pem);

/* The CA bundle, or NULL for the system's store. */
const char *credential_ca(const struct credential *credential);

#endif
