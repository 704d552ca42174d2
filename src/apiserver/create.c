#include "apiserver/admit.h"
#include "apiserver/commit.h"
#include "apiserver/verb.h"

#include <string.h>

static int read_object(struct call *call, json_t **ret_object);

int verb_create(struct call *call) {
    json_t *object = NULL;
    const int r = read_object(call, &object);

    return r < 0 ? r : commit_create(call, object, false);
}

int verb_replace(struct call *call) {
    json_t *object = NULL;
    int r = read_object(call, &object);

    if (r < 0)
        return r;
    struct object *live = call_object(call);
    const json_t *metadata = json_object_get(object, "metadata");
    const char *rv = json_string_value(json_object_get(metadata, "resourceVersion"));

    if (!live)
        r = ERR_INVALID;
    else if ((!rv || *rv == '\0') &&
             (call->kind->crd_name || strcmp(call->kind->resource, "leases") == 0))
        r = refuse_field(&call->refusal, call->kind, call->route.name, "FieldValueInvalid",
                         "metadata.resourceVersion",
                         "Invalid value: 0x0: must be specified for an update");
    if (r < 0) {
        json_decref(object);
        return r;
    }
    return commit_update(call, live, object, call->route.subresource, false, NULL);
}

static int read_object(struct call *call, json_t **ret_object) {
    json_t *object = NULL;

    if (call_body(call, &object) < 0)
        return ERR_INVALID;
    if (!object)
        return refuse(&call->refusal, 400, "BadRequest", "the request has no body");
    if (admit_type(call, object) < 0) {
        json_decref(object);
        return ERR_INVALID;
    }
    *ret_object = object;
    return 0;
}
