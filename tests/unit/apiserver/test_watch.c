#include "apiserver/apiserver.h"
#include "apiserver/watch.h"

#include "reply.h"
#include "unit.h"

#include "base/auto.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

struct rig {
    struct clock clock;
    struct apiserver *server;
    struct http_handler handler;
};

static int setup(void **state) {
    struct rig *rig = str_alloc(1, sizeof *rig);

    rig->clock = clock_by_hand(1700000000000, 5000);
    rig->server = apiserver_new(&(struct apiserver_options){.clock = &rig->clock, .rng = {1}});
    rig->handler = apiserver_handler(rig->server);
    *state = rig;
    return 0;
}

static int teardown(void **state) {
    struct rig *rig = *state;

    apiserver_free(rig->server);
    free(rig);
    return 0;
}

static void send_to(struct rig *rig, struct test_reply *reply, const char *method,
                    const char *target, const char *accept, const char *body) {
    auto_free char *path = str_dup(target);
    char *query = strchr(path, '?');

    if (query)
        *query++ = '\0';
    rig->handler.request(
        rig->handler.arg,
        &(struct http_incoming){.method = method,
                                .path = path,
                                .query = query ? query : "",
                                .accept = accept,
                                .content_type = strcmp(method, "PATCH") == 0
                                                    ? "application/merge-patch+json"
                                                    : "application/json",
                                .bearer = "",
                                .user_agent = "",
                                .body = body,
                                .body_bytes = body ? strlen(body) : 0},
        &reply->reply);
}

/* One write; returns the version that it led to. */
static long write_one(struct rig *rig, const char *method, const char *target, const char *body) {
    auto_free char *text = str_dup(body);
    struct test_reply reply;

    for (char *at = text; at && *at; at++)
        *at = *at == '\'' ? '"' : *at;
    reply_init(&reply);
    send_to(rig, &reply, method, target, "", text);
    assert_int_equal(reply.ends, 1);
    assert_true(reply.status < 300);
    json_auto_t *object = json_loads(reply_text(&reply), 0, NULL);
    const char *rv =
        json_string_value(json_object_get(json_object_get(object, "metadata"), "resourceVersion"));

    reply_done(&reply);
    return rv ? strtol(rv, NULL, 10) : 0;
}

static void open_watch(struct rig *rig, struct test_reply *reply, const char *query) {
    auto_free char *target = str_printf(MAPS "?watch=true&%s", query);

    reply_init(reply);
    send_to(rig, reply, "GET", target, "", NULL);
    assert_int_equal(reply->status, 200);
}

/* What came since the last look: "ADDED a, DELETED b, BOOKMARK, ERROR 410". */
static void came(struct test_reply *reply, const char *want) {
    auto_free char *text = str_dup(reply_text(reply));
    struct str seen;
    char *rest = NULL;

    str_init(&seen, 1 << 20);
    str_add(&seen, "", 0, NULL);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_auto_t *event = json_loads(line, 0, NULL);
        const json_t *object = json_object_get(event, "object");
        const json_t *metadata = json_object_get(object, "metadata");
        const char *name = json_string_value(json_object_get(metadata, "name"));
        const json_t *code = json_object_get(object, "code");

        str_addf(&seen, NULL, "%s%s", seen.size_bytes > 0 ? ", " : "",
                 json_string_value(json_object_get(event, "type")));
        if (name)
            str_addf(&seen, NULL, " %s", name);
        if (code)
            str_addf(&seen, NULL, " %lld", json_integer_value(code));
        if (json_object_get(json_object_get(metadata, "annotations"), "k8s.io/initial-events-end"))
            str_addf(&seen, NULL, " end");
    }
    assert_string_equal(seen.data ? seen.data : "", want);
    str_done(&seen);
    str_clear(&reply->body);
    if (reply->body.data)
        reply->body.data[0] = '\0';
}

static void make(struct rig *rig, const char *name) {
    auto_free char *body = str_printf("{'metadata':{'name':'%s','labels':{'on':'yes'}}}", name);

    write_one(rig, "POST", MAPS, body);
}

static void a_watch_tells_what_changes(void **state) {
    struct rig *rig = *state;
    struct test_reply all, none, one;

    make(rig, "old");
    open_watch(rig, &all, "");
    open_watch(rig, &none,
               "resourceVersion=0&sendInitialEvents=false&"
               "resourceVersionMatch=NotOlderThan");
    open_watch(rig, &one, "fieldSelector=metadata.name%3Db");
    came(&all, "ADDED old");
    came(&none, "");
    make(rig, "a");
    make(rig, "b");
    write_one(rig, "PATCH", MAPS "/a", "{'data':{'x':'y'}}");
    write_one(rig, "DELETE", MAPS "/a", NULL);
    write_one(rig, "POST", "/api/v1/namespaces/kube-system/configmaps",
              "{'metadata':{'name':'b'}}");
    write_one(rig, "POST", "/api/v1/namespaces/default/secrets", "{'metadata':{'name':'b'}}");
    came(&all, "ADDED a, ADDED b, MODIFIED a, DELETED a");
    came(&none, "ADDED a, ADDED b, MODIFIED a, DELETED a");
    came(&one, "ADDED b");
    assert_int_equal(all.ends, 0);
    apiserver_free(rig->server);
    rig->server = NULL;
    assert_int_equal(all.ends, 1);
    reply_done(&all);
    reply_done(&none);
    reply_done(&one);
}

static void an_object_that_stops_matching_is_deleted(void **state) {
    struct rig *rig = *state;
    struct test_reply watch;

    open_watch(rig, &watch, "labelSelector=on%3Dyes");
    make(rig, "a");
    came(&watch, "ADDED a");
    const long rv = write_one(rig, "PATCH", MAPS "/a", "{'metadata':{'labels':{'on':'no'}}}");
    auto_free char *version = str_printf("\"resourceVersion\":\"%ld\"", rv);

    assert_non_null(strstr(reply_text(&watch), version));
    assert_non_null(strstr(reply_text(&watch), "\"on\":\"yes\"")); /* as it last matched */
    came(&watch, "DELETED a");
    write_one(rig, "PATCH", MAPS "/a", "{'data':{'x':'y'}}");
    came(&watch, "");
    write_one(rig, "PATCH", MAPS "/a", "{'metadata':{'labels':{'on':'yes'}}}");
    came(&watch, "ADDED a");
    write_one(rig, "DELETE", MAPS "/a", NULL);
    came(&watch, "DELETED a");
    rig->handler.closed(rig->handler.arg, &watch.reply);
    make(rig, "b");
    came(&watch, "");
    reply_done(&watch);
}

static void a_watch_goes_on_from_a_version(void **state) {
    struct rig *rig = *state;
    struct test_reply watch;

    make(rig, "a");
    const long rv = write_one(rig, "PATCH", MAPS "/a", "{'data':{'x':'1'}}");

    make(rig, "b");
    write_one(rig, "DELETE", MAPS "/a", NULL);
    auto_free char *query = str_printf("resourceVersion=%ld", rv);
    auto_free char *future = str_printf("resourceVersion=%ld", rv + 100);

    open_watch(rig, &watch, query);
    came(&watch, "ADDED b, DELETED a");
    make(rig, "c");
    came(&watch, "ADDED c");
    rig->handler.closed(rig->handler.arg, &watch.reply);
    reply_done(&watch);
    apiserver_compact(rig->server);
    open_watch(rig, &watch, query);
    came(&watch, "ERROR 410");
    assert_int_equal(watch.ends, 1);
    reply_done(&watch);
    open_watch(rig, &watch, future);
    came(&watch, "ERROR 410");
    assert_int_equal(watch.ends, 1);
    reply_done(&watch);
}

static void C36_a_watch_list_ends_with_a_marked_bookmark(void **state) {
    struct rig *rig = *state;
    struct test_reply watch;

    make(rig, "a");
    make(rig, "b");
    open_watch(rig, &watch,
               "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    came(&watch, "ADDED a, ADDED b, BOOKMARK end");
    make(rig, "c");
    came(&watch, "ADDED c");
    rig->handler.closed(rig->handler.arg, &watch.reply);
    reply_done(&watch);
}

static void C32_bookmarks_come_each_minute_and_at_the_end(void **state) {
    struct rig *rig = *state;
    struct test_reply watch, plain;

    open_watch(rig, &watch, "allowWatchBookmarks=true&timeoutSeconds=90");
    open_watch(rig, &plain, "timeoutSeconds=90");
    assert_int_equal(apiserver_tick(rig->server, rig->clock.mono_ms), 65000);
    clock_advance(&rig->clock, 59999);
    apiserver_tick(rig->server, rig->clock.mono_ms);
    came(&watch, "");
    clock_advance(&rig->clock, 1);
    assert_int_equal(apiserver_tick(rig->server, rig->clock.mono_ms), 95000);
    came(&watch, "BOOKMARK");
    clock_advance(&rig->clock, 30000);
    assert_int_equal(apiserver_tick(rig->server, rig->clock.mono_ms), INT64_MAX);
    came(&watch, "BOOKMARK");
    came(&plain, "");
    assert_int_equal(watch.ends, 1);
    assert_int_equal(plain.ends, 1);
    reply_done(&watch);
    reply_done(&plain);
}

static void a_watch_that_lags_is_ended(void **state) {
    struct rig *rig = *state;
    struct test_reply watch;

    open_watch(rig, &watch, "");
    watch.backlog_bytes = WATCH_BACKLOG_MAX_BYTES;
    make(rig, "a");
    came(&watch, "ADDED a");
    watch.backlog_bytes++;
    make(rig, "b");
    came(&watch, "");
    assert_int_equal(watch.ends, 1);
    reply_done(&watch);
}

static void the_number_of_watches_is_bounded(void **state) {
    struct rig *rig = *state;
    struct test_reply *watches = str_alloc(WATCHES_MAX + 1, sizeof *watches);

    for (int i = 0; i < WATCHES_MAX; i++)
        open_watch(rig, &watches[i], "");
    reply_init(&watches[WATCHES_MAX]);
    send_to(rig, &watches[WATCHES_MAX], "GET", MAPS "?watch=1", "", NULL);
    assert_int_equal(watches[WATCHES_MAX].status, 429);
    rig->handler.closed(rig->handler.arg, &watches[7].reply);
    make(rig, "a");
    for (int i = 0; i < WATCHES_MAX; i++)
        came(&watches[i], i == 7 ? "" : "ADDED a");
    for (int i = 0; i <= WATCHES_MAX; i++)
        reply_done(&watches[i]);
    reply_init(&watches[0]);
    open_watch(rig, &watches[0], "");
    apiserver_free(rig->server);
    rig->server = NULL;
    reply_done(&watches[0]);
    free(watches);
}

static void tables_are_watched_too(void **state) {
    struct rig *rig = *state;
    struct test_reply watch;

    reply_init(&watch);
    send_to(rig, &watch, "GET", MAPS "?watch=1&includeObject=Object",
            "application/json;as=Table;v=v1;g=meta.k8s.io", NULL);
    make(rig, "a");
    json_auto_t *event = json_loads(reply_text(&watch), 0, NULL);
    const json_t *table = json_object_get(event, "object");

    assert_string_equal(json_string_value(json_object_get(table, "kind")), "Table");
    assert_int_equal(json_array_size(json_object_get(table, "rows")), 1);
    rig->handler.closed(rig->handler.arg, &watch.reply);
    reply_done(&watch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_watch_tells_what_changes),
        TEST(an_object_that_stops_matching_is_deleted),
        TEST(a_watch_goes_on_from_a_version),
        TEST(C36_a_watch_list_ends_with_a_marked_bookmark),
        TEST(C32_bookmarks_come_each_minute_and_at_the_end),
        TEST(a_watch_that_lags_is_ended),
        TEST(the_number_of_watches_is_bounded),
        TEST(tables_are_watched_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
