#include "apiserver/answer.h"
#include "apiserver/garbage.h"
#include "apiserver/read.h"
#include "apiserver/verb.h"
#include "base/auto.h"
#include "base/str.h"

#include <string.h>

/* DeleteOptions of body and query. */
struct options {
    struct removal removal;
    char *uid; /* preconditions; NULL: none */
    char *rv;
    bool dry_run;
};

static int read_options(struct call *call, json_t *body, struct options *ret_options);
static int read_policy(struct call *call, const json_t *body, struct options *options);
static void options_done(struct options *options);
static int check_allowed(struct call *call, const struct object *object,
                         const struct options *options);
static int delete_named(struct call *call, json_t *body);

int verb_delete(struct call *call) {
    json_auto_t *body = NULL;

    return call_body(call, &body) < 0 ? ERR_INVALID : delete_named(call, body);
}

int verb_evict(struct call *call) {
    json_auto_t *body = NULL;

    if (call_body(call, &body) < 0)
        return ERR_INVALID;
    return delete_named(call, json_object_get(body, "deleteOptions"));
}

int verb_delete_collection(struct call *call) {
    json_auto_t *body = NULL;
    struct options options = {0};
    struct selector labels = {0};
    struct selector fields = {0};
    size_t first, end;
    size_t count = 0;

    if (call_body(call, &body) < 0 || read_options(call, body, &options) < 0)
        return ERR_INVALID;
    if (read_selectors(call, &labels, &fields) < 0) {
        options_done(&options);
        return ERR_INVALID;
    }
    object_set_range(call->set, call->route.ns, &first, &end);
    struct object **list = str_alloc(end - first + 1, sizeof(struct object *));

    for (size_t i = first; i < end; i++) {
        struct object *object = call->set->at[i];

        if (selector_has_labels(&labels, object->tree) &&
            selector_has_fields(&fields, object->tree))
            list[count++] = object_ref(object);
    }
    for (size_t i = 0; i < count && !options.dry_run; i++)
        garbage_delete(call->server, list[i], &options.removal);
    answer_list(call, list, count, objects_rv(call->server->objects), NULL, -1);
    object_list_free(list, count);
    selector_done(&labels);
    selector_done(&fields);
    options_done(&options);
    return 0;
}

static int delete_named(struct call *call, json_t *body) {
    struct object *object = call_object(call);
    struct options options = {0};

    if (!object || read_options(call, body, &options) < 0)
        return ERR_INVALID;
    int r = check_allowed(call, object, &options);

    if (r == 0) {
        object_ref(object);
        const bool gone = options.dry_run || garbage_delete(call->server, object, &options.removal);
        struct object *left = object_set_get(call->set, object->ns, object->name);

        if (left)
            object_ref(left);
        garbage_run(call->server);
        if (gone || !left || strcmp(call->route.subresource, "eviction") == 0)
            answer_deleted(call, object);
        else
            answer_object(call, 200, left);
        object_unref(left);
        object_unref(object);
    }
    options_done(&options);
    return r;
}

static int read_options(struct call *call, json_t *body, struct options *ret_options) {
    const json_t *grace = json_object_get(body, "gracePeriodSeconds");
    const json_t *preconditions = json_object_get(body, "preconditions");

    *ret_options = (struct options){
        .removal = {REMOVAL_BACKGROUND,
                    json_is_integer(grace) ? json_integer_value(grace) : call->route.grace_s},
        .uid = str_dup(json_string_value(json_object_get(preconditions, "uid"))),
        .rv = str_dup(json_string_value(json_object_get(preconditions, "resourceVersion"))),
        .dry_run = call->route.dry_run || json_array_size(json_object_get(body, "dryRun")) > 0,
    };
    const int r = read_policy(call, body, ret_options);

    if (r < 0)
        options_done(ret_options);
    return r;
}

static int read_policy(struct call *call, const json_t *body, struct options *options) {
    const char *policy = json_string_value(json_object_get(body, "propagationPolicy"));

    if (!policy)
        policy = call->route.propagation;
    if (json_is_true(json_object_get(body, "orphanDependents")) || strcmp(policy, "Orphan") == 0)
        options->removal.policy = REMOVAL_ORPHAN;
    else if (strcmp(policy, "Foreground") == 0)
        options->removal.policy = REMOVAL_FOREGROUND;
    else if (*policy != '\0' && strcmp(policy, "Background") != 0)
        return refuse(&call->refusal, 422, "Invalid",
                      "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported "
                      "value: \"%.40s\": supported values: \"Foreground\", \"Background\", "
                      "\"Orphan\", \"nil\"",
                      policy);
    return 0;
}

static void options_done(struct options *options) {
    free(options->uid);
    free(options->rv);
}

static int check_allowed(struct call *call, const struct object *object,
                         const struct options *options) {
    const json_t *metadata = json_object_get(object->tree, "metadata");
    const char *uid = json_string_value(json_object_get(metadata, "uid"));
    const char *rv = json_string_value(json_object_get(metadata, "resourceVersion"));
    auto_free char *why = NULL;

    if (options->uid && strcmp(options->uid, uid ? uid : "") != 0)
        why = str_printf("Precondition failed: UID in precondition: %s, UID in object meta: %s",
                         options->uid, uid);
    else if (options->rv && strcmp(options->rv, rv) != 0)
        why = str_printf("Precondition failed: ResourceVersion in precondition: %s, "
                         "ResourceVersion in object meta: %s",
                         options->rv, rv);
    if (why)
        return refuse_conflict(&call->refusal, call->kind, object->name, why);
    if (call->set == call->server->namespaces &&
        (strcmp(object->name, "default") == 0 || strcmp(object->name, "kube-system") == 0 ||
         strcmp(object->name, "kube-public") == 0))
        return refuse(&call->refusal, 403, "Forbidden",
                      "namespaces \"%s\" is forbidden: this namespace may not be deleted",
                      object->name);
    return 0;
}
