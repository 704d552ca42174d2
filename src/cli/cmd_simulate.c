/* simulate: what the scheduler would decide for a manifest and an inventory, without a cluster. */
#include "api/appdefinition.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/cmd.h"
#include "cli/report.h"
#include "cli/scenario.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX_BYTES (3U << 20) /* what an API server takes in one request */

struct options {
    const char *app;
    const char *inventory;
    const char *placement;
    const char *output;
    enum topology_change change;
    bool change_given;
};

static int simulate_run(int argc, char **argv);
static int simulate(const struct options *options, struct err *err);
static const char *shown_name(const char *path);
static int load(const char *path, json_t **ret_root, struct err *err);
static int read_app(struct scenario *scenario, const json_t *root, struct err *err);
static int print_answer(const struct options *options, const struct scenario_problem *problem,
                        const json_t *app);

const struct cmd cmd_simulate = {"simulate", "what the scheduler would place where, and why",
                                 simulate_run};

static error_t parse_option(int key, char *arg, struct argp_state *state) {
    static const char *const CHANGES[] = {"replicas", "policy", "rebalance", "shortfall"};
    struct options *options = state->input;

    switch (key) {
    case 'f':
        options->app = arg;
        return 0;
    case 'i':
        options->inventory = arg;
        return 0;
    case 'p':
        options->placement = arg;
        return 0;
    case 'o':
        if (strcmp(arg, "table") != 0 && strcmp(arg, "wide") != 0 && strcmp(arg, "yaml") != 0 &&
            strcmp(arg, "json") != 0) {
            argp_error(state, "--output: \"%s\" is none of table, wide, yaml, json", arg);
            return EINVAL;
        }
        options->output = arg;
        return 0;
    case 'c':
        for (size_t i = 0; i < sizeof(CHANGES) / sizeof(CHANGES[0]); i++) {
            if (strcmp(arg, CHANGES[i]) == 0) {
                options->change = (enum topology_change)i;
                options->change_given = true;
                return 0;
            }
        }
        argp_error(state, "--change: \"%s\" is none of replicas, policy, rebalance, shortfall",
                   arg);
        return EINVAL;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"; files are named by -f, -i and -p", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int simulate_run(int argc, char **argv) {
    static const struct argp_option OPTIONS[] = {
        {"filename", 'f', "FILE", 0, "the AppDefinition, YAML or JSON; - reads stdin", 0},
        {"inventory", 'i', "FILE", 0, "free room per zone of each child cluster", 0},
        {"placement", 'p', "FILE", 0, "the last Placement; without it the app is new", 0},
        {"change", 'c', "WHAT", 0,
         "what happened since: replicas (default), policy, rebalance, shortfall", 0},
        {"output", 'o', "FORMAT", 0, "table (default), wide, yaml or json", 0},
        {0}};
    static const struct argp ARGP = {
        OPTIONS,
        parse_option,
        NULL,
        "Decides where the replicas of an AppDefinition go, by the function that the controller "
        "uses, and says why.\v"
        "Exit status: 0 everything placed, 1 bad input, 2 wrong usage, 3 replicas are owed or the "
        "last placement was kept.\n\n"
        "Example:\n"
        "  simulate -f app.yaml -i room.yaml\n"
        "  simulate -f app.yaml -i room.yaml -o yaml > last.yaml\n"
        "  simulate -f bigger.yaml -i room.yaml -p last.yaml -o wide",
        NULL,
        NULL,
        NULL};
    struct options options = {.output = "table"};
    struct err err = {0};

    argp_err_exit_status = CMD_USAGE;
    argv[0] = (char *)"kubectl bulkhead simulate"; /* what argp calls itself in its texts */
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &options) != 0)
        return CMD_USAGE;
    if (!options.app || !options.inventory) {
        fprintf(stderr, "error: -f FILE and -i FILE are required; see --help\n");
        return CMD_USAGE;
    }
    const int r = simulate(&options, &err);

    if (r < 0) {
        fprintf(stderr, "error: %s\n", err.msg);
        return CMD_FAILED;
    }
    return r;
}

static int simulate(const struct options *options, struct err *err) {
    json_auto_t *app = NULL;
    json_auto_t *inventory = NULL;
    json_auto_t *placement = NULL;
    struct scenario scenario;
    struct scenario_problem problem = {0};
    enum topology_change change = options->change;
    int r;

    scenario_init(&scenario);
    if ((r = load(options->app, &app, err)) < 0 ||
        (r = load(options->inventory, &inventory, err)) < 0 ||
        (options->placement && (r = load(options->placement, &placement, err)) < 0))
        goto out;
    if ((r = read_app(&scenario, app, err)) < 0) {
        err_wrap(err, r, "%s", shown_name(options->app));
        goto out;
    }
    if ((r = scenario_read_inventory(&scenario, inventory, err)) < 0) {
        err_wrap(err, r, "%s", shown_name(options->inventory));
        goto out;
    }
    if (placement && (r = scenario_read_placement(&scenario, placement, err)) < 0) {
        err_wrap(err, r, "%s", shown_name(options->placement));
        goto out;
    }
    if (!options->placement && !options->change_given)
        change = TOPOLOGY_POLICY; /* a new app is placed afresh */
    if ((r = scenario_problem_init(&problem, &scenario, change, err)) < 0)
        goto out;
    r = topology_decide(&problem.input, problem.scratch, &problem.result);
    if (r < 0)
        r = err_set(err, ERR_INVALID, "the policy is outside the scheduler's bounds");
    else
        r = print_answer(options, &problem, app);
out:
    scenario_problem_done(&problem);
    scenario_done(&scenario);
    return r;
}

/* How a file is called in an error: "-" says little at 3 a.m. */
static const char *shown_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Reads a whole file, or stdin for "-", up to FILE_MAX_BYTES, as one YAML or JSON document. */
static int load(const char *path, json_t **ret_root, struct err *err) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    struct str text;
    char chunk[8192];
    size_t got;
    int r = 0;

    if (!file)
        return err_set(err, ERR_INVALID, "%s: %s", path, strerror(errno));
    str_init(&text, FILE_MAX_BYTES);
    while (r == 0 && (got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        r = str_add(&text, chunk, got, err);
    if (r == 0 && ferror(file))
        r = err_set(err, ERR_INVALID, "read failed");
    if (file != stdin)
        fclose(file);
    if (r == 0)
        r = yaml_parse(text.data ? text.data : "", text.size_bytes, ret_root, err);
    str_done(&text);
    return r < 0 ? err_wrap(err, r, "%s", shown_name(path)) : 0;
}

/* Takes policy, zones and salt from an AppDefinition. */
static int read_app(struct scenario *scenario, const json_t *root, struct err *err) {
    struct appdefinition app = {0};
    const int r = appdefinition_parse(root, &app, err);

    if (r < 0)
        return r;
    scenario->policy = app.policy;
    for (int32_t i = 0; i < app.zone_count; i++)
        scenario_add_name(&scenario->named_zones, &scenario->named_count, app.zones[i]);
    for (int32_t i = 0; i < app.avoid_zone_count; i++)
        scenario_add_name(&scenario->avoided_zones, &scenario->avoided_count, app.avoid_zones[i]);
    scenario->salt =
        app.uid ? str_dup(app.uid) : str_printf("%s/%s", app.ns ? app.ns : "default", app.name);
    appdefinition_done(&app);
    return 0;
}

static int print_answer(const struct options *options, const struct scenario_problem *problem,
                        const json_t *app) {
    const json_t *metadata = json_object_get(app, "metadata");
    const char *ns = json_string_value(json_object_get(metadata, "namespace"));
    const char *name = json_string_value(json_object_get(metadata, "name"));
    json_auto_t *placement = report_placement_new(problem, ns ? ns : "default", name);

    if (strcmp(options->output, "table") == 0) {
        report_table(stdout, problem);
    } else if (strcmp(options->output, "wide") == 0) {
        report_wide(stdout, problem);
    } else if (strcmp(options->output, "json") == 0) {
        json_dumpf(placement, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        report_yaml(stdout, placement);
    }
    return problem->result.rejected || problem->result.shortfall > 0 ? CMD_SHORT : CMD_OK;
}
