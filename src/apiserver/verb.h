/* verb.h - the verbs that change something.
 *
 * Each returns 0 once it has answered, or ERR_INVALID with the call's refusal filled.
 */
#ifndef BULKHEAD_APISERVER_VERB_H
#define BULKHEAD_APISERVER_VERB_H

#include "apiserver/server.h"

/* POST of an object. */
int verb_create(struct call *call);

/* PUT of an object or of its status. */
int verb_replace(struct call *call);

/* PATCH of an object or of its status. */
int verb_patch(struct call *call);

/* DELETE of one object. */
int verb_delete(struct call *call);

/* DELETE of all that the selectors match. */
int verb_delete_collection(struct call *call);

/* GET, PUT and PATCH of the scale subresource. */
int verb_scale(struct call *call);

/* POST of a pod's eviction: a delete. */
int verb_evict(struct call *call);

/* POST of a pod's binding: sets its node. */
int verb_bind(struct call *call);

/* Applies the body, a patch of the call's content type, to live in the kind's version. ret_applied:
 * the result has its managedFields. New reference in ret_object. live NULL: apply makes one. */
int verb_patched(struct call *call, const json_t *live, const struct schema *schema,
                 json_t **ret_object, bool *ret_applied);

#endif
