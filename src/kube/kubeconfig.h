/* kubeconfig.h - kubectl's configuration: which server, and who we are there.
 *
 * Files are merged as kubectl merges them: the first to name a cluster, a user or a context, or the
 * current context, wins, and nothing of a later one is mixed in (C01). Every field of the format is
 * honoured or refused by name; unknown ones and extensions are passed over.
 * Never:     prints or logs a token, key, password or proxy address; asks the network; runs a
 *            program.
 * Ownership: a login owns its texts; kubeconfig_login_done() wipes and frees them. What
 *            kubeconfig_endpoint() fills is borrowed from the login.
 * Errors:    name the file, the entry, the field and the remedy. ERR_NOTFOUND: an explicit path is
 *            not there; ERR_RETRY: a file could not be read; ERR_INVALID: the rest.
 * Limits:    KUBECONFIG_FILE_MAX_BYTES, KUBECONFIG_FILES_MAX, KUBECONFIG_ENTRIES_MAX of each kind.
 */
#ifndef BULKHEAD_KUBE_KUBECONFIG_H
#define BULKHEAD_KUBE_KUBECONFIG_H

#include "base/err.h"
#include "base/str.h"
#include "kube/execplugin.h"

#include <stdbool.h>
#include <stddef.h>

#define KUBECONFIG_FILE_MAX_BYTES ((size_t)1 << 20)
#define KUBECONFIG_FILES_MAX 64
#define KUBECONFIG_ENTRIES_MAX 1000
#define KUBECONFIG_GROUPS_MAX 100 /* of an impersonation */

struct fetch_endpoint;
struct kubeconfig;

/* All-zero is for a kubeconfig out of a Secret: nothing of this machine is read or run for it. */
struct kubeconfig_options {
    bool allow_files;                /* it may name files, which are read */
    bool allow_insecure;             /* insecure-skip-tls-verify is honoured (C15) */
    struct execplugin_policy policy; /* of exec (C12) */
};

/* Every text may be NULL but url. */
struct kubeconfig_login {
    char *url; /* https://..., or http://... and then nothing secret */
    char *server_name;
    char *proxy_url;
    bool insecure;  /* the caller says so in a condition, InsecureTransport */
    char *ca_pem;   /* NULL: the system's store */
    char *ca_file;  /* where ca_pem came from; NULL: no file */
    char *cert_pem; /* both or neither, and likewise the files */
    char *cert_file;
    char *key_pem;
    char *key_file;
    char *token;      /* of the token file too, as it was when read */
    char *token_file; /* wins over token once it was read again (C04) */
    char *basic;      /* "user:password" */
    char *impersonate_user;
    char **impersonate_groups;    /* NULL-terminated */
    char *ns;                     /* the context's namespace */
    struct execplugin_spec *exec; /* set only if no other credential is, and the policy allows it */
};

/* What kubeconfig_write() writes; either token or cert_pem and key_pem, or none. */
struct kubeconfig_output {
    const char *name; /* of cluster, user and context */
    const char *server;
    const char *ca_pem; /* NULL: the system's store */
    const char *token;
    const char *cert_pem;
    const char *key_pem;
    const char *ns; /* NULL: none named */
};

/* Loads path (--kubeconfig), which must exist; else the files of list ($KUBECONFIG), split at ':',
 * of which any may be missing; else home/.kube/config. Each may be NULL or "". Having no file at
 * all is not an error here. Release with kubeconfig_free(). */
int kubeconfig_load(const char *path, const char *list, const char *home,
                    struct kubeconfig **ret_config, struct err *err);

/* One file's text. source stands in messages: "Secret bulkhead-system/gz-1". folder is what
 * relative paths start from; NULL refuses them. Release with kubeconfig_free(). */
int kubeconfig_parse(const char *text, size_t size_bytes, const char *source, const char *folder,
                     struct kubeconfig **ret_config, struct err *err);

/* Releases it; NULL is fine. */
void kubeconfig_free(struct kubeconfig *config);

/* The current context's name, or NULL. */
const char *kubeconfig_current(const struct kubeconfig *config);

/* The name of a context in the order of the files, or NULL from the count on. */
const char *kubeconfig_context(const struct kubeconfig *config, size_t index);

/* The login of a context; NULL or "" is the current one. Reads the files it names if options allow
 * that. The caller releases *ret_login with kubeconfig_login_done(); untouched on failure. */
int kubeconfig_select(const struct kubeconfig *config, const char *context,
                      const struct kubeconfig_options *options, struct kubeconfig_login *ret_login,
                      struct err *err);

/* Wipes and releases what it holds; all-zero and NULL are fine. */
void kubeconfig_login_done(struct kubeconfig_login *login);

/* What fetch_endpoint_new() asks for, borrowed from login. Loopback is off, the user agent and the
 * timeout are left to the caller. */
void kubeconfig_endpoint(const struct kubeconfig_login *login, struct fetch_endpoint *ret_endpoint);

/* Appends a kubeconfig that kubectl reads, with one context, which is the current one. ERR_INVALID
 * for text that is not UTF-8, a missing name or server, or a passed limit; out is then as before.
 */
int kubeconfig_write(struct str *out, const struct kubeconfig_output *output, struct err *err);

#endif
