/* yaml.h - YAML or JSON documents as jansson values.
 *
 * Plain scalars get the types that kubectl gives them: null, booleans with
 * YAML 1.1's yes, no, on and off, whole numbers, reals; everything quoted is
 * text. Bounds:  depth YAML_DEPTH_MAX and YAML_NODES_MAX values, aliases
 * counted where they are used. Errors:  ERR_INVALID with the line. A repeated
 * key names both lines.
 */
#ifndef BULKHEAD_BASE_YAML_H
#define BULKHEAD_BASE_YAML_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

#define YAML_DEPTH_MAX 64
#define YAML_NODES_MAX 200000

/* Reads size_bytes of text, which is one document; a second one is refused. The caller owns
 * *ret_root; it is untouched on failure. */
int yaml_parse(const char *text, size_t size_bytes, json_t **ret_root, struct err *err);

/* Is handed a document, which is borrowed. A negative result ends the reading. */
typedef int yaml_document_fn(void *arg, json_t *root, struct err *err);

/* Reads documents divided by ---, as a file for kubectl apply has them; those without content are
 * passed over. Returns how many were handed over, or the first failure, the callback's too; what
 * came before it was handed over by then. YAML_NODES_MAX bounds all of them together. */
int yaml_each(const char *text, size_t size_bytes, yaml_document_fn *document, void *arg,
              struct err *err);

#endif
