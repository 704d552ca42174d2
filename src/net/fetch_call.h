/* fetch_call.h - what the parts of fetch share: the loop, its endpoints, lanes and calls.
 *
 * fetch.c turns the loop and holds the lanes, fetch_call.c carries one call through curl,
 * fetch_endpoint.c checks and keeps identities. Nobody else includes this.
 *
 * A lane is one curl multi handle: the connections of one endpoint for one class of calls. That
 * keeps two identities, and a lease and a stream, from ever sharing a connection. A call is queued
 * whenever the loop has something to do for it; curl is only told, and receivers are only called,
 * from the loop. Inside a curl callback a call merely changes its state.
 */
#ifndef BULKHEAD_NET_FETCH_CALL_H
#define BULKHEAD_NET_FETCH_CALL_H

#include "net/fetch.h"

#include <curl/curl.h>
#include <stdint.h>
#include <uthash.h>

#define FETCH_CLASS_COUNT 3
#define FETCH_CALLS_MAX 16384 /* under way in one loop */
#define FETCH_HANDLES_MAX 64  /* idle curl handles kept by an endpoint */
#define FETCH_SILENT_MS 60000 /* a connection without a byte for so long is thought dead */
#define FETCH_TARGET_MAX_BYTES 65536

/* Certificates and keys as curl borrows them; shared by the endpoint and its handles. */
struct identity {
    int refs;
    char *ca_pem;
    char *cert_pem;
    char *key_pem;
};

/* A connection with calls on it, known by its local port. */
struct link {
    int local_port;
    size_t call_count;
};

struct lane {
    struct fetch *fetch;
    CURLM *multi;
    int64_t due_ms;    /* of curl's timer; INT64_MAX: none */
    size_t call_count; /* that curl has */
    size_t sent_count; /* of them, on a connection */
    struct link *links;
    size_t link_count;
    bool serial;             /* the server speaks HTTP/1.1: a connection for each call */
    struct fetch_call *held; /* until there is room on a connection, or one may be opened */
    struct lane *prev, *next;
};

struct handle {
    CURL *easy;
    struct identity *identity;
    struct handle *next;
};

struct endpoint {
    struct transport transport; /* first: the public face */
    struct fetch *fetch;
    struct identity *identity;
    struct lane *lanes[FETCH_CLASS_COUNT]; /* NULL until first used */
    struct handle *idle;
    size_t idle_count;
    struct fetch_call *calls;
    char *base_url;                  /* scheme, host, port and prefix as curl is told */
    struct curl_slist *connect_list; /* where base_url's host is really reached; NULL: there */
    char *host_header;               /* NULL: curl's own */
    char *authorization;
    char *user_agent;
    char *proxy_url;
    struct curl_slist *impersonate; /* header lines */
    bool plain;                     /* http */
    bool insecure;
    bool loopback;
    bool dying; /* released while the loop turned */
    int timeout_ms;
    struct endpoint *prev, *next;
};

enum call_state { CALL_WAITING, CALL_RUNNING, CALL_ENDED, CALL_DROPPED };

struct fetch_call {
    UT_hash_handle hh; /* by id, until it ended or was dropped */
    uint64_t id;
    struct endpoint *endpoint;
    enum call_state state;
    bool queued;
    struct http_receiver receiver;
    enum http_class kind;
    char *method;
    char *url;
    char *body;
    size_t body_bytes;
    struct curl_slist *headers;
    int64_t deadline_ms; /* monotonic; INT64_MAX: none */
    size_t limit_bytes;
    size_t got_bytes;
    struct lane *lane; /* while curl has it, with handle */
    struct handle *handle;
    int local_port; /* of its connection, while its request is on one; 0: none */
    bool sent;      /* it was handed to a connection: it may have been carried out */
    bool repeated;
    struct lane *held_in;
    struct fetch_call *held_prev, *held_next;
    bool forbidden; /* an address was refused */
    bool dialled;   /* an address was not */
    bool head_told;
    int status; /* of the newest head */
    int64_t retry_after_ms;
    char *content_type;
    char *warning;
    enum http_end end;
    char text[CURL_ERROR_SIZE];
    struct fetch_call *prev, *next;             /* of the endpoint */
    struct fetch_call *queue_prev, *queue_next; /* of the loop */
};

struct socket {
    struct lane *lane; /* NULL: not curl's */
    int64_t read_ms;   /* when it was last readable, or opened */
};

struct fetch {
    int epoll_fd;
    int wake_fd;
    bool turning;
    uint64_t last_id;
    int64_t silent_ms;
    struct socket *sockets; /* by file descriptor */
    size_t socket_room;
    struct lane *lanes;
    struct lane *retired; /* without handles once the queue was worked off */
    struct endpoint *endpoints;
    struct fetch_call *by_id;
    struct fetch_call *queue;
};

/* Puts a call where the loop sees it next. */
void fetch_enqueue(struct fetch *fetch, struct fetch_call *call);

/* The lane of one class, made when there is none. */
struct lane *fetch_lane(struct endpoint *endpoint, enum http_class kind);

/* Takes an endpoint's lanes out of use; the next call gets new connections. */
void fetch_retire_lanes(struct endpoint *endpoint);

/* Keeps a call until fetch_lane_admit() may start it. */
void fetch_lane_hold(struct lane *lane, struct fetch_call *call);

/* Lets go of a call that is held; any other is left alone. */
void fetch_lane_release(struct fetch_call *call);

/* Starts held calls as far as connections have room, opening one connection at a time. */
void fetch_lane_admit(struct lane *lane);

/* Ends every held call: the connection that they waited for was not made. */
void fetch_lane_fail_held(struct lane *lane, enum http_end end, const char *text);

/* When curl's timer or the deadline of a held call is due; INT64_MAX: never. */
int64_t fetch_lane_due_ms(const struct lane *lane);

/* Ends held calls whose deadline has come. */
void fetch_lane_expire(struct lane *lane, int64_t now_ms);

/* Notes the connection on which a call's request is about to go out. */
void fetch_lane_sent(struct fetch_call *call, int local_port);

/* Notes that a call has left its connection. */
void fetch_lane_left(struct fetch_call *call);

/* Whether a call has its connection for itself. */
bool fetch_lane_is_alone(const struct fetch_call *call);

/* Works off the queue, and closes retired lanes. */
void fetch_sweep(struct fetch *fetch);

/* Closes retired lanes that no call is in. */
void fetch_close_retired(struct fetch *fetch);

/* Closes the connection with this local port under every stream on it, if not a byte has come for
 * silent_ms. */
void fetch_shut(const struct lane *lane, int local_port, int64_t silent_ms);

/* transport_ops.send: checks and queues; curl hears of it in the loop. */
uint64_t fetch_call_send(struct transport *transport, const struct http_request *request,
                         const struct http_receiver *receiver);

/* transport_ops.cancel. */
void fetch_call_cancel(struct transport *transport, uint64_t id);

/* Does what a call's state asks for; from the loop. May release the call. */
void fetch_call_step(struct fetch_call *call);

/* Hands a call to curl. */
void fetch_call_start(struct fetch_call *call, struct lane *lane);

/* What curl says of a call that it finished. */
void fetch_call_finished(struct fetch_call *call, CURLcode code);

/* Ends a call that has not ended; its receiver hears it in the loop. */
void fetch_call_end(struct fetch_call *call, enum http_end end, const char *text);

/* Forgets a call without a word. */
void fetch_call_drop(struct fetch_call *call);

/* Without control characters, so fit for a header line. */
bool fetch_is_clean(const char *text);

/* A curl handle with the endpoint's identity. */
struct handle *fetch_endpoint_handle(struct endpoint *endpoint);

/* Takes a handle back: kept for the next call, or released. */
void fetch_endpoint_handle_done(struct endpoint *endpoint, struct handle *handle);

/* Releases an endpoint that has no calls left. */
void fetch_endpoint_release(struct endpoint *endpoint);

#endif
