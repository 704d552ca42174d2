#include "kube/credential.h"

#include "base/auto.h"
#include "base/str.h"
#include "kube/execplugin.h"
#include "kube/keyfile.h"
#include "kube/kubeconfig.h"

#include <string.h>

#define NEVER INT64_MAX

struct reread {
    int64_t due_ms; /* NEVER without a file */
    int64_t read_ms;
};

struct credential {
    const struct kubeconfig_login *login;
    uint64_t generation;
    char *token;
    char *cert_pem;
    char *key_pem;
    char *ca_pem;
    struct reread token_timer;
    struct reread pair_timer;
    struct reread ca_timer;
    bool pair_refused; /* tell it again although it has not changed */
    /* of exec */
    bool run_wanted;
    bool running;
    bool had_result;
    bool token_news; /* to be told by the next step */
    bool pair_news;
    unsigned failures;
    int64_t run_not_before_ms;
    int64_t expires_wall_ms;
};

static void renew_token(struct credential *c, int64_t now_ms, struct credential_step *step);
static void renew_pair(struct credential *c, int64_t now_ms, struct credential_step *step);
static void renew_ca(struct credential *c, int64_t now_ms, struct credential_step *step);
static void judge_run(struct credential *c, int64_t now_ms, int64_t wall_ms,
                      struct credential_step *step);
static int read_pair(const struct kubeconfig_login *login, char **ret_cert_pem, char **ret_key_pem,
                     struct err *err);
static bool replace(char **value, char **fresh);
static void hurry(struct reread *timer, int64_t now_ms);
static int64_t sooner(int64_t a, int64_t b);

struct credential *credential_new(const struct kubeconfig_login *login, int64_t now_ms) {
    struct credential *c = str_alloc(1, sizeof *c);

    c->login = login;
    c->generation = 1;
    c->token = str_dup(login->token);
    c->cert_pem = str_dup(login->cert_pem);
    c->key_pem = str_dup(login->key_pem);
    c->ca_pem = str_dup(login->ca_pem);
    c->token_timer.due_ms = login->token_file ? now_ms : NEVER;
    c->pair_timer.due_ms = login->cert_file || login->key_file ? now_ms : NEVER;
    c->ca_timer.due_ms = login->ca_file ? now_ms : NEVER;
    c->run_wanted = login->exec != NULL;
    c->run_not_before_ms = now_ms;
    return c;
}

void credential_free(struct credential *c) {
    if (!c)
        return;
    keyfile_wipe(c->token);
    keyfile_wipe(c->cert_pem);
    keyfile_wipe(c->key_pem);
    keyfile_wipe(c->ca_pem);
    free(c);
}

struct credential_step credential_step(struct credential *c, int64_t now_ms, int64_t wall_ms) {
    struct credential_step step = {.token = c->token_news, .certificate = c->pair_news};

    c->token_news = c->pair_news = false;
    if (now_ms >= c->token_timer.due_ms)
        renew_token(c, now_ms, &step);
    if (now_ms >= c->pair_timer.due_ms)
        renew_pair(c, now_ms, &step);
    if (now_ms >= c->ca_timer.due_ms)
        renew_ca(c, now_ms, &step);
    step.again_at_ms =
        sooner(c->token_timer.due_ms, sooner(c->pair_timer.due_ms, c->ca_timer.due_ms));
    if (c->login->exec)
        judge_run(c, now_ms, wall_ms, &step);
    return step;
}

uint64_t credential_generation(const struct credential *c) {
    return c->generation;
}

void credential_rejected(struct credential *c, uint64_t generation, int64_t now_ms) {
    if (generation != c->generation)
        return;
    hurry(&c->token_timer, now_ms);
    hurry(&c->pair_timer, now_ms);
    if (c->login->exec && !c->running)
        c->run_wanted = true;
}

void credential_refused(struct credential *c, int64_t now_ms) {
    if (c->pair_timer.due_ms == NEVER)
        return;
    c->pair_refused = true;
    c->pair_timer.due_ms = now_ms + CREDENTIAL_RETRY_MS;
}

void credential_ran(struct credential *c, struct execplugin_result *result, int64_t now_ms) {
    c->running = false;
    if (!result) {
        const int64_t wait_ms = (int64_t)CREDENTIAL_RETRY_MS << (c->failures < 5 ? c->failures : 5);

        c->failures++;
        c->run_wanted = true;
        c->run_not_before_ms = now_ms + wait_ms;
        return;
    }
    c->failures = 0;
    c->had_result = true;
    c->run_not_before_ms = now_ms + CREDENTIAL_RETRY_MS;
    c->expires_wall_ms = result->expires_wall_ms;
    /* Both are replaced, also by nothing: a kind that is gone must not be sent any more. */
    const bool token = replace(&c->token, &result->token);
    const bool cert = replace(&c->cert_pem, &result->cert_pem);
    const bool key = replace(&c->key_pem, &result->key_pem);

    c->token_news |= token;
    c->pair_news |= cert || key;
    c->generation += token || cert || key;
    execplugin_result_done(result);
}

bool credential_ready(const struct credential *c) {
    return !c->login->exec || c->had_result;
}

const char *credential_token(const struct credential *c) {
    return c->token;
}

const char *credential_certificate(const struct credential *c, const char **ret_key_pem) {
    *ret_key_pem = c->key_pem;
    return c->cert_pem;
}

const char *credential_ca(const struct credential *c) {
    return c->ca_pem;
}

static void renew_token(struct credential *c, int64_t now_ms, struct credential_step *step) {
    char *fresh = NULL;

    c->token_timer.read_ms = now_ms;
    if (keyfile_load(c->login->token_file, KEYFILE_TOKEN, &fresh, &step->problem) < 0) {
        c->token_timer.due_ms = now_ms + CREDENTIAL_RETRY_MS;
        return;
    }
    c->token_timer.due_ms = now_ms + CREDENTIAL_TOKEN_PERIOD_MS - CREDENTIAL_LEEWAY_MS;
    if (replace(&c->token, &fresh)) {
        c->generation++;
        step->token = true;
    }
}

static void renew_pair(struct credential *c, int64_t now_ms, struct credential_step *step) {
    char *cert = NULL;
    char *key = NULL;

    c->pair_timer.read_ms = now_ms;
    if (read_pair(c->login, &cert, &key, &step->problem) < 0) {
        c->pair_timer.due_ms = now_ms + CREDENTIAL_RETRY_MS;
        return;
    }
    c->pair_timer.due_ms = now_ms + CREDENTIAL_FILE_PERIOD_MS;
    const bool new_cert = replace(&c->cert_pem, &cert);
    const bool new_key = replace(&c->key_pem, &key);

    if (new_cert || new_key)
        c->generation++;
    step->certificate |= new_cert || new_key || c->pair_refused;
    c->pair_refused = false;
}

/* A pod without ca.crt trusts the system's store: that the file is absent is then no problem. */
static void renew_ca(struct credential *c, int64_t now_ms, struct credential_step *step) {
    struct err err = {0};
    char *fresh = NULL;
    const int r = keyfile_load(c->login->ca_file, KEYFILE_CERTIFICATES, &fresh, &err);
    const bool absent = r == ERR_NOTFOUND && !c->ca_pem;

    c->ca_timer.due_ms =
        now_ms + (r < 0 && !absent ? CREDENTIAL_RETRY_MS : CREDENTIAL_FILE_PERIOD_MS);
    if (r >= 0)
        step->ca = replace(&c->ca_pem, &fresh);
    else if (!absent)
        step->problem = err;
}

/* Wall time may be set while we wait: it is looked at once a minute at least. */
static void judge_run(struct credential *c, int64_t now_ms, int64_t wall_ms,
                      struct credential_step *step) {
    if (c->running)
        return;
    const int64_t left_ms = c->expires_wall_ms - CREDENTIAL_LEEWAY_MS - wall_ms;

    if (c->expires_wall_ms > 0 && left_ms <= 0)
        c->run_wanted = true;
    if (c->run_wanted && now_ms >= c->run_not_before_ms) {
        c->run_wanted = false;
        c->running = true;
        step->run = true;
    } else if (c->run_wanted) {
        step->again_at_ms = sooner(step->again_at_ms, c->run_not_before_ms);
    } else if (c->expires_wall_ms > 0) {
        step->again_at_ms =
            sooner(step->again_at_ms, now_ms + sooner(left_ms, CREDENTIAL_TOKEN_PERIOD_MS));
    }
}

/* The certificate is read on both sides of the key: a swap in between is seen. */
static int read_pair(const struct kubeconfig_login *login, char **ret_cert_pem, char **ret_key_pem,
                     struct err *err) {
    char *cert = str_dup(login->cert_file ? NULL : login->cert_pem);
    char *key = str_dup(login->key_file ? NULL : login->key_pem);
    char *again = NULL;
    int r = 0;

    if (login->cert_file)
        r = keyfile_load(login->cert_file, KEYFILE_CERTIFICATES, &cert, err);
    if (r >= 0 && login->key_file)
        r = keyfile_load(login->key_file, KEYFILE_KEY, &key, err);
    if (r >= 0 && login->cert_file)
        r = keyfile_load(login->cert_file, KEYFILE_CERTIFICATES, &again, err);
    if (r >= 0 && again && strcmp(again, cert) != 0)
        r = err_set(err, ERR_RETRY, "%s: changed while it was read", login->cert_file);
    keyfile_wipe(again);
    if (r < 0) {
        keyfile_wipe(cert);
        keyfile_wipe(key);
        return r;
    }
    *ret_cert_pem = cert;
    *ret_key_pem = key;
    return 0;
}

/* Moves *fresh into *value; whether that changed anything. */
static bool replace(char **value, char **fresh) {
    const bool same = *value && *fresh ? strcmp(*value, *fresh) == 0 : *value == *fresh;

    keyfile_wipe(*value);
    *value = take(*fresh);
    return !same;
}

static void hurry(struct reread *timer, int64_t now_ms) {
    const int64_t soonest_ms = timer->read_ms + CREDENTIAL_REJECT_GAP_MS;

    if (timer->due_ms != NEVER)
        timer->due_ms = sooner(timer->due_ms, now_ms > soonest_ms ? now_ms : soonest_ms);
}

static int64_t sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}
