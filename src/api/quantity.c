#include "api/quantity.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define QUANTITY_TEXT_MAX 64
#define QUANTITY_EXPONENT_MAX 64

__extension__ typedef unsigned __int128 wide;

static const wide wide_limit = (wide)INT64_MAX * 1000 * 1000 * 1000;

/* digits * 2^shift * 10^exponent, never negative. */
struct amount {
    wide digits;
    int exponent;
    int shift;
    bool below_one; /* the suffix is m, u or n */
    size_t number_len;
};

static const struct {
    const char *text;
    int shift;
    int exponent;
} suffixes[] = {
    {"", 0, 0},    {"m", 0, -3},  {"u", 0, -6},  {"n", 0, -9},  {"k", 0, 3},   {"M", 0, 6},
    {"G", 0, 9},   {"T", 0, 12},  {"P", 0, 15},  {"E", 0, 18},  {"Ki", 10, 0}, {"Mi", 20, 0},
    {"Gi", 30, 0}, {"Ti", 40, 0}, {"Pi", 50, 0}, {"Ei", 60, 0},
};

static int amount_read(const char *text, struct amount *ret, struct err *err);
static int amount_scale(const struct amount *amount, int exponent, int64_t *ret);

static int too_large(const char *text, struct err *err) {
    return err_set(err, ERR_INVALID, "quantity '%.64s' is too large: at most 9223372036854775807",
                   text);
}

int quantity_milli(const char *text, int64_t *ret_milli, struct err *err) {
    struct amount amount;
    int r = amount_read(text, &amount, err);

    if (r < 0)
        return r;
    if (amount_scale(&amount, 3, ret_milli) < 0)
        return too_large(text, err);
    return 0;
}

int quantity_whole(const char *text, int64_t *ret_count, struct err *err) {
    struct amount amount;
    int r = amount_read(text, &amount, err);

    if (r < 0)
        return r;
    if (amount_scale(&amount, 0, ret_count) < 0)
        return too_large(text, err);
    return 0;
}

int quantity_bytes(const char *text, int64_t *ret_bytes, struct err *err) {
    struct amount amount;
    int64_t milli;
    int r = amount_read(text, &amount, err);

    if (r < 0)
        return r;
    if (amount.below_one && amount.digits != 0) {
        if (amount_scale(&amount, 3, &milli) < 0)
            return too_large(text, err);
        return err_set(err, ERR_INVALID, "'%.64s' is %lld.%lld bytes; did you mean %.*sMi?", text,
                       (long long)(milli / 1000), (long long)(milli % 1000 / 100),
                       (int)amount.number_len, text);
    }
    if (amount_scale(&amount, 0, ret_bytes) < 0)
        return too_large(text, err);
    return 0;
}

static int malformed(const char *text, struct err *err) {
    return err_set(err, ERR_INVALID,
                   "'%.64s' is no quantity: write a number of 0 or more with an optional suffix, "
                   "such as 500m, 2, 1.5Gi or 4G",
                   text);
}

/* Digits with at most one point. Returns how many characters were read, 0 for none, -1 when the
 * number is beyond what any answer can hold. */
static int number_read(const char *text, struct amount *amount) {
    int digits = 0;
    bool point = false;
    const char *p = text;

    for (; isdigit((unsigned char)*p) || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        if (amount->digits > wide_limit)
            return -1;
        amount->digits = amount->digits * 10 + (unsigned)(*p - '0');
        amount->exponent -= point;
        digits++;
    }
    return digits ? (int)(p - text) : 0;
}

/* "e3" or "E-3". Returns 1 when it is one, 0 otherwise. */
static int exponent_read(const char *text, int *ret) {
    int value = 0;
    bool minus;

    if (*text != 'e' && *text != 'E')
        return 0;
    text++;
    minus = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    if (!isdigit((unsigned char)*text))
        return 0;
    for (; isdigit((unsigned char)*text); text++)
        if (value < QUANTITY_EXPONENT_MAX)
            value = value * 10 + (*text - '0');
    if (*text)
        return 0;
    *ret = minus ? -value : value;
    return 1;
}

static int amount_read(const char *text, struct amount *ret, struct err *err) {
    struct amount amount = {0};
    const char *number = text;
    int len;
    int exponent;

    if (!text || strnlen(text, QUANTITY_TEXT_MAX + 1) > QUANTITY_TEXT_MAX)
        return malformed(text ? text : "", err);
    if (*number == '+')
        number++;
    len = number_read(number, &amount);
    if (len == 0)
        return malformed(text, err);
    if (len < 0)
        return too_large(text, err);
    amount.number_len = (size_t)(number - text) + (size_t)len;
    *ret = amount;
    if (exponent_read(number + len, &exponent)) {
        ret->exponent += exponent;
        ret->below_one = exponent < 0;
        return 0;
    }
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (strcmp(number + len, suffixes[i].text) == 0) {
            ret->exponent += suffixes[i].exponent;
            ret->shift = suffixes[i].shift;
            ret->below_one = suffixes[i].exponent < 0;
            return 0;
        }
    return malformed(text, err);
}

/* ceil(amount * 10^exponent), or -1 when it does not fit. 2^shift / 10^n is 2^(shift - n) / 5^n:
 * twos cancel first, so that 128 bits are enough for every answer that fits. */
static int amount_scale(const struct amount *amount, int exponent, int64_t *ret) {
    wide value = amount->digits;
    int power = amount->exponent + exponent;
    int shift = amount->shift;
    bool rest = false;

    if (value == 0) {
        *ret = 0;
        return 0;
    }
    int fives = power < 0 ? -power : 0;

    shift -= fives;
    for (; power > 0; power--) {
        if (value > (wide)INT64_MAX)
            return -1;
        value *= 10;
    }
    for (; shift > 0; shift--) {
        if (value >> 126)
            return -1;
        value <<= 1;
    }
    for (; fives > 0; fives--) {
        rest = rest || value % 5 != 0;
        value /= 5;
    }
    for (; shift < 0; shift++) {
        rest = rest || (value & 1);
        value >>= 1;
    }
    if (rest)
        value++;
    if (value > (wide)INT64_MAX)
        return -1;
    *ret = (int64_t)value;
    return 0;
}
