/* loopback.h - a transport and a handler joined in process: no socket, no thread, no time of its
 * own.
 *
 * Requests reach the handler, and answers the receiver, when loopback_step() delivers them, in
 * chunks cut at random, each after a delay; so hub, children, controller and fleet become one
 * deterministic program. Faults are drawn from the same seed.
 * Units:     milliseconds of the caller's clock; permille.
 * Ownership: the handler is the caller's and must outlive the net; transports are released with
 *            transport_free() before the net.
 * Threads:   one.
 */
#ifndef BULKHEAD_NET_LOOPBACK_H
#define BULKHEAD_NET_LOOPBACK_H

#include "base/random.h"
#include "net/http.h"

/* What may go wrong, each drawn per request or chunk. All-zero: nothing. */
struct loopback_faults {
    int delay_max_ms;         /* of each delivery: 0 .. this */
    int unsent_permille;      /* the request never arrives: HTTP_UNSENT */
    int lost_answer_permille; /* carried out, but the answer is lost: HTTP_BROKEN */
    int cut_permille;         /* of each chunk: the stream breaks there */
    int refuse_permille;      /* answered for the server by one of 429 with Retry-After, 500, 503 */
    int conflict_permille;    /* of each write: answered 409 Conflict without being carried out */
    int gone_permille;        /* of each watch request: 410, as a status or as an ERROR line */
    bool silent;              /* nothing is delivered either way until cleared: a partition */
    bool down;                /* every request is HTTP_UNSENT, every stream breaks */
};

struct loopback_net;

/* A net without links. Release with loopback_net_free(). */
struct loopback_net *loopback_net_new(struct random rng);

/* Releases the net; its transports must be gone. NULL is fine. */
void loopback_net_free(struct loopback_net *net);

/* A transport whose requests go to handler. faults may be changed by the caller at any time; NULL:
 * none. bearer is what the handler is shown. Release with transport_free(). */
struct transport *loopback_transport_new(struct loopback_net *net,
                                         const struct http_handler *handler, const char *bearer,
                                         const struct loopback_faults *faults);

/* Delivers one thing that is due at now. Returns 1 if it did, 0 if nothing is due. */
int loopback_step(struct loopback_net *net, int64_t now_ms);

/* When the next delivery is due; INT64_MAX: none waits. */
int64_t loopback_due_ms(const struct loopback_net *net);

#endif
