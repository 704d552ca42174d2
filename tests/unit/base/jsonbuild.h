/* jsonbuild.h - the decoder under test against jansson: both accept with equal values, or both
 * refuse. Shared by the unit test and the fuzzer.
 *
 * Deviations, each on purpose; a document that meets one is not compared further:
 *  - jansson refuses a whole number outside int64 and a real outside double wherever it stands; the
 *    decoder refuses it when it is read, so that one hostile field does not lose the whole list.
 *  - jansson refuses U+0000 in keys always and in values by default; the decoder passes over both
 *    and refuses to copy them into a C string.
 *  - jansson nests 2048 deep, the decoder JSONPULL_DEPTH_MAX.
 *  - jansson 2.14 loses a NUL byte that stands right after a number; the decoder refuses a NUL
 *    byte wherever it stands.
 */
#ifndef BULKHEAD_TESTS_JSONBUILD_H
#define BULKHEAD_TESTS_JSONBUILD_H

#include "base/jsonpull.h"
#include "base/str.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Unescapes text into an owned string; U+0000 is written as itself, piece by piece. */
static inline char *jsonbuild_text(const struct jsonpull_text *text, size_t *ret_size) {
    char *room = str_alloc(text->size_bytes + 1, 1);
    size_t used = 0;

    for (size_t i = 0; i < text->size_bytes;) {
        struct jsonpull_text part = {text->bytes + i, 1, text->escaped};
        size_t size = 0;

        if (text->escaped && part.bytes[0] == '\\') {
            part.size_bytes = part.bytes[1] == 'u' ? 6 : 2;
            if (part.size_bytes == 6 && (part.bytes[2] == 'd' || part.bytes[2] == 'D') &&
                part.bytes[3] >= '8')
                part.size_bytes = 12;
        }
        i += part.size_bytes;
        if (part.size_bytes == 6 && memcmp(part.bytes + 2, "0000", 4) == 0)
            room[used++] = '\0';
        else if (part.size_bytes == 1)
            room[used++] = part.bytes[0];
        else if (jsonpull_text_copy(&part, room + used, text->size_bytes + 1 - used, &size, NULL))
            abort(); /* a valid escape is shorter unescaped */
        used += size;
    }
    *ret_size = used;
    return room;
}

static inline json_t *jsonbuild_value(struct jsonpull *pull);

static inline json_t *jsonbuild_number(struct jsonpull *pull, int type) {
    const char *bytes;
    size_t size;
    int64_t whole;

    if (type == JSONPULL_INT)
        return jsonpull_int(pull, &whole, NULL) == 0 ? json_integer(whole) : NULL;
    if (jsonpull_int(pull, &whole, NULL) == 0 || jsonpull_raw(pull, &bytes, &size, NULL) < 0)
        return NULL;
    char *text = str_dup_len(bytes, size);
    json_t *value = json_real(strtod(text, NULL));

    free(text);
    return value;
}

static inline json_t *jsonbuild_object(struct jsonpull *pull) {
    json_t *object = json_object();
    struct jsonpull_text key;
    int r = jsonpull_enter_object(pull, NULL);

    while (r >= 0 && (r = jsonpull_next_key(pull, &key, NULL)) > 0) {
        size_t size;
        char *name = jsonbuild_text(&key, &size);
        json_t *value = jsonbuild_value(pull);

        if (!value || json_object_setn_new(object, name, size, value) < 0)
            r = -1;
        free(name);
    }
    if (r == 0)
        return object;
    json_decref(object);
    return NULL;
}

static inline json_t *jsonbuild_array(struct jsonpull *pull) {
    json_t *array = json_array();
    int r = jsonpull_enter_array(pull, NULL);

    while (r >= 0 && (r = jsonpull_next_item(pull, NULL)) > 0) {
        json_t *value = jsonbuild_value(pull);

        if (!value || json_array_append_new(array, value) < 0)
            r = -1;
    }
    if (r == 0)
        return array;
    json_decref(array);
    return NULL;
}

/* The next value as jansson's, by the reading functions alone; NULL if one of them failed. */
static inline json_t *jsonbuild_value(struct jsonpull *pull) {
    const int type = jsonpull_type(pull, NULL);
    struct jsonpull_text text;
    json_t *value;
    bool flag;

    switch (type) {
    case JSONPULL_OBJECT:
        return jsonbuild_object(pull);
    case JSONPULL_ARRAY:
        return jsonbuild_array(pull);
    case JSONPULL_INT:
    case JSONPULL_REAL:
        return jsonbuild_number(pull, type);
    case JSONPULL_BOOL:
        return jsonpull_bool(pull, &flag, NULL) == 0 ? json_boolean(flag) : NULL;
    case JSONPULL_NULL:
        return jsonpull_null(pull, NULL) == 1 ? json_null() : NULL;
    case JSONPULL_STRING:
        if (jsonpull_text(pull, &text, NULL) == 0) {
            size_t size;
            char *bytes = jsonbuild_text(&text, &size);

            value = json_stringn(bytes, size);
            free(bytes);
            return value;
        }
        return NULL;
    default:
        return NULL;
    }
}

/* NULL if both decoders agree about the bytes, else what they disagree about. *ret_valid: both
 * accept. */
static inline const char *jsonbuild_differs(const char *bytes, size_t size, bool *ret_valid) {
    json_error_t error;
    struct jsonpull pull;
    struct err err = {0};
    const char *verdict = NULL;
    json_t *theirs = json_loadb(bytes, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    json_t *ours = NULL;

    jsonpull_init(&pull, bytes, size);
    const int r = jsonpull_end(&pull, &err);
    const enum json_error_code code = theirs ? json_error_unknown : json_error_code(&error);

    *ret_valid = false;
    if (memchr(bytes, '\0', size)) {
        json_decref(theirs);
        return r == 0 ? "jsonpull accepts a NUL byte" : NULL;
    }
    if (!theirs && (code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
                    code == json_error_stack_overflow))
        return NULL;
    if (r < 0 && strstr(err.msg, "nested too deeply")) {
        json_decref(theirs);
        return NULL;
    }
    if ((r == 0) != (theirs != NULL)) {
        verdict =
            r == 0 ? "jansson refuses, jsonpull accepts" : "jansson accepts, jsonpull refuses";
    } else if (theirs) {
        jsonpull_init(&pull, bytes, size);
        ours = jsonbuild_value(&pull);
        if (!ours || jsonpull_end(&pull, NULL) < 0)
            verdict = "validated, but could not be read";
        else if (!json_equal(ours, theirs))
            verdict = "read as another value";
        *ret_valid = true;
    }
    json_decref(ours);
    json_decref(theirs);
    return verdict;
}

#endif
