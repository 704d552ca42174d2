/* intorpercent.h - fields that take a whole number or a percentage of the replicas: 3 or "25%".
 *
 * Two forms and no third: a quoted number and a fraction of a percent are refused, since readers
 *          of such fields disagree about them. 0 and "0%" are answers; absent is the caller's.
 * Rounding: surge up, unavailable down; when both become 0, unavailable becomes 1, or nothing could
 *          ever move.
 */
#ifndef BULKHEAD_API_INTORPERCENT_H
#define BULKHEAD_API_INTORPERCENT_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct intorpercent {
    bool percent;  /* value is whole percents, 0 to 100; otherwise a count */
    int32_t value; /* 0 or more */
};

/* Reads value, which stays the caller's. ERR_INVALID shows the value and the two valid forms. */
int intorpercent_parse(const json_t *value, struct intorpercent *ret_value, struct err *err);

/* The count for that many replicas (0 or more), rounded up or down. */
int32_t intorpercent_of(struct intorpercent value, int32_t replicas, bool round_up);

/* Both fields of a rolling update by the rule above. */
void intorpercent_rollout(struct intorpercent surge, struct intorpercent unavailable,
                          int32_t replicas, int32_t *ret_surge, int32_t *ret_unavailable);

#endif
