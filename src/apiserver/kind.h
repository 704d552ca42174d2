/* kind.h - which resources a server serves: the table of built-ins, and what CRDs add.
 *
 * Ownership: kinds belong to the registry and live until it is freed or their CRD is removed.
 */
#ifndef BULKHEAD_APISERVER_KIND_H
#define BULKHEAD_APISERVER_KIND_H

#include "apiserver/schema.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define KIND_NAMES_MAX 8

struct kind_column {
    char *name;
    char *type;   /* string, integer, boolean, date, number */
    char *path;   /* JSONPath of additionalPrinterColumns, or a built-in's own name */
    char *format; /* NULL: none */
    char *description;
    int priority;
};

struct kind {
    char *group;   /* "" is core */
    char *version; /* "v1" */
    char *resource;
    char *singular;
    char *name; /* "Deployment" */
    char *list_name;
    char *short_names[KIND_NAMES_MAX]; /* NULL-terminated */
    char *categories[KIND_NAMES_MAX];  /* NULL-terminated */
    bool namespaced;
    bool has_status; /* status subresource: spec writes ignore status, status writes ignore spec */
    bool has_scale;
    char *scale_spec_path;     /* ".spec.replicas" */
    char *scale_status_path;   /* ".status.replicas" */
    char *scale_selector_path; /* NULL: none */
    bool counts_generation;    /* metadata.generation moves with the spec */
    bool read_only;            /* served empty, such as componentstatuses */
    struct schema *schema; /* of a CRD: whole; of a built-in: merge keys and the fields checked */
    bool prunes;           /* unknown fields are dropped, where the schema is closed */
    struct kind_column *columns;
    int column_count;
    const char *crd_name; /* NULL: built in */
};

struct kinds;

/* A registry with the built-in kinds. Release with kinds_free(). */
struct kinds *kinds_new(void);

/* Releases it; NULL is fine. */
void kinds_free(struct kinds *kinds);

/* The kind of this resource; NULL if it is not served. */
const struct kind *kinds_find(const struct kinds *kinds, const char *group, const char *version,
                              const char *resource);

/* The kind with this group, version and Kind name; NULL if it is not served. */
const struct kind *kinds_by_name(const struct kinds *kinds, const char *group, const char *version,
                                 const char *name);

/* The at-th kind in a stable order; NULL beyond the last. */
const struct kind *kinds_at(const struct kinds *kinds, int at);

/* Serves what a CustomResourceDefinition object defines, or serves it anew. ERR_INVALID with the
 * words for the user; what was served before then stays. crd gets its status (conditions,
 * acceptedNames, storedVersions) filled in, in place. */
int kinds_crd_put(struct kinds *kinds, json_t *crd, const char *now_rfc3339, struct err *err);

/* Stops serving what the CRD of this name defined. */
void kinds_crd_remove(struct kinds *kinds, const char *crd_name);

/* Appends what is wrong with a change alone: fields that may not move, such as a Deployment's
 * selector. Both states are valid by themselves. Returns the number of faults found. */
int kind_validate_update(const struct kind *kind, const json_t *fresh, const json_t *old,
                         struct schema_causes *causes);

/* Documents. Each returns a new reference, or NULL when there is no such document.
 * discovery_path: "/api", "/apis", "/api/v1", "/apis/GROUP", "/apis/GROUP/VERSION"; aggregated:
 * the client accepts apidiscovery.k8s.io/v2 (at /api and /apis). */
json_t *kinds_discovery_new(const struct kinds *kinds, const char *discovery_path, bool aggregated);

/* "/openapi/v3", "/openapi/v3/api/v1" or "/openapi/v3/apis/GROUP/VERSION" (query ignored).
 * "/openapi/v2" is NULL: kubectl reads it as protobuf only, and does without where it is 404. */
json_t *kinds_openapi_new(const struct kinds *kinds, const char *path);

/* A meta.k8s.io/v1 Table of objects (an array of borrowed objects of this kind). include_object:
 * "Metadata" (default), "Object" or "None". rv and continue_token may be NULL. now_ms: wall time,
 * for ages. New reference. */
json_t *kind_table_new(const struct kind *kind, json_t *objects, const char *rv,
                       const char *continue_token, const char *include_object, int64_t now_ms);

#endif
