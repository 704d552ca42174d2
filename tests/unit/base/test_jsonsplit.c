#include "base/jsonsplit.h"

#include "base/jsonpull.h"
#include "base/random.h"
#include "base/str.h"

#include <stdio.h>

#include "unit.h"

/* What a stream gave, as text: "i{...};" an item, "w{...};" a whole document. */
struct seen {
    struct str text;
    int items;
    int stop_after; /* 0: never */
    int fail_after;
    size_t held_max; /* most the splitter held while an item was handed over */
    struct jsonsplit *split;
};

static int take_item(void *arg, const char *bytes, size_t size_bytes, struct err *err) {
    struct seen *seen = arg;

    str_addf(&seen->text, NULL, "i%.*s;", (int)size_bytes, bytes);
    seen->items++;
    if (seen->split && seen->split->held.size_bytes > seen->held_max)
        seen->held_max = seen->split->held.size_bytes;
    if (seen->fail_after && seen->items == seen->fail_after)
        return err_set(err, ERR_CONFLICT, "no more");
    return seen->stop_after && seen->items == seen->stop_after;
}

static int take_whole(void *arg, const char *bytes, size_t size_bytes, struct err *err) {
    struct seen *seen = arg;

    (void)err;
    str_addf(&seen->text, NULL, "w%.*s;", (int)size_bytes, bytes);
    return 0;
}

static struct jsonsplit_options options(enum jsonsplit_mode mode, struct seen *seen) {
    *seen = (struct seen){0};
    str_init(&seen->text, 1 << 24);
    return (struct jsonsplit_options){
        .mode = mode, .item = take_item, .whole = take_whole, .arg = seen};
}

static const char *or_nil(const char *text) {
    return text ? text : "nil";
}

/* Feeds the pieces [0,a) [a,b) [b,size), each from memory of its exact size, and appends the
 * verdict and the head. The caller frees. */
static char *run_cut(enum jsonsplit_mode mode, const char *bytes, size_t size, size_t a, size_t b) {
    const size_t cuts[] = {0, a, b, size};
    struct seen seen;
    struct jsonsplit_options opts = options(mode, &seen);
    struct jsonsplit split;
    struct err err = {0};
    int r = 0;

    jsonsplit_init(&split, &opts);
    for (int i = 0; i < 3; i++) {
        char *piece = str_dup_len(bytes + cuts[i], cuts[i + 1] - cuts[i]);

        r = jsonsplit_feed(&split, piece, cuts[i + 1] - cuts[i], &err);
        free(piece);
    }
    assert_int_equal(jsonsplit_feed(&split, "", 0, NULL), r);
    r = jsonsplit_end(&split, &err);
    str_addf(&seen.text, NULL, "%d %s kind=%s api=%s rv=%s more=%s list=%d", r, err.msg,
             or_nil(split.head.kind), or_nil(split.head.api_version),
             or_nil(split.head.resource_version), or_nil(split.head.continue_token),
             split.head.is_list);
    jsonsplit_done(&split);
    return seen.text.data;
}

static char *run_bytewise(enum jsonsplit_mode mode, const char *bytes, size_t size) {
    struct seen seen;
    struct jsonsplit_options opts = options(mode, &seen);
    struct jsonsplit split;
    struct err err = {0};

    jsonsplit_init(&split, &opts);
    for (size_t i = 0; i < size; i++) {
        char *piece = str_dup_len(bytes + i, 1);

        jsonsplit_feed(&split, piece, 1, NULL);
        free(piece);
    }
    const int r = jsonsplit_end(&split, &err);

    str_addf(&seen.text, NULL, "%d %s kind=%s api=%s rv=%s more=%s list=%d", r, err.msg,
             or_nil(split.head.kind), or_nil(split.head.api_version),
             or_nil(split.head.resource_version), or_nil(split.head.continue_token),
             split.head.is_list);
    jsonsplit_done(&split);
    return seen.text.data;
}

static char *run(enum jsonsplit_mode mode, const char *json) {
    return run_cut(mode, json, strlen(json), strlen(json), strlen(json));
}

static void expect(enum jsonsplit_mode mode, const char *json, const char *want) {
    char *got = run(mode, json);

    assert_string_equal(got, want);
    free(got);
}

#define LIST_JSON                                                                                  \
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\","        \
    "\"continue\":\"to\\u006ben\",\"remainingItemCount\":3},\"items\":[{\"a\":\"}]\\\"{\"},"       \
    "{\"b\":[1,{\"c\":{}}]} , {}],\"x\":[1,{\"items\":[]}],\"y\":-1.5}"

static void C41_list_gives_items_and_head(void **state) {
    (void)state;
    expect(JSONSPLIT_LIST, LIST_JSON,
           "i{\"a\":\"}]\\\"{\"};i{\"b\":[1,{\"c\":{}}]};i{};"
           "0  kind=PodList api=v1 rv=10 more=token list=1");
}

static void C41_metadata_may_follow_the_items(void **state) {
    (void)state;
    expect(JSONSPLIT_LIST,
           " {\"items\" : [ {\"metadata\":{\"resourceVersion\":\"7\"}} ] , \"metadata\" : "
           "{\"continue\":\"\",\"resourceVersion\":\"9\"},\"apiVersion\":\"v1\",\"kind\":\"L\"}\n",
           "i{\"metadata\":{\"resourceVersion\":\"7\"}};0  kind=L api=v1 rv=9 more= list=1");
}

static void C41_empty_lists(void **state) {
    (void)state;
    expect(JSONSPLIT_LIST, "{\"items\":[]}", "0  kind=nil api=nil rv=nil more=nil list=1");
    expect(JSONSPLIT_LIST, "{\"metadata\":null,\"items\":null,\"kind\":null}",
           "0  kind=nil api=nil rv=nil more=nil list=1");
}

static void C41_what_is_no_list_comes_whole(void **state) {
    const char *status = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"code\":410}";
    char want[200];
    struct seen seen;
    struct jsonsplit_options opts = options(JSONSPLIT_LIST, &seen);
    struct jsonsplit split;

    (void)state;
    snprintf(want, sizeof(want), "w%s;0  kind=Status api=v1 rv=nil more=nil list=0", status);
    expect(JSONSPLIT_LIST, status, want);
    expect(JSONSPLIT_LIST, "{}", "w{};0  kind=nil api=nil rv=nil more=nil list=0");
    expect(JSONSPLIT_LIST, "{\"items\":{\"a\":1}}",
           "w{\"items\":{\"a\":1}};0  kind=nil api=nil rv=nil more=nil list=0");
    /* An "items" further down makes no list. */
    expect(JSONSPLIT_LIST, "{\"spec\":{\"items\":[{}]}}",
           "w{\"spec\":{\"items\":[{}]}};0  kind=nil api=nil rv=nil more=nil list=0");
    opts.whole = NULL;
    jsonsplit_init(&split, &opts);
    assert_int_equal(jsonsplit_feed(&split, status, strlen(status), NULL), ERR_INVALID);
    jsonsplit_done(&split);
    str_done(&seen.text);
}

static void C41_watch_by_lines_or_without(void **state) {
    (void)state;
    expect(JSONSPLIT_WATCH, "{\"type\":\"ADDED\"}\n{\"a\":1}{\"b\":2}\r\n\n {\"c\":\"\\\"}\"}\n",
           "i{\"type\":\"ADDED\"};i{\"a\":1};i{\"b\":2};i{\"c\":\"\\\"}\"};"
           "0  kind=nil api=nil rv=nil more=nil list=0");
    expect(JSONSPLIT_WATCH, "", "0  kind=nil api=nil rv=nil more=nil list=0");
}

static void C41_a_cut_last_line_is_dropped(void **state) {
    const char *json = "{\"a\":1}\n{\"b\":\"x\"}";

    (void)state;
    for (size_t size = 8; size < strlen(json); size++) {
        char *got = run_cut(JSONSPLIT_WATCH, json, size, size, size);

        assert_string_equal(got, "i{\"a\":1};0  kind=nil api=nil rv=nil more=nil list=0");
        free(got);
    }
}

static void C41_a_cut_list_is_never_a_shorter_one(void **state) {
    (void)state;
    for (size_t size = 0; size < strlen(LIST_JSON); size++) {
        struct seen seen;
        struct jsonsplit_options opts = options(JSONSPLIT_LIST, &seen);
        struct jsonsplit split;

        jsonsplit_init(&split, &opts);
        assert_int_equal(jsonsplit_feed(&split, LIST_JSON, size, NULL), 0);
        assert_int_equal(jsonsplit_end(&split, NULL), ERR_RETRY);
        jsonsplit_done(&split);
        str_done(&seen.text);
    }
}

static const struct {
    enum jsonsplit_mode mode;
    const char *json;
} STREAMS[] = {
    {JSONSPLIT_LIST, LIST_JSON},
    {JSONSPLIT_LIST, " { \"items\" : [ ] , \"n\" : 12 , \"t\" : true , \"e\" : \"\\\\\" } "},
    {JSONSPLIT_LIST, "{\"it\\u0065ms\":[{\"a\":\"\\\\\"},{\"\xC3\xA9\":1}],\"kind\":\"\xC3\xA9\"}"},
    {JSONSPLIT_LIST, "{\"kind\":\"Status\",\"message\":\"\\\"items\\\":[\",\"code\":410}\n"},
    {JSONSPLIT_LIST, "{\"items\":[{\"a\":1},7],\"kind\":\"L\"}"},
    {JSONSPLIT_LIST, "{\"items\":[{\"a\":1}],\"kind\":\"L\"}x"},
    {JSONSPLIT_LIST, "{\"n\":01,\"items\":[]}"},
    {JSONSPLIT_LIST, "{\"items\":[{\"a\":\"\n\"}]}"},
    {JSONSPLIT_LIST, "{\"items\":[{}],\"items\":[{}]}"},
    {JSONSPLIT_LIST, "{\"items\":[{}],\"metadata\":{\"resourceVersion\":5}}"},
    {JSONSPLIT_WATCH,
     "{\"type\":\"ADDED\",\"object\":{\"a\":\"\\\\\\\"}\"}}\n{\"b\":[{}]}{}\n{\"c"},
    {JSONSPLIT_WATCH, "{\"a\":1}\n\n\r\n[1]\n"},
};

static void C41_any_chunking_gives_the_same_items(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof(STREAMS) / sizeof(STREAMS[0]); s++) {
        const char *json = STREAMS[s].json;
        const size_t size = strlen(json);
        char *want = run(STREAMS[s].mode, json);
        char *got = run_bytewise(STREAMS[s].mode, json, size);

        assert_string_equal(got, want);
        free(got);
        for (size_t a = 0; a <= size; a++) {
            for (size_t b = a; b <= size; b++) {
                got = run_cut(STREAMS[s].mode, json, size, a, b);
                if (strcmp(got, want) != 0)
                    fail_msg("stream %zu cut at %zu and %zu: %s, wanted %s", s, a, b, got, want);
                free(got);
            }
        }
        free(want);
    }
}

static void C25_broken_streams_are_refused(void **state) {
    static const struct {
        enum jsonsplit_mode mode;
        const char *json;
        int offset;
    } ROWS[] = {
        {JSONSPLIT_LIST, "[]", 0},
        {JSONSPLIT_LIST, "null", 0},
        {JSONSPLIT_LIST, "{]", 1},
        {JSONSPLIT_LIST, "{\"a\",1}", 4},
        {JSONSPLIT_LIST, "{\"a\":}", 5},
        {JSONSPLIT_LIST, "{\"a\":1,}", 7},
        {JSONSPLIT_LIST, "{\"a\":tru}", 5},
        {JSONSPLIT_LIST, "{\"a\":[1}]}", 5},
        {JSONSPLIT_LIST, "{\"\\x\":1}", 1},
        {JSONSPLIT_LIST, "{\"a\":\"\x80\"}", 5},
        {JSONSPLIT_LIST, "{\"a\":1 \"b\":2}", 7},
        {JSONSPLIT_LIST, "{\"items\":[{},]}", 13},
        {JSONSPLIT_LIST, "{\"items\":[null]}", 10},
        {JSONSPLIT_LIST, "{\"items\":[{}{}]}", 12},
        {JSONSPLIT_LIST, "{\"items\":[{}]]", 13},
        {JSONSPLIT_LIST, "{\"kind\":7}", 8},
        {JSONSPLIT_LIST, "{\"metadata\":[]}", 12},
        {JSONSPLIT_LIST, "{} {}", 3},
        {JSONSPLIT_WATCH, "7", 0},
        {JSONSPLIT_WATCH, "{\"a\":1},{}", 7},
        {JSONSPLIT_WATCH, "{\"a\":\"\n{}", 6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        char *got = run(ROWS[i].mode, ROWS[i].json);
        char want[60];

        snprintf(want, sizeof(want), "%d byte %d of the stream: ", ERR_INVALID, ROWS[i].offset);
        if (!strstr(got, want))
            fail_msg("%s: %s, wanted %s", ROWS[i].json, got, want);
        free(got);
    }
}

static void C25_depth_of_an_item_is_capped(void **state) {
    (void)state;
    for (int depth = JSONPULL_DEPTH_MAX - 1; depth <= JSONPULL_DEPTH_MAX + 1; depth++) {
        char json[2 * JSONPULL_DEPTH_MAX + 40];
        struct seen seen;
        struct jsonsplit_options opts = options(JSONSPLIT_LIST, &seen);
        struct jsonsplit split;
        size_t size = (size_t)snprintf(json, sizeof(json), "{\"items\":[{\"a\":");

        memset(json + size, '[', depth - 1);
        memset(json + size + depth - 1, ']', depth - 1);
        size += 2 * (depth - 1);
        memcpy(json + size, "}]}", 3);
        jsonsplit_init(&split, &opts);
        assert_int_equal(jsonsplit_feed(&split, json, size + 3, NULL),
                         depth <= JSONPULL_DEPTH_MAX ? 0 : ERR_INVALID);
        jsonsplit_done(&split);
        str_done(&seen.text);
    }
}

/* An item, a key, a value or a whole document of the cap passes; one byte more does not, however
 * the bytes come. */
static void C25_item_over_the_cap_is_refused(void **state) {
    static const struct {
        enum jsonsplit_mode mode;
        const char *before, *open, *close, *after;
    } ROWS[] = {
        {JSONSPLIT_LIST, "{\"items\":[{},", "{\"a\":\"", "\"}", "]}"},
        {JSONSPLIT_LIST, "{\"items\":[],", "\"", "\"", ":1}"},
        {JSONSPLIT_LIST, "{\"items\":[],\"x\":", "[\"", "\"]", "}"},
        {JSONSPLIT_LIST, "", "{\"kind\":\"", "\"}", ""},
        {JSONSPLIT_WATCH, "{}\n", "{\"a\":\"", "\"}", "\n"},
    };
    const size_t cap = 50;

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        for (size_t size = cap - 1; size <= cap + 1; size++) {
            for (size_t chunk = 1; chunk < 120; chunk++) {
                const int fill = (int)(size - strlen(ROWS[i].open) - strlen(ROWS[i].close));
                char json[200];
                struct seen seen;
                struct jsonsplit_options opts = options(ROWS[i].mode, &seen);
                struct jsonsplit split;
                const size_t total =
                    (size_t)snprintf(json, sizeof(json), "%s%s%0*d%s%s", ROWS[i].before,
                                     ROWS[i].open, fill, 0, ROWS[i].close, ROWS[i].after);

                opts.item_max_bytes = cap;
                jsonsplit_init(&split, &opts);
                for (size_t at = 0; at < total; at += chunk) {
                    jsonsplit_feed(&split, json + at, total - at < chunk ? total - at : chunk,
                                   NULL);
                    assert_true(split.held.size_bytes <= cap);
                }
                assert_int_equal(jsonsplit_end(&split, NULL), size <= cap ? 0 : ERR_INVALID);
                jsonsplit_done(&split);
                str_done(&seen.text);
            }
        }
    }
}

static void C25_the_default_cap_is_8_mib(void **state) {
    char *block = malloc(1 << 20);
    struct seen seen;
    struct jsonsplit_options opts = options(JSONSPLIT_WATCH, &seen);
    struct jsonsplit split;
    int blocks = 0;

    (void)state;
    memset(block, 'a', 1 << 20);
    jsonsplit_init(&split, &opts);
    assert_int_equal(jsonsplit_feed(&split, "{\"", 2, NULL), 0);
    while (jsonsplit_feed(&split, block, 1 << 20, NULL) == 0)
        blocks++;
    assert_int_equal(blocks, 7);
    assert_null(split.held.data); /* a refused stream holds nothing */
    jsonsplit_done(&split);
    str_done(&seen.text);
    free(block);
}

static int count_only(void *arg, const char *bytes, size_t size_bytes, struct err *err) {
    struct seen *seen = arg;

    (void)bytes;
    (void)size_bytes;
    (void)err;
    seen->items++;
    if (seen->split->held.room_bytes > seen->held_max)
        seen->held_max = seen->split->held.room_bytes;
    return 0;
}

/* 64 MB of 5 KB items, ten times the cap, in odd chunks: never more than twice an item is held. */
static void C41_memory_holds_one_item(void **state) {
    const size_t chunk = 1500, item_size = 5000;
    struct seen seen;
    struct jsonsplit_options opts = options(JSONSPLIT_LIST, &seen);
    struct jsonsplit split;
    struct str list;
    const int rounds = 64, per_round = 200;

    (void)state;
    str_init(&list, 1 << 24);
    for (int i = 0; i < per_round; i++)
        str_addf(&list, NULL, "{\"a\":\"%0*d\"},", (int)item_size - 8, i);
    seen.split = &split;
    opts.item = count_only;
    opts.item_max_bytes = item_size + 100;
    jsonsplit_init(&split, &opts);
    assert_int_equal(jsonsplit_feed(&split, "{\"items\":[", 10, NULL), 0);
    for (int round = 0; round < rounds; round++)
        for (size_t at = 0; at < list.size_bytes; at += chunk) {
            const size_t left = list.size_bytes - at;

            assert_int_equal(
                jsonsplit_feed(&split, list.data + at, left < chunk ? left : chunk, NULL), 0);
        }
    assert_int_equal(jsonsplit_feed(&split, "{}]}", 4, NULL), 0);
    assert_int_equal(jsonsplit_end(&split, NULL), 0);
    assert_int_equal(seen.items, rounds * per_round + 1);
    assert_int_equal(split.count, seen.items);
    assert_in_range(seen.held_max, 1, 2 * (item_size + 100));
    jsonsplit_done(&split);
    str_done(&list);
    str_done(&seen.text);
}

/* What lies whole in a chunk is handed over where it lies. */
static void C41_a_whole_item_is_not_copied(void **state) {
    struct seen seen;
    struct jsonsplit_options opts = options(JSONSPLIT_WATCH, &seen);
    struct jsonsplit split;

    (void)state;
    jsonsplit_init(&split, &opts);
    assert_int_equal(jsonsplit_feed(&split, "{\"a\":1}\n{\"b\":2}\n", 16, NULL), 0);
    assert_int_equal(seen.items, 2);
    assert_null(split.held.data);
    jsonsplit_done(&split);
    str_done(&seen.text);
}

static void C41_the_callback_stops_or_fails_the_stream(void **state) {
    const char *json = "{\"items\":[{},{},{}],\"kind\":\"L\"}";

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct seen seen;
        struct jsonsplit_options opts = options(JSONSPLIT_LIST, &seen);
        struct jsonsplit split;
        struct err err = {0};
        const int want = mode == 0 ? 1 : ERR_CONFLICT;

        seen.stop_after = mode == 0 ? 2 : 0;
        seen.fail_after = mode == 1 ? 2 : 0;
        jsonsplit_init(&split, &opts);
        assert_int_equal(jsonsplit_feed(&split, json, strlen(json), &err), want);
        assert_string_equal(err.msg, mode == 0 ? "" : "object at byte 13: no more");
        assert_int_equal(jsonsplit_feed(&split, json, strlen(json), NULL), want);
        assert_int_equal(jsonsplit_end(&split, NULL), want);
        assert_int_equal(seen.items, 2);
        jsonsplit_done(&split);
        str_done(&seen.text);
    }
}

static void C33_an_event_is_a_type_and_an_object(void **state) {
    static const struct {
        const char *json, *type, *object; /* type NULL: refused */
    } ROWS[] = {
        {"{\"type\":\"ADDED\",\"object\":{\"a\":1}}", "ADDED", "{\"a\":1}"},
        {"{ \"object\" : {} , \"x\":[1], \"type\" : \"\\u0045RROR\" }", "ERROR", "{}"},
        {"{\"type\":\"SOMETHING_NEW\",\"object\":{}}", "SOMETHING_NEW", "{}"},
        {"{\"type\":\"ADDED\"}", NULL, NULL},
        {"{\"object\":{}}", NULL, NULL},
        {"{\"type\":\"\",\"object\":{}}", NULL, NULL},
        {"{\"type\":7,\"object\":{}}", NULL, NULL},
        {"{\"type\":\"ADDED\",\"object\":[]}", NULL, NULL},
        {"{\"type\":\"ADDED\",\"object\":null}", NULL, NULL},
        {"{\"type\":\"ADDED\",\"object\":{\"a\":01}}", NULL, NULL},
        {"{\"type\":\"ADDED\",\"object\":{}}x", NULL, NULL},
        {"{\"type\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\",\"object\":{}}", NULL, NULL},
        {"[]", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        struct jsonsplit_event event = {.type = "untouched"};
        const int r = jsonsplit_event_read(ROWS[i].json, strlen(ROWS[i].json), &event, NULL);

        assert_int_equal(r, ROWS[i].type ? 0 : ERR_INVALID);
        assert_string_equal(event.type, ROWS[i].type ? ROWS[i].type : "untouched");
        if (ROWS[i].type) {
            assert_int_equal(event.object_bytes, strlen(ROWS[i].object));
            assert_memory_equal(event.object, ROWS[i].object, event.object_bytes);
        }
    }
}

static void nothing_is_released_twice(void **state) {
    struct jsonsplit split = {0};

    (void)state;
    jsonsplit_done(NULL);
    jsonsplit_done(&split);
    jsonsplit_done(&split);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C41_list_gives_items_and_head),
        cmocka_unit_test(C41_metadata_may_follow_the_items),
        cmocka_unit_test(C41_empty_lists),
        cmocka_unit_test(C41_what_is_no_list_comes_whole),
        cmocka_unit_test(C41_watch_by_lines_or_without),
        cmocka_unit_test(C41_a_cut_last_line_is_dropped),
        cmocka_unit_test(C41_a_cut_list_is_never_a_shorter_one),
        cmocka_unit_test(C41_any_chunking_gives_the_same_items),
        cmocka_unit_test(C25_broken_streams_are_refused),
        cmocka_unit_test(C25_depth_of_an_item_is_capped),
        cmocka_unit_test(C25_item_over_the_cap_is_refused),
        cmocka_unit_test(C25_the_default_cap_is_8_mib),
        cmocka_unit_test(C41_memory_holds_one_item),
        cmocka_unit_test(C41_a_whole_item_is_not_copied),
        cmocka_unit_test(C41_the_callback_stops_or_fails_the_stream),
        cmocka_unit_test(C33_an_event_is_a_type_and_an_object),
        cmocka_unit_test(nothing_is_released_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
