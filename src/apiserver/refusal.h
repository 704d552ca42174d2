/* refusal.h - why a request is refused: what becomes a Status object with status Failure.
 *
 * Reasons and messages are worded as kube-apiserver words them, since kubectl and controllers read
 * them.
 * Ownership: refusal_done() releases the texts; an all-zero one is no refusal.
 */
#ifndef BULKHEAD_APISERVER_REFUSAL_H
#define BULKHEAD_APISERVER_REFUSAL_H

#include "apiserver/kind.h"
#include "apiserver/patch.h"
#include "apiserver/schema.h"
#include "base/err.h"

#include <jansson.h>

struct refusal {
    int status; /* HTTP; 0 is none */
    const char *reason;
    char *message;
    json_t *details;      /* NULL: none */
    char *continue_token; /* of a 410 on a page; NULL: none */
};

/* Fills it; returns ERR_INVALID, so that a caller can write: return refuse(...). A refusal that is
 * filled already stays as it is. */
int refuse(struct refusal *refusal, int status, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* 404: no such object. */
int refuse_unknown(struct refusal *refusal, const char *group, const char *resource,
                   const char *name);

/* 404: no such path. */
int refuse_path(struct refusal *refusal);

/* 405: this verb is not for this path. */
int refuse_verb(struct refusal *refusal);

/* 409 AlreadyExists. */
int refuse_existing(struct refusal *refusal, const struct kind *kind, const char *name);

/* 409 Conflict; why ends "Operation cannot be fulfilled on x: ". */
int refuse_conflict(struct refusal *refusal, const struct kind *kind, const char *name,
                    const char *why);

/* 422 Invalid with these causes. */
int refuse_invalid(struct refusal *refusal, const struct kind *kind, const char *name,
                   const struct schema_causes *causes);

/* 422 Invalid with one cause. reason: "FieldValueInvalid" and so on. */
int refuse_field(struct refusal *refusal, const struct kind *kind, const char *name,
                 const char *reason, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* 409 of an apply that other managers' fields stand against. */
int refuse_apply(struct refusal *refusal, const struct patch_conflicts *conflicts);

/* 504: a version from the future. */
int refuse_future(struct refusal *refusal, uint64_t rv, uint64_t current);

/* The Status object. New reference. */
json_t *refusal_status_new(const struct refusal *refusal);

/* Releases the texts; NULL is fine. */
void refusal_done(struct refusal *refusal);

#endif
