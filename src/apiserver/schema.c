#include "apiserver/schema.h"

#include "apiserver/schema_node.h"
#include "base/auto.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64     /* schemas inside one another */
#define NODES_MAX 100000 /* schemas in one document */
#define PATH_MAX_BYTES 256

/* Where the compiler stands. */
struct compile {
    char path[PATH_MAX_BYTES];
    int depth;
    int node_count;
    bool in_choice; /* below anyOf, oneOf, allOf or not: values only, no structure of its own */
};

static int compile_node(struct compile *at, const json_t *openapi, struct schema **ret_schema,
                        struct err *err);

int schema_new(const json_t *openapi, struct schema **ret_schema, struct err *err) {
    struct compile at = {.path = "schema.openAPIV3Schema"};
    struct schema *schema = NULL;
    json_t *copy = json_deep_copy(openapi);
    int r = compile_node(&at, copy, &schema, err);

    if (r < 0) {
        json_decref(copy);
        return r;
    }
    schema->is_root = true;
    *ret_schema = schema;
    return 0;
}

static void choice_done(struct schema_choice *choice) {
    for (int i = 0; i < choice->count; i++)
        schema_free(choice->at[i]);
    free(choice->at);
}

void schema_free(struct schema *schema) {
    if (!schema)
        return;
    for (int i = 0; i < schema->field_count; i++)
        schema_free(schema->fields[i].schema);
    free(schema->fields);
    schema_free(schema->items);
    choice_done(&schema->any_of);
    choice_done(&schema->one_of);
    choice_done(&schema->all_of);
    schema_free(schema->none_of);
    pattern_free(schema->pattern);
    if (schema->is_root)
        json_decref(schema->openapi);
    free(schema);
}

static int by_name(const void *a, const void *b) {
    const struct schema_field *x = a;
    const struct schema_field *y = b;

    return strcmp(x->name, y->name);
}

const struct schema *schema_property(const struct schema *schema, const char *name) {
    const struct schema_field key = {.name = name};
    const struct schema_field *field;

    if (!schema)
        return NULL;
    if (schema->field_count) {
        field = bsearch(&key, schema->fields, (size_t)schema->field_count, sizeof(key), by_name);
        if (field)
            return field->schema;
    }
    return schema->type == SCHEMA_OBJECT ? schema->items : NULL;
}

const struct schema *schema_items(const struct schema *schema) {
    return schema ? schema->items : NULL;
}

enum schema_list schema_list_kind(const struct schema *schema,
                                  const char *ret_keys[SCHEMA_KEYS_MAX]) {
    for (int i = 0; i < SCHEMA_KEYS_MAX; i++)
        ret_keys[i] = schema ? schema->keys[i] : NULL;
    return schema ? schema->list : SCHEMA_LIST_ATOMIC;
}

bool schema_is_atomic_map(const struct schema *schema) {
    return schema && schema->atomic_map;
}

/* A null where null is no value counts as absent, as the real server has it. */
static bool is_absent(const struct schema *schema, const json_t *value) {
    return !value || (json_is_null(value) && !schema->nullable);
}

static void fill_fields(const struct schema *schema, json_t *object) {
    for (int i = 0; i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        json_t *value = json_object_get(object, field->name);

        if (is_absent(field->schema, value)) {
            if (value)
                json_object_del(object, field->name);
            if (field->schema->preset)
                json_object_set_new(object, field->name, json_deep_copy(field->schema->preset));
            value = json_object_get(object, field->name);
        }
        if (value)
            schema_default(field->schema, value);
    }
}

void schema_default(const struct schema *schema, json_t *object) {
    if (!schema)
        return;
    if (json_is_object(object)) {
        fill_fields(schema, object);
        if (schema->items && schema->type == SCHEMA_OBJECT) {
            const char *key;
            json_t *value;
            void *next;

            json_object_foreach_safe(object, next, key, value) {
                if (schema_property(schema, key) != schema->items)
                    continue;
                if (is_absent(schema->items, value))
                    json_object_del(object, key);
                else
                    schema_default(schema->items, value);
            }
        }
    } else if (json_is_array(object) && schema->items) {
        for (size_t i = 0; i < json_array_size(object); i++)
            schema_default(schema->items, json_array_get(object, i));
    }
    if (schema->extra && schema->extra->fill)
        schema->extra->fill(object);
}

static bool stays(const struct schema *schema, const char *key) {
    return (schema->is_root || schema->is_embedded) &&
           (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0 ||
            strcmp(key, "metadata") == 0);
}

static void prune_at(const struct schema *schema, json_t *value, const char *path,
                     struct schema_causes *causes);

static void prune_object(const struct schema *schema, json_t *object, const char *path,
                         struct schema_causes *causes) {
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value) {
        const struct schema *child = schema_property(schema, key);
        char at[PATH_MAX_BYTES];

        snprintf(at, sizeof(at), "%s%s%s", path, *path ? "." : "", key);
        if (stays(schema, key)) {
            /* The server's own rules hold for these, whatever the schema says. */
            continue;
        }
        if (child) {
            prune_at(child, value, at, causes);
        } else if (!schema->keeps_unknown && !schema->allows_any) {
            schema_cause_add(causes, "FieldValueInvalid", at, "unknown field \"%s\"", at);
            json_object_del(object, key);
        }
    }
}

static void prune_at(const struct schema *schema, json_t *value, const char *path,
                     struct schema_causes *causes) {
    if (json_is_object(value)) {
        prune_object(schema, value, path, causes);
    } else if (json_is_array(value) && schema->items) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            char at[PATH_MAX_BYTES];

            snprintf(at, sizeof(at), "%s[%zu]", path, i);
            prune_at(schema->items, json_array_get(value, i), at, causes);
        }
    }
}

void schema_prune(const struct schema *schema, json_t *object, struct schema_causes *causes) {
    if (schema)
        prune_at(schema, object, "", causes);
}

const json_t *schema_openapi(const struct schema *schema) {
    return schema ? schema->openapi : NULL;
}

void schema_extend(struct schema *schema, const struct schema_extra *extra) {
    schema->extra = extra;
}

void schema_cause_add(struct schema_causes *causes, const char *reason, const char *field,
                      const char *fmt, ...) {
    struct schema_cause *cause;
    va_list args;

    if (!causes || causes->count++ >= SCHEMA_CAUSES_MAX)
        return;
    cause = &causes->at[causes->count - 1];
    cause->reason = reason;
    snprintf(cause->field, sizeof(cause->field), "%s", field);
    va_start(args, fmt);
    vsnprintf(cause->message, sizeof(cause->message), fmt, args);
    va_end(args);
}

static int refuse(const struct compile *at, struct err *err, const char *words) {
    return err_set(err, ERR_INVALID, "%.120s.%s", at->path, words);
}

/* Compiles what stands one step below; the path is as before afterwards. */
static int descend(struct compile *at, const char *step, const json_t *openapi,
                   struct schema **ret_schema, struct err *err) {
    const size_t len = strlen(at->path);
    int r;

    snprintf(at->path + len, sizeof(at->path) - len, "%s", step);
    r = compile_node(at, openapi, ret_schema, err);
    at->path[len] = '\0';
    return r;
}

static int read_type(const struct compile *at, struct schema *schema, struct err *err) {
    static const char *const names[] = {"",        "object", "array",   "string",
                                        "integer", "number", "boolean", NULL};
    const json_t *type = json_object_get(schema->openapi, "type");

    if (json_is_true(json_object_get(schema->openapi, "x-kubernetes-int-or-string"))) {
        schema->type = SCHEMA_INT_OR_STRING;
        return 0;
    }
    if (!type || (json_is_string(type) && !*json_string_value(type))) {
        if (!at->in_choice && !schema->keeps_unknown)
            return refuse(at, err,
                          "type: Required value: must not be empty for specified object fields");
        return 0;
    }
    for (int i = SCHEMA_OBJECT; json_is_string(type) && names[i]; i++)
        if (strcmp(json_string_value(type), names[i]) == 0)
            schema->type = (enum schema_type)i;
    return schema->type == SCHEMA_ANY ? refuse(at, err, "type: Unsupported value") : 0;
}

/* A count or length of 0 or more; -1 if there is none. */
static int read_bound(const struct compile *at, const json_t *openapi, const char *key,
                      int64_t *ret_bound, struct err *err) {
    const json_t *value = json_object_get(openapi, key);
    char words[80];

    *ret_bound = -1;
    if (!value || json_is_null(value))
        return 0;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *ret_bound = json_integer_value(value);
        return 0;
    }
    snprintf(words, sizeof(words), "%s: must be a whole number of 0 or more", key);
    return refuse(at, err, words);
}

static int read_bounds(const struct compile *at, struct schema *schema, struct err *err) {
    const json_t *o = schema->openapi;
    int r;

    if ((r = read_bound(at, o, "minLength", &schema->length_min, err)) < 0 ||
        (r = read_bound(at, o, "maxLength", &schema->length_max, err)) < 0 ||
        (r = read_bound(at, o, "minItems", &schema->items_min, err)) < 0 ||
        (r = read_bound(at, o, "maxItems", &schema->items_max, err)) < 0 ||
        (r = read_bound(at, o, "minProperties", &schema->fields_min, err)) < 0 ||
        (r = read_bound(at, o, "maxProperties", &schema->fields_max, err)) < 0)
        return r;
    schema->minimum = json_object_get(o, "minimum");
    schema->maximum = json_object_get(o, "maximum");
    schema->multiple_of = json_object_get(o, "multipleOf");
    schema->exclusive_minimum = json_is_true(json_object_get(o, "exclusiveMinimum"));
    schema->exclusive_maximum = json_is_true(json_object_get(o, "exclusiveMaximum"));
    if ((schema->minimum && !json_is_number(schema->minimum)) ||
        (schema->maximum && !json_is_number(schema->maximum)) ||
        (schema->multiple_of &&
         (!json_is_number(schema->multiple_of) || json_number_value(schema->multiple_of) <= 0)))
        return refuse(at, err, "minimum, maximum, multipleOf: must be a number");
    return 0;
}

static int read_values(const struct compile *at, struct schema *schema, struct err *err) {
    const json_t *pattern = json_object_get(schema->openapi, "pattern");
    const char *format = json_string_value(json_object_get(schema->openapi, "format"));
    struct err inner = {0};

    schema->required = json_object_get(schema->openapi, "required");
    schema->values = json_object_get(schema->openapi, "enum");
    schema->preset = json_object_get(schema->openapi, "default");
    schema->nullable = json_is_true(json_object_get(schema->openapi, "nullable"));
    if ((schema->required && !json_is_array(schema->required)) ||
        (schema->values && !json_is_array(schema->values)))
        return refuse(at, err, "required, enum: must be a list");
    if (at->in_choice &&
        (schema->preset || schema->nullable || json_object_get(schema->openapi, "description")))
        return refuse(at, err,
                      "description, default, nullable: Forbidden: must be empty to be structural");
    if (format) {
        schema->format = schema_format_named(format);
        schema->format_name = format;
    }
    if (json_is_string(pattern) && *json_string_value(pattern) &&
        pattern_new(json_string_value(pattern), &schema->pattern, &inner) < 0)
        return err_set(err, ERR_INVALID, "%.80s.pattern: Invalid value: \"%.60s\": %s", at->path,
                       json_string_value(pattern), inner.msg);
    return 0;
}

static int read_list_kind(const struct compile *at, struct schema *schema, struct err *err) {
    const char *kind =
        json_string_value(json_object_get(schema->openapi, "x-kubernetes-list-type"));
    const char *map = json_string_value(json_object_get(schema->openapi, "x-kubernetes-map-type"));
    const json_t *keys = json_object_get(schema->openapi, "x-kubernetes-list-map-keys");

    schema->atomic_map = map && strcmp(map, "atomic") == 0;
    if (!kind || strcmp(kind, "atomic") == 0)
        return 0;
    if (schema->type != SCHEMA_ARRAY)
        return refuse(at, err, "x-kubernetes-list-type: must be on type array");
    if (strcmp(kind, "set") == 0) {
        schema->list = SCHEMA_LIST_SET;
        return 0;
    }
    if (strcmp(kind, "map") != 0)
        return refuse(at, err, "x-kubernetes-list-type: must be one of atomic, set, map");
    schema->list = SCHEMA_LIST_MAP;
    if (json_array_size(keys) == 0 || json_array_size(keys) > SCHEMA_KEYS_MAX)
        return refuse(at, err, "x-kubernetes-list-map-keys: Required value: 1 to 4 keys");
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));

        schema->keys[i] = key;
        if (!key || !schema->items || !schema_property(schema->items, key))
            return refuse(at, err, "x-kubernetes-list-map-keys: must name a property of the items");
    }
    return 0;
}

static int read_fields(struct compile *at, struct schema *schema, struct err *err) {
    const json_t *properties = json_object_get(schema->openapi, "properties");
    const char *name;
    const json_t *value;
    void *next = NULL;
    int r;

    if (properties && !json_is_object(properties))
        return refuse(at, err, "properties: must be an object");
    if (json_object_size(properties) == 0)
        return 0;
    schema->fields = str_alloc(json_object_size(properties), sizeof(*schema->fields));
    for (next = json_object_iter((json_t *)(uintptr_t)properties); next;
         next = json_object_iter_next((json_t *)(uintptr_t)properties, next)) {
        auto_free char *step = NULL;

        name = json_object_iter_key(next);
        value = json_object_iter_value(next);
        step = str_printf(".properties[%s]", name);
        schema->fields[schema->field_count].name = name;
        r = descend(at, step, value, &schema->fields[schema->field_count].schema, err);
        if (r < 0)
            return r;
        schema->field_count++;
    }
    qsort(schema->fields, (size_t)schema->field_count, sizeof(*schema->fields), by_name);
    return 0;
}

static int read_items(struct compile *at, struct schema *schema, struct err *err) {
    const json_t *items = json_object_get(schema->openapi, "items");
    const json_t *more = json_object_get(schema->openapi, "additionalProperties");

    if (json_is_true(more))
        schema->allows_any = true;
    if (json_is_object(more) && schema->field_count)
        return refuse(
            at, err,
            "additionalProperties: Forbidden: additionalProperties and properties are mutual "
            "exclusive");
    if (schema->type == SCHEMA_ARRAY && !items && !at->in_choice)
        return refuse(at, err, "items: Required value: must be specified");
    if (items)
        return descend(at, ".items", items, &schema->items, err);
    if (json_is_object(more))
        return descend(at, ".additionalProperties", more, &schema->items, err);
    return 0;
}

static int read_choice(struct compile *at, const char *key, const struct schema *schema,
                       struct schema_choice *ret_choice, struct err *err) {
    const json_t *list = json_object_get(schema->openapi, key);
    int r;

    if (!list)
        return 0;
    if (!json_is_array(list))
        return refuse(at, err, "anyOf, oneOf, allOf: must be a list");
    ret_choice->at = str_alloc(json_array_size(list) + 1, sizeof(*ret_choice->at));
    for (size_t i = 0; i < json_array_size(list); i++) {
        char step[32];

        snprintf(step, sizeof(step), ".%s[%zu]", key, i);
        r = descend(at, step, json_array_get(list, i), &ret_choice->at[i], err);
        if (r < 0)
            return r;
        ret_choice->count++;
    }
    return 0;
}

static int read_choices(struct compile *at, struct schema *schema, struct err *err) {
    const json_t *not_schema = json_object_get(schema->openapi, "not");
    const bool was = at->in_choice;
    int r;

    at->in_choice = true;
    if ((r = read_choice(at, "anyOf", schema, &schema->any_of, err)) < 0 ||
        (r = read_choice(at, "oneOf", schema, &schema->one_of, err)) < 0 ||
        (r = read_choice(at, "allOf", schema, &schema->all_of, err)) < 0 ||
        (r = not_schema ? descend(at, ".not", not_schema, &schema->none_of, err) : 0) < 0)
        return r;
    at->in_choice = was;
    return 0;
}

static int read_node(struct compile *at, struct schema *schema, struct err *err) {
    const json_t *o = schema->openapi;
    int r;

    schema->keeps_unknown =
        json_is_true(json_object_get(o, "x-kubernetes-preserve-unknown-fields"));
    schema->is_embedded = json_is_true(json_object_get(o, "x-kubernetes-embedded-resource"));
    if (json_is_true(json_object_get(o, "uniqueItems")))
        return refuse(at, err,
                      "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
                      "complexity becomes quadratic");
    if (json_object_get(o, "$ref"))
        return refuse(at, err, "$ref: Forbidden: $ref is not supported");
    if ((r = read_type(at, schema, err)) < 0 || (r = read_values(at, schema, err)) < 0 ||
        (r = read_bounds(at, schema, err)) < 0 || (r = read_fields(at, schema, err)) < 0 ||
        (r = read_items(at, schema, err)) < 0 || (r = read_list_kind(at, schema, err)) < 0)
        return r;
    if (schema->is_embedded && !schema->keeps_unknown && schema->field_count == 0)
        return refuse(at, err,
                      "properties: Required value: must not be empty if "
                      "x-kubernetes-embedded-resource is true without "
                      "x-kubernetes-preserve-unknown-fields");
    return read_choices(at, schema, err);
}

/* A default, with the defaults inside it filled in, must be a valid value itself. */
static int check_preset(const struct compile *at, const struct schema *schema, struct err *err) {
    json_auto_t *preset = schema->preset ? json_deep_copy(schema->preset) : NULL;
    auto_free struct schema_causes *causes = NULL;

    if (!preset)
        return 0;
    causes = str_alloc(1, sizeof(*causes));
    schema_prune(schema, preset, causes);
    if (causes->count)
        return refuse(at, err, "default: Invalid value: must not have unknown fields");
    schema_default(schema, preset);
    if (schema_validate(schema, preset, causes) == 0)
        return 0;
    return err_set(err, ERR_INVALID, "%.120s.default%s%.20s: %.80s", at->path,
                   *causes->at[0].field ? "." : "", causes->at[0].field, causes->at[0].message);
}

static int compile_node(struct compile *at, const json_t *openapi, struct schema **ret_schema,
                        struct err *err) {
    struct schema *schema;
    int r;

    if (!json_is_object(openapi))
        return err_set(err, ERR_INVALID, "%.120s: must be a schema", at->path);
    if (at->depth >= DEPTH_MAX || at->node_count >= NODES_MAX)
        return err_set(err, ERR_INVALID, "%.120s: too deep or too large a schema", at->path);
    at->depth++;
    at->node_count++;
    schema = str_alloc(1, sizeof(*schema));
    schema->openapi = (json_t *)(uintptr_t)openapi;
    r = read_node(at, schema, err);
    r = r < 0 ? r : check_preset(at, schema, err);
    at->depth--;
    if (r < 0) {
        schema_free(schema);
        return r;
    }
    *ret_schema = schema;
    return 0;
}
