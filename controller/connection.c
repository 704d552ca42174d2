#include "controller/connection.h"

#include "base/str.h"
#include "kube/credential.h"
#include "kube/incluster.h"
#include "kube/kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hub_connection {
    struct kubeconfig_login login;
    struct credential *credential;
    struct transport *transport;
};

int connection_open(void *arg, const char *child, const char *kubeconfig,
                    struct transport **ret_transport, struct err *err) {
    const struct connection *connection = arg;
    const struct kubeconfig_options options = {0};
    struct kubeconfig *config = NULL;
    struct kubeconfig_login login = {0};
    struct fetch_endpoint endpoint;
    char source[128];
    int r;

    snprintf(source, sizeof source, "the kubeconfig of %s", child);
    r = kubeconfig_parse(kubeconfig, strlen(kubeconfig), source, NULL, &config, err);
    if (r >= 0)
        r = kubeconfig_select(config, NULL, &options, &login, err);
    if (r >= 0) {
        kubeconfig_endpoint(&login, &endpoint);
        endpoint.loopback = connection->loopback;
        endpoint.user_agent = CONNECTION_USER_AGENT;
        r = fetch_endpoint_new(connection->fetch, &endpoint, ret_transport, err);
    }
    kubeconfig_login_done(&login);
    kubeconfig_free(config);
    return r;
}

static int login_find(const struct hub_options *options, struct kubeconfig_login *ret_login,
                      struct err *err) {
    const struct kubeconfig_options allowed = {.allow_files = true, .allow_insecure = true};
    struct kubeconfig *config = NULL;
    int r = ERR_NOTFOUND;

    if (!options->kubeconfig)
        r = incluster_login(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"),
                            INCLUSTER_FOLDER, ret_login, err);
    if (r != ERR_NOTFOUND)
        return r;
    r = kubeconfig_load(options->kubeconfig, getenv("KUBECONFIG"), getenv("HOME"), &config, err);
    if (r >= 0)
        r = kubeconfig_select(config, options->context, &allowed, ret_login, err);
    kubeconfig_free(config);
    return r;
}

int hub_connection_new(const struct connection *connection, const struct hub_options *options,
                       int64_t now_ms, struct hub_connection **ret_hub, struct err *err) {
    struct hub_connection *hub = str_alloc(1, sizeof *hub);
    struct fetch_endpoint endpoint;
    int r = login_find(options, &hub->login, err);

    if (r >= 0) {
        kubeconfig_endpoint(&hub->login, &endpoint);
        endpoint.loopback = connection->loopback || options->kubeconfig != NULL;
        endpoint.user_agent = CONNECTION_USER_AGENT;
        r = fetch_endpoint_new(connection->fetch, &endpoint, &hub->transport, err);
    }
    if (r < 0) {
        hub_connection_free(hub);
        return r;
    }
    hub->credential = credential_new(&hub->login, now_ms);
    *ret_hub = hub;
    return 0;
}

void hub_connection_free(struct hub_connection *hub) {
    if (!hub)
        return;
    transport_free(hub->transport);
    credential_free(hub->credential);
    kubeconfig_login_done(&hub->login);
    free(hub);
}

struct transport *hub_connection_transport(const struct hub_connection *hub) {
    return hub->transport;
}

const char *hub_connection_url(const struct hub_connection *hub) {
    return hub->login.url;
}

int64_t hub_connection_turn(struct hub_connection *hub, int64_t now_ms, int64_t wall_ms,
                            struct err *err) {
    const struct credential_step step = credential_step(hub->credential, now_ms, wall_ms);
    const char *key = NULL;

    *err = step.problem;
    if (step.token)
        fetch_endpoint_token(hub->transport, credential_token(hub->credential), err);
    if (step.certificate) {
        const char *cert = credential_certificate(hub->credential, &key);

        fetch_endpoint_certificate(hub->transport, cert, key, err);
    }
    return step.again_at_ms;
}
