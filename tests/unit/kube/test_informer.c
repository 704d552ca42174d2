#include "kube/informer.h"

#include "unit.h"

#include "kube/faketransport.h"

#include <jansson.h>
#include <stdio.h>

/* An informer, its fake transport, and what the handlers were told. */
struct rig {
    struct fake fake;
    struct clock clock;
    struct informer *informer;
    char told[2000];
    char key[64], uid[64], rv[64]; /* of the item that was read last */
};

static const char *text_of(const json_t *meta, const char *key, char *room) {
    const char *text = json_string_value(json_object_get(meta, key));

    snprintf(room, 64, "%s", text ? text : "");
    return room;
}

/* Keeps an object's whole text. One with "skip" is not wanted; without a uid it makes no sense. */
static int read_object(void *arg, const char *bytes, size_t size_bytes, struct store_item *ret_item,
                       struct err *err) {
    struct rig *rig = arg;
    json_t *root = json_loadb(bytes, size_bytes, 0, NULL);
    const json_t *meta = json_object_get(root, "metadata");
    int r = ERR_INVALID;

    if (json_object_get(meta, "uid")) {
        *ret_item =
            (struct store_item){text_of(meta, "name", rig->key), text_of(meta, "uid", rig->uid),
                                text_of(meta, "resourceVersion", rig->rv), NULL};
        r = json_object_get(root, "skip") == NULL;
        if (r)
            ret_item->object = str_dup_len(bytes, size_bytes);
    }
    json_decref(root);
    return r < 0 ? err_set(err, r, "no uid") : r;
}

static void tell(void *context, enum store_change change, const struct store_item *item) {
    struct rig *rig = context;
    const size_t len = strlen(rig->told);

    snprintf(rig->told + len, sizeof rig->told - len, "%c%s@%s ", "AUD"[change], item -> key,
             item -> rv);
}

static void rig_start(struct rig *rig, bool watch_list) {
    *rig = (struct rig){.clock = clock_by_hand(0, 5000)};
    fake_init(&rig->fake);
    rig->fake.chunk_max = 9;
    const struct informer_options options = {
        .transport = &rig->fake.transport,
        .clock = &rig->clock,
        .target = {.group = "apps", .version = "v1", .resource = "deployments"},
        .label_selector = "a in (b)",
        .read = read_object,
        .read_arg = rig,
        .free_object = free,
        .sink = tell,
        .context = rig,
        .max_items = 5000,
        .watch_list = watch_list,
        .rng = {3},
    };

    rig->informer = informer_new(&options);
    assert_int_equal(informer_due_ms(rig->informer), 0);
    informer_tick(rig->informer, clock_mono_ms(&rig->clock));
}

static void rig_stop(struct rig *rig) {
    informer_free(rig->informer);
    assert_int_equal(fake_open_count(&rig->fake), 0);
    fake_done(&rig->fake);
}

/* Lets time pass until the informer has something to do, and does it. */
static void rig_wait(struct rig *rig) {
    const int64_t due_ms = informer_due_ms(rig->informer);

    clock_advance(&rig->clock, due_ms - clock_mono_ms(&rig->clock));
    informer_tick(rig->informer, due_ms);
}

static void answer(struct rig *rig, int status, const char *text) {
    fake_answer(&rig->fake, fake_last(&rig->fake), status, text);
}

/* One object's JSON in a buffer that the next four calls leave alone. */
static const char *object(const char *name, const char *uid, const char *rv, const char *more) {
    static char rooms[4][300];
    static unsigned turn;
    char *room = rooms[turn++ % 4];

    snprintf(room, sizeof rooms[0],
             "{\"metadata\":{\"x\":[{}],\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"}"
             "%s,\"zz\":\"\\u00e4}{\"}",
             name, uid, rv, more);
    return room;
}

static void line(struct rig *rig, const char *type, const char *json) {
    char text[500];

    snprintf(text, sizeof text, "{\"type\":\"%s\",\"more\":1,\"object\":%s}\n", type, json);
    fake_data(&rig->fake, fake_last(&rig->fake), text);
}

/* Listed x and y at version 50; the watch is open. */
static void rig_watch(struct rig *rig) {
    char text[1000];

    rig_start(rig, false);
    snprintf(text, sizeof text, "{\"metadata\":{\"resourceVersion\":\"50\"},\"items\":[%s,%s]}",
             object("x", "1", "10", ""), object("y", "2", "20", ""));
    answer(rig, 200, text);
    assert_string_equal(rig->told, "Ax@10 Ay@20 ");
    rig->told[0] = '\0';
    assert_non_null(strstr(fake_last(&rig->fake)->target, "watch=true"));
    fake_head(fake_last(&rig->fake), 200, "application/json");
}

static void assert_relists(struct rig *rig, bool relists) {
    rig_wait(rig);
    assert_int_equal(fake_open_count(&rig->fake), 1);
    assert_int_equal(strstr(fake_last(&rig->fake)->target, "watch=true") == NULL, relists);
}

static void C29_three_pages_are_one_swap(void **state) {
    struct rig rig;
    struct str page;
    int count = 0;

    (void)state;
    rig_start(&rig, false);
    for (int i = 0; i < 3; i++) {
        const char *target = fake_last(&rig.fake)->target;

        assert_int_equal(fake_last(&rig.fake)->request.kind, HTTP_STREAM);
        assert_string_equal(target, i == 0
                                        ? "/apis/apps/v1/deployments?labelSelector=a%20in%20%28b%29"
                                          "&limit=500&resourceVersion=0&resourceVersionMatch="
                                          "NotOlderThan"
                                        : "/apis/apps/v1/deployments?labelSelector=a%20in%20%28b%29"
                                          "&limit=500&continue=t%2Bk%3D");
        str_init(&page, 1 << 20);
        str_addf(&page, NULL, "{\"items\":[");
        for (int k = 0; k < 400; k++, count++) {
            char name[20];

            snprintf(name, sizeof name, "d%d", count);
            str_addf(&page, NULL, "%s%s", k ? "," : "", object(name, name, "5", ""));
        }
        str_addf(&page, NULL, "],\"metadata\":{\"resourceVersion\":\"9\"%s}}",
                 i < 2 ? ",\"continue\":\"t+k=\"" : "");
        assert_int_equal(store_count(informer_store(rig.informer)), 0);
        answer(&rig, 200, page.data);
        str_done(&page);
    }
    assert_int_equal(store_count(informer_store(rig.informer)), 1200);
    assert_true(informer_status(rig.informer).synced);
    assert_string_equal(informer_status(rig.informer).rv, "9");
    rig_stop(&rig);
}

static void C30_watch_request_and_changes(void **state) {
    const char *text = NULL;
    struct rig rig;

    (void)state;
    rig_watch(&rig);
    const char *target = fake_last(&rig.fake)->target;

    assert_non_null(strstr(target, "&resourceVersion=50&allowWatchBookmarks=true&timeoutSeconds="));
    line(&rig, "ADDED", object("z", "3", "51", ""));
    line(&rig, "MODIFIED", object("x", "1", "52", ""));
    line(&rig, "NEWTYPE", "{}");
    line(&rig, "DELETED", object("y", "2", "53", ""));
    line(&rig, "MODIFIED", object("z", "3", "54", ",\"skip\":1")); /* leaves our view */
    line(&rig, "ADDED", object("q", "4", "55", ",\"skip\":1"));
    assert_string_equal(rig.told, "Az@51 Ux@52 Dy@20 Dz@51 ");
    assert_string_equal(informer_status(rig.informer).rv, "55");
    assert_int_equal(informer_status(rig.informer).unknown_count, 1);
    line(&rig, "ADDED", "{\"metadata\":{\"name\":\"w\",\"resourceVersion\":\"56\"}}");
    assert_int_equal(informer_fault_count(rig.informer, &text), 1);
    assert_string_equal(text, "no uid");
    /* A delete counts although the reader refuses the object. */
    line(&rig, "DELETED",
         "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"57\",\"uid\":null}}");
    assert_string_equal(informer_status(rig.informer).rv, "57");
    rig_stop(&rig);
}

static void C32_C36_watch_list_and_bookmarks(void **state) {
    struct rig rig;

    (void)state;
    rig_start(&rig, true);
    const char *target = fake_last(&rig.fake)->target;

    assert_non_null(strstr(target, "resourceVersionMatch=NotOlderThan&sendInitialEvents=true"));
    fake_head(fake_last(&rig.fake), 200, "application/json;stream=watch");
    line(&rig, "ADDED", object("x", "1", "90", ""));
    line(&rig, "ADDED", object("y", "2", "10", ""));
    line(&rig, "BOOKMARK",
         "{\"metadata\":{\"resourceVersion\":\"91\",\"annotations\":{"
         "\"k8s.io/initial-events-end\":\"false\"}}}");
    assert_string_equal(rig.told, "");
    line(&rig, "BOOKMARK",
         "{\"metadata\":{\"annotations\":{\"o\":\"true\",\"k8s.io/initial-events-end\":\"true\"},"
         "\"resourceVersion\":\"92\"}}");
    assert_string_equal(rig.told, "Ax@90 Ay@10 ");
    line(&rig, "BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"95\"}}");
    assert_string_equal(informer_status(rig.informer).rv, "95");
    line(&rig, "BOOKMARK", "{\"metadata\":{}}"); /* no version: trust nothing of it */
    assert_int_equal(fake_open_count(&rig.fake), 0);
    rig_stop(&rig);
    rig_start(&rig, true); /* a server that does not know it */
    answer(&rig, 422, "{\"reason\":\"Invalid\"}");
    assert_int_equal(fake_open_count(&rig.fake), 1);
    assert_null(strstr(fake_last(&rig.fake)->target, "watch"));
    rig_stop(&rig);
}

static void C33_gone_in_both_shapes(void **state) {
    struct rig rig;

    (void)state;
    for (int shape = 0; shape < 3; shape++) {
        rig_watch(&rig);
        if (shape == 0) {
            line(&rig, "ERROR", "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}");
            line(&rig, "ADDED", object("z", "3", "51", "")); /* nobody listens any more */
        } else {
            fake_end(fake_last(&rig.fake), HTTP_DONE);
            rig_wait(&rig);
            answer(&rig, shape == 1 ? 410 : 504,
                   shape == 1 ? "<html>"
                              : "{\"details\":{\"causes\":[{\"reason\":"
                                "\"ResourceVersionTooLarge\"}]}}");
        }
        assert_string_equal(rig.told, "");
        assert_int_equal(fake_open_count(&rig.fake), 0);
        assert_relists(&rig, true);
        rig_stop(&rig);
    }
}

static void C34_errors_keep_the_watch(void **state) {
    struct rig rig;

    (void)state;
    rig_watch(&rig);
    line(&rig, "ERROR", "{\"code\":429,\"details\":{\"retryAfterSeconds\":77}}");
    assert_true(informer_due_ms(rig.informer) >= clock_mono_ms(&rig.clock) + 77000);
    assert_relists(&rig, false);
    answer(&rig, 503, "{\"details\":{\"retryAfterSeconds\":78}}");
    assert_true(informer_due_ms(rig.informer) >= clock_mono_ms(&rig.clock) + 78000);
    assert_relists(&rig, false);
    rig_stop(&rig);
}

static void C25_what_is_not_json_is_garbled(void **state) {
    struct rig rig;

    (void)state;
    rig_watch(&rig);
    fake_data(&rig.fake, fake_last(&rig.fake), "{\"type\":\"ADDED\",\"obj"); /* cut: dropped */
    fake_end(fake_last(&rig.fake), HTTP_DONE);
    assert_relists(&rig, false);
    fake_head(fake_last(&rig.fake), 200, "text/html");
    assert_int_equal(fake_open_count(&rig.fake), 0);
    assert_relists(&rig, true);
    answer(&rig, 200, "{\"kind\":\"Status\"}"); /* no list */
    assert_relists(&rig, true);
    answer(&rig, 200, "{\"metadata\":{\"resourceVersion\":\"60\"},\"items\":["); /* cut */
    assert_relists(&rig, true);
    answer(&rig, 200, "]garbage");
    assert_relists(&rig, true);
    answer(&rig, 502, "<html>Bad Gateway</html>");
    assert_relists(&rig, true);
    fake_end(fake_last(&rig.fake), HTTP_UNSENT);
    assert_relists(&rig, true);
    assert_int_equal(store_count(informer_store(rig.informer)), 2);
    assert_string_equal(rig.told, "");
    rig_stop(&rig);
}

static void C25_a_refusals_body_is_bounded(void **state) {
    char *big = malloc((70 << 10) + 1);
    struct rig rig;

    (void)state;
    assert_non_null(big);
    memset(big, 'x', 70 << 10);
    big[70 << 10] = '\0';
    rig_start(&rig, false);
    rig.fake.chunk_max = 1000;
    fake_head(fake_last(&rig.fake), 403, "text/html");
    fake_data(&rig.fake, fake_last(&rig.fake), big);
    assert_int_equal(fake_open_count(&rig.fake), 0);
    assert_int_equal(informer_status(rig.informer).blocked, 403);
    rig_stop(&rig);
    free(big);
}

static void C18_a_silent_stream_is_left(void **state) {
    struct rig rig;

    (void)state;
    rig_watch(&rig);
    clock_advance(&rig.clock, 119000);
    fake_data(&rig.fake, fake_last(&rig.fake), "\n"); /* any byte counts */
    assert_int_equal(informer_due_ms(rig.informer), clock_mono_ms(&rig.clock) + 120000);
    rig_wait(&rig);
    assert_int_equal(fake_open_count(&rig.fake), 0);
    assert_relists(&rig, false);
    rig_stop(&rig);
}

static void fold(struct rig *rig, const char *json) {
    informer_fold(rig->informer, json, strlen(json));
}

static void C28_own_writes_are_folded(void **state) {
    struct rig rig;

    (void)state;
    rig_watch(&rig);
    fold(&rig, object("x", "1", "9", ""));
    fold(&rig, "{");
    assert_string_equal(rig.told, "");
    fold(&rig, object("x", "1", "60", ""));
    fold(&rig, object("y", "2", "61", ",\"skip\":1"));
    line(&rig, "MODIFIED", object("x", "1", "55", ""));
    line(&rig, "MODIFIED", object("y", "2", "56", ""));
    line(&rig, "MODIFIED", object("x", "1", "60", ""));
    assert_string_equal(rig.told, "Ux@60 Dy@20 ");
    informer_fold_gone(rig.informer, "x", "1");
    line(&rig, "MODIFIED", object("x", "1", "62", ""));
    line(&rig, "DELETED", object("x", "1", "63", ""));
    assert_string_equal(rig.told, "Ux@60 Dy@20 Dx@60 ");
    assert_int_equal(store_count(informer_store(rig.informer)), 0);
    rig_stop(&rig);
}

static void a_target_that_cannot_be_encoded_only_waits(void **state) {
    struct rig rig = {.clock = clock_by_hand(0, 5000)};
    const char *text = NULL;

    (void)state;
    fake_init(&rig.fake);
    const struct informer_options options = {.transport = &rig.fake.transport,
                                             .clock = &rig.clock,
                                             .target = {.version = "v1", .resource = ".."},
                                             .read = read_object,
                                             .read_arg = &rig,
                                             .max_items = 5};

    rig.informer = informer_new(&options);
    assert_true(informer_tick(rig.informer, 5000) > 5000);
    assert_int_equal(rig.fake.count, 0);
    assert_int_equal(informer_fault_count(rig.informer, &text), 1);
    rig_stop(&rig);
    informer_free(NULL);
}

/* A server's objects, by number; 0 is absent. */
struct oracle {
    int rv[12];
    int uid[12];
    int now;
    int uids;
};

/* Changes one object and tells the watch of it when loud. */
static void oracle_step(struct oracle *o, struct rig *rig, bool loud) {
    const size_t i = (size_t)random_below(&rig->fake.rng, 12);
    const bool gone = o->rv[i] > 0 && random_below(&rig->fake.rng, 3) == 0;
    const char *type = gone ? "DELETED" : o->rv[i] ? "MODIFIED" : "ADDED";
    char name[8], uid[16], rv[16];

    o->now++;
    if (!o->rv[i])
        o->uid[i] = ++o->uids;
    o->rv[i] = gone ? 0 : o->now;
    snprintf(name, sizeof name, "n%zu", i);
    snprintf(uid, sizeof uid, "%d", o->uid[i]);
    snprintf(rv, sizeof rv, "%d", o->now);
    if (loud)
        line(rig, type, object(name, uid, rv, ""));
}

static void oracle_list(const struct oracle *o, struct rig *rig) {
    struct str page;
    const char *comma = "";
    char name[8], uid[16], rv[16];

    str_init(&page, 1 << 16);
    str_addf(&page, NULL, "{\"metadata\":{\"resourceVersion\":\"%d\"},\"items\":[", o->now);
    for (size_t i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "n%zu", i);
        snprintf(uid, sizeof uid, "%d", o->uid[i]);
        snprintf(rv, sizeof rv, "%d", o->rv[i]);
        if (o->rv[i]) {
            str_addf(&page, NULL, "%s%s", comma, object(name, uid, rv, ""));
            comma = ",";
        }
    }
    str_addf(&page, NULL, "]}");
    answer(rig, 200, page.data);
    str_done(&page);
}

static bool is_watch(const struct fake_call *call) {
    return call->open && strstr(call->target, "watch=true");
}

/* Answers what is asked, or lets time pass. missed: a watch cannot resume, its history is gone. */
static void oracle_serve(struct oracle *o, struct rig *rig, bool *missed) {
    struct fake_call *call = fake_last(&rig->fake);

    if (!call->open) {
        rig_wait(rig);
    } else if (!is_watch(call)) {
        *missed = false;
        oracle_list(o, rig);
    } else if (*missed) {
        answer(rig, 410, "");
    } else {
        fake_head(call, 200, "application/json");
    }
}

static void assert_converged(const struct oracle *o, const struct rig *rig) {
    size_t count = 0;
    char name[8], rv[16];

    for (size_t i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "n%zu", i);
        snprintf(rv, sizeof rv, "%d", o->rv[i]);
        const struct store_item *item = store_get(informer_store(rig->informer), name);

        assert_int_equal(item != NULL, o->rv[i] > 0);
        if (item)
            assert_string_equal(item->rv, rv);
        count += item != NULL;
    }
    assert_int_equal(store_count(informer_store(rig->informer)), count);
}

static void C27_C41_any_chunks_and_faults_converge(void **state) {
    struct rig rig;

    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct oracle o = {.now = 100};
        bool missed = false;

        rig_start(&rig, false);
        rig.fake.rng = (struct random){seed};
        rig.fake.chunk_max = 1 + seed % 40;
        for (int turn = 0; turn < 60; turn++) {
            struct fake_call *call = fake_last(&rig.fake);
            const uint64_t dice = random_below(&rig.fake.rng, 15);

            rig.told[0] = '\0';
            if (!is_watch(call) || !call->headed) {
                if (!call->open && dice < 5) {
                    oracle_step(&o, &rig, false);
                    missed = true;
                }
                oracle_serve(&o, &rig, &missed);
            } else if (dice == 0) {
                line(&rig, "ERROR", "{\"code\":410}");
            } else if (dice == 1) {
                fake_data(&rig.fake, call, "{\"type\":\"ADDED\",\"object\":{\"metad");
                fake_end(call, turn % 2 ? HTTP_BROKEN : HTTP_DONE);
            } else {
                oracle_step(&o, &rig, true);
            }
        }
        while (!is_watch(fake_last(&rig.fake)) || missed || !fake_last(&rig.fake)->headed)
            oracle_serve(&o, &rig, &missed);
        assert_converged(&o, &rig);
        rig_stop(&rig);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C29_three_pages_are_one_swap),
        cmocka_unit_test(C30_watch_request_and_changes),
        cmocka_unit_test(C32_C36_watch_list_and_bookmarks),
        cmocka_unit_test(C33_gone_in_both_shapes),
        cmocka_unit_test(C34_errors_keep_the_watch),
        cmocka_unit_test(C25_what_is_not_json_is_garbled),
        cmocka_unit_test(C25_a_refusals_body_is_bounded),
        cmocka_unit_test(C18_a_silent_stream_is_left),
        cmocka_unit_test(C28_own_writes_are_folded),
        cmocka_unit_test(a_target_that_cannot_be_encoded_only_waits),
        cmocka_unit_test(C27_C41_any_chunks_and_faults_converge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
