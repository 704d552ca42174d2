/* manager.h - the one loop: watches into caches, changes into keys, keys into plans, plans sent.
 *
 * Has no thread and no wait of its own: the caller moves bytes (fetch_turn(), loopback_step()) and
 * calls manager_turn() in between. The same program therefore runs over the network and, from a
 * seed, on a hand-turned clock.
 * Units:     monotonic milliseconds.
 * Ownership: the hub's transport and the clock are the caller's and must outlive the manager.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_MANAGER_H
#define BULKHEAD_CONTROLLER_MANAGER_H

#include "base/clock.h"
#include "base/random.h"
#include "controller/dispatch.h"
#include "controller/world.h"

#define MANAGER_KEYS_MAX 400000
#define MANAGER_TURN_KEYS 256 /* reconciled in one turn, so that bytes are moved in between */

struct manager_options {
    const struct clock *clock;
    struct random rng;
    const char *ns;       /* our namespace in the hub */
    bool observe;         /* compute and explain, write nothing, unless world_mode() says more */
    const char *identity; /* who we are in the Lease; NULL: no election, we act at once */
    struct transport *hub;
    /* Opens a transport to a child; see world.h. */
    int (*connect)(void *arg, const char *child, const char *kubeconfig,
                   struct transport **ret_transport, struct err *err);
    /* Told, for a log, of each decision and failure: one line for people. May be NULL. */
    void (*log)(void *arg, const char *line);
    void *arg;
    int hub_in_flight_max;   /* 0: 32 */
    int child_in_flight_max; /* 0: 8 (C23) */
};

struct manager_counts {
    uint64_t reconciled;
    uint64_t failed;
    size_t queued;
    struct dispatch_counts dispatch;
};

struct manager;

/* A manager that has not started; the first turn does. Release with manager_free(). */
struct manager *manager_new(const struct manager_options *options);

/* Ends every watch and call and releases it; NULL is fine. What was in flight may have happened. */
void manager_free(struct manager *manager);

/* Does what is due. Returns when to come again; the caller also comes after each answer. */
int64_t manager_turn(struct manager *manager, int64_t now_ms);

/* Whether the hub's caches are filled and decisions are being made. */
bool manager_synced(const struct manager *manager);

/* Whether this process may write: it leads, or there is no election. */
bool manager_leads(const struct manager *manager, int64_t now_ms);

/* Whether it computes and explains and writes nothing, as of now: world_mode(), or else as it was
 * started. */
bool manager_observes(const struct manager *manager);

/* Whether it led and lost: the caller ends the process without another turn. */
bool manager_lost(const struct manager *manager);

/* Ends writing and, once nothing is in flight any more, gives the Lease up. Turns go on until
 * manager_stopped(). */
void manager_stop(struct manager *manager);

/* Whether nothing is left to be done after manager_stop(). */
bool manager_stopped(const struct manager *manager);

/* Whether nothing is queued for now, planned or in flight. */
bool manager_idle(const struct manager *manager, int64_t now_ms);

/* What it knows; borrowed. */
struct world *manager_world(struct manager *manager);

/* Numbers for metrics. */
struct manager_counts manager_counts(const struct manager *manager);

#endif
