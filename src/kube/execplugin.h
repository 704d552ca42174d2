/* execplugin.h - runs the credential program that a kubeconfig's user names, and reads its answer.
 *
 * For programs that a person starts: a kubeconfig out of a Secret must not choose what we run, so
 * the policy is DenyAll unless the caller says otherwise (C12).
 * Never:     a shell; waiting; more than EXECPLUGIN_OUTPUT_MAX_BYTES of output; a child left
 * behind. Units:     milliseconds; now_ms is monotonic, expires_wall_ms is wall time. Ownership: a
 * spec outlives its runs. Results are released with execplugin_result_done(), which wipes them.
 * Errors:    name the user entry and the program, never its output. ERR_INVALID: only a person can
 *            mend it; ERR_RETRY: the program failed or took too long.
 */
#ifndef BULKHEAD_KUBE_EXECPLUGIN_H
#define BULKHEAD_KUBE_EXECPLUGIN_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define EXECPLUGIN_OUTPUT_MAX_BYTES ((size_t)1 << 20)
#define EXECPLUGIN_ARGS_MAX 1000 /* arguments, and likewise variables */
#define EXECPLUGIN_TIMEOUT_MS 60000

enum execplugin_rule {
    EXECPLUGIN_DENY_ALL, /* the default */
    EXECPLUGIN_ALLOW_LISTED,
    EXECPLUGIN_ALLOW_ALL,
};

/* All-zero denies everything. */
struct execplugin_policy {
    enum execplugin_rule rule;
    const char *const *listed; /* commands, NULL-terminated, as the kubeconfig resolves them */
};

enum execplugin_mode { EXECPLUGIN_NEVER, EXECPLUGIN_IF_AVAILABLE, EXECPLUGIN_ALWAYS };

struct execplugin_spec {
    char *user; /* the user entry, for messages */
    char *api_version;
    char *command; /* with a slash: a path; without: looked up in PATH */
    char **args;   /* NULL-terminated */
    char **env;    /* "NAME=value", NULL-terminated */
    char *hint;    /* how to install it; NULL: none */
    enum execplugin_mode mode;
    bool wants_cluster; /* provideClusterInfo: kubeconfig_select() fills the next */
    json_t *cluster;    /* what the program is told of it; NULL: nothing */
};

struct execplugin_result {
    char *token; /* NULL: none; then both of the next */
    char *cert_pem;
    char *key_pem;
    int64_t expires_wall_ms; /* 0: until it is refused */
};

struct execplugin_options {
    struct execplugin_policy policy;
    bool terminal;    /* our standard input is a person's: the program may ask */
    int timeout_ms;   /* 0: EXECPLUGIN_TIMEOUT_MS */
    const char *path; /* PATH to look in; NULL: the environment's */
};

struct execplugin;

/* Reads the exec object of user entry `user`. A relative command with a slash is taken from folder;
 * NULL folder refuses it. Release with execplugin_spec_free(). */
int execplugin_spec_read(const json_t *exec, const char *user, const char *folder,
                         struct execplugin_spec **ret_spec, struct err *err);

/* Releases a spec; NULL is fine. */
void execplugin_spec_free(struct execplugin_spec *spec);

/* 0 if the policy lets it run, else ERR_INVALID "ExecNotAllowed: ..." with a remedy. NULL policy
 * denies. */
int execplugin_allowed(const struct execplugin_spec *spec, const struct execplugin_policy *policy,
                       struct err *err);

/* Starts the program and returns at once. Release with execplugin_free(). */
int execplugin_start(const struct execplugin_spec *spec, const struct execplugin_options *options,
                     int64_t now_ms, struct execplugin **ret_run, struct err *err);

/* Takes what there is, without waiting. Returns 0 while it runs, 1 with a result once it ended
 * well, or a failure; past the timeout it is killed. Not to be called again after 1 or a failure.
 */
int execplugin_poll(struct execplugin *run, int64_t now_ms, struct execplugin_result *ret_result,
                    struct err *err);

/* Readable when there is output or its end; for poll(2) beside a timer. -1 after the end of
 * output. */
int execplugin_fd(const struct execplugin *run);

/* Kills it if it still runs, reaps it, and releases the run; NULL is fine. */
void execplugin_free(struct execplugin *run);

/* Reads an ExecCredential that must be of api_version; wall time is not asked. */
int execplugin_result_read(const char *text, size_t size_bytes, const char *api_version,
                           struct execplugin_result *ret_result, struct err *err);

/* Wipes and releases the texts; all-zero and NULL are fine. */
void execplugin_result_done(struct execplugin_result *result);

#endif
