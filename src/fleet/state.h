/* state.h - what the parts of one fleet share: its nodes, pods and workloads, and their turns.
 *
 * Each node, pod and workload has a task: when something about it changes it is woken, and its turn
 * looks at what is there and sends at most what is missing, so no write is ever stale. While a
 * write of a task is in flight, its next turn waits for the answer.
 * Ownership: what informers read (the *_seen structs) belongs to their stores and is borrowed here
 *            until the sink tells otherwise; everything else belongs to struct fleet.
 * Limits:    FLEET_WRITES_MAX writes in flight. What waits is a list of the tasks themselves.
 */
#ifndef BULKHEAD_FLEET_STATE_H
#define BULKHEAD_FLEET_STATE_H

#include "api/node.h"
#include "api/pod.h"
#include "base/names.h"
#include "base/timer.h"
#include "fleet/fleet.h"
#include "kube/client.h"
#include "kube/informer.h"

#include <jansson.h>
#include <uthash.h>

#define FLEET_WRITES_MAX 16
#define FLEET_NODES_MAX 10000
#define FLEET_PODS_MAX 200000
#define FLEET_SETS_MAX 50000
#define FLEET_NAMES_MAX 1000000
#define FLEET_HASH_SIZE 11 /* 10 hex digits of a template's hash */
#define FLEET_MANAGER "fleet"

enum task_type { TASK_NODE, TASK_POD, TASK_SET };

/* First in its owner's struct. */
struct task {
    struct timer timer; /* first: a due timer is its task */
    struct task *prev, *next;
    enum task_type type;
    bool queued;
    int in_flight;
    unsigned failures;
    int64_t hold_ms; /* no turn before, after a failure */
};

/* What pods of one template have in common. */
struct shape {
    UT_hash_handle hh;
    struct shape **table;
    size_t ref_count;
    char *text;       /* of all below, as the key */
    json_t *selector; /* NULL: none */
    json_t *tolerations;
    json_t *containers; /* name and image of each */
    struct room_amount request;
    uint64_t full_epoch; /* no node had room for it at this epoch; 0: never */
};

struct pod_seen {
    struct names *names;
    struct pod pod;
    struct shape *shape;
    const char *ns;        /* held */
    const char *owner_uid; /* held; NULL: none */
    char *name;
    char *uid;
    int64_t created_ms;
    bool told_unschedulable;
};

struct node_seen {
    struct names *names;
    struct node node;
    char *uid;
};

enum set_type { SET_DEPLOYMENT, SET_STATEFULSET };

struct set_seen {
    json_t *root; /* without its managedFields */
    enum set_type type;
    const char *ns; /* these are root's */
    const char *name;
    char *uid;
    int64_t generation;
    bool deleting;
    char hash[FLEET_HASH_SIZE]; /* of spec.template */
};

struct sim_node {
    struct task task;
    UT_hash_handle hh;
    char *name;
    const struct node_seen *seen; /* NULL: not there */
    char *zone;                   /* as asked for; NULL: it is not one of ours */
    struct fleet_node wanted;     /* its texts are name and zone */
    bool removing;                /* asked for */
    bool lost;                    /* it was there and is not any more: nor are its pods */
    bool failed;
    bool sorted;         /* it stands in freest */
    bool was_ready;      /* as counted */
    int64_t evict_at_ms; /* of a failed one */
    int32_t free_ppm;    /* under which it is sorted */
    uint32_t address;    /* number of its IP */
    struct room_amount used;
    struct sim_pod *pods;
};

struct sim_pod {
    struct task task;
    UT_hash_handle hh;
    char *key;
    const struct pod_seen *seen;
    struct sim_set *set; /* NULL: nobody's */
    struct sim_pod *set_prev, *set_next;
    struct sim_node *node; /* whose room it takes; NULL: none */
    struct sim_pod *node_prev, *node_next;
    struct room_amount used; /* there */
    struct sim_pod *wait_prev, *wait_next;
    int64_t ready_at_ms; /* 0: not started */
    int64_t gone_at_ms;  /* 0: not ending */
    uint32_t address;
    int rank;                /* among those of its set on its node; while some are chosen to end */
    bool waiting;            /* for a node with room */
    bool doomed;             /* to be deleted */
    bool broken;             /* never becomes ready */
    bool is_bound, is_ready; /* as counted */
};

struct sim_set {
    struct task task;
    UT_hash_handle hh;
    char *uid;
    const struct set_seen *seen; /* NULL: not there (yet) */
    struct sim_pod *pods;
    int64_t progress_ms; /* when it last came closer to its goal */
    int64_t generation;  /* at that time, with the counts below */
    int updated, available, old;
};

enum source_type { SOURCE_NODES, SOURCE_PODS, SOURCE_DEPLOYMENTS, SOURCE_STATEFULSETS };
#define SOURCE_COUNT 4
#define SOURCE_NONE (-1)

struct source {
    struct fleet *fleet;
    struct informer *informer;
    struct meta meta; /* of the object read last */
};

enum write_type { WRITE_PUT, WRITE_DELETE, WRITE_BIND, WRITE_CLAIM };

struct write {
    struct fleet *fleet;
    struct write *prev, *next;
    struct task *task; /* NULL: it is gone */
    enum write_type type;
    int source; /* the cache that its answer is folded into */
    char *key;  /* of a delete */
    char *uid;
    uint64_t id;
};

struct fleet {
    struct fleet_options options;
    char *zone_label;
    struct names *names;
    struct kube_client *client;
    struct source sources[SOURCE_COUNT];
    struct shape *shapes;
    struct sim_node *nodes;
    struct sim_pod *pods;
    struct sim_set *sets;
    struct sim_node **freest; /* the nodes that are there, freest first, then by name */
    size_t freest_count;
    struct task *tasks; /* woken, in order */
    struct sim_pod *waiting;
    uint64_t epoch; /* counts what may have made room */
    uint64_t waiting_epoch;
    struct timer_heap timers;
    struct write *writes;
    int in_flight;
    uint32_t node_address;
    uint32_t pod_address;
    struct fleet_counts counts;
    bool broken;
    bool no_binding; /* pods/binding is not served */
};

/* task.c: gives the task a turn soon; one that waits already keeps its place. */
void task_wake(struct fleet *fleet, struct task *task);

/* task.c: gives the task a turn at due_ms, or sooner. */
void task_at(struct fleet *fleet, struct task *task, int64_t due_ms);

/* task.c: takes the task out of everything, before its owner goes. */
void task_forget(struct fleet *fleet, struct task *task);

/* task.c: the number of writes that may be sent now. */
int write_slots(const struct fleet *fleet);

/* task.c: sends a write with this JSON body (taken over; NULL: none). key and uid are needed for a
 * delete. */
void write_send(struct fleet *fleet, const struct write *write, struct kube_call *call,
                json_t *body);

/* reading.c: the readers of the informers; arg is a struct source. This one reads a Pod. */
int reading_pod(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                struct err *err);
/* Reads a Node. */
int reading_node(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                 struct err *err);
/* Reads a Deployment. */
int reading_deployment(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                       struct err *err);
/* Reads a StatefulSet. */
int reading_statefulset(void *arg, const char *bytes, size_t size_bytes,
                        struct store_item *ret_item, struct err *err);
/* Releases what reading_pod() made. */
void reading_pod_free(void *object);
/* Releases what reading_node() made. */
void reading_node_free(void *object);
/* Releases what reading_deployment() or reading_statefulset() made. */
void reading_set_free(void *object);

/* nodes.c: the sink; context is the fleet. */
void nodes_told(void *context, enum store_change change, const struct store_item *item);

/* nodes.c: the node of this name, made if it is not known. */
struct sim_node *nodes_get(struct fleet *fleet, const char *name);

/* nodes.c: one turn. */
void nodes_run(struct fleet *fleet, struct sim_node *node, int64_t now_ms);

/* nodes.c: puts the node where its use now belongs. */
void nodes_sort(struct fleet *fleet, struct sim_node *node);

/* nodes.c: forgets a node that nothing needs any more. */
void nodes_sweep(struct fleet *fleet, struct sim_node *node);

/* nodes.c: releases all. */
void nodes_done(struct fleet *fleet);

/* pods.c: the sink; context is the fleet. */
void pods_told(void *context, enum store_change change, const struct store_item *item);

/* pods.c: one turn. */
void pods_run(struct fleet *fleet, struct sim_pod *pod, int64_t now_ms);

/* pods.c: has the pod deleted. */
void pods_doom(struct fleet *fleet, struct sim_pod *pod);

/* pods.c: the binding of the pod was refused: its room is free again. */
void pods_unbind(struct fleet *fleet, struct sim_pod *pod);

/* pods.c: wakes those that wait for room if there may be some. */
void pods_wake_waiting(struct fleet *fleet);

/* pods.c: whether it counts for its workload: not ended, not ending. */
bool pods_is_active(const struct sim_pod *pod);

/* pods.c: releases all. */
void pods_done(struct fleet *fleet);

/* sets.c: the sink; context is the fleet. */
void sets_told(void *context, enum store_change change, const struct store_item *item);

/* sets.c: the workload of this uid, made if it is not known. */
struct sim_set *sets_get(struct fleet *fleet, const char *uid);

/* sets.c: one turn. */
void sets_run(struct fleet *fleet, struct sim_set *set, int64_t now_ms);

/* sets.c: forgets a workload that nothing needs any more. */
void sets_sweep(struct fleet *fleet, struct sim_set *set);

/* sets.c: releases all. */
void sets_done(struct fleet *fleet);

#endif
