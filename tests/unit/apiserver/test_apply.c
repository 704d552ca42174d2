#include "apiserver/patch.h"

#include "base/random.h"
#include "patchtest.h"

#include <stdio.h>

#define T0 "2026-01-05T10:00:00Z"
#define T1 "2026-01-05T10:00:01Z"
#define T2 "2026-01-05T10:00:02Z"

/* One object and what happens to it. */
struct story {
    struct schema *schema;
    json_t *live;
    const char *now;
    struct patch_conflicts conflicts;
    struct err err;
};

static void story_begin(struct story *story) {
    *story = (struct story){.schema = patchtest_schema(), .now = T0};
}

static void story_end(struct story *story) {
    json_decref(story->live);
    schema_free(story->schema);
}

static json_t *whole(const char *spec) {
    json_t *object = load("{'apiVersion':'x/v1','kind':'X','metadata':{'name':'a'}}");

    json_object_set_new(object, "spec", load(spec));
    return object;
}

static int apply_tree(struct story *story, const char *manager, json_t *applied, bool force) {
    json_t *before = json_deep_copy(story->live);
    json_t *result = NULL;
    const int r = patch_apply(story->live, applied, story->schema, manager, "", force, story->now,
                              &result, &story->conflicts, &story->err);

    assert_true(json_equal(before, story->live) || (!before && !story->live));
    json_decref(before);
    json_decref(applied);
    if (r == 0) {
        json_decref(story->live);
        story->live = result;
    } else {
        assert_null(result);
    }
    return r;
}

static int apply(struct story *story, const char *manager, const char *spec, bool force) {
    return apply_tree(story, manager, whole(spec), force);
}

static void applies(struct story *story, const char *manager, const char *spec) {
    if (apply(story, manager, spec, false) < 0)
        fail_msg("%s applies %s: %s", manager, spec, story->err.msg);
}

/* A replace of the spec by manager, as an update of subresource. */
static void updates_at(struct story *story, const char *manager, const char *subresource,
                       const char *spec) {
    json_t *updated = story->live ? json_deep_copy(story->live) : whole("{}");

    json_object_set_new(updated, "spec", load(spec));
    patch_own(story->live, updated, story->schema, "x/v1", manager, subresource, story->now);
    json_decref(story->live);
    story->live = updated;
}

static void updates(struct story *story, const char *manager, const char *spec) {
    updates_at(story, manager, "", spec);
}

static json_t *entries(const struct story *story) {
    return json_object_get(json_object_get(story->live, "metadata"), "managedFields");
}

static const json_t *entry(const struct story *story, const char *manager, const char *operation) {
    size_t i;
    const json_t *each;

    json_array_foreach(entries(story), i, each) {
        if (strcmp(json_string_value(json_object_get(each, "manager")), manager) == 0 &&
            strcmp(json_string_value(json_object_get(each, "operation")), operation) == 0)
            return each;
    }
    return NULL;
}

/* What manager owns of the spec; "{}" if nothing. */
static void owns_as(const struct story *story, const char *manager, const char *operation,
                    const char *want) {
    const json_t *found = entry(story, manager, operation);
    json_t *spec = json_object_get(json_object_get(found, "fieldsV1"), "f:spec");
    json_t *none = json_object();

    assert_json(manager, spec ? spec : none, want);
    json_decref(none);
}

static void owns(const struct story *story, const char *manager, const char *want) {
    owns_as(story, manager, "Apply", want);
}

static void spec_is(const struct story *story, const char *want) {
    json_t *spec = json_object_get(story->live, "spec");
    json_t *none = json_null();

    assert_json("spec", spec ? spec : none, want);
}

static void time_is(const struct story *story, const char *manager, const char *operation,
                    const char *want) {
    const json_t *found = entry(story, manager, operation);

    assert_non_null(found);
    assert_string_equal(json_string_value(json_object_get(found, "time")), want);
}

static void C53_apply_creates_and_owns(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'replicas':3,'labels':{'x':'1'}}");
    assert_json("object", story.live,
                "{'apiVersion':'x/v1','kind':'X','metadata':{'name':'a','managedFields':["
                "{'manager':'a','operation':'Apply','apiVersion':'x/v1','time':'" T0 "',"
                "'fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:labels':{'f:x':{}},"
                "'f:replicas':{}}}}]},'spec':{'replicas':3,'labels':{'x':'1'}}}");
    story_end(&story);
}

static void C53_two_appliers_share_an_object(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'replicas':3,'labels':{'x':'1'}}");
    applies(&story, "b", "{'image':'i','labels':{'y':'2'}}");
    spec_is(&story, "{'replicas':3,'image':'i','labels':{'x':'1','y':'2'}}");
    applies(&story, "a", "{'labels':{}}");
    spec_is(&story, "{'image':'i','labels':{'y':'2'}}");
    owns(&story, "a", "{'f:labels':{}}");
    owns(&story, "b", "{'f:image':{},'f:labels':{'f:y':{}}}");
    story_end(&story);
}

static void C53_a_changed_value_of_another_is_a_conflict(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'replicas':3,'image':'i'}");
    assert_int_equal(apply(&story, "b", "{'replicas':4,'image':'j'}", false), ERR_CONFLICT);
    assert_int_equal(story.conflicts.count, 2);
    assert_string_equal(story.conflicts.at[0].manager, "a");
    assert_string_equal(story.conflicts.at[0].field, ".spec.image");
    assert_string_equal(story.conflicts.at[1].field, ".spec.replicas");
    assert_int_equal(apply(&story, "b", "{'replicas':4,'image':'i'}", false), ERR_CONFLICT);
    assert_string_equal(story.err.msg,
                        "Apply failed with 1 conflict: conflict with \"a\": .spec.replicas");
    spec_is(&story, "{'replicas':3,'image':'i'}");

    assert_int_equal(apply(&story, "b", "{'replicas':4}", true), 0);
    spec_is(&story, "{'replicas':4,'image':'i'}");
    owns(&story, "a", "{'f:image':{}}");
    owns(&story, "b", "{'f:replicas':{}}");
    assert_int_equal(apply(&story, "a", "{'replicas':3,'image':'i'}", false), ERR_CONFLICT);
    story_end(&story);
}

static void C53_equal_values_are_owned_together(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'replicas':3,'image':'i'}");
    applies(&story, "b", "{'replicas':3}");
    owns(&story, "a", "{'f:image':{},'f:replicas':{}}");
    owns(&story, "b", "{'f:replicas':{}}");
    assert_int_equal(apply(&story, "a", "{'replicas':4,'image':'i'}", false), ERR_CONFLICT);
    applies(&story, "a", "{'image':'i'}");
    spec_is(&story, "{'replicas':3,'image':'i'}"); /* b still wants it */
    applies(&story, "b", "{}");
    spec_is(&story, "{'image':'i'}");
    owns(&story, "b", "{}");
    assert_int_equal(apply(&story, "b", "{'labels':{'x':'1'}}", false), 0);
    applies(&story, "b", "{}");
    spec_is(&story, "{'image':'i'}"); /* the map went with its last entry */
    story_end(&story);
}

static void C53_items_of_a_keyed_list(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'containers':[{'name':'x','image':'1'},{'name':'y','image':'1'}]}");
    applies(&story, "b", "{'containers':[{'name':'z'},{'name':'x','args':['q']}]}");
    spec_is(&story, "{'containers':[{'name':'x','image':'1','args':['q']},"
                    "{'name':'y','image':'1'},{'name':'z'}]}");
    owns(&story, "b",
         "{'f:containers':{'k:{\\'name\\':\\'x\\'}':{'.':{},'f:args':{},'f:name':{}},"
         "'k:{\\'name\\':\\'z\\'}':{'.':{},'f:name':{}}}}");
    applies(&story, "a", "{'containers':[{'name':'w','image':'2'}]}");
    spec_is(&story, "{'containers':[{'name':'x','args':['q']},{'name':'z'},"
                    "{'name':'w','image':'2'}]}");
    assert_int_equal(apply(&story, "b", "{'containers':[{'name':'w','image':'3'}]}", false),
                     ERR_CONFLICT);
    assert_string_equal(story.conflicts.at[0].field, ".spec.containers[name=\"w\"].image");
    applies(&story, "a", "{}");
    applies(&story, "b", "{}");
    spec_is(&story, "{}");
    story_end(&story);
}

static void C53_a_key_left_out_has_its_default(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    updates(&story, "u", "{'ports':[{'port':80,'protocol':'TCP'},{'port':80,'protocol':'UDP'}]}");
    applies(&story, "a", "{'ports':[{'port':80,'name':'web'}]}");
    spec_is(&story, "{'ports':[{'port':80,'protocol':'TCP','name':'web'},"
                    "{'port':80,'protocol':'UDP'}]}");
    applies(&story, "a", "{'ports':[{'port':81},{'port':80,'name':'web'}]}");
    spec_is(&story, "{'ports':[{'port':80,'protocol':'TCP','name':'web'},"
                    "{'port':80,'protocol':'UDP'},{'port':81}]}");
    applies(&story, "a", "{}");
    spec_is(&story, "{'ports':[{'port':80,'protocol':'TCP'},{'port':80,'protocol':'UDP'}]}");
    story_end(&story);
}

static void C53_sets_and_what_is_atomic(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'tags':['x','y'],'selector':{'x':'1'},'args':['1']}");
    applies(&story, "b", "{'tags':['z','y']}");
    spec_is(&story, "{'tags':['x','y','z'],'selector':{'x':'1'},'args':['1']}");
    assert_int_equal(apply(&story, "b", "{'selector':{'y':'1'}}", false), ERR_CONFLICT);
    assert_string_equal(story.conflicts.at[0].field, ".spec.selector");
    assert_int_equal(apply(&story, "b", "{'tags':['y','z'],'args':['1','2']}", false),
                     ERR_CONFLICT);
    applies(&story, "a", "{'selector':{'y':'2'},'args':['2']}");
    spec_is(&story, "{'tags':['y','z'],'selector':{'y':'2'},'args':['2']}");
    story_end(&story);
}

static void C53_an_item_goes_with_its_owner_whatever_was_set_inside(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'containers':[{'name':'x','image':'1'},{'name':'y'}]}");
    updates(&story, "u", "{'containers':[{'name':'x','image':'2'},{'name':'y'}]}");
    owns_as(&story, "u", "Update", "{'f:containers':{'k:{\\'name\\':\\'x\\'}':{'f:image':{}}}}");
    applies(&story, "a", "{'containers':[{'name':'y'}]}");
    spec_is(&story, "{'containers':[{'name':'y'}]}");
    assert_null(entry(&story, "u", "Update"));
    story_end(&story);
}

static void C53_an_entry_of_a_map_goes_as_an_item_does(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'pools':{'x':{'size':1},'y':{'size':1}}}");
    owns(&story, "a", "{'f:pools':{'f:x':{'.':{},'f:size':{}},'f:y':{'.':{},'f:size':{}}}}");
    applies(&story, "b", "{'pools':{'y':{'size':1}}}");
    updates(&story, "u", "{'pools':{'x':{'size':2},'y':{'size':2}}}");
    applies(&story, "a", "{}");
    spec_is(&story, "{'pools':{'y':{'size':2}}}");
    owns_as(&story, "u", "Update", "{'f:pools':{'f:y':{'f:size':{}}}}");
    story_end(&story);
}

static void one_name_is_another_owner_at_each_subresource(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    updates(&story, "u", "{'replicas':1}");
    updates_at(&story, "u", "scale", "{'replicas':2}");
    assert_int_equal(json_array_size(entries(&story)), 2);
    assert_json("scale", json_object_get(json_array_get(entries(&story), 1), "fieldsV1"),
                "{'f:spec':{'f:replicas':{}}}");
    story_end(&story);
}

static void C53_an_update_takes_what_it_changes(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    updates(&story, "u", "{'replicas':1,'image':'i'}");
    owns_as(&story, "u", "Update", "{'.':{},'f:image':{},'f:replicas':{}}");
    story.now = T1;
    applies(&story, "a", "{'replicas':1,'image':'i'}");
    assert_int_equal(apply(&story, "a", "{'replicas':2,'image':'i'}", false), ERR_CONFLICT);
    assert_string_equal(
        story.err.msg,
        "Apply failed with 1 conflict: conflict with \"u\" using x/v1: .spec.replicas");
    assert_int_equal(apply(&story, "a", "{'replicas':2,'image':'i'}", true), 0);
    owns_as(&story, "u", "Update", "{'.':{},'f:image':{}}");
    story.now = T2;
    updates(&story, "u", "{'replicas':2,'image':'j'}");
    owns(&story, "a", "{'f:replicas':{}}");
    time_is(&story, "a", "Apply", T1);
    time_is(&story, "u", "Update", T0); /* it owned just that before */
    updates(&story, "v", "{'image':'j'}");
    owns(&story, "a", "{}");
    assert_null(entry(&story, "v", "Update")); /* it only took away */
    story_end(&story);
}

/* An autoscaler took replicas over by /scale; the applier hands the field over first. */
static void C53_replicas_left_out_stay_the_autoscalers(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "app", "{'replicas':3,'image':'i'}");
    updates_at(&story, "hpa", "scale", "{'replicas':9,'image':'i'}");
    assert_string_equal(
        json_string_value(json_object_get(entry(&story, "hpa", "Update"), "subresource")), "scale");
    owns(&story, "app", "{'f:image':{}}");
    assert_int_equal(apply(&story, "app", "{'replicas':3,'image':'i'}", false), ERR_CONFLICT);
    assert_string_equal(story.conflicts.at[0].manager,
                        "\"hpa\" with subresource \"scale\" using x/v1");
    applies(&story, "app", "{'image':'j'}");
    spec_is(&story, "{'replicas':9,'image':'j'}");
    assert_int_equal(apply(&story, "app", "{'replicas':3}", true), 0);
    spec_is(&story, "{'replicas':3}");
    assert_null(entry(&story, "hpa", "Update"));
    story_end(&story);
}

static void a_second_apply_changes_nothing(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'replicas':3,'containers':[{'name':'x'}]}");
    json_t *before = json_incref(story.live);

    story.now = T2;
    applies(&story, "a", "{'replicas':3,'containers':[{'name':'x'}]}");
    assert_true(json_equal(before, story.live));
    applies(&story, "a", "{'replicas':4,'containers':[{'name':'x'}]}");
    time_is(&story, "a", "Apply", T0);
    applies(&story, "a", "{'replicas':4}");
    time_is(&story, "a", "Apply", T2);
    json_decref(before);
    story_end(&story);
}

static void what_the_server_sets_is_never_owned_or_applied(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    story.live = load("{'apiVersion':'x/v1','kind':'X','metadata':{'name':'a','uid':'u',"
                      "'resourceVersion':'7','generation':2,'creationTimestamp':'t'}}");
    patch_own(NULL, story.live, story.schema, "x/v1", "u", "", T0);
    assert_null(entries(&story));
    assert_int_equal(
        apply_tree(&story, "a",
                   load("{'apiVersion':'x/v1','kind':'X','metadata':{'name':'a','uid':'v',"
                        "'resourceVersion':'6','labels':{'l':'1'},'finalizers':['f']}}"),
                   false),
        0);
    json_t *metadata = json_object_get(story.live, "metadata");

    assert_json("fields", json_object_get(entry(&story, "a", "Apply"), "fieldsV1"),
                "{'f:metadata':{'f:finalizers':{'v:\\'f\\'':{}},'f:labels':{'f:l':{}}}}");
    json_object_del(metadata, "managedFields");
    assert_json("metadata", metadata,
                "{'name':'a','uid':'u','resourceVersion':'7','generation':2,"
                "'creationTimestamp':'t','labels':{'l':'1'},'finalizers':['f']}");
    assert_int_equal(
        apply_tree(&story, "a", load("{'metadata':{'managedFields':[{'manager':'x'}]}}"), false),
        ERR_INVALID);
    assert_int_equal(apply_tree(&story, "a", load("{'metadata':[]}"), false), ERR_INVALID);
    assert_int_equal(apply_tree(&story, "a", load("[]"), false), ERR_INVALID);
    assert_int_equal(apply(&story, "a", "{'tags':['a','a']}", false), ERR_INVALID);
    story_end(&story);
}

static void the_table_can_be_reset_and_not_forged(void **state) {
    struct story story;
    json_t *updated;

    (void)state;
    story_begin(&story);
    applies(&story, "a", "{'replicas':3}");
    updated = json_deep_copy(story.live);
    json_object_set_new(json_object_get(updated, "metadata"), "managedFields",
                        load("[{'manager':'evil','operation':'Apply','fieldsV1':{'f:spec':{}}}]"));
    patch_own(story.live, updated, story.schema, "x/v1", "u", "", T1);
    assert_true(json_equal(updated, story.live));
    json_object_set_new(json_object_get(updated, "metadata"), "managedFields", load("[]"));
    patch_own(story.live, updated, story.schema, "x/v1", "u", "", T1);
    assert_true(json_equal(updated, story.live));
    json_object_set_new(json_object_get(updated, "metadata"), "managedFields", load("[{}]"));
    patch_own(story.live, updated, story.schema, "x/v1", "u", "", T1);
    json_decref(story.live);
    story.live = updated;
    assert_null(entries(&story));

    assert_int_equal(apply(&story, "a", "{'replicas':4}", false), ERR_CONFLICT);
    assert_string_equal(story.conflicts.at[0].manager, "\"before-first-apply\" using x/v1");
    applies(&story, "a", "{'replicas':3}");
    owns_as(&story, "before-first-apply", "Update", "{'.':{},'f:replicas':{}}");
    story_end(&story);
}

static void entries_are_sorted_and_old_updaters_become_one(void **state) {
    struct story story;
    size_t i;
    const json_t *each;

    (void)state;
    story_begin(&story);
    applies(&story, "z", "{'image':'i'}");
    applies(&story, "a", "{'image':'i'}");
    for (int n = 0; n < 14; n++) {
        char manager[16];
        char now[32];
        char spec[600];
        size_t end = (size_t)snprintf(spec, sizeof spec, "{'image':'i','labels':{");

        for (int k = 0; k <= n; k++)
            end += (size_t)snprintf(spec + end, sizeof spec - end, "%s'l%d':''", k ? "," : "", k);
        snprintf(spec + end, sizeof spec - end, "}}");
        snprintf(manager, sizeof manager, "u%02d", 20 - n);
        snprintf(now, sizeof now, "2026-01-05T10:00:%02dZ", 10 + n);
        story.now = now;
        updates(&story, manager, spec);
        json_array_foreach(entries(&story), i, each) {
            const json_t *before = i ? json_array_get(entries(&story), i - 1) : NULL;

            if (before && i != 2)
                assert_true(strcmp(json_string_value(json_object_get(before, "time")),
                                   json_string_value(json_object_get(each, "time"))) <= 0);
        }
        assert_int_equal(json_array_size(entries(&story)), 2 + (n < 10 ? n + 1 : 10));
    }
    assert_json("first", json_object_get(json_array_get(entries(&story), 0), "manager"), "'a'");
    assert_json("second", json_object_get(json_array_get(entries(&story), 1), "manager"), "'z'");
    time_is(&story, "ancient-changes", "Update", "2026-01-05T10:00:14Z");
    owns_as(&story, "ancient-changes", "Update",
            "{'f:labels':{'.':{},'f:l0':{},'f:l1':{},'f:l2':{},'f:l3':{},'f:l4':{}}}");
    owns_as(&story, "u15", "Update", "{'f:labels':{'f:l5':{}}}");
    story_end(&story);
}

static void without_a_schema_lists_are_one_field(void **state) {
    struct story story;

    (void)state;
    story_begin(&story);
    schema_free(story.schema);
    story.schema = NULL;
    applies(&story, "a", "{'tags':['x'],'labels':{'x':'1'}}");
    owns(&story, "a", "{'f:labels':{'f:x':{}},'f:tags':{}}");
    applies(&story, "b", "{'labels':{'y':'1'}}");
    assert_int_equal(apply(&story, "b", "{'tags':['y']}", false), ERR_CONFLICT);
    applies(&story, "a", "{}");
    spec_is(&story, "{'labels':{'y':'1'}}");
    story_end(&story);
}

static void the_conflicts_kept_are_bounded(void **state) {
    struct story story;
    json_t *labels = json_object();

    (void)state;
    story_begin(&story);
    for (int round = 0; round < 2; round++) {
        json_t *applied = whole("{}");

        for (int i = 0; i < 100; i++) {
            char key[16];

            snprintf(key, sizeof key, "k%d", i);
            json_object_set_new(labels, key, json_string(round ? "b" : "a"));
        }
        json_object_set_new(json_object_get(applied, "spec"), "labels", json_deep_copy(labels));
        assert_int_equal(apply_tree(&story, round ? "b" : "a", applied, false),
                         round ? ERR_CONFLICT : 0);
    }
    assert_int_equal(story.conflicts.count, PATCH_CONFLICTS_MAX);
    json_decref(labels);
    story_end(&story);
}

static json_t *random_spec(struct random *rng) {
    json_t *spec = json_object();
    json_t *list = json_array();
    json_t *tags = json_array();
    json_t *labels = json_object();

    if (random_below(rng, 2))
        json_object_set_new(spec, "replicas", json_integer((int)random_below(rng, 2)));
    if (random_below(rng, 3) == 0)
        json_object_set_new(spec, "args", json_pack("[i]", (int)random_below(rng, 2)));
    for (int i = 0; i < 4; i++) {
        const char name[] = {(char)('a' + (i + random_below(rng, 4)) % 4), '\0'};

        if (random_below(rng, 3) == 0)
            json_object_set_new(labels, name, json_string(random_below(rng, 2) ? "1" : "2"));
        if (random_below(rng, 3) == 0 && !json_object_get(spec, name)) {
            json_object_set_new(spec, name, json_true());
            json_array_append_new(tags, json_string(name));
            json_array_append_new(list, json_pack("{ss}", "name", name));
            if (random_below(rng, 2))
                json_object_set_new(json_array_get(list, json_array_size(list) - 1), "image",
                                    json_string(random_below(rng, 2) ? "1" : "2"));
        }
    }
    for (char name[] = "a"; name[0] <= 'd'; name[0]++)
        json_object_del(spec, name);
    json_object_set_new(spec, "containers", list);
    json_object_set_new(spec, "tags", tags);
    json_object_set_new(spec, "labels", labels);
    return spec;
}

/* Whether everything that small says is so in large: maps by key, lists by name or value. */
static bool holds(const json_t *large, const json_t *small) {
    const char *key;
    const json_t *value;
    size_t i;
    size_t k;

    json_object_foreach((json_t *)(uintptr_t)small, key, value) {
        const json_t *at = json_object_get(large, key);

        if (!at && (json_object_size(value) + json_array_size(value) > 0 || !json_is_array(value)))
            return false;
        if (at && strcmp(key, "args") == 0 && !json_equal(at, value))
            return false;
        if (at && strcmp(key, "args") != 0 && !holds(at, value))
            return false;
    }
    if (json_is_array(small)) {
        json_array_foreach(small, i, value) {
            bool found = false;

            for (k = 0; k < json_array_size(large); k++)
                found = found || holds(json_array_get(large, k), value);
            if (!found)
                return false;
        }
        return true;
    }
    return json_is_object(small) ? json_is_object(large) : json_equal(large, small);
}

/* Three appliers in a random order: who was not overruled by force always finds the object as it
 * wants it, a second apply changes nothing, and once all have withdrawn nothing is left. */
static void C53_no_applier_loses_what_it_owns(void **state) {
    static const char *const NAMES[] = {"a", "b", "c"};
    struct random rng = {.state = 53};
    int refused = 0;

    (void)state;
    for (int round = 0; round < 200; round++) {
        json_t *wants[3] = {0};
        struct story story;

        story_begin(&story);
        for (int step = 0; step < 20; step++) {
            const size_t who = (size_t)random_below(&rng, 3);
            const bool force = random_below(&rng, 8) == 0;
            json_t *applied = whole("{}");
            json_t *spec = random_spec(&rng);

            json_object_set(applied, "spec", spec);
            json_incref(applied);
            if (apply_tree(&story, NAMES[who], applied, force) < 0) {
                refused++;
                json_decref(spec);
                json_decref(applied);
                continue;
            }
            json_decref(wants[who]);
            wants[who] = spec;
            for (size_t i = 0; i < 3 && force; i++) {
                if (i != who) { /* may have lost fields: it says so no more */
                    json_decref(wants[i]);
                    wants[i] = NULL;
                }
            }
            for (size_t i = 0; i < 3; i++)
                if (wants[i] && !holds(json_object_get(story.live, "spec"), wants[i]))
                    fail_msg("round %d step %d: %s lost %s in %s", round, step, NAMES[i],
                             json_dumps(wants[i], 0), json_dumps(story.live, 0));
            json_t *before = json_incref(story.live);

            story.now = T2;
            assert_int_equal(apply_tree(&story, NAMES[who], applied, false), 0);
            assert_true(json_equal(before, story.live));
            json_decref(before);
        }
        for (size_t i = 0; i < 3; i++) {
            applies(&story, NAMES[i], "{}");
            json_decref(wants[i]);
        }
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(
                apply_tree(&story, NAMES[i], load("{'apiVersion':'x/v1','kind':'X'}"), false), 0);
        assert_json("nothing left", story.live,
                    "{'apiVersion':'x/v1','kind':'X','metadata':{'name':'a'}}");
        story_end(&story);
    }
    assert_in_range(refused, 200, 3800);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C53_apply_creates_and_owns),
        cmocka_unit_test(C53_two_appliers_share_an_object),
        cmocka_unit_test(C53_a_changed_value_of_another_is_a_conflict),
        cmocka_unit_test(C53_equal_values_are_owned_together),
        cmocka_unit_test(C53_items_of_a_keyed_list),
        cmocka_unit_test(C53_a_key_left_out_has_its_default),
        cmocka_unit_test(C53_sets_and_what_is_atomic),
        cmocka_unit_test(C53_an_item_goes_with_its_owner_whatever_was_set_inside),
        cmocka_unit_test(C53_an_entry_of_a_map_goes_as_an_item_does),
        cmocka_unit_test(one_name_is_another_owner_at_each_subresource),
        cmocka_unit_test(C53_an_update_takes_what_it_changes),
        cmocka_unit_test(C53_replicas_left_out_stay_the_autoscalers),
        cmocka_unit_test(a_second_apply_changes_nothing),
        cmocka_unit_test(what_the_server_sets_is_never_owned_or_applied),
        cmocka_unit_test(the_table_can_be_reset_and_not_forged),
        cmocka_unit_test(entries_are_sorted_and_old_updaters_become_one),
        cmocka_unit_test(without_a_schema_lists_are_one_field),
        cmocka_unit_test(the_conflicts_kept_are_bounded),
        cmocka_unit_test(C53_no_applier_loses_what_it_owns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
