/* url.h - request paths and queries, with every piece percent-encoded.
 *
 * Ownership: the caller owns the buffer; its limit bounds the result. A failure may leave part of a
 * path behind: drop the buffer then.
 */
#ifndef BULKHEAD_KUBE_URL_H
#define BULKHEAD_KUBE_URL_H

#include "base/err.h"
#include "base/str.h"

struct url_target {
    const char *group;       /* NULL or "" is the core group */
    const char *version;     /* "v1" */
    const char *resource;    /* plural: "deployments" */
    const char *ns;          /* NULL: cluster-scoped, or all namespaces */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* NULL, or "status"; needs a name */
};

/* Appends text with all but letters, digits and -._~ as %XX. ERR_INVALID beyond the limit. */
int url_encode(struct str *out, const char *text, struct err *err);

/* Appends the path of target. ERR_INVALID for an empty, "." or ".." piece, a subresource without
 * a name, or a passed limit. */
int url_path(struct str *out, const struct url_target *target, struct err *err);

/* Appends "?key=value", or "&key=value" if out has a query already, both encoded. */
int url_query(struct str *out, const char *key, const char *value, struct err *err);

#endif
