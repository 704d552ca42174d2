#include "kube/lease.h"

bool lease_may_write(const struct lease *lease, int64_t now_ms) {
    return lease->leading && !lease->lost && now_ms - lease->renewed_ms < LEASE_RENEW_DEADLINE_MS;
}

enum lease_action lease_step(struct lease *lease, const struct lease_seen *seen, int64_t now_ms) {
    if (!lease->known || seen->version_key != lease->version_key) {
        lease->known = true;
        lease->version_key = seen->version_key;
        lease->changed_ms = now_ms;
    }
    if (lease->leading && (!seen->ours || !lease_may_write(lease, now_ms)))
        lease->lost = true;
    if (lease->lost)
        return LEASE_STOP;
    if (lease->leading)
        return LEASE_RENEW;
    if (!seen->exists || !seen->held)
        return LEASE_ACQUIRE;
    /* Our own name from an earlier life is waited out like any other. */
    return now_ms - lease->changed_ms >= seen->duration_s * 1000 ? LEASE_ACQUIRE : LEASE_WAIT;
}

void lease_written(struct lease *lease, int64_t sent_ms) {
    if (lease->lost)
        return;
    lease->leading = true;
    lease->renewed_ms = sent_ms;
}
