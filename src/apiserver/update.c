#include "apiserver/admit.h"
#include "apiserver/commit.h"
#include "apiserver/patch.h"
#include "apiserver/verb.h"
#include "base/auto.h"
#include "base/yaml.h"

#include <string.h>

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY };

static int patch_type_of(struct call *call, enum patch_type *ret_type);
static int read_patch(struct call *call, enum patch_type type, json_t **ret_patch);
static void reset_fields(const struct call *call, json_t *patch);
static int apply(struct call *call, const json_t *live, json_t *patch, const struct schema *schema,
                 json_t **ret_object);
static int bind_to(struct call *call, struct object *pod, const char *node);

int verb_patch(struct call *call) {
    struct object *live = object_set_get(call->set, call->route.ns, call->route.name);
    enum patch_type type;
    json_t *object = NULL;
    bool applied = false;

    if (patch_type_of(call, &type) < 0)
        return ERR_INVALID;
    if (!live && (type != PATCH_APPLY || *call->route.subresource != '\0'))
        return refuse_unknown(&call->refusal, call->kind->group, call->kind->resource,
                              call->route.name);
    json_auto_t *was = live ? view_object_new(call->kind, live->tree) : NULL;

    if (verb_patched(call, was, call->kind->schema, &object, &applied) < 0)
        return ERR_INVALID;
    if (admit_type(call, object) < 0) {
        json_decref(object);
        return ERR_INVALID;
    }
    if (!live) {
        json_t *fresh = json_deep_copy(object);

        json_decref(object);
        return commit_create(call, fresh, true);
    }
    return commit_update(call, live, object, call->route.subresource, applied, NULL);
}

int verb_patched(struct call *call, const json_t *live, const struct schema *schema,
                 json_t **ret_object, bool *ret_applied) {
    enum patch_type type;
    json_t *patch = NULL;
    struct err err = {0};
    int r = 0;

    if (patch_type_of(call, &type) < 0 || read_patch(call, type, &patch) < 0)
        return ERR_INVALID;
    *ret_applied = type == PATCH_APPLY;
    if (type == PATCH_APPLY)
        r = apply(call, live, patch, schema, ret_object);
    else if (type == PATCH_JSON)
        r = patch_json(live, patch, ret_object, &err);
    else if (type == PATCH_MERGE)
        r = patch_merge(live, patch, ret_object, &err);
    else
        r = patch_strategic(live, patch, schema, ret_object, &err);
    json_decref(patch);
    if (r < 0)
        return refuse(&call->refusal, type == PATCH_JSON ? 422 : 400,
                      type == PATCH_JSON ? "Invalid" : "BadRequest",
                      "the server rejected our request due to an error in our request: %s",
                      err.msg);
    if (json_is_object(*ret_object))
        return 0;
    json_decref(*ret_object);
    return refuse(&call->refusal, 400, "BadRequest", "the patch leaves no object");
}

int verb_bind(struct call *call) {
    json_auto_t *binding = NULL;
    struct object *pod = call_object(call);

    if (!pod || call_body(call, &binding) < 0)
        return ERR_INVALID;
    const char *node =
        json_string_value(json_object_get(json_object_get(binding, "target"), "name"));
    const char *now =
        json_string_value(json_object_get(json_object_get(pod->tree, "spec"), "nodeName"));

    if (!node || *node == '\0')
        return refuse(&call->refusal, 400, "BadRequest", "target.name: Required value");
    if (now && *now != '\0') {
        auto_free char *why =
            str_printf("pod %s is already assigned to node \"%s\"", pod->name, now);

        return refuse_conflict(&call->refusal, call->kind, pod->name, why);
    }
    return bind_to(call, pod, node);
}

static int bind_to(struct call *call, struct object *pod, const char *node) {
    json_t *updated = json_deep_copy(pod->tree);

    json_object_set_new(json_object_get(updated, "spec"), "nodeName", json_string(node));
    return commit_update(call, pod, updated, "", false, NULL);
}

static int patch_type_of(struct call *call, enum patch_type *ret_type) {
    static const char *const names[] = {
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    };
    const char *sent = call->in->content_type;
    const size_t len = strcspn(sent, "; ");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) != len || strncmp(names[i], sent, len) != 0 ||
            (i == PATCH_STRATEGIC && call->kind->crd_name))
            continue;
        *ret_type = (enum patch_type)i;
        return 0;
    }
    return refuse(&call->refusal, 415, "UnsupportedMediaType",
                  "the body of the request was in an unknown format - accepted media types "
                  "include: application/json-patch+json, application/merge-patch+json, %s"
                  "application/apply-patch+yaml",
                  call->kind->crd_name ? "" : "application/strategic-merge-patch+json, ");
}

/* Any JSON value; YAML for apply, where JSON is only quicker to read. */
static int read_patch(struct call *call, enum patch_type type, json_t **ret_patch) {
    const char *body = call->in->body_bytes > 0 ? call->in->body : "";
    json_error_t fault;
    struct err err = {0};
    json_t *patch =
        json_loadb(body, call->in->body_bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &fault);

    if (!patch && type != PATCH_APPLY)
        return refuse(&call->refusal, 400, "BadRequest", "error decoding patch: %s", fault.text);
    if (!patch && yaml_parse(body, call->in->body_bytes, &patch, &err) < 0)
        return refuse(&call->refusal, 400, "BadRequest", "error decoding YAML: %s", err.msg);
    *ret_patch = patch;
    return 0;
}

/* What this path does not write is not applied, and thus neither owned nor in conflict: the status,
 * or all but the status. */
static void reset_fields(const struct call *call, json_t *patch) {
    json_t *metadata = json_object_get(patch, "metadata");
    json_t *status = json_object_get(patch, "status");

    if (strcmp(call->route.subresource, "status") != 0) {
        if (call->kind->has_status)
            json_object_del(patch, "status");
        return;
    }
    json_auto_t *kept = json_pack(
        "{s:O, s:O, s:{s:O}}", "apiVersion", json_object_get(patch, "apiVersion"), "kind",
        json_object_get(patch, "kind"), "metadata", "name", json_object_get(metadata, "name"));

    if (status)
        json_object_set(kept, "status", status);
    json_object_clear(patch);
    json_object_update(patch, kept);
}

static int apply(struct call *call, const json_t *live, json_t *patch, const struct schema *schema,
                 json_t **ret_object) {
    const char *manager = call->route.field_manager;
    struct patch_conflicts conflicts = {0};
    struct err err = {0};
    char time[SERVER_TIME_SIZE];

    if (*manager == '\0')
        return refuse(&call->refusal, 422, "Invalid",
                      "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                      "required for apply patch");
    if (!json_is_object(patch) || admit_type(call, patch) < 0)
        return refuse(&call->refusal, 400, "BadRequest", "error decoding YAML: not an object");
    json_t *metadata = json_object_get(patch, "metadata");
    const char *name = json_string_value(json_object_get(metadata, "name"));

    if (json_array_size(json_object_get(metadata, "managedFields")) > 0)
        return refuse(&call->refusal, 400, "BadRequest", "metadata.managedFields must be nil");
    if (!name)
        json_object_set_new(metadata, "name", json_string(call->route.name));
    else if (strcmp(name, call->route.name) != 0)
        return refuse(&call->refusal, 400, "BadRequest",
                      "the name of the object (%s) does not match the name on the URL (%s)", name,
                      call->route.name);
    reset_fields(call, patch);
    server_time(call->server, time);
    const int r = patch_apply(live, patch, schema, manager, call->route.subresource,
                              call->route.force, time, ret_object, &conflicts, &err);

    if (r == ERR_CONFLICT)
        return refuse_apply(&call->refusal, &conflicts);
    if (r < 0)
        return refuse(&call->refusal, 400, "BadRequest", "%s", err.msg);
    return 0;
}
