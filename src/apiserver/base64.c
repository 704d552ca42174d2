#include "apiserver/base64.h"

#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *bytes, size_t size_bytes) {
    const uint8_t *in = bytes;
    char *out = str_alloc(size_bytes / 3 * 4 + 5, 1);
    char *at = out;

    for (size_t i = 0; i < size_bytes; i += 3) {
        const size_t left = size_bytes - i;
        const uint32_t three = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)in[i + 2] : 0);

        *at++ = alphabet[three >> 18];
        *at++ = alphabet[three >> 12 & 63];
        *at++ = left > 1 ? alphabet[three >> 6 & 63] : '=';
        *at++ = left > 2 ? alphabet[three & 63] : '=';
    }
    return out;
}

char *base64_decode(const char *text, size_t *ret_size_bytes) {
    const size_t len = strlen(text);
    char *out = str_alloc(len / 4 * 3 + 1, 1);
    size_t count = 0;

    for (size_t i = 0; i < len; i += 4) {
        uint32_t three = 0;
        int pads = 0;

        for (size_t k = 0; k < 4; k++) {
            const char c = i + k < len ? text[i + k] : '\0';
            const char *digit = c != '\0' ? strchr(alphabet, c) : NULL;

            if (c == '=' && i + 4 == len && k >= 2)
                pads++;
            if ((!digit && c != '=') || (c == '=' && pads == 0) || (digit && pads > 0)) {
                free(out);
                return NULL;
            }
            three = three << 6 | (digit ? (uint32_t)(digit - alphabet) : 0);
        }
        out[count++] = (char)(three >> 16);
        out[count++] = (char)(three >> 8 & 255);
        out[count++] = (char)(three & 255);
        count -= (size_t)pads;
    }
    out[count] = '\0';
    if (ret_size_bytes)
        *ret_size_bytes = count;
    return out;
}
