/* election.h - one active controller by Lease: reads and writes it through plans, judges by
 * lease.h.
 *
 * A candidate renews or watches every LEASE_RETRY_MS. Whoever led and could not renew in time has
 * lost for good: the process stops writing and ends.
 * Units:     monotonic milliseconds; wall time only for what stands in the Lease.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_ELECTION_H
#define BULKHEAD_CONTROLLER_ELECTION_H

#include "controller/plan.h"

#include <stdbool.h>
#include <stdint.h>

#define ELECTION_LEASE "bulkhead-controller"
#define ELECTION_CALL_MS 4000 /* of each read or write: a renewal ends within the lease */

struct election;

/* A candidate of this identity for the Lease in namespace ns. Release with election_free(). */
struct election *election_new(const char *ns, const char *identity);

/* Releases it, without a word to the API server; NULL is fine. */
void election_free(struct election *election);

/* Plans the read or write that is due, and asks for the next pass. */
void election_plan(struct election *election, int64_t now_ms, int64_t wall_ms, struct plan *plan);

/* Hears what became of a planned step. Returns whether another pass is due at once. */
bool election_hear(struct election *election, const struct plan_step *step,
                   const struct kube_reply *reply, int64_t now_ms);

/* Whether a write may start now. */
bool election_leads(const struct election *election, int64_t now_ms);

/* Whether it led and lost: write nothing more, and end. */
bool election_lost(const struct election *election);

/* Gives the Lease up from the next pass on, so that the next leader need not wait. Only after all
 * writes ended. */
void election_release(struct election *election);

/* Whether the release was answered, or there was nothing to release. */
bool election_released(const struct election *election);

#endif
