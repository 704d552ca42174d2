#include "apiserver/view.h"

#include "apiserver/event.h"
#include "base/auto.h"

#include <stdbool.h>
#include <string.h>

static bool is_new_event(const struct kind *kind);
static bool range_fits(const char *range, size_t len, enum view_form *ret_form);
static bool names(const char *range, size_t len, const char *word);
static json_t *form_new(const struct view *view, json_t *tree);
static int dump_chunk(const char *bytes, size_t size_bytes, void *arg);

int view_form_of(const char *accept, enum view_form *ret_form) {
    if (!accept || *accept == '\0') {
        *ret_form = VIEW_PLAIN;
        return 0;
    }
    for (const char *range = accept; *range != '\0';) {
        const size_t len = strcspn(range, ",");

        if (range_fits(range, len, ret_form))
            return 0;
        range += len;
        range += *range == ',';
    }
    return ERR_INVALID;
}

void view_storage(const struct kind *kind, const char **ret_group, const char **ret_resource) {
    *ret_group = is_new_event(kind) ? "" : kind->group;
    *ret_resource = kind->resource;
}

char *view_api_version(const struct kind *kind) {
    return *kind->group != '\0' ? str_printf("%s/%s", kind->group, kind->version)
                                : str_dup(kind->version);
}

json_t *view_object_new(const struct kind *kind, const json_t *stored) {
    auto_free char *api_version = view_api_version(kind);
    const char *now = json_string_value(json_object_get(stored, "apiVersion"));

    if (now && strcmp(now, api_version) == 0)
        return json_incref((json_t *)stored);
    if (is_new_event(kind))
        return event_new_form(stored);
    json_t *copy = json_copy((json_t *)stored);

    json_object_set_new(copy, "apiVersion", json_string(api_version));
    return copy;
}

json_t *view_stored_new(const struct kind *kind, json_t *object) {
    if (!is_new_event(kind))
        return object;
    json_t *core = event_core_form(object);

    json_decref(object);
    return core;
}

int view_add(const struct view *view, const struct object *object, struct str *text,
             struct err *err) {
    if (view->form == VIEW_PLAIN) {
        auto_free char *api_version = view_api_version(view->kind);

        if (strcmp(object->api_version, api_version) == 0)
            return str_add(text, object->json, object->json_bytes, err);
    }
    json_auto_t *tree = view_object_new(view->kind, object->tree);

    return view_add_tree(view, tree, text, err);
}

int view_add_tree(const struct view *view, json_t *tree, struct str *text, struct err *err) {
    json_auto_t *shown = form_new(view, tree);

    if (json_dump_callback(shown, dump_chunk, text, JSON_COMPACT) != 0)
        return err_set(err, ERR_INVALID, "the answer is larger than %zu bytes", text->limit_bytes);
    return 0;
}

static bool is_new_event(const struct kind *kind) {
    return strcmp(kind->group, "events.k8s.io") == 0 && strcmp(kind->resource, "events") == 0;
}

/* Whether we can answer one media range of an Accept header, and in which form. */
static bool range_fits(const char *range, size_t len, enum view_form *ret_form) {
    while (len > 0 && *range == ' ') {
        range++;
        len--;
    }
    if (!names(range, len, "application/json") && !names(range, len, "*/*") &&
        !names(range, len, "application/*"))
        return false;
    if (memmem(range, len, "as=", 3) == NULL) {
        *ret_form = VIEW_PLAIN;
        return true;
    }
    if (memmem(range, len, "v=v1", 4) == NULL || memmem(range, len, "v=v1beta1", 9) != NULL)
        return false;
    *ret_form = memmem(range, len, "as=Table", 8) != NULL ? VIEW_TABLE : VIEW_METADATA;
    return *ret_form == VIEW_TABLE || memmem(range, len, "as=PartialObjectMetadata", 24) != NULL;
}

static bool names(const char *range, size_t len, const char *word) {
    const size_t size = strlen(word);

    return len >= size && memcmp(range, word, size) == 0 &&
           (len == size || range[size] == ';' || range[size] == ' ');
}

static json_t *form_new(const struct view *view, json_t *tree) {
    if (view->form == VIEW_TABLE) {
        json_auto_t *rows = json_pack("[O]", tree);
        const char *rv = json_string_value(
            json_object_get(json_object_get(tree, "metadata"), "resourceVersion"));

        return kind_table_new(view->kind, rows, rv, NULL, view->include_object, view->wall_ms);
    }
    if (view->form == VIEW_METADATA)
        return json_pack("{s:s, s:s, s:O}", "kind", "PartialObjectMetadata", "apiVersion",
                         "meta.k8s.io/v1", "metadata", json_object_get(tree, "metadata"));
    return json_incref(tree);
}

static int dump_chunk(const char *bytes, size_t size_bytes, void *arg) {
    return str_add(arg, bytes, size_bytes, NULL) < 0 ? -1 : 0;
}
