#include "apiserver/kind.h"

#include "apiserver/cells.h"
#include "apiserver/jsonpath.h"
#include "base/auto.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *columns_new(const struct kind *kind) {
    json_t *list = json_array();

    for (int i = 0; i < kind->column_count; i++) {
        const struct kind_column *column = &kind->columns[i];

        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s,s:i}", "name", column->name, "type",
                                              column->type, "format",
                                              column->format ? column->format : "", "description",
                                              column->description ? column->description : "",
                                              "priority", column->priority));
    }
    return list;
}

/* The value as a column of this type shows it; null where it does not fit. New reference. */
static json_t *cell_new(const char *type, json_t *value, int64_t now_ms) {
    char age[CELLS_AGE_SIZE];

    if (strcmp(type, "string") == 0) {
        auto_free char *text = NULL;

        if (json_is_string(value))
            return json_incref(value);
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        return json_is_null(value) ? json_string("<nil>") : json_string(text ? text : "");
    }
    if (strcmp(type, "integer") == 0 && json_is_real(value) && fabs(json_real_value(value)) < 9e18)
        return json_integer((json_int_t)json_real_value(value));
    if ((strcmp(type, "integer") == 0 && json_is_integer(value)) ||
        (strcmp(type, "number") == 0 && json_is_number(value)) ||
        (strcmp(type, "boolean") == 0 && json_is_boolean(value)))
        return json_incref(value);
    if (strcmp(type, "date") == 0 && json_is_string(value)) {
        cells_age_since(json_string_value(value), now_ms, age);
        return json_string(age);
    }
    return json_null();
}

/* Where each column of a CRD's kind finds its value; NULL for a built-in. */
static struct jsonpath **paths_new(const struct kind *kind) {
    struct jsonpath **paths;

    if (!kind->crd_name)
        return NULL;
    paths = str_alloc((size_t)kind->column_count, sizeof(*paths));
    for (int i = 0; i < kind->column_count; i++)
        if (jsonpath_new(kind->columns[i].path, &paths[i], NULL) < 0)
            paths[i] = NULL;
    return paths;
}

static void paths_free(struct jsonpath **paths, int count) {
    for (int i = 0; paths && i < count; i++)
        jsonpath_free(paths[i]);
    free(paths);
}

static json_t *cells_new(const struct kind *kind, struct jsonpath **paths, const json_t *object,
                         int64_t now_ms) {
    json_t *cells = json_array();

    if (!paths) {
        cells_writer(kind->group, kind->resource)(object, now_ms, cells);
        return cells;
    }
    for (int i = 0; i < kind->column_count; i++) {
        json_auto_t *found = paths[i] ? jsonpath_find_new(paths[i], object) : NULL;
        json_t *value = json_array_get(found, 0);

        json_array_append_new(cells,
                              value ? cell_new(kind->columns[i].type, value, now_ms) : json_null());
    }
    return cells;
}

/* What stands beside the cells: the object's metadata, all of it, or nothing. */
static json_t *partial_new(json_t *object, const char *include_object) {
    json_t *metadata = json_object_get(object, "metadata");

    if (strcmp(include_object, "None") == 0)
        return NULL;
    if (strcmp(include_object, "Object") == 0)
        return json_incref(object);
    return json_pack("{s:s,s:s,s:O?}", "kind", "PartialObjectMetadata", "apiVersion",
                     "meta.k8s.io/v1", "metadata", metadata);
}

json_t *kind_table_new(const struct kind *kind, json_t *objects, const char *rv,
                       const char *continue_token, const char *include_object, int64_t now_ms) {
    json_t *table = json_pack("{s:s,s:s,s:{},s:o}", "kind", "Table", "apiVersion", "meta.k8s.io/v1",
                              "metadata", "columnDefinitions", columns_new(kind));
    json_t *metadata = json_object_get(table, "metadata");
    json_t *rows = json_array();
    struct jsonpath **paths = paths_new(kind);

    if (rv)
        json_object_set_new(metadata, "resourceVersion", json_string(rv));
    if (continue_token)
        json_object_set_new(metadata, "continue", json_string(continue_token));
    for (size_t i = 0; i < json_array_size(objects); i++) {
        json_t *object = json_array_get(objects, i);
        json_t *row = json_pack("{s:o}", "cells", cells_new(kind, paths, object, now_ms));
        json_t *partial =
            partial_new(object, include_object && *include_object ? include_object : "Metadata");

        if (partial)
            json_object_set_new(row, "object", partial);
        json_array_append_new(rows, row);
    }
    paths_free(paths, kind->column_count);
    json_object_set_new(table, "rows", rows);
    return table;
}
