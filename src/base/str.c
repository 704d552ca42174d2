#include "base/str.h"

#include "base/auto.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *str_alloc(size_t count, size_t size_bytes) {
    void *memory = calloc(count ? count : 1, size_bytes ? size_bytes : 1);

    if (!memory)
        abort();
    return memory;
}

void *str_resize(void *array, size_t count, size_t size_bytes) {
    size_t total;

    if (__builtin_mul_overflow(count ? count : 1, size_bytes ? size_bytes : 1, &total))
        abort();
    void *memory = realloc(array, total);

    if (!memory)
        abort();
    return memory;
}

char *str_dup(const char *text) {
    return text ? str_dup_len(text, strlen(text)) : NULL;
}

char *str_dup_len(const char *bytes, size_t len) {
    char *copy = str_alloc(len + 1, 1);

    if (len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

char *str_printf(const char *fmt, ...) {
    char *text = NULL;
    va_list args;

    va_start(args, fmt);
    const int len = vasprintf(&text, fmt, args);

    va_end(args);
    if (len < 0)
        abort();
    return text;
}

void str_init(struct str *str, size_t limit_bytes) {
    *str = (struct str){.limit_bytes = limit_bytes};
}

int str_add(struct str *str, const void *bytes, size_t size_bytes, struct err *err) {
    if (size_bytes > str->limit_bytes - str->size_bytes)
        return err_set(err, ERR_INVALID, "longer than %zu bytes", str->limit_bytes);
    const size_t need = str->size_bytes + size_bytes + 1;

    if (need > str->room_bytes) {
        size_t room = str->room_bytes ? str->room_bytes : 64;

        while (room < need)
            room *= 2;
        str->data = str_resize(str->data, room, 1);
        str->room_bytes = room;
    }
    if (size_bytes > 0)
        memcpy(str->data + str->size_bytes, bytes, size_bytes);
    str->size_bytes += size_bytes;
    str->data[str->size_bytes] = '\0';
    return 0;
}

int str_addf(struct str *str, struct err *err, const char *fmt, ...) {
    auto_free char *text = NULL;
    va_list args;

    va_start(args, fmt);
    const int len = vasprintf(&text, fmt, args);

    va_end(args);
    if (len < 0)
        abort();
    return str_add(str, text, (size_t)len, err);
}

void str_clear(struct str *str) {
    str->size_bytes = 0;
    if (str->data)
        str->data[0] = '\0';
}

void str_done(struct str *str) {
    if (!str)
        return;
    free(str->data);
    *str = (struct str){.limit_bytes = str->limit_bytes};
}
