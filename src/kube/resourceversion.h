/* resourceversion.h - the order of two resourceVersions of one resource type.
 *
 * A version is echoed, never computed with. Only two positive decimals without a leading zero have
 * an order: by length, then by text. Everything else is equal or unordered.
 */
#ifndef BULKHEAD_KUBE_RESOURCEVERSION_H
#define BULKHEAD_KUBE_RESOURCEVERSION_H

#include <stdbool.h>

/* Whether text is a positive decimal without a leading zero. NULL, "" and "0" are not. */
bool resourceversion_is_ordered(const char *text);

/* Returns 1 and -1, 0 or 1 in *ret_order if the two can be compared, else 0 (*ret_order as it was).
 * Equal texts are always comparable. NULL counts as "". */
int resourceversion_compare(const char *a, const char *b, int *ret_order);

#endif
