/* resources.h - a map of resources ("cpu": "500m", ...), as pods ask and nodes offer, into amounts.
 *
 * Knows cpu, memory, pods and up to ROOM_EXTENDED_COUNT names that the caller gives, each in its
 * own slot; other names are passed over and only said to have been there. Units:  those of struct
 * room_amount. Quantities round up, as the kube-scheduler reads them; "1000m" of memory is 1 byte
 * here, since the cluster has accepted it. Errors: ERR_INVALID for broken JSON and for a value that
 * is no quantity. Sums stay at INT64_MAX.
 */
#ifndef BULKHEAD_API_RESOURCES_H
#define BULKHEAD_API_RESOURCES_H

#include "base/err.h"
#include "base/jsonpull.h"
#include "core/room.h"

#include <stdbool.h>

/* Which name stands in which slot from ROOM_EXTENDED on; the caller's texts. All-zero: none. */
struct resource_names {
    const char *extended[ROOM_EXTENDED_COUNT];
};

/* What one map said. */
struct resources {
    struct room_amount amount;       /* 0 where the map names nothing */
    bool named[ROOM_RESOURCE_COUNT]; /* the map names it, be it with 0 */
    bool uncounted;                  /* it also asks for more than 0 of a resource nobody counts */
};

/* Reads the map that comes next in pull; null reads as an empty one. Values are strings or plain
 * numbers. names may be NULL. */
int resources_read(struct jsonpull *pull, const struct resource_names *names,
                   struct resources *ret_resources, struct err *err);

/* Adds b to *a, resource by resource. */
void resources_add(struct room_amount *a, const struct room_amount *b);

/* Raises each resource of *a to b's where b's is larger. */
void resources_max(struct room_amount *a, const struct room_amount *b);

#endif
