/* schema.h - structural OpenAPI v3 schemas: defaults, pruning, validation, and how lists merge.
 *
 * Compiled once from a CustomResourceDefinition's openAPIV3Schema, or from the table of built-ins.
 * CEL rules (x-kubernetes-validations) are kept and served but not run here (see apiserver_hook).
 * Ownership: a schema is read-only once made; schema_free() releases it.
 * Errors:    validation collects every fault as a cause, worded as kube-apiserver words it.
 */
#ifndef BULKHEAD_APISERVER_SCHEMA_H
#define BULKHEAD_APISERVER_SCHEMA_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct schema;

/* One fault of an object: what Status.details.causes holds. */
struct schema_cause {
    const char *reason; /* FieldValueRequired, FieldValueInvalid, FieldValueTypeInvalid, ... */
    char field[256];    /* "spec.replicas" */
    char message[512];  /* Invalid value: "x": must be ... */
};
#define SCHEMA_CAUSES_MAX 16

struct schema_causes {
    struct schema_cause at[SCHEMA_CAUSES_MAX];
    int count; /* of all faults; only the first SCHEMA_CAUSES_MAX are kept */
};

/* How a list merges under server-side apply. */
enum schema_list { SCHEMA_LIST_ATOMIC, SCHEMA_LIST_SET, SCHEMA_LIST_MAP };

#define SCHEMA_KEYS_MAX 4

/* Compiles one schema. ERR_INVALID names the place that is not structural. */
int schema_new(const json_t *openapi, struct schema **ret_schema, struct err *err);

/* Releases it; NULL is fine. */
void schema_free(struct schema *schema);

/* The schema of a property of an object, or of any element of a list; NULL: not described, or
 * schema is NULL. Borrowed. */
const struct schema *schema_property(const struct schema *schema, const char *name);

/* The schema of a list's elements or of a map's values (additionalProperties); NULL: none. */
const struct schema *schema_items(const struct schema *schema);

/* How this list merges; ret_keys gets up to SCHEMA_KEYS_MAX borrowed key names for a map, the rest
 * NULL. A NULL schema is atomic. */
enum schema_list schema_list_kind(const struct schema *schema,
                                  const char *ret_keys[SCHEMA_KEYS_MAX]);

/* Whether a map (object) is atomic for apply: x-kubernetes-map-type: atomic. */
bool schema_is_atomic_map(const struct schema *schema);

/* Fills in defaults, in place. Idempotent. */
void schema_default(const struct schema *schema, json_t *object);

/* Removes fields that the schema does not describe, in place, and tells the first few of their
 * paths ("spec.replicsa") in causes, for fieldValidation=Strict and Warn. causes may be NULL.
 * apiVersion, kind and metadata at the root always stay. */
void schema_prune(const struct schema *schema, json_t *object, struct schema_causes *causes);

/* Appends every fault of object to causes. Returns the number found. */
int schema_validate(const struct schema *schema, const json_t *object,
                    struct schema_causes *causes);

/* The OpenAPI it was made from; borrowed. */
const json_t *schema_openapi(const struct schema *schema);

/* What a built-in kind knows beyond its schema. Either may be NULL. */
struct schema_extra {
    void (*fill)(json_t *object); /* more defaults, called by schema_default() after its own */
    void (*judge)(const json_t *object, struct schema_causes *causes); /* by schema_validate() */
};

/* Attaches it, which must outlive the schema. */
void schema_extend(struct schema *schema, const struct schema_extra *extra);

/* Counts one fault and keeps it if there is room; field and message are cut at their size. causes
 * may be NULL. */
void schema_cause_add(struct schema_causes *causes, const char *reason, const char *field,
                      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
