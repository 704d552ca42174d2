/* pod.h - what a cache keeps of a pod: where it runs, whose it is, what it takes, how it does.
 *
 * Never holds the document. The request is the kube-scheduler's: the larger of what containers and
 * sidecars take together and what any init container takes beside the sidecars before it;
 * spec.resources (pod level) replaces it where set; overhead comes on top. A resize in place counts
 * as what spec asks for.
 * Ownership: texts are references into the table of names, which pod_done() gives back. The struct
 *            may be copied as it is; one copy is then done.
 * Units:     unix milliseconds, milli CPU, bytes. CPU stays at INT32_MAX.
 * Errors:    ERR_INVALID for what is no pod; ERR_RETRY when the table of names is full. Outputs are
 *            then untouched and nothing is held.
 */
#ifndef BULKHEAD_API_POD_H
#define BULKHEAD_API_POD_H

#include "api/address.h"
#include "api/meta.h"
#include "api/resources.h"
#include "base/err.h"
#include "base/names.h"
#include "core/room.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pod_phase {
    POD_PENDING, /* also when absent: a pod that no kubelet has seen */
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_FAILED,
    POD_UNKNOWN, /* "Unknown" and any phase that we do not know */
};

/* All-zero is a pod that asks for nothing. Names are NULL when absent. */
struct pod {
    const char *node; /* NULL: not scheduled */
    const char *app_uid;
    const char *app;
    const char *zone;         /* value of the label: objectname_zone_label() */
    const char *revision;     /* pod-template-hash or controller-revision-hash */
    int64_t started_ms;       /* status.startTime; 0: not started */
    int64_t ready_changed_ms; /* when the Ready condition last changed; 0: never */
    int64_t memory_bytes;
    int64_t extended[ROOM_EXTENDED_COUNT]; /* 64 bits, since huge pages are asked for in bytes */
    int32_t cpu_milli;
    struct address ip;
    uint8_t phase; /* enum pod_phase */
    bool ready;
    bool terminating; /* deletionTimestamp is set */
    bool managed;     /* app.kubernetes.io/managed-by is ours */
    bool uncounted;   /* asks for a resource that the fleet does not count */
};

_Static_assert(sizeof(struct pod) <= 200, "150,000 pods are held at once");

/* Reads a whole Pod. resources may be NULL. The caller releases *ret_pod with pod_done(). */
int pod_read(const char *bytes, size_t size_bytes, struct names *names,
             const struct resource_names *resources, struct meta *ret_meta, struct pod *ret_pod,
             struct err *err);

/* Gives the pod's names back and zeroes it; NULL and all-zero are fine. */
void pod_done(struct pod *pod, struct names *names);

/* Whether it has ended (Succeeded or Failed) and so takes nothing any more. */
bool pod_is_terminal(const struct pod *pod);

/* What it takes from its node: with ROOM_PODS 1; all 0 when it is terminal. */
void pod_request(const struct pod *pod, struct room_amount *ret_request);

#endif
