/* What was read by name is kept for a while, and has a bound. */
#include "controller/documents.h"

#include <stdio.h>

#include "unit.h"

static void take(struct documents *documents, int number, int64_t now_ms) {
    char name[32];

    snprintf(name, sizeof name, "c%d", number);
    documents_take(documents, 1, "configmaps", "retail", name, NULL, now_ms);
}

static enum document_state state_of(struct documents *documents, int number, int64_t now_ms) {
    char name[32];
    bool due;

    snprintf(name, sizeof name, "c%d", number);
    return documents_find(documents, 1, "configmaps", "retail", name, now_ms, &due)->state;
}

static void a_full_set_makes_room_of_what_nobody_reads(void **state) {
    struct documents *documents = documents_new();
    const int64_t later_ms = 1000 + DOCUMENTS_KEPT_MS;

    (void)state;
    for (int i = 0; i < DOCUMENTS_MAX; i++)
        take(documents, i, 1000);
    take(documents, DOCUMENTS_MAX, later_ms - 1);
    assert_int_equal(state_of(documents, DOCUMENTS_MAX, later_ms), DOCUMENT_UNREAD);
    take(documents, 7, later_ms - 1);
    take(documents, DOCUMENTS_MAX, later_ms);
    assert_int_equal(state_of(documents, DOCUMENTS_MAX, later_ms), DOCUMENT_ABSENT);
    assert_int_equal(state_of(documents, 7, later_ms), DOCUMENT_ABSENT);
    assert_int_equal(state_of(documents, 8, later_ms), DOCUMENT_UNREAD);
    documents_free(documents);
}

static void a_document_is_due_after_a_while(void **state) {
    struct documents *documents = documents_new();
    bool due = true;

    (void)state;
    take(documents, 1, 1000);
    documents_find(documents, 1, "configmaps", "retail", "c1", 1000, &due);
    assert_false(due);
    documents_find(documents, 1, "configmaps", "retail", "c1", 1000 + DOCUMENTS_CHILD_MS, &due);
    assert_true(due);
    documents_drop(documents, 1);
    assert_int_equal(state_of(documents, 1, 1000), DOCUMENT_UNREAD);
    documents_free(documents);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_set_makes_room_of_what_nobody_reads),
        cmocka_unit_test(a_document_is_due_after_a_while),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
