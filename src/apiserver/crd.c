#include "apiserver/kind.h"

#include "apiserver/builtin.h"
#include "apiserver/jsonpath.h"
#include "apiserver/kind_registry.h"
#include "base/auto.h"
#include "base/json.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSIONS_MAX 32
#define COLUMNS_MAX 64

/* What a CRD says of all its versions; borrowed from it. */
struct crd {
    const char *name;
    const char *group;
    const char *scope;
    const char *plural;
    const char *singular;
    const char *kind;
    const char *list_kind;
    const json_t *names;
    const json_t *versions;
    const char *storage; /* the version */
};

/* The kinds it serves, before they are let in. */
struct draft {
    struct kind *at[VERSIONS_MAX];
    int count;
};

static int read_crd(const json_t *object, struct crd *ret_crd, struct err *err);
static int draft_kinds(const struct crd *crd, struct draft *draft, struct err *err);
static const char *find_taken(const struct kinds *kinds, const struct crd *crd);
static void serve(struct kinds *kinds, const struct crd *crd, struct draft *draft);
static void write_status(const struct crd *crd, json_t *object, const char *taken, const char *now);

int kinds_crd_put(struct kinds *kinds, json_t *crd_object, const char *now_rfc3339,
                  struct err *err) {
    struct crd crd = {0};
    struct draft draft = {0};
    const char *taken;
    int r;

    if ((r = read_crd(crd_object, &crd, err)) < 0)
        return r;
    for (int i = 0; i < kinds->count; i++)
        if (kinds->at[i]->crd_name && strcmp(kinds->at[i]->crd_name, crd.name) == 0 &&
            kinds->at[i]->namespaced != (strcmp(crd.scope, "Namespaced") == 0))
            return err_set(err, ERR_INVALID,
                           "spec.scope: Invalid value: \"%s\": field is immutable", crd.scope);
    if (kinds->count + VERSIONS_MAX > KINDS_MAX)
        return err_set(err, ERR_INVALID, "more than %d kinds are served", KINDS_MAX);
    r = draft_kinds(&crd, &draft, err);
    taken = r < 0 ? NULL : find_taken(kinds, &crd);
    if (r < 0 || taken)
        for (int i = 0; i < draft.count; i++)
            kind_free(draft.at[i]);
    else
        serve(kinds, &crd, &draft);
    if (r < 0)
        return r;
    write_status(&crd, crd_object, taken, now_rfc3339);
    return 0;
}

void kinds_crd_remove(struct kinds *kinds, const char *crd_name) {
    kinds_drop(kinds, crd_name);
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text && *text ? text : NULL;
}

/* A label of DNS, which resources and groups are made of. */
static bool is_label(const char *text, size_t len) {
    if (len == 0 || len > 63 || text[0] == '-' || text[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) && text[i] != '-')
            return false;
    return true;
}

static bool is_domain(const char *text) {
    for (; *text; text += *text == '.') {
        const size_t len = strcspn(text, ".");

        if (!is_label(text, len))
            return false;
        text += len;
        if (*text == '.' && !text[1])
            return false;
    }
    return true;
}

static int read_versions(const json_t *spec, struct crd *crd, struct err *err) {
    int storage_count = 0;

    crd->versions = json_object_get(spec, "versions");
    if (json_array_size(crd->versions) == 0)
        return err_set(err, ERR_INVALID, "spec.versions: Required value");
    if (json_array_size(crd->versions) > VERSIONS_MAX)
        return err_set(err, ERR_INVALID, "spec.versions: Too many: %zu: must have at most %d items",
                       json_array_size(crd->versions), VERSIONS_MAX);
    for (size_t i = 0; i < json_array_size(crd->versions); i++) {
        const json_t *version = json_array_get(crd->versions, i);
        const char *name = text_of(version, "name");

        if (!name || !is_label(name, strlen(name)))
            return err_set(err, ERR_INVALID, "spec.versions[%zu].name: Invalid value: \"%s\"", i,
                           name ? name : "");
        for (size_t j = 0; j < i; j++)
            if (strcmp(text_of(json_array_get(crd->versions, j), "name"), name) == 0)
                return err_set(err, ERR_INVALID, "spec.versions[%zu].name: Duplicate value: \"%s\"",
                               i, name);
        if (json_is_true(json_object_get(version, "storage"))) {
            crd->storage = name;
            storage_count++;
        }
    }
    if (storage_count != 1)
        return err_set(err, ERR_INVALID,
                       "spec.versions: Invalid value: %d storage versions: must "
                       "have exactly one version marked as storage version",
                       storage_count);
    return 0;
}

static int read_crd(const json_t *object, struct crd *ret_crd, struct err *err) {
    const json_t *spec = json_object_get(object, "spec");
    struct crd crd = {.name = text_of(json_object_get(object, "metadata"), "name"),
                      .group = text_of(spec, "group"),
                      .scope = text_of(spec, "scope"),
                      .names = json_object_get(spec, "names")};
    auto_free char *wanted = NULL;
    int r;

    crd.plural = text_of(crd.names, "plural");
    crd.singular = text_of(crd.names, "singular");
    crd.kind = text_of(crd.names, "kind");
    crd.list_kind = text_of(crd.names, "listKind");
    if (!crd.group || !is_domain(crd.group) || !strchr(crd.group, '.'))
        return err_set(
            err, ERR_INVALID,
            "spec.group: Invalid value: \"%s\": should be a domain with at least one dot",
            crd.group ? crd.group : "");
    if (!crd.scope || (strcmp(crd.scope, "Cluster") != 0 && strcmp(crd.scope, "Namespaced") != 0))
        return err_set(err, ERR_INVALID,
                       "spec.scope: Unsupported value: \"%s\": supported values: "
                       "\"Cluster\", \"Namespaced\"",
                       crd.scope ? crd.scope : "");
    if (!crd.plural || !is_label(crd.plural, strlen(crd.plural)))
        return err_set(err, ERR_INVALID, "spec.names.plural: Invalid value: \"%s\"",
                       crd.plural ? crd.plural : "");
    if (!crd.kind)
        return err_set(err, ERR_INVALID, "spec.names.kind: Required value");
    if (json_is_true(json_object_get(spec, "preserveUnknownFields")))
        return err_set(err, ERR_INVALID,
                       "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
                       "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema "
                       "instead");
    wanted = str_printf("%s.%s", crd.plural, crd.group);
    if (!crd.name || strcmp(crd.name, wanted) != 0)
        return err_set(err, ERR_INVALID,
                       "metadata.name: Invalid value: \"%s\": must be "
                       "spec.names.plural+\".\"+spec.group",
                       crd.name ? crd.name : "");
    if ((r = read_versions(spec, &crd, err)) < 0)
        return r;
    *ret_crd = crd;
    return 0;
}

/* Every object has the same metadata; of its own a CRD may only narrow name and generateName. */
static json_t *whole_schema_new(const json_t *openapi) {
    static const char *const own[] = {"name", "generateName"};
    json_t *whole = json_deep_copy(openapi);
    json_t *properties = json_object_get(whole, "properties");
    json_t *metadata = builtin_type_new("ObjectMeta");
    const json_t *narrowed = json_object_get(json_object_get(properties, "metadata"), "properties");

    if (!properties) {
        properties = json_object();
        json_object_set_new(whole, "properties", properties);
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (json_object_get(narrowed, own[i]))
            json_object_set(json_object_get(metadata, "properties"), own[i],
                            json_object_get(narrowed, own[i]));
    json_object_set_new(properties, "metadata", metadata);
    if (!json_object_get(properties, "apiVersion"))
        json_object_set_new(properties, "apiVersion", json_pack("{s:s}", "type", "string"));
    if (!json_object_get(properties, "kind"))
        json_object_set_new(properties, "kind", json_pack("{s:s}", "type", "string"));
    return whole;
}

static bool is_required(const json_t *items, const char *key) {
    const json_t *required = json_object_get(items, "required");

    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));

        if (name && strcmp(name, key) == 0)
            return true;
    }
    return false;
}

/* Elements of a list of type map are told apart by their keys: no key may be absent. Built-ins
 * are freer, and a schema was compiled before it comes here, so its depth is bounded. */
static int check_keys(const json_t *openapi, struct err *err) {
    const json_t *keys = json_object_get(openapi, "x-kubernetes-list-map-keys");
    const json_t *items = json_object_get(openapi, "items");
    const json_t *more = json_object_get(openapi, "additionalProperties");
    json_t *properties = json_object_get(openapi, "properties");
    const char *name;
    const json_t *property;
    int r;

    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));

        property = json_object_get(json_object_get(items, "properties"), key);
        if (!is_required(items, key) && !json_object_get(property, "default"))
            return err_set(err, ERR_INVALID,
                           "items.properties[%s].default: Required value: this property is in "
                           "x-kubernetes-list-map-keys, so it must have a default or be a required "
                           "property",
                           key);
    }
    json_object_foreach(properties, name, property) {
        if ((r = check_keys(property, err)) < 0)
            return r;
    }
    if (items && (r = check_keys(items, err)) < 0)
        return r;
    return json_is_object(more) ? check_keys(more, err) : 0;
}

static int read_schema(const json_t *version, struct kind *kind, struct err *err) {
    const json_t *openapi = json_object_get(json_object_get(version, "schema"), "openAPIV3Schema");
    const char *type = text_of(openapi, "type");
    const json_t *metadata;
    json_t *properties;
    const char *name;
    const json_t *value;
    json_auto_t *whole = NULL;
    int r;

    if (!json_is_object(openapi))
        return err_set(err, ERR_INVALID,
                       "schema.openAPIV3Schema: Required value: schemas are "
                       "required");
    if (!type || strcmp(type, "object") != 0)
        return err_set(err, ERR_INVALID,
                       "schema.openAPIV3Schema.type: Invalid value: \"%s\": must "
                       "be object at the root",
                       type ? type : "");
    metadata = json_object_get(json_object_get(openapi, "properties"), "metadata");
    properties = json_object_get(metadata, "properties");
    json_object_foreach(properties, name, value) {
        if (strcmp(name, "name") != 0 && strcmp(name, "generateName") != 0)
            return err_set(err, ERR_INVALID,
                           "schema.openAPIV3Schema.properties[metadata]: Forbidden: must not "
                           "specify anything other than name and generateName, but metadata is "
                           "implicitly specified");
    }
    whole = whole_schema_new(openapi);
    r = schema_new(whole, &kind->schema, err);
    return r < 0 ? r : check_keys(openapi, err);
}

/* A scale path names one field: .spec.replicas and not a list of them. */
static int read_scale_path(const json_t *scale, const char *key, const char *start, bool needed,
                           char **ret_path, struct err *err) {
    const char *path = text_of(scale, key);

    if (!path && !needed)
        return 0;
    if (!path || strncmp(path, start, strlen(start)) != 0 || strpbrk(path, "[]*"))
        return err_set(err, ERR_INVALID,
                       "subresources.scale.%s: Invalid value: \"%s\": should be a json path under "
                       "%.*s",
                       key, path ? path : "", (int)strlen(start) - 1, start);
    *ret_path = str_dup(path);
    return 0;
}

static int read_subresources(const json_t *version, struct kind *kind, struct err *err) {
    const json_t *all = json_object_get(version, "subresources");
    const json_t *scale = json_object_get(all, "scale");
    int r;

    kind->has_status = json_is_object(json_object_get(all, "status"));
    kind->has_scale = json_is_object(scale);
    if (!kind->has_scale)
        return 0;
    if ((r = read_scale_path(scale, "specReplicasPath", ".spec.", true, &kind->scale_spec_path,
                             err)) < 0 ||
        (r = read_scale_path(scale, "statusReplicasPath", ".status.", true,
                             &kind->scale_status_path, err)) < 0)
        return r;
    return read_scale_path(scale, "labelSelectorPath",
                           strncmp(text_of(scale, "labelSelectorPath") ?: ".status", ".spec", 5)
                               ? ".status."
                               : ".spec.",
                           false, &kind->scale_selector_path, err);
}

static void add_column(struct kind *kind, const char *name, const char *type, const char *path) {
    kind->columns =
        str_resize(kind->columns, (size_t)kind->column_count + 1, sizeof(*kind->columns));
    kind->columns[kind->column_count++] =
        (struct kind_column){.name = str_dup(name), .type = str_dup(type), .path = str_dup(path)};
}

static int read_columns(const json_t *version, struct kind *kind, struct err *err) {
    static const char types[] = " integer number string boolean date ";
    const json_t *list = json_object_get(version, "additionalPrinterColumns");
    int64_t priority;
    int r;

    add_column(kind, "Name", "string", ".metadata.name");
    kind->columns[0].format = str_dup("name");
    if (json_array_size(list) == 0)
        add_column(kind, "Age", "date", ".metadata.creationTimestamp");
    if (json_array_size(list) > COLUMNS_MAX)
        return err_set(err, ERR_INVALID, "additionalPrinterColumns: Too many: at most %d",
                       COLUMNS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        const char *name = text_of(row, "name");
        const char *type = text_of(row, "type");
        const char *path = text_of(row, "jsonPath");
        auto_free char *padded = str_printf(" %s ", type ? type : "-");
        struct jsonpath *compiled = NULL;
        struct kind_column *column;

        if (!name || !path || !strstr(types, padded))
            return err_set(err, ERR_INVALID,
                           "additionalPrinterColumns[%zu]: Required value: name, jsonPath and a "
                           "type of integer, number, string, boolean, date",
                           i);
        if ((r = jsonpath_new(path, &compiled, err)) < 0)
            return err_wrap(err, r, "additionalPrinterColumns[%zu].jsonPath: Invalid value", i);
        jsonpath_free(compiled);
        add_column(kind, name, type, path);
        column = &kind->columns[kind->column_count - 1];
        column->format = str_dup(text_of(row, "format"));
        column->description = str_dup(text_of(row, "description"));
        if ((r = json_int(row, "priority", &priority, err)) < 0)
            return r;
        column->priority = r ? (int)priority : 0;
    }
    return 0;
}

static void copy_names(const json_t *list, char *ret_names[KIND_NAMES_MAX]) {
    for (size_t i = 0; i < json_array_size(list) && i < KIND_NAMES_MAX - 1; i++)
        ret_names[i] = str_dup(json_string_value(json_array_get(list, i)) ?: "");
}

static char *lower_new(const char *text) {
    char *lower = str_dup(text);

    for (char *p = lower; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return lower;
}

static int draft_kind(const struct crd *crd, const json_t *version, struct kind *kind,
                      struct err *err) {
    int r;

    kind->group = str_dup(crd->group);
    kind->version = str_dup(text_of(version, "name"));
    kind->resource = str_dup(crd->plural);
    kind->name = str_dup(crd->kind);
    kind->singular = crd->singular ? str_dup(crd->singular) : lower_new(crd->kind);
    kind->list_name = crd->list_kind ? str_dup(crd->list_kind) : str_printf("%sList", crd->kind);
    copy_names(json_object_get(crd->names, "shortNames"), kind->short_names);
    copy_names(json_object_get(crd->names, "categories"), kind->categories);
    kind->namespaced = strcmp(crd->scope, "Namespaced") == 0;
    kind->counts_generation = true;
    kind->prunes = true;
    kind->crd_name = str_dup(crd->name);
    if ((r = read_schema(version, kind, err)) < 0 ||
        (r = read_subresources(version, kind, err)) < 0 ||
        (r = read_columns(version, kind, err)) < 0)
        return r;
    return 0;
}

/* Versions that are not served are judged all the same. */
static int draft_kinds(const struct crd *crd, struct draft *draft, struct err *err) {
    for (size_t i = 0; i < json_array_size(crd->versions); i++) {
        const json_t *version = json_array_get(crd->versions, i);
        struct kind *kind = str_alloc(1, sizeof(*kind));
        struct err inner = {0};
        const int r = draft_kind(crd, version, kind, &inner);

        if (r >= 0 && json_is_true(json_object_get(version, "served")))
            draft->at[draft->count++] = kind;
        else
            kind_free(kind);
        if (r < 0)
            return err_set(err, r, "spec.versions[%zu].%s", i, inner.msg);
    }
    return 0;
}

/* The name that another resource of the group has already; NULL: none. */
static const char *find_taken(const struct kinds *kinds, const struct crd *crd) {
    for (int i = 0; i < kinds->count; i++) {
        const struct kind *other = kinds->at[i];

        if (strcmp(other->group, crd->group) != 0 ||
            (other->crd_name && strcmp(other->crd_name, crd->name) == 0))
            continue;
        if (strcmp(other->resource, crd->plural) == 0)
            return crd->plural;
        if (strcmp(other->name, crd->kind) == 0)
            return crd->kind;
    }
    return NULL;
}

/* A version that is served already stays where it is, since others hold on to it. */
static void serve(struct kinds *kinds, const struct crd *crd, struct draft *draft) {
    for (int i = kinds->count - 1; i >= 0; i--) {
        struct kind *old = kinds->at[i];
        bool found = false;

        if (!old->crd_name || strcmp(old->crd_name, crd->name) != 0)
            continue;
        for (int j = 0; j < draft->count && !found; j++) {
            struct kind *fresh = draft->at[j];
            struct kind swapped;

            if (!fresh || strcmp(fresh->version, old->version) != 0)
                continue;
            swapped = *old;
            *old = *fresh;
            *fresh = swapped;
            kind_free(fresh);
            draft->at[j] = NULL;
            found = true;
        }
        if (!found)
            kinds_retire(kinds, i);
    }
    for (int j = 0; j < draft->count; j++)
        if (draft->at[j])
            kinds_add(kinds, draft->at[j]);
}

/* Puts one condition; when it last changed stays if it has not. */
static void put_condition(json_t *conditions, const char *type, bool holds, const char *reason,
                          const char *message, const char *now) {
    json_t *fresh =
        json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", type, "status", holds ? "True" : "False",
                  "lastTransitionTime", now, "reason", reason, "message", message);

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        json_t *old = json_array_get(conditions, i);
        const char *old_type = text_of(old, "type");

        if (!old_type || strcmp(old_type, type) != 0)
            continue;
        if (json_equal(json_object_get(old, "status"), json_object_get(fresh, "status")) &&
            json_object_get(old, "lastTransitionTime"))
            json_object_set(fresh, "lastTransitionTime",
                            json_object_get(old, "lastTransitionTime"));
        json_array_set_new(conditions, i, fresh);
        return;
    }
    json_array_append_new(conditions, fresh);
}

/* The child of this type, made if it is absent or something else. Borrowed. */
static json_t *child_made(json_t *object, const char *key, json_t *empty) {
    json_t *child = json_object_get(object, key);

    if (child && json_typeof(child) == json_typeof(empty)) {
        json_decref(empty);
        return child;
    }
    json_object_set_new(object, key, empty);
    return empty;
}

static void write_status(const struct crd *crd, json_t *object, const char *taken,
                         const char *now) {
    json_t *status = child_made(object, "status", json_object());
    json_t *conditions = child_made(status, "conditions", json_array());
    json_t *stored = child_made(status, "storedVersions", json_array());
    bool has = false;
    char words[200];

    snprintf(words, sizeof(words), "\"%s\" is already in use", taken ? taken : "");
    put_condition(conditions, "NamesAccepted", !taken, taken ? "NameConflict" : "NoConflicts",
                  taken ? words : "no conflicts found", now);
    put_condition(conditions, "Established", !taken, taken ? "NotAccepted" : "InitialNamesAccepted",
                  taken ? "not all names are accepted" : "the initial names have been accepted",
                  now);
    if (!taken)
        json_object_set_new(status, "acceptedNames",
                            json_deep_copy((json_t *)(uintptr_t)crd->names));
    for (size_t i = 0; i < json_array_size(stored); i++)
        has = has || strcmp(json_string_value(json_array_get(stored, i)) ?: "", crd->storage) == 0;
    if (!has)
        json_array_append_new(stored, json_string(crd->storage));
}
