#include "apiserver/builtin.h"

#include "apiserver/builtin_types.h"
#include "apiserver/cells.h"
#include "base/auto.h"
#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROLE_FIELDS "rules:[PolicyRule]"
#define BINDING_FIELDS "subjects:[Subject] roleRef:RoleRef!"
#define HOOK_FIELDS "webhooks:[Webhook/name]"

/* clang-format off: one kind a row */
static const struct builtin rows[] = {
    {"", "v1", "namespaces", "Namespace", "ns", "s", "spec:NamespaceSpec status:NamespaceStatus",
     "A scope for names."},
    {"", "v1", "nodes", "Node", "no", "s", "spec:NodeSpec status:NodeStatus",
     "A machine that runs pods."},
    {"", "v1", "pods", "Pod", "po", "nsag", "spec:PodSpec! status:PodStatus",
     "Containers that run together on one node."},
    {"", "v1", "services", "Service", "svc", "nsa", "spec:ServiceSpec status:ServiceStatus",
     "A name and an address for a set of pods."},
    {"", "v1", "endpoints", "Endpoints", "ep", "n", "subsets:[EndpointSubset]",
     "The addresses behind a service."},
    {"", "v1", "configmaps", "ConfigMap", "cm", "n", "data:m binaryData:D immutable:b",
     "Configuration data for pods."},
    {"", "v1", "secrets", "Secret", "", "n", "data:D stringData:m type:s=Opaque immutable:b",
     "Confidential data."},
    {"", "v1", "serviceaccounts", "ServiceAccount", "sa", "n",
     "secrets:[SecretReference/name] imagePullSecrets:[LocalReference] "
     "automountServiceAccountToken:b",
     "An identity for processes in pods."},
    {"", "v1", "events", "Event", "ev", "no",
     "involvedObject:ObjectReference! reason:s message:s source:EventSource firstTimestamp:t "
     "lastTimestamp:t count:i type:s eventTime:t series:EventSeries action:s "
     "related:ObjectReference reportingComponent:s reportingInstance:s",
     "A report of what happened to an object."},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", "ns",
     "spec:ClaimSpec status:ClaimStatus", "A request for a volume."},
    {"", "v1", "persistentvolumes", "PersistentVolume", "pv", "s",
     "spec:VolumeSpec status:VolumeStatus", "A volume."},
    {"", "v1", "limitranges", "LimitRange", "limits", "n", "spec:LimitRangeSpec",
     "Limits for the pods of a namespace."},
    {"", "v1", "resourcequotas", "ResourceQuota", "quota", "ns",
     "spec:QuotaSpec status:QuotaStatus", "What a namespace may use in all."},
    {"apps", "v1", "deployments", "Deployment", "deploy", "nscga",
     "spec:DeploymentSpec! status:WorkloadStatus", "Pods that are replaced gradually."},
    {"apps", "v1", "statefulsets", "StatefulSet", "sts", "nscga",
     "spec:StatefulSetSpec! status:WorkloadStatus", "Pods with names that stay."},
    {"apps", "v1", "replicasets", "ReplicaSet", "rs", "nscga",
     "spec:ReplicaSetSpec! status:WorkloadStatus", "A number of equal pods."},
    {"apps", "v1", "daemonsets", "DaemonSet", "ds", "nsga",
     "spec:DaemonSetSpec! status:WorkloadStatus", "A pod on every node."},
    {"apps", "v1", "controllerrevisions", "ControllerRevision", "", "n", "data:j revision:l!",
     "A kept state of a workload's template."},
    {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", "nsg",
     "spec:PdbSpec status:PdbStatus", "How many pods an eviction must leave."},
    {"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", "nsa",
     "spec:HpaSpec! status:HpaStatus", "Sets the replicas of a workload by metrics."},
    {"autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", "nsa",
     "spec:HpaV1Spec! status:HpaStatus", "Sets the replicas of a workload by its CPU."},
    {"coordination.k8s.io", "v1", "leases", "Lease", "", "n", "spec:LeaseSpec",
     "A lock that runs out."},
    {"events.k8s.io", "v1", "events", "Event", "ev", "no",
     "eventTime:t series:EventSeries reportingController:s reportingInstance:s action:s reason:s "
     "regarding:ObjectReference related:ObjectReference note:s type:s",
     "A report of what happened to an object."},
    {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "", "n",
     "addressType:s! endpoints:[Endpoint]! ports:[EndpointPort]",
     "Some of the addresses behind a service."},
    {"batch", "v1", "jobs", "Job", "", "nsga", "spec:JobSpec! status:JobStatus",
     "Pods that run to their end."},
    {"rbac.authorization.k8s.io", "v1", "roles", "Role", "", "n", ROLE_FIELDS,
     "What is allowed in a namespace."},
    {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", "", "n", BINDING_FIELDS,
     "Who has a role in a namespace."},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", "", "",
     ROLE_FIELDS " aggregationRule:AggregationRule", "What is allowed in the cluster."},
    {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", "", "",
     BINDING_FIELDS, "Who has a role in the cluster."},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
     "crd crds", "sg", "spec:CrdSpec! status:CrdStatus", "Defines another kind."},
    {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "pc", "",
     "value:i! globalDefault:b description:s preemptionPolicy:s=PreemptLowerPriority",
     "How much a pod matters."},
    {"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "netpol", "ng",
     "spec:PolicySpec", "Which traffic pods may have."},
    {"networking.k8s.io", "v1", "ingresses", "Ingress", "ing", "nsg",
     "spec:IngressSpec status:ServiceStatus", "Rules for traffic from outside."},
    {"storage.k8s.io", "v1", "storageclasses", "StorageClass", "sc", "",
     "provisioner:s! parameters:m reclaimPolicy:s=Delete mountOptions:a allowVolumeExpansion:b "
     "volumeBindingMode:s=Immediate allowedTopologies:[Any]",
     "A sort of volume."},
    {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "", "",
     "spec:AccessSpec! status:Any", "Asks what the caller may do."},
    {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
     "ValidatingWebhookConfiguration", "", "g", HOOK_FIELDS, "Webhooks that judge objects."},
    {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
     "MutatingWebhookConfiguration", "", "g", HOOK_FIELDS, "Webhooks that change objects."},
};
/* clang-format on */

static void add_fields(json_t *object, const char *fields);

const struct builtin *builtin_at(int at) {
    const int count = (int)(sizeof(rows) / sizeof(rows[0]));

    return at >= 0 && at < count ? &rows[at] : NULL;
}

json_t *builtin_type_new(const char *name) {
    const struct builtin_type *type = builtin_types;
    json_t *object = json_pack("{s:s}", "type", "object");

    while (type->name && strcmp(type->name, name) != 0)
        type++;
    assert(type->name);
    if (type->atomic)
        json_object_set_new(object, "x-kubernetes-map-type", json_string("atomic"));
    if (!type->closed)
        json_object_set_new(object, "x-kubernetes-preserve-unknown-fields", json_true());
    add_fields(object, type->fields);
    return object;
}

static json_t *map_new(json_t *values) {
    return json_pack("{s:s,s:o}", "type", "object", "additionalProperties", values);
}

static json_t *array_new(json_t *items, const char *list_type) {
    return json_pack("{s:s,s:o,s:s}", "type", "array", "items", items, "x-kubernetes-list-type",
                     list_type);
}

/* The OpenAPI of a type that is one letter; NULL if there is no such letter. */
static json_t *letter_new(char letter) {
    switch (letter) {
    case 's':
        return json_pack("{s:s}", "type", "string");
    case 'i':
        return json_pack("{s:s,s:s}", "type", "integer", "format", "int32");
    case 'l':
        return json_pack("{s:s,s:s}", "type", "integer", "format", "int64");
    case 'b':
        return json_pack("{s:s}", "type", "boolean");
    case 't':
        return json_pack("{s:s,s:s}", "type", "string", "format", "date-time");
    case 'd':
        return json_pack("{s:s,s:s}", "type", "string", "format", "byte");
    case 'x':
    case 'q':
        return json_pack("{s:b}", "x-kubernetes-int-or-string", 1);
    case 'o':
        return json_pack("{s:s,s:b}", "type", "object", "x-kubernetes-preserve-unknown-fields", 1);
    case 'j':
        return json_pack("{s:b}", "x-kubernetes-preserve-unknown-fields", 1);
    case 'm':
        return map_new(letter_new('s'));
    case 'M':
        return map_new(letter_new('q'));
    case 'D':
        return map_new(letter_new('d'));
    case 'n':
        return array_new(letter_new('l'), "atomic");
    case 'a':
        return array_new(letter_new('s'), "atomic");
    case 'u':
        return array_new(letter_new('s'), "set");
    default:
        return NULL;
    }
}

static json_t *type_new(const char *text, size_t len) {
    char name[64];
    json_t *letter = len == 1 ? letter_new(*text) : NULL;

    if (letter)
        return letter;
    assert(len < sizeof(name));
    memcpy(name, text, len);
    name[len] = '\0';
    return builtin_type_new(name);
}

/* "[Foo/k,l]", up to and without the closing bracket. */
static json_t *list_new(const char *text, size_t len) {
    const char *slash = memchr(text, '/', len);
    json_t *list =
        array_new(type_new(text, slash ? (size_t)(slash - text) : len), slash ? "map" : "atomic");
    json_t *keys = json_array();
    const char *end = text + len;

    for (const char *key = slash; key && key < end;) {
        const size_t size = (size_t)(end - ++key);
        const char *comma = memchr(key, ',', size);

        json_array_append_new(keys, json_stringn(key, comma ? (size_t)(comma - key) : size));
        key = comma;
    }
    if (slash) {
        json_object_set(list, "x-kubernetes-list-map-keys", keys);
        json_object_set(list, "x-kubernetes-patch-merge-key", json_array_get(keys, 0));
        json_object_set_new(list, "x-kubernetes-patch-strategy", json_string("merge"));
    }
    json_decref(keys);
    return list;
}

/* "A|B", up to and without the closing parenthesis. */
static json_t *values_new(const char *text, const char *end) {
    json_t *values = json_array();

    while (text < end) {
        const size_t size = strcspn(text, "|)");

        json_array_append_new(values, json_stringn(text, size));
        text += size + 1;
    }
    return values;
}

static json_t *preset_new(const char *text, size_t len) {
    json_t *value = json_loadb(text, len, JSON_DECODE_ANY, NULL);

    return value ? value : json_stringn(text, len);
}

/* Reads TYPE and what follows it; says whether the field is required. */
static json_t *field_new(const char *text, size_t len, bool *ret_required) {
    const char *end = text + len;
    const char *at = *text == '['   ? memchr(text, ']', len) + 1
                     : *text == '{' ? memchr(text, '}', len) + 1
                                    : text + strcspn(text, "(!~= ");
    const size_t size = (size_t)(at - text);
    json_t *schema = *text == '['   ? list_new(text + 1, size - 2)
                     : *text == '{' ? map_new(type_new(text + 1, size - 2))
                                    : type_new(text, size);

    if (at < end && *at == '(') {
        const char *close = memchr(at, ')', (size_t)(end - at));

        json_object_set_new(schema, "enum", values_new(at + 1, close));
        at = close + 1;
    }
    *ret_required = at < end && *at == '!';
    at += *ret_required;
    if (at < end && *at == '~') {
        json_object_set_new(schema, "x-kubernetes-patch-strategy",
                            json_string(*text == '[' ? "merge,retainKeys" : "retainKeys"));
        at++;
    }
    if (at < end && *at == '=')
        json_object_set_new(schema, "default", preset_new(at + 1, (size_t)(end - at - 1)));
    return schema;
}

static void add_fields(json_t *object, const char *fields) {
    json_t *properties = json_object();
    json_t *required = json_array();

    while (*fields) {
        const size_t len = strcspn(fields, " ");
        const char *colon = memchr(fields, ':', len);
        const size_t name_len = (size_t)(colon - fields);
        bool is_required = false;
        auto_free char *name = str_dup_len(fields, name_len);

        json_object_set_new(properties, name,
                            field_new(colon + 1, len - name_len - 1, &is_required));
        if (is_required)
            json_array_append_new(required, json_string(name));
        fields += len;
        fields += strspn(fields, " ");
    }
    if (json_object_size(properties))
        json_object_set(object, "properties", properties);
    if (json_array_size(required))
        json_object_set(object, "required", required);
    json_decref(properties);
    json_decref(required);
}

static json_t *root_new(const struct builtin *row) {
    json_t *root = json_pack("{s:s,s:s}", "type", "object", "description", row->about);
    json_t *properties;

    add_fields(root, row->fields);
    properties = json_object_get(root, "properties");
    json_object_set_new(properties, "apiVersion", letter_new('s'));
    json_object_set_new(properties, "kind", letter_new('s'));
    json_object_set_new(properties, "metadata", builtin_type_new("ObjectMeta"));
    if (strchr(row->traits, 'o'))
        json_object_set_new(root, "x-kubernetes-preserve-unknown-fields", json_true());
    return root;
}

static void add_short_names(struct kind *kind, const char *names) {
    for (int i = 0; *names && i < KIND_NAMES_MAX - 1; i++) {
        const size_t len = strcspn(names, " ");

        kind->short_names[i] = str_dup_len(names, len);
        names += len;
        names += strspn(names, " ");
    }
}

/* Singular names are the kinds in small letters, as they are on the real server. */
static char *lower_new(const char *name) {
    char *text = str_dup(name);

    for (char *p = text; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return text;
}

struct kind *builtin_kind_new(const struct builtin *row) {
    struct kind *kind = str_alloc(1, sizeof(*kind));
    json_auto_t *root = root_new(row);
    const struct schema_extra *extra = builtin_extra(row->group, row->resource);
    int r;

    kind->group = str_dup(row->group);
    kind->version = str_dup(row->version);
    kind->resource = str_dup(row->resource);
    kind->name = str_dup(row->kind);
    kind->singular = lower_new(row->kind);
    kind->list_name = str_printf("%sList", row->kind);
    add_short_names(kind, row->short_names);
    if (strchr(row->traits, 'a'))
        kind->categories[0] = str_dup("all");
    kind->namespaced = strchr(row->traits, 'n') != NULL;
    kind->has_status = strchr(row->traits, 's') != NULL;
    kind->has_scale = strchr(row->traits, 'c') != NULL;
    kind->counts_generation = strchr(row->traits, 'g') != NULL;
    if (kind->has_scale) {
        kind->scale_spec_path = str_dup(".spec.replicas");
        kind->scale_status_path = str_dup(".status.replicas");
        kind->scale_selector_path = str_dup(".spec.selector");
    }
    kind->prunes = true;
    r = schema_new(root, &kind->schema, NULL);
    assert(r >= 0);
    (void)r;
    if (extra)
        schema_extend(kind->schema, extra);
    kind->columns = cells_columns_new(row->group, row->resource, &kind->column_count);
    return kind;
}
