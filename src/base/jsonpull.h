/* jsonpull.h - reads one JSON document in order, from a buffer, without building anything.
 *
 * The caller asks for what it expects; what it does not ask for is skipped, and validated all the
 * same: grammar, UTF-8, escapes and surrogate pairs (RFC 8259). Cost is linear in the bytes.
 * Never:     allocates, copies unless told where to, or turns a real into an integer. Repeated
 *            keys are all reported, in order; numbers are not judged by size until they are read.
 * Ownership: the buffer is the caller's and must outlive the decoder and every slice taken from it.
 * Errors:    ERR_INVALID with the byte offset. Broken text is final: every later call fails alike.
 *            A value of another type than asked for is not: it stays unread and may be skipped.
 * Use:       after jsonpull_next_key() or jsonpull_next_item() gave 1, read the value or leave it.
 *            A container that was entered is read until next gives 0, or until jsonpull_end().
 */
#ifndef BULKHEAD_BASE_JSONPULL_H
#define BULKHEAD_BASE_JSONPULL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSONPULL_DEPTH_MAX 256 /* containers inside one another; one more is ERR_INVALID */

enum jsonpull_type {
    JSONPULL_OBJECT = 1,
    JSONPULL_ARRAY,
    JSONPULL_STRING,
    JSONPULL_INT,  /* no fraction and no exponent; may still be too large for int64_t */
    JSONPULL_REAL, /* 1.0 and 1e3 too */
    JSONPULL_BOOL,
    JSONPULL_NULL,
};

enum jsonpull_step { JSONPULL_VALUE, JSONPULL_FIRST, JSONPULL_AFTER };

/* A string as it stands in the buffer, without its quotes and already validated; not
 * NUL-terminated. While escaped is false these are the characters themselves. */
struct jsonpull_text {
    const char *bytes;
    size_t size_bytes;
    bool escaped;
};

/* Read only through the functions. */
struct jsonpull {
    const char *data;
    size_t size_bytes;
    size_t at;               /* next byte to look at */
    int depth;               /* containers entered and not left */
    enum jsonpull_step step; /* what may come next in the innermost one */
    const char *fault;       /* what broke the text; NULL while it is fine */
    size_t fault_at;
    uint64_t arrays[JSONPULL_DEPTH_MAX / 64]; /* one bit a level: an array, not an object */
};

/* Starts before the document's value. data may be NULL when size_bytes is 0. */
void jsonpull_init(struct jsonpull *pull, const char *data, size_t size_bytes);

/* Type of the value that comes next (an enum jsonpull_type); reads nothing. */
int jsonpull_type(struct jsonpull *pull, struct err *err);

/* Enters an object; its keys follow from jsonpull_next_key(). */
int jsonpull_enter_object(struct jsonpull *pull, struct err *err);

/* Enters an array; its values follow from jsonpull_next_item(). */
int jsonpull_enter_array(struct jsonpull *pull, struct err *err);

/* 1 with the next key of the innermost object, or 0 at its end, which leaves it. A value that was
 * not read is skipped first. ret_key is borrowed from the buffer. */
int jsonpull_next_key(struct jsonpull *pull, struct jsonpull_text *ret_key, struct err *err);

/* 1 if the innermost array has another value, or 0 at its end, which leaves it. */
int jsonpull_next_item(struct jsonpull *pull, struct err *err);

/* Passes over the next value, whatever it is. */
int jsonpull_skip(struct jsonpull *pull, struct err *err);

/* As jsonpull_skip, and gives the value's own bytes, borrowed from the buffer. */
int jsonpull_raw(struct jsonpull *pull, const char **ret_bytes, size_t *ret_size_bytes,
                 struct err *err);

/* Reads a string as a slice of the buffer; see jsonpull_text_is() and jsonpull_text_copy(). */
int jsonpull_text(struct jsonpull *pull, struct jsonpull_text *ret_text, struct err *err);

/* Reads a string, unescaped: a slice of the buffer if it has no escapes, of room (room_bytes) if it
 * has. ret_text->escaped is false. ERR_INVALID, unread, if it does not fit or has a U+0000. */
int jsonpull_string(struct jsonpull *pull, char *room, size_t room_bytes,
                    struct jsonpull_text *ret_text, struct err *err);

/* Reads a whole number. A real, 1.0 as well, and one outside int64_t are ERR_INVALID, unread. */
int jsonpull_int(struct jsonpull *pull, int64_t *ret_value, struct err *err);

/* Reads true or false. */
int jsonpull_bool(struct jsonpull *pull, bool *ret_value, struct err *err);

/* 1 if the next value is null, which is then read; 0 if it is another, which stays unread. */
int jsonpull_null(struct jsonpull *pull, struct err *err);

/* Skips what is left of every container and checks that only white space follows. Straight after
 * jsonpull_init() it validates the whole document. */
int jsonpull_end(struct jsonpull *pull, struct err *err);

/* Whether the string, unescaped, is word. word is ASCII or UTF-8, NUL-terminated. */
bool jsonpull_text_is(const struct jsonpull_text *text, const char *word);

/* Unescapes into room and adds a NUL; returns 0. ERR_INVALID if it needs more than room_bytes, NUL
 * counted, or holds a U+0000, which no C string can; room's content is then undefined. */
int jsonpull_text_copy(const struct jsonpull_text *text, char *room, size_t room_bytes,
                       size_t *ret_size_bytes, struct err *err);

#endif
