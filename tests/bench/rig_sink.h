/* rig_sink.h - a cluster that takes every write as it is and answers at once.
 *
 * Keeps objects as text and tells watches of them; no field is looked at but the few that make an
 * answer: metadata, status, a scale's replicas. So what a bench measures beside it is the client.
 * Threads: one.
 */
#ifndef BULKHEAD_TESTS_BENCH_RIG_SINK_H
#define BULKHEAD_TESTS_BENCH_RIG_SINK_H

#include "net/http.h"

struct sink;

/* An empty sink. Release with sink_free(). */
struct sink *sink_new(void);

/* Releases it; no stream may be open. NULL is fine. */
void sink_free(struct sink *sink);

/* The handler to put behind a transport. */
struct http_handler sink_handler(struct sink *sink);

#endif
