#include "fleet/state.h"

#include "api/meta.h"
#include "base/sha256.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int pod_fill(struct fleet *fleet, const json_t *root, struct pod_seen *seen,
                    struct err *err);
static struct shape *shape_take(struct fleet *fleet, const json_t *spec,
                                const struct room_amount *request);
static void shape_drop(struct shape *shape);
static int set_read(enum set_type type, struct source *source, const char *bytes, size_t size_bytes,
                    struct store_item *ret_item, struct err *err);
static void hash_template(const json_t *root, char ret_hash[FLEET_HASH_SIZE]);

int reading_pod(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                struct err *err) {
    struct source *source = arg;
    struct fleet *fleet = source->fleet;
    json_auto_t *root = json_loadb(bytes, size_bytes, 0, NULL);
    struct pod_seen *seen = str_alloc(1, sizeof *seen);
    int r = pod_read(bytes, size_bytes, fleet->names, NULL, &source->meta, &seen->pod, err);

    if (r < 0) {
        free(seen);
        return r;
    }
    seen->names = fleet->names;
    seen->name = str_dup(source->meta.name);
    seen->uid = str_dup(source->meta.uid);
    seen->created_ms = source->meta.created_ms;
    seen->ns = names_take(fleet->names, source->meta.ns, strlen(source->meta.ns));
    r = seen->ns ? pod_fill(fleet, root, seen, err)
                 : err_set(err, ERR_RETRY, "the table of names is full");
    if (r < 0) {
        reading_pod_free(seen);
        return r;
    }
    *ret_item = (struct store_item){
        .key = source->meta.key, .uid = source->meta.uid, .rv = source->meta.rv, .object = seen};
    return 1;
}

static int pod_fill(struct fleet *fleet, const json_t *root, struct pod_seen *seen,
                    struct err *err) {
    const json_t *owners = json_object_get(json_object_get(root, "metadata"), "ownerReferences");
    const json_t *conditions = json_object_get(json_object_get(root, "status"), "conditions");
    struct room_amount request;
    size_t i;
    json_t *entry;

    json_array_foreach((json_t *)(uintptr_t)owners, i, entry) {
        const char *uid = json_string_value(json_object_get(entry, "uid"));

        if (!uid || !json_is_true(json_object_get(entry, "controller")))
            continue;
        seen->owner_uid = names_take(fleet->names, uid, strlen(uid));
        if (!seen->owner_uid)
            return err_set(err, ERR_RETRY, "the table of names is full");
        break;
    }
    json_array_foreach((json_t *)(uintptr_t)conditions, i, entry) {
        const char *type = json_string_value(json_object_get(entry, "type"));
        const char *status = json_string_value(json_object_get(entry, "status"));

        if (type && status && strcmp(type, "PodScheduled") == 0)
            seen->told_unschedulable = strcmp(status, "False") == 0;
    }
    pod_request(&seen->pod, &request);
    seen->shape = shape_take(fleet, json_object_get(root, "spec"), &request);
    return 0;
}

void reading_pod_free(void *object) {
    struct pod_seen *seen = object;

    pod_done(&seen->pod, seen->names);
    names_drop(seen->names, seen->ns);
    names_drop(seen->names, seen->owner_uid);
    if (seen->shape)
        shape_drop(seen->shape);
    free(seen->name);
    free(seen->uid);
    free(seen);
}

/* Name and image of each container, for their statuses. */
static json_t *containers_new(const json_t *spec) {
    const json_t *containers = json_object_get(spec, "containers");
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *container = json_array_get(containers, i);
        const char *name = json_string_value(json_object_get(container, "name"));
        const char *image = json_string_value(json_object_get(container, "image"));

        json_array_append_new(
            list, json_pack("{s:s, s:s}", "name", name ? name : "", "image", image ? image : ""));
    }
    return list;
}

static struct shape *shape_take(struct fleet *fleet, const json_t *spec,
                                const struct room_amount *request) {
    json_auto_t *all = json_object();
    json_t *amounts = json_array();
    struct shape *shape;

    json_object_set(all, "selector", json_object_get(spec, "nodeSelector"));
    json_object_set(all, "tolerations", json_object_get(spec, "tolerations"));
    json_object_set_new(all, "containers", containers_new(spec));
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        json_array_append_new(amounts, json_integer(request->of[i]));
    json_object_set_new(all, "request", amounts);
    char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);

    HASH_FIND_STR(fleet->shapes, text, shape);
    if (shape) {
        shape->ref_count++;
        free(text);
        return shape;
    }
    shape = str_alloc(1, sizeof *shape);
    *shape = (struct shape){.table = &fleet->shapes, .ref_count = 1, .text = text};
    shape->selector = json_incref(json_object_get(all, "selector"));
    shape->tolerations = json_incref(json_object_get(all, "tolerations"));
    shape->containers = json_incref(json_object_get(all, "containers"));
    shape->request = *request;
    HASH_ADD_KEYPTR(hh, fleet->shapes, shape->text, strlen(shape->text), shape);
    return shape;
}

static void shape_drop(struct shape *shape) {
    if (--shape->ref_count > 0)
        return;
    HASH_DEL(*shape->table, shape);
    json_decref(shape->selector);
    json_decref(shape->tolerations);
    json_decref(shape->containers);
    free(shape->text);
    free(shape);
}

int reading_node(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                 struct err *err) {
    struct source *source = arg;
    struct node_seen *seen = str_alloc(1, sizeof *seen);
    const int r =
        node_read(bytes, size_bytes, source->fleet->names, NULL, &source->meta, &seen->node, err);

    if (r < 0) {
        free(seen);
        return r;
    }
    seen->names = source->fleet->names;
    seen->uid = str_dup(source->meta.uid);
    *ret_item = (struct store_item){
        .key = source->meta.key, .uid = source->meta.uid, .rv = source->meta.rv, .object = seen};
    return 1;
}

void reading_node_free(void *object) {
    struct node_seen *seen = object;

    node_done(&seen->node, seen->names);
    free(seen->uid);
    free(seen);
}

int reading_deployment(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                       struct err *err) {
    return set_read(SET_DEPLOYMENT, arg, bytes, size_bytes, ret_item, err);
}

int reading_statefulset(void *arg, const char *bytes, size_t size_bytes,
                        struct store_item *ret_item, struct err *err) {
    return set_read(SET_STATEFULSET, arg, bytes, size_bytes, ret_item, err);
}

static int set_read(enum set_type type, struct source *source, const char *bytes, size_t size_bytes,
                    struct store_item *ret_item, struct err *err) {
    json_auto_t *root = json_loadb(bytes, size_bytes, 0, NULL);
    const int r = meta_read_json(root, NULL, &source->meta, err);

    if (r < 0)
        return r;
    if (!json_is_object(json_object_get(root, "spec")))
        return err_set(err, ERR_INVALID, "no spec");
    json_t *metadata = json_object_get(root, "metadata");
    struct set_seen *seen = str_alloc(1, sizeof *seen);

    json_object_del(metadata, "managedFields");
    seen->root = json_incref(root);
    seen->type = type;
    seen->ns = json_string_value(json_object_get(metadata, "namespace"));
    seen->name = json_string_value(json_object_get(metadata, "name"));
    seen->uid = str_dup(source->meta.uid);
    seen->generation = source->meta.generation;
    seen->deleting = source->meta.deleting;
    hash_template(root, seen->hash);
    *ret_item = (struct store_item){
        .key = source->meta.key, .uid = source->meta.uid, .rv = source->meta.rv, .object = seen};
    return 1;
}

static void hash_template(const json_t *root, char ret_hash[FLEET_HASH_SIZE]) {
    const json_t *template = json_object_get(json_object_get(root, "spec"), "template");
    uint8_t digest[SHA256_SIZE_BYTES];
    char *text = json_dumps(template, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

    sha256(text, text ? strlen(text) : 0, digest);
    for (int i = 0; i < (FLEET_HASH_SIZE - 1) / 2; i++)
        snprintf(ret_hash + 2 * (size_t)i, 3, "%02x", digest[i]);
    free(text);
}

void reading_set_free(void *object) {
    struct set_seen *seen = object;

    json_decref(seen->root);
    free(seen->uid);
    free(seen);
}
