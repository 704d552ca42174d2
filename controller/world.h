/* world.h - what the controller knows: the caches of the hub and of every child, in packed structs.
 *
 * Reconcilers read it and write nothing into it; watches, answers to our own writes and the few
 * facts that only a write can find out (an object that is a stranger's, words of a refusal) arrive
 * through the functions below, and each change asks for the keys that it concerns.
 * Keys:      "app/NS/NAME" decides, "cells/NS/NAME" carries the decision out, "child/NAME".
 * Units:     monotonic milliseconds unless a name says wall.
 * Ownership: the world owns all it holds; pointers to it are borrowed until the next change.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_WORLD_H
#define BULKHEAD_CONTROLLER_WORLD_H

#include "api/appdefinition.h"
#include "api/childcluster.h"
#include "api/meta.h"
#include "api/placement.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/queue.h"
#include "controller/documents.h"
#include "controller/inventory.h"
#include "controller/plan.h"
#include "controller/render.h"
#include "kube/client.h"
#include "kube/informer.h"

#include <uthash.h>

#define WORLD_CHILDREN_MAX 1024
#define WORLD_APPS_MAX 100000
#define WORLD_HEARTBEAT_MS 10000 /* a live read of each child */
#define WORLD_SILENT_MS 40000    /* without an answer for so long, a child is unknown */
#define WORLD_SECRET_MS 60000    /* a child's kubeconfig is read again */
#define WORLD_JOIN_MS 30000      /* a child that is new to us is waited for so long */
#define WORLD_STATUS_WAIT_MS 250 /* pods change in bursts: a status is counted once for many */
#define WORLD_ABSENT_MS 30000    /* how long a live read's 404 counts */
#define WORLD_KEY_SIZE 384

/* An AppDefinition. */
struct app {
    struct meta meta;
    struct appdefinition spec; /* when valid */
    bool valid;
    struct err fault;   /* why not */
    bool finalized;     /* carries our finalizer */
    char *rebalance;    /* token of the annotation; NULL: none */
    json_t *status;     /* as the hub has it; NULL: none */
    int shape;          /* of the pod template, in the inventory; -1: it cannot be read */
    bool respecified;   /* this reading of it has another spec than the one before */
    bool owed;          /* the last decision fell short: new room concerns it */
    int64_t settled_ms; /* since when every zone with the wanted template has been settled */
    char hash[RENDER_HASH_SIZE]; /* of the workload spec */
};

/* A Placement. */
struct decision {
    struct meta meta;
    struct placement spec; /* when valid */
    bool valid;
    char *rebalanced; /* token of the rebalance it answered; NULL: none */
};

/* A ControllerRevision of ours in the hub: a workload spec that some zone may still run. */
struct revision {
    struct meta meta;
    char *app; /* NULL: not ours */
    json_t *workload_spec;
    struct world *world;
};

/* A Namespace, in the hub or in a child. */
struct space {
    struct meta meta;
    json_t *labels; /* NULL: none */
};

/* A Deployment or StatefulSet of ours in a child. */
struct work {
    struct workload state;
    char *ns;
    char *name;
    char *uid;
    char *rv;
    int child;
    bool stateful;
    bool listed; /* in its app's list */
    struct world *world;
    struct work *prev; /* of the same app, in any child */
    struct work *next;
};

/* A Service or PodDisruptionBudget of ours in a child. */
struct owned {
    char ns[64];
    char uid[64];
    char app[64];
    char app_uid[64];
    char hash[RENDER_HASH_SIZE];
};

enum child_informer {
    CHILD_NAMESPACES,
    CHILD_NODES,
    CHILD_PODS,
    CHILD_DEPLOYMENTS,
    CHILD_STATEFULSETS,
    CHILD_SERVICES,
    CHILD_BUDGETS,
    CHILD_INFORMERS,
};

/* A ChildCluster and, once it is reached, the cluster behind it. */
struct child {
    int index; /* its target is index + 1 */
    struct meta meta;
    struct childcluster spec; /* when valid */
    bool valid;               /* spec is one that could be read, if not the last */
    bool refused;             /* the last spec could not be read: fault says why */
    struct err fault;         /* or why it cannot be reached */
    json_t *labels;           /* of the ChildCluster; NULL: none */
    json_t *status;
    char *joined_uid; /* status.clusterUID: who it was at first; NULL before */

    char *kubeconfig; /* as read from the Secret; wiped when released. NULL: not read yet */
    int64_t kubeconfig_read_ms;
    bool kubeconfig_new; /* differs from what the connection uses */
    struct transport *transport;
    struct kube_client *client;
    char uid[64]; /* of the kube-system namespace that answered; "" before */
    char version[64];
    int64_t heard_ms;                            /* when a live read answered last; 0: never */
    int64_t asked_ms;                            /* when the last one was planned */
    int64_t since_ms;                            /* when we first heard of it */
    bool joined;                                 /* its caches have been whole once */
    bool shown_fresh;                            /* as apps were told last */
    int64_t checked_ms;                          /* when that was looked at */
    struct informer *informers[CHILD_INFORMERS]; /* NULL until the identity is known */
    UT_hash_handle hh;                           /* by meta.name */
};

struct world;

struct world_options {
    const struct clock *clock;
    struct random rng;
    const char *ns; /* our own namespace in the hub */
    /* Opens a transport to a child with the kubeconfig of its Secret. */
    int (*connect)(void *arg, const char *child, const char *kubeconfig,
                   struct transport **ret_transport, struct err *err);
    void *connect_arg;
    /* Asks for a key to be reconciled at due_ms, or at once when that is 0. */
    void (*wake)(void *arg, enum queue_lane lane, const char *key, int64_t due_ms);
    /* The client of a target appeared or, with NULL, went. */
    void (*target)(void *arg, int target, struct kube_client *client);
    void *arg;
};

/* A world that follows nothing yet. Release with world_free(). */
struct world *world_new(const struct world_options *options, struct transport *hub);

/* Ends every watch and releases it; NULL is fine. */
void world_free(struct world *world);

/* Lets every informer do what is due. Returns when to come again. */
int64_t world_turn(struct world *world, int64_t now_ms);

/* Whether the hub's caches have been filled: nothing is decided before. */
bool world_synced(const struct world *world);

/* Objects read by name: what apps name in the hub, and the copies in children. */
const struct documents *world_documents(const struct world *world);

/* What it was made with; like the next two it lives as long as the world. */
const struct world_options *world_options(const struct world *world);
/* Room and what takes it, in every child. */
struct inventory *world_inventory(struct world *world);
/* Texts that many objects share. */
struct names *world_names(struct world *world);

/* The app "NS/NAME"; NULL: there is none. Like all that follow, it lives until the next turn. */
struct app *world_app(struct world *world, const char *key);
/* The Placement "NS/NAME"; NULL: there is none. */
const struct decision *world_decision(struct world *world, const char *key);
/* The ControllerRevision "NS/NAME"; NULL: there is none. */
const struct revision *world_revision(struct world *world, const char *key);
/* The Namespace in the hub; NULL: there is none. */
const struct space *world_space(struct world *world, const char *name);

/* How many ControllerRevisions the app "NS/NAME" has in the hub. */
int world_revision_count(const struct world *world, const char *key);

/* Calls visit for each ControllerRevision of ours, in no order. */
void world_each_revision(struct world *world,
                         void (*visit)(void *arg, const struct revision *revision), void *arg);

/* The ChildCluster of this name; NULL: there is none. */
struct child *world_child(struct world *world, const char *name);

/* Children by index, 0 .. world_child_count() - 1; NULL for an index that is free. */
struct child *world_child_at(struct world *world, int index);
/* How many indexes there are, free ones counted. */
int world_child_count(const struct world *world);

/* The first workload of an app in any child; follow ->next. NULL: none. */
const struct work *world_works(struct world *world, const char *app_uid);

/* Tells the inventory what a Placement assigns, instead of all that it was told of the app before.
 * decision NULL: nothing. */
void world_assign(struct world *world, const struct app *app, const struct decision *decision);

/* What a workload asks for and has ready, as far as we may count on it: a scale of ours that its
 * cache does not show yet counts as done, and replicas beyond it as not ready. */
struct work_count {
    int32_t current;
    int32_t ready;
};
struct work_count world_work_count(struct world *world, const struct work *work);

/* Our Service or PodDisruptionBudget of this key in a child; NULL: none. */
const struct owned *world_owned(const struct child *child, enum child_informer type,
                                const char *key);

/* The Namespace in a child; NULL: none. */
const struct space *world_child_space(const struct child *child, const char *name);

/* Whether a child's caches are whole and it has answered lately: what it does not show is not
 * there. Otherwise it is unknown and everything in it is held. */
bool child_fresh(const struct child *child, int64_t now_ms);

/* Whether a child is new to us and may yet come: a decision made without it would be made too
 * early.
 */
bool child_joining(const struct child *child, int64_t now_ms);

/* Whether the cluster behind the connection is the one that joined. */
bool child_known(const struct child *child);

/* Hears the answer to a step that succeeded: folds objects into caches, and takes the facts of live
 * reads. gone: it was answered with 404. */
void world_hear(struct world *world, int target, const struct plan_step *step, bool gone,
                const char *body, size_t body_bytes);

/* A live read found no object, or somebody else's, at this path of a target. */
enum world_sight { WORLD_UNSEEN, WORLD_ABSENT, WORLD_STRANGER };
enum world_sight world_sight(const struct world *world, int target, const struct url_target *where,
                             int64_t now_ms);

#define WORLD_OWN_WORDS (-1) /* instead of a target: what we ourselves have to say of a key */

/* Keeps, or with NULL forgets, the words with which a target refused a write of this key. When they
 * change, the key whose status shows them is asked for. */
void world_refusal_set(struct world *world, const char *key, int target, const char *text);

/* The words, or NULL; borrowed until the next change. */
const char *world_refusal(const struct world *world, const char *key, int target);

/* What the label bulkhead.dev/mode on our namespace says: it outranks what we were started with,
 * and a word that is neither Act nor Observe holds everything, since somebody meant something. */
enum world_mode { WORLD_MODE_UNSAID, WORLD_MODE_ACT, WORLD_MODE_OBSERVE };
enum world_mode world_mode(struct world *world);

/* Whether so many apps vanished within five minutes, more than max(20, 10 %) of all, that deletion
 * is held; the label bulkhead.dev/deletions=confirmed on our namespace lets it go on. */
bool world_deletions_held(struct world *world, int64_t now_ms);

/* Marks whether replicas of the app are owed: new room then asks for it. */
void world_owe(struct world *world, struct app *app, bool owed);

/* Asks for every app, after a change that may concern all: a child came, went or changed. */
void world_wake_apps(struct world *world);

/* Calls visit for each app, in no order. */
void world_each_app(struct world *world, void (*visit)(void *arg, struct app *app), void *arg);

#endif
