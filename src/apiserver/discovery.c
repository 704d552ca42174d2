#include "apiserver/kind.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define AGGREGATED "apidiscovery.k8s.io/v2"

/* Reviews are posted and answered, never kept. */
static bool is_review(const struct kind *kind) {
    return strcmp(kind->group, "authorization.k8s.io") == 0;
}

static json_t *verbs_new(const struct kind *kind) {
    if (is_review(kind))
        return json_pack("[s]", "create");
    if (kind->read_only)
        return json_pack("[ss]", "get", "list");
    return json_pack("[ssssssss]", "create", "delete", "deletecollection", "get", "list", "patch",
                     "update", "watch");
}

static json_t *subresource_verbs_new(void) {
    return json_pack("[sss]", "get", "patch", "update");
}

static json_t *names_new(char *const names[KIND_NAMES_MAX]) {
    json_t *list = json_array();

    for (int i = 0; i < KIND_NAMES_MAX && names[i]; i++)
        json_array_append_new(list, json_string(names[i]));
    return list;
}

/* Sets the list unless it is empty, as omitempty does. Takes list. */
static void set_filled(json_t *object, const char *key, json_t *list) {
    if (json_array_size(list))
        json_object_set(object, key, list);
    json_decref(list);
}

static json_t *resource_new(const struct kind *kind) {
    json_t *resource =
        json_pack("{s:s,s:s,s:b,s:s,s:o}", "name", kind->resource, "singularName", kind->singular,
                  "namespaced", kind->namespaced, "kind", kind->name, "verbs", verbs_new(kind));

    set_filled(resource, "shortNames", names_new(kind->short_names));
    set_filled(resource, "categories", names_new(kind->categories));
    return resource;
}

static json_t *subresource_new(const struct kind *kind, const char *name) {
    json_t *resource =
        json_pack("{s:s,s:b,s:s,s:o}", "singularName", "", "namespaced", kind->namespaced, "kind",
                  kind->name, "verbs", subresource_verbs_new());
    char full[160];

    snprintf(full, sizeof(full), "%s/%s", kind->resource, name);
    json_object_set_new(resource, "name", json_string(full));
    if (strcmp(name, "scale") == 0) {
        json_object_set_new(resource, "group", json_string("autoscaling"));
        json_object_set_new(resource, "version", json_string("v1"));
        json_object_set_new(resource, "kind", json_string("Scale"));
    }
    return resource;
}

static void write_group_version(char *room, size_t room_bytes, const char *group,
                                const char *version) {
    snprintf(room, room_bytes, "%s%s%s", group, *group ? "/" : "", version);
}

/* APIResourceList of a group version; NULL if nothing is served there. */
static json_t *resource_list_new(const struct kinds *kinds, const char *group,
                                 const char *version) {
    json_t *resources = json_array();
    const struct kind *kind;
    char name[200];

    for (int i = 0; (kind = kinds_at(kinds, i)); i++) {
        if (strcmp(kind->group, group) != 0 || strcmp(kind->version, version) != 0)
            continue;
        json_array_append_new(resources, resource_new(kind));
        if (kind->has_status)
            json_array_append_new(resources, subresource_new(kind, "status"));
        if (kind->has_scale)
            json_array_append_new(resources, subresource_new(kind, "scale"));
    }
    if (json_array_size(resources) == 0) {
        json_decref(resources);
        return NULL;
    }
    write_group_version(name, sizeof(name), group, version);
    return json_pack("{s:s,s:s,s:s,s:o}", "kind", "APIResourceList", "apiVersion", "v1",
                     "groupVersion", name, "resources", resources);
}

/* How much a version is wanted: v2 before v1 before v1beta1 before v1alpha1 before others. */
static int version_rank(const char *version) {
    int major = 0;
    int minor = 0;
    char kind[8] = "";

    if (sscanf(version, "v%4d%5[a-z]%4d", &major, kind, &minor) < 1)
        return 0;
    if (!*kind)
        return 2000000 + major;
    return (strcmp(kind, "beta") == 0 ? 1000000 : 1) + major * 1000 + minor;
}

/* The versions of a group, the preferred one first. */
static json_t *versions_new(const struct kinds *kinds, const char *group) {
    json_t *versions = json_array();
    const struct kind *kind;

    for (int i = 0; (kind = kinds_at(kinds, i)); i++) {
        size_t at = 0;

        if (strcmp(kind->group, group) != 0)
            continue;
        while (at < json_array_size(versions) &&
               version_rank(json_string_value(json_array_get(versions, at))) >
                   version_rank(kind->version))
            at++;
        if (at == json_array_size(versions) ||
            strcmp(json_string_value(json_array_get(versions, at)), kind->version) != 0)
            json_array_insert_new(versions, at, json_string(kind->version));
    }
    return versions;
}

/* Every group but core, in the order in which they came. */
static json_t *groups_new(const struct kinds *kinds) {
    json_auto_t *seen = json_object();
    json_t *groups = json_array();
    const struct kind *kind;

    for (int i = 0; (kind = kinds_at(kinds, i)); i++)
        if (*kind->group && !json_object_get(seen, kind->group)) {
            json_object_set_new(seen, kind->group, json_true());
            json_array_append_new(groups, json_string(kind->group));
        }
    return groups;
}

static json_t *version_entry_new(const char *group, const char *version) {
    char name[200];

    write_group_version(name, sizeof(name), group, version);
    return json_pack("{s:s,s:s}", "groupVersion", name, "version", version);
}

/* An APIGroup, without kind and apiVersion; NULL if there is no such group. */
static json_t *group_new(const struct kinds *kinds, const char *group) {
    json_auto_t *versions = versions_new(kinds, group);
    json_t *entries = json_array();

    for (size_t i = 0; i < json_array_size(versions); i++)
        json_array_append_new(
            entries, version_entry_new(group, json_string_value(json_array_get(versions, i))));
    if (json_array_size(entries) == 0) {
        json_decref(entries);
        return NULL;
    }
    return json_pack("{s:s,s:o,s:O}", "name", group, "versions", entries, "preferredVersion",
                     json_array_get(entries, 0));
}

static json_t *group_list_new(const struct kinds *kinds) {
    json_auto_t *names = groups_new(kinds);
    json_t *groups = json_array();

    for (size_t i = 0; i < json_array_size(names); i++)
        json_array_append_new(groups,
                              group_new(kinds, json_string_value(json_array_get(names, i))));
    return json_pack("{s:s,s:s,s:o}", "kind", "APIGroupList", "apiVersion", "v1", "groups", groups);
}

static json_t *aggregated_kind_new(const char *group, const char *version, const char *kind) {
    return json_pack("{s:s,s:s,s:s}", "group", group, "version", version, "kind", kind);
}

static json_t *aggregated_resource_new(const struct kind *kind) {
    json_t *subresources = json_array();
    json_t *resource =
        json_pack("{s:s,s:o,s:s,s:s,s:o}", "resource", kind->resource, "responseKind",
                  aggregated_kind_new(kind->group, kind->version, kind->name), "scope",
                  kind->namespaced ? "Namespaced" : "Cluster", "singularResource", kind->singular,
                  "verbs", verbs_new(kind));

    if (kind->has_status)
        json_array_append_new(subresources,
                              json_pack("{s:s,s:o,s:o}", "subresource", "status", "responseKind",
                                        aggregated_kind_new(kind->group, kind->version, kind->name),
                                        "verbs", subresource_verbs_new()));
    if (kind->has_scale)
        json_array_append_new(subresources,
                              json_pack("{s:s,s:o,s:o}", "subresource", "scale", "responseKind",
                                        aggregated_kind_new("autoscaling", "v1", "Scale"), "verbs",
                                        subresource_verbs_new()));
    set_filled(resource, "shortNames", names_new(kind->short_names));
    set_filled(resource, "categories", names_new(kind->categories));
    set_filled(resource, "subresources", subresources);
    return resource;
}

/* One group with everything in it. */
static json_t *aggregated_group_new(const struct kinds *kinds, const char *group) {
    json_auto_t *versions = versions_new(kinds, group);
    json_t *entries = json_array();

    for (size_t v = 0; v < json_array_size(versions); v++) {
        const char *version = json_string_value(json_array_get(versions, v));
        json_t *resources = json_array();
        const struct kind *kind;

        for (int i = 0; (kind = kinds_at(kinds, i)); i++)
            if (strcmp(kind->group, group) == 0 && strcmp(kind->version, version) == 0)
                json_array_append_new(resources, aggregated_resource_new(kind));
        json_array_append_new(entries, json_pack("{s:s,s:o,s:s}", "version", version, "resources",
                                                 resources, "freshness", "Current"));
    }
    return json_pack("{s:{s:s,s:n},s:o}", "metadata", "name", group, "creationTimestamp",
                     "versions", entries);
}

/* APIGroupDiscoveryList: core alone at /api, every other group at /apis. */
static json_t *aggregated_new(const struct kinds *kinds, bool core) {
    json_auto_t *names = core ? json_pack("[s]", "") : groups_new(kinds);
    json_t *items = json_array();

    for (size_t i = 0; i < json_array_size(names); i++)
        json_array_append_new(
            items, aggregated_group_new(kinds, json_string_value(json_array_get(names, i))));
    return json_pack("{s:s,s:s,s:{},s:o}", "kind", "APIGroupDiscoveryList", "apiVersion",
                     AGGREGATED, "metadata", "items", items);
}

static json_t *core_versions_new(void) {
    return json_pack("{s:s,s:[s],s:[{s:s,s:s}]}", "kind", "APIVersions", "versions", "v1",
                     "serverAddressByClientCIDRs", "clientCIDR", "0.0.0.0/0", "serverAddress", "");
}

/* What stands below /apis/: GROUP or GROUP/VERSION. */
static json_t *below_apis_new(const struct kinds *kinds, const char *rest) {
    const char *slash = strchr(rest, '/');
    const int group_len = slash ? (int)(slash - rest) : (int)strlen(rest);
    char group[256];
    json_t *document;

    if (group_len == 0 || group_len >= (int)sizeof(group) || (slash && strchr(slash + 1, '/')))
        return NULL;
    snprintf(group, sizeof(group), "%.*s", group_len, rest);
    if (slash)
        return resource_list_new(kinds, group, slash + 1);
    document = group_new(kinds, group);
    if (document) {
        json_object_set_new(document, "kind", json_string("APIGroup"));
        json_object_set_new(document, "apiVersion", json_string("v1"));
    }
    return document;
}

json_t *kinds_discovery_new(const struct kinds *kinds, const char *discovery_path,
                            bool aggregated) {
    if (strcmp(discovery_path, "/api") == 0)
        return aggregated ? aggregated_new(kinds, true) : core_versions_new();
    if (strcmp(discovery_path, "/apis") == 0)
        return aggregated ? aggregated_new(kinds, false) : group_list_new(kinds);
    if (strncmp(discovery_path, "/api/", 5) == 0)
        return resource_list_new(kinds, "", discovery_path + 5);
    if (strncmp(discovery_path, "/apis/", 6) == 0)
        return below_apis_new(kinds, discovery_path + 6);
    return NULL;
}
