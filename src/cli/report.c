#include "cli/report.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static int32_t cell_total(const struct scenario_problem *problem, int32_t cluster, int32_t zone);
static void print_verdict(FILE *out, const struct scenario_problem *problem);
static void yaml_value(FILE *out, const json_t *value, int indent);

#define NAME_WIDTH_MAX 40

static int name_width(const char *const *names, int32_t count, int least) {
    int width = least;

    for (int32_t i = 0; i < count; i++) {
        const int len = (int)strlen(names[i]);

        if (len > width)
            width = len < NAME_WIDTH_MAX ? len : NAME_WIDTH_MAX;
    }
    return width;
}

/* The widest column title decides every zone column, so that long names stay aligned. */
void report_table(FILE *out, const struct scenario_problem *problem) {
    const struct topology_input *in = &problem->input;
    const int first = name_width(problem->cluster_names, in->cluster_count, 8);
    const int wide = name_width(problem->zone_names, in->zone_count, 6);
    const int32_t wanted = in->policy.replicas;

    fprintf(out, "%-*s", first, "CLUSTER");
    for (int32_t z = 0; z < in->zone_count; z++)
        fprintf(out, "  %*s", wide, problem->zone_names[z]);
    fprintf(out, "  %6s\n", "TOTAL");
    for (int32_t c = 0; c < in->cluster_count; c++) {
        fprintf(out, "%-*s", first, problem->cluster_names[c]);
        for (int32_t z = 0; z < in->zone_count; z++)
            fprintf(out, "  %*d", wide, cell_total(problem, c, z));
        fprintf(out, "  %6d\n", cell_total(problem, c, -1));
    }
    fprintf(out, "%-*s", first, "total");
    for (int32_t z = 0; z < in->zone_count; z++)
        fprintf(out, "  %*d", wide, problem->result.zones[z].replicas);
    fprintf(out, "  %6d\n", cell_total(problem, -1, -1));
    if (wanted > 0) {
        fprintf(out, "%-*s", first, "share");
        for (int32_t z = 0; z < in->zone_count; z++) {
            const int64_t share = (int64_t)problem->result.zones[z].replicas * 100 / wanted;

            fprintf(out, "  %*d%%", wide - 1, (int)share);
        }
        fputc('\n', out);
    }
    fprintf(out, "%-*s", first, "why");
    for (int32_t z = 0; z < in->zone_count; z++)
        fprintf(out, "  %*s", wide, topology_reason_name(problem->result.zones[z].reason));
    fputc('\n', out);
    print_verdict(out, problem);
}

/* Sums the replicas of a cluster in a zone; -1 stands for all. */
static int32_t cell_total(const struct scenario_problem *problem, int32_t cluster, int32_t zone) {
    int32_t total = 0;

    for (int32_t i = 0; i < problem->input.cell_count; i++) {
        const struct topology_cell *cell = &problem->cells[i];

        if ((cluster < 0 || cell->cluster == cluster) && (zone < 0 || cell->zone == zone))
            total += problem->result.cells[i].replicas;
    }
    return total;
}

static void print_verdict(FILE *out, const struct scenario_problem *problem) {
    const struct topology_result *result = &problem->result;
    const struct topology_policy *policy = &problem->input.policy;
    const int32_t cap = topology_cap(policy->replicas, policy->max_zone_percent);

    if (result->rejected)
        fprintf(out, "Rejected (%s): the last placement stays.\n",
                topology_block_name(result->block));
    else if (result->shortfall > 0)
        fprintf(out, "Short of %d replicas (%s); %d moved; a zone may hold %d (%d%% of %d).\n",
                result->shortfall, topology_block_name(result->block), result->moves, cap,
                policy->max_zone_percent, policy->replicas);
    else
        fprintf(out, "All %d placed; %d moved; a zone may hold %d (%d%% of %d).\n",
                policy->replicas, result->moves, cap, policy->max_zone_percent, policy->replicas);
    if (result->beyond_cap)
        fprintf(out, "Warning: a zone holds more than its cap allows.\n");
}

void report_wide(FILE *out, const struct scenario_problem *problem) {
    const struct topology_input *in = &problem->input;
    const int zone_width = name_width(problem->zone_names, in->zone_count, 4);
    const int cluster_width = name_width(problem->cluster_names, in->cluster_count, 7);

    fprintf(out, "%-*s  %-*s  %8s  %8s  %8s  %-6s  %s\n", zone_width, "ZONE", cluster_width,
            "CLUSTER", "BEFORE", "REPLICAS", "ROOM", "FROZEN", "REASON");
    for (int32_t i = 0; i < in->cell_count; i++) {
        const struct topology_cell *cell = &problem->cells[i];

        fprintf(out, "%-*s  %-*s  %8d  %8d  %8d  %-6s  %s\n", zone_width,
                problem->zone_names[cell->zone], cluster_width,
                problem->cluster_names[cell->cluster], cell->present,
                problem->result.cells[i].replicas, cell->room, cell->frozen ? "yes" : "no",
                topology_reason_name(problem->result.cells[i].reason));
    }
    print_verdict(out, problem);
}

json_t *report_placement_new(const struct scenario_problem *problem, const char *ns,
                             const char *name) {
    json_t *cells = json_array();

    for (int32_t i = 0; i < problem->input.cell_count; i++) {
        const struct topology_cell *cell = &problem->cells[i];

        if (problem->result.cells[i].replicas > 0)
            json_array_append_new(
                cells, json_pack("{s:s, s:s, s:i}", "zone", problem->zone_names[cell->zone],
                                 "cluster", problem->cluster_names[cell->cluster], "replicas",
                                 (int)problem->result.cells[i].replicas));
    }
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:o}}", "apiVersion", "bulkhead.dev/v1alpha1",
                     "kind", "Placement", "metadata", "namespace", ns, "name", name, "spec",
                     "cells", cells);
}

void report_yaml(FILE *out, const json_t *value) {
    yaml_value(out, value, 0);
}

static void yaml_entry(FILE *out, const json_t *value, int indent) {
    const bool nested = (json_is_object(value) && json_object_size(value) > 0) ||
                        (json_is_array(value) && json_array_size(value) > 0);

    if (nested) {
        fputc('\n', out);
        yaml_value(out, value, indent);
    } else {
        fputc(' ', out);
        json_dumpf(value, out, JSON_ENCODE_ANY);
        fputc('\n', out);
    }
}

static void yaml_value(FILE *out, const json_t *value, int indent) {
    const char *key;
    json_t *child;
    size_t i;

    if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, child) {
            fprintf(out, "%*s%s:", indent, "", key);
            yaml_entry(out, child, indent + 2);
        }
    } else {
        json_array_foreach(value, i, child) {
            fprintf(out, "%*s- ", indent, "");
            json_dumpf(child, out, JSON_ENCODE_ANY);
            fputc('\n', out);
        }
    }
}
