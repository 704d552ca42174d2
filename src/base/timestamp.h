/* timestamp.h - RFC 3339 times, as Kubernetes writes them, to and from unix milliseconds.
 *
 * Arithmetic alone, in the proleptic Gregorian calendar: asks no clock, no locale and no time zone.
 * Units:  unix milliseconds; years 0000 to 9999. What is finer than a millisecond is cut off,
 * towards the past. Errors: ERR_INVALID for text that is no such time: a leap second, "t" and "z"
 * in lower case and a missing offset are not.
 */
#ifndef BULKHEAD_BASE_TIMESTAMP_H
#define BULKHEAD_BASE_TIMESTAMP_H

#include "base/err.h"

#include <stdint.h>

#define TIMESTAMP_SIZE 25 /* "2026-01-05T10:11:12Z" takes 21 */
#define TIMESTAMP_MICRO_SIZE 32

#define TIMESTAMP_MIN_MS INT64_C(-62167219200000) /* 0000-01-01T00:00:00Z */
#define TIMESTAMP_MAX_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

/* Reads "2026-01-05T10:11:12.5+01:00". The fraction may have any number of digits. */
int timestamp_parse(const char *text, int64_t *ret_ms, struct err *err);

/* Writes "2026-01-05T10:11:12Z", cut to the second. A time outside the years reads as the nearest
 * one inside. */
void timestamp_format(int64_t ms, char ret_text[TIMESTAMP_SIZE]);

/* As above, with "12.345000Z": the form that leases and events use (MicroTime). */
void timestamp_format_micro(int64_t ms, char ret_text[TIMESTAMP_MICRO_SIZE]);

#endif
