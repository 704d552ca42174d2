/* report.h - prints a decided problem: as a table, as cells with reasons, or as a Placement.
 *
 * Ownership: borrows everything; writes to the stream it is given.
 * Units:     replicas; shares in whole percent, rounded down.
 */
#ifndef BULKHEAD_CLI_REPORT_H
#define BULKHEAD_CLI_REPORT_H

#include "cli/scenario.h"

#include <stdio.h>

/* Clusters down, zones across, totals, shares and the cap that holds; then one line of verdict. */
void report_table(FILE *out, const struct scenario_problem *problem);

/* One line a cell that has, had or could have replicas: before, after, room and the reason. */
void report_wide(FILE *out, const struct scenario_problem *problem);

/* The decision as a Placement that --placement reads back. New reference. */
json_t *report_placement_new(const struct scenario_problem *problem, const char *ns,
                             const char *name);

/* Prints a value as YAML, block style, every string quoted. */
void report_yaml(FILE *out, const json_t *value);

#endif
