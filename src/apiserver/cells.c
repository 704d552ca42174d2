#include "apiserver/cells.h"

#include "base/str.h"
#include "base/timestamp.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX_BYTES 1024

static cells_write cells_of_deployment, cells_of_statefulset, cells_of_replicaset,
    cells_of_daemonset, cells_of_service, cells_of_namespace, cells_of_configmap, cells_of_secret,
    cells_of_pdb, cells_of_hpa, cells_of_lease, cells_of_event, cells_of_crd, cells_of_job,
    cells_of_endpoints, cells_of_slice, cells_of_revision, cells_of_priority, cells_of_storage,
    cells_of_claim, cells_of_ingress, cells_of_binding, cells_of_netpolicy, cells_of_any;

/* NAME, or NAME* for one that only `kubectl get -o wide` shows; # makes it a number. */
static const struct {
    const char *group; /* NULL: any */
    const char *resource;
    const char *columns;
    cells_write *write;
} rows[] = {
    {"", "pods", "Name|Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*",
     cells_of_pod},
    {"", "nodes",
     "Name|Status|Roles|Age|Version|Internal-IP*|External-IP*|OS-Image*|Kernel-Version*|"
     "Container-Runtime*",
     cells_of_node},
    {"", "services", "Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector*", cells_of_service},
    {"", "namespaces", "Name|Status|Age", cells_of_namespace},
    {"", "configmaps", "Name|Data|Age", cells_of_configmap},
    {"", "secrets", "Name|Type|Data|Age", cells_of_secret},
    {"", "limitranges", "Name|Created At", cells_of_crd},
    {"", "endpoints", "Name|Endpoints|Age", cells_of_endpoints},
    {"", "persistentvolumeclaims", "Name|Status|Volume|StorageClass|Age", cells_of_claim},
    {NULL, "events",
     "Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|Name*",
     cells_of_event},
    {"apps", "deployments", "Name|Ready|Up-to-date|Available|Age|Containers*|Images*|Selector*",
     cells_of_deployment},
    {"apps", "statefulsets", "Name|Ready|Age|Containers*|Images*", cells_of_statefulset},
    {"apps", "replicasets", "Name|Desired#|Current#|Ready#|Age|Containers*|Images*|Selector*",
     cells_of_replicaset},
    {"apps", "daemonsets",
     "Name|Desired#|Current#|Ready#|Up-to-date#|Available#|Node Selector|Age|Containers*|Images*|"
     "Selector*",
     cells_of_daemonset},
    {"apps", "controllerrevisions", "Name|Controller|Revision|Age", cells_of_revision},
    {"policy", "poddisruptionbudgets",
     "Name|Min Available|Max Unavailable|Allowed Disruptions#|Age", cells_of_pdb},
    {"autoscaling", "horizontalpodautoscalers",
     "Name|Reference|Targets|MinPods|MaxPods|Replicas|Age", cells_of_hpa},
    {"coordination.k8s.io", "leases", "Name|Holder|Age", cells_of_lease},
    {"discovery.k8s.io", "endpointslices", "Name|AddressType|Ports|Endpoints|Age", cells_of_slice},
    {"batch", "jobs", "Name|Status|Completions|Duration|Age|Containers*|Images*|Selector*",
     cells_of_job},
    {"apiextensions.k8s.io", "customresourcedefinitions", "Name|Created At", cells_of_crd},
    {"scheduling.k8s.io", "priorityclasses", "Name|Value#|Global-Default|Age|PreemptionPolicy",
     cells_of_priority},
    {"storage.k8s.io", "storageclasses",
     "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age", cells_of_storage},
    {"networking.k8s.io", "ingresses", "Name|Class|Hosts|Address|Ports|Age", cells_of_ingress},
    {"networking.k8s.io", "networkpolicies", "Name|Pod-Selector|Age", cells_of_netpolicy},
    {"rbac.authorization.k8s.io", "rolebindings", "Name|Role|Age", cells_of_binding},
    {"rbac.authorization.k8s.io", "clusterrolebindings", "Name|Role|Age", cells_of_binding},
    {"rbac.authorization.k8s.io", "roles", "Name|Created At", cells_of_crd},
    {"rbac.authorization.k8s.io", "clusterroles", "Name|Created At", cells_of_crd},
    {NULL, NULL, "Name|Age", cells_of_any},
};

static size_t find_row(const char *group, const char *resource) {
    size_t i = 0;

    while (rows[i].resource && !(strcmp(rows[i].resource, resource) == 0 &&
                                 (!rows[i].group || strcmp(rows[i].group, group) == 0)))
        i++;
    return i;
}

struct kind_column *cells_columns_new(const char *group, const char *resource, int *ret_count) {
    const char *text = rows[find_row(group, resource)].columns;
    struct kind_column *columns = NULL;
    int count = 0;

    while (*text) {
        const size_t len = strcspn(text, "|");
        const bool wide = text[len - 1] == '*';
        const bool number = text[len - 1] == '#';
        struct kind_column *column;

        columns = str_resize(columns, (size_t)count + 1, sizeof(*columns));
        column = &columns[count++];
        *column = (struct kind_column){.name = str_dup_len(text, len - wide - number),
                                       .type = str_dup(number ? "integer" : "string"),
                                       .priority = wide};
        column->path = str_dup(column->name);
        if (strcmp(column->name, "Name") == 0)
            column->format = str_dup("name");
        if (strcmp(column->name, "Created At") == 0) {
            free(column->type);
            column->type = str_dup("date");
        }
        text += len;
        text += *text == '|';
    }
    *ret_count = count;
    return columns;
}

cells_write *cells_writer(const char *group, const char *resource) {
    return rows[find_row(group, resource)].write;
}

void cells_age(int64_t age_ms, char ret_text[CELLS_AGE_SIZE]) {
    const long long seconds = age_ms / 1000;
    const long long minutes = seconds / 60;
    const long long hours = minutes / 60;
    const long long days = hours / 24;
    const struct {
        bool holds;
        long long whole;
        const char *unit;
        long long rest;
        const char *rest_unit;
    } rules[] = {
        {seconds < 120, seconds < 0 ? 0 : seconds, "s", 0, ""},
        {minutes < 10, minutes, "m", seconds % 60, "s"},
        {minutes < 180, minutes, "m", 0, ""},
        {hours < 8, hours, "h", minutes % 60, "m"},
        {hours < 48, hours, "h", 0, ""},
        {days < 8, days, "d", hours % 24, "h"},
        {days < 365 * 2, days, "d", 0, ""},
        {days < 365 * 8, days / 365, "y", days % 365, "d"},
        {true, days / 365, "y", 0, ""},
    };
    size_t i = 0;

    if (seconds < -1) {
        snprintf(ret_text, CELLS_AGE_SIZE, "<invalid>");
        return;
    }
    while (!rules[i].holds)
        i++;
    if (rules[i].rest)
        snprintf(ret_text, CELLS_AGE_SIZE, "%lld%s%lld%s", rules[i].whole, rules[i].unit,
                 rules[i].rest, rules[i].rest_unit);
    else
        snprintf(ret_text, CELLS_AGE_SIZE, "%lld%s", rules[i].whole, rules[i].unit);
}

void cells_age_since(const char *time, int64_t now_ms, char ret_text[CELLS_AGE_SIZE]) {
    int64_t then_ms;

    if (time && *time && timestamp_parse(time, &then_ms, NULL) >= 0)
        cells_age(now_ms - then_ms, ret_text);
    else
        snprintf(ret_text, CELLS_AGE_SIZE, time && *time ? "<invalid>" : "<unknown>");
}

void cells_add(json_t *cells, const char *text, const char *other) {
    json_array_append_new(cells, json_string(*text || !other ? text : other));
}

void cells_addf(json_t *cells, const char *fmt, ...) {
    char text[CELL_MAX_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    cells_add(cells, text, NULL);
}

void cells_add_age(json_t *cells, const json_t *object, int64_t now_ms) {
    char age[CELLS_AGE_SIZE];

    cells_age_since(cells_text(object, "metadata.creationTimestamp"), now_ms, age);
    cells_add(cells, age, NULL);
}

json_t *cells_at(const json_t *object, const char *path) {
    json_t *found = (json_t *)(uintptr_t)object;

    while (found && *path) {
        const size_t len = strcspn(path, ".");

        found = json_object_getn(found, path, len);
        path += len;
        path += *path == '.';
    }
    return found;
}

const char *cells_text(const json_t *object, const char *path) {
    const char *text = json_string_value(cells_at(object, path));

    return text ? text : "";
}

int64_t cells_int(const json_t *object, const char *path) {
    return json_integer_value(cells_at(object, path));
}

static void add_name(json_t *cells, const json_t *object) {
    cells_add(cells, cells_text(object, "metadata.name"), NULL);
}

static void add_int(json_t *cells, const json_t *object, const char *path) {
    json_array_append_new(cells, json_integer(cells_int(object, path)));
}

/* A text that grows; what does not fit any more is left out. */
struct line {
    char text[CELL_MAX_BYTES];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void line_add(struct line *line, const char *fmt,
                                                           ...) {
    const size_t room = sizeof(line->text) - line->len;
    va_list args;
    int more;

    va_start(args, fmt);
    more = vsnprintf(line->text + line->len, room, fmt, args);
    va_end(args);
    line->len += more > 0 && (size_t)more < room ? (size_t)more : 0;
    line->text[line->len] = '\0';
}

static void add_containers(json_t *cells, const json_t *workload) {
    static const char *const keys[] = {"name", "image"};
    const json_t *list = cells_at(workload, "spec.template.spec.containers");

    for (size_t k = 0; k < 2; k++) {
        struct line line = {0};

        for (size_t i = 0; i < json_array_size(list); i++)
            line_add(&line, "%s%s", i ? "," : "", cells_text(json_array_get(list, i), keys[k]));
        cells_add(cells, line.text, NULL);
    }
}

/* "a=b,c=d", keys in order, or "<none>". */
static void labels_write(json_t *labels, struct line *line) {
    char *copy = labels ? json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_t *sorted = copy ? json_loads(copy, 0, NULL) : NULL;
    const char *key;
    json_t *value;

    json_object_foreach(sorted, key, value) {
        line_add(line, "%s%s=%s", line->len ? "," : "", key, json_string_value(value) ?: "");
    }
    free(copy);
    json_decref(sorted);
}

static void add_labels(json_t *cells, const json_t *object, const char *path) {
    struct line line = {0};

    labels_write(cells_at(object, path), &line);
    cells_add(cells, line.text, "<none>");
}

/* A selector with its expressions: "app=web,zone in (a,b),!old". */
static void add_selector(json_t *cells, const json_t *object, const char *path) {
    const json_t *selector = cells_at(object, path);
    const json_t *list = cells_at(selector, "matchExpressions");
    struct line line = {0};

    labels_write(cells_at(selector, "matchLabels"), &line);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const json_t *values = cells_at(row, "values");
        const char *verb = cells_text(row, "operator");

        line_add(&line, "%s%s%s", line.len ? "," : "", strcmp(verb, "DoesNotExist") == 0 ? "!" : "",
                 cells_text(row, "key"));
        if (json_array_size(values) == 0)
            continue;
        line_add(&line, " %s (", strcmp(verb, "NotIn") == 0 ? "notin" : "in");
        for (size_t j = 0; j < json_array_size(values); j++)
            line_add(&line, "%s%s", j ? "," : "",
                     json_string_value(json_array_get(values, j)) ?: "");
        line_add(&line, ")");
    }
    cells_add(cells, line.text, "<none>");
}

static void cells_of_any(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_add_age(cells, object, now_ms);
}

static void cells_of_deployment(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_addf(cells, "%lld/%lld", (long long)cells_int(object, "status.readyReplicas"),
               (long long)cells_int(object, "spec.replicas"));
    add_int(cells, object, "status.updatedReplicas");
    add_int(cells, object, "status.availableReplicas");
    cells_add_age(cells, object, now_ms);
    add_containers(cells, object);
    add_selector(cells, object, "spec.selector");
}

static void cells_of_statefulset(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_addf(cells, "%lld/%lld", (long long)cells_int(object, "status.readyReplicas"),
               (long long)cells_int(object, "spec.replicas"));
    cells_add_age(cells, object, now_ms);
    add_containers(cells, object);
}

static void cells_of_replicaset(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    add_int(cells, object, "spec.replicas");
    add_int(cells, object, "status.replicas");
    add_int(cells, object, "status.readyReplicas");
    cells_add_age(cells, object, now_ms);
    add_containers(cells, object);
    add_selector(cells, object, "spec.selector");
}

static void cells_of_daemonset(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    add_int(cells, object, "status.desiredNumberScheduled");
    add_int(cells, object, "status.currentNumberScheduled");
    add_int(cells, object, "status.numberReady");
    add_int(cells, object, "status.updatedNumberScheduled");
    add_int(cells, object, "status.numberAvailable");
    add_labels(cells, object, "spec.template.spec.nodeSelector");
    cells_add_age(cells, object, now_ms);
    add_containers(cells, object);
    add_selector(cells, object, "spec.selector");
}

/* The addresses that a load balancer gave out. */
static void ingress_write(const json_t *object, struct line *line) {
    const json_t *given = cells_at(object, "status.loadBalancer.ingress");

    for (size_t i = 0; i < json_array_size(given); i++) {
        const char *ip = cells_text(json_array_get(given, i), "ip");

        line_add(line, "%s%s", line->len ? "," : "",
                 *ip ? ip : cells_text(json_array_get(given, i), "hostname"));
    }
}

static void add_external(json_t *cells, const json_t *service) {
    const char *type = cells_text(service, "spec.type");
    const json_t *own = cells_at(service, "spec.externalIPs");
    struct line line = {0};

    if (strcmp(type, "ExternalName") == 0) {
        cells_add(cells, cells_text(service, "spec.externalName"), NULL);
        return;
    }
    ingress_write(service, &line);
    for (size_t i = 0; i < json_array_size(own); i++)
        line_add(&line, "%s%s", line.len ? "," : "",
                 json_string_value(json_array_get(own, i)) ?: "");
    cells_add(cells, line.text, strcmp(type, "LoadBalancer") == 0 ? "<pending>" : "<none>");
}

static void cells_of_service(const json_t *object, int64_t now_ms, json_t *cells) {
    const json_t *ports = cells_at(object, "spec.ports");
    struct line line = {0};

    add_name(cells, object);
    cells_add(cells, cells_text(object, "spec.type"), "ClusterIP");
    cells_add(cells, cells_text(object, "spec.clusterIP"), "<none>");
    add_external(cells, object);
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        const char *protocol = cells_text(port, "protocol");

        line_add(&line, "%s%lld", i ? "," : "", (long long)cells_int(port, "port"));
        if (cells_int(port, "nodePort"))
            line_add(&line, ":%lld", (long long)cells_int(port, "nodePort"));
        line_add(&line, "/%s", *protocol ? protocol : "TCP");
    }
    cells_add(cells, line.text, "<none>");
    cells_add_age(cells, object, now_ms);
    add_labels(cells, object, "spec.selector");
}

static void cells_of_namespace(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_add(cells, cells_text(object, "status.phase"), NULL);
    cells_add_age(cells, object, now_ms);
}

static void add_data_count(json_t *cells, const json_t *object) {
    const size_t count = json_object_size(cells_at(object, "data")) +
                         json_object_size(cells_at(object, "binaryData"));

    json_array_append_new(cells, json_integer((json_int_t)count));
}

static void cells_of_configmap(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    add_data_count(cells, object);
    cells_add_age(cells, object, now_ms);
}

static void cells_of_secret(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_add(cells, cells_text(object, "type"), NULL);
    add_data_count(cells, object);
    cells_add_age(cells, object, now_ms);
}

/* A number or a text, such as a percentage. */
static void add_either(json_t *cells, const json_t *object, const char *path, const char *other) {
    const json_t *value = cells_at(object, path);

    if (json_is_integer(value))
        cells_addf(cells, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        cells_add(cells, json_string_value(value) ?: other, NULL);
}

static void cells_of_pdb(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    add_either(cells, object, "spec.minAvailable", "N/A");
    add_either(cells, object, "spec.maxUnavailable", "N/A");
    add_int(cells, object, "status.disruptionsAllowed");
    cells_add_age(cells, object, now_ms);
}

/* "cpu: 40%/80%" of a resource metric, or "120/500" of another; type is "resource" and such. */
static void metric_write(const json_t *spec, const json_t *status, struct line *line) {
    static const char *const names[] = {"resource", "containerResource", "pods", "object",
                                        "external"};
    static const char *const keys[] = {"averageUtilization", "averageValue", "value"};
    const json_t *of = NULL;
    const json_t *now = NULL;

    for (size_t i = 0; i < 5 && !of; i++) {
        of = cells_at(spec, names[i]);
        now = cells_at(status, names[i]);
    }
    if (*cells_text(of, "name"))
        line_add(line, "%s: ", cells_text(of, "name"));
    for (size_t i = 0; i < 3; i++) {
        const json_t *target = json_object_get(cells_at(of, "target"), keys[i]);
        const json_t *current = json_object_get(cells_at(now, "current"), keys[i]);
        const char *unit = i == 0 ? "%" : "";

        if (!target)
            continue;
        if (json_is_integer(current))
            line_add(line, "%lld%s/", (long long)json_integer_value(current), unit);
        else
            line_add(line, "%s/", json_string_value(current) ?: "<unknown>");
        if (json_is_integer(target))
            line_add(line, "%lld%s", (long long)json_integer_value(target), unit);
        else
            line_add(line, "%s", json_string_value(target) ?: "<auto>");
        return;
    }
    line_add(line, "<unknown>/<auto>");
}

static void cells_of_hpa(const json_t *object, int64_t now_ms, json_t *cells) {
    const json_t *metrics = cells_at(object, "spec.metrics");
    const json_t *percent = cells_at(object, "spec.targetCPUUtilizationPercentage");
    const size_t count = json_array_size(metrics);
    struct line line = {0};

    add_name(cells, object);
    cells_addf(cells, "%s/%s", cells_text(object, "spec.scaleTargetRef.kind"),
               cells_text(object, "spec.scaleTargetRef.name"));
    for (size_t i = 0; i < count && i < 2; i++) {
        line_add(&line, "%s", i ? ", " : "");
        metric_write(json_array_get(metrics, i),
                     json_array_get(cells_at(object, "status.currentMetrics"), i), &line);
    }
    if (count > 2)
        line_add(&line, " + %zu more...", count - 2);
    if (percent)
        line_add(&line, "cpu: %lld%%/%lld%%",
                 (long long)cells_int(object, "status.currentCPUUtilizationPercentage"),
                 (long long)json_integer_value(percent));
    cells_add(cells, line.text, "<none>");
    add_either(cells, object, "spec.minReplicas", "<unset>");
    add_int(cells, object, "spec.maxReplicas");
    add_int(cells, object, "status.currentReplicas");
    cells_add_age(cells, object, now_ms);
}

static void cells_of_lease(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_add(cells, cells_text(object, "spec.holderIdentity"), NULL);
    cells_add_age(cells, object, now_ms);
}

/* The first of two paths that has a text: core and events.k8s.io call the same thing otherwise. */
static const char *either_text(const json_t *object, const char *first, const char *second) {
    const char *text = cells_text(object, first);

    return *text ? text : cells_text(object, second);
}

static void cells_of_event(const json_t *object, int64_t now_ms, json_t *cells) {
    const json_t *target = cells_at(object, "involvedObject") ?: cells_at(object, "regarding");
    const char *last = either_text(object, "series.lastObservedTime", "lastTimestamp");
    const char *first = either_text(object, "firstTimestamp", "eventTime");
    const char *host = either_text(object, "source.host", "reportingInstance");
    const char *component = either_text(object, "source.component", "reportingComponent");
    const int64_t count =
        cells_at(object, "series") ? cells_int(object, "series.count") : cells_int(object, "count");
    char kind[64];
    char age[CELLS_AGE_SIZE];

    snprintf(kind, sizeof(kind), "%s", cells_text(target, "kind"));
    for (char *p = kind; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    cells_age_since(*last ? last : first, now_ms, age);
    cells_add(cells, age, NULL);
    cells_add(cells, cells_text(object, "type"), NULL);
    cells_add(cells, cells_text(object, "reason"), NULL);
    cells_addf(cells, "%s%s%s", kind, *cells_text(target, "name") ? "/" : "",
               cells_text(target, "name"));
    cells_add(cells, cells_text(target, "fieldPath"), NULL);
    cells_addf(cells, "%s%s%s", *component ? component : cells_text(object, "reportingController"),
               *host ? ", " : "", host);
    cells_add(cells, either_text(object, "message", "note"), NULL);
    cells_age_since(first, now_ms, age);
    cells_add(cells, age, NULL);
    json_array_append_new(cells, json_integer(count ? count : 1));
    add_name(cells, object);
}

/* A time as it stands: kubectl writes it out for this kind. */
static void cells_of_crd(const json_t *object, int64_t now_ms, json_t *cells) {
    (void)now_ms;
    add_name(cells, object);
    cells_add(cells, cells_text(object, "metadata.creationTimestamp"), NULL);
}

static void cells_of_job(const json_t *object, int64_t now_ms, json_t *cells) {
    const json_t *conditions = cells_at(object, "status.conditions");
    const char *status = "Running";
    const char *end = cells_text(object, "status.completionTime");
    int64_t start_ms;
    int64_t end_ms = now_ms;
    char age[CELLS_AGE_SIZE] = "";

    for (size_t i = 0; i < json_array_size(conditions); i++)
        if (strcmp(cells_text(json_array_get(conditions, i), "status"), "True") == 0)
            status = cells_text(json_array_get(conditions, i), "type");
    add_name(cells, object);
    cells_add(cells, status, NULL);
    cells_addf(cells, "%lld/%lld", (long long)cells_int(object, "status.succeeded"),
               (long long)(cells_at(object, "spec.completions")
                               ? cells_int(object, "spec.completions")
                               : 1));
    if (timestamp_parse(cells_text(object, "status.startTime"), &start_ms, NULL) >= 0) {
        if (*end)
            timestamp_parse(end, &end_ms, NULL);
        cells_age(end_ms - start_ms, age);
    }
    cells_add(cells, age, NULL);
    cells_add_age(cells, object, now_ms);
    add_containers(cells, object);
    add_selector(cells, object, "spec.selector");
}

#define ADDRESSES_SHOWN 3

static void address_add(struct line *line, const char *address, int64_t port, size_t *count) {
    if ((*count)++ >= ADDRESSES_SHOWN)
        return;
    line_add(line, "%s%s", *count > 1 ? "," : "", address);
    if (port)
        line_add(line, ":%lld", (long long)port);
}

static void cells_of_endpoints(const json_t *object, int64_t now_ms, json_t *cells) {
    const json_t *subsets = cells_at(object, "subsets");
    struct line line = {0};
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(subsets); i++) {
        const json_t *ports = cells_at(json_array_get(subsets, i), "ports");
        const json_t *addresses = cells_at(json_array_get(subsets, i), "addresses");
        const size_t rounds = json_array_size(ports) ? json_array_size(ports) : 1;

        for (size_t p = 0; p < rounds; p++)
            for (size_t a = 0; a < json_array_size(addresses); a++)
                address_add(&line, cells_text(json_array_get(addresses, a), "ip"),
                            cells_int(json_array_get(ports, p), "port"), &count);
    }
    if (count > ADDRESSES_SHOWN)
        line_add(&line, " + %zu more...", count - ADDRESSES_SHOWN);
    add_name(cells, object);
    cells_add(cells, line.text, "<none>");
    cells_add_age(cells, object, now_ms);
}

static void cells_of_slice(const json_t *object, int64_t now_ms, json_t *cells) {
    const json_t *ports = cells_at(object, "ports");
    const json_t *endpoints = cells_at(object, "endpoints");
    struct line shown = {0};
    struct line line = {0};
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(ports); i++)
        line_add(&line, "%s%lld", i ? "," : "",
                 (long long)cells_int(json_array_get(ports, i), "port"));
    for (size_t i = 0; i < json_array_size(endpoints); i++) {
        const json_t *addresses = cells_at(json_array_get(endpoints, i), "addresses");

        for (size_t a = 0; a < json_array_size(addresses); a++)
            address_add(&shown, json_string_value(json_array_get(addresses, a)) ?: "", 0, &count);
    }
    if (count > ADDRESSES_SHOWN)
        line_add(&shown, " + %zu more...", count - ADDRESSES_SHOWN);
    add_name(cells, object);
    cells_add(cells, cells_text(object, "addressType"), NULL);
    cells_add(cells, line.text, "<unset>");
    cells_add(cells, shown.text, "<unset>");
    cells_add_age(cells, object, now_ms);
}

static void cells_of_revision(const json_t *object, int64_t now_ms, json_t *cells) {
    const json_t *owner = json_array_get(cells_at(object, "metadata.ownerReferences"), 0);
    char kind[64];

    snprintf(kind, sizeof(kind), "%s", cells_text(owner, "kind"));
    for (char *p = kind; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    add_name(cells, object);
    if (owner)
        cells_addf(cells, "%s.%.*s/%s", kind, (int)strcspn(cells_text(owner, "apiVersion"), "/"),
                   cells_text(owner, "apiVersion"), cells_text(owner, "name"));
    else
        cells_add(cells, "<none>", NULL);
    add_int(cells, object, "revision");
    cells_add_age(cells, object, now_ms);
}

static void cells_of_priority(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    add_int(cells, object, "value");
    json_array_append_new(cells, json_boolean(json_is_true(cells_at(object, "globalDefault"))));
    cells_add_age(cells, object, now_ms);
    cells_add(cells, cells_text(object, "preemptionPolicy"), NULL);
}

static void cells_of_storage(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_add(cells, cells_text(object, "provisioner"), NULL);
    cells_add(cells, cells_text(object, "reclaimPolicy"), NULL);
    cells_add(cells, cells_text(object, "volumeBindingMode"), NULL);
    json_array_append_new(cells,
                          json_boolean(json_is_true(cells_at(object, "allowVolumeExpansion"))));
    cells_add_age(cells, object, now_ms);
}

static void cells_of_claim(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_add(cells, cells_text(object, "status.phase"), NULL);
    cells_add(cells, cells_text(object, "spec.volumeName"), NULL);
    cells_add(cells, cells_text(object, "spec.storageClassName"), NULL);
    cells_add_age(cells, object, now_ms);
}

static void cells_of_ingress(const json_t *object, int64_t now_ms, json_t *cells) {
    const json_t *rules = cells_at(object, "spec.rules");
    struct line address = {0};
    struct line line = {0};

    for (size_t i = 0; i < json_array_size(rules); i++)
        if (*cells_text(json_array_get(rules, i), "host"))
            line_add(&line, "%s%s", line.len ? "," : "",
                     cells_text(json_array_get(rules, i), "host"));
    add_name(cells, object);
    cells_add(cells, cells_text(object, "spec.ingressClassName"), "<none>");
    cells_add(cells, line.text, "*");
    ingress_write(object, &address);
    cells_add(cells, address.text, NULL);
    cells_add(cells, json_array_size(cells_at(object, "spec.tls")) ? "80, 443" : "80", NULL);
    cells_add_age(cells, object, now_ms);
}

static void cells_of_binding(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    cells_addf(cells, "%s/%s", cells_text(object, "roleRef.kind"),
               cells_text(object, "roleRef.name"));
    cells_add_age(cells, object, now_ms);
}

static void cells_of_netpolicy(const json_t *object, int64_t now_ms, json_t *cells) {
    add_name(cells, object);
    add_selector(cells, object, "spec.podSelector");
    cells_add_age(cells, object, now_ms);
}
