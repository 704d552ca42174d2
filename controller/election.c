#include "controller/election.h"

#include "base/str.h"
#include "base/timestamp.h"
#include "core/topology.h"
#include "kube/lease.h"

#include <stdlib.h>
#include <string.h>

struct election {
    char *ns;
    char *identity;
    struct lease lease;
    enum lease_action action; /* what the last read asks for */
    json_t *record;           /* as read last; NULL: there is none */
    bool read;                /* record is from this round, and a write follows from it */
    int64_t sent_ms;          /* when the write in flight was planned */
    bool releasing;
    bool released;
};

struct election *election_new(const char *ns, const char *identity) {
    struct election *election = str_alloc(1, sizeof *election);

    election->ns = str_dup(ns);
    election->identity = str_dup(identity);
    return election;
}

void election_free(struct election *election) {
    if (!election)
        return;
    json_decref(election->record);
    free(election->ns);
    free(election->identity);
    free(election);
}

static struct plan_step *step_add(struct election *election, struct plan *plan,
                                  enum kube_verb verb) {
    const struct url_target where = {.group = "coordination.k8s.io",
                                     .version = "v1",
                                     .resource = "leases",
                                     .ns = election->ns,
                                     .name = verb == KUBE_CREATE ? NULL : ELECTION_LEASE};
    struct plan_step *step = plan_add(plan, PLAN_HUB, QUEUE_LEASE, verb, &where);

    step->ungated = true;
    step->timeout_ms = ELECTION_CALL_MS;
    return step;
}

/* The Lease as it should be after our write: ours and renewed, or nobody's. */
static json_t *record_new(const struct election *election, int64_t wall_ms) {
    char now[TIMESTAMP_MICRO_SIZE];
    json_t *record =
        election->record
            ? json_deep_copy(election->record)
            : json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "coordination.k8s.io/v1", "kind",
                        "Lease", "metadata", "name", ELECTION_LEASE, "namespace", election->ns);
    json_t *spec = json_object_get(record, "spec");

    if (!json_is_object(spec)) {
        spec = json_object();
        json_object_set_new(record, "spec", spec);
    }
    timestamp_format_micro(wall_ms, now);
    json_object_set_new(spec, "renewTime", json_string(now));
    if (election->releasing) {
        json_object_set_new(spec, "holderIdentity", json_string(""));
        json_object_set_new(spec, "leaseDurationSeconds", json_integer(1));
        return record;
    }
    json_object_set_new(spec, "leaseDurationSeconds", json_integer(LEASE_DURATION_S));
    if (election->action == LEASE_ACQUIRE) {
        const json_int_t before = json_integer_value(json_object_get(spec, "leaseTransitions"));

        json_object_set_new(spec, "holderIdentity", json_string(election->identity));
        json_object_set_new(spec, "acquireTime", json_string(now));
        json_object_set_new(spec, "leaseTransitions",
                            json_integer(election->record ? before + 1 : 0));
    }
    return record;
}

/* Whether the last read is to be followed by a write. */
static bool wants_write(const struct election *election) {
    if (election->releasing)
        return election->lease.leading;
    return election->action == LEASE_ACQUIRE || election->action == LEASE_RENEW;
}

void election_plan(struct election *election, int64_t now_ms, int64_t wall_ms, struct plan *plan) {
    if (election->lease.leading && !lease_may_write(&election->lease, now_ms))
        election->lease.lost = true; /* nobody answered in time */
    if (election->lease.lost || election->released)
        return;
    plan_again_at(plan, now_ms + LEASE_RETRY_MS);
    if (!election->read) {
        step_add(election, plan, KUBE_GET);
        return;
    }
    election->read = false;
    if (!wants_write(election)) {
        election->released = election->releasing;
        return;
    }
    struct plan_step *step =
        step_add(election, plan, election->record ? KUBE_REPLACE : KUBE_CREATE);
    json_t *record = record_new(election, wall_ms);

    step->body = json_dumps(record, JSON_COMPACT);
    step->body_bytes = strlen(step->body);
    step->manager = "bulkhead";
    json_decref(record);
    election->sent_ms = now_ms;
}

/* Judges what a read showed. */
static void record_take(struct election *election, json_t *record, int64_t now_ms) {
    const json_t *spec = json_object_get(record, "spec");
    const char *holder = json_string_value(json_object_get(spec, "holderIdentity"));
    const char *rv =
        json_string_value(json_object_get(json_object_get(record, "metadata"), "resourceVersion"));
    const struct lease_seen seen = {
        .exists = record != NULL,
        .held = holder && *holder,
        .ours = holder && strcmp(holder, election->identity) == 0,
        .duration_s = json_integer_value(json_object_get(spec, "leaseDurationSeconds")),
        .version_key = (int64_t)topology_tie(rv ? rv : "", ""),
    };

    json_decref(election->record);
    election->record = record;
    election->action = lease_step(&election->lease, &seen, now_ms);
    election->read = wants_write(election) || election->releasing;
}

bool election_hear(struct election *election, const struct plan_step *step,
                   const struct kube_reply *reply, int64_t now_ms) {
    const bool ok = reply && kube_reply_ok(reply);

    if (step->verb == KUBE_GET) {
        if (!ok && !(reply && reply->status == 404))
            return false; /* nothing is known: the deadline goes on */
        record_take(election, ok ? json_loadb(reply->body, reply->body_bytes, 0, NULL) : NULL,
                    now_ms);
        return election->action != LEASE_WAIT || election->releasing;
    }
    if (ok && election->releasing) {
        election->lease.leading = false;
        election->released = true;
    } else if (ok) {
        lease_written(&election->lease, election->sent_ms);
    }
    return false;
}

bool election_leads(const struct election *election, int64_t now_ms) {
    return !election->releasing && lease_may_write(&election->lease, now_ms);
}

bool election_lost(const struct election *election) {
    return election->lease.lost;
}

void election_release(struct election *election) {
    election->releasing = true;
}

bool election_released(const struct election *election) {
    return election->released || election->lease.lost || !election->lease.leading;
}
