#include "apiserver/kind.h"

#include "apiserver/cells.h"
#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

#define STATEFUL_WORDS                                                                             \
    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', "        \
    "'template', 'updateStrategy', 'revisionHistoryLimit', "                                       \
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

/* A field that stays as it was made. */
struct fixed {
    const char *group;
    const char *resource;
    const char *path;
    const char *words;
};

static const struct fixed rows[] = {
    {"apps", "deployments", "spec.selector", "field is immutable"},
    {"apps", "replicasets", "spec.selector", "field is immutable"},
    {"apps", "daemonsets", "spec.selector", "field is immutable"},
    {"batch", "jobs", "spec.selector", "field is immutable"},
    {"batch", "jobs", "spec.template", "field is immutable"},
    {"batch", "jobs", "spec.completionMode", "field is immutable"},
    {"", "secrets", "type", "field is immutable"},
    {"", "persistentvolumeclaims", "spec.storageClassName", "field is immutable"},
    {"apps", "controllerrevisions", "data", "field is immutable"},
    {"rbac.authorization.k8s.io", "rolebindings", "roleRef", "cannot change roleRef"},
    {"rbac.authorization.k8s.io", "clusterrolebindings", "roleRef", "cannot change roleRef"},
    {"apiextensions.k8s.io", "customresourcedefinitions", "spec.group", "field is immutable"},
    {"apiextensions.k8s.io", "customresourcedefinitions", "spec.scope", "field is immutable"},
    {"apiextensions.k8s.io", "customresourcedefinitions", "spec.names.plural",
     "field is immutable"},
    {"apiextensions.k8s.io", "customresourcedefinitions", "spec.names.kind", "field is immutable"},
};

static bool is_kind(const struct kind *kind, const char *group, const char *resource) {
    return strcmp(kind->group, group) == 0 && strcmp(kind->resource, resource) == 0;
}

/* Absent on both sides is the same. */
static bool is_same(const json_t *a, const json_t *b) {
    return a == b || (a && b && json_equal(a, b));
}

static void judge_fixed(const struct fixed *row, const json_t *fresh, const json_t *old,
                        struct schema_causes *causes) {
    const json_t *value = cells_at(fresh, row->path);
    auto_free char *text = NULL;

    if (is_same(value, cells_at(old, row->path)))
        return;
    text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    schema_cause_add(causes, "FieldValueInvalid", row->path, "Invalid value: %.200s: %s",
                     text ? text : "null", row->words);
}

static void judge_statefulset(const json_t *fresh, const json_t *old,
                              struct schema_causes *causes) {
    static const char *const fixed[] = {"selector", "serviceName", "podManagementPolicy",
                                        "volumeClaimTemplates"};

    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if (!is_same(json_object_get(cells_at(fresh, "spec"), fixed[i]),
                     json_object_get(cells_at(old, "spec"), fixed[i]))) {
            schema_cause_add(causes, "FieldValueForbidden", "spec", "%s", STATEFUL_WORDS);
            return;
        }
}

/* A ConfigMap or Secret that was sealed. */
static void judge_sealed(const json_t *fresh, const json_t *old, struct schema_causes *causes) {
    static const char *const fixed[] = {"data", "binaryData"};

    if (!json_is_true(json_object_get(old, "immutable")))
        return;
    if (!json_is_true(json_object_get(fresh, "immutable")))
        schema_cause_add(causes, "FieldValueForbidden", "immutable",
                         "Forbidden: field is immutable when `immutable` is set");
    for (size_t i = 0; i < 2; i++)
        if (!is_same(json_object_get(fresh, fixed[i]), json_object_get(old, fixed[i])))
            schema_cause_add(causes, "FieldValueForbidden", fixed[i],
                             "Forbidden: field is immutable when `immutable` is set");
}

static void judge_address(const json_t *fresh, const json_t *old, struct schema_causes *causes) {
    const char *was = cells_text(old, "spec.clusterIP");
    const char *is = cells_text(fresh, "spec.clusterIP");

    if (*was && strcmp(was, is) != 0 && strcmp(cells_text(fresh, "spec.type"), "ExternalName") != 0)
        schema_cause_add(causes, "FieldValueInvalid", "spec.clusterIPs[0]",
                         "Invalid value: [\"%s\"]: may not change once set", is);
}

int kind_validate_update(const struct kind *kind, const json_t *fresh, const json_t *old,
                         struct schema_causes *causes) {
    const int before = causes->count;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (is_kind(kind, rows[i].group, rows[i].resource))
            judge_fixed(&rows[i], fresh, old, causes);
    if (is_kind(kind, "apps", "statefulsets"))
        judge_statefulset(fresh, old, causes);
    if (is_kind(kind, "", "configmaps") || is_kind(kind, "", "secrets"))
        judge_sealed(fresh, old, causes);
    if (is_kind(kind, "", "services"))
        judge_address(fresh, old, causes);
    return causes->count - before;
}
