/* jsonscan.h - the two byte loops that the JSON decoder, splitter and writer share.
 *
 * Inline because they run once per string. They never read past left_bytes and judge bytes only;
 * what a byte means where it stands is the caller's business.
 */
#ifndef BULKHEAD_BASE_JSONSCAN_H
#define BULKHEAD_BASE_JSONSCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JSONSCAN_ONES UINT64_C(0x0101010101010101)
#define JSONSCAN_HIGH UINT64_C(0x8080808080808080)

/* The high bit is set in at least one byte of the result exactly when a byte of word is zero. */
static inline uint64_t jsonscan_zero(uint64_t word) {
    return (word - JSONSCAN_ONES) & ~word & JSONSCAN_HIGH;
}

/* Nonzero exactly when a byte of word is a quote, a backslash or below 0x20. */
static inline uint64_t jsonscan_stop(uint64_t word) {
    return jsonscan_zero(word ^ (JSONSCAN_ONES * '"')) |
           jsonscan_zero(word ^ (JSONSCAN_ONES * '\\')) |
           ((word - JSONSCAN_ONES * 0x20) & ~word & JSONSCAN_HIGH);
}

/* How many bytes at the start are printable ASCII other than a quote and a backslash. */
static inline size_t jsonscan_plain(const char *bytes, size_t left_bytes) {
    size_t i = 0;
    uint64_t word;

    for (; left_bytes - i >= sizeof(word); i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        if (jsonscan_stop(word) | (word & JSONSCAN_HIGH))
            break;
    }
    for (; i < left_bytes; i++) {
        const unsigned char c = (unsigned char)bytes[i];

        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
            break;
    }
    return i;
}

/* How many bytes at the start are neither a quote, a backslash nor a control character. */
static inline size_t jsonscan_text(const char *bytes, size_t left_bytes) {
    size_t i = 0;
    uint64_t word;

    for (; left_bytes - i >= sizeof(word); i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        if (jsonscan_stop(word))
            break;
    }
    for (; i < left_bytes; i++) {
        const unsigned char c = (unsigned char)bytes[i];

        if (c < 0x20 || c == '"' || c == '\\')
            break;
    }
    return i;
}

/* Size of the character that starts with a byte of 0x80 or more; 0 if it is not valid UTF-8:
 * cut, overlong, a surrogate or above U+10FFFF. left_bytes must be 1 or more. */
static inline size_t jsonscan_utf8(const char *bytes, size_t left_bytes) {
    const unsigned char *p = (const unsigned char *)bytes;
    const size_t size = p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;

    if (size == 0 || size > left_bytes)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) ||
        (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return size;
}

#endif
