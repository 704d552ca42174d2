#include "apiserver/patch.h"

#include "apiserver/fieldset.h"
#include "apiserver/ownership.h"
#include "base/auto.h"
#include "base/str.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Where a path that two managers want is noted. */
struct quarrel {
    struct patch_conflicts *conflicts;
    const char *manager;
};

static int check(const json_t *applied, struct err *err);
static json_t *intent_new(const json_t *applied);
static struct owners owners_before(const json_t *live, const struct schema *schema,
                                   const char *now_rfc3339);
static int settle(struct owners *owners, const struct owner *mine, const struct fieldset *changed,
                  bool force, struct patch_conflicts *conflicts, struct err *err);
static void add_conflict(void *arg, const char *path);
static int refuse(const struct patch_conflicts *conflicts, struct err *err);
static void merge(json_t *target, const json_t *applied, const struct schema *schema, int depth);
static void merge_items(json_t *target, const json_t *applied, const struct schema *schema,
                        int depth);
static bool merges(const json_t *target, const json_t *applied, const struct schema *schema,
                   int depth);
static void prune(json_t *value, const struct schema *schema, const struct fieldset *last,
                  const struct fieldset *owned, int depth);
static void prune_items(json_t *list, const struct schema *schema, const struct fieldset *last,
                        const struct fieldset *owned, int depth);
static struct fieldset owned_by_any(const struct owners *owners);

int patch_apply(const json_t *live, const json_t *applied, const struct schema *schema,
                const char *manager, const char *subresource, bool force, const char *now_rfc3339,
                json_t **ret_object, struct patch_conflicts *conflicts, struct err *err) {
    struct patch_conflicts unseen;
    struct fieldset stated;
    int r = check(applied, err);

    if (r < 0)
        return r;
    conflicts = conflicts ? conflicts : &unseen;
    conflicts->count = 0;
    r = fieldset_of(applied, schema, &stated, err);
    if (r < 0)
        return r;
    json_auto_t *intent = intent_new(applied);
    json_auto_t *nothing = json_object();
    json_auto_t *result = json_deep_copy(live ? live : nothing);
    const char *api_version = json_string_value(json_object_get(applied, "apiVersion"));
    const struct owner key = {.manager = (char *)(uintptr_t)manager,
                              .api_version = (char *)(uintptr_t)(api_version ? api_version : ""),
                              .subresource = (char *)(uintptr_t)subresource,
                              .time = (char *)(uintptr_t)now_rfc3339,
                              .applies = true};
    struct owners owners = owners_before(live, schema, now_rfc3339);
    struct owner *mine = owners_get(&owners, &key);
    struct fieldset none = {0};
    struct fieldset last = fieldset_union(&mine->set, &none);
    struct fieldset changed;
    struct fieldset removed;

    merge(result, intent, schema, 0);
    owner_replace(mine, stated, &key);
    struct fieldset owned = owned_by_any(&owners);

    prune(result, schema, &last, &owned, 0);
    fieldset_compare(live ? live : nothing, result, schema, &changed, &removed);
    r = settle(&owners, mine, &changed, force, conflicts, err);
    if (r == 0) {
        owners_lose(&owners, mine, &removed);
        owners_write(&owners, result);
        *ret_object = take(result);
    }
    fieldset_done(&changed);
    fieldset_done(&removed);
    fieldset_done(&owned);
    fieldset_done(&last);
    owners_done(&owners);
    return r;
}

static int check(const json_t *applied, struct err *err) {
    const json_t *metadata = json_object_get(applied, "metadata");

    if (!json_is_object(applied))
        return err_set(err, ERR_INVALID, "an applied configuration is an object");
    if (metadata && !json_is_object(metadata))
        return err_set(err, ERR_INVALID, "metadata: not an object");
    if (json_array_size(json_object_get(metadata, "managedFields")) > 0)
        return err_set(err, ERR_INVALID, "metadata.managedFields must be nil");
    return 0;
}

/* The applied object without the metadata that is the server's to write. */
static json_t *intent_new(const json_t *applied) {
    static const char *const SERVER_SETS[] = {
        "uid",      "resourceVersion", "generation",        "creationTimestamp",
        "selfLink", "managedFields",   "deletionTimestamp", "deletionGracePeriodSeconds"};
    json_t *intent = json_deep_copy(applied);
    json_t *metadata = json_object_get(intent, "metadata");

    for (size_t i = 0; i < sizeof SERVER_SETS / sizeof *SERVER_SETS; i++)
        json_object_del(metadata, SERVER_SETS[i]);
    return intent;
}

/* The owners of live. An object that nobody owned before the first apply is given one, so that the
 * applier meets conflicts instead of taking everything silently. */
static struct owners owners_before(const json_t *live, const struct schema *schema,
                                   const char *now_rfc3339) {
    const char *api_version = json_string_value(json_object_get(live, "apiVersion"));
    const struct owner key = {.manager = (char *)(uintptr_t) "before-first-apply",
                              .api_version = (char *)(uintptr_t)(api_version ? api_version : ""),
                              .subresource = (char *)(uintptr_t) "",
                              .time = (char *)(uintptr_t)now_rfc3339};
    struct owners owners = owners_read(live);

    if (live && owners.count == 0) {
        json_auto_t *nothing = json_object();
        struct fieldset all;
        struct fieldset removed;

        fieldset_compare(nothing, live, schema, &all, &removed);
        owner_replace(owners_get(&owners, &key), all, &key);
        fieldset_done(&removed);
    }
    return owners;
}

/* Takes what changed from its other owners if force allows it, else notes the conflicts. */
static int settle(struct owners *owners, const struct owner *mine, const struct fieldset *changed,
                  bool force, struct patch_conflicts *conflicts, struct err *err) {
    for (size_t i = 0; i < owners->count && !force; i++) {
        const struct owner *other = &owners->at[i];
        auto_free char *sub = *other->subresource
                                  ? str_printf(" with subresource \"%s\"", other->subresource)
                                  : str_dup("");
        auto_free char *version =
            other->applies ? str_dup("") : str_printf(" using %s", other->api_version);
        const bool plain = !*sub && !*version;
        auto_free char *words = str_printf("%s%.70s%s%s%s", plain ? "" : "\"", other->manager,
                                           plain ? "" : "\"", sub, version);
        struct quarrel quarrel = {conflicts, words};
        struct fieldset both = {0};

        if (other != mine)
            both = fieldset_intersection(&other->set, changed);
        fieldset_each(&both, add_conflict, &quarrel);
        fieldset_done(&both);
    }
    if (conflicts->count)
        return refuse(conflicts, err);
    owners_lose(owners, mine, changed);
    return 0;
}

static void add_conflict(void *arg, const char *path) {
    const struct quarrel *quarrel = arg;
    struct patch_conflicts *conflicts = quarrel->conflicts;

    if (conflicts->count == PATCH_CONFLICTS_MAX)
        return;
    struct patch_conflict *conflict = &conflicts->at[conflicts->count++];

    snprintf(conflict->manager, sizeof conflict->manager, "%s", quarrel->manager);
    snprintf(conflict->field, sizeof conflict->field, "%s", path);
}

static int refuse(const struct patch_conflicts *conflicts, struct err *err) {
    const struct patch_conflict *first = &conflicts->at[0];
    const char *quote = strchr(first->manager, '"') ? "" : "\"";

    return err_set(err, ERR_CONFLICT, "Apply failed with %d conflict%s: conflict with %s%s%s: %s",
                   conflicts->count, conflicts->count == 1 ? "" : "s", quote, first->manager, quote,
                   first->field);
}

/* Merges the granular applied into the granular target of the same type. */
static void merge(json_t *target, const json_t *applied, const struct schema *schema, int depth) {
    const char *key;
    const json_t *value;

    if (json_is_array(target)) {
        merge_items(target, applied, schema, depth);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)applied, key, value) {
        const struct schema *property = schema_property(schema, key);
        json_t *at = json_object_get(target, key);

        if (merges(at, value, property, depth + 1))
            merge(at, value, property, depth + 1);
        else
            json_object_set_new(target, key, json_deep_copy(value));
    }
}

/* Live items keep their places; new ones follow in the order they are applied in. */
static void merge_items(json_t *target, const json_t *applied, const struct schema *schema,
                        int depth) {
    json_auto_t *there = fieldset_index_new(schema, target);
    json_auto_t *wanted = fieldset_index_new(schema, applied);
    const char *step;
    const json_t *item;

    json_object_foreach(wanted, step, item) {
        json_t *at = json_object_get(there, step);

        if (!at)
            json_array_append_new(target, json_deep_copy(item));
        else if (merges(at, item, schema_items(schema), depth + 1))
            merge(at, item, schema_items(schema), depth + 1);
        else if (json_is_object(at)) { /* an atomic map: replaced where it stands */
            json_object_clear(at);
            json_object_update(at, (json_t *)(uintptr_t)item);
        }
    }
}

static bool merges(const json_t *target, const json_t *applied, const struct schema *schema,
                   int depth) {
    return target && json_typeof(target) == json_typeof(applied) &&
           fieldset_is_granular(target, schema, depth) &&
           fieldset_is_granular(applied, schema, depth);
}

/* Removes what the last apply stated and nobody owns now. */
static void prune(json_t *value, const struct schema *schema, const struct fieldset *last,
                  const struct fieldset *owned, int depth) {
    if (!fieldset_is_granular(value, schema, depth))
        return;
    if (json_is_array(value)) {
        prune_items(value, schema, last, owned, depth);
        return;
    }
    for (size_t i = 0; i < last->count; i++) {
        const struct fieldset_step *step = &last->steps[i];
        const char *key = step->name + strlen("f:");
        json_t *child = step->name[0] == 'f' ? json_object_get(value, key) : NULL;
        const struct fieldset *kept = fieldset_below(owned, step->name);
        const bool entry = fieldset_is_entry(schema, key);

        if (!child)
            continue;
        if (step->below.has && !(kept && (kept->has || !entry))) {
            json_object_del(value, key);
            continue;
        }
        const bool was = json_object_size(child) + json_array_size(child) > 0;

        prune(child, schema_property(schema, key), &step->below, kept, depth + 1);
        /* A map that only held what was dropped goes with it, unless somebody wants it empty. */
        if (was && json_object_size(child) + json_array_size(child) == 0 && !(kept && kept->has))
            json_object_del(value, key);
    }
}

static void prune_items(json_t *list, const struct schema *schema, const struct fieldset *last,
                        const struct fieldset *owned, int depth) {
    for (size_t i = json_array_size(list); i-- > 0;) {
        json_t *item = json_array_get(list, i);
        auto_free char *step = fieldset_item_step(schema, item, NULL);
        const struct fieldset *was = step ? fieldset_below(last, step) : NULL;
        const struct fieldset *kept = step ? fieldset_below(owned, step) : NULL;

        if (!was)
            continue;
        if (was->has && !(kept && kept->has))
            json_array_remove(list, i);
        else
            prune(item, schema_items(schema), was, kept, depth + 1);
    }
}

static struct fieldset owned_by_any(const struct owners *owners) {
    struct fieldset all = {0};

    for (size_t i = 0; i < owners->count; i++) {
        struct fieldset more = fieldset_union(&all, &owners->at[i].set);

        fieldset_done(&all);
        all = more;
    }
    return all;
}
