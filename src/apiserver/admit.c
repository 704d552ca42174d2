#include "apiserver/admit.h"

#include "apiserver/garbage.h"
#include "apiserver/schema.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 253
#define LABEL_MAX_LEN 63
#define REFUSAL_MAX_BYTES 4000
#define WARNING_MAX_BYTES 1000 /* of a header line */
#define GENERATE_TRIES 8
#define SERVICE_ADDRESSES 65536
#define NODE_PORT_FIRST 30000
#define NODE_PORTS 2768

static int check_metadata(struct call *call, const json_t *metadata);
static int refuse_metadata(struct call *call, const char *key);
static int check_namespace(struct call *call, json_t *metadata);
static int check_name(struct call *call, const char *name);
static bool is_dns_name(const char *name, bool dots);
static int unknown_fields(struct call *call, json_t *object);
static void fill_kind(struct call *call, json_t *object, const json_t *old);
static void fill_secret(json_t *secret);
static void fill_service(struct apiserver *server, json_t *service, const json_t *old);
static void fill_ports(struct apiserver *server, json_t *spec, const json_t *old_spec);
static void fill_namespace(json_t *namespace, const json_t *old);
static void set_absent(json_t *object, const char *key, json_t *value);
static const char *text_at(const json_t *object, const char *key);

int admit_type(struct call *call, json_t *object) {
    auto_free char *api_version = view_api_version(call->kind);
    const char *version = text_at(object, "apiVersion");
    const char *name = text_at(object, "kind");

    if ((*version != '\0' && strcmp(version, api_version) != 0) ||
        (*name != '\0' && strcmp(name, call->kind->name) != 0))
        return refuse(&call->refusal, 400, "BadRequest",
                      "the API version in the data (%s, Kind=%s) does not match the expected API "
                      "version (%s, Kind=%s)",
                      version, name, api_version, call->kind->name);
    json_object_set_new(object, "apiVersion", json_string(api_version));
    json_object_set_new(object, "kind", json_string(call->kind->name));
    json_t *metadata = json_object_get(object, "metadata");

    if (!metadata || json_is_null(metadata))
        json_object_set_new(object, "metadata", json_object());
    else if (!json_is_object(metadata))
        return refuse_metadata(call, "");
    return check_metadata(call, json_object_get(object, "metadata"));
}

int admit_name(struct call *call, json_t *object) {
    json_t *metadata = json_object_get(object, "metadata");
    const char *prefix = text_at(metadata, "generateName");

    if (check_namespace(call, metadata) < 0)
        return ERR_INVALID;
    if (*text_at(metadata, "name") != '\0')
        return check_name(call, text_at(metadata, "name"));
    if (*prefix == '\0')
        return refuse_field(&call->refusal, call->kind, "", "FieldValueRequired", "metadata.name",
                            "Required value: name or generateName is required");
    for (int i = 0; i < GENERATE_TRIES; i++) {
        static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
        char suffix[6] = "";

        for (int k = 0; k < 5; k++)
            suffix[k] = letters[random_below(&call->server->rng, sizeof letters - 1)];
        auto_free char *name = str_printf("%.*s%s", LABEL_MAX_LEN - 5, prefix, suffix);

        json_object_set_new(metadata, "name", json_string(name));
        if (!object_set_get(call->set, call->route.ns, name))
            break;
    }
    return check_name(call, text_at(metadata, "name"));
}

int admit_object(struct call *call, json_t *object, const json_t *old) {
    const struct apiserver *server = call->server;
    const char *name = text_at(json_object_get(object, "metadata"), "name");
    struct schema_causes causes = {0};
    struct err err = {0};

    if (call->kind->schema && call->kind->prunes && unknown_fields(call, object) < 0)
        return ERR_INVALID;
    fill_kind(call, object, old);
    if (call->kind->schema) {
        schema_default(call->kind->schema, object);
        if (schema_validate(call->kind->schema, object, &causes) > 0)
            return refuse_invalid(&call->refusal, call->kind, name, &causes);
    }
    if (old && kind_validate_update(call->kind, object, old, &causes) > 0)
        return refuse_invalid(&call->refusal, call->kind, name, &causes);
    for (int i = 0; i < server->hook_count; i++) {
        const struct server_hook *hook = &server->hooks[i];

        if (strcmp(hook->group, call->kind->group) == 0 &&
            strcmp(hook->resource, call->kind->resource) == 0 &&
            hook->verdict(hook->arg, object, old, &err) < 0)
            return refuse_field(&call->refusal, call->kind, name, "FieldValueInvalid", "", "%s",
                                err.msg);
    }
    return 0;
}

/* The types of all metadata that the server itself reads. */
static int check_metadata(struct call *call, const json_t *metadata) {
    static const struct {
        const char *key;
        json_type type;
        json_type inner; /* of the elements */
    } rows[] = {
        {"name", JSON_STRING, JSON_NULL},
        {"namespace", JSON_STRING, JSON_NULL},
        {"generateName", JSON_STRING, JSON_NULL},
        {"resourceVersion", JSON_STRING, JSON_NULL},
        {"uid", JSON_STRING, JSON_NULL},
        {"labels", JSON_OBJECT, JSON_STRING},
        {"annotations", JSON_OBJECT, JSON_STRING},
        {"finalizers", JSON_ARRAY, JSON_STRING},
        {"ownerReferences", JSON_ARRAY, JSON_OBJECT},
        {"managedFields", JSON_ARRAY, JSON_OBJECT},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *value = json_object_get(metadata, rows[i].key);
        const char *key;
        json_t *inner;
        size_t k;
        bool fits = !value || json_is_null(value) || json_typeof(value) == rows[i].type;

        if (fits && json_is_array(value)) {
            json_array_foreach(value, k, inner) fits &= json_typeof(inner) == rows[i].inner;
        } else if (fits && json_is_object(value)) {
            json_object_foreach(value, key, inner) fits &= json_typeof(inner) == rows[i].inner;
        }
        if (!fits)
            return refuse_metadata(call, rows[i].key);
    }
    return 0;
}

static int refuse_metadata(struct call *call, const char *key) {
    return refuse(&call->refusal, 400, "BadRequest",
                  "%s in version \"%s\" cannot be handled as a %s: json: cannot unmarshal value "
                  "into Go struct field %s.metadata%s%s",
                  call->kind->name, call->kind->version, call->kind->name, call->kind->name,
                  *key != '\0' ? "." : "", key);
}

static int check_namespace(struct call *call, json_t *metadata) {
    const char *own = text_at(metadata, "namespace");
    const char *ns = call->route.ns;

    if (!call->kind->namespaced) {
        json_object_del(metadata, "namespace");
        return 0;
    }
    if (*own != '\0' && strcmp(own, ns) != 0)
        return refuse(&call->refusal, 400, "BadRequest",
                      "the namespace of the provided object does not match the namespace sent on "
                      "the request");
    json_object_set_new(metadata, "namespace", json_string(ns));
    if (!object_set_get(call->server->namespaces, "", ns))
        return refuse_unknown(&call->refusal, "", "namespaces", ns);
    if (garbage_is_ending(call->server, ns))
        return refuse(&call->refusal, 403, "Forbidden",
                      "%s%s%s \"%s\" is forbidden: unable to create new content in namespace %s "
                      "because it is being terminated",
                      call->kind->resource, *call->kind->group != '\0' ? "." : "",
                      call->kind->group, text_at(metadata, "name"), ns);
    return 0;
}

static int check_name(struct call *call, const char *name) {
    const char *group = call->kind->group;
    const char *resource = call->kind->resource;
    const bool label = *group == '\0' &&
                       (strcmp(resource, "namespaces") == 0 || strcmp(resource, "services") == 0);
    const size_t max = label ? LABEL_MAX_LEN : NAME_MAX_LEN;

    if (strlen(name) > max)
        return refuse_field(&call->refusal, call->kind, name, "FieldValueInvalid", "metadata.name",
                            "Invalid value: \"%s\": must be no more than %zu characters", name,
                            max);
    if (strcmp(group, "rbac.authorization.k8s.io") == 0) { /* system:node and the like */
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strpbrk(name, "/%"))
            return 0;
        return refuse_field(&call->refusal, call->kind, name, "FieldValueInvalid", "metadata.name",
                            "Invalid value: \"%s\": may not be '.', '..', or contain '/' or '%%'",
                            name);
    }
    if (is_dns_name(name, !label))
        return 0;
    if (label)
        return refuse_field(
            &call->refusal, call->kind, name, "FieldValueInvalid", "metadata.name",
            "Invalid value: \"%s\": a lowercase RFC 1123 label must consist of lower case "
            "alphanumeric characters or '-', and must start and end with an alphanumeric character "
            "(e.g. 'my-name',  or '123-abc', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            name);
    return refuse_field(
        &call->refusal, call->kind, name, "FieldValueInvalid", "metadata.name",
        "Invalid value: \"%s\": a lowercase RFC 1123 subdomain must consist of lower case "
        "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
        "character "
        "(e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        name);
}

/* Lower case letters, digits and dashes; a letter or digit at both ends of every part. */
static bool is_dns_name(const char *name, bool dots) {
    char before = '.';

    for (const char *at = name;; at++) {
        const bool end = *at == '\0' || (*at == '.' && dots);

        if ((end || *at == '-') && (before == '.' || (end && before == '-')))
            return false;
        if (*at == '\0')
            return true;
        if (!end && *at != '-' && !islower((unsigned char)*at) && !isdigit((unsigned char)*at))
            return false;
        before = *at;
    }
}

/* fieldValidation: Strict refuses, Warn (the default) says so, Ignore is silent. All drop. */
static int unknown_fields(struct call *call, json_t *object) {
    const char *mode = call->route.field_validation;
    struct schema_causes unknown = {0};
    struct str text;

    schema_prune(call->kind->schema, object, &unknown);
    if (unknown.count == 0 || strcmp(mode, "Ignore") == 0)
        return 0;
    const bool strict = strcmp(mode, "Strict") == 0;

    str_init(&text,
             strict ? REFUSAL_MAX_BYTES : WARNING_MAX_BYTES); /* what is beyond is left out */
    for (int i = 0; i < unknown.count && i < SCHEMA_CAUSES_MAX; i++)
        str_addf(&text, NULL, "%sunknown field \"%s\"", i > 0 ? ", " : "", unknown.at[i].field);
    if (strict)
        refuse(&call->refusal, 400, "BadRequest",
               "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
               call->kind->name, call->kind->version, call->kind->name, text.data);
    else if (!call->warning)
        call->warning = str_dup(text.data);
    str_done(&text);
    return strict ? ERR_INVALID : 0;
}

/* Built-in defaults that need the server's state, or a field that is never stored. */
static void fill_kind(struct call *call, json_t *object, const json_t *old) {
    if (*call->kind->group != '\0')
        return;
    if (strcmp(call->kind->resource, "secrets") == 0)
        fill_secret(object);
    else if (strcmp(call->kind->resource, "services") == 0)
        fill_service(call->server, object, old);
    else if (strcmp(call->kind->resource, "namespaces") == 0)
        fill_namespace(object, old);
    else if (strcmp(call->kind->resource, "pods") == 0 && !old)
        json_object_set_new(object, "status", json_pack("{s:s}", "phase", "Pending"));
}

static void fill_secret(json_t *secret) {
    json_t *plain = json_object_get(secret, "stringData");
    const char *key;
    json_t *value;

    set_absent(secret, "type", json_string("Opaque"));
    if (!json_is_object(plain))
        return;
    set_absent(secret, "data", json_object());
    json_object_foreach(plain, key, value) {
        const char *text = json_string_value(value);
        struct str encoded;

        str_init(&encoded, 2 * OBJECT_MAX_BYTES);
        if (text && base64_encode(&encoded, text, json_string_length(value), NULL) == 0)
            json_object_set_new(json_object_get(secret, "data"), key,
                                json_string(encoded.data ? encoded.data : ""));
        str_done(&encoded);
    }
    json_object_del(secret, "stringData");
}

static void fill_service(struct apiserver *server, json_t *service, const json_t *old) {
    json_t *spec = json_object_get(service, "spec");
    const json_t *old_spec = json_object_get(old, "spec");

    if (!json_is_object(spec))
        return;
    set_absent(spec, "type", json_string("ClusterIP"));
    const char *type = text_at(spec, "type");

    if (strcmp(type, "ExternalName") == 0)
        return;
    if (*text_at(spec, "clusterIP") == '\0') {
        const char *kept = text_at(old_spec, "clusterIP");
        const unsigned at = server->service_count % SERVICE_ADDRESSES;
        char address[24];

        snprintf(address, sizeof address, "10.96.%u.%u", at / 256, at % 256);
        if (*kept == '\0')
            server->service_count++;
        json_object_set_new(spec, "clusterIP", json_string(*kept != '\0' ? kept : address));
    }
    json_object_set_new(spec, "clusterIPs", json_pack("[s]", text_at(spec, "clusterIP")));
    set_absent(spec, "ipFamilies", json_pack("[s]", "IPv4"));
    set_absent(spec, "ipFamilyPolicy", json_string("SingleStack"));
    set_absent(spec, "internalTrafficPolicy", json_string("Cluster"));
    set_absent(spec, "sessionAffinity", json_string("None"));
    if (strcmp(type, "NodePort") == 0 || strcmp(type, "LoadBalancer") == 0)
        fill_ports(server, spec, old_spec);
}

static void fill_ports(struct apiserver *server, json_t *spec, const json_t *old_spec) {
    const json_t *old_ports = json_object_get(old_spec, "ports");
    size_t i;
    json_t *port;

    set_absent(spec, "externalTrafficPolicy", json_string("Cluster"));
    json_array_foreach(json_object_get(spec, "ports"), i, port) {
        json_t *kept = json_object_get(json_array_get(old_ports, i), "nodePort");

        if (!json_is_object(port) || json_integer_value(json_object_get(port, "nodePort")) > 0)
            continue;
        if (kept)
            json_object_set(port, "nodePort", kept);
        else
            json_object_set_new(
                port, "nodePort",
                json_integer(NODE_PORT_FIRST + server->service_count++ % NODE_PORTS));
    }
}

static void fill_namespace(json_t *namespace, const json_t *old) {
    json_t *metadata = json_object_get(namespace, "metadata");

    set_absent(metadata, "labels", json_object());
    json_object_set(json_object_get(metadata, "labels"), "kubernetes.io/metadata.name",
                    json_object_get(metadata, "name"));
    if (old) /* only the finalize subresource and the end of its content change them */
        json_object_set(namespace, "spec", json_object_get(old, "spec"));
    else
        json_object_set_new(namespace, "spec", json_pack("{s:[s]}", "finalizers", "kubernetes"));
    if (!old)
        json_object_set_new(namespace, "status", json_pack("{s:s}", "phase", "Active"));
}

/* Takes value over. */
static void set_absent(json_t *object, const char *key, json_t *value) {
    const json_t *now = json_object_get(object, key);

    if (!now || json_is_null(now))
        json_object_set(object, key, value);
    json_decref(value);
}

static const char *text_at(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}
