/* cmd.h - a verb of the kubectl plugin: one file, one table entry.
 *
 * Exit status: CMD_OK, CMD_FAILED (bad input, named on stderr), CMD_USAGE (wrong options),
 *              CMD_SHORT (the answer stands, but something is owed).
 */
#ifndef BULKHEAD_CLI_CMD_H
#define BULKHEAD_CLI_CMD_H

enum cmd_status { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2, CMD_SHORT = 3 };

struct cmd {
    const char *verb;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the verb; returns an enum cmd_status */
};

/* Static entries, one file each. */
extern const struct cmd cmd_simulate;

#endif
