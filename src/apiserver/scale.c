#include "apiserver/answer.h"
#include "apiserver/commit.h"
#include "apiserver/patch.h"
#include "apiserver/verb.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/yaml.h"

#include <string.h>

#define PATH_MAX_LEN 256

static json_t *scale_new(const struct kind *kind, const json_t *object);
static char *selector_text_new(const json_t *selector);
static void add_expression(struct str *text, const json_t *expression);
static json_t *at_path(const json_t *object, const char *path);
static bool set_path(json_t *object, const char *path, json_t *value);
static int new_scale(struct call *call, const json_t *now, json_t **ret_scale);
static bool is_apply(const struct call *call);
static int applied_scale(struct call *call, const json_t *was, json_t **ret_updated);
static int scaled(struct call *call, const json_t *was, json_t **ret_updated);

int verb_scale(struct call *call) {
    struct object *live = call_object(call);

    if (!live)
        return ERR_INVALID;
    json_auto_t *was = view_object_new(call->kind, live->tree);
    json_auto_t *now = scale_new(call->kind, was);
    json_t *outcome = NULL;

    if (strcmp(call->in->method, "GET") == 0) {
        answer_document(call, 200, now);
        return 0;
    }
    const bool applied = is_apply(call);
    json_t *updated = NULL;
    const int r = applied ? applied_scale(call, was, &updated) : scaled(call, was, &updated);

    if (r < 0)
        return r;
    if (commit_update(call, live, updated, "scale", applied, &outcome) < 0)
        return ERR_INVALID;
    json_auto_t *after = scale_new(call->kind, outcome);

    json_decref(outcome);
    answer_document(call, 200, after);
    return 0;
}

static bool is_apply(const struct call *call) {
    return strcmp(call->in->method, "PATCH") == 0 &&
           strncmp(call->in->content_type, "application/apply-patch", 23) == 0;
}

static int check_replicas(struct call *call, const json_t *replicas) {
    if (!replicas || (json_is_integer(replicas) && json_integer_value(replicas) >= 0))
        return 0;
    return refuse(&call->refusal, 422, "Invalid",
                  "Scale.autoscaling \"%s\" is invalid: spec.replicas: Invalid value: must be "
                  "greater than or equal to 0",
                  call->route.name);
}

/* The object with the replicas of the Scale that the body holds or makes. */
static int scaled(struct call *call, const json_t *was, json_t **ret_updated) {
    json_auto_t *now = scale_new(call->kind, was);
    json_auto_t *scale = NULL;

    if (new_scale(call, now, &scale) < 0)
        return ERR_INVALID;
    json_t *replicas = json_object_get(json_object_get(scale, "spec"), "replicas");
    const char *rv =
        json_string_value(json_object_get(json_object_get(scale, "metadata"), "resourceVersion"));

    if (check_replicas(call, replicas) < 0)
        return ERR_INVALID;
    *ret_updated = json_deep_copy(was);
    if (rv)
        json_object_set_new(json_object_get(*ret_updated, "metadata"), "resourceVersion",
                            json_string(rv));
    set_path(*ret_updated, call->kind->scale_spec_path,
             replicas ? json_incref(replicas) : json_integer(0));
    return 0;
}

/* Server-side apply of a Scale: its replicas become a field of the object that the manager owns
 * through the subresource. */
static int applied_scale(struct call *call, const json_t *was, json_t **ret_updated) {
    const struct kind *kind = call->kind;
    struct patch_conflicts conflicts = {0};
    struct err err = {0};
    char time[SERVER_TIME_SIZE];
    json_auto_t *scale = json_loadb(call->in->body, call->in->body_bytes, 0, NULL);
    json_auto_t *object = NULL;

    if (!scale && yaml_parse(call->in->body, call->in->body_bytes, &scale, &err) < 0)
        return refuse(&call->refusal, 400, "BadRequest", "error decoding YAML: %s", err.msg);
    json_t *replicas = json_object_get(json_object_get(scale, "spec"), "replicas");

    if (*call->route.field_manager == '\0')
        return refuse(&call->refusal, 422, "Invalid",
                      "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                      "required for apply patch");
    if (!replicas || check_replicas(call, replicas) < 0)
        return refuse(&call->refusal, 422, "Invalid",
                      "Scale.autoscaling \"%s\" is invalid: spec.replicas: Required value",
                      call->route.name);
    object = json_pack("{s:o, s:s, s:{s:s}, s:{}}", "apiVersion",
                       *kind->group ? json_sprintf("%s/%s", kind->group, kind->version)
                                    : json_string(kind->version),
                       "kind", kind->name, "metadata", "name", call->route.name, "spec");
    set_path(object, kind->scale_spec_path, json_incref(replicas));
    server_time(call->server, time);
    const int r = patch_apply(was, object, kind->schema, call->route.field_manager, "scale",
                              call->route.force, time, ret_updated, &conflicts, &err);

    if (r == ERR_CONFLICT)
        return refuse_apply(&call->refusal, &conflicts);
    if (r < 0)
        return refuse(&call->refusal, 400, "BadRequest", "%s", err.msg);
    return 0;
}

/* The Scale that the client asks for: its body, or its patch on the present one. */
static int new_scale(struct call *call, const json_t *now, json_t **ret_scale) {
    bool applied = false;

    if (strcmp(call->in->method, "PATCH") == 0)
        return verb_patched(call, now, NULL, ret_scale, &applied);
    if (call_body(call, ret_scale) < 0)
        return ERR_INVALID;
    if (!*ret_scale)
        return refuse(&call->refusal, 400, "BadRequest", "the request has no body");
    return 0;
}

static json_t *scale_new(const struct kind *kind, const json_t *object) {
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    const json_t *from = json_object_get(object, "metadata");
    json_t *metadata = json_object();
    json_t *status = json_object();
    const json_t *replicas = at_path(object, kind->scale_spec_path);
    const json_t *seen = kind->scale_status_path ? at_path(object, kind->scale_status_path) : NULL;
    const json_t *selector =
        kind->scale_selector_path ? at_path(object, kind->scale_selector_path) : NULL;

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (json_object_get(from, kept[i]))
            json_object_set(metadata, kept[i], json_object_get(from, kept[i]));
    }
    json_object_set_new(status, "replicas", json_integer(json_integer_value(seen)));
    if (json_is_string(selector)) {
        json_object_set_new(status, "selector", json_string(json_string_value(selector)));
    } else if (selector) {
        auto_free char *text = selector_text_new(selector);

        json_object_set_new(status, "selector", json_string(text));
    }
    return json_pack("{s:s, s:s, s:o, s:{s:I}, s:o}", "kind", "Scale", "apiVersion",
                     "autoscaling/v1", "metadata", metadata, "spec", "replicas",
                     json_integer_value(replicas), "status", status);
}

/* A LabelSelector as the string that lists take. */
static char *selector_text_new(const json_t *selector) {
    const json_t *labels = json_object_get(selector, "matchLabels");
    struct str text;
    const char *key;
    json_t *value;
    size_t i;

    str_init(&text, 65536);
    json_object_foreach((json_t *)labels, key, value) str_addf(
        &text, NULL, "%s%s=%s", text.size_bytes > 0 ? "," : "", key, json_string_value(value));
    json_array_foreach(json_object_get(selector, "matchExpressions"), i, value)
        add_expression(&text, value);
    return text.data ? text.data : str_dup("");
}

static void add_expression(struct str *text, const json_t *expression) {
    const char *key = json_string_value(json_object_get(expression, "key"));
    const char *op = json_string_value(json_object_get(expression, "operator"));
    size_t i;
    json_t *value;

    if (!key || !op)
        return;
    str_addf(text, NULL, "%s%s%s", text->size_bytes > 0 ? "," : "",
             strcmp(op, "DoesNotExist") == 0 ? "!" : "", key);
    if (strcmp(op, "In") != 0 && strcmp(op, "NotIn") != 0)
        return;
    str_addf(text, NULL, " %s (", strcmp(op, "In") == 0 ? "in" : "notin");
    json_array_foreach(json_object_get(expression, "values"), i, value)
        str_addf(text, NULL, "%s%s", i > 0 ? "," : "", json_string_value(value));
    str_addf(text, NULL, ")");
}

/* ".spec.replicas": the value there; NULL if there is none. Borrowed. */
static json_t *at_path(const json_t *object, const char *path) {
    char copy[PATH_MAX_LEN];
    char *rest = NULL;
    const json_t *value = object;

    if (strlen(path) >= sizeof copy)
        return NULL;
    memcpy(copy, path, strlen(path) + 1);
    for (const char *key = strtok_r(copy, ".", &rest); key; key = strtok_r(NULL, ".", &rest))
        value = json_object_get(value, key);
    return (json_t *)value;
}

/* Sets the value at a path, making objects on the way. Takes value over. */
static bool set_path(json_t *object, const char *path, json_t *value) {
    char copy[PATH_MAX_LEN];
    char *rest = NULL;

    if (strlen(path) >= sizeof copy) {
        json_decref(value);
        return false;
    }
    memcpy(copy, path, strlen(path) + 1);
    const char *key = strtok_r(copy, ".", &rest);

    for (const char *next = strtok_r(NULL, ".", &rest); next;
         key = next, next = strtok_r(NULL, ".", &rest)) {
        json_t *child = json_object_get(object, key);

        if (!json_is_object(child)) {
            child = json_object();
            json_object_set_new(object, key, child);
        }
        object = child;
    }
    return json_object_set_new(object, key, value) == 0;
}
