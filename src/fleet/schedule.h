/* schedule.h - whether a pod may run on a node, whether it fits, and how free the node is.
 *
 * Pure: no clock, no I/O. Knows nodeSelector, taints and requests; no affinity.
 * Units: those of struct room_amount; freeness in millionths of the node's cpu.
 */
#ifndef BULKHEAD_FLEET_SCHEDULE_H
#define BULKHEAD_FLEET_SCHEDULE_H

#include "api/node.h"
#include "core/room.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the node takes new pods at all, has every label of selector (NULL: none asked for), and
 * every taint of it that keeps pods out is tolerated. Both are JSON as a pod's spec has them. */
bool schedule_allows(const struct node *node, const json_t *selector, const json_t *tolerations);

/* Whether a pod that runs there may stay: every NoExecute taint is tolerated. */
bool schedule_keeps(const struct node *node, const json_t *tolerations);

/* Whether request fits beside what is used. A resource that is not asked for does not matter. */
bool schedule_fits(const struct room_amount *allocatable, const struct room_amount *used,
                   const struct room_amount *request);

/* The free part of the cpu, 0 to 1,000,000. */
int32_t schedule_free_ppm(const struct room_amount *allocatable, const struct room_amount *used);

#endif
