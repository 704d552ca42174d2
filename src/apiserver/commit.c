#include "apiserver/commit.h"

#include "apiserver/admit.h"
#include "apiserver/answer.h"
#include "apiserver/garbage.h"
#include "apiserver/patch.h"
#include "base/auto.h"
#include "base/str.h"

#include <string.h>

#define CRD_CLEANUP "customresourcecleanup.apiextensions.k8s.io"

static int store(struct call *call, json_t *object, struct object **ret_object);
static int serve_crd(struct call *call, json_t *crd, bool fresh);
static int check_identity(struct call *call, const struct object *live, const json_t *metadata);
static int check_finalizers(struct call *call, const struct object *live, const json_t *metadata);
static json_t *merged_new(struct call *call, const json_t *live, json_t *updated,
                          const char *subresource);
static void keep_metadata(json_t *metadata, const json_t *live);
static bool same_but_status(const json_t *a, const json_t *b);
static bool same_object(const json_t *a, const json_t *b);
static json_t *comparable_new(const json_t *object);
static void own(struct call *call, const json_t *live, json_t *object, const char *subresource);
static int finish(struct call *call, json_t *object, json_t **ret_object);
static const char *text_at(const json_t *object, const char *key);

int commit_create(struct call *call, json_t *object, bool applied) {
    json_t *metadata = json_object_get(object, "metadata");
    char time[SERVER_TIME_SIZE];
    char uid[SERVER_UID_SIZE];
    struct object *stored = NULL;
    int r = admit_name(call, object);

    if (r == 0 && *text_at(metadata, "resourceVersion") != '\0')
        r = refuse(&call->refusal, 400, "BadRequest",
                   "resourceVersion should not be set on objects to be created");
    if (r == 0 && object_set_get(call->set, call->route.ns, text_at(metadata, "name")))
        r = refuse_existing(&call->refusal, call->kind, text_at(metadata, "name"));
    if (r < 0) {
        json_decref(object);
        return r;
    }
    server_time(call->server, time);
    server_uid(call->server, uid);
    keep_metadata(metadata, NULL);
    json_object_del(metadata, "resourceVersion");
    if (call->kind->namespaced)
        json_object_set_new(metadata, "namespace", json_string(call->route.ns));
    json_object_set_new(metadata, "uid", json_string(uid));
    json_object_set_new(metadata, "creationTimestamp", json_string(time));
    if (call->kind->counts_generation)
        json_object_set_new(metadata, "generation", json_integer(1));
    if (call->kind->has_status && strcmp(call->kind->resource, "nodes") != 0)
        json_object_del(object, "status"); /* a kubelet registers its node with one */
    r = admit_object(call, object, NULL);
    if (r == 0 && call->set == call->server->crds)
        r = serve_crd(call, object, true);
    if (r < 0) {
        json_decref(object);
        return r;
    }
    if (!applied)
        own(call, NULL, object, "");
    if (call->route.dry_run) {
        answer_tree(call, 201, object);
        json_decref(object);
        return 0;
    }
    r = store(call, object, &stored);
    if (r == 0)
        answer_object(call, 201, stored);
    object_unref(stored);
    return r;
}

int commit_update(struct call *call, struct object *live, json_t *updated, const char *subresource,
                  bool applied, json_t **ret_object) {
    json_auto_t *was = view_object_new(call->kind, live->tree);
    json_t *metadata = json_object_get(updated, "metadata");
    int r = check_identity(call, live, metadata);

    if (r == 0)
        r = check_finalizers(call, live, metadata);
    if (r < 0) {
        json_decref(updated);
        return r;
    }
    json_t *object = merged_new(call, was, updated, subresource);

    json_decref(updated);
    metadata = json_object_get(object, "metadata");
    r = admit_object(call, object, was);
    if (r == 0 && call->set == call->server->crds && *subresource == '\0')
        r = serve_crd(call, object, false);
    if (r < 0) {
        json_decref(object);
        return r;
    }
    if (call->kind->counts_generation && !same_but_status(was, object))
        json_object_set_new(
            metadata, "generation",
            json_integer(json_integer_value(json_object_get(metadata, "generation")) + 1));
    if (!applied)
        own(call, was, object, subresource);
    if (same_object(was, object)) {
        json_decref(object);
        return finish(call, json_incref(was), ret_object);
    }
    if (call->route.dry_run)
        return finish(call, object, ret_object);
    struct object *stored = NULL;

    if (garbage_is_free(object)) { /* its last finalizer went */
        object_unref(objects_remove(call->server->objects, call->set, live->ns, live->name));
        return finish(call, object, ret_object);
    }
    r = store(call, object, &stored);
    if (r == 0)
        r = finish(call, view_object_new(call->kind, stored->tree), ret_object);
    object_unref(stored);
    return r;
}

/* Takes object over. */
static int store(struct call *call, json_t *object, struct object **ret_object) {
    struct err err = {0};
    const int r = objects_put(call->server->objects, call->set, view_stored_new(call->kind, object),
                              ret_object, &err);

    if (r == ERR_RETRY)
        return refuse(&call->refusal, 500, "InternalError", "%s", err.msg);
    if (r < 0)
        return refuse(&call->refusal, 413, "RequestEntityTooLarge", "%s", err.msg);
    return 0;
}

static int serve_crd(struct call *call, json_t *crd, bool fresh) {
    json_t *metadata = json_object_get(crd, "metadata");
    char time[SERVER_TIME_SIZE];
    struct err err = {0};

    if (fresh) {
        if (!json_object_get(metadata, "finalizers"))
            json_object_set_new(metadata, "finalizers", json_array());
        json_array_append_new(json_object_get(metadata, "finalizers"), json_string(CRD_CLEANUP));
    }
    server_time(call->server, time);
    if (call->route.dry_run || json_object_get(metadata, "deletionTimestamp"))
        return 0;
    if (kinds_crd_put(call->server->kinds, crd, time, &err) < 0)
        return refuse_field(&call->refusal, call->kind, text_at(metadata, "name"),
                            "FieldValueInvalid", "", "%s", err.msg);
    watches_end_unserved(call->server->watches);
    return 0;
}

static int check_identity(struct call *call, const struct object *live, const json_t *metadata) {
    const char *name = text_at(metadata, "name");
    const char *ns = text_at(metadata, "namespace");
    const char *rv = text_at(metadata, "resourceVersion");
    const char *uid = text_at(metadata, "uid");
    const char *live_uid = text_at(json_object_get(live->tree, "metadata"), "uid");

    if (strcmp(name, live->name) != 0)
        return refuse(&call->refusal, 400, "BadRequest",
                      "the name of the object (%s) does not match the name on the URL (%s)", name,
                      live->name);
    if (*ns != '\0' && strcmp(ns, live->ns) != 0)
        return refuse(&call->refusal, 400, "BadRequest",
                      "the namespace of the object (%s) does not match the namespace on the URL "
                      "(%s)",
                      ns, live->ns);
    if (*uid != '\0' && strcmp(uid, live_uid) != 0) {
        auto_free char *why = str_printf(
            "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, live_uid);

        return refuse_conflict(&call->refusal, call->kind, name, why);
    }
    if (*rv != '\0' && strcmp(rv, "0") != 0 &&
        strcmp(rv, text_at(json_object_get(live->tree, "metadata"), "resourceVersion")) != 0)
        return refuse_conflict(&call->refusal, call->kind, name,
                               "the object has been modified; please apply your changes to the "
                               "latest version and try again");
    return 0;
}

/* Once an object is being deleted its finalizers may only become fewer. */
static int check_finalizers(struct call *call, const struct object *live, const json_t *metadata) {
    const json_t *live_metadata = json_object_get(live->tree, "metadata");
    const json_t *have = json_object_get(live_metadata, "finalizers");
    size_t i, k;
    json_t *added, *old;

    if (!json_object_get(live_metadata, "deletionTimestamp"))
        return 0;
    json_array_foreach(json_object_get(metadata, "finalizers"), i, added) {
        bool known = false;

        json_array_foreach(have, k, old) known |= json_equal(added, old);
        if (!known)
            return refuse_field(&call->refusal, call->kind, live->name, "FieldValueForbidden",
                                "metadata.finalizers",
                                "Forbidden: no new finalizers can be added if the object is being "
                                "deleted, found new finalizers []string{\"%s\"}",
                                json_string_value(added));
    }
    return 0;
}

/* What the write makes of live: its own part from updated, all else as it was. Shares nothing. */
static json_t *merged_new(struct call *call, const json_t *live, json_t *updated,
                          const char *subresource) {
    const bool status_only = strcmp(subresource, "status") == 0;
    json_t *object = json_deep_copy(status_only ? live : updated);
    json_t *metadata = json_object_get(object, "metadata");
    const json_t *status = json_object_get(status_only ? updated : live, "status");

    if (status_only) {
        json_t *fields = json_object_get(json_object_get(updated, "metadata"), "managedFields");

        if (fields)
            json_object_set_new(metadata, "managedFields", json_deep_copy(fields));
    }
    if (status_only || call->kind->has_status) {
        json_object_del(object, "status");
        if (status && !json_is_null(status))
            json_object_set_new(object, "status", json_deep_copy(status));
    }
    keep_metadata(metadata, json_object_get(live, "metadata"));
    json_object_set(object, "apiVersion", json_object_get(live, "apiVersion"));
    json_object_set(object, "kind", json_object_get(live, "kind"));
    return object;
}

/* Metadata that only the server sets: as in live, which is NULL for a new object. */
static void keep_metadata(json_t *metadata, const json_t *live) {
    static const char *const keys[] = {
        "uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
        "generation", "selfLink",          "namespace",         "resourceVersion",
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(live, keys[i]);

        if (value)
            json_object_set(metadata, keys[i], value);
        else
            json_object_del(metadata, keys[i]);
    }
}

/* Whether all but metadata and status is the same: then the generation stays. */
static bool same_but_status(const json_t *a, const json_t *b) {
    json_auto_t *left = json_copy((json_t *)a);
    json_auto_t *right = json_copy((json_t *)b);

    json_object_del(left, "metadata");
    json_object_del(left, "status");
    json_object_del(right, "metadata");
    json_object_del(right, "status");
    return json_equal(left, right);
}

/* Whether nothing changed but times in managedFields: then nothing is stored. */
static bool same_object(const json_t *a, const json_t *b) {
    json_auto_t *left = comparable_new(a);
    json_auto_t *right = comparable_new(b);

    return json_equal(left, right);
}

static json_t *comparable_new(const json_t *object) {
    json_t *copy = json_copy((json_t *)object);
    json_t *metadata = json_copy(json_object_get(object, "metadata"));
    json_t *fields = json_array();
    size_t i;
    json_t *entry;

    json_array_foreach(json_object_get(metadata, "managedFields"), i, entry) {
        json_t *bare = json_copy(entry);

        json_object_del(bare, "time");
        json_array_append_new(fields, bare);
    }
    json_object_set_new(metadata, "managedFields", fields);
    json_object_set_new(copy, "metadata", metadata);
    return copy;
}

static void own(struct call *call, const json_t *live, json_t *object, const char *subresource) {
    auto_free char *manager = call_manager(call);
    auto_free char *api_version = view_api_version(call->kind);
    char time[SERVER_TIME_SIZE];

    server_time(call->server, time);
    patch_own(live, object, call->kind->schema, api_version, manager, subresource, time);
}

/* Takes object over: hands it out, or answers with it. */
static int finish(struct call *call, json_t *object, json_t **ret_object) {
    if (ret_object) {
        *ret_object = object;
        return 0;
    }
    answer_tree(call, 200, object);
    json_decref(object);
    return 0;
}

static const char *text_at(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}
