#include "controller/render.h"

#include "api/objectname.h"
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void render_hash(const json_t *object, char ret_hash[RENDER_HASH_SIZE]) {
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    uint8_t digest[SHA256_SIZE_BYTES];

    sha256(text, text ? strlen(text) : 0, digest);
    free(text);
    for (int i = 0; i < 8; i++)
        snprintf(ret_hash + i * 2, 3, "%02x", digest[i]);
}

void render_template_hash(const json_t *workload_spec, char ret_hash[RENDER_HASH_SIZE]) {
    render_hash(workload_spec, ret_hash);
}

/* The object under key, made if it is not there; borrowed. */
static json_t *child_of(json_t *object, const char *key) {
    json_t *child = json_object_get(object, key);

    if (!json_is_object(child)) {
        child = json_object();
        json_object_set_new(object, key, child);
    }
    return child;
}

static void labels_set(json_t *labels, const struct appdefinition *app, const char *zone) {
    char value[64];

    json_object_set_new(labels, OBJECTNAME_LABEL_MANAGED_BY, json_string(OBJECTNAME_MANAGER));
    json_object_set_new(labels, OBJECTNAME_LABEL_APP, json_string(app->name));
    json_object_set_new(labels, OBJECTNAME_LABEL_APP_UID, json_string(app->uid));
    if (!zone)
        return;
    objectname_zone_label(zone, value);
    json_object_set_new(labels, OBJECTNAME_LABEL_ZONE, json_string(value));
}

/* What selects the app's pods, all of them or those of one zone. */
static json_t *selector_new(const struct appdefinition *app, const char *zone) {
    json_t *labels = json_object();
    char value[64];

    json_object_set_new(labels, OBJECTNAME_LABEL_APP_UID, json_string(app->uid));
    if (zone) {
        objectname_zone_label(zone, value);
        json_object_set_new(labels, OBJECTNAME_LABEL_ZONE, json_string(value));
    }
    return labels;
}

static json_t *object_new(const char *api_version, const char *kind,
                          const struct appdefinition *app, const char *name, const char *zone) {
    json_t *object = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", api_version, "kind", kind,
                               "metadata", "name", name, "namespace", app->ns);

    labels_set(child_of(json_object_get(object, "metadata"), "labels"), app, zone);
    return object;
}

void render_bounds(const struct appdefinition *app, int32_t cell_replicas, int32_t *ret_surge,
                   int32_t *ret_unavailable) {
    const int32_t total = app->policy.replicas;
    int64_t surge = intorpercent_of(app->max_surge, total, true);
    int64_t unavailable = intorpercent_of(app->max_unavailable, total, false);

    if (total > 0) {
        surge = (surge * cell_replicas + total - 1) / total;
        unavailable = unavailable * cell_replicas / total;
    }
    if (surge < 1 && unavailable < 1)
        surge = 1; /* nothing could ever move */
    *ret_surge = (int32_t)surge;
    *ret_unavailable = (int32_t)unavailable;
}

static void strategy_set(json_t *spec, const struct appdefinition *app,
                         const struct render_cell *cell) {
    int32_t surge, unavailable;

    if (app->kind != APPDEFINITION_DEPLOYMENT || json_object_get(spec, "strategy"))
        return;
    render_bounds(app, cell->replicas, &surge, &unavailable);
    json_object_set_new(spec, "strategy",
                        json_pack("{s:s, s:{s:i, s:i}}", "type", "RollingUpdate", "rollingUpdate",
                                  "maxSurge", surge, "maxUnavailable", unavailable));
}

json_t *render_workload_new(const struct appdefinition *app, const struct render_cell *cell,
                            const json_t *workload_spec, const char *hash, int32_t replicas) {
    const bool stateful = app->kind == APPDEFINITION_STATEFULSET;
    char name[OBJECTNAME_SIZE];

    objectname_of(app->ns, app->name, cell->zone, name);
    json_t *object =
        object_new("apps/v1", stateful ? "StatefulSet" : "Deployment", app, name, cell->zone);
    json_t *spec = json_deep_copy(workload_spec);
    json_t *template = child_of(spec, "template");

    json_object_set_new(child_of(json_object_get(object, "metadata"), "annotations"),
                        OBJECTNAME_ANNOTATION_HASH, json_string(hash));
    json_object_set_new(spec, "selector",
                        json_pack("{s:o}", "matchLabels", selector_new(app, cell->zone)));
    labels_set(child_of(child_of(template, "metadata"), "labels"), app, cell->zone);
    json_object_set_new(child_of(child_of(template, "spec"), "nodeSelector"), cell->zone_label,
                        json_string(cell->zone_value));
    strategy_set(spec, app, cell);
    if (replicas >= 0)
        json_object_set_new(spec, "replicas", json_integer(replicas));
    else
        json_object_del(spec, "replicas");
    if (stateful) {
        if (!json_object_get(spec, "serviceName"))
            json_object_set_new(spec, "serviceName", json_string(app->name));
        if (cell->slot >= 0)
            json_object_set_new(spec, "ordinals", json_pack("{s:i}", "start", cell->slot * 1000));
    }
    json_object_set_new(object, "spec", spec);
    return object;
}

json_t *render_scale_new(const char *ns, const char *name, int32_t replicas) {
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:i}}", "apiVersion", "autoscaling/v1", "kind",
                     "Scale", "metadata", "name", name, "namespace", ns, "spec", "replicas",
                     replicas);
}

static json_t *ports_new(const struct appdefinition *app) {
    json_t *ports = json_array();

    for (int32_t i = 0; i < app->port_count; i++) {
        const struct appdefinition_port *port = &app->ports[i];
        json_t *one =
            json_pack("{s:s, s:i, s:s}", "name", port->name, "port", port->port, "protocol", "TCP");

        if (port->target)
            json_object_set(one, "targetPort", port->target);
        json_array_append_new(ports, one);
    }
    return ports;
}

static void hash_annotate(json_t *object) {
    char hash[RENDER_HASH_SIZE];

    render_hash(object, hash);
    json_object_set_new(child_of(json_object_get(object, "metadata"), "annotations"),
                        OBJECTNAME_ANNOTATION_HASH, json_string(hash));
}

json_t *render_service_new(const struct appdefinition *app, const char *zone) {
    char name[OBJECTNAME_SIZE];

    if (app->port_count == 0)
        return NULL;
    if (zone)
        objectname_of(app->ns, app->name, zone, name);
    json_t *object = object_new("v1", "Service", app, zone ? name : app->name, zone);

    json_object_set_new(
        object, "spec",
        json_pack("{s:o, s:o}", "selector", selector_new(app, zone), "ports", ports_new(app)));
    hash_annotate(object);
    return object;
}

json_t *render_budget_new(const struct appdefinition *app, int32_t replicas) {
    json_t *object = object_new("policy/v1", "PodDisruptionBudget", app, app->name, NULL);

    json_object_set_new(object, "spec",
                        json_pack("{s:{s:o}, s:i}", "selector", "matchLabels",
                                  selector_new(app, NULL), "maxUnavailable",
                                  replicas >= 20 ? replicas / 10 : 1));
    hash_annotate(object);
    return object;
}

json_t *render_namespace_new(const char *name, const json_t *hub_labels) {
    static const char prefix[] = "pod-security.kubernetes.io/";
    json_t *labels = json_pack("{s:s}", OBJECTNAME_LABEL_MANAGED_BY, OBJECTNAME_MANAGER);
    const char *key;
    json_t *value;
    int copied = 0;

    json_object_foreach((json_t *)hub_labels, key, value) {
        if (strncmp(key, prefix, sizeof prefix - 1) != 0)
            continue;
        json_object_set(labels, key, value);
        copied++;
    }
    if (copied == 0)
        json_object_set_new(labels, "pod-security.kubernetes.io/enforce", json_string("baseline"));
    return json_pack("{s:s, s:s, s:{s:s, s:o}}", "apiVersion", "v1", "kind", "Namespace",
                     "metadata", "name", name, "labels", labels);
}
