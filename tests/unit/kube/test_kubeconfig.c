#include "kube/kubeconfig.h"

#include "unit.h"

#include "base/auto.h"
#include "base/base64.h"
#include "kube/keyfile.h"
#include "net/fetch.h"
#include "tempfolder.h"

#include <sys/wait.h>

#define CLUSTER "clusters: [{name: c, cluster: {server: 'https://h:6443'}}]\n"
#define EXEC                                                                                       \
    "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}"
#define CONTEXT "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"

static const struct kubeconfig_options person = {
    .allow_files = true,
    .allow_insecure = true,
    .policy.rule = EXECPLUGIN_ALLOW_ALL,
};
static const struct kubeconfig_options secret = {0};

/* Parses text as a file in the temporary folder would be, and selects the current context. */
static int select_text(const char *text, const struct kubeconfig_options *options,
                       struct kubeconfig_login *ret_login, struct err *err) {
    struct kubeconfig *config = NULL;
    int r = kubeconfig_parse(text, strlen(text), "F", options->allow_files ? tempfolder : NULL,
                             &config, err);

    if (r >= 0)
        r = kubeconfig_select(config, NULL, options, ret_login, err);
    kubeconfig_free(config);
    return r;
}

static struct kubeconfig_login login_of(const char *text,
                                        const struct kubeconfig_options *options) {
    struct kubeconfig_login login = {0};
    struct err err = {0};

    if (select_text(text, options, &login, &err) < 0)
        fail_msg("%s", err.msg);
    return login;
}

static struct kubeconfig_login user_login(const char *user) {
    auto_free char *text = str_printf(CLUSTER "users: [{name: u, user: {%s}}]\n" CONTEXT, user);

    return login_of(text, &person);
}

static void refuse(const char *text, const struct kubeconfig_options *options, int code,
                   const char *words) {
    struct kubeconfig_login login = {0};
    struct err err = {0};
    const int r = select_text(text, options, &login, &err);

    if (r != code || !strstr(err.msg, words))
        fail_msg("%s\ngave %d '%s', not %d with '%s'", text, r, err.msg, code, words);
    if (strstr(err.msg, "hush"))
        fail_msg("a secret is in '%s'", err.msg);
    assert_null(login.url);
}

static void refuse_user(const char *user, const char *words) {
    auto_free char *text = str_printf(CLUSTER "users: [{name: u, user: {%s}}]\n" CONTEXT, user);

    refuse(text, &person, ERR_INVALID, words);
}

static void refuse_cluster(const char *cluster, const char *words) {
    auto_free char *text = str_printf(
        "clusters: [{name: c, cluster: {%s}}]\nusers: [{name: u, user: {}}]\n" CONTEXT, cluster);

    refuse(text, &person, ERR_INVALID, words);
}

static char *base64_of(const char *text) {
    struct str out;

    str_init(&out, 1 << 20);
    assert_int_equal(base64_encode(&out, text, strlen(text), NULL), 0);
    return out.data;
}

static void C01_first_file_wins(void **state) {
    (void)state;
    mkdir(tempfolder_path("a"), 0700);
    mkdir(tempfolder_path("b"), 0700);
    for (int i = 0; i < 2; i++) {
        tempfolder_put(i ? "b/crt" : "a/crt", i ? CERT_B : CERT_A);
        tempfolder_put(i ? "b/key" : "a/key", i ? KEY_B : KEY_A);
    }
    tempfolder_put("a/config", "users: [{name: u, user: {client-certificate: crt, "
                               "client-key: ./key}}]\ncurrent-context: ''\n");
    tempfolder_put("b/config", CLUSTER
                   "users: [{name: u, user: {token: hush, client-certificate: crt, client-key: "
                   "key}}]\n" CONTEXT "preferences: {}\n");
    auto_free char *list =
        str_printf("%s/none::%s/a/config:%s/b/config:", tempfolder, tempfolder, tempfolder);
    struct kubeconfig *config = NULL;
    struct kubeconfig_login login = {0};
    struct err err = {0};

    assert_int_equal(kubeconfig_load(NULL, list, "/nonexistent", &config, &err), 0);
    assert_string_equal(kubeconfig_current(config), "x");
    if (kubeconfig_select(config, NULL, &person, &login, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(login.cert_pem, CERT_A);
    assert_string_equal(login.key_pem, KEY_A);
    assert_string_equal(login.cert_file, tempfolder_path("a/crt"));
    assert_null(login.token); /* nothing of b's u is mixed in */
    assert_string_equal(login.url, "https://h:6443");
    kubeconfig_login_done(&login);
    kubeconfig_free(config);
}

static void C01_the_current_context_and_maps_are_the_first_ones(void **state) {
    struct kubeconfig *config = NULL;
    struct kubeconfig_login login = {0};

    (void)state;
    tempfolder_put("1", "contexts: [{name: p, context: {cluster: c, namespace: one}}]\n"
                        "current-context: p\n");
    tempfolder_put("2", CLUSTER "contexts: [{name: q, context: {cluster: c}}, {name: p, context: "
                                "{cluster: zz}}]\ncurrent-context: q\n");
    auto_free char *list = str_printf("%s/1:%s/2", tempfolder, tempfolder);

    assert_int_equal(kubeconfig_load("", list, NULL, &config, NULL), 0);
    assert_string_equal(kubeconfig_current(config), "p");
    assert_string_equal(kubeconfig_context(config, 0), "p");
    assert_string_equal(kubeconfig_context(config, 1), "q");
    assert_null(kubeconfig_context(config, 2));
    assert_int_equal(kubeconfig_select(config, NULL, &secret, &login, NULL), 0);
    assert_string_equal(login.ns, "one");
    kubeconfig_login_done(&login);
    assert_int_equal(kubeconfig_select(config, "q", &secret, &login, NULL), 0);
    assert_null(login.ns);
    kubeconfig_login_done(&login);
    kubeconfig_free(config);
}

static void C01_only_an_explicit_path_must_exist(void **state) {
    struct kubeconfig *config = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(
        kubeconfig_load(tempfolder_path("gone"), tempfolder_path("1"), NULL, &config, &err),
        ERR_NOTFOUND);
    assert_non_null(strstr(err.msg, "gone"));
    assert_int_equal(kubeconfig_load(tempfolder, NULL, NULL, &config, &err), ERR_INVALID);
    assert_int_equal(kubeconfig_load(NULL, "/none/a:/none/b", NULL, &config, &err), 0);
    kubeconfig_free(config);
    assert_int_equal(kubeconfig_load(NULL, NULL, tempfolder, &config, &err), 0);
    struct kubeconfig_login login;

    assert_int_equal(kubeconfig_select(config, NULL, &person, &login, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "current-context"));
    kubeconfig_free(config);
    mkdir(tempfolder_path(".kube"), 0700);
    tempfolder_put(".kube/config", "current-context: here");
    assert_int_equal(kubeconfig_load(NULL, "", tempfolder, &config, &err), 0);
    assert_string_equal(kubeconfig_current(config), "here");
    kubeconfig_free(config);
    /* a file that is there and broken is not skipped */
    tempfolder_put("broken", "clusters: [");
    assert_int_equal(kubeconfig_load(NULL, tempfolder_path("broken"), NULL, &config, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.msg, "broken"));
}

static void C01_a_path_without_folder_and_at_the_root(void **state) {
    struct kubeconfig *config = NULL;
    struct kubeconfig_login login;
    struct err err = {0};
    auto_free char *before = getcwd(NULL, 0);

    (void)state;
    tempfolder_put("tok", "t-1\n");
    tempfolder_put("plain", CLUSTER "users: [{name: u, user: {tokenFile: tok}}]\n" CONTEXT);
    assert_int_equal(chdir(tempfolder), 0);
    assert_int_equal(kubeconfig_load("plain", NULL, NULL, &config, &err), 0);
    assert_int_equal(kubeconfig_select(config, NULL, &person, &login, &err), 0);
    assert_string_equal(login.token, "t-1");
    assert_string_equal(login.token_file, "./tok");
    assert_int_equal(chdir(before), 0);
    kubeconfig_login_done(&login);
    kubeconfig_free(config);
    /* bytes of no file have no folder that a relative path could start from */
    static const char text[] = CLUSTER "users: [{name: u, user: {tokenFile: tok}}]\n" CONTEXT;

    assert_int_equal(kubeconfig_parse(text, sizeof text - 1, "F", NULL, &config, &err), 0);
    assert_int_equal(kubeconfig_select(config, NULL, &person, &login, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "tokenFile: is a relative path"));
    kubeconfig_free(config);
}

static void C01_an_explicit_path_may_be_a_pipe(void **state) {
    struct kubeconfig *config = NULL;
    const char *path = tempfolder_path("pipe");

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t pid = fork();

    if (pid == 0) {
        FILE *file = fopen(path, "w"); /* as of --kubeconfig <(program) */

        _exit(!file || fputs("current-context: piped", file) < 0 || fclose(file) != 0);
    }
    assert_int_equal(kubeconfig_load(path, NULL, NULL, &config, NULL), 0);
    assert_string_equal(kubeconfig_current(config), "piped");
    kubeconfig_free(config);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void limits_of_files_and_entries_hold(void **state) {
    struct kubeconfig *config = NULL;
    struct err err = {0};
    struct str text;

    (void)state;
    tempfolder_put("e", "");
    for (int count = KUBECONFIG_FILES_MAX; count <= KUBECONFIG_FILES_MAX + 1; count++) {
        str_init(&text, 1 << 20);
        for (int i = 0; i < count; i++)
            str_addf(&text, NULL, "%s/e:", tempfolder);
        const int r = kubeconfig_load(NULL, text.data, NULL, &config, &err);

        assert_int_equal(r, count > KUBECONFIG_FILES_MAX ? ERR_INVALID : 0);
        if (r == 0)
            kubeconfig_free(config);
        str_done(&text);
    }
    for (int count = KUBECONFIG_ENTRIES_MAX; count <= KUBECONFIG_ENTRIES_MAX + 1; count++) {
        str_init(&text, 1 << 20);
        str_addf(&text, NULL, "contexts:\n");
        for (int i = 0; i < count; i++)
            str_addf(&text, NULL, "- {name: c%d}\n", i);
        const int r = kubeconfig_parse(text.data, text.size_bytes, "F", NULL, &config, &err);

        assert_int_equal(r, count > KUBECONFIG_ENTRIES_MAX ? ERR_INVALID : 0);
        if (r == 0)
            kubeconfig_free(config);
        str_done(&text);
    }
    auto_free char *big = str_alloc(KUBECONFIG_FILE_MAX_BYTES + 1, 1);

    memset(big, '#', KUBECONFIG_FILE_MAX_BYTES + 1);
    assert_int_equal(kubeconfig_parse(big, KUBECONFIG_FILE_MAX_BYTES + 1, "F", NULL, &config, &err),
                     ERR_INVALID);
    tempfolder_put_bytes("big", big, KUBECONFIG_FILE_MAX_BYTES + 1);
    assert_int_equal(kubeconfig_load(tempfolder_path("big"), NULL, NULL, &config, &err),
                     ERR_INVALID);
}

static void C02_data_beats_file(void **state) {
    auto_free char *cert = base64_of(CERT_B);
    auto_free char *key = base64_of(KEY_B);
    auto_free char *user =
        str_printf("client-certificate: a.crt, client-key: /none, client-certificate-data: \"%s\", "
                   "client-key-data: \"%.10s\\n %.6s\\r\\n%s\"",
                   cert, key, key + 10, key + 16);

    (void)state;
    tempfolder_put("a.crt", CERT_A);
    struct kubeconfig_login login = user_login(user);

    assert_string_equal(login.cert_pem, CERT_B);
    assert_string_equal(login.key_pem, KEY_B);
    assert_null(login.cert_file);
    assert_null(login.key_file);
    kubeconfig_login_done(&login);
    refuse_user("client-certificate-data: 'aHVzaA', client-key-data: aaaa", "-data: not base64");
    refuse_user("client-certificate: /none/x, client-key: /none/y, token: 7", "token: is not text");
}

static void C03_conflicts_are_errors_by_name(void **state) {
    static const char *const users[][2] = {
        {"token: hush, username: a, password: hush", "a token and username"},
        {"exec: {command: x}, auth-provider: {name: oidc}", "auth-provider: is set beside exec"},
        {"auth-provider: {name: oidc}", "auth-provider: is not supported; use exec"},
        {"as-uid: '7'", "without as"},
        {"as-groups: [g]", "without as"},
        {"as-user-extra: {k: [v]}", "without as"},
        {"as: a, as-uid: '7'", "as-uid: is not supported"},
        {"as: a, as-user-extra: {k: [v]}", "as-user-extra: is not supported"},
        {"as: a, as-groups: [1]", "as-groups[0]"},
        {"as: \"a\\r\\nHost: b\"", "as: has a control character"},
        {"as: a, as-groups: [\"b\\n\"]", "as-groups[0]"},
        {"password: hush", "password: is set without username"},
        {"username: 'a:b', password: hush", "username"},
        {"username: a, password: \"hush\\n\"", "control character"},
        {"token: [hush]", "token: is not text; quote it"},
    };
    static const char *const clusters[][2] = {
        {"server: 'https://h', insecure-skip-tls-verify: true, certificate-authority-data: "
         "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFVRkIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=",
         "insecure-skip-tls-verify and certificate-authority"},
        {"server: ''", "server: is missing"},
        {"insecure-skip-tls-verify: 'yes', server: h", "insecure-skip-tls-verify: neither"},
        {"server: 'ftp://h'", "server: must start with https://"},
        {"server: 'https://a:hush@h'", "server: is no plain URL"},
        {"server: 'https://'", "server: is no plain URL"},
        {"server: 'https:///x'", "server: is no plain URL"},
        {"server: 'https://h?x=1'", "server: is no plain URL"},
        {"server: 'https://h', tls-server-name: \"a\\nb\"", "tls-server-name: has a control"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++)
        refuse_user(users[i][0], users[i][1]);
    for (size_t i = 0; i < sizeof clusters / sizeof clusters[0]; i++)
        refuse_cluster(clusters[i][0], clusters[i][1]);
    refuse_user("token: hush, username: a", "F: user \"u\": ");
    refuse_cluster("server: ''", "F: cluster \"c\": ");
}

static void C03_exec_is_ignored_beside_another_credential(void **state) {
    static const char *const others[] = {"token: t", "username: a, password: b"};

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        auto_free char *user = str_printf("%s, exec: {command: nonsense}", others[i]);
        auto_free char *text = str_printf(CLUSTER "users: [{name: u, user: {%s}}]\n" CONTEXT, user);
        struct kubeconfig_login login = login_of(text, &secret);

        assert_null(login.exec);
        kubeconfig_login_done(&login);
    }
    auto_free char *cert = base64_of(CERT_A);
    auto_free char *key = base64_of(KEY_A);
    auto_free char *pair =
        str_printf("client-certificate-data: %s, client-key-data: %s, exec: {}", cert, key);
    struct kubeconfig_login login = user_login(pair);

    assert_null(login.exec);
    kubeconfig_login_done(&login);
    auto_free char *alone = str_printf("client-certificate-data: %s", cert);
    auto_free char *other = str_printf("client-key-data: %s", key);

    refuse_user(alone, "client-key-data: is missing");
    refuse_user(other, "client-certificate-data: is missing");
}

static void C03_basic_and_impersonation_reach_the_endpoint(void **state) {
    struct kubeconfig_login login =
        user_login("username: a, password: 'b:c', as: eve, as-groups: [g1, 'g 2']");
    struct fetch_endpoint endpoint;

    (void)state;
    kubeconfig_endpoint(&login, &endpoint);
    assert_string_equal(endpoint.url, "https://h:6443");
    assert_string_equal(endpoint.basic, "a:b:c");
    assert_string_equal(endpoint.impersonate_user, "eve");
    assert_string_equal(endpoint.impersonate_groups[0], "g1");
    assert_string_equal(endpoint.impersonate_groups[1], "g 2");
    assert_null(endpoint.impersonate_groups[2]);
    assert_null(endpoint.token);
    assert_null(endpoint.ca_pem);
    assert_false(endpoint.loopback);
    assert_false(endpoint.insecure);
    kubeconfig_login_done(&login);
}

static void C03_groups_are_bounded(void **state) {
    (void)state;
    for (int count = KUBECONFIG_GROUPS_MAX; count <= KUBECONFIG_GROUPS_MAX + 1; count++) {
        struct str user;

        str_init(&user, 10000);
        str_addf(&user, NULL, "as: a, as-groups: [g");
        for (int i = 1; i < count; i++)
            str_addf(&user, NULL, ", g%d", i);
        str_addf(&user, NULL, "]");
        if (count > KUBECONFIG_GROUPS_MAX) {
            refuse_user(user.data, "as-groups: more than 100");
        } else {
            struct kubeconfig_login login = user_login(user.data);

            assert_string_equal(login.impersonate_groups[count - 1], "g99");
            kubeconfig_login_done(&login);
        }
        str_done(&user);
    }
}

static void C04_token_stands_until_the_file_was_read(void **state) {
    (void)state;
    tempfolder_put("tok", " from-file\r\n");
    struct kubeconfig_login login = user_login("token: inline, tokenFile: tok");

    assert_string_equal(login.token, "inline");
    assert_string_equal(login.token_file, tempfolder_path("tok"));
    kubeconfig_login_done(&login);
    login = user_login("tokenFile: tok");
    assert_string_equal(login.token, "from-file");
    kubeconfig_login_done(&login);
    refuse(CLUSTER "users: [{name: u, user: {tokenFile: gone}}]\n" CONTEXT, &person, ERR_NOTFOUND,
           "tokenFile");
}

static void C06_token_size_and_line_breaks(void **state) {
    (void)state;
    for (size_t size = 12 * 1024; size <= KEYFILE_TOKEN_MAX_BYTES; size += 4096 + 17) {
        auto_free char *token = str_alloc(size + 1, 1);

        memset(token, 'x', size);
        auto_free char *user = str_printf("token: '%s'", token);
        struct kubeconfig_login login = user_login(user);

        assert_string_equal(login.token, token);
        kubeconfig_login_done(&login);
    }
    auto_free char *token = str_alloc(KEYFILE_TOKEN_MAX_BYTES + 2, 1);

    memset(token, 'x', KEYFILE_TOKEN_MAX_BYTES + 1);
    auto_free char *user = str_printf("token: '%s'", token);

    refuse_user(user, "at most 65536");
    refuse_user("token: \"hush\\nb\"", "token: a token with a blank, line break");
    refuse_user("token: \"hush\\rb\"", "token: a token with a blank, line break");
    refuse_user("token: \"hush\\0b\"", "token: ");
    tempfolder_put_bytes("nul", "hush\0b", 6);
    refuse_user("tokenFile: nul", "control character");
    tempfolder_put("blank", " \n");
    refuse_user("tokenFile: blank", "is empty");
}

static void C12_exec_in_a_Secret_is_refused(void **state) {
    static const char text[] = CLUSTER
        "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "
        "../bin/token.sh, interactiveMode: Never}}}]\n" CONTEXT;
    static const char *const listed[] = {"/usr/bin/other", NULL};
    struct kubeconfig_options some = person;

    (void)state;
    refuse(text, &secret, ERR_INVALID, "F: user \"u\": ExecNotAllowed: user \"u\"");
    refuse(text, &secret, ERR_INVALID, "kubectl create token");
    some.policy = (struct execplugin_policy){EXECPLUGIN_ALLOW_LISTED, listed};
    refuse(text, &some, ERR_INVALID, "ExecNotAllowed");
    struct kubeconfig_login login = login_of(text, &person);
    auto_free char *command = str_printf("%s/../bin/token.sh", tempfolder);

    assert_string_equal(login.exec->command, command);
    kubeconfig_login_done(&login);
    const char *const mine[] = {command, NULL};

    some.policy.listed = mine;
    login = login_of(text, &some);
    kubeconfig_login_done(&login);
    some = secret;
    some.policy.rule = EXECPLUGIN_ALLOW_ALL; /* the folder is not known */
    refuse(text, &some, ERR_INVALID, "command: is relative to a file");
}

static void C12_a_Secret_reads_no_file_of_the_hub(void **state) {
    static const char *const users[] = {"tokenFile: /etc/hostname", "client-certificate: /etc/x",
                                        "client-key: /etc/x", "token: t, tokenFile: /etc/hostname"};

    (void)state;
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        auto_free char *text =
            str_printf(CLUSTER "users: [{name: u, user: {%s}}]\n" CONTEXT, users[i]);

        refuse(text, &secret, ERR_INVALID, "files are not read for this kubeconfig");
    }
    refuse("clusters: [{name: c, cluster: {server: h, certificate-authority: /etc/x}}]\n"
           "users: [{name: u}]\n" CONTEXT,
           &secret, ERR_INVALID, "certificate-authority: files are not read");
}

static void C13_each_cluster_has_its_proxy(void **state) {
    static const char *const good[] = {"http://127.0.0.1:3128", "https://p", "socks5://u:pw@p:1080",
                                       "socks5h://p:1"};
    static const char *const bad[] = {"127.0.0.1:3128", "ftp://hush", "http://", "socks4://hush",
                                      "http:///hush"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        auto_free char *text = str_printf("clusters: [{name: c, cluster: {server: 'https://h', "
                                          "proxy-url: '%s'}}]\nusers: [{name: u}]\n" CONTEXT,
                                          good[i]);
        struct kubeconfig_login login = login_of(text, &secret);
        struct fetch_endpoint endpoint;

        kubeconfig_endpoint(&login, &endpoint);
        assert_string_equal(endpoint.proxy_url, good[i]);
        kubeconfig_login_done(&login);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        auto_free char *cluster = str_printf("server: 'https://h', proxy-url: '%s'", bad[i]);

        refuse_cluster(cluster, "proxy-url: must be");
    }
}

static void C14_server_name_reaches_the_endpoint(void **state) {
    struct kubeconfig_login login =
        login_of("clusters: [{name: c, cluster: {server: 'https://10.0.0.1', tls-server-name: "
                 "api.x}}]\nusers: [{name: u}]\n" CONTEXT,
                 &secret);
    struct fetch_endpoint endpoint;

    (void)state;
    kubeconfig_endpoint(&login, &endpoint);
    assert_string_equal(endpoint.server_name, "api.x");
    assert_string_equal(endpoint.url, "https://10.0.0.1");
    kubeconfig_login_done(&login);
}

static void C15_insecure_needs_a_switch_and_http_carries_nothing_secret(void **state) {
    static const char insecure[] =
        "clusters: [{name: c, cluster: {server: h, insecure-skip-tls-verify: true}}]\n"
        "users: [{name: u}]\n" CONTEXT;
    static const char *const secrets[] = {"token: hush", "username: a, password: hush", EXEC};

    (void)state;
    refuse(insecure, &secret, ERR_INVALID, "InsecureTransport");
    struct kubeconfig_login login = login_of(insecure, &person);

    assert_true(login.insecure);
    assert_string_equal(login.url, "https://h"); /* no scheme is never http */
    kubeconfig_login_done(&login);
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        auto_free char *text =
            str_printf("clusters: [{name: c, cluster: {server: 'HTTP://h:8080'}}]\n"
                       "users: [{name: u, user: {%s}}]\n" CONTEXT,
                       secrets[i]);

        refuse(text, &person, ERR_INVALID, "server: credentials go over https only");
    }
    auto_free char *cert = base64_of(CERT_A);
    auto_free char *key = base64_of(KEY_A);
    auto_free char *pair =
        str_printf("clusters: [{name: c, cluster: {server: 'http://h'}}]\nusers: [{name: u, user: "
                   "{client-certificate-data: %s, client-key-data: %s}}]\n" CONTEXT,
                   cert, key);

    refuse(pair, &person, ERR_INVALID, "server: credentials go over https only");
    login = login_of("clusters: [{name: c, cluster: {server: 'http://h:8080'}}]\n"
                     "users: [{name: u}]\n" CONTEXT,
                     &secret);
    assert_string_equal(login.url, "http://h:8080");
    kubeconfig_login_done(&login);
}

static void C15_a_CA_of_no_certificate_is_never_the_systems_store(void **state) {
    static const char *const bundles[] = {
        "x",
        "\n",
        KEY_A,
        "-----BEGIN CERTIFICATE-----\nQUFB\n",
        "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        CERT_A "-----BEGIN CERTIFICATE-----\nQUFB",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bundles / sizeof bundles[0]; i++) {
        auto_free char *data = base64_of(bundles[i]);
        auto_free char *cluster = str_printf("server: h, certificate-authority-data: %s", data);

        refuse_cluster(cluster, "certificate-authority-data: ");
        tempfolder_put("ca", bundles[i]);
        refuse_cluster("server: h, certificate-authority: ca", "certificate-authority: ");
    }
}

static void every_certificate_of_a_bundle_is_kept(void **state) {
    static const char bundle[] =
        "\r\n# new\r\n" CERT_A "\r\n# old\r\n"
        "-----BEGIN CERTIFICATE-----\r\nQkJC\r\nQg==\r\n-----END CERTIFICATE-----\r\n" CERT_A;
    auto_free char *data = base64_of(bundle);
    auto_free char *text =
        str_printf("clusters: [{name: c, cluster: {server: h, certificate-authority-data: %s}}]\n"
                   "users: [{name: u}]\n" CONTEXT,
                   data);
    struct kubeconfig_login login = login_of(text, &secret);

    (void)state;
    assert_int_equal(keyfile_count(login.ca_pem, NULL), 3);
    assert_string_equal(login.ca_pem, bundle);
    kubeconfig_login_done(&login);
}

static void names_that_lead_nowhere_are_named(void **state) {
    static const char *const rows[][2] = {
        {"", "current-context"},
        {" \r\n# none: x\n\n", "current-context"},
        {"---\n", "current-context"},
        {"# none\nx", "not a kubeconfig"},
        {"---\na: 1\n---\nb: 2\n", "a second document"},
        {"current-context: x", "context \"x\": there is none"},
        {CLUSTER "contexts: [{name: x, context: {cluster: d}}]\ncurrent-context: x",
         "cluster: there is none named \"d\""},
        {CLUSTER CONTEXT, "user: there is none named \"u\""},
        {"contexts: [{name: x}]\ncurrent-context: x", "cluster: there is none"},
        {"contexts: [{context: {}}]", "contexts[0].name: is missing"},
        {"users: [{name: u}, {name: u}]", "users: \"u\" stands there twice"},
        {"users: {u: {}}", "users"},
        {"users: [u]", "users[0]"},
        {"users: [{name: u, user: []}]", "users[0]"},
        {"[]", "not a kubeconfig"},
        {"apiVersion: v2", "not a kubeconfig"},
        {"kind: Secret", "not a kubeconfig"},
        {"a: 1\na: 2", "was given on line 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        refuse(rows[i][0], &secret, ERR_INVALID, rows[i][1]);
    struct kubeconfig_login login =
        login_of(CLUSTER "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
                         "unknown: {kept: out}\n",
                 &secret);

    assert_null(login.token); /* a context without user is nobody */
    kubeconfig_login_done(&login);
}

static void what_is_written_is_read_back(void **state) {
    static const struct kubeconfig_output rows[] = {
        {"demo", "https://127.0.0.1:1", CERT_A CERT_B, "t.o-k_e=n", NULL, NULL, "shop"},
        {"no", "https://[::1]:1/p", NULL, NULL, CERT_A, KEY_A, NULL},
        {"a: \"b\" # \\c\n", "https://h", CERT_A, NULL, NULL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {0};
        struct str out;

        str_init(&out, 1 << 20);
        if (kubeconfig_write(&out, &rows[i], &err) < 0)
            fail_msg("%s", err.msg);
        struct kubeconfig_login login = login_of(out.data, &secret);

        assert_string_equal(login.url, rows[i].server);
        const char *const pairs[][2] = {{login.ca_pem, rows[i].ca_pem},
                                        {login.token, rows[i].token},
                                        {login.cert_pem, rows[i].cert_pem},
                                        {login.key_pem, rows[i].key_pem},
                                        {login.ns, rows[i].ns}};

        for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
            assert_int_equal(!pairs[k][0], !pairs[k][1]);
            if (pairs[k][0])
                assert_string_equal(pairs[k][0], pairs[k][1]);
        }
        kubeconfig_login_done(&login);
        for (size_t limit = 0; limit < out.size_bytes; limit++) {
            struct str small;

            str_init(&small, limit);
            assert_int_equal(kubeconfig_write(&small, &rows[i], &err), ERR_INVALID);
            assert_int_equal(small.size_bytes, 0);
            str_done(&small);
        }
        str_done(&out);
    }
    struct str out;

    str_init(&out, 1000);
    assert_int_equal(
        kubeconfig_write(&out, &(struct kubeconfig_output){.name = "a", .server = ""}, NULL),
        ERR_INVALID);
    assert_int_equal(
        kubeconfig_write(
            &out, &(struct kubeconfig_output){.name = "a", .server = "b", .cert_pem = CERT_A},
            NULL),
        ERR_INVALID);
    assert_int_equal(
        kubeconfig_write(&out, &(struct kubeconfig_output){.name = "\xff", .server = "b"}, NULL),
        ERR_INVALID);
    assert_int_equal(out.size_bytes, 0);
    str_done(&out);
}

static void kubectl_reads_what_is_written(void **state) {
    const struct kubeconfig_output output = {
        "demo", "https://127.0.0.1:6443", CERT_A, "tok-1", NULL, NULL, "shop"};
    char seen[8192] = "";
    struct str out;
    int ends[2];

    (void)state;
    if (access("/usr/bin/kubectl", X_OK) != 0 && access("/usr/local/bin/kubectl", X_OK) != 0)
        skip();
    str_init(&out, 1 << 20);
    assert_int_equal(kubeconfig_write(&out, &output, NULL), 0);
    const char *path = tempfolder_put("written", out.data);

    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();

    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execlp("kubectl", "kubectl", "config", "view", "--raw", "-o", "json", "--kubeconfig", path,
               (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0;

    for (ssize_t got; (got = read(ends[0], seen + used, sizeof seen - 1 - used)) > 0;)
        used += (size_t)got;
    close(ends[0]);
    int status = 0;

    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct kubeconfig_login login = login_of(seen, &secret);

    assert_string_equal(login.url, output.server);
    assert_string_equal(login.token, output.token);
    assert_string_equal(login.ca_pem, output.ca_pem);
    assert_string_equal(login.ns, output.ns);
    kubeconfig_login_done(&login);
    str_done(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C01_first_file_wins),
        cmocka_unit_test(C01_the_current_context_and_maps_are_the_first_ones),
        cmocka_unit_test(C01_only_an_explicit_path_must_exist),
        cmocka_unit_test(C01_a_path_without_folder_and_at_the_root),
        cmocka_unit_test(C01_an_explicit_path_may_be_a_pipe),
        cmocka_unit_test(limits_of_files_and_entries_hold),
        cmocka_unit_test(C02_data_beats_file),
        cmocka_unit_test(C03_conflicts_are_errors_by_name),
        cmocka_unit_test(C03_exec_is_ignored_beside_another_credential),
        cmocka_unit_test(C03_basic_and_impersonation_reach_the_endpoint),
        cmocka_unit_test(C03_groups_are_bounded),
        cmocka_unit_test(C04_token_stands_until_the_file_was_read),
        cmocka_unit_test(C06_token_size_and_line_breaks),
        cmocka_unit_test(C12_exec_in_a_Secret_is_refused),
        cmocka_unit_test(C12_a_Secret_reads_no_file_of_the_hub),
        cmocka_unit_test(C13_each_cluster_has_its_proxy),
        cmocka_unit_test(C14_server_name_reaches_the_endpoint),
        cmocka_unit_test(C15_insecure_needs_a_switch_and_http_carries_nothing_secret),
        cmocka_unit_test(C15_a_CA_of_no_certificate_is_never_the_systems_store),
        cmocka_unit_test(every_certificate_of_a_bundle_is_kept),
        cmocka_unit_test(names_that_lead_nowhere_are_named),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(kubectl_reads_what_is_written),
    };

    return cmocka_run_group_tests(tests, tempfolder_make, tempfolder_remove);
}
