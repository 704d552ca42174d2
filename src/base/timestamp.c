#include "base/timestamp.h"

#include <stdbool.h>

#define DAY_S 86400

/* Reads exactly count digits. */
static bool number(const char **at, int count, int *ret) {
    int value = 0;

    for (; count > 0; count--, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret = value;
    return true;
}

static bool literal(const char **at, char c) {
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static int days_in_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01. Years are counted from March, so that the leap day is a year's last. */
static int64_t days_of(int year, int month, int day) {
    const int64_t y = year - (month <= 2) + 400; /* positive, and the calendar repeats every 400 */
    const int64_t months = (month + 9) % 12;     /* since March */
    const int64_t in_year = (153 * months + 2) / 5 + day - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 + in_year - 719468 - 146097;
}

static void date_of(int64_t days, int *ret_year, int *ret_month, int *ret_day) {
    const int64_t since = days + 719468 + 146097; /* since -400-03-01: never negative */
    const int64_t cycle = since / 146097;
    const int64_t in_cycle = since % 146097;
    const int64_t y = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
    const int64_t in_year = in_cycle - (365 * y + y / 4 - y / 100);
    const int64_t months = (5 * in_year + 2) / 153;

    *ret_month = (int)(months < 10 ? months + 3 : months - 9);
    *ret_day = (int)(in_year - (153 * months + 2) / 5 + 1);
    *ret_year = (int)(cycle * 400 + y - 400 + (*ret_month <= 2));
}

/* ".123456"; an absent one is 0. */
static bool fraction(const char **at, int *ret_ms) {
    int ms = 0;
    int scale = 100;
    int digit;

    *ret_ms = 0;
    if (!literal(at, '.'))
        return true;
    if (!number(at, 1, &digit))
        return false;
    do {
        ms += digit * scale;
        scale /= 10;
    } while (number(at, 1, &digit));
    *ret_ms = ms;
    return true;
}

/* "Z" or "+01:30". */
static bool offset(const char **at, int *ret_s) {
    const int sign = **at == '-' ? -1 : 1;
    int hours;
    int minutes;

    *ret_s = 0;
    if (literal(at, 'Z'))
        return true;
    if (!(literal(at, '+') || literal(at, '-')) || !number(at, 2, &hours) || !literal(at, ':') ||
        !number(at, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_s = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool parse(const char *at, int64_t *ret_ms) {
    int year, month, day, hour, minute, second, ms, offset_s;

    if (!number(&at, 4, &year) || !literal(&at, '-') || !number(&at, 2, &month) ||
        !literal(&at, '-') || !number(&at, 2, &day) || !literal(&at, 'T') ||
        !number(&at, 2, &hour) || !literal(&at, ':') || !number(&at, 2, &minute) ||
        !literal(&at, ':') || !number(&at, 2, &second) || !fraction(&at, &ms) ||
        !offset(&at, &offset_s) || *at)
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 ||
        minute > 59 || second > 59)
        return false;
    *ret_ms =
        (days_of(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second - offset_s) * 1000 +
        ms;
    return *ret_ms >= TIMESTAMP_MIN_MS && *ret_ms <= TIMESTAMP_MAX_MS;
}

int timestamp_parse(const char *text, int64_t *ret_ms, struct err *err) {
    int64_t ms;

    if (!text || !parse(text, &ms))
        return err_set(err, ERR_INVALID, "'%.40s' is no time such as 2026-01-05T10:11:12Z",
                       text ? text : "");
    *ret_ms = ms;
    return 0;
}

static char *put(char *at, int64_t value, int count, char after) {
    for (int i = count - 1; i >= 0; i--, value /= 10)
        at[i] = (char)('0' + value % 10);
    at[count] = after;
    return at + count + 1;
}

/* Writes all but the fraction; returns the place of the "Z". */
static char *put_seconds(int64_t *ms, char *at) {
    int year, month, day;
    int64_t second;

    if (*ms < TIMESTAMP_MIN_MS)
        *ms = TIMESTAMP_MIN_MS;
    if (*ms > TIMESTAMP_MAX_MS)
        *ms = TIMESTAMP_MAX_MS;
    second = (*ms - TIMESTAMP_MIN_MS) / 1000; /* since year 0: never negative */
    date_of(second / DAY_S + TIMESTAMP_MIN_MS / 1000 / DAY_S, &year, &month, &day);
    second %= DAY_S;
    at = put(at, year, 4, '-');
    at = put(at, month, 2, '-');
    at = put(at, day, 2, 'T');
    at = put(at, second / 3600, 2, ':');
    at = put(at, second / 60 % 60, 2, ':');
    return put(at, second % 60, 2, 'Z') - 1;
}

void timestamp_format(int64_t ms, char ret_text[TIMESTAMP_SIZE]) {
    put_seconds(&ms, ret_text)[1] = '\0';
}

void timestamp_format_micro(int64_t ms, char ret_text[TIMESTAMP_MICRO_SIZE]) {
    char *at = put_seconds(&ms, ret_text);

    *at++ = '.';
    put(at, (ms - TIMESTAMP_MIN_MS) % 1000 * 1000, 6, 'Z')[0] = '\0';
}
