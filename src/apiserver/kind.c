#include "apiserver/kind.h"

#include "apiserver/builtin.h"
#include "apiserver/kind_registry.h"
#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct kinds *kinds_new(void) {
    struct kinds *kinds = str_alloc(1, sizeof(*kinds));

    for (int i = 0; builtin_at(i); i++)
        kinds_add(kinds, builtin_kind_new(builtin_at(i)));
    return kinds;
}

void kinds_free(struct kinds *kinds) {
    if (!kinds)
        return;
    for (int i = 0; i < kinds->count; i++)
        kind_free(kinds->at[i]);
    for (int i = 0; i < kinds->retired_count; i++)
        kind_free(kinds->retired[i]);
    free(kinds->at);
    free(kinds->retired);
    free(kinds);
}

const struct kind *kinds_find(const struct kinds *kinds, const char *group, const char *version,
                              const char *resource) {
    for (int i = 0; i < kinds->count; i++) {
        const struct kind *kind = kinds->at[i];

        if (strcmp(kind->resource, resource) == 0 && strcmp(kind->group, group) == 0 &&
            strcmp(kind->version, version) == 0)
            return kind;
    }
    return NULL;
}

const struct kind *kinds_by_name(const struct kinds *kinds, const char *group, const char *version,
                                 const char *name) {
    for (int i = 0; i < kinds->count; i++) {
        const struct kind *kind = kinds->at[i];

        if (strcmp(kind->name, name) == 0 && strcmp(kind->group, group) == 0 &&
            strcmp(kind->version, version) == 0)
            return kind;
    }
    return NULL;
}

const struct kind *kinds_at(const struct kinds *kinds, int at) {
    return at >= 0 && at < kinds->count ? kinds->at[at] : NULL;
}

void kind_free(struct kind *kind) {
    if (!kind)
        return;
    for (int i = 0; i < KIND_NAMES_MAX; i++) {
        free(kind->short_names[i]);
        free(kind->categories[i]);
    }
    for (int i = 0; i < kind->column_count; i++) {
        free(kind->columns[i].name);
        free(kind->columns[i].type);
        free(kind->columns[i].path);
        free(kind->columns[i].format);
        free(kind->columns[i].description);
    }
    free(kind->columns);
    schema_free(kind->schema);
    free(kind->group);
    free(kind->version);
    free(kind->resource);
    free(kind->singular);
    free(kind->name);
    free(kind->list_name);
    free(kind->scale_spec_path);
    free(kind->scale_status_path);
    free(kind->scale_selector_path);
    free((char *)(uintptr_t)kind->crd_name);
    free(kind);
}

void kinds_add(struct kinds *kinds, struct kind *kind) {
    kinds->at = str_resize(kinds->at, (size_t)kinds->count + 1, sizeof(*kinds->at));
    kinds->at[kinds->count++] = kind;
}

static struct kind *take_out(struct kind **list, int *count, int at) {
    struct kind *kind = list[at];

    (*count)--;
    memmove(&list[at], &list[at + 1], (size_t)(*count - at) * sizeof(*list));
    return kind;
}

void kinds_retire(struct kinds *kinds, int at) {
    kinds->retired =
        str_resize(kinds->retired, (size_t)kinds->retired_count + 1, sizeof(*kinds->retired));
    kinds->retired[kinds->retired_count++] = take_out(kinds->at, &kinds->count, at);
}

static void drop_from(struct kind **list, int *count, const char *crd_name) {
    for (int i = *count - 1; i >= 0; i--)
        if (list[i]->crd_name && strcmp(list[i]->crd_name, crd_name) == 0)
            kind_free(take_out(list, count, i));
}

void kinds_drop(struct kinds *kinds, const char *crd_name) {
    drop_from(kinds->at, &kinds->count, crd_name);
    drop_from(kinds->retired, &kinds->retired_count, crd_name);
}
