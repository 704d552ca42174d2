#include "kube/event.h"

#include "unit.h"

#include <jansson.h>
#include <stdio.h>

static const struct event_regarding app = {"bulkhead.dev/v1", "AppDefinition", "shop", "web", "u1"};

/* A recorder and a server that answers every write at once. */
struct rig {
    struct event_recorder *recorder;
    int64_t now_ms;
    int status;         /* of the answers */
    const char *reason; /* with it */
    int writes;
    char body[4000];
    char name[254];
    struct kube_call call;
};

static void rig_start(struct rig *rig) {
    *rig = (struct rig){.now_ms = 1000000, .status = 201, .reason = ""};
    rig->recorder = event_recorder_new("bulkhead.dev/hub", "hub-1", (struct random){5});
}

static void record(struct rig *rig, const char *reason, const char *note) {
    event_record(rig->recorder, &app, EVENT_WARNING, reason, "Spread", note, rig->now_ms,
                 rig->now_ms);
}

/* Sends all that is due. */
static void flush(struct rig *rig) {
    uint64_t id = 0;

    while (event_next(rig->recorder, rig->now_ms, &rig->call, &id)) {
        const struct kube_reply reply = {.end = rig->status ? HTTP_DONE : HTTP_BROKEN,
                                         .status = rig->status,
                                         .reason = rig->reason,
                                         .message = "",
                                         .retry_after_ms = -1};

        rig->writes++;
        snprintf(rig->body, sizeof rig->body, "%.*s", (int)rig->call.body_bytes, rig->call.body);
        snprintf(rig->name, sizeof rig->name, "%s",
                 rig->call.target.name ? rig->call.target.name : "");
        event_done(rig->recorder, id, &reply, rig->now_ms);
    }
}

static void C61_a_thousand_facts_are_three_writes(void **state) {
    struct rig rig;

    (void)state;
    rig_start(&rig);
    for (int i = 0; i < 1000; i++) {
        record(&rig, "ZoneLost", "zone a is lost");
        rig.now_ms += 60;
        flush(&rig);
    }
    assert_int_equal(rig.writes, 2);
    assert_int_equal(event_due_ms(rig.recorder), rig.now_ms - 60 + EVENT_IDLE_MS);
    rig.now_ms = event_due_ms(rig.recorder);
    flush(&rig);
    assert_int_equal(rig.writes, 3);
    assert_int_equal(rig.call.verb, KUBE_MERGE_PATCH);
    assert_string_equal(rig.body, "{\"series\":{\"count\":1000,\"lastObservedTime\":"
                                  "\"1970-01-01T00:17:39.940000Z\"}}");
    record(&rig, "ZoneLost", "again"); /* the series was over: a new Event */
    flush(&rig);
    assert_int_equal(rig.call.verb, KUBE_CREATE);
    assert_int_equal(event_dropped_count(rig.recorder), 0);
    event_recorder_free(rig.recorder);
    event_recorder_free(NULL);
}

static void C61_the_created_event(void **state) {
    struct rig rig;
    json_t *root = NULL;
    const char *name = NULL, *note = NULL;

    (void)state;
    rig_start(&rig);
    record(&rig, "ZoneLost", "caf\xC3\xA9");
    assert_int_equal(event_due_ms(rig.recorder), rig.now_ms);
    flush(&rig);
    assert_int_equal(event_due_ms(rig.recorder), INT64_MAX);
    assert_string_equal(rig.call.target.group, "events.k8s.io");
    root = json_loads(rig.body, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_unpack(root, "{s:{s:s},s:s}", "metadata", "name", &name, "note", &note),
                     0);
    assert_int_equal(strncmp(name, "web.", 4), 0);
    assert_int_equal(strlen(name), 20);
    assert_string_equal(note, "caf\xC3\xA9");
    assert_null(json_object_get(root, "series"));
    assert_non_null(strstr(rig.body, "\"eventTime\":\"1970-01-01T00:16:40.000000Z\""));
    assert_non_null(strstr(rig.body, "\"type\":\"Warning\",\"reason\":\"ZoneLost\","
                                     "\"action\":\"Spread\""));
    assert_non_null(strstr(rig.body, "\"regarding\":{\"apiVersion\":\"bulkhead.dev/v1\",\"kind\":"
                                     "\"AppDefinition\",\"namespace\":\"shop\",\"name\":\"web\","
                                     "\"uid\":\"u1\"}"));
    record(&rig, "ZoneLost", "");
    flush(&rig);
    assert_string_equal(rig.name, name);
    json_decref(root);
    event_recorder_free(rig.recorder);
}

static void C61_what_has_no_namespace_stands_in_default(void **state) {
    const struct event_regarding odd = {"v1", "Node", "", "-System:Node.", "u"};
    struct rig rig;

    (void)state;
    rig_start(&rig);
    for (int i = 0; i < 3; i++) /* before the first write: one write tells it all */
        event_record(rig.recorder, &odd, EVENT_NORMAL, "R", "A", "n", rig.now_ms, rig.now_ms);
    uint64_t id = 0;

    assert_int_equal(event_next(rig.recorder, rig.now_ms, &rig.call, &id), 1);
    assert_string_equal(rig.call.target.ns, "default");
    assert_non_null(strstr(rig.call.body, "\"name\":\"ystem-"));
    assert_non_null(strstr(rig.call.body, "\"count\":3"));
    /* One write of a key at a time. */
    event_record(rig.recorder, &odd, EVENT_NORMAL, "R", "A", "n", rig.now_ms, rig.now_ms);
    assert_int_equal(event_next(rig.recorder, rig.now_ms, &rig.call, &id), 0);
    event_recorder_free(rig.recorder);
}

static void C61_refreshed_every_half_hour(void **state) {
    struct rig rig;

    (void)state;
    rig_start(&rig);
    for (int minute = 0; minute < 120; minute++) {
        record(&rig, "R", "n");
        flush(&rig);
        rig.now_ms += 60000;
    }
    assert_int_equal(rig.writes, 2 + 3);
    event_recorder_free(rig.recorder);
}

static void C61_failures_are_tried_twelve_times(void **state) {
    static const struct {
        int status;
        const char *reason;
        int writes;
        unsigned dropped;
    } cases[] = {
        {0, "", 12, 1},
        {500, "", 12, 1},
        {429, "", 12, 1},
        {403, "Forbidden", 1, 1},
        {422, "Invalid", 1, 1},
        {404, "NotFound", 1, 1},
        {409, "AlreadyExists", 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig;

        rig_start(&rig);
        rig.status = cases[i].status;
        rig.reason = cases[i].reason;
        record(&rig, "R", "n");
        for (int k = 0; k < 40; k++) {
            flush(&rig);
            rig.now_ms += 5000;
        }
        assert_int_equal(rig.writes, cases[i].writes);
        assert_int_equal(event_dropped_count(rig.recorder), cases[i].dropped);
        event_recorder_free(rig.recorder);
    }
}

static void C61_an_expired_event_is_told_anew(void **state) {
    struct rig rig;

    (void)state;
    rig_start(&rig);
    record(&rig, "R", "n");
    flush(&rig);
    record(&rig, "R", "n");
    uint64_t id = 0;

    assert_int_equal(event_next(rig.recorder, rig.now_ms, &rig.call, &id), 1);
    event_done(rig.recorder, id,
               &(struct kube_reply){.end = HTTP_DONE, .status = 404, .reason = "NotFound"},
               rig.now_ms);
    flush(&rig);
    assert_int_equal(rig.call.verb, KUBE_CREATE);
    event_done(rig.recorder, 0, NULL, 0);
    event_done(rig.recorder, 999, NULL, 0);
    event_recorder_free(rig.recorder);
}

static void C61_bounded_queue_and_note(void **state) {
    char reason[20], note[2000];
    struct rig rig;

    (void)state;
    rig_start(&rig);
    rig.status = 0;
    for (int i = 0; i < EVENT_SERIES_MAX + 7; i++) {
        snprintf(reason, sizeof reason, "R%d", i);
        record(&rig, reason, "n");
    }
    assert_int_equal(event_dropped_count(rig.recorder), 7);
    event_recorder_free(rig.recorder);
    for (size_t pad = 0; pad < 4; pad++) {
        rig_start(&rig);
        memset(note, 'a', pad);
        for (size_t i = pad; i + 3 < sizeof note; i += 3)
            memcpy(note + i, "\xE2\x82\xAC", 4);
        record(&rig, "R", note);
        flush(&rig);
        json_t *root = json_loads(rig.body, 0, NULL);

        assert_non_null(root);
        const size_t size = strlen(json_string_value(json_object_get(root, "note")));

        assert_in_range(size, EVENT_NOTE_MAX_BYTES - 2, EVENT_NOTE_MAX_BYTES);
        assert_int_equal((size - pad) % 3, 0);
        json_decref(root);
        event_recorder_free(rig.recorder);
    }
    rig_start(&rig);
    record(&rig, "R", "\xFF"); /* no text at all */
    flush(&rig);
    assert_int_equal(rig.writes, 0);
    assert_int_equal(event_dropped_count(rig.recorder), 1);
    event_recorder_free(rig.recorder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C61_a_thousand_facts_are_three_writes),
        cmocka_unit_test(C61_the_created_event),
        cmocka_unit_test(C61_what_has_no_namespace_stands_in_default),
        cmocka_unit_test(C61_refreshed_every_half_hour),
        cmocka_unit_test(C61_failures_are_tried_twelve_times),
        cmocka_unit_test(C61_an_expired_event_is_told_anew),
        cmocka_unit_test(C61_bounded_queue_and_note),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
