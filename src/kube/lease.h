/* lease.h - leader election as a pure state machine over one Lease record.
 *
 * Age is measured on our own monotonic clock from when we last saw the record change; the record's
 * own times are never compared with ours. lease_may_write() is asked before every write.
 * Units: *_ms is monotonic milliseconds, handed in.
 */
#ifndef BULKHEAD_KUBE_LEASE_H
#define BULKHEAD_KUBE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#define LEASE_DURATION_S 15
#define LEASE_RENEW_DEADLINE_MS 10000
#define LEASE_RETRY_MS 2000

/* What a read of the Lease showed. */
struct lease_seen {
    bool exists;
    bool held;           /* holderIdentity is not "" */
    bool ours;           /* holderIdentity is our own */
    int64_t duration_s;  /* leaseDurationSeconds */
    int64_t version_key; /* changes whenever the record does: a hash of its resourceVersion */
};

/* All-zero is a candidate that has seen nothing. */
struct lease {
    bool leading;
    bool lost;  /* led once and lost it: the process has to exit */
    bool known; /* the next two are set */
    int64_t version_key;
    int64_t changed_ms; /* when we saw version_key first */
    int64_t renewed_ms; /* when the last successful renewal was sent */
};

enum lease_action { LEASE_WAIT, LEASE_ACQUIRE, LEASE_RENEW, LEASE_STOP };

/* Judges a fresh read. LEASE_ACQUIRE and LEASE_RENEW ask for one write guarded by the version read;
 * its result goes to lease_written(). LEASE_STOP: leadership is lost, no more writes, exit. */
enum lease_action lease_step(struct lease *lease, const struct lease_seen *seen, int64_t now_ms);

/* The write asked for succeeded; sent_ms is when it was sent, not when it was answered. */
void lease_written(struct lease *lease, int64_t sent_ms);

/* Whether a write may start now: we lead, and the last renewal is within the renew deadline. */
bool lease_may_write(const struct lease *lease, int64_t now_ms);

#endif
