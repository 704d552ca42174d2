/* rig_wire.h - transports to handlers in one program, whose two sides are timed apart.
 *
 * What is sent waits in one line until wire_step() has its handler answer it or its receiver told,
 * in order and without copies more than a network needs. Each request is kept with when it was
 * sent and answered, so that the same ones can be sent again.
 * Units:   nanoseconds; own_ns leaves out what handlers took.
 * Threads: one.
 */
#ifndef BULKHEAD_TESTS_BENCH_RIG_WIRE_H
#define BULKHEAD_TESTS_BENCH_RIG_WIRE_H

#include "net/http.h"

#include <stdint.h>

struct wire_record {
    int cluster;
    char *method;
    char *target;
    char *content_type; /* NULL: none */
    char *body;         /* NULL: none, or not kept */
    size_t body_bytes;
    enum http_class kind;
    int status;          /* 0: not answered */
    int64_t sent_ns;     /* 0: never */
    int64_t own_ns;      /* on the sender's clock when it was sent */
    int64_t answered_ns; /* 0: not yet */
};

struct wire;

/* A wire without transports. Release with wire_free(). */
struct wire *wire_new(void);

/* Releases it; its transports must be gone. NULL is fine. */
void wire_free(struct wire *wire);

/* A transport to handler, which is called cluster in records. Release with transport_free(). */
struct transport *wire_transport_new(struct wire *wire, const struct http_handler *handler,
                                     int cluster);

/* Serves one request or tells one receiver. Returns 0 when nothing waits. */
int wire_step(struct wire *wire);

/* Steps until nothing waits. */
void wire_drain(struct wire *wire);

/* Whether bodies are kept in records; true at first. */
void wire_keep(struct wire *wire, bool bodies);

/* Every request so far, in the order of sending; borrowed until the next send. */
const struct wire_record *wire_records(const struct wire *wire, size_t *ret_count);

/* Time now, and the same without what handlers have taken. */
int64_t wire_now_ns(void);
int64_t wire_own_ns(const struct wire *wire);

#endif
