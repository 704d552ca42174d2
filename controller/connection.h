/* connection.h - opens transports: to a child by the kubeconfig of its Secret, to the hub by ours.
 *
 * A child's kubeconfig comes from whoever may write Secrets in our namespace: it may name no file,
 * run no program and reach no loopback or link-local address, unless the playground says so.
 * Ownership: the loop must outlive the transports, which transport_free() releases.
 */
#ifndef BULKHEAD_CONTROLLER_CONNECTION_H
#define BULKHEAD_CONTROLLER_CONNECTION_H

#include "base/err.h"
#include "net/fetch.h"

#if defined __x86_64__
#define CONNECTION_MACHINE "amd64"
#elif defined __aarch64__
#define CONNECTION_MACHINE "arm64"
#else
#define CONNECTION_MACHINE "other"
#endif
#define CONNECTION_USER_AGENT                                                                      \
    "bulkhead/0.1.0 (linux/" CONNECTION_MACHINE ")" /* as audit logs show */

struct connection {
    struct fetch *fetch;
    bool loopback; /* loopback addresses may be reached */
};

/* A struct manager_options.connect: arg is a struct connection. */
int connection_open(void *arg, const char *child, const char *kubeconfig,
                    struct transport **ret_transport, struct err *err);

struct hub_connection;

/* How the hub is found. */
struct hub_options {
    const char
        *kubeconfig;     /* a file, which must exist; NULL: in cluster, else $KUBECONFIG or home */
    const char *context; /* NULL: the current one */
};

/* Opens the hub. ERR_INVALID or ERR_NOTFOUND name what is missing and what to do. Release with
 * hub_connection_free(). */
int hub_connection_new(const struct connection *connection, const struct hub_options *options,
                       int64_t now_ms, struct hub_connection **ret_hub, struct err *err);

/* Closes it; NULL is fine. */
void hub_connection_free(struct hub_connection *hub);

/* Its transport; borrowed. */
struct transport *hub_connection_transport(const struct hub_connection *hub);

/* The address it talks to; borrowed. */
const char *hub_connection_url(const struct hub_connection *hub);

/* Renews what rotates: tokens and certificates in files. Returns when to come again. A problem is
 * left in err (code 0 without one); the old credentials then stay. */
int64_t hub_connection_turn(struct hub_connection *hub, int64_t now_ms, int64_t wall_ms,
                            struct err *err);

#endif
