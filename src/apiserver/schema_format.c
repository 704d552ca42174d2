#include "apiserver/schema_node.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum schema_format schema_format_named(const char *name) {
    static const struct {
        const char *name;
        enum schema_format format;
    } rows[] = {
        {"int32", SCHEMA_FORMAT_INT32},         {"int64", SCHEMA_FORMAT_INT64},
        {"date-time", SCHEMA_FORMAT_DATE_TIME}, {"datetime", SCHEMA_FORMAT_DATE_TIME},
        {"date", SCHEMA_FORMAT_DATE},           {"duration", SCHEMA_FORMAT_DURATION},
        {"byte", SCHEMA_FORMAT_BYTE},           {"uuid", SCHEMA_FORMAT_UUID},
        {"ipv4", SCHEMA_FORMAT_IPV4},           {"ipv6", SCHEMA_FORMAT_IPV6},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].format;
    return SCHEMA_FORMAT_NONE;
}

/* Whether text starts with shape, in which 0 is any digit and all else itself. */
static bool starts_like(const char *text, const char *shape) {
    for (; *shape; shape++, text++)
        if (*shape == '0' ? !isdigit((unsigned char)*text) : *text != *shape)
            return false;
    return true;
}

static int two_digits(const char *text) {
    return (text[0] - '0') * 10 + text[1] - '0';
}

static bool is_date(const char *text) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int year = two_digits(text) * 100 + two_digits(text + 2);
    const int month = two_digits(text + 5);
    const int day = two_digits(text + 8);
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

/* RFC 3339, with the T and Z of either case. */
static bool is_date_time(const char *text) {
    if (!starts_like(text, "0000-00-00") || !is_date(text) ||
        (text[10] != 'T' && text[10] != 't') || !starts_like(text + 11, "00:00:00") ||
        two_digits(text + 11) > 23 || two_digits(text + 14) > 59 || two_digits(text + 17) > 60)
        return false;
    text += 19;
    if (*text == '.') {
        if (!isdigit((unsigned char)text[1]))
            return false;
        for (text++; isdigit((unsigned char)*text); text++)
            ;
    }
    if ((*text == 'Z' || *text == 'z') && !text[1])
        return true;
    return (*text == '+' || *text == '-') && starts_like(text + 1, "00:00") && !text[6];
}

/* Go's 1h2m3.5s, or a list of numbers and units in words: "1 week 2 days". */
static bool is_duration(const char *text) {
    static const char units[] = " ns us ms s sec second seconds m min minute minutes h hr hour "
                                "hours d day days w wk week weeks ";

    text += *text == '-' || *text == '+';
    if (strcmp(text, "0") == 0)
        return true;
    if (!*text)
        return false;
    while (*text) {
        const size_t digits = strspn(text, "0123456789.");
        const size_t unit_at = digits + strspn(text + digits, " ");
        const size_t unit = strspn(text + unit_at, "abcdefghijklmnopqrstuvwxyz");
        char padded[16];

        if (!digits || !unit || unit > sizeof(padded) - 3)
            return false;
        snprintf(padded, sizeof(padded), " %.*s ", (int)unit, text + unit_at);
        if (!strstr(units, padded))
            return false;
        text += unit_at + unit;
        text += strspn(text, " ");
    }
    return true;
}

/* Standard base64 with its padding. */
static bool is_base64(const char *text) {
    const size_t size = strlen(text);
    const size_t plain = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789+/");

    return size % 4 == 0 && size - plain <= 2 && strspn(text + plain, "=") == size - plain;
}

static bool is_uuid(const char *text) {
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; i < sizeof(shape) - 1; i++)
        if (shape[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != '-')
            return false;
    return text[sizeof(shape) - 1] == '\0';
}

bool schema_format_holds(enum schema_format format, const char *text) {
    unsigned char address[16];

    switch (format) {
    case SCHEMA_FORMAT_DATE_TIME:
        return is_date_time(text);
    case SCHEMA_FORMAT_DATE:
        return starts_like(text, "0000-00-00") && is_date(text) && !text[10];
    case SCHEMA_FORMAT_DURATION:
        return is_duration(text);
    case SCHEMA_FORMAT_BYTE:
        return is_base64(text);
    case SCHEMA_FORMAT_UUID:
        return is_uuid(text);
    case SCHEMA_FORMAT_IPV4:
        return inet_pton(AF_INET, text, address) == 1;
    case SCHEMA_FORMAT_IPV6:
        return inet_pton(AF_INET6, text, address) == 1;
    default:
        return true;
    }
}
