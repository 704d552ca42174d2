#include "apiserver/kind.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PATH_MAX_BYTES 512

/* "io.k8s.api.apps.v1.Deployment" of a built-in, "dev.example.v1.Thing" of a CRD's. */
static char *component_name_new(const struct kind *kind) {
    char group[256];
    char reversed[256] = "";
    size_t len = 0;

    if (!kind->crd_name)
        return str_printf("io.k8s.api.%.*s.%s.%s",
                          *kind->group ? (int)strcspn(kind->group, ".") : 4,
                          *kind->group ? kind->group : "core", kind->version, kind->name);
    snprintf(group, sizeof(group), "%s", kind->group);
    for (char *dot = group; dot;) {
        dot = strrchr(group, '.');
        len += (size_t)snprintf(reversed + len, sizeof(reversed) - len, "%s%s", len ? "." : "",
                                dot ? dot + 1 : group);
        if (dot)
            *dot = '\0';
    }
    return str_printf("%s.%s.%s", reversed, kind->version, kind->name);
}

static json_t *gvk_new(const struct kind *kind) {
    return json_pack("{s:s,s:s,s:s}", "group", kind->group, "version", kind->version, "kind",
                     kind->name);
}

static json_t *query_new(const char *name, const char *type, const char *about) {
    return json_pack("{s:s,s:s,s:s,s:{s:s,s:b}}", "name", name, "in", "query", "description", about,
                     "schema", "type", type, "uniqueItems", 1);
}

static void add_query(json_t *operation, const char *name, const char *type, const char *about) {
    json_t *parameters = json_object_get(operation, "parameters");

    if (!parameters) {
        parameters = json_array();
        json_object_set_new(operation, "parameters", parameters);
    }
    json_array_append_new(parameters, query_new(name, type, about));
}

/* One verb of a path. Writes tell that dry runs and field validation are done, which is what
 * kubectl looks for before it asks for them. */
static json_t *operation_new(const struct kind *kind, const char *action, const char *component) {
    const bool writes = strcmp(action, "get") != 0 && strcmp(action, "list") != 0;
    auto_free char *ref = str_printf("#/components/schemas/%s", component);
    json_t *operation =
        json_pack("{s:s,s:o,s:{s:{s:s,s:{s:{s:{s:s}}}}}}", "x-kubernetes-action", action,
                  "x-kubernetes-group-version-kind", gvk_new(kind), "responses", "200",
                  "description", "OK", "content", "application/json", "schema", "$ref", ref);

    if (writes)
        add_query(operation, "dryRun", "string", "All: do everything but keep the result.");
    if (writes && strcmp(action, "delete") != 0 && strcmp(action, "deletecollection") != 0) {
        add_query(operation, "fieldManager", "string", "Who writes.");
        add_query(operation, "fieldValidation", "string",
                  "What unknown fields are: Ignore, Warn or Strict.");
    }
    if (strcmp(action, "patch") == 0) {
        add_query(operation, "force", "boolean", "Take fields over from other managers.");
        json_object_set_new(operation, "requestBody",
                            json_pack("{s:{s:{},s:{},s:{}}}", "content",
                                      "application/apply-patch+yaml", "application/json-patch+json",
                                      "application/merge-patch+json"));
    }
    return operation;
}

static void add_operation(json_t *item, const struct kind *kind, const char *verb,
                          const char *action, const char *component) {
    json_object_set_new(item, verb, operation_new(kind, action, component));
}

/* The paths of the collection, of one object, and of its subresources. */
static void add_paths(json_t *paths, const struct kind *kind, const char *component) {
    static const char *const subresources[] = {"status", "scale"};
    const bool has[] = {kind->has_status, kind->has_scale};
    auto_free char *base =
        str_printf("%s%s/%s", *kind->group ? "/apis/" : "/api", kind->group, kind->version);
    auto_free char *whole = str_printf("%s/%s", base, kind->resource);
    auto_free char *many = str_printf(
        "%s%s/%s", base, kind->namespaced ? "/namespaces/{namespace}" : "", kind->resource);
    auto_free char *one = str_printf("%s/{name}", many);
    json_t *list = json_object();
    json_t *item = json_object();

    add_operation(list, kind, "get", "list", component);
    if (kind->namespaced)
        json_object_set_new(paths, whole, json_deep_copy(list));
    add_operation(list, kind, "post", "post", component);
    add_operation(list, kind, "delete", "deletecollection", component);
    json_object_set_new(paths, many, list);
    add_operation(item, kind, "get", "get", component);
    add_operation(item, kind, "put", "put", component);
    add_operation(item, kind, "patch", "patch", component);
    for (size_t i = 0; i < 2; i++) {
        auto_free char *path = str_printf("%s/%s", one, subresources[i]);

        if (has[i])
            json_object_set_new(paths, path, json_deep_copy(item));
    }
    add_operation(item, kind, "delete", "delete", component);
    json_object_set_new(paths, one, item);
}

static void add_component(json_t *schemas, const struct kind *kind, const char *component) {
    json_t *schema = json_copy((json_t *)(uintptr_t)schema_openapi(kind->schema));

    json_object_set_new(schema, "x-kubernetes-group-version-kind", json_pack("[o]", gvk_new(kind)));
    json_object_set_new(schemas, component, schema);
}

static json_t *info_new(void) {
    return json_pack("{s:s,s:s}", "title", "Kubernetes", "version", "v1.32.0");
}

/* The document of one group version; NULL if nothing is served there. */
static json_t *group_version_new(const struct kinds *kinds, const char *group,
                                 const char *version) {
    json_auto_t *paths = json_object();
    json_auto_t *schemas = json_object();
    const struct kind *kind;

    for (int i = 0; (kind = kinds_at(kinds, i)); i++) {
        auto_free char *component = NULL;

        if (strcmp(kind->group, group) != 0 || strcmp(kind->version, version) != 0)
            continue;
        component = component_name_new(kind);
        add_paths(paths, kind, component);
        add_component(schemas, kind, component);
    }
    if (json_object_size(schemas) == 0)
        return NULL;
    return json_pack("{s:s,s:o,s:O,s:{s:O}}", "openapi", "3.0.0", "info", info_new(), "paths",
                     paths, "components", "schemas", schemas);
}

/* Every group version and where its document is. No hash in the address: a client would keep what
 * it read under it, and a CRD may change. */
static json_t *index_new(const struct kinds *kinds) {
    json_t *paths = json_object();
    const struct kind *kind;

    for (int i = 0; (kind = kinds_at(kinds, i)); i++) {
        auto_free char *name =
            str_printf("%s%s/%s", *kind->group ? "apis/" : "api", kind->group, kind->version);
        auto_free char *url = str_printf("/openapi/v3/%s", name);

        if (!json_object_get(paths, name))
            json_object_set_new(paths, name, json_pack("{s:s}", "serverRelativeURL", url));
    }
    return json_pack("{s:o}", "paths", paths);
}

json_t *kinds_openapi_new(const struct kinds *kinds, const char *path) {
    static const char root[] = "/openapi/v3";
    char rest[PATH_MAX_BYTES];
    char *slash;

    if (strncmp(path, root, sizeof(root) - 1) != 0)
        return NULL;
    snprintf(rest, sizeof(rest), "%.*s", (int)strcspn(path + sizeof(root) - 1, "?"),
             path + sizeof(root) - 1);
    if (!*rest || strcmp(rest, "/") == 0)
        return index_new(kinds);
    if (strncmp(rest, "/api/", 5) == 0)
        return group_version_new(kinds, "", rest + 5);
    slash = strrchr(rest, '/');
    if (strncmp(rest, "/apis/", 6) != 0 || slash < rest + 6)
        return NULL;
    *slash = '\0';
    return group_version_new(kinds, rest + 6, slash + 1);
}
