/* str.h - allocation that cannot fail and a byte buffer with a ceiling.
 *
 * Memory:  running out of memory aborts: a level-driven process is safe to restart. Input is
 * bounded instead: every struct str has a limit that its owner names at init. Units:   size_bytes
 * counts bytes; limit_bytes is the most that data may hold, NUL not counted.
 */
#ifndef BULKHEAD_BASE_STR_H
#define BULKHEAD_BASE_STR_H

#include "base/err.h"

#include <stddef.h>

/* malloc, zeroed; aborts on no memory. count * size must not overflow (aborts). Caller frees. */
void *str_alloc(size_t count, size_t size_bytes);

/* realloc of an array to count elements; aborts on no memory or overflow. Caller frees. */
void *str_resize(void *array, size_t count, size_t size_bytes);

/* Copies text; NULL gives NULL. Caller frees. */
char *str_dup(const char *text);

/* Copies len bytes and adds a NUL. Caller frees. */
char *str_dup_len(const char *bytes, size_t len);

/* printf into a new string. Caller frees. */
char *str_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct str {
    char *data; /* NUL-terminated once something was added; NULL before */
    size_t size_bytes;
    size_t room_bytes;
    size_t limit_bytes;
};

/* An empty buffer that refuses to grow beyond limit_bytes. */
void str_init(struct str *str, size_t limit_bytes);

/* Appends bytes. ERR_INVALID when the limit would be passed; the buffer is then as before. */
int str_add(struct str *str, const void *bytes, size_t size_bytes, struct err *err);

/* Appends formatted text, under the same rule. */
int str_addf(struct str *str, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Forgets the content, keeps the memory and the limit. */
void str_clear(struct str *str);

/* Releases the memory; all-zero and NULL are fine. */
void str_done(struct str *str);

#endif
