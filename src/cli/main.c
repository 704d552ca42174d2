/* The kubectl plugin: wiring only. `kubectl bulkhead VERB` runs kubectl-bulkhead VERB. */
#include "cli/cmd.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const struct cmd *const VERBS[] = {&cmd_simulate};

static void usage(FILE *out) {
    fprintf(out, "Plans how applications spread over availability zones.\n\n"
                 "Usage:\n  kubectl bulkhead VERB [options]\n\nVerbs:\n");
    for (size_t i = 0; i < sizeof(VERBS) / sizeof(VERBS[0]); i++)
        fprintf(out, "  %-12s %s\n", VERBS[i]->verb, VERBS[i]->summary);
    fprintf(out, "\nkubectl bulkhead VERB --help shows a verb's options.\n");
}

int main(int argc, char **argv) {
    json_object_seed(0);
    if (argc < 2) {
        usage(stderr);
        return CMD_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return CMD_OK;
    }
    for (size_t i = 0; i < sizeof(VERBS) / sizeof(VERBS[0]); i++)
        if (strcmp(argv[1], VERBS[i]->verb) == 0)
            return VERBS[i]->run(argc - 1, argv + 1);
    fprintf(stderr, "error: unknown verb \"%s\"; kubectl bulkhead --help lists them\n", argv[1]);
    return CMD_USAGE;
}
