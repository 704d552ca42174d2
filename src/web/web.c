#include "web/web.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "net/serve.h"
#include "web/health.h"
#include "web/snapshot.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 1000 /* how often the web thread looks at the control thread's counter */
#define ADDRESS_SIZE 64

struct web {
    struct web_options options;
    struct serve *serve;
    struct ask_box *box;
    pthread_t thread;
    /* Between the threads. */
    atomic_uint_fast64_t turns; /* of the control loop */
    atomic_bool stopping;       /* told to stop: not ready */
    atomic_bool ending;         /* the thread is to return */
    pthread_mutex_t lock;       /* of fresh */
    struct snapshot *fresh;     /* published and not yet fetched; NULL: none */
    /* The control thread's. */
    int64_t published_ms; /* 0: never */
    /* The web thread's. */
    struct snapshot *snapshot; /* fetched last; NULL: none */
    struct pulse pulse;
    int64_t still_ms;
};

typedef void answer_page(struct web *web, const struct http_incoming *incoming,
                         struct http_reply *reply);

static answer_page healthz, readyz;

/* Whole paths, or with "/" at the end everything below. */
static const struct {
    const char *path;
    answer_page *answer;
} PAGES[] = {
    {"/healthz", healthz}, {"/healthz/", healthz}, {"/livez", healthz},
    {"/livez/", healthz},  {"/readyz", readyz},    {"/readyz/", readyz},
};

static int split_address(const char *text, char ret_address[ADDRESS_SIZE], int *ret_port,
                         struct err *err);
static void *run(void *arg);
static void on_request(void *arg, const struct http_incoming *incoming, struct http_reply *reply);
static void on_closed(void *arg, struct http_reply *reply);

static void wake_control(void *arg) {
    const struct web *web = arg;

    web->options.wake(web->options.arg);
}

static void wake_web(void *arg) {
    const struct web *web = arg;

    serve_wake(web->serve);
}

int web_new(const struct web_options *options, struct web **ret_web, struct err *err) {
    struct web *web = str_alloc(1, sizeof *web);
    char address[ADDRESS_SIZE];
    struct serve_port port = {.address = address, .handler = {on_request, on_closed, web}};
    sigset_t all, before;
    int r = split_address(options->address, address, &port.port, err);

    web->options = *options;
    if (r == 0)
        r = serve_new(&port, 1, &web->serve, err);
    if (r < 0) {
        free(web);
        return r;
    }
    web->box = ask_box_new(wake_control, wake_web, web);
    pthread_mutex_init(&web->lock, NULL);
    /* Signals are for the control thread, whose wait they end. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&web->thread, NULL, run, web);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r != 0) {
        atomic_store(&web->ending, true);
        serve_free(web->serve);
        ask_box_free(web->box);
        pthread_mutex_destroy(&web->lock);
        free(web);
        return err_set(err, ERR_RETRY, "no thread can be started: %s", strerrordesc_np(r));
    }
    *ret_web = web;
    return 0;
}

void web_free(struct web *web) {
    if (!web)
        return;
    atomic_store(&web->ending, true);
    serve_wake(web->serve);
    pthread_join(web->thread, NULL);
    serve_free(web->serve);
    ask_box_free(web->box);
    pthread_mutex_destroy(&web->lock);
    snapshot_free(web->fresh);
    snapshot_free(web->snapshot);
    free(web);
}

int web_port_number(const struct web *web) {
    return serve_port_number(web->serve, 0);
}

static void publish(struct web *web, struct snapshot *snapshot) {
    pthread_mutex_lock(&web->lock);
    struct snapshot *unread = web->fresh;

    web->fresh = snapshot;
    pthread_mutex_unlock(&web->lock);
    snapshot_free(unread);
}

int64_t web_turn(struct web *web, struct manager *manager, int64_t now_ms) {
    if (!web)
        return INT64_MAX;
    if (!web->published_ms || now_ms - web->published_ms >= WEB_PUBLISH_MS) {
        web->published_ms = now_ms;
        publish(web, snapshot_take(manager, now_ms));
    }
    const bool more = ask_run(web->box, manager);

    atomic_fetch_add_explicit(&web->turns, 1, memory_order_relaxed);
    return more ? now_ms : web->published_ms + WEB_PUBLISH_MS;
}

void web_stopping(struct web *web) {
    if (web)
        atomic_store(&web->stopping, true);
}

int web_ask(struct web *web, struct ask *ask, struct http_reply *reply, int64_t wait_ms,
            struct err *err) {
    return ask_put(web->box, ask, reply, clock_mono_ms(NULL) + wait_ms, err);
}

/* "127.0.0.1:8080", "[::1]:8080" or ":8080" for every address. */
static int split_address(const char *text, char ret_address[ADDRESS_SIZE], int *ret_port,
                         struct err *err) {
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    const long port = colon && colon[1] ? strtol(colon + 1, &end, 10) : -1;
    const bool brackets = colon && colon > text && text[0] == '[' && colon[-1] == ']';
    const char *first = brackets ? text + 1 : text;
    const size_t len = colon ? (size_t)(colon - first) - (brackets ? 1 : 0) : 0;

    if (!colon || !end || *end || port < 0 || port > 65535 || len >= ADDRESS_SIZE ||
        (!brackets && memchr(text, ':', len)))
        return err_set(err, ERR_INVALID,
                       "'%.100s' is not ADDR:PORT, as 0.0.0.0:8080 or [::]:8080 are", text);
    *ret_port = (int)port;
    if (len == 0)
        snprintf(ret_address, ADDRESS_SIZE, "0.0.0.0");
    else
        snprintf(ret_address, ADDRESS_SIZE, "%.*s", (int)len, first);
    return 0;
}

static void fetch_snapshot(struct web *web) {
    pthread_mutex_lock(&web->lock);
    struct snapshot *fresh = take(web->fresh);

    pthread_mutex_unlock(&web->lock);
    if (!fresh)
        return;
    snapshot_free(web->snapshot);
    web->snapshot = fresh;
}

static void look(struct web *web, int64_t now_ms) {
    web->still_ms = pulse_look(&web->pulse, atomic_load(&web->turns), now_ms);
}

static void *run(void *arg) {
    struct web *web = arg;

    while (!atomic_load(&web->ending)) {
        const int64_t now_ms = clock_mono_ms(NULL);

        look(web, now_ms);
        const int64_t due_ms = ask_deliver(web->box, now_ms);

        serve_turn(web->serve, due_ms > now_ms + LOOK_MS ? LOOK_MS : (int)(due_ms - now_ms));
    }
    return NULL;
}

static bool is_at(const char *path, const char *page) {
    const size_t len = strlen(page);

    return page[len - 1] == '/' ? strncmp(path, page, len) == 0 : strcmp(path, page) == 0;
}

static void on_request(void *arg, const struct http_incoming *incoming, struct http_reply *reply) {
    static const char unknown[] = "no such page\n";
    struct web *web = arg;

    for (size_t i = 0; i < sizeof PAGES / sizeof *PAGES; i++) {
        if (!is_at(incoming->path, PAGES[i].path))
            continue;
        fetch_snapshot(web);
        look(web, clock_mono_ms(NULL));
        PAGES[i].answer(web, incoming, reply);
        return;
    }
    http_answer(reply, 404, "text/plain", unknown, sizeof unknown - 1);
}

static void on_closed(void *arg, struct http_reply *reply) {
    struct web *web = arg;

    ask_forget(web->box, reply);
}

static bool reads_only(const struct http_incoming *incoming, struct http_reply *reply) {
    static const char refused[] = "GET or HEAD only\n";

    if (strcmp(incoming->method, "GET") == 0 || strcmp(incoming->method, "HEAD") == 0)
        return true;
    http_answer(reply, 405, "text/plain", refused, sizeof refused - 1);
    return false;
}

static void probe(struct web *web, enum health_probe which, const struct http_incoming *incoming,
                  struct http_reply *reply) {
    const char *check = strchr(incoming->path + 1, '/');
    const struct health_facts facts = {.snapshot = web->snapshot,
                                       .still_ms = web->still_ms,
                                       .stopping = atomic_load(&web->stopping)};
    struct str out;

    if (!reads_only(incoming, reply))
        return;
    str_init(&out, HEALTH_TEXT_MAX);
    const int status = health_answer(which, &facts, check ? check + 1 : "", incoming->query, &out);

    http_answer(reply, status, "text/plain; charset=utf-8", out.data, out.size_bytes);
    str_done(&out);
}

static void healthz(struct web *web, const struct http_incoming *incoming,
                    struct http_reply *reply) {
    probe(web, HEALTH_LIVE, incoming, reply);
}

static void readyz(struct web *web, const struct http_incoming *incoming,
                   struct http_reply *reply) {
    probe(web, HEALTH_READY, incoming, reply);
}
