/* fuzz_apiserver_request - a few whole requests in a row, separated by NULs: each "METHOD TARGET
 * TYPE" and, behind a line break, a body. Every one is answered once, or left open as a watch; and
 * whatever is stored afterwards can be listed as JSON. Making a server takes far longer than a
 * request, so that each serves many inputs; a fault may need those before it. */
#include "apiserver/apiserver.h"
#include "base/str.h"

#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX 16
#define INPUTS_MAX 2000 /* of one server */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct answer {
    struct http_reply reply; /* first */
    int heads;
    int ends;
    struct str body;
};

static void head(struct http_reply *reply, int status, const char *type, const char *warning) {
    (void)type;
    (void)warning;
    assert(status >= 200 && status < 600);
    ((struct answer *)reply)->heads++;
}

static void add(struct http_reply *reply, const char *bytes, size_t size_bytes) {
    str_add(&((struct answer *)reply)->body, bytes, size_bytes, NULL);
}

static void end(struct http_reply *reply) {
    ((struct answer *)reply)->ends++;
}

static size_t backlog(const struct http_reply *reply) {
    (void)reply;
    return 0;
}

static const struct http_reply_ops ops = {head, add, end, backlog};

static void ask(const struct http_handler *handler, struct answer *answer, char *line,
                const char *body, size_t body_bytes) {
    char *rest = NULL;
    const char *method = strtok_r(line, " ", &rest);
    char *path = strtok_r(NULL, " ", &rest);
    const char *type = strtok_r(NULL, "", &rest);
    char *query = path ? strchr(path, '?') : NULL;

    *answer = (struct answer){.reply = {&ops, NULL}};
    str_init(&answer->body, (size_t)64 << 20);
    if (query)
        *query++ = '\0';
    handler->request(handler->arg,
                     &(struct http_incoming){.method = method ? method : "",
                                             .path = path ? path : "",
                                             .query = query ? query : "",
                                             .accept = "",
                                             .content_type = type ? type : "",
                                             .bearer = "",
                                             .user_agent = "fuzz",
                                             .body = body,
                                             .body_bytes = body_bytes},
                     &answer->reply);
    assert(answer->heads == 1 && answer->ends <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const lists[] = {"/api/v1/configmaps", "/api/v1/pods", "/api/v1/events",
                                        "/api/v1/services", "/apis/apps/v1/deployments"};
    static struct clock clock;
    static struct apiserver *server;
    static int inputs;

    if (inputs++ % INPUTS_MAX == 0) {
        apiserver_free(server);
        clock = clock_by_hand(1700000000000, 0);
        server = apiserver_new(&(struct apiserver_options){.clock = &clock, .rng = {1}});
    }
    const struct http_handler handler = apiserver_handler(server);
    struct answer answers[REQUESTS_MAX];
    int count = 0;
    char *copy = str_dup_len((const char *)data, size);

    for (char *at = copy; at <= copy + size && count < REQUESTS_MAX; at += strlen(at) + 1) {
        const size_t line = strcspn(at, "\n");
        const size_t all = strlen(at);
        char *text = str_dup_len(at, line);

        ask(&handler, &answers[count++], text, at + line + (line < all), all - line - (line < all));
        clock_advance(&clock, 20000);
        apiserver_tick(server, clock.mono_ms);
        free(text);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char *text = str_printf("GET %s", lists[i]);
        struct answer answer;

        ask(&handler, &answer, text, NULL, 0);
        json_t *list = json_loads(answer.body.data, 0, NULL);

        assert(list && json_is_array(json_object_get(list, "items")));
        json_decref(list);
        str_done(&answer.body);
        free(text);
    }
    for (int i = 0; i < count; i++) {
        if (answers[i].ends == 0)
            handler.closed(handler.arg, &answers[i].reply);
        str_done(&answers[i].body);
    }
    free(copy);
    return 0;
}
