#include "net/serve.h"

#include "base/auto.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <assert.h>
#include <libwebsockets.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <utlist.h>

#define HEADER_MAX_BYTES 16384 /* of a request's header block */
#define BACKLOG_MAX_BYTES ((size_t)64 << 20)
#define SLOW_TIMEOUT_S 60           /* without a byte taken of an answer that is whole */
#define BLOCK_BYTES ((size_t)16384) /* of an answer's body in one write: one TLS record */
#define HEAD_MAX_BYTES 1024         /* of an answer's head */
#define FRAME_BYTES 32              /* chunk size line, line end, last chunk */
#define REQUEST_TIMEOUT_S 10        /* handshake, header block, a pause within a body */
#define IDLE_TIMEOUT_S 120          /* a connection between two requests */
#define PATROL_MS 500
#define CONNECTIONS_MAX 16384 /* where the process may open millions of files */

struct port {
    struct serve *serve;
    struct http_handler handler;
    struct lws_vhost *vhost;
    char name[16]; /* the library borrows both texts */
    char address[INET6_ADDRSTRLEN];
    const char *cert_pem; /* valid while the port is being opened */
    const char *key_pem;
};

struct serve {
    struct lws_context *context;
    SSL_CTX *client_ssl; /* unused: keeps the library from loading the system's authorities */
    struct lws_protocols protocols[2];
    lws_sorted_usec_list_t turn;   /* ends a turn */
    lws_sorted_usec_list_t patrol; /* looks for peers that left */
    bool patrolling;
    struct exchange *exchanges;
    struct port ports[SERVE_PORTS_MAX];
    int port_count;
};

/* One request and its answer. It hangs at the connection, which knows one at a time. */
struct exchange {
    struct http_reply reply; /* first: what the handler holds is the exchange */
    struct port *port;
    struct lws *wsi;
    struct exchange *prev, *next;
    const char *method;
    char *path;
    char *query;
    char *accept;
    char *content_type;
    char *bearer;
    char *user_agent;
    struct str body;
    size_t body_bytes; /* what Content-Length announces */
    bool old_client;   /* HTTP/1.0: no chunks */
    bool body_read;
    bool asked; /* the handler knows of it */
    bool ended; /* and has ended it */
    int status; /* 0 before head() */
    char *answer_type;
    char *warning;
    struct str out; /* of the answer's body */
    size_t out_sent_bytes;
    bool head_sent;
    bool chunked;
    bool hang_up; /* after the answer */
    bool whole;   /* every byte was handed to the library */
    bool early;   /* the peer has sent more, as the last patrol saw */
    bool lagging; /* too far: the connection is about to be closed */
};

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t size_bytes);
static int open_port(struct serve *serve, const struct serve_port *wanted, struct err *err);
static int check_port(const struct serve *serve, const struct serve_port *wanted, struct err *err);
static int use_certificate(SSL_CTX *ssl, const struct port *port);
static bool use_chain(SSL_CTX *ssl, BIO *bio);
static int begin(struct lws *wsi);
static int check_body(struct exchange *exchange, bool may_have_body);
static int go_on(struct lws *wsi);
static int add_body(struct exchange *exchange, const char *bytes, size_t size_bytes);
static int end_body(struct exchange *exchange);
static void ask(struct exchange *exchange);
static void listen_to(struct exchange *exchange, bool on);
static int refuse(struct exchange *exchange, int status, const char *text);
static void drop(struct lws *wsi);
static void start_patrol(struct serve *serve);
static void patrol(lws_sorted_usec_list_t *timer);
static int write_some(struct exchange *exchange);
static int finish(struct exchange *exchange);
static size_t frame_head(struct exchange *exchange, char *text);
static size_t frame_body(struct exchange *exchange, char *text);
static const char *reason_phrase(int status);
static bool has_body(const struct exchange *exchange);
static const char *method_of(struct lws *wsi, enum lws_token_indexes *ret_token);
static char *header(struct lws *wsi, enum lws_token_indexes token);
static char *query_of(struct lws *wsi);
static void encode(struct str *out, const char *text, size_t len, const char *plain);
static char *bearer_of(struct lws *wsi);
static void reply_head(struct http_reply *reply, int status, const char *content_type,
                       const char *warning);
static void reply_data(struct http_reply *reply, const char *bytes, size_t size_bytes);
static void reply_end(struct http_reply *reply);
static size_t reply_backlog_bytes(const struct http_reply *reply);
static char *header_text(const char *text);

static const struct http_reply_ops REPLY_OPS = {reply_head, reply_data, reply_end,
                                                reply_backlog_bytes};

int serve_new(const struct serve_port *ports, int port_count, struct serve **ret_serve,
              struct err *err) {
    struct serve *serve = str_alloc(1, sizeof *serve);
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
        .max_http_header_data = HEADER_MAX_BYTES,
        .pt_serv_buf_size = BLOCK_BYTES,
        .alpn = "http/1.1",
        .user = serve,
        .ka_time = 30,
        .ka_probes = 3,
        .ka_interval = 10,
    };
    struct rlimit limit;
    int r = 0;

    assert(port_count > 0 && port_count <= SERVE_PORTS_MAX);
    lws_set_log_level(0, NULL);
    /* The library has tables for every file the process may open. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > (1 << 20))
        info.fd_limit_per_thread = CONNECTIONS_MAX;
    serve->protocols[0] = (struct lws_protocols){.name = "http", .callback = on_event};
    serve->client_ssl = SSL_CTX_new(TLS_client_method());
    serve->context = serve->client_ssl ? lws_create_context(&info) : NULL;
    if (!serve->context)
        r = err_set(err, ERR_RETRY, "libwebsockets did not start");
    for (int i = 0; r == 0 && i < port_count; i++)
        r = open_port(serve, &ports[i], err);
    if (r < 0) {
        serve_free(serve);
        return r;
    }
    *ret_serve = serve;
    return 0;
}

void serve_free(struct serve *serve) {
    if (!serve)
        return;
    if (serve->context)
        lws_context_destroy(serve->context);
    SSL_CTX_free(serve->client_ssl);
    free(serve);
}

int serve_port_number(const struct serve *serve, int port) {
    assert(port >= 0 && port < serve->port_count);
    return lws_get_vhost_listen_port(serve->ports[port].vhost);
}

static void end_turn(lws_sorted_usec_list_t *timer) {
    (void)timer;
}

void serve_turn(struct serve *serve, int timeout_ms) {
    if (timeout_ms > 0)
        lws_sul_schedule(serve->context, 0, &serve->turn, end_turn,
                         (lws_usec_t)timeout_ms * LWS_USEC_PER_SEC / 1000);
    lws_service(serve->context, timeout_ms > 0 ? 0 : -1);
    lws_sul_schedule(serve->context, 0, &serve->turn, end_turn, LWS_SET_TIMER_USEC_CANCEL);
}

void serve_wake(struct serve *serve) {
    lws_cancel_service(serve->context);
}

static int open_port(struct serve *serve, const struct serve_port *wanted, struct err *err) {
    struct port *port = &serve->ports[serve->port_count];
    const bool tls = wanted->cert_pem != NULL;
    struct lws_context_creation_info info = {
        .port = wanted->port,
        .iface = port->address,
        .protocols = serve->protocols,
        .vhost_name = port->name,
        .user = port,
        .alpn = "http/1.1",
        .provided_client_ssl_ctx = serve->client_ssl,
        .timeout_secs = REQUEST_TIMEOUT_S,
        .keepalive_timeout = IDLE_TIMEOUT_S,
        .options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND,
    };
    const int r = check_port(serve, wanted, err);

    if (r < 0)
        return r;
    if (tls)
        info.options |=
            LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    if (!strchr(wanted->address, ':'))
        info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
    *port = (struct port){.serve = serve,
                          .handler = wanted->handler,
                          .cert_pem = wanted->cert_pem,
                          .key_pem = wanted->key_pem};
    snprintf(port->name, sizeof port->name, "port-%d", serve->port_count);
    snprintf(port->address, sizeof port->address, "%s", wanted->address);
    port->vhost = lws_create_vhost(serve->context, &info);
    port->cert_pem = port->key_pem = NULL;
    if (!port->vhost)
        return err_set(err, ERR_INVALID, "cannot listen on %s:%d", wanted->address, wanted->port);
    serve->port_count++;
    return 0;
}

static int check_port(const struct serve *serve, const struct serve_port *wanted, struct err *err) {
    const struct port port = {.cert_pem = wanted->cert_pem, .key_pem = wanted->key_pem};
    unsigned char address[16];

    if (inet_pton(AF_INET, wanted->address, address) != 1 &&
        inet_pton(AF_INET6, wanted->address, address) != 1)
        return err_set(err, ERR_INVALID, "'%s' is not an address", wanted->address);
    if (wanted->port < 0 || wanted->port > 65535)
        return err_set(err, ERR_INVALID, "%s:%d: no such port", wanted->address, wanted->port);
    /* The library would let two vhosts share a socket and tell them apart by Host. */
    for (int i = 0; i < serve->port_count; i++) {
        if (wanted->port && serve_port_number(serve, i) == wanted->port)
            return err_set(err, ERR_INVALID, "cannot listen on %s:%d twice", wanted->address,
                           wanted->port);
    }
    if (!wanted->cert_pem)
        return 0;
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    const int r = ssl && wanted->key_pem ? use_certificate(ssl, &port) : ERR_INVALID;

    SSL_CTX_free(ssl);
    if (r < 0)
        return err_set(err, ERR_INVALID, "%s:%d: certificate and key cannot be used",
                       wanted->address, wanted->port);
    return 0;
}

/* By our own hand: the library reads only one DER certificate from memory. */
static int use_certificate(SSL_CTX *ssl, const struct port *port) {
    BIO *certs = BIO_new_mem_buf(port->cert_pem, -1);
    BIO *keys = BIO_new_mem_buf(port->key_pem, -1);
    EVP_PKEY *key = keys ? PEM_read_bio_PrivateKey(keys, NULL, NULL, NULL) : NULL;
    const bool ok = certs && key && use_chain(ssl, certs) &&
                    SSL_CTX_use_PrivateKey(ssl, key) == 1 && SSL_CTX_check_private_key(ssl) == 1 &&
                    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1;

    EVP_PKEY_free(key);
    BIO_free(keys);
    BIO_free(certs);
    ERR_clear_error();
    return ok ? 0 : ERR_INVALID;
}

static bool use_chain(SSL_CTX *ssl, BIO *bio) {
    X509 *x509 = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    bool ok = x509 && SSL_CTX_use_certificate(ssl, x509) == 1;

    X509_free(x509);
    while (ok && (x509 = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        ok = SSL_CTX_add1_chain_cert(ssl, x509) == 1;
        X509_free(x509);
    }
    return ok;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t size_bytes) {
    struct exchange *exchange = NULL;

    switch (reason) {
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        return use_certificate(user, lws_vhost_user(in)) < 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return -1; /* neither WebSocket nor HTTP/2 */
    case LWS_CALLBACK_HTTP:
        return begin(wsi);
    case LWS_CALLBACK_HTTP_BODY:
        exchange = lws_get_opaque_user_data(wsi);
        return exchange ? add_body(exchange, in, size_bytes) : -1;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        exchange = lws_get_opaque_user_data(wsi);
        return exchange ? end_body(exchange) : -1;
    case LWS_CALLBACK_HTTP_WRITEABLE:
        exchange = lws_get_opaque_user_data(wsi);
        return exchange ? write_some(exchange) : 0;
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_WSI_DESTROY:
        drop(wsi);
        return 0;
    default:
        return 0;
    }
}

/* The header block of a request is there. */
static int begin(struct lws *wsi) {
    enum lws_token_indexes target = WSI_TOKEN_GET_URI;
    const char *method = method_of(wsi, &target);

    if (!method || lws_get_opaque_user_data(wsi))
        return -1;
    struct exchange *exchange = str_alloc(1, sizeof *exchange);
    auto_free char *version = header(wsi, WSI_TOKEN_HTTP);
    auto_free char *path = header(wsi, target);
    struct str encoded;

    exchange->reply.ops = &REPLY_OPS;
    exchange->port = lws_vhost_user(lws_get_vhost(wsi));
    exchange->wsi = wsi;
    lws_set_opaque_user_data(wsi, exchange);
    DL_APPEND(exchange->port->serve->exchanges, exchange);
    start_patrol(exchange->port->serve);
    str_init(&exchange->body, SERVE_BODY_MAX_BYTES);
    str_init(&exchange->out, 3 * BACKLOG_MAX_BYTES);
    exchange->method = method;
    exchange->old_client = strcmp(version, "HTTP/1.1") != 0;
    exchange->hang_up = exchange->old_client;
    exchange->query = query_of(wsi);
    exchange->accept = header(wsi, WSI_TOKEN_HTTP_ACCEPT);
    exchange->content_type = header(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE);
    exchange->user_agent = header(wsi, WSI_TOKEN_HTTP_USER_AGENT);
    exchange->bearer = bearer_of(wsi);
    str_init(&encoded, 3 * HEADER_MAX_BYTES);
    encode(&encoded, path, (size_t)lws_hdr_total_length(wsi, target), "/:@!$&'()*+,;=");
    exchange->path = encoded.data;
    if (path[0] != '/')
        return refuse(exchange, 400, "the target must start with a slash\n");
    return check_body(exchange, target != WSI_TOKEN_GET_URI && target != WSI_TOKEN_HEAD_URI);
}

/* Refuses what the library would misread, asks the handler if nothing is to be waited for. */
static int check_body(struct exchange *exchange, bool may_have_body) {
    auto_free char *length = header(exchange->wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH);
    const bool posts = strcmp(exchange->method, "POST") == 0 ||
                       strcmp(exchange->method, "PUT") == 0 ||
                       strcmp(exchange->method, "PATCH") == 0;

    if (lws_hdr_total_length(exchange->wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0)
        return refuse(exchange, 411, "chunked bodies are not read: send Content-Length\n");
    if (posts && length[0] == '\0')
        return refuse(exchange, 411, "send Content-Length\n");
    if (length[strspn(length, "0123456789")] != '\0')
        return refuse(exchange, 400, "Content-Length is no number\n");
    if (strlen(length) > 9 || strtoul(length, NULL, 10) > SERVE_BODY_MAX_BYTES)
        return refuse(exchange, 413, "the body is larger than 3 MiB\n");
    exchange->body_bytes = strtoul(length, NULL, 10);
    if (exchange->body_bytes > 0 && !may_have_body)
        return refuse(exchange, 400, "this method has no body\n");
    if (exchange->body_bytes == 0)
        ask(exchange);
    else if (lws_hdr_total_length(exchange->wsi, WSI_TOKEN_HTTP_EXPECT) > 0)
        return go_on(exchange->wsi);
    return 0;
}

/* curl waits a second for this before it sends a large body. */
static int go_on(struct lws *wsi) {
    static const char LINE[] = "HTTP/1.1 100 Continue\r\n\r\n";
    unsigned char block[LWS_PRE + sizeof LINE];

    memcpy(block + LWS_PRE, LINE, sizeof LINE - 1);
    return lws_write(wsi, block + LWS_PRE, sizeof LINE - 1, LWS_WRITE_HTTP) < 0 ? -1 : 0;
}

static int add_body(struct exchange *exchange, const char *bytes, size_t size_bytes) {
    if (exchange->ended)
        return 0; /* refused: its body is of no use */
    if (exchange->asked || size_bytes > exchange->body_bytes - exchange->body.size_bytes)
        return -1; /* another request came right behind */
    return str_add(&exchange->body, bytes, size_bytes, NULL);
}

/* A request pipelined behind a body makes the library report the end of that body for ever. */
static int end_body(struct exchange *exchange) {
    if (exchange->body_read)
        return -1;
    exchange->body_read = true;
    if (exchange->ended || exchange->asked)
        return 0;
    if (exchange->body.size_bytes != exchange->body_bytes)
        return -1;
    ask(exchange);
    return 0;
}

static void ask(struct exchange *exchange) {
    const struct http_handler *handler = &exchange->port->handler;
    const struct http_incoming incoming = {
        .method = exchange->method,
        .path = exchange->path,
        .query = exchange->query,
        .accept = exchange->accept,
        .content_type = exchange->content_type,
        .bearer = exchange->bearer,
        .user_agent = exchange->user_agent,
        .body = exchange->body.data ? exchange->body.data : "",
        .body_bytes = exchange->body.size_bytes,
    };

    lws_set_timeout(exchange->wsi, NO_PENDING_TIMEOUT, 0); /* however long the answer takes */
    exchange->asked = true;
    listen_to(exchange, false);
    handler->request(handler->arg, &incoming, &exchange->reply);
}

/* What comes early wakes the library, which does not read it: off while there is nothing to write.
 * It does not write either while that is off. */
static void listen_to(struct exchange *exchange, bool on) {
    lws_rx_flow_control(exchange->wsi, LWS_RXFLOW_REASON_USER_BOOL |
                                           LWS_RXFLOW_REASON_FLAG_PROCESS_NOW |
                                           (on ? LWS_RXFLOW_REASON_APPLIES_ENABLE
                                               : LWS_RXFLOW_REASON_APPLIES_DISABLE));
}

/* Answers for the handler, and hangs up: what follows on this connection cannot be trusted. */
static int refuse(struct exchange *exchange, int status, const char *text) {
    exchange->hang_up = true;
    http_answer(&exchange->reply, status, "text/plain", text, strlen(text));
    return 0;
}

/* The connection is gone, or the exchange is over. */
static void drop(struct lws *wsi) {
    struct exchange *exchange = lws_get_opaque_user_data(wsi);

    if (!exchange)
        return;
    lws_set_opaque_user_data(wsi, NULL);
    DL_DELETE(exchange->port->serve->exchanges, exchange);
    if (exchange->asked && !exchange->ended)
        exchange->port->handler.closed(exchange->port->handler.arg, &exchange->reply);
    free(exchange->path);
    free(exchange->query);
    free(exchange->accept);
    free(exchange->content_type);
    if (exchange->bearer)
        OPENSSL_cleanse(exchange->bearer, strlen(exchange->bearer));
    free(exchange->bearer);
    free(exchange->user_agent);
    free(exchange->answer_type);
    free(exchange->warning);
    str_done(&exchange->body);
    str_done(&exchange->out);
    free(exchange);
}

static void start_patrol(struct serve *serve) {
    if (!serve->patrolling)
        lws_sul_schedule(serve->context, 0, &serve->patrol, patrol,
                         PATROL_MS * LWS_USEC_PER_SEC / 1000);
    serve->patrolling = true;
}

/* The library does not read during an answer: it would neither notice that the peer of a silent
 * watch has left nor stop turning in circles over what came too early. */
static void patrol(lws_sorted_usec_list_t *timer) {
    struct serve *serve = lws_container_of(timer, struct serve, patrol);
    struct exchange *exchange;
    size_t count = 0;

    DL_COUNT(serve->exchanges, exchange, count);
    auto_free struct pollfd *fds = str_alloc(count, sizeof *fds);

    count = 0;
    DL_FOREACH(serve->exchanges, exchange) {
        fds[count++] =
            (struct pollfd){.fd = lws_get_socket_fd(exchange->wsi), .events = POLLIN | POLLRDHUP};
    }
    serve->patrolling = false;
    if (count > 0)
        start_patrol(serve);
    if (poll(fds, count, 0) < 0)
        return;
    count = 0;
    DL_FOREACH(serve->exchanges, exchange) {
        const bool early = fds[count].revents & POLLIN;
        const bool left = fds[count++].revents & (POLLRDHUP | POLLHUP | POLLERR);

        if (exchange->asked && !exchange->ended && (left || (early && exchange->early)))
            lws_set_timeout(exchange->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
        exchange->early = early && exchange->asked;
    }
}

/* One block: the library takes a single write per event. It scribbles over the LWS_PRE bytes. */
static int write_some(struct exchange *exchange) {
    unsigned char block[LWS_PRE + HEAD_MAX_BYTES + FRAME_BYTES + BLOCK_BYTES];
    char *text = (char *)block + LWS_PRE;
    struct lws *wsi = exchange->wsi;
    size_t size_bytes = 0;

    if (exchange->lagging)
        return -1;
    if (exchange->ended)
        lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, SLOW_TIMEOUT_S);
    else
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
    if (exchange->whole)
        return finish(exchange);
    if (exchange->status == 0)
        return 0; /* the library's own idea of a good moment */
    if (!exchange->head_sent)
        size_bytes = frame_head(exchange, text);
    size_bytes += frame_body(exchange, text + size_bytes);
    if (size_bytes > 0 &&
        lws_write(wsi, block + LWS_PRE, size_bytes, LWS_WRITE_HTTP) < (int)size_bytes)
        return -1;
    if (exchange->whole)
        return finish(exchange);
    if (exchange->out_sent_bytes < exchange->out.size_bytes || lws_partial_buffered(wsi))
        lws_callback_on_writable(wsi);
    else
        listen_to(exchange, false);
    return 0;
}

/* At once, if the answer has left: the peer may send its next request any moment. */
static int finish(struct exchange *exchange) {
    struct lws *wsi = exchange->wsi;
    const bool hang_up = exchange->hang_up;

    if (lws_partial_buffered(wsi)) {
        lws_callback_on_writable(wsi);
        return 0;
    }
    drop(wsi);
    return hang_up || lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* The length is known if the handler has ended it already. */
static size_t frame_head(struct exchange *exchange, char *text) {
    size_t size_bytes;

    exchange->chunked = !exchange->ended && !exchange->old_client && has_body(exchange);
    size_bytes = (size_t)snprintf(
        text, HEAD_MAX_BYTES, "HTTP/1.1 %d %s\r\ncontent-type: %s\r\n%s%s%s%s", exchange->status,
        reason_phrase(exchange->status), exchange->answer_type,
        exchange->warning ? "warning: 299 - \"" : "", exchange->warning ? exchange->warning : "",
        exchange->warning ? "\"\r\n" : "", exchange->hang_up ? "connection: close\r\n" : "");
    if (exchange->chunked)
        size_bytes += (size_t)snprintf(text + size_bytes, HEAD_MAX_BYTES - size_bytes,
                                       "transfer-encoding: chunked\r\n\r\n");
    else if (exchange->ended && exchange->status != 204 && exchange->status != 304)
        size_bytes += (size_t)snprintf(text + size_bytes, HEAD_MAX_BYTES - size_bytes,
                                       "content-length: %zu\r\n\r\n", exchange->out.size_bytes);
    else
        size_bytes += (size_t)snprintf(text + size_bytes, HEAD_MAX_BYTES - size_bytes, "\r\n");
    exchange->head_sent = true;
    return size_bytes;
}

static size_t frame_body(struct exchange *exchange, char *text) {
    const bool chunked = exchange->chunked;
    size_t part_bytes = exchange->out.size_bytes - exchange->out_sent_bytes;
    size_t size_bytes = 0;

    if (!has_body(exchange)) {
        exchange->out_sent_bytes = exchange->out.size_bytes;
        part_bytes = 0;
    }
    if (part_bytes > BLOCK_BYTES)
        part_bytes = BLOCK_BYTES;
    if (chunked && part_bytes > 0)
        size_bytes = (size_t)snprintf(text, FRAME_BYTES, "%zx\r\n", part_bytes);
    if (part_bytes > 0)
        memcpy(text + size_bytes, exchange->out.data + exchange->out_sent_bytes, part_bytes);
    size_bytes += part_bytes;
    exchange->out_sent_bytes += part_bytes;
    if (chunked && part_bytes > 0) {
        memcpy(text + size_bytes, "\r\n", 2);
        size_bytes += 2;
    }
    if (exchange->out_sent_bytes == exchange->out.size_bytes) {
        str_clear(&exchange->out);
        exchange->out_sent_bytes = 0;
        exchange->whole = exchange->ended;
    }
    if (exchange->whole && chunked) {
        memcpy(text + size_bytes, "0\r\n\r\n", 5);
        size_bytes += 5;
    }
    return size_bytes;
}

static const char *reason_phrase(int status) {
    static const struct {
        int status;
        const char *phrase;
    } PHRASES[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Entity"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };

    for (size_t i = 0; i < sizeof(PHRASES) / sizeof(PHRASES[0]); i++) {
        if (PHRASES[i].status == status)
            return PHRASES[i].phrase;
    }
    return "";
}

static bool has_body(const struct exchange *exchange) {
    return strcmp(exchange->method, "HEAD") != 0 && exchange->status != 204 &&
           exchange->status != 304;
}

static const char *method_of(struct lws *wsi, enum lws_token_indexes *ret_token) {
    static const struct {
        enum lws_token_indexes token;
        const char *method;
    } METHODS[] = {
        {WSI_TOKEN_GET_URI, "GET"},         {WSI_TOKEN_PUT_URI, "PUT"},
        {WSI_TOKEN_POST_URI, "POST"},       {WSI_TOKEN_PATCH_URI, "PATCH"},
        {WSI_TOKEN_DELETE_URI, "DELETE"},   {WSI_TOKEN_HEAD_URI, "HEAD"},
        {WSI_TOKEN_OPTIONS_URI, "OPTIONS"},
    };

    for (size_t i = 0; i < sizeof(METHODS) / sizeof(METHODS[0]); i++) {
        if (lws_hdr_total_length(wsi, METHODS[i].token) > 0) {
            *ret_token = METHODS[i].token;
            return METHODS[i].method;
        }
    }
    return NULL;
}

/* A header's value; "" when absent. Caller frees. */
static char *header(struct lws *wsi, enum lws_token_indexes token) {
    const int size_bytes = lws_hdr_total_length(wsi, token) + 1;
    char *text = str_alloc((size_t)size_bytes, 1);

    if (lws_hdr_copy(wsi, text, size_bytes, token) < 0)
        text[0] = '\0';
    return text;
}

/* The library decodes each argument: encode them again, as what they were. Caller frees. */
static char *query_of(struct lws *wsi) {
    struct str query;
    int len;

    str_init(&query, 4 * HEADER_MAX_BYTES);
    str_add(&query, "", 0, NULL);
    for (int i = 0; (len = lws_hdr_fragment_length(wsi, WSI_TOKEN_HTTP_URI_ARGS, i)) > 0; i++) {
        auto_free char *text = str_alloc((size_t)len + 1, 1);

        if (lws_hdr_copy_fragment(wsi, text, len + 1, WSI_TOKEN_HTTP_URI_ARGS, i) < 0)
            break;
        const char *equals = memchr(text, '=', (size_t)len);
        const size_t name_len = equals ? (size_t)(equals - text) : (size_t)len;

        if (i > 0)
            str_add(&query, "&", 1, NULL);
        encode(&query, text, name_len, "/:@!$'()*,;");
        if (equals) {
            str_add(&query, "=", 1, NULL);
            encode(&query, equals + 1, (size_t)len - name_len - 1, "/:@!$'()*,;");
        }
    }
    return query.data;
}

static void encode(struct str *out, const char *text, size_t len, const char *plain) {
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (letter || (c >= '0' && c <= '9') || (c && strchr("-._~", c)) || (c && strchr(plain, c)))
            str_add(out, text + i, 1, NULL);
        else
            str_addf(out, NULL, "%%%02X", c);
    }
}

/* The token of "Authorization: Bearer ..."; "" when absent. Caller frees. */
static char *bearer_of(struct lws *wsi) {
    char *text = header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    const size_t len = strlen(text);

    if (strncasecmp(text, "Bearer ", 7) != 0) {
        text[0] = '\0';
        return text;
    }
    memmove(text, text + 7, len - 7 + 1);
    return text;
}

static void reply_head(struct http_reply *reply, int status, const char *content_type,
                       const char *warning) {
    struct exchange *exchange = (struct exchange *)reply;

    assert(exchange->status == 0 && status >= 200);
    exchange->status = status;
    exchange->answer_type = header_text(content_type ? content_type : "application/json");
    exchange->warning = warning ? header_text(warning) : NULL;
    listen_to(exchange, true);
    lws_callback_on_writable(exchange->wsi);
}

static void reply_data(struct http_reply *reply, const char *bytes, size_t size_bytes) {
    struct exchange *exchange = (struct exchange *)reply;
    struct str *out = &exchange->out;

    /* What was sent makes room once it is the larger part: each byte moves once on average. */
    if (exchange->out_sent_bytes > BLOCK_BYTES && exchange->out_sent_bytes > out->size_bytes / 2) {
        out->size_bytes -= exchange->out_sent_bytes;
        memmove(out->data, out->data + exchange->out_sent_bytes, out->size_bytes);
        exchange->out_sent_bytes = 0;
    }
    if (exchange->lagging)
        return;
    if (size_bytes > BACKLOG_MAX_BYTES - reply_backlog_bytes(reply) ||
        str_add(out, bytes, size_bytes, NULL) < 0) {
        exchange->lagging = true;
        lws_set_timeout(exchange->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
        return;
    }
    listen_to(exchange, true);
    lws_callback_on_writable(exchange->wsi);
}

static void reply_end(struct http_reply *reply) {
    struct exchange *exchange = (struct exchange *)reply;

    assert(exchange->status != 0);
    exchange->ended = true;
    listen_to(exchange, true);
    lws_callback_on_writable(exchange->wsi);
}

static size_t reply_backlog_bytes(const struct http_reply *reply) {
    const struct exchange *exchange = (const struct exchange *)reply;

    return exchange->out.size_bytes - exchange->out_sent_bytes;
}

/* A copy that is one line, without quotes and not too long for the head. Caller frees. */
static char *header_text(const char *text) {
    char *copy = str_dup_len(text, strnlen(text, HEAD_MAX_BYTES / 3));

    for (char *p = copy; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 127 || *p == '"')
            *p = ' ';
    }
    return copy;
}
