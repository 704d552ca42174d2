/* route.h - what a request's path and query ask for.
 *
 * Ownership: texts belong to the route; release them with route_done().
 * Errors:    ERR_INVALID with the words for the user, for a query value that cannot be read.
 *            A path of another shape is no error: it is a document's (is_resource is false).
 */
#ifndef BULKHEAD_APISERVER_ROUTE_H
#define BULKHEAD_APISERVER_ROUTE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define ROUTE_PARTS_MAX 12
#define ROUTE_QUERY_MAX 32

struct route_pair {
    char *key;
    char *value;
};

struct route {
    bool is_resource;
    char *parts[ROUTE_PARTS_MAX]; /* decoded */
    int part_count;
    const char *group; /* "" is core; these point into parts, or are "" */
    const char *version;
    const char *ns;
    const char *resource;
    const char *name;
    const char *subresource;
    struct route_pair pairs[ROUTE_QUERY_MAX];
    int pair_count;

    const char *label_selector; /* "" when absent, as all texts of the query */
    const char *field_selector;
    const char *continue_token;
    const char *rv;
    const char *rv_match;
    const char *field_manager;
    const char *field_validation;
    const char *propagation;
    const char *include_object;
    int64_t limit;     /* 0: none */
    int64_t timeout_s; /* 0: none */
    int64_t grace_s;   /* -1: none */
    int send_initial;  /* sendInitialEvents: -1 absent, else 0 or 1 */
    bool watch;
    bool bookmarks;
    bool dry_run;
    bool force;
};

/* Reads path and query, both encoded. On failure nothing has to be released. */
int route_parse(const char *path, const char *query, struct route *ret_route, struct err *err);

/* Releases it; all-zero and NULL are fine. */
void route_done(struct route *route);

#endif
