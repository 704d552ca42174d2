#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static int value_of(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_encode(struct str *out, const void *bytes, size_t size_bytes, struct err *err) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = bytes;

    if (size_bytes > SIZE_MAX / 2 || (size_bytes + 2) / 3 * 4 > out->limit_bytes - out->size_bytes)
        return err_set(err, ERR_INVALID, "longer than %zu bytes", out->limit_bytes);
    for (size_t at = 0; at < size_bytes; at += 3) {
        const size_t left = size_bytes - at;
        const uint32_t word = (uint32_t)in[at] << 16 | (left > 1 ? (uint32_t)in[at + 1] << 8 : 0) |
                              (left > 2 ? (uint32_t)in[at + 2] : 0);
        const char four[4] = {letters[word >> 18], letters[word >> 12 & 63],
                              left > 1 ? letters[word >> 6 & 63] : '=',
                              left > 2 ? letters[word & 63] : '='};
        const int r = str_add(out, four, sizeof four, err);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Puts out back to what it was; what was appended may be a key, so it goes too. */
static int give_up(struct str *out, size_t start_bytes, struct err *err, const char *why) {
    if (out->data) {
        explicit_bzero(out->data + start_bytes, out->size_bytes - start_bytes);
        out->size_bytes = start_bytes;
    }
    return err_set(err, ERR_INVALID, "%s", why);
}

int base64_decode(struct str *out, const char *text, size_t size_bytes, struct err *err) {
    const size_t start_bytes = out->size_bytes;
    uint32_t word = 0;
    unsigned count = 0; /* of characters in word */
    unsigned pads = 0;

    for (size_t at = 0; at < size_bytes; at++) {
        const char c = text[at];

        if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
            continue;
        const int value = value_of(c);

        if (c == '=' && count >= 2 && count + pads < 4) {
            pads++;
            continue;
        }
        if (value < 0 || pads > 0)
            return give_up(out, start_bytes, err, "not base64: a stray character or padding");
        word = word << 6 | (uint32_t)value;
        if (++count < 4)
            continue;
        const char three[3] = {(char)(word >> 16 & 255), (char)(word >> 8 & 255),
                               (char)(word & 255)};

        if (str_add(out, three, sizeof three, NULL) < 0)
            return give_up(out, start_bytes, err, "longer than its limit once decoded");
        word = 0;
        count = 0;
    }
    if (count + pads != 0 && count + pads != 4)
        return give_up(out, start_bytes, err, "not base64: cut off, or its padding is missing");
    if (count == 0)
        return 0;
    word <<= 6 * pads;
    const char rest[2] = {(char)(word >> 16 & 255), (char)(word >> 8 & 255)};

    if (str_add(out, rest, count - 1, NULL) < 0)
        return give_up(out, start_bytes, err, "longer than its limit once decoded");
    return 0;
}
