/* labelselector.h - whether labels match a LabelSelector (matchLabels and matchExpressions).
 *
 * Pure. Both are JSON as the API has them; a NULL or empty selector matches everything.
 */
#ifndef BULKHEAD_API_LABELSELECTOR_H
#define BULKHEAD_API_LABELSELECTOR_H

#include "base/err.h"

#include <jansson.h>

/* Returns 1 if labels (NULL: none) match, 0 if not; ERR_INVALID names the part of the selector that
 * cannot be understood, whatever the labels. */
int labelselector_matches(const json_t *selector, const json_t *labels, struct err *err);

#endif
