/* schema_node.h - the compiled form of a schema, shared by schema.c and schema_validate.c only.
 *
 * Ownership: every node owns its children and its pattern; names and values are borrowed from the
 *            OpenAPI document, of which the root node holds a reference.
 */
#ifndef BULKHEAD_APISERVER_SCHEMA_NODE_H
#define BULKHEAD_APISERVER_SCHEMA_NODE_H

#include "apiserver/pattern.h"
#include "apiserver/schema.h"

#include <stdint.h>

enum schema_type {
    SCHEMA_ANY,
    SCHEMA_OBJECT,
    SCHEMA_ARRAY,
    SCHEMA_STRING,
    SCHEMA_INTEGER,
    SCHEMA_NUMBER,
    SCHEMA_BOOLEAN,
    SCHEMA_INT_OR_STRING,
};

enum schema_format {
    SCHEMA_FORMAT_NONE,
    SCHEMA_FORMAT_INT32,
    SCHEMA_FORMAT_INT64,
    SCHEMA_FORMAT_DATE_TIME,
    SCHEMA_FORMAT_DATE,
    SCHEMA_FORMAT_DURATION,
    SCHEMA_FORMAT_BYTE,
    SCHEMA_FORMAT_UUID,
    SCHEMA_FORMAT_IPV4,
    SCHEMA_FORMAT_IPV6,
};

struct schema_field {
    const char *name;
    struct schema *schema;
};

/* The schemas of anyOf, oneOf or allOf. */
struct schema_choice {
    struct schema **at;
    int count;
};

/* -1 stands for no bound in counts and lengths. */
struct schema {
    json_t *openapi; /* owned by the root, borrowed by every other node */
    bool is_root;
    enum schema_type type;
    enum schema_format format;
    const char *format_name;
    bool nullable;
    bool keeps_unknown;
    bool is_embedded; /* x-kubernetes-embedded-resource */
    bool atomic_map;
    bool allows_any; /* additionalProperties: true */
    enum schema_list list;
    const char *keys[SCHEMA_KEYS_MAX];
    struct schema_field *fields; /* sorted by name */
    int field_count;
    struct schema *items; /* of a list, or additionalProperties */
    const json_t *required;
    const json_t *values; /* enum */
    const json_t *preset; /* default */
    const json_t *minimum;
    const json_t *maximum;
    const json_t *multiple_of;
    bool exclusive_minimum;
    bool exclusive_maximum;
    int64_t length_min;
    int64_t length_max;
    int64_t items_min;
    int64_t items_max;
    int64_t fields_min;
    int64_t fields_max;
    struct pattern *pattern;
    struct schema_choice any_of;
    struct schema_choice one_of;
    struct schema_choice all_of;
    struct schema *none_of; /* not */
    const struct schema_extra *extra;
};

/* Whether this text has the format; a format without rules is always had. */
bool schema_format_holds(enum schema_format format, const char *text);

/* The format of this name; SCHEMA_FORMAT_NONE if it is not one that is checked. */
enum schema_format schema_format_named(const char *name);

#endif
