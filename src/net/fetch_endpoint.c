#include "base/auto.h"
#include "base/base64.h"
#include "base/str.h"
#include "net/fetch_address.h"
#include "net/fetch_call.h"

#include <assert.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_COUNT 3
#define PEM_MAX_BYTES ((size_t)4 << 20)
#define HEADER_MAX_BYTES 4096
#define GROUPS_MAX 64
#define HOST_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:"

static void endpoint_free(struct transport *transport);
static int set_url(struct endpoint *endpoint, const struct fetch_endpoint *from, struct err *err);
static int set_address(struct endpoint *endpoint, CURLU *url, const char *server_name,
                       struct err *err);
static int set_proxy(struct endpoint *endpoint, const char *proxy_url, struct err *err);
static int set_authorization(struct endpoint *endpoint, const struct fetch_endpoint *from,
                             struct err *err);
static int set_impersonation(struct endpoint *endpoint, const struct fetch_endpoint *from,
                             struct err *err);
static int check_token(const char *token, struct err *err);
static int check_header(const char *value, const char *what, struct err *err);
static int check_authorities(const char *ca_pem, struct err *err);
static int check_pair(const char *cert_pem, const char *key_pem, struct err *err);
static struct identity *identity_new(const char *ca_pem, const char *cert_pem, const char *key_pem);
static void identity_unref(struct identity *identity);
static void handle_free(struct handle *handle);
static void set_trust(CURL *easy, const struct endpoint *endpoint);
static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address);
static void wipe(char *text);

static const struct transport_ops TRANSPORT_OPS = {fetch_call_send, fetch_call_cancel,
                                                   endpoint_free};

int fetch_endpoint_new(struct fetch *fetch, const struct fetch_endpoint *from,
                       struct transport **ret_transport, struct err *err) {
    struct endpoint *endpoint = str_alloc(1, sizeof *endpoint);
    int r;

    endpoint->transport.ops = &TRANSPORT_OPS;
    endpoint->fetch = fetch;
    endpoint->insecure = from->insecure;
    endpoint->loopback = from->loopback;
    endpoint->timeout_ms = from->timeout_ms > 0 ? from->timeout_ms : HTTP_TIMEOUT_MS;
    DL_APPEND(fetch->endpoints, endpoint);
    if ((r = set_url(endpoint, from, err)) < 0 || (r = check_authorities(from->ca_pem, err)) < 0 ||
        (r = check_pair(from->cert_pem, from->key_pem, err)) < 0 ||
        (r = set_proxy(endpoint, from->proxy_url, err)) < 0 ||
        (r = check_header(from->user_agent, "user agent", err)) < 0 ||
        (r = set_authorization(endpoint, from, err)) < 0 ||
        (r = set_impersonation(endpoint, from, err)) < 0) {
        fetch_endpoint_release(endpoint);
        return r;
    }
    endpoint->identity = identity_new(from->ca_pem, from->cert_pem, from->key_pem);
    endpoint->user_agent = str_dup(from->user_agent);
    *ret_transport = &endpoint->transport;
    return 0;
}

int fetch_endpoint_token(struct transport *transport, const char *token, struct err *err) {
    struct endpoint *endpoint = (struct endpoint *)transport;
    const int r = check_token(token, err);

    if (r < 0)
        return r;
    wipe(endpoint->authorization);
    endpoint->authorization = token ? str_printf("Bearer %s", token) : NULL;
    return 0;
}

int fetch_endpoint_certificate(struct transport *transport, const char *cert_pem,
                               const char *key_pem, struct err *err) {
    struct endpoint *endpoint = (struct endpoint *)transport;
    struct identity *old = endpoint->identity;
    const int r = check_pair(cert_pem, key_pem, err);
    struct fetch_call *call;

    if (r < 0)
        return r;
    endpoint->identity = identity_new(old->ca_pem, cert_pem, key_pem);
    DL_FOREACH(endpoint->calls, call) {
        if (call->state == CALL_RUNNING)
            fetch_call_end(call, call->sent ? HTTP_BROKEN : HTTP_UNSENT,
                           "the client certificate was changed");
        if (call->held_in) {
            fetch_lane_release(call); /* it will wait for a new connection */
            fetch_enqueue(endpoint->fetch, call);
        }
    }
    fetch_retire_lanes(endpoint);
    while (endpoint->idle) {
        struct handle *handle = endpoint->idle;

        LL_DELETE(endpoint->idle, handle);
        endpoint->idle_count--;
        handle_free(handle);
    }
    identity_unref(old);
    return 0;
}

struct handle *fetch_endpoint_handle(struct endpoint *endpoint) {
    struct handle *handle = endpoint->idle;

    if (handle) {
        LL_DELETE(endpoint->idle, handle);
        endpoint->idle_count--;
        return handle;
    }
    handle = str_alloc(1, sizeof *handle);
    handle->easy = curl_easy_init();
    if (!handle->easy)
        abort();
    handle->identity = endpoint->identity;
    handle->identity->refs++;
    CURL *easy = handle->easy;

    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* never wait for a resolver's thread */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)FETCH_CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, endpoint->user_agent);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, endpoint->connect_list);
    set_trust(easy, endpoint);
    if (curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, endpoint->plain ? "http" : "https") ||
        curl_easy_setopt(easy, CURLOPT_PROXY, endpoint->proxy_url) ||
        (endpoint->proxy_url && curl_easy_setopt(easy, CURLOPT_NOPROXY, "")))
        abort();
    return handle;
}

void fetch_endpoint_handle_done(struct endpoint *endpoint, struct handle *handle) {
    CURL *easy = handle->easy;

    if (handle->identity != endpoint->identity || endpoint->idle_count == FETCH_HANDLES_MAX ||
        endpoint->dying) {
        handle_free(handle);
        return;
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, NULL); /* its bytes go with the call */
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
    LL_PREPEND(endpoint->idle, handle);
    endpoint->idle_count++;
}

void fetch_endpoint_release(struct endpoint *endpoint) {
    assert(!endpoint->calls);
    while (endpoint->idle) {
        struct handle *handle = endpoint->idle;

        LL_DELETE(endpoint->idle, handle);
        handle_free(handle);
    }
    DL_DELETE(endpoint->fetch->endpoints, endpoint);
    identity_unref(endpoint->identity);
    free(endpoint->base_url);
    curl_slist_free_all(endpoint->connect_list);
    free(endpoint->host_header);
    wipe(endpoint->authorization);
    free(endpoint->user_agent);
    wipe(endpoint->proxy_url);
    curl_slist_free_all(endpoint->impersonate);
    free(endpoint);
}

/* While the loop turns, curl may be on the stack: the loop releases it then. */
static void endpoint_free(struct transport *transport) {
    struct endpoint *endpoint = (struct endpoint *)transport;
    struct fetch *fetch = endpoint->fetch;
    struct fetch_call *call;

    endpoint->dying = true;
    fetch_retire_lanes(endpoint);
    DL_FOREACH(endpoint->calls, call)
    fetch_call_drop(call);
    if (fetch->turning)
        return;
    while (endpoint->calls)
        fetch_call_step(endpoint->calls);
    fetch_close_retired(fetch);
    fetch_endpoint_release(endpoint);
}

static int set_url(struct endpoint *endpoint, const struct fetch_endpoint *from, struct err *err) {
    CURLU *url = curl_url();
    char *scheme = NULL;
    char *extra = NULL;
    int r;

    if (!url)
        abort();
    if (!from->url || strlen(from->url) > HEADER_MAX_BYTES ||
        curl_url_set(url, CURLUPART_URL, from->url, CURLU_PATH_AS_IS) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        r = err_set(err, ERR_INVALID, "the server URL is no URL");
    else if (strcmp(scheme, "https") != 0 && (strcmp(scheme, "http") != 0 || !from->loopback))
        r = err_set(err, ERR_INVALID, "the server URL must begin with https://");
    else if (curl_url_get(url, CURLUPART_USER, &extra, 0) == CURLUE_OK ||
             curl_url_get(url, CURLUPART_QUERY, &extra, 0) == CURLUE_OK ||
             curl_url_get(url, CURLUPART_FRAGMENT, &extra, 0) == CURLUE_OK)
        r = err_set(err, ERR_INVALID, "the server URL may have a host, a port and a path only");
    else
        r = set_address(endpoint, url, from->server_name, err);
    endpoint->plain = scheme && strcmp(scheme, "http") == 0;
    curl_free(scheme);
    curl_free(extra);
    curl_url_cleanup(url);
    return r;
}

/* A name, or an address in brackets if it is of IPv6. */
static bool is_host(const char *host) {
    const size_t len = strlen(host);
    const bool bracketed = len > 2 && host[0] == '[' && host[len - 1] == ']';
    const size_t plain = strspn(host + bracketed, HOST_BYTES);

    return len > 0 && len < 256 && plain == len - 2 * (size_t)bracketed &&
           (bracketed || !strchr(host, ':'));
}

/* With a server name curl is told that name as the host, so that TLS asks for it and checks it, and
 * is led to the real host beneath; the Host header names the real one (C14). */
static int set_address(struct endpoint *endpoint, CURLU *url, const char *server_name,
                       struct err *err) {
    char *scheme = NULL;
    char *host = NULL;
    char *port = NULL;
    char *path = NULL;
    int r = 0;

    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
    curl_url_get(url, CURLUPART_HOST, &host, 0);
    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    curl_url_get(url, CURLUPART_PATH, &path, CURLU_PATH_AS_IS);
    if (!scheme || !host || !port || !path || !is_host(host)) {
        r = err_set(err, ERR_INVALID, "the server URL has no usable host");
    } else if (server_name && !is_host(server_name)) {
        r = err_set(err, ERR_INVALID, "the TLS server name is no name");
    } else {
        size_t path_len = strlen(path);

        while (path_len > 0 && path[path_len - 1] == '/')
            path_len--;
        endpoint->base_url = str_printf("%s://%s:%s%.*s", scheme, server_name ? server_name : host,
                                        port, (int)path_len, path);
        if (server_name) {
            auto_free char *connect_to = str_printf("::%s:%s", host, port);

            endpoint->connect_list = curl_slist_append(NULL, connect_to);
            endpoint->host_header =
                strcmp(port, "443") == 0 ? str_dup(host) : str_printf("%s:%s", host, port);
        }
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(path);
    return r;
}

/* Names are resolved by a SOCKS proxy, as other clients of these files do: the network behind it
 * may have names of its own. The text may hold a password and appears in no message. */
static int set_proxy(struct endpoint *endpoint, const char *proxy_url, struct err *err) {
    static const char *const SCHEMES[] = {"http://", "https://", "socks5://", "socks5h://"};
    CURLU *url = curl_url();
    bool known = false;

    if (!url)
        abort();
    for (size_t i = 0; proxy_url && i < sizeof SCHEMES / sizeof *SCHEMES; i++)
        known |= strncmp(proxy_url, SCHEMES[i], strlen(SCHEMES[i])) == 0;
    known = known && strlen(proxy_url) <= HEADER_MAX_BYTES &&
            curl_url_set(url, CURLUPART_URL, proxy_url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
    curl_url_cleanup(url);
    if (!proxy_url)
        return 0;
    if (!known)
        return err_set(err, ERR_INVALID, "the proxy URL must be of http, https or socks5");
    endpoint->proxy_url = strncmp(proxy_url, "socks5://", 9) == 0
                              ? str_printf("socks5h://%s", proxy_url + 9)
                              : str_dup(proxy_url);
    return 0;
}

static int set_authorization(struct endpoint *endpoint, const struct fetch_endpoint *from,
                             struct err *err) {
    int r = check_token(from->token, err);

    if (r < 0)
        return r;
    if (from->token && from->basic)
        return err_set(err, ERR_INVALID, "a token and a password exclude each other");
    if (from->token)
        endpoint->authorization = str_printf("Bearer %s", from->token);
    if (!from->basic)
        return 0;
    if ((r = check_header(from->basic, "user name and password", err)) < 0)
        return r;
    if (!strchr(from->basic, ':'))
        return err_set(err, ERR_INVALID, "a user name without a password");
    struct str encoded;

    str_init(&encoded, (size_t)HEADER_MAX_BYTES * 2);
    r = base64_encode(&encoded, from->basic, strlen(from->basic), err);
    if (r == 0)
        endpoint->authorization = str_printf("Basic %s", encoded.data);
    if (encoded.data)
        explicit_bzero(encoded.data, encoded.room_bytes);
    str_done(&encoded);
    return r;
}

static int add_line(struct endpoint *endpoint, const char *name, const char *value,
                    struct err *err) {
    const int r = check_header(value, name, err);

    if (r < 0)
        return r;
    auto_free char *line = str_printf("%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(endpoint->impersonate, line);

    if (!longer)
        abort();
    endpoint->impersonate = longer;
    return 0;
}

static int set_impersonation(struct endpoint *endpoint, const struct fetch_endpoint *from,
                             struct err *err) {
    const char *const *groups = from->impersonate_groups;
    int r = 0;

    if (groups && groups[0] && !from->impersonate_user)
        return err_set(err, ERR_INVALID, "groups to impersonate, but no user");
    if (from->impersonate_user)
        r = add_line(endpoint, "Impersonate-User", from->impersonate_user, err);
    for (size_t i = 0; groups && groups[i] && r == 0; i++) {
        if (i == GROUPS_MAX)
            return err_set(err, ERR_INVALID, "more than %d groups to impersonate", GROUPS_MAX);
        r = add_line(endpoint, "Impersonate-Group", groups[i], err);
    }
    return r;
}

static int check_token(const char *token, struct err *err) {
    if (!token)
        return 0;
    if (token[0] == '\0')
        return err_set(err, ERR_INVALID, "the bearer token is empty");
    if (strlen(token) > FETCH_TOKEN_MAX_BYTES)
        return err_set(err, ERR_INVALID, "the bearer token has more than %d bytes",
                       FETCH_TOKEN_MAX_BYTES);
    if (!fetch_is_clean(token))
        return err_set(err, ERR_INVALID, "the bearer token holds a control character");
    return 0;
}

static int check_header(const char *value, const char *what, struct err *err) {
    if (!value)
        return 0;
    if (value[0] == '\0' || strlen(value) > HEADER_MAX_BYTES || !fetch_is_clean(value))
        return err_set(err, ERR_INVALID, "%s: empty, too long or with a control character", what);
    return 0;
}

static int check_authorities(const char *ca_pem, struct err *err) {
    if (!ca_pem)
        return 0;
    BIO *bio = strlen(ca_pem) <= PEM_MAX_BYTES ? BIO_new_mem_buf(ca_pem, -1) : NULL;
    X509 *x509 = bio ? PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL) : NULL;
    const bool ok = x509;

    X509_free(x509);
    BIO_free(bio);
    ERR_clear_error();
    return ok ? 0 : err_set(err, ERR_INVALID, "no certificate of an authority in PEM");
}

/* An encrypted key is refused; OpenSSL would ask the terminal. */
static int no_password(char *buffer, int size_bytes, int writing, void *arg) {
    (void)buffer;
    (void)size_bytes;
    (void)writing;
    (void)arg;
    return -1;
}

static int check_pair(const char *cert_pem, const char *key_pem, struct err *err) {
    if (!cert_pem && !key_pem)
        return 0;
    if (!cert_pem || !key_pem)
        return err_set(err, ERR_INVALID, "a client certificate goes with a key");
    if (strlen(cert_pem) > PEM_MAX_BYTES || strlen(key_pem) > PEM_MAX_BYTES)
        return err_set(err, ERR_INVALID, "the client certificate is too long");
    BIO *cert_bio = BIO_new_mem_buf(cert_pem, -1);
    BIO *key_bio = BIO_new_mem_buf(key_pem, -1);
    X509 *x509 = cert_bio ? PEM_read_bio_X509(cert_bio, NULL, NULL, NULL) : NULL;
    EVP_PKEY *key = key_bio ? PEM_read_bio_PrivateKey(key_bio, NULL, no_password, NULL) : NULL;
    int r = 0;

    if (!x509)
        r = err_set(err, ERR_INVALID, "the client certificate is not in PEM");
    else if (!key)
        r = err_set(err, ERR_INVALID, "the client key is not in PEM, or is encrypted");
    else if (X509_check_private_key(x509, key) != 1)
        r = err_set(err, ERR_INVALID, "the client key does not belong to the certificate");
    EVP_PKEY_free(key);
    X509_free(x509);
    BIO_free(key_bio);
    BIO_free(cert_bio);
    ERR_clear_error();
    return r;
}

static struct identity *identity_new(const char *ca_pem, const char *cert_pem,
                                     const char *key_pem) {
    struct identity *identity = str_alloc(1, sizeof *identity);

    identity->refs = 1;
    identity->ca_pem = str_dup(ca_pem);
    identity->cert_pem = str_dup(cert_pem);
    identity->key_pem = str_dup(key_pem);
    return identity;
}

static void identity_unref(struct identity *identity) {
    if (!identity || --identity->refs > 0)
        return;
    free(identity->ca_pem);
    free(identity->cert_pem);
    wipe(identity->key_pem);
    free(identity);
}

static void handle_free(struct handle *handle) {
    curl_easy_cleanup(handle->easy);
    identity_unref(handle->identity);
    free(handle);
}

static bool set_blob(CURL *easy, CURLoption option, char *pem) {
    struct curl_blob blob = {.data = pem, .len = strlen(pem), .flags = CURL_BLOB_NOCOPY};

    return curl_easy_setopt(easy, option, &blob) == CURLE_OK;
}

/* An authority that is given replaces the system's: curl would trust the system's folder as well.
 */
static void set_trust(CURL *easy, const struct endpoint *endpoint) {
    const struct identity *identity = endpoint->identity;
    bool ok = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, endpoint->insecure ? 0L : 1L) == 0 &&
              curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, endpoint->insecure ? 0L : 2L) == 0 &&
              curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == 0;

    if (identity->ca_pem)
        ok = ok && set_blob(easy, CURLOPT_CAINFO_BLOB, identity->ca_pem) &&
             curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK;
    if (identity->cert_pem)
        ok = ok && set_blob(easy, CURLOPT_SSLCERT_BLOB, identity->cert_pem) &&
             set_blob(easy, CURLOPT_SSLKEY_BLOB, identity->key_pem);
    if (!ok)
        abort(); /* no memory, or a curl without TLS */
}

/* Every connection, to a proxy too, begins here, after name resolution. */
static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address) {
    struct fetch_call *call = arg;
    const struct {
        int level, name, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, FETCH_KEEPALIVE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, FETCH_USER_TIMEOUT_MS},
    };

    if (purpose != CURLSOCKTYPE_IPCXN ||
        !fetch_address_allowed(&address->addr, call->endpoint->loopback)) {
        call->forbidden = true;
        return CURL_SOCKET_BAD;
    }
    call->dialled = true;
    const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

    for (size_t i = 0; fd >= 0 && i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
    return fd;
}

static void wipe(char *text) {
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}
