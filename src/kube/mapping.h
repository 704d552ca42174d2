/* mapping.h - which resource serves a kind: discovery of one API server, cached (C26a).
 *
 * Asks for the aggregated form (apidiscovery.k8s.io/v2) and follows the per-group documents of a
 * server that does not know it. A group that fails keeps what was known of it and harms no other.
 * Never blocks: a kind that is not known starts a refresh, at most once per MAPPING_REFRESH_MS.
 * Ownership: the client and the clock are the caller's and must outlive it.
 * Limits:    MAPPING_KIND_MAX kinds, MAPPING_DOCUMENT_MAX documents a refresh; more are left out.
 * Threads:   one.
 */
#ifndef BULKHEAD_KUBE_MAPPING_H
#define BULKHEAD_KUBE_MAPPING_H

#include "base/clock.h"
#include "kube/client.h"

#include <stdbool.h>
#include <stdint.h>

#define MAPPING_REFRESH_MS 10000
#define MAPPING_KIND_MAX 8192
#define MAPPING_DOCUMENT_MAX 1024
#define MAPPING_TIMEOUT_MS 10000 /* of one document */

/* Borrowed until the next callback of the transport or call with the mapping. */
struct mapping_resource {
    const char *group;    /* "" is the core group */
    const char *version;  /* the one the server prefers among those that have the kind */
    const char *resource; /* plural, as the server writes it */
    bool namespaced;
};

struct mapping;

/* A mapping that knows nothing yet. Release with mapping_free(). */
struct mapping *mapping_new(struct kube_client *client, const struct clock *clock);

/* Ends what is under way and releases the mapping; NULL is fine. */
void mapping_free(struct mapping *mapping);

/* 1 and the resource of a kind, or 0 if it is not known: a refresh is then asked for, and a later
 * call may know more. group "" is the core group. */
int mapping_find(struct mapping *mapping, const char *group, const char *kind,
                 struct mapping_resource *ret_resource);

/* Starts a refresh that was asked for, once it is allowed. Returns when to come again; INT64_MAX:
 * only after a mapping_find() that gave 0. */
int64_t mapping_tick(struct mapping *mapping, int64_t now_ms);

/* Whether a refresh is under way: a kind not found may still turn up. */
bool mapping_is_busy(const struct mapping *mapping);

#endif
