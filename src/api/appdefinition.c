#include "api/appdefinition.h"

#include "api/fields.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const char *const known[] = {
    "apiVersion",
    "kind",
    "metadata",
    "status",
    "spec",
    "spec.paused",
    "spec.replicas",
    "spec.workload",
    "spec.workload.kind",
    "spec.workload.spec",
    "spec.workload.service",
    "spec.workload.service.ports",
    "spec.workload.service.ports[].name",
    "spec.workload.service.ports[].port",
    "spec.workload.service.ports[].targetPort",
    "spec.topology",
    "spec.topology.region",
    "spec.topology.clusterSelector",
    "spec.topology.clusterSelector.matchLabels",
    "spec.topology.clusterSelector.matchExpressions",
    "spec.topology.clusterSelector.matchExpressions[].key",
    "spec.topology.clusterSelector.matchExpressions[].operator",
    "spec.topology.clusterSelector.matchExpressions[].values",
    "spec.topology.zones",
    "spec.topology.minZones",
    "spec.topology.spread",
    "spec.topology.maxZonePercent",
    "spec.topology.maxClusterPercent",
    "spec.topology.extension",
    "spec.topology.avoidZones",
    "spec.topology.whenShort",
    "spec.autoscaling",
    "spec.autoscaling.minReplicas",
    "spec.autoscaling.maxReplicas",
    "spec.autoscaling.metrics",
    "spec.autoscaling.behavior",
    "spec.routes",
    "spec.routes[].name",
    "spec.routes[].class",
    "spec.routes[].port",
    "spec.routes[].ref",
    "spec.routes[].ref.group",
    "spec.routes[].ref.kind",
    "spec.routes[].ref.namespace",
    "spec.routes[].ref.name",
    "spec.rollout",
    "spec.rollout.strategy",
    "spec.rollout.maxSurge",
    "spec.rollout.maxUnavailable",
    "spec.rollout.pauseSeconds",
    "spec.deletionPolicy",
    "spec.faultHandling",
    "spec.faultHandling.traffic",
    "spec.faultHandling.compensation",
    "spec.faultHandling.profile",
    "spec.faultHandling.profile.financial",
    "spec.faultHandling.profile.striped",
    "spec.faultHandling.profile.hosted",
    NULL,
};

static int read_meta(const json_t *root, struct appdefinition *app, struct err *err);
static int read_spec(const json_t *root, struct appdefinition *app, struct err *err);

int appdefinition_parse(const json_t *root, struct appdefinition *ret_app, struct err *err) {
    struct appdefinition app = {0};
    int r = read_meta(root, &app, err);

    if (r == 0)
        r = fields_check_known(root, known, err);
    if (r == 0)
        r = read_spec(root, &app, err);
    if (r < 0) {
        appdefinition_done(&app);
        return r;
    }
    *ret_app = app;
    return 0;
}

static void names_free(char **names, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

void appdefinition_done(struct appdefinition *app) {
    if (!app)
        return;
    for (int32_t i = 0; i < app->port_count; i++) {
        free(app->ports[i].name);
        json_decref(app->ports[i].target);
    }
    for (int32_t i = 0; i < app->route_count; i++) {
        free(app->routes[i].name);
        free(app->routes[i].class_name);
        free(app->routes[i].port);
        json_decref(app->routes[i].ref);
    }
    free(app->ports);
    free(app->routes);
    names_free(app->zones, app->zone_count);
    names_free(app->avoid_zones, app->avoid_zone_count);
    free(app->ns);
    free(app->name);
    free(app->uid);
    free(app->region);
    json_decref(app->workload_spec);
    json_decref(app->metrics);
    json_decref(app->behavior);
    json_decref(app->cluster_selector);
    *app = (struct appdefinition){0};
}

/* A counted reference to an object or list below fields, or NULL. */
static json_t *keep_new(const struct fields *fields, const char *key) {
    json_t *value = json_object_get(fields->object, key);

    return json_is_null(value) ? NULL : json_incref(value);
}

static int read_meta(const json_t *root, struct appdefinition *app, struct err *err) {
    const json_t *meta = json_object_get(root, "metadata");
    const char *name;
    const char *ns;
    int r = fields_header(root, "AppDefinition", APPDEFINITION_NAME_MAX, &name, &ns, err);

    if (r < 0)
        return r;
    app->name = str_dup(name);
    app->ns = str_dup(ns);
    app->uid = str_dup(json_string_value(json_object_get(meta, "uid")));
    app->generation = json_integer_value(json_object_get(meta, "generation"));
    return 0;
}

static int read_port(const struct fields *port, const struct appdefinition *app,
                     struct appdefinition_port *ret, struct err *err) {
    const char *name;
    int32_t number = 0;
    int32_t target;
    int r;

    if ((r = fields_text_required(port, "name", 15, &name, err)) < 0 ||
        (r = fields_check_label(port->path, name, 15, err)) < 0 ||
        (r = fields_int(port, "port", 1, 65535, &number, err)) < 0)
        return r;
    if (r == 0)
        return err_set(err, ERR_INVALID, "%s.port: missing; write 1 to 65535", port->path);
    if (!json_is_string(json_object_get(port->object, "targetPort")) &&
        (r = fields_int(port, "targetPort", 1, 65535, &target, err)) < 0)
        return r;
    for (int32_t i = 0; i < app->port_count; i++)
        if (strcmp(app->ports[i].name, name) == 0)
            return err_set(err, ERR_INVALID, "%s.name: \"%s\" stands there twice; rename one",
                           port->path, name);
    *ret = (struct appdefinition_port){str_dup(name), number, keep_new(port, "targetPort")};
    return 0;
}

static int read_ports(const struct fields *workload, struct appdefinition *app, struct err *err) {
    struct fields service;
    const json_t *list;
    int r;

    if ((r = fields_child(workload, "service", &service, err)) < 0 ||
        (r = fields_list(&service, "ports", APPDEFINITION_PORTS_MAX, &list, err)) < 0)
        return r;
    if (json_array_size(list))
        app->ports = str_alloc(json_array_size(list), sizeof(*app->ports));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct fields port;

        if ((r = fields_item(&service, "ports", list, i, &port, err)) < 0 ||
            (r = read_port(&port, app, &app->ports[app->port_count], err)) < 0)
            return r;
        app->port_count++;
    }
    return 0;
}

static int read_workload(const struct fields *spec, struct appdefinition *app, struct err *err) {
    static const char *const kinds[] = {"Deployment", "StatefulSet", NULL};
    static const char *const ours[] = {"replicas", "selector"};
    struct fields workload;
    struct fields native;
    struct fields pod;
    struct fields meta;
    int kind = 0;
    int r;

    if ((r = fields_child(spec, "workload", &workload, err)) < 0 ||
        (r = fields_enum(&workload, "kind", kinds, &kind, err)) < 0 ||
        (r = fields_child(&workload, "spec", &native, err)) < 0 ||
        (r = fields_child(&native, "template", &pod, err)) < 0)
        return r;
    if (!pod.object)
        return err_set(err, ERR_INVALID,
                       "spec.workload.spec.template: missing; write the pod template there");
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(native.object, ours[i]))
            return err_set(
                err, ERR_INVALID, "spec.workload.spec.%s: is set by bulkhead; %s", ours[i],
                i ? "remove it, cells get a selector of their own" : "write spec.replicas instead");
    if ((r = fields_child(&pod, "metadata", &meta, err)) < 0 ||
        (r = fields_check_texts(&meta, "labels", err)) < 0 ||
        (r = fields_check_texts(&meta, "annotations", err)) < 0)
        return r;
    app->kind = (enum appdefinition_workload)kind;
    app->workload_spec = keep_new(&workload, "spec");
    return read_ports(&workload, app, err);
}

/* One source of the number of replicas: a fixed one or the autoscaler's bounds. */
static int read_replicas(const struct fields *spec, struct appdefinition *app, struct err *err) {
    struct fields hpa;
    int fixed = fields_int(spec, "replicas", 0, TOPOLOGY_REPLICAS_MAX, &app->policy.replicas, err);
    int scaled;
    int r;

    if (fixed < 0)
        return fixed;
    scaled = fields_child(spec, "autoscaling", &hpa, err);
    if (scaled < 0)
        return scaled;
    if (fixed == scaled)
        return err_set(err, ERR_INVALID, "spec.replicas: %s spec.autoscaling; %s",
                       fixed ? "set together with" : "missing, and so is",
                       fixed ? "remove one of the two" : "write one of the two");
    if (fixed)
        return 0;
    app->autoscaled = true;
    app->min_replicas = 1;
    if ((r = fields_int(&hpa, "minReplicas", 1, TOPOLOGY_REPLICAS_MAX, &app->min_replicas, err)) <
            0 ||
        (r = fields_int(&hpa, "maxReplicas", 1, TOPOLOGY_REPLICAS_MAX, &app->max_replicas, err)) <
            0)
        return r;
    if (r == 0)
        return err_set(err, ERR_INVALID, "spec.autoscaling.maxReplicas: missing; it is required");
    if (app->min_replicas > app->max_replicas)
        return err_set(err, ERR_INVALID,
                       "spec.autoscaling.minReplicas: %d is above maxReplicas %d; lower it or "
                       "raise maxReplicas",
                       app->min_replicas, app->max_replicas);
    app->policy.replicas = app->min_replicas;
    app->metrics = keep_new(&hpa, "metrics");
    app->behavior = keep_new(&hpa, "behavior");
    return 0;
}

static int read_zones(const struct fields *topology, struct appdefinition *app, struct err *err) {
    int r;

    if ((r = fields_names(topology, "zones", TOPOLOGY_ZONES_MAX, &app->zones, &app->zone_count,
                          err)) < 0 ||
        (r = fields_names(topology, "avoidZones", TOPOLOGY_ZONES_MAX, &app->avoid_zones,
                          &app->avoid_zone_count, err)) < 0)
        return r;
    for (int32_t i = 0; i < app->zone_count; i++)
        for (int32_t j = 0; j < app->avoid_zone_count; j++)
            if (strcmp(app->zones[i], app->avoid_zones[j]) == 0)
                return err_set(err, ERR_INVALID,
                               "spec.topology.avoidZones: \"%s\" is in spec.topology.zones too; "
                               "remove it from one of them",
                               app->zones[i]);
    return 0;
}

static int read_topology(const struct fields *spec, struct appdefinition *app, struct err *err) {
    static const char *const spreads[] = {"Balanced", "Equal", "Capacity", NULL};
    static const char *const shorts[] = {"Partial", "Reject", NULL};
    static const char *const extensions[] = {"Forbidden", "Allowed", NULL};
    struct topology_policy *policy = &app->policy;
    struct fields topology;
    struct fields selector;
    const char *region = NULL;
    int spread = TOPOLOGY_BALANCED;
    int when_short = TOPOLOGY_PARTIAL;
    int extension = 0;
    int r;

    policy->min_zones = 2;
    policy->max_zone_percent = 100;
    policy->max_cluster_percent = 100;
    if ((r = fields_child(spec, "topology", &topology, err)) < 0 ||
        (r = fields_text(&topology, "region", 63, &region, err)) < 0 ||
        (r = fields_child(&topology, "clusterSelector", &selector, err)) < 0 ||
        (r = fields_check_texts(&selector, "matchLabels", err)) < 0 ||
        (r = read_zones(&topology, app, err)) < 0 ||
        (r = fields_int(&topology, "minZones", 1, TOPOLOGY_ZONES_MAX, &policy->min_zones, err)) <
            0 ||
        (r = fields_int(&topology, "maxZonePercent", 1, 100, &policy->max_zone_percent, err)) < 0 ||
        (r = fields_int(&topology, "maxClusterPercent", 1, 100, &policy->max_cluster_percent,
                        err)) < 0 ||
        (r = fields_enum(&topology, "spread", spreads, &spread, err)) < 0 ||
        (r = fields_enum(&topology, "whenShort", shorts, &when_short, err)) < 0 ||
        (r = fields_enum(&topology, "extension", extensions, &extension, err)) < 0)
        return r;
    policy->spread = (enum topology_spread)spread;
    policy->when_short = (enum topology_when_short)when_short;
    policy->extension = extension == 1;
    app->region = str_dup(region);
    app->cluster_selector = keep_new(&topology, "clusterSelector");
    return 0;
}

static bool has_port(const struct appdefinition *app, const char *name) {
    for (int32_t i = 0; i < app->port_count; i++)
        if (strcmp(app->ports[i].name, name) == 0)
            return true;
    return false;
}

static int read_route(const struct fields *route, const struct appdefinition *app,
                      struct appdefinition_route *ret, struct err *err) {
    struct fields ref;
    const char *name;
    const char *class_name;
    const char *port = NULL;
    int r;

    if ((r = fields_text_required(route, "name", 63, &name, err)) < 0 ||
        (r = fields_check_label(route->path, name, 63, err)) < 0 ||
        (r = fields_text_required(route, "class", 253, &class_name, err)) < 0 ||
        (r = fields_text(route, "port", 15, &port, err)) < 0 ||
        (r = fields_child(route, "ref", &ref, err)) < 0)
        return r;
    if (port && !has_port(app, port))
        return err_set(err, ERR_INVALID,
                       "%s.port: \"%s\" is no name in spec.workload.service.ports; add it there",
                       route->path, port);
    for (int32_t i = 0; i < app->route_count; i++)
        if (strcmp(app->routes[i].name, name) == 0)
            return err_set(err, ERR_INVALID, "%s.name: \"%s\" stands there twice; rename one",
                           route->path, name);
    *ret = (struct appdefinition_route){str_dup(name), str_dup(class_name), str_dup(port),
                                        keep_new(route, "ref")};
    return 0;
}

static int read_routes(const struct fields *spec, struct appdefinition *app, struct err *err) {
    const json_t *list;
    int r = fields_list(spec, "routes", APPDEFINITION_ROUTES_MAX, &list, err);

    if (r <= 0 || json_array_size(list) == 0)
        return r < 0 ? r : 0;
    app->routes = str_alloc(json_array_size(list), sizeof(*app->routes));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct fields route;

        if ((r = fields_item(spec, "routes", list, i, &route, err)) < 0 ||
            (r = read_route(&route, app, &app->routes[app->route_count], err)) < 0)
            return r;
        app->route_count++;
    }
    return 0;
}

static int read_rollout(const struct fields *spec, struct appdefinition *app, struct err *err) {
    static const char *const strategies[] = {"ZoneByZone", "AllAtOnce", NULL};
    struct fields rollout;
    int strategy = 0;
    int r;

    app->max_surge = (struct intorpercent){.percent = true, .value = 25};
    app->pause_seconds = 60;
    if ((r = fields_child(spec, "rollout", &rollout, err)) < 0 ||
        (r = fields_enum(&rollout, "strategy", strategies, &strategy, err)) < 0 ||
        (r = fields_percent(&rollout, "maxSurge", &app->max_surge, err)) < 0 ||
        (r = fields_percent(&rollout, "maxUnavailable", &app->max_unavailable, err)) < 0 ||
        (r = fields_int(&rollout, "pauseSeconds", 0, 86400, &app->pause_seconds, err)) < 0)
        return r;
    app->strategy = (enum appdefinition_strategy)strategy;
    return 0;
}

static int read_faults(const struct fields *spec, struct appdefinition *app, struct err *err) {
    static const char *const handlings[] = {"Manual", "Automatic", NULL};
    static const char *const deletions[] = {"Delete", "Orphan", NULL};
    struct fields faults;
    struct fields profile;
    int deletion = 0;
    int traffic = 0;
    int compensation = 0;
    int r;

    if ((r = fields_enum(spec, "deletionPolicy", deletions, &deletion, err)) < 0 ||
        (r = fields_child(spec, "faultHandling", &faults, err)) < 0 ||
        (r = fields_enum(&faults, "traffic", handlings, &traffic, err)) < 0 ||
        (r = fields_enum(&faults, "compensation", handlings, &compensation, err)) < 0 ||
        (r = fields_child(&faults, "profile", &profile, err)) < 0 ||
        (r = fields_bool(&profile, "financial", &app->financial, err)) < 0 ||
        (r = fields_bool(&profile, "striped", &app->striped, err)) < 0 ||
        (r = fields_bool(&profile, "hosted", &app->hosted, err)) < 0)
        return r;
    app->deletion = (enum appdefinition_deletion)deletion;
    app->traffic = (enum appdefinition_handling)traffic;
    app->compensation = (enum appdefinition_handling)compensation;
    return 0;
}

static int read_spec(const json_t *root, struct appdefinition *app, struct err *err) {
    const struct fields top = {.object = root};
    struct fields spec;
    int r;

    if ((r = fields_child(&top, "spec", &spec, err)) < 0 ||
        (r = fields_bool(&spec, "paused", &app->paused, err)) < 0 ||
        (r = read_replicas(&spec, app, err)) < 0 || (r = read_workload(&spec, app, err)) < 0 ||
        (r = read_topology(&spec, app, err)) < 0 || (r = read_routes(&spec, app, err)) < 0 ||
        (r = read_rollout(&spec, app, err)) < 0 || (r = read_faults(&spec, app, err)) < 0)
        return r;
    return 0;
}
