/* workload.h - what a cache keeps of a Deployment or StatefulSet in a child cluster.
 *
 * Decides nothing: whether a rollout is done follows from these numbers elsewhere.
 * Absent spec.replicas is 1, as the API server has it; every absent count in status is 0.
 * Ownership: texts are references into the table of names, which workload_done() gives back. The
 *            struct may be copied as it is; one copy is then done.
 * Errors:    ERR_INVALID for what is no workload; ERR_RETRY when the table of names is full.
 * Outputs are then untouched and nothing is held.
 */
#ifndef BULKHEAD_API_WORKLOAD_H
#define BULKHEAD_API_WORKLOAD_H

#include "api/meta.h"
#include "base/err.h"
#include "base/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Said by the caller, since the items of a list do not name their kind. */
enum workload_kind {
    WORKLOAD_DEPLOYMENT,
    WORKLOAD_STATEFULSET,
};

/* Names are NULL when absent. */
struct workload {
    const char *app_uid;
    const char *app;
    const char *zone;             /* value of the label: objectname_zone_label() */
    const char *template_hash;    /* annotation bulkhead.dev/template-hash */
    const char *current_revision; /* StatefulSet */
    const char *update_revision;  /* StatefulSet */
    int64_t generation;
    int64_t observed_generation;
    int64_t created_ms;
    int32_t replicas; /* spec */
    int32_t status_replicas;
    int32_t updated_replicas;
    int32_t ready_replicas;
    int32_t available_replicas;
    int32_t ordinals_start; /* StatefulSet */
    uint8_t kind;           /* enum workload_kind */
    bool managed;           /* app.kubernetes.io/managed-by is ours */
    bool scaled; /* replicas belong to our scale manager: a template may leave them out */
    bool paused;
    bool deadline_exceeded; /* condition Progressing has reason ProgressDeadlineExceeded */
    bool deleting;
};

/* Reads a whole object of that kind. The caller releases *ret_workload with workload_done(). */
int workload_read(enum workload_kind kind, const char *bytes, size_t size_bytes,
                  struct names *names, struct meta *ret_meta, struct workload *ret_workload,
                  struct err *err);

/* Gives the workload's names back and zeroes it; NULL and all-zero are fine. */
void workload_done(struct workload *workload, struct names *names);

#endif
