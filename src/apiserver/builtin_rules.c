#include "apiserver/builtin.h"

#include "base/auto.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static json_t *at(const json_t *object, const char *first, const char *second, const char *third) {
    json_t *found = json_object_get(object, first);

    found = second ? json_object_get(found, second) : found;
    return third ? json_object_get(found, third) : found;
}

static void set_missing(json_t *object, const char *key, json_t *value) {
    if (json_is_object(object) && !json_object_get(object, key))
        json_object_set(object, key, value);
    json_decref(value);
}

/* Without a tag, and with the tag latest, an image is asked for each time. */
static const char *pull_policy(const char *image) {
    const char *slash = strrchr(image, '/');
    const char *tag = strrchr(slash ? slash : image, ':');

    if (strchr(image, '@'))
        return "IfNotPresent";
    return !tag || strcmp(tag, ":latest") == 0 ? "Always" : "IfNotPresent";
}

/* Quantities are kept as text: "cpu: 1" is read back as "1". */
static void fill_quantities(json_t *quantities) {
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(quantities, next, key, value) {
        if (json_is_integer(value))
            json_object_set_new(quantities, key,
                                json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value)));
        else if (json_is_real(value))
            json_object_set_new(quantities, key, json_sprintf("%g", json_real_value(value)));
    }
}

static void fill_containers(json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *container = json_array_get(list, i);
        const char *image = json_string_value(json_object_get(container, "image"));

        set_missing(container, "imagePullPolicy", json_string(pull_policy(image ? image : "")));
        fill_quantities(at(container, "resources", "requests", NULL));
        fill_quantities(at(container, "resources", "limits", NULL));
    }
}

static void fill_pod_spec(json_t *spec) {
    const json_t *account = json_object_get(spec, "serviceAccountName");

    fill_containers(json_object_get(spec, "containers"));
    fill_containers(json_object_get(spec, "initContainers"));
    if (account)
        set_missing(spec, "serviceAccount", json_copy((json_t *)(uintptr_t)account));
}

static void fill_pod(json_t *pod) {
    fill_pod_spec(json_object_get(pod, "spec"));
}

static void fill_node(json_t *node) {
    fill_quantities(at(node, "status", "capacity", NULL));
    fill_quantities(at(node, "status", "allocatable", NULL));
}

static void fill_template(json_t *workload) {
    fill_pod_spec(at(workload, "spec", "template", "spec"));
}

/* A strategy is RollingUpdate unless it says otherwise; only then has it numbers. Takes both. */
static void fill_strategy(json_t *workload, const char *key, const char *first, json_t *first_value,
                          const char *second, json_t *second_value) {
    json_t *spec = json_object_get(workload, "spec");
    json_t *strategy;
    const char *type;

    fill_template(workload);
    set_missing(spec, key, json_object());
    strategy = json_object_get(spec, key);
    set_missing(strategy, "type", json_string("RollingUpdate"));
    type = json_string_value(json_object_get(strategy, "type"));
    if (type && strcmp(type, "RollingUpdate") == 0) {
        set_missing(strategy, "rollingUpdate", json_object());
        strategy = json_object_get(strategy, "rollingUpdate");
        set_missing(strategy, first, json_incref(first_value));
        if (second)
            set_missing(strategy, second, json_incref(second_value));
    }
    json_decref(first_value);
    json_decref(second_value);
}

static void fill_deployment(json_t *deployment) {
    fill_strategy(deployment, "strategy", "maxUnavailable", json_string("25%"), "maxSurge",
                  json_string("25%"));
}

static void fill_statefulset(json_t *set) {
    fill_strategy(set, "updateStrategy", "partition", json_integer(0), NULL, NULL);
}

static void fill_daemonset(json_t *set) {
    fill_strategy(set, "updateStrategy", "maxUnavailable", json_integer(1), "maxSurge",
                  json_integer(0));
}

/* One pod that runs once, unless it says otherwise. */
static void fill_job(json_t *job) {
    json_t *spec = json_object_get(job, "spec");

    fill_template(job);
    if (!json_object_get(spec, "parallelism"))
        set_missing(spec, "completions", json_integer(1));
    set_missing(spec, "parallelism", json_integer(1));
}

/* Users and groups are names of the group rbac, service accounts of none. */
static void fill_binding(json_t *binding) {
    json_t *subjects = json_object_get(binding, "subjects");

    for (size_t i = 0; i < json_array_size(subjects); i++) {
        json_t *subject = json_array_get(subjects, i);
        const char *kind = json_string_value(json_object_get(subject, "kind"));

        if (kind && strcmp(kind, "ServiceAccount") != 0)
            set_missing(subject, "apiGroup", json_string("rbac.authorization.k8s.io"));
    }
}

static void fill_service(json_t *service) {
    json_t *ports = at(service, "spec", "ports", NULL);

    for (size_t i = 0; i < json_array_size(ports); i++) {
        json_t *port = json_array_get(ports, i);
        const json_t *number = json_object_get(port, "port");

        if (number)
            set_missing(port, "targetPort", json_copy((json_t *)(uintptr_t)number));
    }
}

static void fill_crd(json_t *crd) {
    json_t *names = at(crd, "spec", "names", NULL);
    const char *kind = json_string_value(json_object_get(names, "kind"));
    char text[128];

    if (!kind)
        return;
    snprintf(text, sizeof(text), "%sList", kind);
    set_missing(names, "listKind", json_string(text));
    snprintf(text, sizeof(text), "%s", kind);
    for (char *p = text; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    set_missing(names, "singular", json_string(text));
}

static void require_image(const json_t *list, const char *path, struct schema_causes *causes) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *image = json_object_get(json_array_get(list, i), "image");
        char field[128];

        if (image && (!json_is_string(image) || *json_string_value(image)))
            continue;
        snprintf(field, sizeof(field), "%s[%zu].image", path, i);
        schema_cause_add(causes, "FieldValueRequired", field, "Required value");
    }
}

static void judge_pod_spec(const json_t *spec, const char *path, struct schema_causes *causes) {
    const json_t *containers = json_object_get(spec, "containers");
    char field[100];

    snprintf(field, sizeof(field), "%s.containers", path);
    if (json_is_array(containers) && json_array_size(containers) == 0)
        schema_cause_add(causes, "FieldValueRequired", field, "Required value");
    require_image(containers, field, causes);
    snprintf(field, sizeof(field), "%s.initContainers", path);
    require_image(json_object_get(spec, "initContainers"), field, causes);
}

static void judge_pod(const json_t *pod, struct schema_causes *causes) {
    judge_pod_spec(json_object_get(pod, "spec"), "spec", causes);
}

static bool has_value(const json_t *values, const char *text) {
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *value = json_string_value(json_array_get(values, i));

        if (value && strcmp(value, text) == 0)
            return true;
    }
    return false;
}

static bool holds_requirement(const json_t *requirement, const json_t *labels) {
    const char *key = json_string_value(json_object_get(requirement, "key"));
    const char *verb = json_string_value(json_object_get(requirement, "operator"));
    const char *value = json_string_value(json_object_get(labels, key ? key : ""));
    const json_t *values = json_object_get(requirement, "values");

    if (!key || !verb)
        return false;
    if (strcmp(verb, "In") == 0)
        return value && has_value(values, value);
    if (strcmp(verb, "NotIn") == 0)
        return !value || !has_value(values, value);
    return (strcmp(verb, "Exists") == 0) == (value != NULL);
}

static bool selects(const json_t *selector, const json_t *labels) {
    const json_t *list = json_object_get(selector, "matchExpressions");
    json_t *wanted = json_object_get(selector, "matchLabels");
    const char *key;
    const json_t *value;

    json_object_foreach(wanted, key, value) {
        const json_t *label = json_object_get(labels, key);

        if (!label || !json_equal(label, value))
            return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!holds_requirement(json_array_get(list, i), labels))
            return false;
    return true;
}

static void judge_workload(const json_t *workload, struct schema_causes *causes) {
    const json_t *spec = json_object_get(workload, "spec");
    const json_t *selector = json_object_get(spec, "selector");
    const json_t *labels = at(spec, "template", "metadata", "labels");
    auto_free char *text = labels ? json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    const json_t *policy = at(spec, "template", "spec", "restartPolicy");
    const json_t *replicas = json_object_get(spec, "replicas");

    judge_pod_spec(at(spec, "template", "spec", NULL), "spec.template.spec", causes);
    if (json_is_object(selector) &&
        json_object_size(json_object_get(selector, "matchLabels")) == 0 &&
        json_array_size(json_object_get(selector, "matchExpressions")) == 0)
        schema_cause_add(causes, "FieldValueInvalid", "spec.selector",
                         "Invalid value: {}: empty selector is invalid for deployment");
    else if (json_is_object(spec) && (!selector || !selects(selector, labels)))
        schema_cause_add(causes, "FieldValueInvalid", "spec.template.metadata.labels",
                         "Invalid value: %s: `selector` does not match template `labels`",
                         text ? text : "null");
    if (json_is_string(policy) && strcmp(json_string_value(policy), "Always") != 0)
        schema_cause_add(causes, "FieldValueNotSupported", "spec.template.spec.restartPolicy",
                         "Unsupported value: \"%s\": supported values: \"Always\"",
                         json_string_value(policy));
    if (json_is_integer(replicas) && json_integer_value(replicas) < 0)
        schema_cause_add(causes, "FieldValueInvalid", "spec.replicas",
                         "Invalid value: %" JSON_INTEGER_FORMAT
                         ": must be greater than or equal to 0",
                         json_integer_value(replicas));
}

static void judge_job(const json_t *job, struct schema_causes *causes) {
    judge_pod_spec(at(job, "spec", "template", "spec"), "spec.template.spec", causes);
    if (!json_object_get(at(job, "spec", "template", "spec"), "restartPolicy"))
        schema_cause_add(causes, "FieldValueRequired", "spec.template.spec.restartPolicy",
                         "Required value: valid values: \"OnFailure\", \"Never\"");
}

static void judge_service(const json_t *service, struct schema_causes *causes) {
    const json_t *spec = json_object_get(service, "spec");
    const json_t *ports = json_object_get(spec, "ports");
    const char *type = json_string_value(json_object_get(spec, "type"));
    const char *address = json_string_value(json_object_get(spec, "clusterIP"));
    const bool headless = address && strcmp(address, "None") == 0;

    if (json_array_size(ports) == 0 && !headless && !(type && strcmp(type, "ExternalName") == 0))
        schema_cause_add(causes, "FieldValueRequired", "spec.ports", "Required value");
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *number = json_object_get(json_array_get(ports, i), "port");
        char field[64];

        snprintf(field, sizeof(field), "spec.ports[%zu].port", i);
        if (json_is_integer(number) &&
            (json_integer_value(number) < 1 || json_integer_value(number) > 65535))
            schema_cause_add(causes, "FieldValueInvalid", field,
                             "Invalid value: %" JSON_INTEGER_FORMAT
                             ": must be between 1 and 65535, inclusive",
                             json_integer_value(number));
        snprintf(field, sizeof(field), "spec.ports[%zu].name", i);
        if (json_array_size(ports) > 1 && !json_object_get(json_array_get(ports, i), "name"))
            schema_cause_add(causes, "FieldValueRequired", field, "Required value");
    }
}

static void judge_pdb(const json_t *pdb, struct schema_causes *causes) {
    const json_t *spec = json_object_get(pdb, "spec");

    if (json_object_get(spec, "minAvailable") && json_object_get(spec, "maxUnavailable"))
        schema_cause_add(causes, "FieldValueInvalid", "spec",
                         "Invalid value: minAvailable and maxUnavailable cannot be both set");
}

const struct schema_extra *builtin_extra(const char *group, const char *resource) {
    static const struct {
        const char *group;
        const char *resource;
        struct schema_extra extra;
    } rows[] = {
        {"", "pods", {fill_pod, judge_pod}},
        {"", "nodes", {fill_node, NULL}},
        {"", "services", {fill_service, judge_service}},
        {"apps", "deployments", {fill_deployment, judge_workload}},
        {"apps", "statefulsets", {fill_statefulset, judge_workload}},
        {"apps", "replicasets", {fill_template, judge_workload}},
        {"apps", "daemonsets", {fill_daemonset, judge_workload}},
        {"batch", "jobs", {fill_job, judge_job}},
        {"rbac.authorization.k8s.io", "rolebindings", {fill_binding, NULL}},
        {"rbac.authorization.k8s.io", "clusterrolebindings", {fill_binding, NULL}},
        {"policy", "poddisruptionbudgets", {NULL, judge_pdb}},
        {"apiextensions.k8s.io", "customresourcedefinitions", {fill_crd, NULL}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].group, group) == 0 && strcmp(rows[i].resource, resource) == 0)
            return &rows[i].extra;
    return NULL;
}
