#include "kube/incluster.h"

#include "base/auto.h"
#include "base/str.h"
#include "kube/keyfile.h"
#include "kube/kubeconfig.h"

#include <string.h>

static int make_url(const char *host, const char *port, char **ret_url, struct err *err);
static int load(const char *folder, const char *name, enum keyfile_kind kind, char **ret_file,
                char **ret_text, struct err *err);
static int load_namespace(const char *folder, char **ret_ns, struct err *err);

int incluster_login(const char *host, const char *port, const char *folder,
                    struct kubeconfig_login *ret_login, struct err *err) {
    struct kubeconfig_login login = {0};

    if (!host || !host[0] || !port || !port[0])
        return err_set(err, ERR_NOTFOUND,
                       "not in a pod: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not "
                       "set; give --kubeconfig");
    int r = make_url(host, port, &login.url, err);

    if (r >= 0)
        r = load(folder, "token", KEYFILE_TOKEN, &login.token_file, &login.token, err);
    if (r >= 0) {
        r = load(folder, "ca.crt", KEYFILE_CERTIFICATES, &login.ca_file, &login.ca_pem, err);
        r = r == ERR_NOTFOUND ? 0 : r;
    }
    if (r >= 0)
        r = load_namespace(folder, &login.ns, err);
    if (r < 0) {
        kubeconfig_login_done(&login);
        return err_wrap(err, r, "in-cluster");
    }
    *ret_login = login;
    return 0;
}

static int make_url(const char *host, const char *port, char **ret_url, struct err *err) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";
    const bool v6 = strchr(host, ':');
    const size_t digits = strspn(port, "0123456789");
    const bool named = host[strspn(host, v6 ? "0123456789abcdefABCDEF:." : letters)] == '\0';

    if (!named || strlen(host) > 253)
        return err_set(err, ERR_INVALID, "KUBERNETES_SERVICE_HOST is no address or name");
    if (port[digits] || digits > 5 || strtol(port, NULL, 10) < 1 || strtol(port, NULL, 10) > 65535)
        return err_set(err, ERR_INVALID, "KUBERNETES_SERVICE_PORT is no port");
    *ret_url = str_printf(v6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
    return 0;
}

/* The path is kept even when the file is absent now: it may come. */
static int load(const char *folder, const char *name, enum keyfile_kind kind, char **ret_file,
                char **ret_text, struct err *err) {
    *ret_file = str_printf("%s/%s", folder, name);
    return keyfile_load(*ret_file, kind, ret_text, err);
}

static int load_namespace(const char *folder, char **ret_ns, struct err *err) {
    auto_free char *file = NULL;
    const int r = load(folder, "namespace", KEYFILE_TOKEN, &file, ret_ns, err);

    return r == ERR_NOTFOUND ? 0 : r;
}
