#include "kube/reflector.h"

#include "unit.h"

#include <stdio.h>

/* What the handlers were told, and the reflector under test. */
struct rig {
    struct reflector *r;
    struct reflector_out out;
    int64_t now_ms;
    uint64_t serial;
    char told[400];
};

static void tell(void *context, enum store_change change, const struct store_item *item) {
    struct rig *rig = context;
    const size_t len = strlen(rig->told);

    snprintf(rig->told + len, sizeof rig->told - len, "%c%s:%s ", "AUD"[change], item -> key,
             item -> uid);
}

static void step(struct rig *rig, struct reflector_event e) {
    e.serial = rig->serial;
    rig->out = reflector_step(rig->r, &e, rig->now_ms);
    if (rig->out.send)
        rig->serial = rig->out.request.serial;
}

static void timer(struct rig *rig) {
    rig->now_ms = rig->out.again_at_ms;
    step(rig, (struct reflector_event){.kind = REFLECTOR_TIMER});
}

static void head(struct rig *rig, int status) {
    step(rig, (struct reflector_event){.kind = REFLECTOR_HEAD, .status = status});
}

static void item(struct rig *rig, const char *key, const char *uid, const char *rv) {
    step(rig, (struct reflector_event){.kind = REFLECTOR_ITEM, .item = {key, uid, rv, malloc(1)}});
}

static void list_end(struct rig *rig, const char *rv, const char *token) {
    step(rig,
         (struct reflector_event){.kind = REFLECTOR_LIST_END, .rv = rv, .continue_token = token});
}

static void change(struct rig *rig, enum reflector_type type, const char *key, const char *uid,
                   const char *rv) {
    step(rig, (struct reflector_event){
                  .kind = REFLECTOR_CHANGE, .type = type, .item = {key, uid, rv, malloc(1)}});
}

static void bookmark(struct rig *rig, const char *rv, bool initial_end) {
    step(rig, (struct reflector_event){.kind = REFLECTOR_CHANGE,
                                       .type = REFLECTOR_BOOKMARK,
                                       .rv = rv,
                                       .initial_end = initial_end});
}

static void error_event(struct rig *rig, int code) {
    step(rig, (struct reflector_event){
                  .kind = REFLECTOR_CHANGE, .type = REFLECTOR_ERROR, .status = code});
}

static void end(struct rig *rig, enum reflector_event_kind kind) {
    step(rig, (struct reflector_event){.kind = kind});
}

static void start(struct rig *rig, bool watch_list) {
    const struct reflector_config config = {.max_items = 2000,
                                            .free_object = free,
                                            .sink = tell,
                                            .context = rig,
                                            .watch_list = watch_list};

    *rig = (struct rig){.now_ms = 1000000};
    rig->r = reflector_new(&config, (struct random){7});
    step(rig, (struct reflector_event){.kind = REFLECTOR_TIMER});
}

/* Listed a/x and a/y at version 50; a watch is asked for. */
static void start_watching(struct rig *rig) {
    start(rig, false);
    head(rig, 200);
    item(rig, "a/x", "1", "10");
    item(rig, "a/y", "2", "20");
    list_end(rig, "50", NULL);
    head(rig, 200);
    rig->told[0] = '\0';
}

static void C27_first_zero_then_not_older_then_unset(void **state) {
    struct rig rig;

    (void)state;
    start(&rig, false);
    assert_string_equal(rig.out.request.rv, "0");
    reflector_free(rig.r);
    start_watching(&rig);
    end(&rig, REFLECTOR_GARBLED);
    timer(&rig);
    assert_string_equal(rig.out.request.rv, "50");
    assert_true(rig.out.request.match_not_older);
    assert_int_equal(rig.out.request.limit, 0);
    list_end(&rig, "49", NULL); /* a lagging apiserver */
    assert_int_equal(store_count(reflector_store(rig.r)), 2);
    timer(&rig);
    assert_null(rig.out.request.rv);
    assert_false(rig.out.request.match_not_older);
    assert_int_equal(rig.out.request.limit, REFLECTOR_PAGE_COUNT);
    reflector_free(rig.r);
}

static void C29_three_pages_one_swap(void **state) {
    struct rig rig;
    char key[20];

    (void)state;
    start(&rig, false);
    for (int i = 0; i < 1200; i++) {
        snprintf(key, sizeof key, "n/%d", i);
        item(&rig, key, key, "5");
        if (i % 500 == 499) {
            assert_int_equal(store_count(reflector_store(rig.r)), 0);
            list_end(&rig, "9", "more");
            assert_string_equal(rig.out.request.continue_token, "more");
            assert_null(rig.out.request.rv);
            assert_false(rig.out.request.match_not_older);
        }
    }
    list_end(&rig, "9", "");
    assert_true(rig.out.request.watch);
    assert_int_equal(store_count(reflector_store(rig.r)), 1200);
    reflector_free(rig.r);
}

static void C29_expired_page_starts_over_unpaged(void **state) {
    struct rig rig;

    (void)state;
    start(&rig, false);
    item(&rig, "a/x", "1", "1");
    list_end(&rig, "9", "more");
    head(&rig, 410);
    assert_int_equal(store_count(reflector_store(rig.r)), 0);
    timer(&rig);
    assert_int_equal(rig.out.request.limit, 0);
    assert_null(rig.out.request.continue_token);
    reflector_free(rig.r);
}

static void C30_watch_request(void **state) {
    struct rig rig;
    int low = 999, high = 0;

    (void)state;
    start_watching(&rig);
    for (int i = 0; i < 100; i++) {
        change(&rig, REFLECTOR_UNKNOWN, NULL, NULL, NULL);
        bookmark(&rig, "51", false);
        rig.now_ms += 2000;
        end(&rig, REFLECTOR_END);
        timer(&rig);
        assert_true(rig.out.request.watch && rig.out.request.bookmarks);
        assert_string_equal(rig.out.request.rv, "51");
        low = rig.out.request.timeout_s < low ? rig.out.request.timeout_s : low;
        high = rig.out.request.timeout_s > high ? rig.out.request.timeout_s : high;
    }
    assert_true(low >= 300 && low < 330 && high <= 600 && high > 570);
    assert_int_equal(reflector_status(rig.r).unknown_count, 100);
    reflector_free(rig.r);
}

static void C31_synthetic_versions_are_not_used(void **state) {
    struct rig rig;

    (void)state;
    start(&rig, false);
    list_end(&rig, "0", NULL);
    change(&rig, REFLECTOR_ADDED, "a/x", "1", "90");
    change(&rig, REFLECTOR_ADDED, "a/y", "2", "10");
    change(&rig, REFLECTOR_ADDED, "a/z", "3", "50");
    end(&rig, REFLECTOR_BROKEN);
    timer(&rig);
    assert_false(rig.out.request.watch); /* a delete in the gap must not be missed */
    assert_string_equal(rig.out.request.rv, "0");
    assert_string_equal(rig.told, "Aa/x:1 Aa/y:2 Aa/z:3 ");
    reflector_free(rig.r);
}

static void C32_bookmark_only_moves_the_version(void **state) {
    struct rig rig;

    (void)state;
    start_watching(&rig);
    bookmark(&rig, "70", false);
    bookmark(&rig, "60", false);
    assert_string_equal(reflector_status(rig.r).rv, "70");
    assert_string_equal(rig.told, "");
    reflector_free(rig.r);
}

static void C33_both_shapes_list_again(void **state) {
    struct rig rig;

    (void)state;
    for (int shape = 0; shape < 2; shape++) {
        start_watching(&rig);
        if (shape)
            error_event(&rig, 410);
        else
            head(&rig, 410);
        assert_true(rig.out.drop);
        timer(&rig);
        assert_false(rig.out.request.watch);
        reflector_free(rig.r);
    }
}

static void C34_other_errors_keep_the_version(void **state) {
    static const int codes[] = {500, 500, 500, 429, 503};
    struct rig rig;

    (void)state;
    start_watching(&rig);
    for (size_t i = 0; i < 5; i++) {
        error_event(&rig, codes[i]);
        assert_true(rig.out.again_at_ms >= rig.now_ms + 800);
        timer(&rig);
        assert_true(rig.out.request.watch);
        assert_string_equal(rig.out.request.rv, "50");
    }
    step(&rig,
         (struct reflector_event){.kind = REFLECTOR_HEAD, .status = 429, .retry_after_ms = 90000});
    assert_true(rig.out.again_at_ms >= rig.now_ms + 90000);
    reflector_free(rig.r);
}

static void C35_closing_at_once_is_eight_tries_a_minute(void **state) {
    struct rig rig;
    int tries = 1;

    (void)state;
    start_watching(&rig);
    for (const int64_t start_ms = rig.now_ms;;) {
        end(&rig, REFLECTOR_END);
        timer(&rig);
        if (rig.now_ms >= start_ms + 60000)
            break;
        if (!rig.out.request.watch) {
            item(&rig, "a/x", "1", "10");
            item(&rig, "a/y", "2", "20");
            list_end(&rig, "50", NULL);
        }
        tries++;
    }
    assert_in_range(tries, 3, 8);
    reflector_free(rig.r);
}

static void C36_swap_only_at_the_bookmark(void **state) {
    struct rig rig;

    (void)state;
    start(&rig, true);
    assert_true(rig.out.request.send_initial_events && rig.out.request.match_not_older);
    change(&rig, REFLECTOR_ADDED, "a/x", "1", "10");
    assert_int_equal(store_count(reflector_store(rig.r)), 0);
    bookmark(&rig, "50", true);
    assert_false(rig.out.send || rig.out.drop);
    assert_string_equal(rig.told, "Aa/x:1 ");
    change(&rig, REFLECTOR_DELETED, "a/x", "1", "51");
    assert_string_equal(rig.told, "Aa/x:1 Da/x:1 ");
    reflector_free(rig.r);
    start(&rig, true);
    change(&rig, REFLECTOR_ADDED, "a/x", "1", "10");
    end(&rig, REFLECTOR_BROKEN);
    timer(&rig);
    assert_false(rig.out.request.watch);
    assert_string_equal(rig.told, "");
    reflector_free(rig.r);
    start(&rig, true);
    head(&rig, 422);
    assert_true(rig.out.send && !rig.out.request.watch);
    reflector_free(rig.r);
}

static void fold(struct rig *rig, const char *key, const char *uid, const char *rv, bool wanted) {
    reflector_fold(rig->r, &(struct store_item){key, uid, rv, malloc(1)}, wanted, rig->now_ms);
}

static void C28_only_newer_writes_are_folded(void **state) {
    struct rig rig;

    (void)state;
    start(&rig, false);
    fold(&rig, "a/x", "1", "60", true); /* nothing listed yet */
    reflector_free(rig.r);
    start_watching(&rig);
    fold(&rig, "a/x", "1", "49", true);  /* the watch was there already */
    fold(&rig, "a/x", "1", "abc", true); /* unordered */
    fold(&rig, "a/x", NULL, "60", true);
    assert_string_equal(rig.told, "");
    fold(&rig, "a/x", "1", "100", true);
    fold(&rig, "a/x", "1", "99", true);
    fold(&rig, "a/y", "8", "100", true);
    fold(&rig, "a/z", "3", "100", true);
    assert_string_equal(rig.told, "Ua/x:1 Da/y:2 Aa/y:8 Aa/z:3 ");
    rig.told[0] = '\0';
    change(&rig, REFLECTOR_MODIFIED, "a/x", "1", "70"); /* late news */
    change(&rig, REFLECTOR_MODIFIED, "a/x", "1", "100");
    assert_string_equal(rig.told, "");
    assert_string_equal(reflector_status(rig.r).rv, "100");
    change(&rig, REFLECTOR_MODIFIED, "a/x", "1", "101");
    assert_string_equal(rig.told, "Ua/x:1 ");
    fold(&rig, "a/x", "1", "110", false); /* no longer ours */
    change(&rig, REFLECTOR_MODIFIED, "a/x", "1", "105");
    assert_string_equal(rig.told, "Ua/x:1 Da/x:1 ");
    change(&rig, REFLECTOR_MODIFIED, "a/x", "1", "111");
    assert_string_equal(rig.told, "Ua/x:1 Da/x:1 Aa/x:1 ");
    reflector_free(rig.r);
}

static void C28_an_older_list_does_not_take_a_write_back(void **state) {
    struct rig rig;

    (void)state;
    for (int newer = 0; newer < 2; newer++) {
        start_watching(&rig);
        fold(&rig, "a/x", "1", "60", true);
        fold(&rig, "a/z", "3", "61", true);
        end(&rig, REFLECTOR_GARBLED);
        timer(&rig);
        rig.told[0] = '\0';
        item(&rig, "a/x", "1", "10");
        item(&rig, "a/y", "2", "20");
        list_end(&rig, newer ? "70" : "55", NULL);
        /* At 70 the list knows of the write's end: a/z was deleted since. */
        assert_string_equal(rig.told, newer ? "Da/x:1 Da/z:3 " : "");
        if (!newer)
            assert_string_equal(store_get(reflector_store(rig.r), "a/x")->rv, "60");
        reflector_free(rig.r);
    }
}

static void C28_a_tombstone_outlives_late_news(void **state) {
    struct rig rig;

    (void)state;
    start_watching(&rig);
    reflector_fold_gone(rig.r, "a/x", "9", rig.now_ms); /* another uid: not the one we hold */
    assert_string_equal(rig.told, "");
    reflector_fold_gone(rig.r, "a/x", "1", rig.now_ms);
    change(&rig, REFLECTOR_MODIFIED, "a/x", "1", "60");
    fold(&rig, "a/x", "1", "61", true);
    assert_string_equal(rig.told, "Da/x:1 ");
    change(&rig, REFLECTOR_ADDED, "a/x", "5", "62"); /* made anew */
    assert_string_equal(rig.told, "Da/x:1 Aa/x:5 ");
    end(&rig, REFLECTOR_GARBLED);
    timer(&rig);
    item(&rig, "a/y", "2", "20");
    reflector_fold_gone(rig.r, "a/y", "2", rig.now_ms); /* listed a moment ago */
    item(&rig, "a/x", "5", "62");
    list_end(&rig, "63", NULL);
    assert_string_equal(rig.told, "Da/x:1 Aa/x:5 Da/y:2 ");
    change(&rig, REFLECTOR_DELETED, "a/y", "2", "64"); /* the watch has passed it */
    change(&rig, REFLECTOR_ADDED, "a/y", "2", "65");
    assert_string_equal(rig.told, "Da/x:1 Aa/x:5 Da/y:2 Aa/y:2 ");
    reflector_free(rig.r);
}

static void C28_tombstones_are_bounded_in_number_and_time(void **state) {
    struct rig rig;
    char uid[20];

    (void)state;
    start_watching(&rig);
    for (int i = 0; i <= REFLECTOR_FOLD_MAX; i++) {
        snprintf(uid, sizeof uid, "u%d", i);
        reflector_fold_gone(rig.r, "a/q", uid, rig.now_ms);
    }
    change(&rig, REFLECTOR_ADDED, "a/1", "u1", "60");
    change(&rig, REFLECTOR_ADDED, "a/0", "u0", "61"); /* the oldest was forgotten */
    assert_string_equal(rig.told, "Aa/0:u0 ");
    rig.now_ms += REFLECTOR_FOLD_MS - 1;
    change(&rig, REFLECTOR_ADDED, "a/1", "u1", "62");
    rig.now_ms += 1;
    change(&rig, REFLECTOR_ADDED, "a/1", "u1", "63");
    assert_string_equal(rig.told, "Aa/0:u0 Aa/1:u1 ");
    reflector_free(rig.r);
}

static void C37_recreated_during_outage(void **state) {
    struct rig rig;

    (void)state;
    start_watching(&rig);
    end(&rig, REFLECTOR_GARBLED);
    timer(&rig);
    item(&rig, "a/x", "9", "60");
    item(&rig, "a/y", "2", "20");
    list_end(&rig, "61", NULL);
    assert_string_equal(rig.told, "Da/x:1 Aa/x:9 ");
    reflector_free(rig.r);
}

static void C38_shrunken_list_is_suspect_until_a_second(void **state) {
    struct rig rig;

    (void)state;
    start_watching(&rig);
    end(&rig, REFLECTOR_GARBLED);
    timer(&rig);
    list_end(&rig, "61", NULL);
    assert_true(reflector_status(rig.r).suspect);
    timer(&rig);
    assert_null(rig.out.request.rv);
    list_end(&rig, "62", NULL);
    assert_false(reflector_status(rig.r).suspect);
    assert_true(rig.out.request.watch);
    reflector_free(rig.r);
}

static void C39_forbidden_is_a_state(void **state) {
    struct rig rig;

    (void)state;
    start(&rig, false);
    head(&rig, 403);
    assert_int_equal(reflector_status(rig.r).blocked, 403);
    assert_false(reflector_status(rig.r).synced);
    assert_true(rig.out.again_at_ms >= rig.now_ms + 30000);
    reflector_free(rig.r);
    start_watching(&rig);
    head(&rig, 404);
    assert_string_equal(rig.told, "");
    reflector_free(rig.r);
}

static void C40_second_silent_close_lists(void **state) {
    struct rig rig;

    (void)state;
    start_watching(&rig);
    rig.now_ms += 20000;
    end(&rig, REFLECTOR_END);
    timer(&rig);
    assert_true(rig.out.request.watch);
    rig.now_ms += 20000;
    end(&rig, REFLECTOR_END);
    timer(&rig);
    assert_false(rig.out.request.watch);
    reflector_free(rig.r);
}

static void C18_watchdog_and_types_without_bookmarks(void **state) {
    struct rig rig;

    (void)state;
    start_watching(&rig);
    assert_int_equal(rig.out.again_at_ms, rig.now_ms + 120000);
    timer(&rig);
    assert_true(rig.out.drop);
    timer(&rig);
    assert_true(rig.out.request.watch);
    assert_in_range(rig.out.request.timeout_s, 60, 120);
    reflector_free(rig.r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C27_first_zero_then_not_older_then_unset),
        cmocka_unit_test(C28_only_newer_writes_are_folded),
        cmocka_unit_test(C28_an_older_list_does_not_take_a_write_back),
        cmocka_unit_test(C28_a_tombstone_outlives_late_news),
        cmocka_unit_test(C28_tombstones_are_bounded_in_number_and_time),
        cmocka_unit_test(C29_three_pages_one_swap),
        cmocka_unit_test(C29_expired_page_starts_over_unpaged),
        cmocka_unit_test(C30_watch_request),
        cmocka_unit_test(C31_synthetic_versions_are_not_used),
        cmocka_unit_test(C32_bookmark_only_moves_the_version),
        cmocka_unit_test(C33_both_shapes_list_again),
        cmocka_unit_test(C34_other_errors_keep_the_version),
        cmocka_unit_test(C35_closing_at_once_is_eight_tries_a_minute),
        cmocka_unit_test(C36_swap_only_at_the_bookmark),
        cmocka_unit_test(C37_recreated_during_outage),
        cmocka_unit_test(C38_shrunken_list_is_suspect_until_a_second),
        cmocka_unit_test(C39_forbidden_is_a_state),
        cmocka_unit_test(C40_second_silent_close_lists),
        cmocka_unit_test(C18_watchdog_and_types_without_bookmarks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
