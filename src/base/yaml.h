/* yaml.h - one YAML or JSON document as a jansson value.
 *
 * Plain scalars get the types that kubectl gives them: null, booleans with
 * YAML 1.1's yes, no, on and off, whole numbers, reals; everything quoted is
 * text. Bounds:  depth YAML_DEPTH_MAX and YAML_NODES_MAX values, aliases
 * counted where they are used. Errors:  ERR_INVALID with the line. A repeated
 * key names both lines; a second document is refused.
 */
#ifndef BULKHEAD_BASE_YAML_H
#define BULKHEAD_BASE_YAML_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

#define YAML_DEPTH_MAX 64
#define YAML_NODES_MAX 200000

/* Reads size_bytes of text. The caller owns *ret_root; it is untouched on
 * failure. */
int yaml_parse(const char *text, size_t size_bytes, json_t **ret_root, struct err *err);

#endif
