/* world_state.h - the inside of the world, shared by its files; nobody else includes it.
 *
 * world.c holds look-ups and facts, world_hub.c what the hub's watches say, world_child.c what the
 * children's do and how they are connected.
 */
#ifndef BULKHEAD_CONTROLLER_WORLD_STATE_H
#define BULKHEAD_CONTROLLER_WORLD_STATE_H

#include "controller/world.h"

enum hub_informer {
    HUB_APPS,
    HUB_DECISIONS,
    HUB_CHILDREN,
    HUB_REVISIONS,
    HUB_SPACES,
    HUB_INFORMERS
};

/* What a reader and a sink are handed: which cache of which cluster. */
struct feed {
    struct world *world;
    int child;        /* -1: the hub */
    int type;         /* enum hub_informer or enum child_informer */
    struct meta meta; /* of the object read last */
};

struct work_list {
    const char *app_uid; /* interned */
    struct work *works;
    UT_hash_handle hh;
};

struct sight {
    char *path; /* "target/..." */
    enum world_sight what;
    int64_t at_ms;
    UT_hash_handle hh;
};

/* A scale of ours that was answered; its workload's cache may not show it yet. */
struct scale_note {
    char *path; /* "target/..." */
    char rv[128];
    int32_t replicas;
    UT_hash_handle hh;
};

struct refusal {
    char *key; /* "target/key" */
    char *text;
    UT_hash_handle hh;
};

/* How many ControllerRevisions an app has. */
struct revision_count {
    char *app; /* "NS/NAME" */
    int count;
    UT_hash_handle hh;
};

#define DELETIONS_MAX 4096
#define DELETIONS_WINDOW_MS 300000
#define DELETIONS_LEAST 20

/* An app that was seen being deleted. */
struct deletion {
    uint64_t uid; /* hash of its uid; 0: free */
    int64_t at_ms;
};

struct world {
    struct world_options options;
    struct transport *hub;
    struct names *names;
    struct inventory *inventory;
    struct documents *documents;
    struct informer *informers[HUB_INFORMERS];
    struct feed feeds[HUB_INFORMERS];
    struct child *children[WORLD_CHILDREN_MAX];
    struct feed child_feeds[WORLD_CHILDREN_MAX][CHILD_INFORMERS];
    int child_count;
    struct child *child_names;
    struct work_list *works;
    struct revision_count *revision_counts;
    struct sight *sights;
    struct refusal *refusals;
    struct scale_note *scales;
    int owed_count;                           /* apps whose replicas are owed */
    struct deletion deletions[DELETIONS_MAX]; /* of late; the oldest is overwritten */
    int deletion_next;
};

/* Asks for "PREFIX/NS/NAME" or "PREFIX/NAME". */
void world_wake(struct world *world, enum queue_lane lane, const char *prefix, const char *ns,
                const char *name);

/* Asks for an app's key a moment later: its numbers change in bursts. */
void world_wake_later(struct world *world, const char *prefix, const char *ns, const char *name);

/* Readers for informers; arg is a struct feed. The first is for what jansson reads whole. */
int world_json_read(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                    struct err *err);

/* Releases a struct space. */
void world_space_free(void *object);

/* Starts the informers of the hub. */
void world_hub_start(struct world *world);

/* Starts a child's informers once its identity is known; does nothing if they run. */
void world_child_start(struct world *world, struct child *child);

/* Ends a child's informers and connection; what they said is forgotten. */
void world_child_stop(struct world *world, struct child *child);

/* Connects a child, or connects it anew, with the kubeconfig read last. */
void world_connect(struct world *world, struct child *child);

/* Makes room for a ChildCluster that appeared; NULL when there is none left. */
struct child *world_child_add(struct world *world, const char *name);

/* Forgets a ChildCluster that is gone. */
void world_child_remove(struct world *world, struct child *child);

/* Takes the kubeconfig out of a Secret that was read; NULL: there is no such Secret. */
void world_child_secret(struct world *world, struct child *child, const char *body,
                        size_t body_bytes, int64_t now_ms);

/* The cluster behind a child answered and said who it is. */
void world_child_heard(struct world *world, struct child *child, const char *uid);

/* Counts an app that is being deleted, once. */
void world_deletion_note(struct world *world, const char *uid);

/* Forgets every refusal of what an app that is gone had written. */
void world_refusals_forget(struct world *world, const char *ns, const char *name);

/* Asks for every app whose replicas are owed. */
void world_wake_owed(struct world *world);

#endif
