/* condition.h - status.conditions as a list map: one entry for each type.
 *
 * The same evaluation twice changes nothing, so that a pass whose result stands writes nothing
 * (C60). lastTransitionTime moves only when the status flips, never with reason or message. Units:
 * unix milliseconds; times are written in seconds. Ownership: texts are copied; what is found is
 * borrowed from the list. Errors:    ERR_INVALID, with the list as it was, for a type or reason
 * that is not CamelCase, a message that is not UTF-8, and a list of CONDITION_COUNT_MAX others.
 */
#ifndef BULKHEAD_API_CONDITION_H
#define BULKHEAD_API_CONDITION_H

#include "base/err.h"
#include "base/jsonpull.h"

#include <jansson.h>
#include <stdint.h>

#define CONDITION_COUNT_MAX 32
#define CONDITION_NAME_MAX 128     /* bytes of a type or reason */
#define CONDITION_MESSAGE_MAX 1024 /* bytes; a longer message is cut between characters */

enum condition_status {
    CONDITION_UNKNOWN, /* also of a condition that is not there */
    CONDITION_TRUE,
    CONDITION_FALSE,
};

struct condition {
    const char *type;
    enum condition_status status;
    const char *reason;
    const char *message; /* NULL is "" */
    int64_t observed_generation;
};

/* What a cache needs of a condition in somebody else's object. */
struct condition_seen {
    enum condition_status status;
    struct jsonpull_text reason; /* borrowed from the buffer; all-zero when absent */
    int64_t changed_ms;          /* lastTransitionTime; 0: none */
};

/* Makes the list, an array, hold the condition. 1 if that changed anything, 0 if it held it. Other
 * entries, and fields of this one that we do not know, stay as they are. */
int condition_set(json_t *conditions, const struct condition *condition, int64_t now_ms,
                  struct err *err);

/* The entry of this type, or NULL. conditions may be NULL. */
const json_t *condition_find(const json_t *conditions, const char *type);

/* The status of this type; what is not there, or reads neither True nor False, is unknown. */
enum condition_status condition_status(const json_t *conditions, const char *type);

/* Reads the array that comes next in pull and fills *ret_seen from the entry of this type. 1 when
 * there is one, 0 when not (*ret_seen is then kept). */
int condition_read(struct jsonpull *pull, const char *type, struct condition_seen *ret_seen,
                   struct err *err);

#endif
