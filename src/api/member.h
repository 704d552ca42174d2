/* member.h - the value of an optional field under a jsonpull: the value, or null, which is none.
 *
 * Everything returns 1 with a value, 0 for null, which is then read, and ERR_INVALID for another
 * type, for broken JSON and for what does not fit. Without a value outputs are kept; only null lets
 * a name go.
 * Ownership: texts are copied, into the caller's buffer or into a table of names.
 */
#ifndef BULKHEAD_API_MEMBER_H
#define BULKHEAD_API_MEMBER_H

#include "base/err.h"
#include "base/jsonpull.h"
#include "base/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enters an object; with 0 there are no keys to read. */
int member_object(struct jsonpull *pull, struct err *err);

/* Enters an array; with 0 there are no items to read. */
int member_array(struct jsonpull *pull, struct err *err);

/* Copies a string of less than room_bytes. */
int member_text(struct jsonpull *pull, char *room, size_t room_bytes, struct err *err);

/* A whole number from 0 to max. */
int member_count(struct jsonpull *pull, int64_t max, int64_t *ret_count, struct err *err);

/* As member_count(), for an int32_t. */
int member_count32(struct jsonpull *pull, int32_t *ret_count, struct err *err);

/* true or false. */
int member_bool(struct jsonpull *pull, bool *ret_value, struct err *err);

/* An RFC 3339 time, in unix milliseconds. */
int member_time(struct jsonpull *pull, int64_t *ret_ms, struct err *err);

/* Holds a string of names in *slot, in place of what *slot held; "" and null hold nothing. */
int member_name(struct jsonpull *pull, struct names *names, const char **slot, struct err *err);

/* Holds text of names in *slot, in place of what *slot held; "" holds nothing. Returns 0, or
 * ERR_RETRY when the table is full. */
int member_hold(struct names *names, const char *text, size_t size_bytes, const char **slot,
                struct err *err);

#endif
