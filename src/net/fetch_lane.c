#include "base/str.h"
#include "net/fetch_call.h"

#include <assert.h>
#include <openssl/ssl.h>
#include <string.h>
#include <utlist.h>

static bool may_start(const struct lane *lane);
static bool is_multiplexed(CURL *easy);

void fetch_lane_hold(struct lane *lane, struct fetch_call *call) {
    assert(!call->held_in);
    call->held_in = lane;
    DL_APPEND2(lane->held, call, held_prev, held_next);
}

void fetch_lane_release(struct fetch_call *call) {
    if (!call->held_in)
        return;
    DL_DELETE2(call->held_in->held, call, held_prev, held_next);
    call->held_in = NULL;
}

void fetch_lane_admit(struct lane *lane) {
    while (lane->held && may_start(lane)) {
        struct fetch_call *call = lane->held;

        fetch_lane_release(call);
        if (call->state == CALL_WAITING)
            fetch_call_start(call, lane);
    }
}

void fetch_lane_fail_held(struct lane *lane, enum http_end end, const char *text) {
    while (lane->held) {
        struct fetch_call *call = lane->held;

        fetch_lane_release(call);
        fetch_call_end(call, call->sent ? HTTP_BROKEN : end, text);
    }
}

int64_t fetch_lane_due_ms(const struct lane *lane) {
    const struct fetch_call *call;
    int64_t due_ms = lane->due_ms;

    DL_FOREACH2(lane->held, call, held_next) {
        if (call->deadline_ms < due_ms)
            due_ms = call->deadline_ms;
    }
    return due_ms;
}

void fetch_lane_expire(struct lane *lane, int64_t now_ms) {
    struct fetch_call *call, *next;

    DL_FOREACH_SAFE2(lane->held, call, next, held_next) {
        if (call->deadline_ms > now_ms)
            continue;
        fetch_lane_release(call);
        fetch_call_end(call, call->sent ? HTTP_TIMEOUT : HTTP_UNSENT, "no connection in time");
    }
}

void fetch_lane_sent(struct fetch_call *call, int local_port) {
    struct lane *lane = call->lane;
    size_t i = 0;

    fetch_lane_left(call);
    call->local_port = local_port;
    lane->serial = !is_multiplexed(call->handle->easy);
    while (i < lane->link_count && lane->links[i].local_port != local_port)
        i++;
    if (i == lane->link_count) {
        lane->links = str_resize(lane->links, ++lane->link_count, sizeof *lane->links);
        lane->links[i] = (struct link){local_port, 0};
    }
    lane->links[i].call_count++;
    lane->sent_count++;
}

void fetch_lane_left(struct fetch_call *call) {
    struct lane *lane = call->lane;

    for (size_t i = 0; call->local_port && i < lane->link_count; i++) {
        if (lane->links[i].local_port != call->local_port)
            continue;
        lane->sent_count--;
        if (--lane->links[i].call_count == 0)
            lane->links[i] = lane->links[--lane->link_count];
        return;
    }
}

bool fetch_lane_is_alone(const struct fetch_call *call) {
    const struct lane *lane = call->lane;

    for (size_t i = 0; i < lane->link_count; i++) {
        if (lane->links[i].local_port == call->local_port)
            return lane->links[i].call_count == 1;
    }
    return false;
}

/* Without this curl opens a connection for every call that finds the known ones full, or none yet.
 * So while one is being opened, only as many calls follow as the open ones have room for. */
static bool may_start(const struct lane *lane) {
    const size_t unsent_count = lane->call_count - lane->sent_count;

    return lane->serial || unsent_count == 0 ||
           unsent_count + lane->sent_count < lane->link_count * FETCH_STREAMS_MAX;
}

/* Asked of a connection that is open; what has no TLS here speaks HTTP/1.1. */
static bool is_multiplexed(CURL *easy) {
    struct curl_tlssessioninfo *tls = NULL;
    const unsigned char *protocol = NULL;
    unsigned len = 0;

    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &tls) == CURLE_OK && tls && tls->internals)
        SSL_get0_alpn_selected(tls->internals, &protocol, &len);
    return len == 2 && memcmp(protocol, "h2", 2) == 0;
}
