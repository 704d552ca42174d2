/* bulkhead-controller: wires the hub's connection, the loop and the signals; holds no logic. */
#include "base/clock.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "controller/connection.h"
#include "controller/election.h"
#include "controller/manager.h"
#include "web/web.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TURN_MAX_MS 1000
#define STOP_MAX_MS 30000
#define IDENTITY_SIZE 300

const char *argp_program_version = "bulkhead-controller 0.1.0";

struct arguments {
    struct hub_options hub;
    const char *ns;
    const char *web_address; /* NULL: no web thread */
    bool observe;
    bool loopback;
    bool quiet;
    bool elect;
};

static volatile sig_atomic_t stopping;

static void stop(int number) {
    (void)number;
    if (stopping)
        _Exit(1); /* the second signal ends it at once */
    stopping = 1;
}

static error_t option(int key, char *arg, struct argp_state *state) {
    struct arguments *arguments = state->input;

    switch (key) {
    case 'k':
        arguments->hub.kubeconfig = arg;
        return 0;
    case 'c':
        arguments->hub.context = arg;
        return 0;
    case 'n':
        arguments->ns = arg;
        return 0;
    case 'm':
        if (strcmp(arg, "Observe") != 0 && strcmp(arg, "Act") != 0)
            argp_error(state, "--mode=%s: Observe or Act", arg);
        arguments->observe = strcmp(arg, "Observe") == 0;
        return 0;
    case 'l':
        arguments->loopback = true;
        return 0;
    case 'e':
        if (arg && strcmp(arg, "true") != 0 && strcmp(arg, "false") != 0)
            argp_error(state, "--leader-elect=%s: true or false", arg);
        arguments->elect = !arg || strcmp(arg, "true") == 0;
        return 0;
    case 'w':
        arguments->web_address = arg;
        return 0;
    case 'q':
        arguments->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "%s: no argument is taken", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_line(void *arg, const char *line) {
    const struct arguments *arguments = arg;
    char now[TIMESTAMP_SIZE];

    if (arguments->quiet)
        return;
    timestamp_format(clock_wall_ms(NULL), now);
    fprintf(stderr, "%s %s\n", now, line);
}

struct wiring {
    struct arguments arguments;
    struct connection connection;
    struct web *web; /* NULL: none */
};

static int connect_child(void *arg, const char *child, const char *kubeconfig,
                         struct transport **ret_transport, struct err *err) {
    struct wiring *wiring = arg;

    return connection_open(&wiring->connection, child, kubeconfig, ret_transport, err);
}

static void wired_line(void *arg, const char *line) {
    struct wiring *wiring = arg;

    print_line(&wiring->arguments, line);
}

static void wake_control(void *arg) {
    struct wiring *wiring = arg;

    fetch_wake(wiring->connection.fetch);
}

/* Starts the web thread if it was asked for. */
static int start_web(struct wiring *wiring, struct err *err) {
    const struct web_options serving = {
        .address = wiring->arguments.web_address, .wake = wake_control, .arg = wiring};
    char line[64];

    if (!serving.address)
        return 0;
    if (web_new(&serving, &wiring->web, err) < 0)
        return err_wrap(err, ERR_INVALID, "--web-address");
    snprintf(line, sizeof line, "probes and metrics on port %d", web_port_number(wiring->web));
    wired_line(wiring, line);
    return 0;
}

/* Returns the exit status: 0 after a signal, 1 once leadership is lost. */
static int run(struct wiring *wiring, struct hub_connection *hub, struct manager *manager) {
    bool was_synced = false;
    int64_t stop_ms = 0;

    while (!manager_lost(manager)) {
        const int64_t now_ms = clock_mono_ms(NULL);

        if (stopping && !stop_ms) {
            stop_ms = now_ms + STOP_MAX_MS;
            web_stopping(wiring->web);
            manager_stop(manager);
            wired_line(wiring, "stopping: what is in flight is waited for");
        }
        if (stop_ms && (manager_stopped(manager) || now_ms > stop_ms))
            return 0;
        struct err err = {0};
        int64_t due_ms = manager_turn(manager, now_ms);
        const int64_t hub_ms = hub_connection_turn(hub, now_ms, clock_wall_ms(NULL), &err);

        if (err.code)
            wired_line(wiring, err.msg);
        if (!was_synced && manager_synced(manager)) {
            was_synced = true;
            wired_line(wiring, "the hub's caches are filled");
        }
        const int64_t web_ms = web_turn(wiring->web, manager, now_ms);

        if (hub_ms < due_ms)
            due_ms = hub_ms;
        if (web_ms < due_ms)
            due_ms = web_ms;
        if (due_ms > now_ms + TURN_MAX_MS)
            due_ms = now_ms + TURN_MAX_MS;
        fetch_turn(wiring->connection.fetch, due_ms > now_ms ? (int)(due_ms - now_ms) : 0);
    }
    wired_line(wiring, "leadership is lost: ending, so that nothing more is written");
    return 1;
}

int main(int argc, char **argv) {
    static const struct argp_option options[] = {
        {"kubeconfig", 'k', "FILE", 0, "the hub's kubeconfig; default: in cluster, else as kubectl",
         0},
        {"context", 'c', "NAME", 0, "context of the kubeconfig", 0},
        {"namespace", 'n', "NAME", 0, "our own namespace (bulkhead-system)", 0},
        {"mode", 'm', "Observe|Act", 0, "Observe computes and explains and writes nothing (Act)",
         0},
        {"allow-loopback", 'l', NULL, 0, "children may be on loopback addresses: for tests", 0},
        {"leader-elect", 'e', "true|false", OPTION_ARG_OPTIONAL,
         "write only while holding the Lease " ELECTION_LEASE " (true)", 0},
        {"web-address", 'w', "ADDR:PORT", 0,
         "serve /healthz and /readyz there, over plain HTTP (not served)", 0},
        {"quiet", 'q', NULL, 0, "no line for each write", 0},
        {0},
    };
    static const struct argp parser = {
        options,
        option,
        NULL,
        "Keeps the replicas of AppDefinitions in the right zones of the right child clusters.",
        NULL,
        NULL,
        NULL};
    struct wiring wiring = {.arguments = {.ns = "bulkhead-system", .elect = true}};
    char identity[IDENTITY_SIZE], host[256] = "";
    struct hub_connection *hub = NULL;
    struct err err = {0};
    const struct sigaction action = {.sa_handler = stop};

    prctl(PR_SET_DUMPABLE, 0); /* no core file holds a credential */
    argp_parse(&parser, argc, argv, 0, NULL, &wiring.arguments);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    wiring.connection.loopback = wiring.arguments.loopback;
    if (fetch_new(&wiring.connection.fetch, &err) < 0 ||
        hub_connection_new(&wiring.connection, &wiring.arguments.hub, clock_mono_ms(NULL), &hub,
                           &err) < 0 ||
        start_web(&wiring, &err) < 0) {
        fprintf(stderr, "bulkhead-controller: %s\n", err.msg);
        hub_connection_free(hub);
        fetch_free(wiring.connection.fetch);
        return 1;
    }
    gethostname(host, sizeof host - 1);
    snprintf(identity, sizeof identity, "%s_%016llx", host, (unsigned long long)random_seed());
    const struct manager_options managing = {
        .rng = {.state = random_seed()},
        .ns = wiring.arguments.ns,
        .observe = wiring.arguments.observe,
        .identity = wiring.arguments.elect ? identity : NULL,
        .hub = hub_connection_transport(hub),
        .connect = connect_child,
        .log = wired_line,
        .arg = &wiring,
    };
    struct manager *manager = manager_new(&managing);

    const int status = run(&wiring, hub, manager);

    web_free(wiring.web);
    manager_free(manager);
    hub_connection_free(hub);
    fetch_free(wiring.connection.fetch);
    return status;
}
