/* event.h - one event in its two forms: core v1 (how it is stored) and events.k8s.io/v1. */
#ifndef BULKHEAD_APISERVER_EVENT_H
#define BULKHEAD_APISERVER_EVENT_H

#include <jansson.h>

/* The events.k8s.io/v1 form of a core event. New reference. */
json_t *event_new_form(const json_t *core);

/* The core form of an events.k8s.io/v1 event. New reference. */
json_t *event_core_form(const json_t *event);

#endif
