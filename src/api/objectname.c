#include "api/objectname.h"

#include "base/sha256.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TAIL_SIZE 11 /* "-x", 8 hex digits, NUL */
#define LABEL_ENDS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool is_dns_label(const char *text) {
    const size_t len = strlen(text);

    for (size_t i = 0; i < len; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) && text[i] != '-')
            return false;
    return len > 0 && len <= 63 && text[0] != '-' && text[len - 1] != '-';
}

static void tail_of(const char *text, char ret_tail[TAIL_SIZE]) {
    char digits[9];

    sha256_name_suffix(text, digits);
    snprintf(ret_tail, TAIL_SIZE, "-x%s", digits);
}

/* Makes the name a DNS label of at most most characters that ends in tail, or is it. */
static void cut(char *name, size_t most, const char *tail) {
    const size_t skipped = strcspn(name, LABEL_ENDS);
    size_t len = strlen(name + skipped);

    memmove(name, name + skipped, len + 1);

    for (size_t i = 0; i < len; i++) {
        name[i] = (char)tolower((unsigned char)name[i]);
        if (!islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]))
            name[i] = '-';
    }
    if (len > most - strlen(tail))
        len = most - strlen(tail);
    while (len > 0 && name[len - 1] == '-')
        len--;
    snprintf(name + len, TAIL_SIZE, "%s", len > 0 ? tail : tail + 1);
}

void objectname_of(const char *ns, const char *app, const char *zone,
                   char ret_name[OBJECTNAME_SIZE]) {
    char whole[512];
    char tail[TAIL_SIZE];
    char name[256 + TAIL_SIZE];
    const int len = snprintf(name, 256, "%s--%s", app, zone);

    if (!is_dns_label(zone) || len > OBJECTNAME_MAX) {
        snprintf(whole, sizeof whole, "%s/%s/%s", ns, app, zone);
        tail_of(whole, tail);
        cut(name, OBJECTNAME_MAX, tail);
    }
    snprintf(ret_name, OBJECTNAME_SIZE, "%.*s", OBJECTNAME_MAX, name);
}

bool objectname_is_label_value(const char *text) {
    const size_t len = strlen(text);

    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
            return false;
    return len > 0 && len <= 63 && isalnum((unsigned char)text[0]) &&
           isalnum((unsigned char)text[len - 1]);
}

void objectname_zone_label(const char *zone, char ret_value[64]) {
    char tail[TAIL_SIZE];
    char value[256 + TAIL_SIZE];

    if (objectname_is_label_value(zone)) {
        snprintf(ret_value, 64, "%s", zone);
        return;
    }
    tail_of(zone, tail);
    snprintf(value, 256, "%s", zone);
    cut(value, 63, tail);
    snprintf(ret_value, 64, "%.63s", value);
}
