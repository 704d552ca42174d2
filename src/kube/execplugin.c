#include "kube/execplugin.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/str.h"
#include "kube/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct execplugin {
    const struct execplugin_spec *spec;
    pid_t pid; /* 0 once reaped */
    bool grouped;
    int fd; /* the program's standard output; -1 once it ended */
    int64_t deadline_ms;
    struct str output;
};

static int read_mode(const json_t *exec, struct execplugin_spec *spec, struct err *err);
static int read_command(const json_t *exec, const char *folder, struct execplugin_spec *spec,
                        struct err *err);
static int read_args(const json_t *exec, struct execplugin_spec *spec, struct err *err);
static int read_env(const json_t *exec, struct execplugin_spec *spec, struct err *err);
static char *plain_text(const char *text);
static int find_program(const struct execplugin_spec *spec, const char *path, char **ret_file,
                        struct err *err);
static char **build_env(const struct execplugin_spec *spec, bool interactive);
static int spawn(struct execplugin *run, const char *file, bool interactive, struct err *err);
static int take_output(struct execplugin *run, struct err *err);
static int judge_exit(const struct execplugin *run, int status, struct err *err);
static void kill_run(struct execplugin *run);
static int read_pem(const json_t *status, const char *key, enum keyfile_kind kind, char **ret_pem,
                    struct err *err);
static int read_time(const char *text, int64_t *ret_wall_ms);
static void free_list(char **list);

int execplugin_spec_read(const json_t *exec, const char *user, const char *folder,
                         struct execplugin_spec **ret_spec, struct err *err) {
    struct execplugin_spec *spec = str_alloc(1, sizeof *spec);
    const char *hint = NULL;
    int r;

    spec->user = str_dup(user);
    if ((r = read_mode(exec, spec, err)) < 0 || (r = read_command(exec, folder, spec, err)) < 0 ||
        (r = read_args(exec, spec, err)) < 0 || (r = read_env(exec, spec, err)) < 0 ||
        (r = json_text(exec, "installHint", &hint, err)) < 0 ||
        (r = json_flag(exec, "provideClusterInfo", &spec->wants_cluster, err)) < 0) {
        execplugin_spec_free(spec);
        return err_wrap(err, r, "exec");
    }
    spec->hint = hint && hint[0] ? plain_text(hint) : NULL;
    *ret_spec = spec;
    return 0;
}

void execplugin_spec_free(struct execplugin_spec *spec) {
    if (!spec)
        return;
    free(spec->user);
    free(spec->api_version);
    free(spec->command);
    free_list(spec->args);
    free_list(spec->env);
    free(spec->hint);
    json_decref(spec->cluster);
    free(spec);
}

int execplugin_allowed(const struct execplugin_spec *spec, const struct execplugin_policy *policy,
                       struct err *err) {
    if (policy && policy->rule == EXECPLUGIN_ALLOW_ALL)
        return 0;
    if (policy && policy->rule == EXECPLUGIN_ALLOW_LISTED)
        for (const char *const *name = policy->listed; name && *name; name++)
            if (strcmp(*name, spec->command) == 0)
                return 0;
    return err_set(err, ERR_INVALID,
                   "ExecNotAllowed: user \"%.60s\" asks to run a program; give it a token instead, "
                   "as of kubectl create token SERVICEACCOUNT",
                   spec->user);
}

int execplugin_start(const struct execplugin_spec *spec, const struct execplugin_options *options,
                     int64_t now_ms, struct execplugin **ret_run, struct err *err) {
    const bool interactive = options->terminal && spec->mode != EXECPLUGIN_NEVER;
    auto_free char *file = NULL;
    int r = execplugin_allowed(spec, &options->policy, err);

    if (r < 0)
        return r;
    if (spec->mode == EXECPLUGIN_ALWAYS && !options->terminal)
        return err_set(err, ERR_INVALID,
                       "user \"%.60s\": %.60s asks questions and there is no terminal", spec->user,
                       spec->command);
    r = find_program(spec, options->path ? options->path : getenv("PATH"), &file, err);
    if (r < 0)
        return r;
    struct execplugin *run = str_alloc(1, sizeof *run);

    run->spec = spec;
    run->fd = -1;
    run->deadline_ms =
        now_ms + (options->timeout_ms > 0 ? options->timeout_ms : EXECPLUGIN_TIMEOUT_MS);
    str_init(&run->output, EXECPLUGIN_OUTPUT_MAX_BYTES);
    r = spawn(run, file, interactive, err);
    if (r < 0) {
        execplugin_free(run);
        return r;
    }
    *ret_run = run;
    return 0;
}

int execplugin_poll(struct execplugin *run, int64_t now_ms, struct execplugin_result *ret_result,
                    struct err *err) {
    siginfo_t info = {0};
    int status = 0;
    /* Asked before the output is taken: what an ended program wrote is all there by then. */
    const bool ended = waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                       info.si_pid == run->pid;
    int r = take_output(run, err);

    if (r < 0) {
        kill_run(run);
        return r;
    }
    if (!ended) {
        if (now_ms < run->deadline_ms)
            return 0;
        kill_run(run);
        return err_set(err, ERR_RETRY, "user \"%.60s\": %.60s took too long and was ended",
                       run->spec->user, run->spec->command);
    }
    waitpid(run->pid, &status, 0);
    run->pid = 0;
    r = judge_exit(run, status, err);
    if (r == 0)
        r = execplugin_result_read(run->output.data ? run->output.data : "", run->output.size_bytes,
                                   run->spec->api_version, ret_result, err);
    if (r < 0)
        return err_wrap(err, r, "user \"%.60s\": %.60s", run->spec->user, run->spec->command);
    return 1;
}

int execplugin_fd(const struct execplugin *run) {
    return run->fd;
}

void execplugin_free(struct execplugin *run) {
    if (!run)
        return;
    kill_run(run);
    if (run->fd >= 0)
        close(run->fd);
    if (run->output.data)
        explicit_bzero(run->output.data, run->output.size_bytes);
    str_done(&run->output);
    free(run);
}

int execplugin_result_read(const char *text, size_t size_bytes, const char *api_version,
                           struct execplugin_result *ret_result, struct err *err) {
    json_auto_t *root = json_loadb(text, size_bytes, JSON_REJECT_DUPLICATES, NULL);
    struct execplugin_result result = {0};
    const char *kind = NULL;
    const char *version = NULL;
    const char *token = NULL;
    const char *expires = NULL;
    const json_t *status = NULL;
    int r;

    if (!json_is_object(root))
        return err_set(err, ERR_INVALID, "its output is not a JSON object; try it by hand");
    if ((r = json_text(root, "kind", &kind, err)) < 0 ||
        (r = json_text(root, "apiVersion", &version, err)) < 0 ||
        (r = json_child(root, "status", &status, err)) < 0)
        return r;
    if (!kind || strcmp(kind, "ExecCredential") != 0 || !version ||
        strcmp(version, api_version) != 0)
        return err_set(err, ERR_INVALID, "its output is not an ExecCredential of %s, as was asked",
                       api_version);
    if ((r = json_text(status, "token", &token, err)) < 0 ||
        (r = json_text(status, "expirationTimestamp", &expires, err)) < 0 ||
        (r = read_pem(status, "clientCertificateData", KEYFILE_CERTIFICATES, &result.cert_pem,
                      err)) < 0 ||
        (r = read_pem(status, "clientKeyData", KEYFILE_KEY, &result.key_pem, err)) < 0)
        ; /* said already */
    else if (token && token[0] &&
             (r = keyfile_copy(token, strlen(token), KEYFILE_TOKEN, &result.token, err)) < 0)
        err_wrap(err, r, "status.token");
    else if (!result.cert_pem != !result.key_pem)
        r = err_set(err, ERR_INVALID, "gave one of clientCertificateData and clientKeyData");
    else if (!result.token && !result.cert_pem)
        r = err_set(err, ERR_INVALID, "gave neither a token nor a certificate in its status");
    else if (expires && read_time(expires, &result.expires_wall_ms) < 0)
        r = err_set(err, ERR_INVALID, "status.expirationTimestamp is no RFC 3339 time");
    if (r < 0) {
        execplugin_result_done(&result);
        return r;
    }
    *ret_result = result;
    return 0;
}

void execplugin_result_done(struct execplugin_result *result) {
    if (!result)
        return;
    keyfile_wipe(result->token);
    keyfile_wipe(result->cert_pem);
    keyfile_wipe(result->key_pem);
    *result = (struct execplugin_result){0};
}

static int read_mode(const json_t *exec, struct execplugin_spec *spec, struct err *err) {
    static const char *const names[] = {"Never", "IfAvailable", "Always"};
    const char *version = NULL;
    const char *mode = NULL;
    int r;

    if ((r = json_text(exec, "apiVersion", &version, err)) < 0 ||
        (r = json_text(exec, "interactiveMode", &mode, err)) < 0)
        return r;
    const bool v1 = version && strcmp(version, "client.authentication.k8s.io/v1") == 0;

    if (!v1 && (!version || strcmp(version, "client.authentication.k8s.io/v1beta1") != 0))
        return err_set(err, ERR_INVALID,
                       "apiVersion: must be client.authentication.k8s.io/v1 or .../v1beta1");
    spec->api_version = str_dup(version);
    if ((!mode || !mode[0]) && !v1) {
        spec->mode = EXECPLUGIN_IF_AVAILABLE;
        return 0;
    }
    for (size_t i = 0; mode && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(mode, names[i]) == 0) {
            spec->mode = (enum execplugin_mode)i;
            return 0;
        }
    return err_set(err, ERR_INVALID, "interactiveMode: must be Never, IfAvailable or Always");
}

static int read_command(const json_t *exec, const char *folder, struct execplugin_spec *spec,
                        struct err *err) {
    const char *command = NULL;
    const int r = json_text(exec, "command", &command, err);

    if (r < 0)
        return r;
    if (!command || !command[0])
        return err_set(err, ERR_INVALID, "command: is missing; name the program");
    if (command[0] == '/' || !strchr(command, '/')) {
        spec->command = str_dup(command);
        return 0;
    }
    if (!folder)
        return err_set(err, ERR_INVALID,
                       "command: is relative to a file, and this is none; give its whole path");
    spec->command = str_printf("%s/%s", folder, command);
    return 0;
}

static int read_args(const json_t *exec, struct execplugin_spec *spec, struct err *err) {
    const json_t *list = NULL;
    const int r = json_list(exec, "args", &list, err);
    const size_t count = json_array_size(list);

    if (r < 0)
        return r;
    if (count > EXECPLUGIN_ARGS_MAX)
        return err_set(err, ERR_INVALID, "args: more than %d", EXECPLUGIN_ARGS_MAX);
    spec->args = str_alloc(count + 1, sizeof *spec->args);
    for (size_t i = 0; i < count; i++) {
        const json_t *arg = json_array_get(list, i);
        const char *text = json_string_value(arg);

        if (!text || strlen(text) != json_string_length(arg))
            return err_set(err, ERR_INVALID, "args[%zu]: is not text; quote it", i);
        spec->args[i] = str_dup(text);
    }
    return 0;
}

static int read_env(const json_t *exec, struct execplugin_spec *spec, struct err *err) {
    const json_t *list = NULL;
    int r = json_list(exec, "env", &list, err);
    const size_t count = json_array_size(list);

    if (r < 0)
        return r;
    if (count > EXECPLUGIN_ARGS_MAX)
        return err_set(err, ERR_INVALID, "env: more than %d", EXECPLUGIN_ARGS_MAX);
    spec->env = str_alloc(count + 1, sizeof *spec->env);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = NULL;
        const char *value = NULL;

        if ((r = json_text(item, "name", &name, err)) < 0 ||
            (r = json_text(item, "value", &value, err)) < 0)
            return err_wrap(err, r, "env[%zu]", i);
        if (!name || !name[0] || strchr(name, '='))
            return err_set(err, ERR_INVALID, "env[%zu].name: is empty or has a = in it", i);
        spec->env[i] = str_printf("%s=%s", name, value ? value : "");
    }
    return 0;
}

/* Without what would move a terminal's cursor. */
static char *plain_text(const char *text) {
    char *copy = str_dup(text);

    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return copy;
}

static bool is_program(const char *file) {
    struct stat stat_;

    return stat(file, &stat_) == 0 && S_ISREG(stat_.st_mode) && access(file, X_OK) == 0;
}

/* An empty or relative piece of PATH would name the folder we happen to stand in: left out. */
static int find_program(const struct execplugin_spec *spec, const char *path, char **ret_file,
                        struct err *err) {
    if (strchr(spec->command, '/') && is_program(spec->command)) {
        *ret_file = str_dup(spec->command);
        return 0;
    }
    if (!strchr(spec->command, '/'))
        for (const char *piece = path ? path : ""; *piece;) {
            const size_t len = strcspn(piece, ":");
            auto_free char *file = str_printf("%.*s/%s", (int)len, piece, spec->command);

            if (*file == '/' && len > 0 && is_program(file)) {
                *ret_file = take(file);
                return 0;
            }
            piece += len + (piece[len] == ':');
        }
    return err_set(err, ERR_INVALID, "user \"%.40s\": no program %.60s; %.100s", spec->user,
                   spec->command, spec->hint ? spec->hint : "install it or mend exec.command");
}

/* What the program is told: the format of its answer, and on wish the cluster (C10). */
static char *exec_info(const struct execplugin_spec *spec, bool interactive) {
    json_auto_t *info =
        json_pack("{s:s, s:s, s:{s:b, s:O*}}", "kind", "ExecCredential", "apiVersion",
                  spec->api_version, "spec", "interactive", interactive, "cluster", spec->cluster);
    auto_free char *text = info ? json_dumps(info, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    return str_printf("KUBERNETES_EXEC_INFO=%s", text ? text : "{}");
}

static bool same_name(const char *a, const char *b) {
    const size_t len = strcspn(a, "=");

    return strcspn(b, "=") == len && strncmp(a, b, len) == 0;
}

/* Ours, then the spec's, then the info; the later wins. */
static char **build_env(const struct execplugin_spec *spec, bool interactive) {
    size_t count = 0;
    size_t more = 1;

    while (environ[count])
        count++;
    while (spec->env[more - 1])
        more++;
    char **env = str_alloc(count + more + 1, sizeof *env);
    size_t used = 0;

    for (size_t i = 0; i < count + more; i++) {
        char *item = i < count              ? str_dup(environ[i])
                     : i + 1 < count + more ? str_dup(spec->env[i - count])
                                            : exec_info(spec, interactive);
        size_t at = 0;

        while (at < used && !same_name(env[at], item))
            at++;
        free(env[at]);
        env[at] = item;
        used += at == used;
    }
    return env;
}

static int spawn(struct execplugin *run, const char *file, bool interactive, struct err *err) {
    const struct execplugin_spec *spec = run->spec;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    int ends[2];
    size_t count = 0;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, ERR_RETRY, "pipe: %m");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while (spec->args[count])
        count++;
    auto_free char **argv = str_alloc(count + 2, sizeof *argv);
    char **env = build_env(spec, interactive);

    argv[0] = spec->command;
    memcpy(argv + 1, spec->args, count * sizeof *argv);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (!interactive)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    /* Apart from the terminal's group it could not read what a person types. */
    posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  (interactive ? 0 : POSIX_SPAWN_SETPGROUP)));
    const int code = posix_spawn(&run->pid, file, &actions, &attributes, argv, env);

    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free_list(env);
    close(ends[1]);
    run->fd = ends[0];
    run->grouped = !interactive;
    if (code == 0)
        return 0;
    run->pid = 0;
    return err_set(err, ERR_INVALID, "user \"%.60s\": %.60s: %s", spec->user, spec->command,
                   strerrordesc_np(code));
}

static int take_output(struct execplugin *run, struct err *err) {
    char chunk[16384];
    ssize_t got;

    while (run->fd >= 0 && (got = read(run->fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return 0; /* nothing for now */
        if (str_add(&run->output, chunk, (size_t)got, NULL) < 0)
            return err_set(err, ERR_INVALID, "user \"%.60s\": %.60s wrote more than %zu bytes",
                           run->spec->user, run->spec->command, EXECPLUGIN_OUTPUT_MAX_BYTES);
    }
    if (run->fd >= 0)
        close(run->fd);
    run->fd = -1;
    return 0;
}

static int judge_exit(const struct execplugin *run, int status, struct err *err) {
    const char *hint = run->spec->hint ? run->spec->hint : "try it by hand";

    if (WIFSIGNALED(status))
        return err_set(err, ERR_RETRY, "was ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return err_set(err, ERR_RETRY, "failed with code %d; %.80s", WEXITSTATUS(status), hint);
    return 0;
}

/* With everything it started, where it has a group of its own. */
static void kill_run(struct execplugin *run) {
    if (run->pid <= 0)
        return;
    kill(run->grouped ? -run->pid : run->pid, SIGKILL);
    while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    run->pid = 0;
}

static int read_pem(const json_t *status, const char *key, enum keyfile_kind kind, char **ret_pem,
                    struct err *err) {
    const char *text = NULL;
    int r = json_text(status, key, &text, err);

    if (r <= 0 || !text[0])
        return r < 0 ? r : 0;
    r = keyfile_copy(text, strlen(text), kind, ret_pem, err);
    return r < 0 ? err_wrap(err, r, "status.%s", key) : 0;
}

/* Whether text starts as the pattern says, in which 0 stands for any digit. */
static bool has_form(const char *text, const char *pattern) {
    for (; *pattern; pattern++, text++)
        if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern)
            return false;
    return true;
}

/* Two digits, the first at text. */
static int two(const char *text) {
    return (text[0] - '0') * 10 + text[1] - '0';
}

/* Days since 1970 in the proleptic Gregorian calendar, by years that start in March. */
static int64_t days_since_epoch(int year, int month, int day) {
    const int64_t y = year - (month <= 2);
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

/* What follows the seconds: a fraction, which is dropped, and Z or an offset. */
static int read_zone(const char *text, int *ret_offset_s) {
    if (*text == '.') {
        const size_t digits = strspn(text + 1, "0123456789");

        if (digits == 0)
            return ERR_INVALID;
        text += 1 + digits;
    }
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
        *ret_offset_s = 0;
        return 0;
    }
    if ((!has_form(text, "+00:00") && !has_form(text, "-00:00")) || text[6] || two(text + 1) > 23 ||
        two(text + 4) > 59)
        return ERR_INVALID;
    *ret_offset_s = (two(text + 1) * 3600 + two(text + 4) * 60) * (*text == '+' ? 1 : -1);
    return 0;
}

/* RFC 3339: "2026-01-02T03:04:05Z". Never gives 0, which would mean that it does not expire. */
static int read_time(const char *text, int64_t *ret_wall_ms) {
    int offset_s = 0;

    if (!has_form(text, "0000-00-00T00:00:00") || read_zone(text + 19, &offset_s) < 0)
        return ERR_INVALID;
    const int year = two(text) * 100 + two(text + 2);
    const int month = two(text + 5);
    const int day = two(text + 8);
    const int hour = two(text + 11);
    const int minute = two(text + 14);
    const int second = two(text + 17);

    if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60)
        return ERR_INVALID;
    const int64_t seconds =
        days_since_epoch(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset_s;

    *ret_wall_ms = seconds <= 0 ? 1 : seconds * 1000;
    return 0;
}

static void free_list(char **list) {
    for (char **item = list; item && *item; item++)
        keyfile_wipe(*item);
    free(list);
}
