/* incluster.h - the login of a pod: its service account, at its own cluster's API server (C07).
 *
 * Ownership: the caller releases the login with kubeconfig_login_done(). Its token and CA are files
 *            that the kubelet renews: hand it to a credential.
 */
#ifndef BULKHEAD_KUBE_INCLUSTER_H
#define BULKHEAD_KUBE_INCLUSTER_H

#include "base/err.h"

#define INCLUSTER_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

struct kubeconfig_login;

/* host and port are KUBERNETES_SERVICE_HOST and _PORT. ERR_NOTFOUND: not in a pod, since one of
 * them is NULL or "", or the token file is absent; ERR_RETRY, ERR_INVALID: a file or a value makes
 * no sense, and which. Without ca.crt the system's store is used. */
int incluster_login(const char *host, const char *port, const char *folder,
                    struct kubeconfig_login *ret_login, struct err *err);

#endif
