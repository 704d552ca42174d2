#include "rig_fetch.h"

static const char *token_of(char fill, size_t size_bytes) {
    static char token[FETCH_TOKEN_MAX_BYTES + 2];

    memset(token, fill, size_bytes);
    token[size_bytes] = '\0';
    return token;
}

static void what_cannot_be_used_is_refused_by_name(void **state) {
    struct rig *rig = *state;
    static const char *const groups[] = {"g", NULL};
    static const char *const broken_groups[] = {"a\nb", NULL};
    const char *cert = certificate_cert_pem(rig->server);
    const char *key = certificate_key_pem(rig->server);
    struct certificate *other = NULL;
    struct err err = {0};

    assert_int_equal(certificate_authority_new("x", clock_wall_ms(NULL), 1, &other, &err), 0);
    const struct {
        struct fetch_endpoint endpoint;
        const char *message;
    } rows[] = {
        {{.url = NULL}, "server URL"},
        {{.url = ""}, "server URL"},
        {{.url = "host only"}, "server URL"},
        {{.url = "ftp://h"}, "https://"},
        {{.url = "file:///etc/passwd"}, "server URL"},
        {{.url = "http://h"}, "https://"},
        {{.url = "https://u:p@h"}, "host, a port and a path"},
        {{.url = "https://h/?q"}, "host, a port and a path"},
        {{.url = "https://h/#f"}, "host, a port and a path"},
        {{.url = "https://h:99999"}, "server URL"},
        {{.url = "https://h", .ca_pem = "no PEM"}, "authority"},
        {{.url = "https://h", .ca_pem = ""}, "authority"},
        {{.url = "https://h", .cert_pem = cert}, "goes with a key"},
        {{.url = "https://h", .key_pem = key}, "goes with a key"},
        {{.url = "https://h", .cert_pem = "x", .key_pem = key}, "client certificate"},
        {{.url = "https://h", .cert_pem = cert, .key_pem = "x"}, "client key"},
        {{.url = "https://h", .cert_pem = cert, .key_pem = certificate_key_pem(other)}, "belong"},
        {{.url = "https://h", .token = ""}, "bearer token"},
        {{.url = "https://h", .token = "a\nb"}, "bearer token"},
        {{.url = "https://h", .token = "a\rb"}, "bearer token"},
        {{.url = "https://h", .token = token_of('a', FETCH_TOKEN_MAX_BYTES + 1)}, "65536"},
        {{.url = "https://h", .token = "t", .basic = "u:p"}, "exclude"},
        {{.url = "https://h", .basic = "user"}, "password"},
        {{.url = "https://h", .server_name = "a b"}, "server name"},
        {{.url = "https://h", .server_name = ""}, "server name"},
        {{.url = "https://h", .server_name = "a/b"}, "server name"},
        {{.url = "https://h", .proxy_url = "ftp://p"}, "proxy"},
        {{.url = "https://h", .proxy_url = ""}, "proxy"},
        {{.url = "https://h", .user_agent = "a\nb"}, "user agent"},
        {{.url = "https://h", .impersonate_groups = groups}, "no user"},
        {{.url = "https://h", .impersonate_user = "a\r\nX: y"}, "Impersonate-User"},
        {{.url = "https://h", .impersonate_user = "u", .impersonate_groups = broken_groups},
         "Impersonate-Group"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct transport *transport = NULL;

        if (fetch_endpoint_new(rig->fetch, &rows[i].endpoint, &transport, &err) != ERR_INVALID ||
            !strstr(err.msg, rows[i].message))
            fail_msg("row %zu: %s", i, err.msg);
        assert_null(transport);
    }
    certificate_free(other);
}

/* Sends one GET and waits for its end. */
static enum http_end ask(struct rig *rig, struct transport *transport) {
    struct got got = {0};

    rig_get(transport, &got, "/ok", HTTP_UNARY);
    TURN_UNTIL(rig, got.dones);
    return got.end;
}

static enum http_end ask_once(struct rig *rig, const struct fetch_endpoint *endpoint) {
    struct transport *transport = rig_transport(rig, endpoint);
    const enum http_end end = ask(rig, transport);

    transport_free(transport);
    return end;
}

static void C05_a_new_token_is_on_the_next_request(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h1", NULL);
    struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
    struct err err = {0};

    endpoint.token = "first";
    struct transport *transport = rig_transport(rig, &endpoint);

    assert_int_equal(ask(rig, transport), HTTP_DONE);
    assert_int_equal(fetch_endpoint_token(transport, "second", &err), 0);
    assert_int_equal(ask(rig, transport), HTTP_DONE);
    assert_int_equal(fetch_endpoint_token(transport, "a\nb", &err), ERR_INVALID);
    assert_int_equal(ask(rig, transport), HTTP_DONE);
    assert_int_equal(fetch_endpoint_token(transport, NULL, &err), 0);
    assert_int_equal(ask(rig, transport), HTTP_DONE);
    assert_int_equal(peer_count(peer, "header authorization: Bearer first\n"), 1);
    assert_int_equal(peer_count(peer, "header authorization: Bearer second\n"), 2);
    assert_int_equal(peer_count(peer, "header authorization"), 3);
    assert_int_equal(peer_count(peer, "open"), 1);
    transport_free(transport);
    peer_free(peer);
}

static void C06_a_long_token_is_sent_whole(void **state) {
    static const size_t SIZES[] = {12288, FETCH_TOKEN_MAX_BYTES};
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h1", NULL);
    struct fetch_endpoint endpoint = rig_endpoint(rig, peer);

    for (size_t i = 0; i < 2; i++) {
        char line[64];

        endpoint.token = token_of('a', SIZES[i]);
        assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
        snprintf(line, sizeof line, "long authorization %zu\n",
                 strlen("authorization: Bearer ") + SIZES[i]);
        assert_int_equal(peer_count(peer, line), 1);
    }
    peer_free(peer);
}

static struct certificate *client_new(const struct rig *rig, const char *name) {
    const struct certificate_subject subject = {.common_name = name, .client = true, .days = 1};
    struct certificate *client = NULL;
    struct err err = {0};

    assert_int_equal(
        certificate_issue(rig->authority, &subject, clock_wall_ms(NULL), &client, &err), 0);
    return client;
}

static void C08_a_new_certificate_replaces_every_connection(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h1", NULL);
    struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
    struct certificate *first = client_new(rig, "first");
    struct certificate *second = client_new(rig, "second");
    struct got stream = {0}, again = {0};
    struct err err = {0};

    endpoint.cert_pem = certificate_cert_pem(first);
    endpoint.key_pem = certificate_key_pem(first);
    struct transport *transport = rig_transport(rig, &endpoint);

    assert_int_equal(ask(rig, transport), HTTP_DONE);
    rig_get(transport, &stream, "/flow", HTTP_STREAM);
    TURN_UNTIL(rig, stream.body_bytes);
    assert_int_equal(peer_count(peer, "client first\n"), 2);
    assert_int_equal(fetch_endpoint_certificate(transport, certificate_cert_pem(second),
                                                certificate_key_pem(first), &err),
                     ERR_INVALID);
    assert_int_equal(fetch_endpoint_certificate(transport, certificate_cert_pem(second),
                                                certificate_key_pem(second), &err),
                     0);
    assert_int_equal(stream.dones, 0);
    TURN_UNTIL(rig, peer_count(peer, "close") == 2);
    assert_int_equal(stream.dones, 1);
    assert_int_equal(stream.end, HTTP_BROKEN);
    assert_int_equal(ask(rig, transport), HTTP_DONE);
    rig_get(transport, &again, "/flow", HTTP_STREAM);
    TURN_UNTIL(rig, again.body_bytes);
    assert_int_equal(peer_count(peer, "client first\n"), 2);
    assert_int_equal(peer_count(peer, "client second\n"), 2);
    transport_free(transport);
    certificate_free(first);
    certificate_free(second);
    peer_free(peer);
}

/* curl consults the environment only where an endpoint names no proxy. */
static void C13_each_endpoint_has_its_own_proxy(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h1", NULL);
    char port[16], url[64], environment[64];

    snprintf(port, sizeof port, "%d", peer->port);
    struct peer *first = peer_new(rig, "proxy", port);
    struct peer *second = peer_new(rig, "proxy", port);
    struct fetch_endpoint endpoint = rig_endpoint(rig, peer);

    endpoint.token = "secret";
    endpoint.url = "https://api.example:7443";
    snprintf(url, sizeof url, "http://user:word@127.0.0.1:%d", first->port);
    endpoint.proxy_url = url;
    setenv("NO_PROXY", "api.example", 1);
    assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
    unsetenv("NO_PROXY");
    assert_int_equal(peer_count(first, "connect api.example:7443\n"), 1);
    assert_int_equal(peer_count(first, "login"), 1);
    assert_int_equal(peer_count(first, "leak"), 0);
    snprintf(url, sizeof url, "socks5://127.0.0.1:%d", second->port);
    assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
    assert_int_equal(peer_count(second, "socks api.example:7443\n"), 1);
    snprintf(environment, sizeof environment, "http://127.0.0.1:%d", second->port);
    setenv("HTTPS_PROXY", environment, 1);
    endpoint.proxy_url = NULL;
    assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
    assert_int_equal(peer_count(second, "connect api.example:7443\n"), 1);
    setenv("NO_PROXY", "127.0.0.1", 1);
    endpoint.url = peer->url;
    assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
    unsetenv("NO_PROXY");
    unsetenv("HTTPS_PROXY");
    assert_int_equal(peer_count(first, "connect"), 1);
    assert_int_equal(peer_count(second, "connect"), 1);
    peer_free(first);
    peer_free(second);
    peer_free(peer);
}

static void C14_the_server_name_is_asked_for_and_checked(void **state) {
    static const char *const names[] = {"api.x", NULL};
    const struct certificate_subject subject = {
        .common_name = "server", .names = names, .days = 30};
    struct rig *rig = *state;
    struct err err = {0};
    char line[64];

    certificate_free(rig->server);
    assert_int_equal(
        certificate_issue(rig->authority, &subject, clock_wall_ms(NULL), &rig->server, &err), 0);
    rig_write(rig->files[0], certificate_cert_pem(rig->server));
    rig_write(rig->files[1], certificate_key_pem(rig->server));
    struct peer *peer = peer_new(rig, "h1", NULL);
    struct fetch_endpoint endpoint = rig_endpoint(rig, peer);

    assert_int_equal(ask_once(rig, &endpoint), HTTP_UNTRUSTED);
    endpoint.server_name = "api.y";
    assert_int_equal(ask_once(rig, &endpoint), HTTP_UNTRUSTED);
    assert_int_equal(peer_count(peer, "request"), 0);
    endpoint.server_name = "api.x";
    assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
    assert_int_equal(peer_count(peer, "sni api.x\n"), 1);
    snprintf(line, sizeof line, "header host: 127.0.0.1:%d\n", peer->port);
    assert_int_equal(peer_count(peer, line), 1);
    assert_int_equal(peer_count(peer, "header host"), 1);
    peer_free(peer);
}

static void C15_without_an_authority_the_system_decides(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h1", NULL);
    struct fetch_endpoint endpoint = rig_endpoint(rig, peer);

    endpoint.ca_pem = NULL;
    endpoint.token = "secret";
    assert_int_equal(ask_once(rig, &endpoint), HTTP_UNTRUSTED);
    assert_int_equal(peer_count(peer, "request"), 0);
    endpoint.insecure = true;
    assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
    peer_free(peer);
}

static void C15_credentials_never_go_out_in_the_clear(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "plain", NULL);
    const struct fetch_endpoint bare = rig_endpoint(rig, peer);
    struct fetch_endpoint with_token = bare, with_basic = bare, with_cert = bare;
    struct err err = {0};

    with_token.token = "secret";
    with_basic.basic = "u:p";
    with_cert.cert_pem = certificate_cert_pem(rig->server);
    with_cert.key_pem = certificate_key_pem(rig->server);
    assert_int_equal(ask_once(rig, &with_token), HTTP_REFUSED);
    assert_int_equal(ask_once(rig, &with_basic), HTTP_REFUSED);
    assert_int_equal(ask_once(rig, &with_cert), HTTP_REFUSED);
    assert_int_equal(peer_count(peer, "open"), 0);
    struct transport *transport = rig_transport(rig, &bare);

    assert_int_equal(ask(rig, transport), HTTP_DONE);
    assert_int_equal(fetch_endpoint_token(transport, "later", &err), 0);
    assert_int_equal(ask(rig, transport), HTTP_REFUSED);
    assert_int_equal(peer_count(peer, "request"), 1);
    transport_free(transport);
    peer_free(peer);
}

static void C79_impersonation_is_on_every_request(void **state) {
    static const char *const groups[] = {"tenants", "eu", NULL};
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h1", NULL);
    struct fetch_endpoint endpoint = rig_endpoint(rig, peer);

    endpoint.basic = "user:word";
    endpoint.impersonate_user = "shop";
    endpoint.impersonate_groups = groups;
    assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
    assert_int_equal(peer_count(peer, "header impersonate-user: shop\n"), 1);
    assert_int_equal(peer_count(peer, "header impersonate-group: tenants\n"), 1);
    assert_int_equal(peer_count(peer, "header impersonate-group: eu\n"), 1);
    assert_int_equal(peer_count(peer, "header authorization: Basic dXNlcjp3b3Jk\n"), 1);
    peer_free(peer);
}

static void C82_inner_addresses_are_never_dialled(void **state) {
    static const char *const URLS[] = {
        "https://169.254.169.254",
        "https://[fe80::1]",
        "https://0.0.0.0",
        "https://[::]",
        "https://224.0.0.1",
        "https://127.0.0.1",
        "https://localhost",
        "https://[::1]",
        "https://2130706433",
        "https://0x7f.1",
        "https://[::ffff:127.0.0.1]",
    };
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof URLS / sizeof *URLS; i++) {
        const struct fetch_endpoint endpoint = {.url = URLS[i]};
        const enum http_end end = ask_once(rig, &endpoint);

        if (end != HTTP_REFUSED)
            fail_msg("%s: %d", URLS[i], end);
    }
}

static void a_path_prefix_comes_before_every_target(void **state) {
    struct rig *rig = *state;
    struct peer *peer = peer_new(rig, "h1", NULL);
    struct fetch_endpoint endpoint = rig_endpoint(rig, peer);
    char url[128];

    snprintf(url, sizeof url, "%s/clusters/a%%2Fb/", peer->url);
    endpoint.url = url;
    assert_int_equal(ask_once(rig, &endpoint), HTTP_DONE);
    assert_int_equal(peer_count(peer, "request GET /clusters/a%2Fb/ok\n"), 1);
    peer_free(peer);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_used_is_refused_by_name),
        TEST(C05_a_new_token_is_on_the_next_request),
        TEST(C06_a_long_token_is_sent_whole),
        TEST(C08_a_new_certificate_replaces_every_connection),
        TEST(C13_each_endpoint_has_its_own_proxy),
        TEST(C14_the_server_name_is_asked_for_and_checked),
        TEST(C15_without_an_authority_the_system_decides),
        TEST(C15_credentials_never_go_out_in_the_clear),
        TEST(C79_impersonation_is_on_every_request),
        TEST(C82_inner_addresses_are_never_dialled),
        TEST(a_path_prefix_comes_before_every_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
