/* jsonpath.h - the JSONPath of printer columns and of the scale subresource.
 *
 * Known: .name with \. for a dot in it, ['name'], [3], [-1], [1:3], [*], .*, ..name and
 *        [?(@.a.b OP VALUE)] with == != < <= > >=, or no OP: it is there. A missing step finds
 *        nothing and is no fault.
 * Limits: 1024 bytes, 32 steps, 10,000 finds.
 */
#ifndef BULKHEAD_APISERVER_JSONPATH_H
#define BULKHEAD_APISERVER_JSONPATH_H

#include "base/err.h"

#include <jansson.h>

#define JSONPATH_MAX_BYTES 1024
#define JSONPATH_STEPS_MAX 32
#define JSONPATH_FINDS_MAX 10000

struct jsonpath;

/* Compiles one; braces round it are fine. ERR_INVALID says where it went wrong. Release with
 * jsonpath_free(). */
int jsonpath_new(const char *text, struct jsonpath **ret_path, struct err *err);

/* Releases it; NULL is fine. */
void jsonpath_free(struct jsonpath *path);

/* Everything it finds, in order, as a new array that shares the found values with root. */
json_t *jsonpath_find_new(const struct jsonpath *path, const json_t *root);

#endif
