/* json.h - optional fields of a jansson object, read without guessing.
 *
 * Absent, null, 0, "" and false are five different things: a reader gives 1 with a value (0, "" and
 * false are values), 0 if the key is absent or null, or a negative code if the value has another
 * type. Where absent and null mean different things, as in a merge patch, ask json_presence().
 * Ownership: everything read is borrowed from obj. A NULL obj is an object without keys, so that a
 *            missing parent needs no branch.
 * Errors:    ERR_INVALID naming the key; the output is then untouched, and also when 0 is returned.
 */
#ifndef BULKHEAD_BASE_JSON_H
#define BULKHEAD_BASE_JSON_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum json_presence { JSON_ABSENT, JSON_ISNULL, JSON_SET };

/* Whether obj has the key, and if so whether it is null. What is no object has no keys. */
enum json_presence json_presence(const json_t *obj, const char *key);

/* Reads an optional whole number of 0 or more. */
int json_count(const json_t *obj, const char *key, int64_t *ret_count, struct err *err);

/* Reads an optional whole number. 1.0 is not one. */
int json_int(const json_t *obj, const char *key, int64_t *ret_value, struct err *err);

/* Reads an optional true or false. */
int json_flag(const json_t *obj, const char *key, bool *ret_flag, struct err *err);

/* Reads an optional string, NUL-terminated; "" is set. One that holds a U+0000 is an error. */
int json_text(const json_t *obj, const char *key, const char **ret_text, struct err *err);

/* Reads an optional object; {} is set. */
int json_child(const json_t *obj, const char *key, const json_t **ret_child, struct err *err);

/* Reads an optional array; [] is set. */
int json_list(const json_t *obj, const char *key, const json_t **ret_list, struct err *err);

#endif
