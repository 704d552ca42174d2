#include "api/childcluster.h"

#include "api/fields.h"
#include "base/str.h"
#include "core/topology.h"

#include <stdlib.h>
#include <string.h>

#define CHILDCLUSTER_NAMESPACES_MAX 256

static const char *const known[] = {
    "apiVersion",
    "kind",
    "metadata",
    "status",
    "spec",
    "spec.kubeconfigSecret",
    "spec.kubeconfigSecret.name",
    "spec.kubeconfigSecret.key",
    "spec.region",
    "spec.zoneLabel",
    "spec.zoneMap",
    "spec.zoneMap[].value",
    "spec.zoneMap[].zone",
    "spec.capacity",
    "spec.capacity.mode",
    "spec.capacity.zones",
    "spec.capacity.zones[].zone",
    "spec.capacity.zones[].max",
    "spec.capacity.pendingDeadlineSeconds",
    "spec.allowedNamespaces",
    "spec.lifecycle",
    NULL,
};

static int read_spec(const json_t *root, struct childcluster *cluster, struct err *err);

int childcluster_parse(const json_t *root, struct childcluster *ret_cluster, struct err *err) {
    struct childcluster cluster = {0};
    const char *name;
    const char *ns;
    int r;

    if ((r = fields_header(root, "ChildCluster", CHILDCLUSTER_NAME_MAX, &name, &ns, err)) < 0 ||
        (r = fields_check_known(root, known, err)) < 0)
        return r;
    cluster.name = str_dup(name);
    r = read_spec(root, &cluster, err);
    if (r < 0) {
        childcluster_done(&cluster);
        return r;
    }
    *ret_cluster = cluster;
    return 0;
}

const char *childcluster_zone(const struct childcluster *cluster, const char *value) {
    for (int32_t i = 0; i < cluster->zone_map_count; i++)
        if (strcmp(cluster->zone_map[i].value, value) == 0)
            return cluster->zone_map[i].zone;
    return value;
}

bool childcluster_allows(const struct childcluster *cluster, const char *ns) {
    if (strncmp(ns, "kube-", 5) == 0)
        return false;
    for (int32_t i = 0; i < cluster->namespace_count; i++)
        if (strcmp(cluster->namespaces[i], ns) == 0)
            return true;
    return false;
}

void childcluster_done(struct childcluster *cluster) {
    if (!cluster)
        return;
    for (int32_t i = 0; i < cluster->zone_map_count; i++) {
        free(cluster->zone_map[i].value);
        free(cluster->zone_map[i].zone);
    }
    for (int32_t i = 0; i < cluster->elastic_count; i++)
        free(cluster->elastic[i].zone);
    for (int32_t i = 0; i < cluster->namespace_count; i++)
        free(cluster->namespaces[i]);
    free(cluster->zone_map);
    free(cluster->elastic);
    free(cluster->namespaces);
    free(cluster->name);
    free(cluster->secret);
    free(cluster->secret_key);
    free(cluster->region);
    free(cluster->zone_label);
    *cluster = (struct childcluster){0};
}

static int read_zone_map(const struct fields *spec, struct childcluster *cluster, struct err *err) {
    const json_t *list;
    int r = fields_list(spec, "zoneMap", TOPOLOGY_ZONES_MAX, &list, err);

    if (r < 0 || json_array_size(list) == 0)
        return r < 0 ? r : 0;
    cluster->zone_map = str_alloc(json_array_size(list), sizeof(*cluster->zone_map));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct fields item;
        const char *value;
        const char *zone;

        if ((r = fields_item(spec, "zoneMap", list, i, &item, err)) < 0 ||
            (r = fields_text_required(&item, "value", 63, &value, err)) < 0 ||
            (r = fields_text_required(&item, "zone", 63, &zone, err)) < 0)
            return r;
        for (int32_t j = 0; j < cluster->zone_map_count; j++)
            if (strcmp(cluster->zone_map[j].value, value) == 0)
                return err_set(err, ERR_INVALID, "%s.value: \"%s\" stands there twice; remove one",
                               item.path, value);
        cluster->zone_map[cluster->zone_map_count++] =
            (struct childcluster_zone){str_dup(value), str_dup(zone)};
    }
    return 0;
}

static int read_elastic(const struct fields *capacity, struct childcluster *cluster,
                        struct err *err) {
    const json_t *list;
    int r = fields_list(capacity, "zones", TOPOLOGY_ZONES_MAX, &list, err);

    if (r < 0)
        return r;
    if ((json_array_size(list) > 0) != (cluster->capacity == CHILDCLUSTER_ELASTIC))
        return err_set(err, ERR_INVALID,
                       "spec.capacity.zones: goes with mode Elastic; list each zone's max there, "
                       "or write mode: Observed and leave zones out");
    if (json_array_size(list) == 0)
        return 0;
    cluster->elastic = str_alloc(json_array_size(list), sizeof(*cluster->elastic));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct fields item;
        const char *zone;
        int32_t max = 0;

        if ((r = fields_item(capacity, "zones", list, i, &item, err)) < 0 ||
            (r = fields_text_required(&item, "zone", 63, &zone, err)) < 0 ||
            (r = fields_int(&item, "max", 0, TOPOLOGY_REPLICAS_MAX, &max, err)) < 0)
            return r;
        if (r == 0)
            return err_set(err, ERR_INVALID, "%s.max: missing; write the most replicas it may hold",
                           item.path);
        for (int32_t j = 0; j < cluster->elastic_count; j++)
            if (strcmp(cluster->elastic[j].zone, zone) == 0)
                return err_set(err, ERR_INVALID, "%s.zone: \"%s\" stands there twice; remove one",
                               item.path, zone);
        cluster->elastic[cluster->elastic_count++] =
            (struct childcluster_elastic){str_dup(zone), max};
    }
    return 0;
}

static int read_capacity(const struct fields *spec, struct childcluster *cluster, struct err *err) {
    static const char *const modes[] = {"Observed", "Elastic", NULL};
    struct fields capacity;
    int mode = 0;
    int r;

    cluster->pending_deadline_seconds = 600;
    if ((r = fields_child(spec, "capacity", &capacity, err)) < 0 ||
        (r = fields_enum(&capacity, "mode", modes, &mode, err)) < 0 ||
        (r = fields_int(&capacity, "pendingDeadlineSeconds", 1, 86400,
                        &cluster->pending_deadline_seconds, err)) < 0)
        return r;
    cluster->capacity = (enum childcluster_capacity)mode;
    return read_elastic(&capacity, cluster, err);
}

static int read_namespaces(const struct fields *spec, struct childcluster *cluster,
                           struct err *err) {
    int r = fields_names(spec, "allowedNamespaces", CHILDCLUSTER_NAMESPACES_MAX,
                         &cluster->namespaces, &cluster->namespace_count, err);

    for (int32_t i = 0; r >= 0 && i < cluster->namespace_count; i++)
        if (strncmp(cluster->namespaces[i], "kube-", 5) == 0)
            return err_set(err, ERR_INVALID,
                           "spec.allowedNamespaces[%d]: \"%s\" belongs to Kubernetes; remove it", i,
                           cluster->namespaces[i]);
    return r;
}

static int read_spec(const json_t *root, struct childcluster *cluster, struct err *err) {
    static const char *const cycles[] = {"Active", "Cordoned", "Draining", "Lost", NULL};
    const struct fields top = {.object = root};
    struct fields spec;
    struct fields secret;
    const char *name;
    const char *key = "kubeconfig";
    const char *region;
    const char *label = "topology.kubernetes.io/zone";
    int lifecycle = 0;
    int r;

    if ((r = fields_child(&top, "spec", &spec, err)) < 0 ||
        (r = fields_child(&spec, "kubeconfigSecret", &secret, err)) < 0 ||
        (r = fields_text_required(&secret, "name", 253, &name, err)) < 0 ||
        (r = fields_text(&secret, "key", 253, &key, err)) < 0 ||
        (r = fields_text_required(&spec, "region", 63, &region, err)) < 0 ||
        (r = fields_text(&spec, "zoneLabel", 317, &label, err)) < 0 ||
        (r = fields_enum(&spec, "lifecycle", cycles, &lifecycle, err)) < 0)
        return r;
    cluster->secret = str_dup(name);
    cluster->secret_key = str_dup(key);
    cluster->region = str_dup(region);
    cluster->zone_label = str_dup(label);
    cluster->lifecycle = (enum childcluster_lifecycle)lifecycle;
    if ((r = read_zone_map(&spec, cluster, err)) < 0 ||
        (r = read_capacity(&spec, cluster, err)) < 0 ||
        (r = read_namespaces(&spec, cluster, err)) < 0)
        return r;
    return 0;
}
