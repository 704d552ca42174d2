#include "kube/execplugin.h"

#include "unit.h"

#include "base/auto.h"
#include "base/clock.h"
#include "kube/kubeconfig.h"
#include "tempfolder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#define V1 "client.authentication.k8s.io/v1"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"
#define ANSWER(status)                                                                             \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":" status "}"

static const struct execplugin_options anyone = {.policy.rule = EXECPLUGIN_ALLOW_ALL};

static struct execplugin_spec *spec_of(const char *json) {
    json_auto_t *exec = json_loads(json, 0, NULL);
    struct execplugin_spec *spec = NULL;
    struct err err = {0};

    assert_non_null(exec);
    if (execplugin_spec_read(exec, "u1", tempfolder, &spec, &err) < 0)
        fail_msg("%s", err.msg);
    return spec;
}

/* A spec of ./name, which holds a shell script. */
static struct execplugin_spec *script(const char *name, const char *body) {
    auto_free char *text = str_printf("#!/bin/sh\n%s\n", body);
    auto_free char *json = str_printf("{\"apiVersion\":\"" V1 "\",\"command\":\"./%s\","
                                      "\"interactiveMode\":\"Never\"}",
                                      name);

    chmod(tempfolder_put(name, text), 0700);
    return spec_of(json);
}

static int finish(struct execplugin *run, struct execplugin_result *ret_result, struct err *err) {
    const int64_t end_ms = clock_mono_ms(NULL) + 20000;
    int r;

    while ((r = execplugin_poll(run, 0, ret_result, err)) == 0) {
        struct pollfd fd = {execplugin_fd(run), POLLIN, 0};

        assert_true(clock_mono_ms(NULL) < end_ms);
        poll(&fd, 1, execplugin_fd(run) >= 0 ? 50 : 1);
    }
    return r;
}

static int run_spec(const struct execplugin_spec *spec, const struct execplugin_options *options,
                    struct execplugin_result *ret_result, struct err *err) {
    struct execplugin *run = NULL;
    int r = execplugin_start(spec, options, 0, &run, err);

    if (r >= 0)
        r = finish(run, ret_result, err);
    execplugin_free(run);
    return r;
}

static char *slurp(const char *name) {
    static char text[8192];
    FILE *file = fopen(tempfolder_path(name), "r");
    const size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;

    if (file)
        fclose(file);
    text[got] = '\0';
    return text;
}

/* Waits for a script to have written a line. */
static int pid_in(const char *name) {
    for (int i = 0; i < 2000; i++) {
        const char *text = slurp(name);

        if (strchr(text, '\n'))
            return (int)strtol(text, NULL, 10);
        usleep(5000);
    }
    fail_msg("%s was not written", name);
    return 0;
}

/* A killed grandchild is gone once init, or whoever adopts it, has reaped it: a zombie is dead. */
static bool is_dead(int pid) {
    char path[64];
    char text[256] = "";

    for (int i = 0; i < 1000; i++) {
        if (kill(pid, 0) < 0 && errno == ESRCH)
            return true;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *file = fopen(path, "r");
        const size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;

        if (file)
            fclose(file);
        text[got] = '\0';
        if (strstr(text, ") Z "))
            return true;
        usleep(5000);
    }
    return false;
}

static void C10_an_argument_is_never_a_shells(void **state) {
    struct execplugin_result result = {0};
    struct err err = {0};
    auto_free char *touch = str_printf("; touch %s/x", tempfolder);
    auto_free char *json = str_printf(
        "{\"apiVersion\":\"" V1 "\",\"command\":\"./args\",\"interactiveMode\":\"Never\","
        "\"args\":[\"%s\",\"$(touch x)\",\"\",\"a b\"],"
        "\"env\":[{\"name\":\"MINE\",\"value\":\"v 1\"},{\"name\":\"HOME\"}]}",
        touch);

    (void)state;
    chmod(tempfolder_put("args", "#!/bin/sh\ncd \"${0%/*}\"\n"
                                 "printf '%s|' \"$#\" \"$@\" \"$MINE\" \"$HOME\" >seen\n"
                                 "printf '%s' '" ANSWER("{\"token\":\"t\"}") "'\n"),
          0700);
    struct execplugin_spec *spec = spec_of(json);

    if (run_spec(spec, &anyone, &result, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(result.token, "t");
    auto_free char *want = str_printf("4|%s|$(touch x)||a b|v 1||", touch);

    assert_string_equal(slurp("seen"), want);
    assert_int_not_equal(access(tempfolder_path("x"), F_OK), 0);
    execplugin_result_done(&result);
    execplugin_spec_free(spec);
    /* a command that is a shell line is no program */
    auto_free char *line = str_printf("{\"apiVersion\":\"" V1 "\",\"command\":\"/bin/true; touch "
                                      "%s/x\",\"interactiveMode\":\"Never\",\"installHint\":"
                                      "\"get it\\u001b[2J\"}",
                                      tempfolder);

    spec = spec_of(line);
    assert_int_equal(run_spec(spec, &anyone, &result, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "get it [2J"));
    assert_int_not_equal(access(tempfolder_path("x"), F_OK), 0);
    execplugin_spec_free(spec);
}

static void C10_nothing_but_three_descriptors_is_inherited(void **state) {
    struct execplugin_result result = {0};
    struct err err = {0};
    const int leaky = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    struct execplugin_spec *spec =
        script("fds", "cd \"${0%/*}\"; ls /proc/$$/fd >fds.txt; read line && exit 3\n"
                      "echo '" ANSWER("{\"token\":\"t\"}") "'");

    (void)state;
    assert_true(leaky >= 0);
    if (run_spec(spec, &anyone, &result, &err) < 0)
        fail_msg("%s", err.msg);
    /* sh itself opens its script on 10 or above */
    for (int fd = 3; fd < 10; fd++) {
        char line[16];

        snprintf(line, sizeof line, "\n%d\n", fd);
        assert_null(strstr(slurp("fds.txt"), line));
    }
    close(leaky);
    execplugin_result_done(&result);
    execplugin_spec_free(spec);
}

static void C10_hundred_KiB_and_no_more_than_the_limit(void **state) {
    static const struct {
        int kib;
        int code;
    } rows[] = {{100, 1}, {1023, 1}, {1025, ERR_INVALID}, {1000000, ERR_INVALID}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct execplugin_result result = {0};
        struct err err = {0};
        auto_free char *body =
            str_printf("printf '%%s' '" ANSWER(
                           "{\"token\":\"t\"}") "'\n"
                                                "head -c %d /dev/zero | tr '\\0' ' ' 2>/dev/null",
                       rows[i].kib * 1024);
        struct execplugin_spec *spec = script("big", body);
        const int r = run_spec(spec, &anyone, &result, &err);

        if (r != rows[i].code)
            fail_msg("%d KiB: %d %s", rows[i].kib, r, err.msg);
        execplugin_result_done(&result);
        execplugin_spec_free(spec);
    }
    struct execplugin_result result = {0};
    struct err err = {0};
    struct execplugin_spec *spec =
        script("long", "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                       "\",\"status\":{\"token\":\"'; head -c 12288 /dev/zero | tr '\\0' x; "
                       "printf '\"}}'");

    if (run_spec(spec, &anyone, &result, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(strlen(result.token), 12288);
    execplugin_result_done(&result);
    execplugin_spec_free(spec);
}

static void C10_a_hang_is_killed_and_the_loop_keeps_running(void **state) {
    struct execplugin_options options = anyone;
    struct execplugin_result result = {0};
    struct execplugin *run = NULL;
    struct err err = {0};
    struct execplugin_spec *spec =
        script("hang", "cd \"${0%/*}\"; sleep 1000 & echo $! >child.pid; echo $$ >own.pid; wait");
    const int64_t start_ms = clock_mono_ms(NULL);

    (void)state;
    options.timeout_ms = 5000;
    assert_int_equal(execplugin_start(spec, &options, 1000, &run, &err), 0);
    const int own = pid_in("own.pid");
    const int child = pid_in("child.pid");

    for (int i = 0; i < 1000; i++)
        assert_int_equal(execplugin_poll(run, 5999, &result, &err), 0);
    assert_int_equal(kill(own, 0), 0);
    assert_int_equal(execplugin_poll(run, 6000, &result, &err), ERR_RETRY);
    assert_non_null(strstr(err.msg, "took too long"));
    execplugin_free(run);
    assert_int_equal(kill(own, 0), -1); /* killed and reaped */
    assert_true(is_dead(child));
    /* freeing a run that is under way does the same */
    unlink(tempfolder_path("own.pid"));
    unlink(tempfolder_path("child.pid"));
    assert_int_equal(execplugin_start(spec, &options, 0, &run, &err), 0);
    const int again = pid_in("own.pid");

    execplugin_free(run);
    assert_int_equal(kill(again, 0), -1);
    assert_true(clock_mono_ms(NULL) - start_ms < 20000);
    execplugin_spec_free(spec);
}

static void C10_info_carries_version_interactivity_and_cluster(void **state) {
    static const char text[] =
        "clusters: [{name: c, cluster: {server: 'https://h:1', tls-server-name: api.x, proxy-url: "
        "'http://p:1', certificate-authority-data: "
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFVRkIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=, "
        "extensions: [{name: other, extension: 1}, {name: client.authentication.k8s.io/exec, "
        "extension: {audience: a}}]}}]\n"
        "users: [{name: u, user: {exec: {apiVersion: " V1BETA1 ", command: ./info, "
        "provideClusterInfo: %s}}}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n";
    static const char *const infos[] = {
        "{\"apiVersion\":\"" V1BETA1
        "\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false}}",
        "{\"apiVersion\":\"" V1BETA1 "\",\"kind\":\"ExecCredential\",\"spec\":{\"cluster\":{"
        "\"certificate-authority-data\":"
        "\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFVRkIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=\","
        "\"config\":{\"audience\":\"a\"},\"proxy-url\":\"http://p:1\",\"server\":\"https://h:1\","
        "\"tls-server-name\":\"api.x\"},\"interactive\":false}}",
    };
    const struct kubeconfig_options options = {.policy.rule = EXECPLUGIN_ALLOW_ALL};

    (void)state;
    chmod(tempfolder_put("info", "#!/bin/sh\nprintf '%s' \"$KUBERNETES_EXEC_INFO\" "
                                 ">\"${0%/*}/info.json\"\ntr '\\0' '\\n' </proc/$$/environ "
                                 "| grep -c ^KUBERNETES_EXEC_INFO= >\"${0%/*}/info.count\"\n"
                                 "exit 7\n"),
          0700);
    setenv("KUBERNETES_EXEC_INFO", "stale", 1);
    for (int i = 0; i < 2; i++) {
        struct kubeconfig_login login = {0};
        struct execplugin_result result = {0};
        struct kubeconfig *config = NULL;
        struct err err = {0};
        auto_free char *full = str_printf(text, i ? "true" : "false");

        assert_int_equal(kubeconfig_parse(full, strlen(full), "F", tempfolder, &config, &err), 0);
        if (kubeconfig_select(config, NULL, &options, &login, &err) < 0)
            fail_msg("%s", err.msg);
        assert_int_equal(run_spec(login.exec, &anyone, &result, &err), ERR_RETRY);
        assert_non_null(strstr(err.msg, "code 7"));
        assert_string_equal(slurp("info.json"), infos[i]);
        assert_string_equal(slurp("info.count"), "1\n");
        kubeconfig_login_done(&login);
        kubeconfig_free(config);
    }
    unsetenv("KUBERNETES_EXEC_INFO");
}

static void C10_a_bare_command_is_looked_up_in_PATH(void **state) {
    struct execplugin_options options = anyone;
    struct execplugin_result result = {0};
    struct err err = {0};
    struct execplugin_spec *spec = spec_of("{\"apiVersion\":\"" V1 "\",\"command\":\"bare\","
                                           "\"interactiveMode\":\"Never\"}");
    auto_free char *path = str_printf("::/none:.:%s", tempfolder);
    auto_free char *before = getcwd(NULL, 0);

    (void)state;
    chmod(tempfolder_put("bare", "#!/bin/sh\necho '" ANSWER("{\"token\":\"t\"}") "'\n"), 0700);
    assert_int_equal(chdir(tempfolder), 0);
    options.path = "::.:/none"; /* the folder we stand in does not count */
    assert_int_equal(run_spec(spec, &options, &result, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "no program bare"));
    assert_int_equal(chdir(before), 0);
    options.path = path;
    if (run_spec(spec, &options, &result, &err) < 0)
        fail_msg("%s", err.msg);
    execplugin_result_done(&result);
    execplugin_spec_free(spec);
}

static void C10_a_spec_that_makes_no_sense_names_its_field(void **state) {
    static const char *const rows[][2] = {
        {"{}", "exec: apiVersion"},
        {"{\"apiVersion\":\"client.authentication.k8s.io/v1alpha1\"}", "exec: apiVersion"},
        {"{\"apiVersion\":\"" V1 "\",\"command\":\"x\"}", "interactiveMode"},
        {"{\"apiVersion\":\"" V1 "\",\"command\":\"x\",\"interactiveMode\":\"no\"}",
         "interactiveMode"},
        {"{\"apiVersion\":\"" V1BETA1 "\"}", "command: is missing"},
        {"{\"apiVersion\":\"" V1BETA1 "\",\"command\":\"a/b\"}", "command: is relative"},
        {"{\"apiVersion\":\"" V1BETA1 "\",\"command\":\"a\",\"args\":[1]}", "args[0]"},
        {"{\"apiVersion\":\"" V1BETA1 "\",\"command\":\"a\",\"env\":[{}]}", "env[0].name"},
        {"{\"apiVersion\":\"" V1BETA1 "\",\"command\":\"a\",\"env\":[{\"name\":\"A=B\"}]}",
         "env[0].name"},
        {"{\"apiVersion\":\"" V1BETA1 "\",\"command\":\"a\",\"env\":[1]}", "env[0]"},
        {"{\"apiVersion\":\"" V1BETA1 "\",\"command\":\"a\",\"provideClusterInfo\":1}",
         "provideClusterInfo"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_auto_t *exec = json_loads(rows[i][0], 0, NULL);
        struct execplugin_spec *spec = NULL;
        struct err err = {0};

        assert_int_equal(execplugin_spec_read(exec, "u", NULL, &spec, &err), ERR_INVALID);
        if (!strstr(err.msg, rows[i][1]))
            fail_msg("'%s' does not say '%s'", err.msg, rows[i][1]);
        assert_null(spec);
    }
    for (size_t count = EXECPLUGIN_ARGS_MAX; count <= EXECPLUGIN_ARGS_MAX + 1; count++) {
        json_auto_t *exec =
            json_pack("{s:s,s:s,s:[]}", "apiVersion", V1BETA1, "command", "a", "args");
        struct execplugin_spec *spec = NULL;

        for (size_t i = 0; i < count; i++)
            json_array_append_new(json_object_get(exec, "args"), json_string("a"));
        assert_int_equal(execplugin_spec_read(exec, "u", NULL, &spec, NULL),
                         count > EXECPLUGIN_ARGS_MAX ? ERR_INVALID : 0);
        execplugin_spec_free(spec);
    }
}

static void C10_a_program_that_must_ask_needs_a_terminal(void **state) {
    struct execplugin_result result = {0};
    struct err err = {0};
    struct execplugin_spec *spec = spec_of("{\"apiVersion\":\"" V1 "\",\"command\":\"/bin/true\","
                                           "\"interactiveMode\":\"Always\"}");

    (void)state;
    assert_int_equal(run_spec(spec, &anyone, &result, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "no terminal"));
    execplugin_spec_free(spec);
}

static void C10_a_program_may_ask_where_a_person_is(void **state) {
    struct execplugin_options options = anyone;
    const int before = dup(STDIN_FILENO);
    int ends[2];

    (void)state;
    chmod(tempfolder_put("ask", "#!/bin/sh\nread word\ncase $KUBERNETES_EXEC_INFO in "
                                "*'\"interactive\":true'*) word=$word-true;; esac\n"
                                "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1BETA1
                                "\",\"status\":{\"token\":\"'got-$word'\"}}'\n"),
          0700);
    struct execplugin_spec *spec =
        spec_of("{\"apiVersion\":\"" V1BETA1 "\",\"command\":\"./ask\"}");

    for (int terminal = 0; terminal < 2; terminal++) {
        struct execplugin_result result = {0};
        struct err err = {0};

        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "typed\n", 6), 6);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        options.terminal = terminal;
        if (run_spec(spec, &options, &result, &err) < 0)
            fail_msg("%s", err.msg);
        assert_string_equal(result.token, terminal ? "got-typed-true" : "got-");
        execplugin_result_done(&result);
    }
    if (before >= 0)
        dup2(before, STDIN_FILENO);
    close(before);
    execplugin_spec_free(spec);
}

static void C11_results_are_read_or_refused(void **state) {
    static const struct {
        const char *text;
        const char *words; /* NULL: it is taken */
    } rows[] = {
        {ANSWER("{\"token\":\"t\"}"), NULL},
        {ANSWER("{\"token\":\" t\\n\",\"expirationTimestamp\":null}"), NULL},
        {ANSWER("{\"token\":\"hush hush\"}"), "status.token"},
        {ANSWER("{}"), "neither a token nor a certificate"},
        {ANSWER("null"), "neither a token nor a certificate"},
        {ANSWER("{\"token\":\"\"}"), "neither a token nor a certificate"},
        {ANSWER("{\"token\":1}"), "token"},
        {ANSWER("{\"clientCertificateData\":\"hush\"}"), "status.clientCertificateData"},
        {ANSWER("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}"), "expirationTimestamp"},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1BETA1
         "\",\"status\":{\"token\":\"hush\"}}",
         "ExecCredential of " V1},
        {"{\"kind\":\"Secret\",\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"hush\"}}",
         "ExecCredential of"},
        {"hush", "not a JSON object"},
        {"", "not a JSON object"},
        {"[\"hush\"]", "not a JSON object"},
        {ANSWER("{\"token\":\"t\"}") "hush", "not a JSON object"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct execplugin_result result = {0};
        struct err err = {0};
        const int r = execplugin_result_read(rows[i].text, strlen(rows[i].text), V1, &result, &err);

        if (rows[i].words ? r != ERR_INVALID || !strstr(err.msg, rows[i].words) : r != 0)
            fail_msg("%s: %d %s", rows[i].text, r, err.msg);
        assert_null(strstr(err.msg, "hush"));
        if (r == 0)
            assert_string_equal(result.token, "t");
        else
            assert_null(result.token);
        execplugin_result_done(&result);
    }
}

static void C11_token_and_certificate_come_together(void **state) {
    static const char *const fields[] = {"token", "clientCertificateData", "clientKeyData"};
    static const char *const values[] = {"t", CERT_A, KEY_A};

    (void)state;
    for (unsigned mask = 0; mask < 8; mask++) {
        json_auto_t *root =
            json_pack("{s:s,s:s,s:{}}", "kind", "ExecCredential", "apiVersion", V1, "status");
        struct execplugin_result result = {0};
        const bool pair = (mask & 6) == 6;
        const bool good = pair || mask == 1;

        for (int i = 0; i < 3; i++)
            if (mask & 1U << i)
                json_object_set_new(json_object_get(root, "status"), fields[i],
                                    json_string(values[i]));
        auto_free char *text = json_dumps(root, 0);

        assert_int_equal(execplugin_result_read(text, strlen(text), V1, &result, NULL),
                         good ? 0 : ERR_INVALID);
        assert_int_equal(result.token != NULL, good && (mask & 1));
        assert_int_equal(result.cert_pem != NULL, good && pair);
        assert_int_equal(result.key_pem != NULL, good && pair);
        execplugin_result_done(&result);
    }
}

static void C11_expiry_is_read_as_RFC_3339(void **state) {
    static const struct {
        const char *text;
        int64_t wall_ms; /* -1: refused */
    } rows[] = {
        {"1970-01-01T00:00:01Z", 1000},
        {"1970-01-01T00:00:00Z", 1},
        {"0000-01-01T00:00:00Z", 1},
        {"2000-02-29T12:00:00Z", 951825600000},
        {"2024-12-31T23:59:60Z", 1735689600000},
        {"2100-03-01T00:00:00z", 4107542400000},
        {"2038-01-19T03:14:08.123456789Z", 2147483648000},
        {"2038-01-19T05:14:08+02:00", 2147483648000},
        {"2038-01-18T22:44:08-04:30", 2147483648000},
        {"2038-01-19T03:14:08", -1},
        {"2038-01-19T03:14:08.Z", -1},
        {"2038-01-19T03:14:0812Z", -1},
        {"2038-13-19T03:14:08Z", -1},
        {"2038-01-00T03:14:08Z", -1},
        {"2038-01-19T24:14:08Z", -1},
        {"2038-01-19T03:14:08+2:00", -1},
        {"2038-01-19T03:14:08+24:00", -1},
        {"2038-01-19T03:14:08Zx", -1},
        {"2038-01-19 03:14:08Z", -1},
        {" 038-01-19T03:14:08Z", -1},
        {"", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        auto_free char *text =
            str_printf(ANSWER("{\"token\":\"t\",\"expirationTimestamp\":\"%s\"}"), rows[i].text);
        struct execplugin_result result = {0};
        const int r = execplugin_result_read(text, strlen(text), V1, &result, NULL);

        if (r != (rows[i].wall_ms < 0 ? ERR_INVALID : 0) ||
            (r == 0 && result.expires_wall_ms != rows[i].wall_ms))
            fail_msg("%s: %d %lld", rows[i].text, r, (long long)result.expires_wall_ms);
        execplugin_result_done(&result);
    }
}

static void C12_the_policy_denies_unless_told_otherwise(void **state) {
    struct execplugin_spec *spec = script("never", "touch \"${0%/*}/ran\"");
    auto_free char *command = str_printf("%s/./never", tempfolder);
    const char *const listed[] = {"never", "/bin/sh", NULL};
    const char *const mine[] = {"/bin/sh", command, NULL};
    const struct execplugin_policy denying[] = {
        {0},
        {EXECPLUGIN_DENY_ALL, mine},
        {EXECPLUGIN_ALLOW_LISTED, NULL},
        {EXECPLUGIN_ALLOW_LISTED, listed},
        {(enum execplugin_rule)7, mine},
    };

    (void)state;
    for (size_t i = 0; i < sizeof denying / sizeof denying[0]; i++) {
        const struct execplugin_options options = {.policy = denying[i]};
        struct execplugin *run = NULL;
        struct err err = {0};

        assert_int_equal(execplugin_start(spec, &options, 0, &run, &err), ERR_INVALID);
        assert_int_equal(strncmp(err.msg, "ExecNotAllowed", 14), 0);
        assert_null(run);
    }
    assert_int_equal(execplugin_allowed(spec, NULL, NULL), ERR_INVALID);
    assert_int_equal(
        execplugin_allowed(spec, &(struct execplugin_policy){EXECPLUGIN_ALLOW_LISTED, mine}, NULL),
        0);
    assert_int_not_equal(access(tempfolder_path("ran"), F_OK), 0);
    execplugin_spec_free(spec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C10_an_argument_is_never_a_shells),
        cmocka_unit_test(C10_nothing_but_three_descriptors_is_inherited),
        cmocka_unit_test(C10_hundred_KiB_and_no_more_than_the_limit),
        cmocka_unit_test(C10_a_hang_is_killed_and_the_loop_keeps_running),
        cmocka_unit_test(C10_info_carries_version_interactivity_and_cluster),
        cmocka_unit_test(C10_a_bare_command_is_looked_up_in_PATH),
        cmocka_unit_test(C10_a_spec_that_makes_no_sense_names_its_field),
        cmocka_unit_test(C10_a_program_that_must_ask_needs_a_terminal),
        cmocka_unit_test(C10_a_program_may_ask_where_a_person_is),
        cmocka_unit_test(C11_results_are_read_or_refused),
        cmocka_unit_test(C11_token_and_certificate_come_together),
        cmocka_unit_test(C11_expiry_is_read_as_RFC_3339),
        cmocka_unit_test(C12_the_policy_denies_unless_told_otherwise),
    };

    return cmocka_run_group_tests(tests, tempfolder_make, tempfolder_remove);
}
