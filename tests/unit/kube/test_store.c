#include "kube/store.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

static int freed;
static char told[200];

static void free_object(void *object) {
    (void)object;
    freed++;
}

static void tell(void *context, enum store_change change, const struct store_item *item) {
    const size_t len = strlen(told);

    (void)context;
    snprintf(told + len, sizeof told - len, "%c%s:%s ", "AUD"[change], item -> key, item -> uid);
}

static int put(struct store *store, const char *key, const char *uid, const char *rv) {
    static int object;
    const struct store_item item = {key, uid, rv, &object};

    return store_put(store, &item, NULL);
}

static void C29_full_store_refuses_and_stays(void **state) {
    struct store *store = store_new(1, free_object);

    (void)state;
    freed = 0;
    assert_int_equal(put(store, "a/x", "1", "1"), 0);
    assert_int_equal(put(store, "a/y", "2", "2"), ERR_RETRY);
    assert_int_equal(put(store, "a/x", "1", "3"), 0);
    assert_string_equal(store_get(store, "a/x")->rv, "3");
    assert_null(store_get(store, "a/y"));
    assert_int_equal(store_count(store), 1);
    assert_int_equal(store_remove(store, "a/x"), 1);
    assert_int_equal(store_remove(store, "a/x"), 0);
    assert_int_equal(freed, 1);
    store_free(store);
    store_free(NULL);
    assert_int_equal(store_count(NULL), 0);
}

static void C37_new_uid_is_delete_then_add(void **state) {
    struct store *before = store_new(9, free_object), *after = store_new(9, free_object);

    (void)state;
    freed = 0;
    told[0] = '\0';
    put(before, "n/gone", "1", "1");
    put(before, "n/same", "2", "1");
    put(before, "n/moved", "3", "1");
    put(before, "n/again", "4", "1");
    put(after, "n/same", "2", "1");
    put(after, "n/moved", "3", "2");
    put(after, "n/again", "5", "2");
    put(after, "n/new", "6", "2");
    const void *kept = store_get(before, "n/same")->object;

    store_diff(before, after, tell, NULL);
    assert_string_equal(told, "Dn/gone:1 Un/moved:3 Dn/again:4 An/again:5 An/new:6 ");
    assert_int_equal(store_vanished(before, after), 2);
    assert_ptr_equal(store_get(after, "n/same")->object, kept);
    store_free(before);
    store_free(after);
    assert_int_equal(freed, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C29_full_store_refuses_and_stays),
        cmocka_unit_test(C37_new_uid_is_delete_then_add),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
