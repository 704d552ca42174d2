/* fuzz_kube_kubeconfig - a kubeconfig as a Secret would hold it. Whatever is in it: no file is
 * opened, no program is named, nothing secret goes to http, an error is one that only its author
 * can mend, and what was understood is the same once written and read again. */
#include "kube/kubeconfig.h"
#include "net/fetch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The parts that kubeconfig_write() knows come back as they were. */
static void write_and_read(const struct kubeconfig_login *login) {
    const struct kubeconfig_options options = {.allow_insecure = true};
    const struct kubeconfig_output output = {
        .name = "x",
        .server = login->url,
        .ca_pem = login->ca_pem,
        .token = login->cert_pem ? NULL : login->token,
        .cert_pem = login->cert_pem,
        .key_pem = login->key_pem,
        .ns = login->ns,
    };
    struct kubeconfig_login again;
    struct kubeconfig *config;
    struct str text;

    str_init(&text, 4 * KUBECONFIG_FILE_MAX_BYTES);
    if (kubeconfig_write(&text, &output, NULL) < 0 ||
        (text.size_bytes <= KUBECONFIG_FILE_MAX_BYTES &&
         kubeconfig_parse(text.data, text.size_bytes, "again", NULL, &config, NULL) < 0))
        abort();
    if (text.size_bytes <= KUBECONFIG_FILE_MAX_BYTES) {
        if (kubeconfig_select(config, NULL, &options, &again, NULL) < 0 ||
            !same_text(again.url, output.server) || !same_text(again.ca_pem, output.ca_pem) ||
            !same_text(again.token, output.token) || !same_text(again.cert_pem, output.cert_pem) ||
            !same_text(again.key_pem, output.key_pem) || !same_text(again.ns, output.ns))
            abort();
        kubeconfig_login_done(&again);
        kubeconfig_free(config);
    }
    str_done(&text);
}

static void check(const struct kubeconfig_login *login) {
    struct fetch_endpoint endpoint;

    kubeconfig_endpoint(login, &endpoint);
    if (strncmp(endpoint.url, "https://", 8) != 0 &&
        (strncmp(endpoint.url, "http://", 7) != 0 || endpoint.token || endpoint.basic ||
         endpoint.cert_pem))
        abort();
    if (login->ca_file || login->cert_file || login->key_file || login->token_file || login->exec)
        abort();
    if (!login->cert_pem != !login->key_pem || (login->token && login->basic))
        abort();
    if (login->impersonate_groups && !login->impersonate_user)
        abort();
    write_and_read(login);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct kubeconfig_options options = {.allow_insecure = true};
    const struct kubeconfig_options trusting = {.policy.rule = EXECPLUGIN_ALLOW_ALL};
    struct kubeconfig_login login;
    struct kubeconfig *config;
    struct err err = {0};
    char *copy = malloc(size); /* of the exact size, so that a byte too many is seen */

    if (size > 0)
        memcpy(copy, data, size);
    const int r = kubeconfig_parse(copy, size, "Secret a/b", NULL, &config, &err);

    free(copy);
    if (r < 0) {
        if (r != ERR_INVALID || err.code != r || err.msg[0] == '\0')
            abort();
        return 0;
    }
    for (size_t i = 0; i <= KUBECONFIG_ENTRIES_MAX; i++) {
        const char *context = kubeconfig_context(config, i);
        const int code = kubeconfig_select(config, context, &options, &login, &err);

        if (code < 0 && code != ERR_INVALID)
            abort();
        if (code >= 0) {
            check(&login);
            kubeconfig_login_done(&login);
        }
        if (kubeconfig_select(config, context, &trusting, &login, NULL) >= 0)
            kubeconfig_login_done(&login);
        if (!context)
            break;
    }
    kubeconfig_free(config);
    return 0;
}
