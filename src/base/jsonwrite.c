#include "base/jsonwrite.h"

#include "base/jsonpull.h"
#include "base/jsonscan.h"
#include "base/str.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add(struct jsonwrite *write, const char *bytes, size_t size_bytes);
static bool before_value(struct jsonwrite *write);
static void open_container(struct jsonwrite *write, bool array);
static void close_container(struct jsonwrite *write, bool array);
static void add_quoted(struct jsonwrite *write, const char *bytes, size_t size_bytes);
static void add_escaped(struct jsonwrite *write, unsigned char c);

static bool in_array(const struct jsonwrite *write) {
    return write->arrays >> (write->depth - 1) & 1;
}

void jsonwrite_init(struct jsonwrite *write, struct str *out) {
    *write = (struct jsonwrite){.out = out, .start_bytes = out->size_bytes};
}

void jsonwrite_object(struct jsonwrite *write) {
    open_container(write, false);
}

void jsonwrite_object_end(struct jsonwrite *write) {
    close_container(write, false);
}

void jsonwrite_array(struct jsonwrite *write) {
    open_container(write, true);
}

void jsonwrite_array_end(struct jsonwrite *write) {
    close_container(write, true);
}

void jsonwrite_key(struct jsonwrite *write, const char *key) {
    if (write->err.code)
        return;
    assert(write->depth > 0 && !in_array(write) && !write->keyed);
    if (write->comma)
        add(write, ",", 1);
    add_quoted(write, key, strlen(key));
    add(write, ":", 1);
    write->keyed = true;
}

void jsonwrite_text(struct jsonwrite *write, const char *text) {
    if (text)
        jsonwrite_string(write, text, strlen(text));
    else
        jsonwrite_null(write);
}

void jsonwrite_string(struct jsonwrite *write, const char *bytes, size_t size_bytes) {
    if (before_value(write))
        add_quoted(write, bytes, size_bytes);
}

void jsonwrite_int(struct jsonwrite *write, int64_t value) {
    char text[24];

    if (!before_value(write))
        return;
    const int len = snprintf(text, sizeof(text), "%" PRId64, value);

    add(write, text, (size_t)len);
}

void jsonwrite_bool(struct jsonwrite *write, bool value) {
    if (before_value(write))
        add(write, value ? "true" : "false", value ? 4 : 5);
}

void jsonwrite_null(struct jsonwrite *write) {
    if (before_value(write))
        add(write, "null", 4);
}

void jsonwrite_raw(struct jsonwrite *write, const char *json, size_t size_bytes) {
    struct jsonpull pull;

    if (!before_value(write))
        return;
    jsonpull_init(&pull, json, size_bytes);
    if (jsonpull_end(&pull, &write->err) == 0)
        add(write, json, size_bytes);
}

int jsonwrite_finish(struct jsonwrite *write, struct err *err) {
    if (write->err.code) {
        struct str *out = write->out;

        out->size_bytes = write->start_bytes;
        if (out->data)
            out->data[out->size_bytes] = '\0';
        return err_set(err, write->err.code, "%s", write->err.msg);
    }
    assert(write->depth == 0 && write->comma);
    return 0;
}

static void add(struct jsonwrite *write, const char *bytes, size_t size_bytes) {
    if (!write->err.code)
        str_add(write->out, bytes, size_bytes, &write->err);
}

/* Writes the comma that is due; false if nothing may be written since an error came before. */
static bool before_value(struct jsonwrite *write) {
    if (write->err.code)
        return false;
    if (write->depth == 0)
        assert(!write->comma); /* one document, one value */
    else if (in_array(write) && write->comma)
        add(write, ",", 1);
    else
        assert(in_array(write) || write->keyed);
    write->keyed = false;
    write->comma = true;
    return !write->err.code;
}

static void open_container(struct jsonwrite *write, bool array) {
    if (!before_value(write))
        return;
    assert(write->depth < JSONWRITE_DEPTH_MAX);
    const uint64_t bit = UINT64_C(1) << write->depth++;

    write->arrays = array ? write->arrays | bit : write->arrays & ~bit;
    write->comma = false;
    add(write, array ? "[" : "{", 1);
}

static void close_container(struct jsonwrite *write, bool array) {
    if (write->err.code)
        return;
    assert(write->depth > 0 && in_array(write) == array && !write->keyed);
    write->depth--;
    write->comma = true;
    add(write, array ? "]" : "}", 1);
}

static void add_quoted(struct jsonwrite *write, const char *bytes, size_t size_bytes) {
    size_t from = 0, at = 0;

    add(write, "\"", 1);
    while (at < size_bytes) {
        at += jsonscan_plain(bytes + at, size_bytes - at);
        if (at == size_bytes)
            break;
        const unsigned char c = (unsigned char)bytes[at];

        if (c >= 0x80) {
            const size_t size = jsonscan_utf8(bytes + at, size_bytes - at);

            if (size == 0) {
                err_set(&write->err, ERR_INVALID, "a string is not UTF-8 at byte %zu", at);
                return;
            }
            at += size;
            continue;
        }
        add(write, bytes + from, at - from);
        add_escaped(write, c);
        from = ++at;
    }
    add(write, bytes + from, size_bytes - from);
    add(write, "\"", 1);
}

static void add_escaped(struct jsonwrite *write, unsigned char c) {
    static const char NAMES[] = "bfnrt", MEANT[] = "\b\f\n\r\t";
    const char *meant = c ? strchr(MEANT, c) : NULL;
    char text[8];

    if (meant)
        snprintf(text, sizeof(text), "\\%c", NAMES[meant - MEANT]);
    else if (c >= 0x20)
        snprintf(text, sizeof(text), "\\%c", c);
    else
        snprintf(text, sizeof(text), "\\u%04x", c);
    add(write, text, strlen(text));
}
