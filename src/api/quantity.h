/* quantity.h - reads Kubernetes quantities ("500m", "1.5Gi", "2e3") into whole integers.
 *
 * Pure integers: no floating point. Never decides whether an amount is enough.
 * Units:    thousandths (cpu_milli) or bytes; both are 0 or more.
 * Rounding: up, always: a request is never read as less than it asks for.
 * Errors:   ERR_INVALID for text that is no quantity, for a negative and for more than INT64_MAX.
 */
#ifndef BULKHEAD_API_QUANTITY_H
#define BULKHEAD_API_QUANTITY_H

#include "base/err.h"

#include <stdint.h>

/* Thousandths: "250m" gives 250, "1" gives 1000, "1u" gives 1. */
int quantity_milli(const char *text, int64_t *ret_milli, struct err *err);

/* Whole units, as for pods or any extended resource: "1500m" gives 2. */
int quantity_whole(const char *text, int64_t *ret_count, struct err *err);

/* Bytes. A suffix that means less than a byte per unit (m, u, n) is refused, and the message shows
 * what was probably meant: nobody asks for 0.4 bytes. */
int quantity_bytes(const char *text, int64_t *ret_bytes, struct err *err);

#endif
