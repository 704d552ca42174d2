/* reply.h - a reply that keeps what it is sent, for tests of handlers. */
#ifndef BULKHEAD_TESTS_APISERVER_REPLY_H
#define BULKHEAD_TESTS_APISERVER_REPLY_H

#include "base/str.h"
#include "net/http.h"

#include <stdio.h>
#include <string.h>

struct test_reply {
    struct http_reply reply; /* first */
    int status;
    int heads;
    int ends;
    char warning[256];
    char type[128];
    struct str body;
    size_t backlog_bytes;
};

static void reply_head(struct http_reply *reply, int status, const char *type,
                       const char *warning) {
    struct test_reply *test = (struct test_reply *)reply;

    test->status = status;
    test->heads++;
    snprintf(test->warning, sizeof test->warning, "%s", warning ? warning : "");
    snprintf(test->type, sizeof test->type, "%s", type);
}

static void reply_data(struct http_reply *reply, const char *bytes, size_t size_bytes) {
    str_add(&((struct test_reply *)reply)->body, bytes, size_bytes, NULL);
}

static void reply_end(struct http_reply *reply) {
    ((struct test_reply *)reply)->ends++;
}

static size_t reply_backlog(const struct http_reply *reply) {
    return ((const struct test_reply *)reply)->backlog_bytes;
}

static const struct http_reply_ops reply_ops = {reply_head, reply_data, reply_end, reply_backlog};

static inline void reply_init(struct test_reply *test) {
    *test = (struct test_reply){.reply = {&reply_ops, NULL}};
    str_init(&test->body, (size_t)256 << 20);
}

static inline void reply_done(struct test_reply *test) {
    str_done(&test->body);
}

static inline const char *reply_text(const struct test_reply *test) {
    return test->body.data ? test->body.data : "";
}

#endif
