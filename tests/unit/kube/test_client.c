#include "kube/client.h"

#include "unit.h"

#include "kube/faketransport.h"
#include "kube/statusbody.h"

#include <stdio.h>

/* What the answer said; its texts outlive the callback here. */
struct heard {
    int count;
    struct kube_reply reply;
    char reason[64], message[200], body[200], warning[64], text[200];
    struct kube_client *free_me;
};

static void hear(void *arg, const struct kube_reply *reply) {
    struct heard *heard = arg;

    heard->count++;
    heard->reply = *reply;
    snprintf(heard->reason, sizeof heard->reason, "%s", reply->reason);
    snprintf(heard->message, sizeof heard->message, "%s", reply->message);
    snprintf(heard->body, sizeof heard->body, "%.*s", (int)reply->body_bytes, reply->body);
    snprintf(heard->warning, sizeof heard->warning, "%s", reply->warning);
    kube_reply_text(reply, heard->text, sizeof heard->text);
    kube_client_free(heard->free_me);
}

static const struct url_target pod = {.version = "v1", .resource = "pods", .ns = "a", .name = "x"};

/* Sends a GET, plays the answer in chunks and returns what was heard. */
static struct heard play(int status, const char *type, const char *body, enum http_end end) {
    struct heard heard = {0};
    struct fake fake;
    uint64_t id = 0;

    fake_init(&fake);
    fake.chunk_max = 7;
    struct kube_client *client = kube_client_new(&fake.transport);
    const struct kube_call call = {.verb = KUBE_GET, .target = pod};

    assert_int_equal(kube_client_call(client, &call, hear, &heard, &id, NULL), 0);
    assert_int_not_equal(id, 0);
    if (status > 0)
        fake_head(fake_last(&fake), status, type);
    fake_data(&fake, fake_last(&fake), body);
    assert_int_equal(heard.count, 0);
    fake_end(fake_last(&fake), end);
    assert_int_equal(heard.count, 1);
    kube_client_free(client);
    fake_done(&fake);
    return heard;
}

#define PODS                                                                                       \
    { .version = "v1", .resource = "pods", .ns = "a" }

static void C24_each_verb_has_its_request(void **state) {
    static const struct {
        struct kube_call call;
        const char *method, *target, *type, *body;
    } cases[] = {
        {{.verb = KUBE_GET}, "GET", "/api/v1/namespaces/a/pods/x", NULL, ""},
        {{.verb = KUBE_LIST,
          .target = PODS,
          .label_selector = "a in (b,c),!d",
          .field_selector = "spec.nodeName=n",
          .limit = 5},
         "GET",
         "/api/v1/namespaces/a/pods?labelSelector=a%20in%20%28b%2Cc%29%2C%21d"
         "&fieldSelector=spec.nodeName%3Dn&limit=5",
         NULL,
         ""},
        {{.verb = KUBE_CREATE, .target = PODS, .body = "{}", .body_bytes = 2, .field_manager = "m"},
         "POST",
         "/api/v1/namespaces/a/pods?fieldManager=m",
         "application/json",
         "{}"},
        {{.verb = KUBE_REPLACE, .body = "{}", .body_bytes = 2, .dry_run = true},
         "PUT",
         "/api/v1/namespaces/a/pods/x?dryRun=All",
         "application/json",
         "{}"},
        {{.verb = KUBE_APPLY, .body = "{}", .body_bytes = 2, .field_manager = "m", .force = true},
         "PATCH",
         "/api/v1/namespaces/a/pods/x?fieldManager=m&force=true",
         "application/apply-patch+yaml",
         "{}"},
        {{.verb = KUBE_MERGE_PATCH, .body = "{}", .body_bytes = 2},
         "PATCH",
         "/api/v1/namespaces/a/pods/x",
         "application/merge-patch+json",
         "{}"},
        {{.verb = KUBE_JSON_PATCH, .body = "[]", .body_bytes = 2},
         "PATCH",
         "/api/v1/namespaces/a/pods/x",
         "application/json-patch+json",
         "[]"},
        {{.verb = KUBE_DELETE},
         "DELETE",
         "/api/v1/namespaces/a/pods/x",
         "application/json",
         "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"}"},
        {{.verb = KUBE_DELETE, .uid = "u", .rv = "7", .propagation = "Orphan", .dry_run = true},
         "DELETE",
         "/api/v1/namespaces/a/pods/x?dryRun=All",
         "application/json",
         "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Orphan\","
         "\"dryRun\":[\"All\"],\"preconditions\":{\"uid\":\"u\",\"resourceVersion\":\"7\"}}"},
    };
    struct fake fake;
    struct heard heard = {0};
    uint64_t id = 0;

    (void)state;
    fake_init(&fake);
    struct kube_client *client = kube_client_new(&fake.transport);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kube_call call = cases[i].call;

        if (!call.target.version)
            call.target = pod;
        call.kind = HTTP_LEASE;
        call.timeout_ms = 5000;
        assert_int_equal(kube_client_call(client, &call, hear, &heard, &id, NULL), 0);
        const struct fake_call *sent = fake_last(&fake);

        assert_string_equal(sent->method, cases[i].method);
        assert_string_equal(sent->target, cases[i].target);
        assert_string_equal(sent->body, cases[i].body);
        assert_int_equal(sent->request.kind, HTTP_LEASE);
        assert_int_equal(sent->request.timeout_ms, 5000);
        assert_int_equal(sent->request.limit_bytes, HTTP_BODY_MAX_BYTES);
        if (cases[i].type)
            assert_string_equal(sent->content_type, cases[i].type);
        else
            assert_null(sent->content_type);
    }
    kube_client_free(client);
    assert_int_equal(fake_open_count(&fake), 0);
    assert_int_equal(heard.count, 0);
    fake_done(&fake);
}

static void C24_what_cannot_be_sent_is_refused(void **state) {
    struct kube_call calls[] = {
        {.verb = KUBE_GET, .target = {.version = "v1", .resource = "pods", .name = ".."}},
        {.verb = KUBE_APPLY, .target = pod},
    };
    struct fake fake;
    uint64_t id = 42;
    struct err err;

    (void)state;
    fake_init(&fake);
    struct kube_client *client = kube_client_new(&fake.transport);

    for (size_t i = 0; i < 2; i++)
        assert_int_equal(kube_client_call(client, &calls[i], hear, NULL, &id, &err), ERR_INVALID);
    assert_int_equal(id, 42);
    assert_int_equal(fake.count, 0);
    kube_client_free(client);
}

static void C26_status_is_read_by_field(void **state) {
    (void)state;
    struct heard heard = play(
        409, "application/json; charset=utf-8",
        "{\"kind\":\"Status\",\"new\":[{}],\"message\":\"a \\\"b\\\"\",\"reason\":\"Conflict\","
        "\"details\":{\"x\":1,\"causes\":[7,{\"reason\":\"ResourceVersionTooLarge\"}],"
        "\"retryAfterSeconds\":3},\"code\":409}",
        HTTP_DONE);

    assert_int_equal(heard.reply.status, 409);
    assert_string_equal(heard.reason, "Conflict");
    assert_string_equal(heard.message, "a \"b\"");
    assert_string_equal(heard.text, "409 Conflict: a \"b\"");
    assert_int_equal(heard.reply.retry_after_ms, 3000);
    assert_true(heard.reply.too_large_rv);
    assert_string_equal(heard.body, "");
}

static void C26_a_body_that_is_no_status_says_nothing(void **state) {
    static const char *const bodies[] = {
        "",
        "<html>502</html>",
        "{\"reason\":\"Expired\"",
        "[]",
        "{\"reason\":7,\"details\":[]}",
        "{\"details\":{\"causes\":{},\"retryAfterSeconds\":\"1\"}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct heard heard = play(502, "text/html", bodies[i], HTTP_DONE);

        assert_int_equal(heard.reply.status, 502);
        assert_string_equal(heard.reason, "");
        assert_string_equal(heard.text, "502");
        assert_int_equal(heard.reply.retry_after_ms, -1);
        assert_false(kube_reply_ok(&heard.reply));
    }
}

static void C26_long_texts_are_cut(void **state) {
    struct statusbody status;
    char body[3000], text[2000];

    (void)state;
    for (size_t pad = 0; pad < 4; pad++) {
        memset(text, 'a', pad);
        for (size_t i = pad; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xE2\x82\xAC", 4);
        snprintf(body, sizeof body, "{\"message\":\"%s\",\"reason\":\"%.70s\",\"code\":404}", text,
                 "ThisIsAReasonThatIsLongerThanAnyReasonThatHasEverBeenSeenInAStatusOfAnyKind");
        statusbody_read(body, strlen(body), &status);
        assert_int_equal(status.code, 404);
        assert_string_equal(status.reason, "");
        assert_in_range(strlen(status.message), 1021, 1023);
        assert_int_equal((strlen(status.message) - pad) % 3, 0);
    }
    statusbody_read("{\"details\":{\"causes\":[{\"reason\":\"FieldManagerConflict\"}]}}", 58,
                    &status);
    assert_true(status.field_conflict && !status.too_large_rv);
}

static void C25_a_success_is_json_of_bounded_size(void **state) {
    (void)state;
    struct heard heard = play(200, "application/json", "{\"a\":1}", HTTP_DONE);

    assert_true(kube_reply_ok(&heard.reply));
    assert_string_equal(heard.body, "{\"a\":1}");
    heard = play(200, "text/html", "<html>", HTTP_DONE);
    assert_int_equal(heard.reply.end, HTTP_BROKEN);
    heard = play(200, "application/jsonx", "{}", HTTP_DONE);
    assert_int_equal(heard.reply.end, HTTP_BROKEN);
    heard = play(204, "", "", HTTP_DONE);
    assert_true(kube_reply_ok(&heard.reply));
    char *big = malloc(HTTP_BODY_MAX_BYTES + 2);

    assert_non_null(big);
    memset(big, ' ', HTTP_BODY_MAX_BYTES + 1);
    big[HTTP_BODY_MAX_BYTES + 1] = '\0';
    struct fake fake;
    uint64_t id = 0;

    fake_init(&fake);
    struct kube_client *client = kube_client_new(&fake.transport);
    const struct kube_call call = {.verb = KUBE_GET, .target = pod};

    kube_client_call(client, &call, hear, &heard, &id, NULL);
    fake_answer(&fake, fake_last(&fake), 200, big);
    assert_int_equal(heard.reply.end, HTTP_TOO_LARGE);
    kube_client_free(client);
    fake_done(&fake);
    free(big);
}

static void C22_the_header_counts_before_the_body(void **state) {
    const struct http_head head = {429, 7000, "application/json", "old API"};
    struct heard heard = {0};
    struct fake fake;
    uint64_t id = 0;

    (void)state;
    fake_init(&fake);
    struct kube_client *client = kube_client_new(&fake.transport);
    const struct kube_call call = {.verb = KUBE_GET, .target = pod};

    heard.free_me = client; /* the receiver may end its client */
    kube_client_call(client, &call, hear, &heard, &id, NULL);
    kube_client_call(client, &call, hear, &heard, &id, NULL);
    struct fake_call *sent = &fake.calls[0];

    sent->receiver.head(sent->receiver.arg, &head);
    fake_data(&fake, sent, "{\"details\":{\"retryAfterSeconds\":3}}");
    fake_end(sent, HTTP_DONE);
    assert_int_equal(heard.reply.retry_after_ms, 7000);
    assert_string_equal(heard.warning, "old API");
    assert_int_equal(heard.count, 1);
    assert_int_equal(fake_open_count(&fake), 0);
    fake_done(&fake);
}

static void C20_a_broken_call_has_no_status(void **state) {
    (void)state;
    for (enum http_end end = HTTP_UNSENT; end <= HTTP_REFUSED; end++) {
        struct heard heard = play(200, "application/json", "{\"cut", end);

        assert_int_equal(heard.reply.end, end);
        assert_int_equal(heard.reply.status, 0);
        assert_string_equal(heard.body, "");
        assert_string_equal(heard.text, "it broke");
    }
}

static void a_cancelled_call_is_silent(void **state) {
    struct heard heard = {0};
    struct fake fake;
    uint64_t one = 0, two = 0;

    (void)state;
    fake_init(&fake);
    struct kube_client *client = kube_client_new(&fake.transport);
    const struct kube_call call = {.verb = KUBE_GET, .target = pod};

    assert_ptr_equal(kube_client_transport(client), &fake.transport);
    kube_client_call(client, &call, hear, &heard, &one, NULL);
    kube_client_call(client, &call, hear, &heard, &two, NULL);
    assert_int_not_equal(one, two);
    kube_client_cancel(client, one);
    kube_client_cancel(client, one);
    kube_client_cancel(client, 999);
    assert_false(fake.calls[0].open);
    fake_answer(&fake, &fake.calls[1], 200, "{}");
    assert_int_equal(heard.count, 1);
    kube_client_free(client);
    kube_client_free(NULL);
    fake_done(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C24_each_verb_has_its_request),
        cmocka_unit_test(C24_what_cannot_be_sent_is_refused),
        cmocka_unit_test(C26_status_is_read_by_field),
        cmocka_unit_test(C26_a_body_that_is_no_status_says_nothing),
        cmocka_unit_test(C26_long_texts_are_cut),
        cmocka_unit_test(C25_a_success_is_json_of_bounded_size),
        cmocka_unit_test(C22_the_header_counts_before_the_body),
        cmocka_unit_test(C20_a_broken_call_has_no_status),
        cmocka_unit_test(a_cancelled_call_is_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
