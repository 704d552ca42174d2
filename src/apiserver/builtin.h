/* builtin.h - the kinds a server has of its own: their table, and their OpenAPI written from it.
 *
 * Ownership: what is returned is the caller's unless it says borrowed.
 */
#ifndef BULKHEAD_APISERVER_BUILTIN_H
#define BULKHEAD_APISERVER_BUILTIN_H

#include "apiserver/kind.h"

#include <jansson.h>

/* One built-in kind. Fields of its root stand beside apiVersion, kind and metadata. */
struct builtin {
    const char *group;
    const char *version;
    const char *resource;
    const char *kind;
    const char *short_names; /* separated by spaces */
    const char *traits;      /* n namespaced, s status, c scale, g counts generation, a in "all",
                                o other fields than those listed are fine */
    const char *fields;      /* as in builtin_types.h */
    const char *about;       /* for kubectl explain */
};

/* The at-th row; NULL beyond the last. */
const struct builtin *builtin_at(int at);

/* The OpenAPI of a type of builtin_types.h. */
json_t *builtin_type_new(const char *name);

/* The kind of a row, complete. */
struct kind *builtin_kind_new(const struct builtin *row);

/* Defaults and checks of a built-in that its schema cannot say; NULL: none. Static. */
const struct schema_extra *builtin_extra(const char *group, const char *resource);

#endif
