/* faketransport.h - a transport whose answers the test plays; include after unit.h. */
#ifndef BULKHEAD_TESTS_UNIT_KUBE_FAKETRANSPORT_H
#define BULKHEAD_TESTS_UNIT_KUBE_FAKETRANSPORT_H

#include "base/random.h"
#include "base/str.h"
#include "net/http.h"

#define FAKE_CALL_MAX 512

struct fake_call {
    char *method;
    char *target;
    char *content_type;
    char *accept;
    char *body;
    struct http_request request; /* the numbers only */
    struct http_receiver receiver;
    bool headed;
    bool open;
};

struct fake {
    struct transport transport; /* first */
    struct fake_call calls[FAKE_CALL_MAX];
    size_t count;
    size_t chunk_max; /* bytes of the longest chunk; 0: whole */
    struct random rng;
};

static inline uint64_t fake_send(struct transport *transport, const struct http_request *request,
                                 const struct http_receiver *receiver) {
    struct fake *fake = (struct fake *)transport;

    assert_true(fake->count < FAKE_CALL_MAX);
    fake->calls[fake->count++] = (struct fake_call){
        .method = str_dup(request->method),
        .target = str_dup(request->target),
        .content_type = str_dup(request->content_type),
        .accept = str_dup(request->accept),
        .body = str_dup_len(request->body ? request->body : "", request->body_bytes),
        .request = *request,
        .receiver = *receiver,
        .open = true,
    };
    return fake->count;
}

static inline void fake_cancel(struct transport *transport, uint64_t id) {
    struct fake *fake = (struct fake *)transport;

    if (id > 0 && id <= fake->count)
        fake->calls[id - 1].open = false;
}

static const struct transport_ops fake_ops = {fake_send, fake_cancel, NULL};

static inline void fake_init(struct fake *fake) {
    *fake = (struct fake){.transport = {&fake_ops}, .rng = {11}};
}

static inline void fake_done(struct fake *fake) {
    for (size_t i = 0; i < fake->count; i++) {
        struct fake_call *call = &fake->calls[i];

        free(call->method);
        free(call->target);
        free(call->content_type);
        free(call->accept);
        free(call->body);
    }
}

/* The call sent last. */
static inline struct fake_call *fake_last(struct fake *fake) {
    assert_true(fake->count > 0);
    return &fake->calls[fake->count - 1];
}

/* Number of calls that wait for an answer. */
static inline size_t fake_open_count(const struct fake *fake) {
    size_t count = 0;

    for (size_t i = 0; i < fake->count; i++)
        count += fake->calls[i].open;
    return count;
}

static inline void fake_head(struct fake_call *call, int status, const char *content_type) {
    const struct http_head head = {status, -1, content_type, ""};

    assert_false(call->headed);
    call->headed = true;
    if (call->open && call->receiver.head)
        call->receiver.head(call->receiver.arg, &head);
}

/* In chunks of random sizes, each in memory of its own so that a sanitizer sees what reads on. */
static inline void fake_data(struct fake *fake, struct fake_call *call, const char *text) {
    size_t left = strlen(text);

    while (left > 0 && call->open) {
        size_t size = left;

        if (fake->chunk_max > 0 && fake->chunk_max < left)
            size = 1 + (size_t)random_below(&fake->rng, fake->chunk_max);
        char *chunk = malloc(size);

        assert_non_null(chunk);
        memcpy(chunk, text, size);
        call->receiver.data(call->receiver.arg, chunk, size);
        free(chunk);
        text += size;
        left -= size;
    }
}

static inline void fake_end(struct fake_call *call, enum http_end end) {
    if (!call->open)
        return;
    call->open = false;
    call->receiver.done(call->receiver.arg, end, end == HTTP_DONE ? "" : "it broke");
}

/* A whole answer in JSON. */
static inline void fake_answer(struct fake *fake, struct fake_call *call, int status,
                               const char *text) {
    fake_head(call, status, "application/json");
    fake_data(fake, call, text);
    fake_end(call, HTTP_DONE);
}

#endif
