#include "net/fetch.h"

#include "base/clock.h"
#include "base/str.h"
#include "net/fetch_call.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#define EVENTS_MAX 64
#define UNARY_CONNECTIONS_MAX 16L /* to one endpoint; streams over HTTP/1.1 need one each */

static void dispatch(struct fetch *fetch, const struct epoll_event *event);
static void run_timers(struct fetch *fetch);
static void act(struct lane *lane, curl_socket_t fd, int mask);
static int wait_ms(const struct fetch *fetch, int timeout_ms);
static struct lane *lane_new(struct fetch *fetch, enum http_class kind);
static void lane_free(struct lane *lane);
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg);
static int on_timer(CURLM *multi, long timeout_ms, void *arg);
static void watch(struct fetch *fetch, int fd, uint32_t events);
static int local_port_of(int fd);

int fetch_new(struct fetch **ret_fetch, struct err *err) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_RETRY, "libcurl does not start");
    struct fetch *fetch = str_alloc(1, sizeof *fetch);

    fetch->silent_ms = FETCH_SILENT_MS;
    fetch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fetch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fetch->epoll_fd < 0 || fetch->wake_fd < 0) {
        const int r = err_set(err, ERR_RETRY, "no file descriptors: %s", strerror(errno));

        fetch_free(fetch);
        return r;
    }
    watch(fetch, fetch->wake_fd, EPOLLIN);
    *ret_fetch = fetch;
    return 0;
}

void fetch_free(struct fetch *fetch) {
    if (!fetch)
        return;
    assert(!fetch->endpoints && !fetch->turning);
    if (fetch->wake_fd >= 0)
        close(fetch->wake_fd);
    if (fetch->epoll_fd >= 0)
        close(fetch->epoll_fd);
    free(fetch->sockets);
    free(fetch);
    curl_global_cleanup();
}

void fetch_turn(struct fetch *fetch, int timeout_ms) {
    struct epoll_event events[EVENTS_MAX];
    struct endpoint *endpoint, *next;

    assert(!fetch->turning);
    fetch->turning = true;
    fetch_sweep(fetch);
    const int count = epoll_wait(fetch->epoll_fd, events, EVENTS_MAX, wait_ms(fetch, timeout_ms));

    for (int i = 0; i < count; i++)
        dispatch(fetch, &events[i]);
    run_timers(fetch);
    fetch_sweep(fetch);
    fetch->turning = false;
    DL_FOREACH_SAFE(fetch->endpoints, endpoint, next) {
        if (endpoint->dying && !endpoint->calls)
            fetch_endpoint_release(endpoint);
    }
}

void fetch_wake(struct fetch *fetch) {
    const uint64_t one = 1;
    const ssize_t r = write(fetch->wake_fd, &one, sizeof one);

    assert(r == sizeof one || errno == EAGAIN); /* full: it is awake anyway */
}

void fetch_enqueue(struct fetch *fetch, struct fetch_call *call) {
    if (call->queued)
        return;
    call->queued = true;
    DL_APPEND2(fetch->queue, call, queue_prev, queue_next);
}

/* What receivers queue meanwhile is left for the next sweep, so that each one ends. */
void fetch_sweep(struct fetch *fetch) {
    struct fetch_call *last = fetch->queue ? fetch->queue->queue_prev : NULL;

    for (bool more = last; more;) {
        struct fetch_call *call = fetch->queue;

        more = call != last;
        DL_DELETE2(fetch->queue, call, queue_prev, queue_next);
        call->queued = false;
        fetch_call_step(call);
    }
    fetch_close_retired(fetch);
}

void fetch_close_retired(struct fetch *fetch) {
    struct lane *lane, *next;

    DL_FOREACH_SAFE(fetch->retired, lane, next) {
        if (lane->call_count > 0 || lane->held)
            continue;
        DL_DELETE(fetch->retired, lane);
        lane_free(lane);
    }
}

struct lane *fetch_lane(struct endpoint *endpoint, enum http_class kind) {
    struct lane **lane = &endpoint->lanes[kind];

    if (!*lane) {
        *lane = lane_new(endpoint->fetch, kind);
        DL_APPEND(endpoint->fetch->lanes, *lane);
    }
    return *lane;
}

void fetch_retire_lanes(struct endpoint *endpoint) {
    struct fetch *fetch = endpoint->fetch;

    for (int i = 0; i < FETCH_CLASS_COUNT; i++) {
        if (!endpoint->lanes[i])
            continue;
        DL_DELETE(fetch->lanes, endpoint->lanes[i]);
        DL_APPEND(fetch->retired, endpoint->lanes[i]);
        endpoint->lanes[i] = NULL;
    }
}

void fetch_shut(const struct lane *lane, int local_port, int64_t silent_ms) {
    const struct fetch *fetch = lane->fetch;
    const int64_t now_ms = clock_mono_ms(NULL);

    for (size_t fd = 0; fd < fetch->socket_room; fd++) {
        const struct socket *socket = &fetch->sockets[fd];

        if (socket->lane == lane && now_ms - socket->read_ms >= silent_ms &&
            local_port_of((int)fd) == local_port)
            shutdown((int)fd, SHUT_RDWR);
    }
}

static void dispatch(struct fetch *fetch, const struct epoll_event *event) {
    const int fd = event->data.fd;
    const int mask = (event->events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                     (event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                     (event->events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    uint64_t count;

    if (fd == fetch->wake_fd) {
        const ssize_t r = read(fd, &count, sizeof count);

        assert(r == sizeof count || errno == EAGAIN);
        return;
    }
    /* An earlier event of the same batch may have closed it. */
    if ((size_t)fd >= fetch->socket_room || !fetch->sockets[fd].lane)
        return;
    if (event->events & EPOLLIN)
        fetch->sockets[fd].read_ms = clock_mono_ms(NULL);
    act(fetch->sockets[fd].lane, fd, mask);
}

/* A receiver may retire lanes meanwhile: a lane that is missed then is still due next turn. */
static void run_timers(struct fetch *fetch) {
    const int64_t now_ms = clock_mono_ms(NULL);
    struct lane *lane, *next;

    DL_FOREACH_SAFE(fetch->lanes, lane, next) {
        fetch_lane_expire(lane, now_ms);
        if (lane->due_ms > now_ms)
            continue;
        lane->due_ms = INT64_MAX;
        act(lane, CURL_SOCKET_TIMEOUT, 0);
    }
}

static void act(struct lane *lane, curl_socket_t fd, int mask) {
    const CURLMsg *message;
    int left;

    curl_multi_socket_action(lane->multi, fd, mask, &left);
    while ((message = curl_multi_info_read(lane->multi, &left))) {
        struct fetch_call *call = NULL;

        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        fetch_call_finished(call, message->data.result);
    }
    fetch_lane_admit(lane);
}

static int wait_ms(const struct fetch *fetch, int timeout_ms) {
    const int64_t now_ms = clock_mono_ms(NULL);
    const struct lane *lane;
    int64_t wait = fetch->queue || timeout_ms < 0 ? 0 : timeout_ms;

    DL_FOREACH(fetch->lanes, lane) {
        const int64_t due_ms = fetch_lane_due_ms(lane);

        if (due_ms < now_ms + wait)
            wait = due_ms > now_ms ? due_ms - now_ms : 0;
    }
    return (int)wait;
}

static struct lane *lane_new(struct fetch *fetch, enum http_class kind) {
    struct lane *lane = str_alloc(1, sizeof *lane);

    lane->fetch = fetch;
    lane->due_ms = INT64_MAX;
    lane->multi = curl_multi_init();
    if (!lane->multi)
        abort();
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)FETCH_STREAMS_MAX);
    if (kind != HTTP_STREAM)
        curl_multi_setopt(lane->multi, CURLMOPT_MAX_HOST_CONNECTIONS, UNARY_CONNECTIONS_MAX);
    return lane;
}

static void lane_free(struct lane *lane) {
    assert(!lane->held && lane->call_count == 0);
    curl_multi_cleanup(lane->multi);
    for (size_t fd = 0; fd < lane->fetch->socket_room; fd++) {
        if (lane->fetch->sockets[fd].lane == lane)
            lane->fetch->sockets[fd].lane = NULL;
    }
    free(lane->links);
    free(lane);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg) {
    struct lane *lane = arg;
    struct fetch *fetch = lane->fetch;

    (void)easy;
    (void)socket_arg;
    if ((size_t)fd >= fetch->socket_room) {
        const size_t room = ((size_t)fd + 1) * 2;

        fetch->sockets = str_resize(fetch->sockets, room, sizeof *fetch->sockets);
        memset(fetch->sockets + fetch->socket_room, 0,
               (room - fetch->socket_room) * sizeof *fetch->sockets);
        fetch->socket_room = room;
    }
    struct socket *socket = &fetch->sockets[fd];

    if (what == CURL_POLL_REMOVE) {
        socket->lane = NULL;
        epoll_ctl(fetch->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* curl may have closed it */
        return 0;
    }
    if (socket->lane != lane)
        *socket = (struct socket){lane, clock_mono_ms(NULL)};
    watch(fetch, fd, (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U));
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg) {
    struct lane *lane = arg;

    (void)multi;
    lane->due_ms = timeout_ms < 0 ? INT64_MAX : clock_mono_ms(NULL) + timeout_ms;
    return 0;
}

static void watch(struct fetch *fetch, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};

    if (epoll_ctl(fetch->epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0 || errno != ENOENT)
        return;
    epoll_ctl(fetch->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* 0 for what is not an internet socket. */
static int local_port_of(int fd) {
    struct sockaddr_storage address = {0};
    struct sockaddr_in in;
    socklen_t size = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6))
        return 0;
    memcpy(&in, &address, sizeof in); /* the port is at the same place in both */
    return ntohs(in.sin_port);
}
