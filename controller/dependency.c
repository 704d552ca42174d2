#include "controller/dependency.h"

#include "api/objectname.h"
#include "controller/render.h"

#include <string.h>

static const struct {
    const char *resource;
    const char *kind;
    const char *content[5]; /* the fields that are copied; ends in NULL */
} types[] = {
    [DEPENDENCY_CONFIGMAP] = {"configmaps", "ConfigMap", {"data", "binaryData", "immutable"}},
    [DEPENDENCY_SECRET] = {"secrets", "Secret", {"data", "type", "immutable"}},
    [DEPENDENCY_SERVICEACCOUNT] = {"serviceaccounts",
                                   "ServiceAccount",
                                   {"automountServiceAccountToken", "imagePullSecrets"}},
};

struct listing {
    struct dependencies *out;
    bool full;
};

static void note(struct listing *listing, enum dependency_kind kind, const json_t *reference,
                 const char *key) {
    const char *name = json_string_value(json_object_get(reference, key));
    const bool optional = json_is_true(json_object_get(reference, "optional"));
    struct dependencies *out = listing->out;

    if (!name || !*name)
        return;
    for (int i = 0; i < out->count; i++) {
        if (out->at[i].kind == kind && strcmp(out->at[i].name, name) == 0) {
            out->at[i].optional = out->at[i].optional && optional;
            return;
        }
    }
    if (out->count == DEPENDENCY_COUNT_MAX) {
        listing->full = true;
        return;
    }
    out->at[out->count++] = (struct dependency){.kind = kind, .name = name, .optional = optional};
}

static void container_note(struct listing *listing, const json_t *container) {
    size_t i;
    json_t *each;

    json_array_foreach(json_object_get(container, "envFrom"), i, each) {
        note(listing, DEPENDENCY_CONFIGMAP, json_object_get(each, "configMapRef"), "name");
        note(listing, DEPENDENCY_SECRET, json_object_get(each, "secretRef"), "name");
    }
    json_array_foreach(json_object_get(container, "env"), i, each) {
        const json_t *from = json_object_get(each, "valueFrom");

        note(listing, DEPENDENCY_CONFIGMAP, json_object_get(from, "configMapKeyRef"), "name");
        note(listing, DEPENDENCY_SECRET, json_object_get(from, "secretKeyRef"), "name");
    }
}

static void volume_note(struct listing *listing, const json_t *volume) {
    size_t i;
    json_t *source;

    note(listing, DEPENDENCY_CONFIGMAP, json_object_get(volume, "configMap"), "name");
    note(listing, DEPENDENCY_SECRET, json_object_get(volume, "secret"), "secretName");
    json_array_foreach(json_object_get(json_object_get(volume, "projected"), "sources"), i,
                       source) {
        note(listing, DEPENDENCY_CONFIGMAP, json_object_get(source, "configMap"), "name");
        note(listing, DEPENDENCY_SECRET, json_object_get(source, "secret"), "name");
    }
}

int dependency_list(const json_t *pod_spec, struct dependencies *ret, struct err *err) {
    static const char *const containers[] = {"initContainers", "containers"};
    struct dependencies out = {0};
    struct listing listing = {.out = &out};
    size_t i;
    json_t *each;

    note(&listing, DEPENDENCY_SERVICEACCOUNT, pod_spec, "serviceAccountName");
    json_array_foreach(json_object_get(pod_spec, "imagePullSecrets"), i, each)
        note(&listing, DEPENDENCY_SECRET, each, "name");
    json_array_foreach(json_object_get(pod_spec, "volumes"), i, each) volume_note(&listing, each);
    for (size_t k = 0; k < 2; k++) {
        json_array_foreach(json_object_get(pod_spec, containers[k]), i, each)
            container_note(&listing, each);
    }
    if (listing.full)
        return err_set(err, ERR_INVALID,
                       "spec.workload.spec.template.spec: names more than %d ConfigMaps, Secrets "
                       "and ServiceAccounts",
                       DEPENDENCY_COUNT_MAX);
    *ret = out;
    return 0;
}

const char *dependency_resource(enum dependency_kind kind) {
    return types[kind].resource;
}

json_t *dependency_copy_new(enum dependency_kind kind, const json_t *source) {
    const json_t *metadata = json_object_get(source, "metadata");
    json_t *copy =
        json_pack("{s:s, s:s, s:{s:O, s:O, s:{s:s}}}", "apiVersion", "v1", "kind", types[kind].kind,
                  "metadata", "name", json_object_get(metadata, "name"), "namespace",
                  json_object_get(metadata, "namespace"), "labels", OBJECTNAME_LABEL_MANAGED_BY,
                  OBJECTNAME_MANAGER);
    char hash[RENDER_HASH_SIZE];

    for (int i = 0; types[kind].content[i]; i++) {
        json_t *part = json_object_get(source, types[kind].content[i]);

        if (part)
            json_object_set(copy, types[kind].content[i], part);
    }
    render_hash(copy, hash);
    json_object_set_new(json_object_get(copy, "metadata"), "annotations",
                        json_pack("{s:s}", OBJECTNAME_ANNOTATION_HASH, hash));
    return copy;
}
