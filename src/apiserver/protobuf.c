#include "apiserver/protobuf.h"

#include "apiserver/protobuf_types.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAST_SECOND INT64_C(253402300799) /* of the year 9999 */

/* What is left of a message. */
struct wire {
    const uint8_t *at;
    const uint8_t *end;
};

/* One field as it is sent: a number, or bytes. */
struct wire_value {
    unsigned number;
    bool is_number;
    uint64_t value;
    struct wire bytes;
};

/* One field of the table. */
struct field {
    const char *name;
    size_t name_len;
    const char *type;
    size_t type_len;
    bool list;
    bool map;
    bool keeps_empty;
    bool inlined;
};

static int wire_next(struct wire *wire, struct wire_value *ret_value);
static int wire_varint(struct wire *wire, uint64_t *ret_value);
static bool find_field(const char *fields, unsigned number, struct field *ret_field);
static int read_message(struct wire wire, const char *fields, int depth, json_t *object);
static int read_field(const struct field *field, const struct wire_value *value, int depth,
                      json_t *object);
static int read_map(const struct field *field, const struct wire_value *value, int depth,
                    json_t *object, const char *name);
static int read_value(const struct field *field, const struct wire_value *value, int depth,
                      json_t **ret_json);
static json_t *text_new(const struct wire_value *value);
static json_t *bytes_new(const struct wire_value *value);
static json_t *time_new(const struct wire_value *value);
static json_t *quantity_new(const struct wire_value *value);
static json_t *either_new(const struct wire_value *value);
static bool is_empty(const json_t *json);
static char *text_of(struct wire bytes);

int protobuf_read(const char *bytes, size_t size_bytes, json_t **ret_object, struct err *err) {
    struct wire wire = {(const uint8_t *)bytes, (const uint8_t *)bytes + size_bytes};
    struct wire raw = {0};
    struct wire_value value;
    auto_free char *api_version = NULL;
    auto_free char *kind = NULL;
    int r;

    if (size_bytes < 4 || memcmp(bytes, "k8s", 4) != 0)
        return err_set(err, ERR_INVALID, "not a protobuf body");
    wire.at += 4;
    while ((r = wire_next(&wire, &value)) > 0) {
        if (value.number == 2 && !value.is_number)
            raw = value.bytes;
        while (value.number == 1 && !value.is_number) {
            struct wire_value part;

            r = wire_next(&value.bytes, &part);
            if (r <= 0)
                break;
            char **text = part.number == 1 ? &api_version : part.number == 2 ? &kind : NULL;

            if (text && !part.is_number && !*text)
                *text = text_of(part.bytes);
        }
        if (r < 0)
            break;
    }
    if (r < 0 || !kind || !api_version)
        return err_set(err, ERR_INVALID, "the protobuf envelope is broken");
    const char *fields = protobuf_fields(kind, strlen(kind));

    if (!fields)
        return err_set(err, ERR_NOTFOUND, "%.60s is not known in protobuf form", kind);
    json_t *object = json_pack("{s:s, s:s}", "apiVersion", api_version, "kind", kind);

    if (!object || read_message(raw, fields, 0, object) < 0) {
        json_decref(object);
        return err_set(err, ERR_INVALID, "the protobuf message of a %.60s is broken", kind);
    }
    *ret_object = object;
    return 0;
}

/* Returns 1 with the next field, 0 at the end, ERR_INVALID if it is broken. */
static int wire_next(struct wire *wire, struct wire_value *ret_value) {
    uint64_t key = 0;
    uint64_t size = 0;

    if (wire->at == wire->end)
        return 0;
    if (wire_varint(wire, &key) < 0 || key >> 3 > 0xffff)
        return ERR_INVALID;
    *ret_value = (struct wire_value){.number = (unsigned)(key >> 3), .is_number = true};
    if ((key & 7) == 0)
        return wire_varint(wire, &ret_value->value) < 0 ? ERR_INVALID : 1;
    if ((key & 7) == 2) {
        ret_value->is_number = false;
        if (wire_varint(wire, &size) < 0)
            return ERR_INVALID;
    } else if ((key & 7) == 1 || (key & 7) == 5) {
        size = (key & 7) == 1 ? 8 : 4;
    } else {
        return ERR_INVALID;
    }
    if (size > (uint64_t)(wire->end - wire->at))
        return ERR_INVALID;
    ret_value->bytes = (struct wire){wire->at, wire->at + size};
    wire->at += size;
    return 1;
}

static int wire_varint(struct wire *wire, uint64_t *ret_value) {
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        const uint8_t byte = *wire->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return 0;
        }
    }
    return ERR_INVALID;
}

static bool find_field(const char *fields, unsigned number, struct field *ret_field) {
    for (const char *at = fields; *at != '\0';) {
        char *name = NULL;
        const bool found = strtoul(at, &name, 10) == number;
        const char *type = strchr(++name, ':');
        const size_t rest = strcspn(type, " ");

        if (found) {
            *ret_field = (struct field){.name = name, .name_len = (size_t)(type - name)};
            for (type++; strchr("*%!^", *type); type++) {
                ret_field->list |= *type == '*';
                ret_field->map |= *type == '%';
                ret_field->keeps_empty |= *type == '!';
                ret_field->inlined |= *type == '^';
            }
            ret_field->type = type;
            ret_field->type_len = strcspn(type, " ");
            return true;
        }
        at = type + rest;
        at += *at == ' ';
    }
    return false;
}

static int read_message(struct wire wire, const char *fields, int depth, json_t *object) {
    struct wire_value value;
    struct field field;
    int r;

    if (depth > PROTOBUF_DEPTH_MAX || !fields)
        return ERR_INVALID;
    while ((r = wire_next(&wire, &value)) > 0) {
        if (!find_field(fields, value.number, &field))
            continue;
        r = field.inlined ? read_message(value.bytes, protobuf_fields(field.type, field.type_len),
                                         depth + 1, object)
                          : read_field(&field, &value, depth, object);
        if (r < 0)
            return r;
    }
    return r;
}

static int read_field(const struct field *field, const struct wire_value *value, int depth,
                      json_t *object) {
    auto_free char *name = str_dup_len(field->name, field->name_len);
    json_t *json = NULL;

    if (field->map)
        return read_map(field, value, depth, object, name);
    if (read_value(field, value, depth, &json) < 0)
        return ERR_INVALID;
    if (field->list) {
        if (!json_object_get(object, name))
            json_object_set_new(object, name, json_array());
        return json_array_append_new(json_object_get(object, name), json) < 0 ? ERR_INVALID : 0;
    }
    if (!field->keeps_empty && is_empty(json)) {
        json_decref(json);
        return 0;
    }
    return json_object_set_new(object, name, json) < 0 ? ERR_INVALID : 0;
}

/* An entry of a map is a message of a key and a value. */
static int read_map(const struct field *field, const struct wire_value *value, int depth,
                    json_t *object, const char *name) {
    struct wire entry = value->bytes;
    struct wire_value part;
    auto_free char *key = NULL;
    json_t *json = NULL;
    int r;

    while ((r = wire_next(&entry, &part)) > 0) {
        if (part.number == 1 && !part.is_number && !key)
            key = text_of(part.bytes);
        if (part.number == 2 && !json && read_value(field, &part, depth, &json) < 0)
            return ERR_INVALID;
    }
    if (!json)
        json = json_string("");
    if (r < 0 || !key) {
        json_decref(json);
        return ERR_INVALID;
    }
    if (!json_object_get(object, name))
        json_object_set_new(object, name, json_object());
    return json_object_set_new(json_object_get(object, name), key, json) < 0 ? ERR_INVALID : 0;
}

static int read_value(const struct field *field, const struct wire_value *value, int depth,
                      json_t **ret_json) {
    json_t *json = NULL;
    const char type = field->type_len == 1 ? *field->type : 'M';

    if (value->is_number != (type == 'i' || type == 'b'))
        return ERR_INVALID;
    switch (type) {
    case 's':
        json = text_new(value);
        break;
    case 'i':
        json = json_integer((json_int_t)value->value);
        break;
    case 'b':
        json = json_boolean(value->value != 0);
        break;
    case 'y':
        json = bytes_new(value);
        break;
    case 't':
        json = time_new(value);
        break;
    case 'q':
        json = quantity_new(value);
        break;
    case 'o':
        json = either_new(value);
        break;
    default:
        json = json_object();
        if (read_message(value->bytes, protobuf_fields(field->type, field->type_len), depth + 1,
                         json) < 0) {
            json_decref(json);
            return ERR_INVALID;
        }
    }
    if (!json)
        return ERR_INVALID;
    *ret_json = json;
    return 0;
}

/* NULL for what is no UTF-8, or holds a NUL. */
static json_t *text_new(const struct wire_value *value) {
    const size_t size_bytes = (size_t)(value->bytes.end - value->bytes.at);

    if (size_bytes > 0 && memchr(value->bytes.at, '\0', size_bytes))
        return NULL;
    return json_stringn((const char *)value->bytes.at, size_bytes);
}

static json_t *bytes_new(const struct wire_value *value) {
    const size_t size_bytes = (size_t)(value->bytes.end - value->bytes.at);
    struct str text;

    str_init(&text, size_bytes * 2 + 8);
    base64_encode(&text, value->bytes.at, size_bytes, NULL);
    json_t *json = json_string(text.data ? text.data : "");

    str_done(&text);
    return json;
}

/* Seconds since the epoch; none is no time, which counts as empty. */
static json_t *time_new(const struct wire_value *value) {
    struct wire wire = value->bytes;
    struct wire_value part;
    int64_t seconds = 0;
    char text[32];
    struct tm parts;
    int r;

    while ((r = wire_next(&wire, &part)) > 0) {
        if (part.number == 1 && part.is_number)
            seconds = (int64_t)part.value;
    }
    if (r < 0 || seconds < 0 || seconds > LAST_SECOND)
        return NULL;
    const time_t at = (time_t)seconds;

    gmtime_r(&at, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(seconds > 0 ? text : "");
}

static json_t *quantity_new(const struct wire_value *value) {
    struct wire wire = value->bytes;
    struct wire_value part;

    if (wire_next(&wire, &part) <= 0 || part.number != 1 || part.is_number)
        return NULL;
    return text_new(&part);
}

/* A message of a type (0 number, 1 text), a number and a text. */
static json_t *either_new(const struct wire_value *value) {
    struct wire wire = value->bytes;
    struct wire_value part;
    uint64_t type = 0;
    int64_t number = 0;
    json_t *text = NULL;
    int r;

    while ((r = wire_next(&wire, &part)) > 0) {
        if (part.number == 1 && part.is_number)
            type = part.value;
        else if (part.number == 2 && part.is_number)
            number = (int64_t)part.value;
        else if (part.number == 3 && !part.is_number && !text)
            text = text_new(&part);
    }
    if (r == 0 && type == 0 && (!text || json_string_length(text) == 0)) {
        json_decref(text);
        return json_integer(number);
    }
    return text;
}

static bool is_empty(const json_t *json) {
    return (json_is_string(json) && json_string_length(json) == 0) ||
           (json_is_integer(json) && json_integer_value(json) == 0) || json_is_false(json) ||
           (json_is_object(json) && json_object_size(json) == 0);
}

static char *text_of(struct wire bytes) {
    return str_dup_len((const char *)bytes.at, (size_t)(bytes.end - bytes.at));
}
