/* cells.h - the columns of the built-in kinds, as kubectl users know them, and what stands in them.
 *
 * Units: ages are whole seconds, written as kubectl writes them.
 */
#ifndef BULKHEAD_APISERVER_CELLS_H
#define BULKHEAD_APISERVER_CELLS_H

#include "apiserver/kind.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define CELLS_AGE_SIZE 24

/* Appends an object's cells, one a column, to cells. */
typedef void cells_write(const json_t *object, int64_t now_ms, json_t *cells);

/* The columns of a built-in resource: Name and Age for one without its own. The caller frees each
 * text of each column, and the array. */
struct kind_column *cells_columns_new(const char *group, const char *resource, int *ret_count);

/* What writes them. */
cells_write *cells_writer(const char *group, const char *resource);

/* An age such as "5m" or "2d3h" by kubectl's rules; "<invalid>" below -1 s. */
void cells_age(int64_t age_ms, char ret_text[CELLS_AGE_SIZE]);

/* The age of an RFC 3339 time, "<unknown>" if there is none. */
void cells_age_since(const char *time, int64_t now_ms, char ret_text[CELLS_AGE_SIZE]);

/* Of a pod and a node, which need more words than the others; see cells_writer(). */
void cells_of_pod(const json_t *pod, int64_t now_ms, json_t *cells);

/* As cells_of_pod(). */
void cells_of_node(const json_t *node, int64_t now_ms, json_t *cells);

/* Appends a text; "" or absent becomes other. */
void cells_add(json_t *cells, const char *text, const char *other);

/* Appends formatted text. */
void cells_addf(json_t *cells, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends the age of an object. */
void cells_add_age(json_t *cells, const json_t *object, int64_t now_ms);

/* What stands at a path such as "spec.template.metadata"; NULL if nothing. Borrowed. */
json_t *cells_at(const json_t *object, const char *path);

/* The text at a path; "" if there is none. Borrowed. */
const char *cells_text(const json_t *object, const char *path);

/* The whole number at a path; 0 if there is none. */
int64_t cells_int(const json_t *object, const char *path);

#endif
