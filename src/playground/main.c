/* bulkhead-playground: a hub, two children and the controller on this machine; holds no logic. */
#include "playground/ground.h"
#include "playground/story.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *argp_program_version = "bulkhead-playground 0.1.0";

struct arguments {
    struct ground_options ground;
    bool check;
    bool story;
    bool no_kubectl;
};

static volatile sig_atomic_t stopping;

static void stop(int number) {
    (void)number;
    if (stopping)
        _Exit(1);
    stopping = 1;
}

static error_t option(int key, char *arg, struct argp_state *state) {
    struct arguments *arguments = state->input;

    switch (key) {
    case 'd':
        arguments->ground.kubeconfig_dir = arg;
        return 0;
    case 'a':
        arguments->ground.assets = arg;
        return 0;
    case 'c':
        arguments->check = true;
        return 0;
    case 's':
        arguments->story = true;
        return 0;
    case 'k':
        arguments->no_kubectl = true;
        return 0;
    case 'v':
        arguments->ground.quiet = false;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "%s: no argument is taken", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Whether kubectl is on the PATH. */
static bool kubectl_found(void) {
    const char *path = getenv("PATH");

    while (path && *path) {
        const size_t len = strcspn(path, ":");
        char file[4096];

        if (snprintf(file, sizeof file, "%.*s/kubectl", (int)len, path) < (int)sizeof file &&
            access(file, X_OK) == 0)
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

static void invite(const struct ground *ground) {
    printf("\nThe playground stays up; Ctrl-C ends it. In another terminal:\n\n"
           "  export KUBECONFIG=%s\n"
           "  kubectl get appdefinitions -o wide\n"
           "  kubectl get placement checkout -o yaml\n"
           "  kubectl describe appdefinition checkout\n"
           "  kubectl scale appdefinition/checkout --replicas=26\n"
           "  kubectl --kubeconfig %s get pods -A -o wide\n"
           "  kubectl get childclusters\n\n",
           ground_kubeconfig(ground, GROUND_HUB), ground_kubeconfig(ground, GROUND_A));
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const struct argp_option options[] = {
        {"kubeconfig-dir", 'd', "DIR", 0,
         "where the kubeconfigs of hub, cls-a and cls-b go (default: playground)", 0},
        {"assets", 'a', "DIR", 0, "folder with crds/ and manifests/ (default: .)", 0},
        {"check", 'c', NULL, 0, "tell the story, then end: 0, or 1 with the first broken promise",
         0},
        {"story", 's', NULL, 0, "tell the story, then stay up", 0},
        {"no-kubectl", 'k', NULL, 0, "tell the story without kubectl, even if it is there", 0},
        {"verbose", 'v', NULL, 0, "print each write of the controller", 0},
        {0},
    };
    static const struct argp parser = {
        options, option,
        NULL,    "Runs a hub, two child clusters with nodes in three zones, and the controller.",
        NULL,    NULL,
        NULL};
    struct arguments arguments = {
        .ground = {.assets = ".", .kubeconfig_dir = "playground", .quiet = true}};
    const struct sigaction action = {.sa_handler = stop};
    struct ground *ground = NULL;
    struct err err = {0};
    int broken = 0;

    argp_parse(&parser, argc, argv, 0, NULL, &arguments);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    json_object_seed(0);
    if (ground_new(&arguments.ground, &ground, &err) < 0) {
        fprintf(stderr, "bulkhead-playground: %s\n", err.msg);
        return 1;
    }
    if (arguments.check || arguments.story) {
        const struct story_options telling = {.assets = arguments.ground.assets,
                                              .keep = !arguments.check,
                                              .kubectl = !arguments.no_kubectl && kubectl_found(),
                                              .stopping = &stopping};

        broken = story_tell(ground, &telling);
    }
    if (!arguments.check && !broken) {
        invite(ground);
        while (!stopping)
            ground_turn(ground, 500);
    }
    ground_free(ground);
    return broken;
}
