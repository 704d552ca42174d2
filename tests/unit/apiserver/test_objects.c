#include "apiserver/objects.h"

#include "base/random.h"
#include "base/str.h"
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>

struct told {
    int count;
    enum change_type last;
    uint64_t rv;
};

static void note(void *arg, const struct change *change) {
    struct told *told = arg;

    told->count++;
    told->last = change->type;
    told->rv = change->rv;
}

static json_t *object_of(const char *ns, const char *name, int value) {
    return json_pack("{s:s, s:{s:s*, s:s}, s:i}", "apiVersion", "v1", "metadata", "namespace", ns,
                     "name", name, "value", value);
}

static void every_change_has_a_number_and_is_told(void **state) {
    struct told told = {0};
    struct objects *objects = objects_new(10, 10, note, &told);
    struct object_set *set = objects_set(objects, "", "configmaps");
    struct object *object = NULL;

    (void)state;
    assert_ptr_equal(set, objects_set(objects, "", "configmaps"));
    assert_ptr_not_equal(set, objects_set(objects, "x", "configmaps"));
    assert_int_equal(objects_put(objects, set, object_of("a", "b", 1), &object, NULL), 0);
    assert_int_equal(object->rv, objects_rv(objects));
    assert_string_equal(object->json, "{\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"a\","
                                      "\"name\":\"b\",\"resourceVersion\":\"2\"},\"value\":1}");
    object_unref(object);
    assert_int_equal(told.last, CHANGE_ADDED);
    assert_int_equal(objects_put(objects, set, object_of("a", "b", 2), NULL, NULL), 0);
    assert_int_equal(told.last, CHANGE_MODIFIED);
    object = objects_remove(objects, set, "a", "b");
    assert_int_equal(told.last, CHANGE_DELETED);
    assert_int_equal(told.count, 3);
    assert_int_equal(told.rv, 4);
    assert_non_null(strstr(object->json, "\"resourceVersion\":\"4\""));
    object_unref(object);
    assert_null(objects_remove(objects, set, "a", "b"));
    assert_null(object_set_get(set, "a", "b"));
    objects_free(objects);
}

static void limits_of_count_size_and_name(void **state) {
    struct objects *objects = objects_new(2, 10, NULL, NULL);
    struct object_set *set = objects_set(objects, "", "configmaps");
    char *big = str_alloc(1, OBJECT_MAX_BYTES + 2);

    (void)state;
    memset(big, 'x', OBJECT_MAX_BYTES + 1);
    assert_int_equal(objects_put(objects, set, object_of("a", "1", 1), NULL, NULL), 0);
    assert_int_equal(objects_put(objects, set, object_of("a", "2", 1), NULL, NULL), 0);
    assert_int_equal(objects_put(objects, set, object_of("a", "3", 1), NULL, NULL), ERR_RETRY);
    assert_int_equal(objects_put(objects, set, object_of("a", "2", 2), NULL, NULL), 0);
    assert_int_equal(objects_put(objects, set, json_pack("{}"), NULL, NULL), ERR_INVALID);
    assert_int_equal(objects_put(objects, set,
                                 json_pack("{s:{s:s}, s:s}", "metadata", "name", "2", "x", big),
                                 NULL, NULL),
                     ERR_INVALID);
    assert_int_equal(objects_count(objects), 2);
    free(big);
    objects_free(objects);
}

static void a_namespace_is_one_range(void **state) {
    struct objects *objects = objects_new(100, 10, NULL, NULL);
    struct object_set *set = objects_set(objects, "", "configmaps");
    const char *const spaces[] = {"b", "a-b", "a", "c", "aa"};
    size_t first, end;

    (void)state;
    for (int i = 0; i < 25; i++) {
        char name[16];

        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(objects_put(objects, set, object_of(spaces[i % 5], name, i), NULL, NULL),
                         0);
    }
    for (int i = 0; i < 5; i++) {
        object_set_range(set, spaces[i], &first, &end);
        assert_int_equal(end - first, 5);
        for (size_t k = first; k < end; k++)
            assert_string_equal(set->at[k]->ns, spaces[i]);
    }
    object_set_range(set, "none", &first, &end);
    assert_int_equal(end - first, 0);
    object_set_range(set, "", &first, &end);
    assert_int_equal(end - first, 25);
    assert_int_equal(object_set_after(set, "", ""), 0);
    assert_int_equal(object_set_after(set, set->at[7]->ns, set->at[7]->name), 8);
    assert_int_equal(object_set_after(set, "zz", "z"), 25);
    objects_free(objects);
}

static char *text_of(struct object *const *list, size_t count) {
    struct str text;

    str_init(&text, 1 << 20);
    for (size_t i = 0; i < count; i++)
        str_addf(&text, NULL, "%s\n", list[i]->json);
    return text.data ? text.data : str_dup("");
}

/* Random changes: the set as of any number in the history is what it was then. */
static void any_kept_version_can_be_read_again(void **state) {
    enum { CHANGES = 600, HISTORY = 100 };
    struct random rng = {7};
    struct objects *objects = objects_new(1000, HISTORY, NULL, NULL);
    struct object_set *set = objects_set(objects, "", "configmaps");
    struct object_set *other = objects_set(objects, "", "secrets");
    char *then[CHANGES + 2] = {NULL};
    uint64_t first_rv = objects_rv(objects);

    (void)state;
    for (int i = 0; i < CHANGES; i++) {
        char name[16];

        snprintf(name, sizeof name, "n%d", (int)random_below(&rng, 12));
        struct object_set *to = random_below(&rng, 4) ? set : other;

        if (random_below(&rng, 3) || !object_set_get(to, "a", name))
            assert_int_equal(objects_put(objects, to, object_of("a", name, i), NULL, NULL), 0);
        else
            object_unref(objects_remove(objects, to, "a", name));
        then[objects_rv(objects) - first_rv] = text_of(set->at, set->count);
    }
    assert_int_equal(objects_rv(objects) - first_rv, CHANGES);
    for (uint64_t rv = first_rv + 1; rv <= objects_rv(objects); rv++) {
        struct object **list = NULL;
        size_t count = 0;
        const int r = objects_as_of(objects, set, rv, &list, &count, NULL);

        assert_int_equal(r, rv < objects_oldest_rv(objects) ? ERR_NOTFOUND : 0);
        if (r == 0) {
            char *text = text_of(list, count);

            assert_string_equal(text, then[rv - first_rv]);
            free(text);
            const struct change *next = objects_change_after(objects, rv);

            assert_int_equal(next ? next->rv : objects_rv(objects) + 1, rv + 1);
        }
        object_list_free(list, count);
    }
    assert_int_equal(objects_rv(objects) - objects_oldest_rv(objects), HISTORY);
    objects_compact(objects);
    assert_int_equal(objects_oldest_rv(objects), objects_rv(objects));
    for (size_t i = 0; i < CHANGES + 2; i++)
        free(then[i]);
    objects_free(objects);
}

/* Large states leave the history early: it is bounded in bytes as well as in changes. */
static void the_history_is_bounded_in_bytes(void **state) {
    enum { SIZE = 1 << 20, WRITES = 140 };
    struct objects *objects = objects_new(10, 1000, NULL, NULL);
    struct object_set *set = objects_set(objects, "", "configmaps");
    char *big = str_alloc(1, SIZE + 1);

    (void)state;
    memset(big, 'x', SIZE);
    for (int i = 0; i < WRITES; i++)
        assert_int_equal(
            objects_put(objects, set,
                        json_pack("{s:{s:s}, s:s, s:i}", "metadata", "name", "a", "x", big, "i", i),
                        NULL, NULL),
            0);
    const uint64_t kept = objects_rv(objects) - objects_oldest_rv(objects);

    assert_in_range(kept, OBJECTS_HISTORY_MAX_BYTES / SIZE - 2,
                    OBJECTS_HISTORY_MAX_BYTES / SIZE + 2);
    free(big);
    objects_free(objects);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_has_a_number_and_is_told),
        cmocka_unit_test(limits_of_count_size_and_name),
        cmocka_unit_test(a_namespace_is_one_range),
        cmocka_unit_test(any_kept_version_can_be_read_again),
        cmocka_unit_test(the_history_is_bounded_in_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
