/* jsonwrite.h - appends one JSON document to a struct str: commas, colons and escapes are its own.
 *
 * Never:     builds a tree, or writes text that is not UTF-8.
 * Ownership: the str is the caller's and is only appended to; its limit bounds the document.
 * Errors:    the first one sticks and later calls do nothing, so that a caller checks once, at
 *            jsonwrite_finish(). Nested wrongly (a value without a key, an end too many) is a bug
 *            of the caller and asserts.
 */
#ifndef BULKHEAD_BASE_JSONWRITE_H
#define BULKHEAD_BASE_JSONWRITE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSONWRITE_DEPTH_MAX 64

struct str;

/* Read only through the functions. */
struct jsonwrite {
    struct str *out;
    size_t start_bytes; /* what out held before */
    int depth;
    bool comma;      /* a value stands before the next one */
    bool keyed;      /* a key was written and its value is due */
    uint64_t arrays; /* one bit a level: an array, not an object */
    struct err err;  /* the first failure; code 0 while there is none */
};

/* Starts a document at the end of out, which must outlive the writer. */
void jsonwrite_init(struct jsonwrite *write, struct str *out);

/* Opens an object; keys follow. */
void jsonwrite_object(struct jsonwrite *write);

/* Closes the innermost object. */
void jsonwrite_object_end(struct jsonwrite *write);

/* Opens an array; values follow. */
void jsonwrite_array(struct jsonwrite *write);

/* Closes the innermost array. */
void jsonwrite_array_end(struct jsonwrite *write);

/* Writes a key of the innermost object; its value must follow. key is UTF-8, NUL-terminated. */
void jsonwrite_key(struct jsonwrite *write, const char *key);

/* Writes a NUL-terminated string; NULL is written as null. ERR_INVALID if it is not UTF-8. */
void jsonwrite_text(struct jsonwrite *write, const char *text);

/* Writes a string of size_bytes, which may hold NUL. ERR_INVALID if it is not UTF-8. */
void jsonwrite_string(struct jsonwrite *write, const char *bytes, size_t size_bytes);

/* Writes a whole number; 0 is written. */
void jsonwrite_int(struct jsonwrite *write, int64_t value);

/* Writes true or false. */
void jsonwrite_bool(struct jsonwrite *write, bool value);

/* Writes null. */
void jsonwrite_null(struct jsonwrite *write);

/* Writes one value that is JSON already, as it stands. ERR_INVALID if it is not. */
void jsonwrite_raw(struct jsonwrite *write, const char *json, size_t size_bytes);

/* 0 once the document is whole. On failure out is as it was at jsonwrite_init(). */
int jsonwrite_finish(struct jsonwrite *write, struct err *err);

#endif
