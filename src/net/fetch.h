/* fetch.h - HTTP(S) to many endpoints on one curl_multi loop.
 *
 * Each endpoint is one identity at one server: its own CA, client certificate and bearer token, its
 * own connections, with streams and lease calls apart from the rest (C17). Redirects are never
 * followed, credentials never go out over plain HTTP (C15, C16), and no address of the link-local,
 * metadata or (unless allowed) loopback kind is ever dialled (C82).
 * Units:     milliseconds, bytes.
 * Ownership: the loop must outlive its endpoints. An endpoint is a transport: release it with
 *            transport_free(). Texts are copied, secrets wiped when released.
 * Errors:    a call's fate is told to its receiver (http.h).
 * Threads:   one; only fetch_wake() may be called from another.
 */
#ifndef BULKHEAD_NET_FETCH_H
#define BULKHEAD_NET_FETCH_H

#include "base/err.h"
#include "net/http.h"

#include <stdbool.h>
#include <stddef.h>

#define FETCH_STREAMS_MAX 80        /* on one connection */
#define FETCH_TOKEN_MAX_BYTES 65536 /* of a bearer token (C06) */
#define FETCH_KEEPALIVE_S 30        /* first TCP keepalive probe; then every 10 s, 3 of them */
#define FETCH_USER_TIMEOUT_MS 30000 /* TCP_USER_TIMEOUT */
#define FETCH_CONNECT_TIMEOUT_MS 30000

struct fetch;

struct fetch_endpoint {
    const char *url;      /* "https://host:port" or with a path prefix */
    const char *ca_pem;   /* NULL: the system's store, never no verification */
    const char *cert_pem; /* client certificate and key; both or neither */
    const char *key_pem;
    const char *token;            /* bearer; NULL: none */
    const char *basic;            /* "user:password"; NULL: none */
    const char *server_name;      /* TLS name to ask for and to check (C14); NULL: the host */
    const char *proxy_url;        /* http, https, socks5; NULL: the environment's (C13) */
    const char *user_agent;       /* C80 */
    bool insecure;                /* no verification: an explicit switch of this endpoint (C15) */
    bool loopback;                /* 127.0.0.0/8 and ::1 are allowed */
    int timeout_ms;               /* default of unary calls; 0: HTTP_TIMEOUT_MS */
    const char *impersonate_user; /* NULL: nobody (C79) */
    const char *const *impersonate_groups; /* NULL-terminated; NULL: none */
};

/* A loop without endpoints. Release with fetch_free(). */
int fetch_new(struct fetch **ret_fetch, struct err *err);

/* Releases the loop; its endpoints must be gone. NULL is fine. */
void fetch_free(struct fetch *fetch);

/* A transport to one endpoint. ERR_INVALID for a URL, certificate, key or token that cannot be
 * used, naming which. */
int fetch_endpoint_new(struct fetch *fetch, const struct fetch_endpoint *endpoint,
                       struct transport **ret_transport, struct err *err);

/* Changes the bearer token of later calls (C05); same checks. */
int fetch_endpoint_token(struct transport *transport, const char *token, struct err *err);

/* Changes the client certificate and closes every connection of the endpoint, streams too (C08). */
int fetch_endpoint_certificate(struct transport *transport, const char *cert_pem,
                               const char *key_pem, struct err *err);

/* Moves bytes and calls receivers; waits up to timeout_ms for something to do. */
void fetch_turn(struct fetch *fetch, int timeout_ms);

/* Ends a fetch_turn() that waits; from any thread. */
void fetch_wake(struct fetch *fetch);

#endif
