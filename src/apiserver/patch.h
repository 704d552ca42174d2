/* patch.h - the patch types of the Kubernetes API, as pure functions on jansson trees.
 *
 * Inputs are never changed; results are new references.
 * Errors: ERR_INVALID for a patch that makes no sense or does not fit (the words are the user's);
 *         ERR_CONFLICT when a JSON patch's test fails or another manager owns a field.
 */
#ifndef BULKHEAD_APISERVER_PATCH_H
#define BULKHEAD_APISERVER_PATCH_H

#include "apiserver/schema.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* RFC 6902: add, remove, replace, move, copy, test. At most 10,000 operations. */
int patch_json(const json_t *object, const json_t *operations, json_t **ret_object,
               struct err *err);

/* RFC 7386. */
int patch_merge(const json_t *object, const json_t *patch, json_t **ret_object, struct err *err);

/* Strategic merge, lists by the merge keys of schema: $patch: delete|replace|merge,
 * $deleteFromPrimitiveList, $setElementOrder and $retainKeys are understood. */
int patch_strategic(const json_t *object, const json_t *patch, const struct schema *schema,
                    json_t **ret_object, struct err *err);

/* One owner of a field that an apply would change. */
struct patch_conflict {
    char manager[128];
    char field[256]; /* ".spec.replicas" */
};
#define PATCH_CONFLICTS_MAX 32

struct patch_conflicts {
    struct patch_conflict at[PATCH_CONFLICTS_MAX];
    int count;
};

/* Server-side apply of applied by manager onto live (NULL: create). Fields that manager applied
 * before and leaves out now are removed unless somebody else owns them. Lists merge by schema.
 * Result holds the new metadata.managedFields. subresource: "" or "status" or "scale". force takes
 * fields over. ERR_CONFLICT fills conflicts. */
int patch_apply(const json_t *live, const json_t *applied, const struct schema *schema,
                const char *manager, const char *subresource, bool force, const char *now_rfc3339,
                json_t **ret_object, struct patch_conflicts *conflicts, struct err *err);

/* Rewrites updated's managedFields in place after a write that is no apply (create, replace, other
 * patches): what differs between live (NULL: create) and updated now belongs to manager with
 * operation Update. Metadata that the server sets and a foreign managedFields in updated are
 * ignored; a managedFields of one empty entry, [{}], in updated removes them all, as in Kubernetes.
 */
void patch_own(const json_t *live, json_t *updated, const struct schema *schema,
               const char *api_version, const char *manager, const char *subresource,
               const char *now_rfc3339);

#endif
