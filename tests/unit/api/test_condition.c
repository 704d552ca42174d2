#include "unit.h"

#include "api/condition.h"

#define SECOND_MS INT64_C(1000)
#define START_MS INT64_C(1767607872000) /* 2026-01-05T10:11:12Z */

static const struct condition placed = {"Placed", CONDITION_TRUE, "Placed", "12 of 12", 3};

static const char *field(const json_t *list, const char *type, const char *key) {
    return json_string_value(json_object_get(condition_find(list, type), key));
}

static void C60_the_same_evaluation_twice_changes_nothing(void **state) {
    json_t *list = json_array();
    json_t *before;

    (void)state;
    assert_int_equal(condition_set(list, &placed, START_MS, NULL), 1);
    before = json_deep_copy(list);
    assert_int_equal(condition_set(list, &placed, START_MS + 60 * SECOND_MS, NULL), 0);
    assert_true(json_equal(list, before));
    assert_string_equal(field(list, "Placed", "lastTransitionTime"), "2026-01-05T10:11:12Z");
    assert_string_equal(field(list, "Placed", "status"), "True");
    json_decref(before);
    json_decref(list);
}

static void C60_time_moves_only_when_the_status_flips(void **state) {
    static const struct {
        struct condition next;
        const char *time;
    } rows[] = {
        {{"Placed", CONDITION_TRUE, "Other", "12 of 12", 3}, "2026-01-05T10:11:12Z"},
        {{"Placed", CONDITION_TRUE, "Other", "11 of 12", 3}, "2026-01-05T10:11:12Z"},
        {{"Placed", CONDITION_TRUE, "Other", "11 of 12", 4}, "2026-01-05T10:11:12Z"},
        {{"Placed", CONDITION_TRUE, "Other", NULL, 4}, "2026-01-05T10:11:12Z"},
        {{"Placed", CONDITION_FALSE, "Other", NULL, 4}, "2026-01-05T10:11:17Z"},
        {{"Placed", CONDITION_UNKNOWN, "Other", NULL, 4}, "2026-01-05T10:11:18Z"},
        {{"Placed", CONDITION_TRUE, "Other", NULL, 4}, "2026-01-05T10:11:19Z"},
    };
    json_t *list = json_array();

    (void)state;
    assert_int_equal(condition_set(list, &placed, START_MS, NULL), 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t now = START_MS + (int64_t)(i + 1) * SECOND_MS;

        assert_int_equal(condition_set(list, &rows[i].next, now, NULL), 1);
        assert_string_equal(field(list, "Placed", "lastTransitionTime"), rows[i].time);
        assert_int_equal(condition_status(list, "Placed"), rows[i].next.status);
        assert_int_equal(condition_set(list, &rows[i].next, now + SECOND_MS, NULL), 0);
    }
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
}

static void entries_of_others_and_unknown_fields_stay(void **state) {
    json_t *list = json_loads(
        "[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Fine\",\"message\":\"m\"},"
        "{\"type\":\"Placed\",\"status\":\"True\",\"reason\":\"Placed\",\"message\":\"12 of 12\","
        "\"observedGeneration\":3,\"note\":1},7]",
        0, NULL);
    json_t *ready = json_deep_copy(json_array_get(list, 0));

    (void)state;
    assert_int_equal(condition_set(list, &placed, START_MS, NULL), 1); /* it had no time */
    assert_int_equal(condition_set(list, &placed, START_MS, NULL), 0);
    assert_string_equal(field(list, "Placed", "lastTransitionTime"), "2026-01-05T10:11:12Z");
    assert_int_equal(json_array_size(list), 3);
    assert_true(json_equal(json_array_get(list, 0), ready));
    assert_true(json_is_integer(json_object_get(json_array_get(list, 1), "note")));
    assert_int_equal(condition_status(list, "Ready"), CONDITION_TRUE);
    assert_int_equal(condition_status(list, "Gone"), CONDITION_UNKNOWN);
    assert_null(condition_find(NULL, "Ready"));
    json_decref(ready);
    json_decref(list);
}

static void names_are_camel_case_and_bounded(void **state) {
    char long_name[CONDITION_NAME_MAX + 2];
    const char *const bad[] = {
        "",    "placed",        "Not Placed", "Not-Placed", "Zone_Down",
        "1st", "Platz\xc3\xa4", long_name,    NULL,
    };
    json_t *list = json_array();

    (void)state;
    memset(long_name, 'X', sizeof(long_name));
    long_name[CONDITION_NAME_MAX + 1] = '\0';
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct condition condition = placed;

        condition.reason = bad[i];
        assert_int_equal(condition_set(list, &condition, START_MS, NULL), ERR_INVALID);
        condition = placed;
        condition.type = bad[i];
        assert_int_equal(condition_set(list, &condition, START_MS, NULL), ERR_INVALID);
    }
    assert_int_equal(json_array_size(list), 0);
    long_name[CONDITION_NAME_MAX] = '\0';
    assert_int_equal(condition_set(list,
                                   &(struct condition){long_name, CONDITION_TRUE, long_name, "", 1},
                                   START_MS, NULL),
                     1);
    json_decref(list);
}

static void a_long_message_is_cut_between_characters(void **state) {
    char message[CONDITION_MESSAGE_MAX + 64];
    struct condition condition = placed;
    json_t *list = json_array();

    (void)state;
    condition.message = message;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(message, 'x', sizeof(message));
        for (size_t at = CONDITION_MESSAGE_MAX - 8 + shift; at < CONDITION_MESSAGE_MAX + 20;
             at += 4)
            memcpy(message + at, "\xf0\x9f\x9a\xa7", 4);
        message[CONDITION_MESSAGE_MAX + 63] = '\0';
        assert_int_equal(condition_set(list, &condition, START_MS, NULL), 1);
        assert_int_equal(strlen(field(list, "Placed", "message")),
                         CONDITION_MESSAGE_MAX - (shift ? 4 - shift : 0));
        assert_int_equal(condition_set(list, &condition, START_MS, NULL), 0);
    }
    message[CONDITION_MESSAGE_MAX] = '\0';
    memset(message, 'y', CONDITION_MESSAGE_MAX);
    assert_int_equal(condition_set(list, &condition, START_MS, NULL), 1);
    assert_string_equal(field(list, "Placed", "message"), message);
    json_decref(list);
}

static void a_failure_leaves_the_list_as_it_was(void **state) {
    struct condition condition = placed;
    json_t *list = json_array();
    json_t *before;

    (void)state;
    assert_int_equal(condition_set(list, &placed, START_MS, NULL), 1);
    before = json_deep_copy(list);
    condition.status = CONDITION_FALSE;
    condition.message = "\xff";
    assert_int_equal(condition_set(list, &condition, START_MS, NULL), ERR_INVALID);
    assert_true(json_equal(list, before));
    assert_int_equal(condition_set(NULL, &placed, START_MS, NULL), ERR_INVALID);
    json_decref(before);
    json_decref(list);
}

static void the_list_is_bounded(void **state) {
    json_t *list = json_array();
    char type[] = "TypeA0";

    (void)state;
    for (int i = 0; i <= CONDITION_COUNT_MAX; i++) {
        struct condition condition = placed;

        type[4] = (char)('A' + i / 10);
        type[5] = (char)('0' + i % 10);
        condition.type = type;
        assert_int_equal(condition_set(list, &condition, START_MS, NULL),
                         i < CONDITION_COUNT_MAX ? 1 : ERR_INVALID);
    }
    type[4] = 'A';
    type[5] = '0';
    assert_int_equal(condition_set(list, &(struct condition){type, CONDITION_FALSE, "Full", "", 1},
                                   START_MS, NULL),
                     1);
    assert_int_equal(json_array_size(list), CONDITION_COUNT_MAX);
    json_decref(list);
}

static void reads_one_type_of_somebody_elses_list(void **state) {
    static const struct {
        const char *json;
        int found;
        enum condition_status status;
        int64_t changed_ms;
        const char *reason;
    } rows[] = {
        {"null", 0, CONDITION_FALSE, 7, NULL},
        {"[]", 0, CONDITION_FALSE, 7, NULL},
        {"[null,{},{\"type\":\"Other\",\"status\":\"True\"}]", 0, CONDITION_FALSE, 7, NULL},
        {"[{\"type\":\"Ready\"}]", 1, CONDITION_UNKNOWN, 0, NULL},
        {"[{\"status\":\"True\",\"type\":\"Ready\",\"reason\":null}]", 1, CONDITION_TRUE, 0, NULL},
        {"[{\"lastTransitionTime\":\"2026-01-05T10:11:12Z\",\"reason\":\"Up\",\"status\":\"False\","
         "\"type\":\"Re\\u0061dy\"},{\"type\":\"Z\"}]",
         1, CONDITION_FALSE, START_MS, "Up"},
        {"[{\"type\":\"Ready\",\"status\":\"Maybe\"}]", 1, CONDITION_UNKNOWN, 0, NULL},
        {"{}", ERR_INVALID, CONDITION_FALSE, 7, NULL},
        {"[1]", ERR_INVALID, CONDITION_FALSE, 7, NULL},
        {"[{\"type\":1}]", ERR_INVALID, CONDITION_FALSE, 7, NULL},
        {"[{\"type\":\"Ready\",\"lastTransitionTime\":\"soon\"}]", ERR_INVALID, CONDITION_FALSE, 7,
         NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct condition_seen seen = {.status = CONDITION_FALSE, .changed_ms = 7};
        struct jsonpull pull;

        jsonpull_init(&pull, rows[i].json, strlen(rows[i].json));
        if (condition_read(&pull, "Ready", &seen, NULL) != rows[i].found ||
            seen.status != rows[i].status || seen.changed_ms != rows[i].changed_ms)
            fail_msg("%s", rows[i].json);
        assert_int_equal(seen.reason.bytes != NULL, rows[i].reason != NULL);
        if (rows[i].reason)
            assert_true(jsonpull_text_is(&seen.reason, rows[i].reason));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C60_the_same_evaluation_twice_changes_nothing),
        cmocka_unit_test(C60_time_moves_only_when_the_status_flips),
        cmocka_unit_test(entries_of_others_and_unknown_fields_stay),
        cmocka_unit_test(names_are_camel_case_and_bounded),
        cmocka_unit_test(a_long_message_is_cut_between_characters),
        cmocka_unit_test(a_failure_leaves_the_list_as_it_was),
        cmocka_unit_test(the_list_is_bounded),
        cmocka_unit_test(reads_one_type_of_somebody_elses_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
