/* apiserver.h - a Kubernetes API server for one cluster, in memory, behind an http_handler.
 *
 * Serves discovery, OpenAPI, the built-in kinds of its table, CustomResourceDefinitions and what
 * they define; list, watch (bookmarks, watch-list), create, replace, delete, JSON, merge, strategic
 * merge and apply patch, managed fields, status and scale, dry run, tables. What it does not do is
 * a Status with 404 or 405 that says so. It knows no kind of Bulkhead's: those come as CRDs.
 * Never:     runs controllers. Garbage collection by ownerReferences and namespace deletion are
 *            done here, since clients count on them; everything else is the fleet's.
 * Time:      wall and monotonic from the clock handed in.
 * Ownership: objects are jansson trees inside; nothing of it leaves but bytes.
 * Limits:    object 3 MiB, 200,000 objects, 2,000 watchers, history of 20,000 changes.
 * Threads:   one; everything of it is called on that thread.
 */
#ifndef BULKHEAD_APISERVER_APISERVER_H
#define BULKHEAD_APISERVER_APISERVER_H

#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"
#include "net/http.h"

#include <jansson.h>

struct apiserver;

struct apiserver_options {
    const struct clock *clock; /* NULL: the kernel's */
    struct random rng;         /* uids: the same seed gives the same uids */
    const char *name;          /* for messages: "hub" */
    const char *token;         /* the one accepted bearer token; NULL: everyone is admitted */
};

/* A server with the built-in kinds and the namespaces default, kube-system, kube-public and
 * kube-node-lease. Release with apiserver_free(). */
struct apiserver *apiserver_new(const struct apiserver_options *options);

/* Ends every open stream and releases it; NULL is fine. */
void apiserver_free(struct apiserver *server);

/* The handler to put behind serve.h or loopback.h; valid as long as the server is. */
struct http_handler apiserver_handler(struct apiserver *server);

/* Does what is due: bookmarks, the end of watches whose time is over. Returns when to come again.
 */
int64_t apiserver_tick(struct apiserver *server, int64_t now_ms);

/* Refuses objects of a resource that the schema alone cannot judge; stands in for a CRD's CEL
 * rules. verdict() gets the whole new object, and the old one on update or NULL; it returns 0 or
 * ERR_INVALID with the words for the user. Called after schema validation. */
struct apiserver_hook {
    const char *group;
    const char *resource;
    int (*verdict)(void *arg, const json_t *object, const json_t *old, struct err *err);
    void *arg;
};

/* Adds a hook; texts are copied. */
void apiserver_hook_add(struct apiserver *server, const struct apiserver_hook *hook);

/* Forgets the watch history up to now, as etcd compaction does: an older watch gets 410. For tests.
 */
void apiserver_compact(struct apiserver *server);

#endif
