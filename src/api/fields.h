/* fields.h - reads one JSON object of a spec, and says where a value stood when it is wrong.
 *
 * Absent and null are the same (the API server drops nulls); 0, "" and false are values of their
 *            own and are never read as absent.
 * Ownership: everything is borrowed from the JSON that was opened, which must outlive the reader.
 * Errors:    ERR_INVALID with the field's path, the value found and what to write instead.
 */
#ifndef BULKHEAD_API_FIELDS_H
#define BULKHEAD_API_FIELDS_H

#include "api/intorpercent.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIELDS_PATH_MAX 96

struct fields {
    const json_t *object; /* NULL reads as an empty object */
    char path[FIELDS_PATH_MAX];
};

/* Opens value, which must be an object. path is where it stands, such as "spec". */
int fields_open(const json_t *value, const char *path, struct fields *ret_fields, struct err *err);

/* Opens the object under key. 1 when there is one; 0 when absent, *ret_child is then empty. */
int fields_child(const struct fields *fields, const char *key, struct fields *ret_child,
                 struct err *err);

/* Opens item i of a list that fields_list() gave for key. */
int fields_item(const struct fields *fields, const char *key, const json_t *list, size_t i,
                struct fields *ret_item, struct err *err);

/* A whole number from min to max. 1 when set, 0 when absent (*ret_value is kept). */
int fields_int(const struct fields *fields, const char *key, int64_t min, int64_t max,
               int32_t *ret_value, struct err *err);

/* true or false, unquoted. 1 when set, 0 when absent. */
int fields_bool(const struct fields *fields, const char *key, bool *ret_value, struct err *err);

/* Text of 1 to max bytes. 1 when set, 0 when absent. */
int fields_text(const struct fields *fields, const char *key, size_t max, const char **ret_text,
                struct err *err);

/* As above, but absent is an error too. */
int fields_text_required(const struct fields *fields, const char *key, size_t max,
                         const char **ret_text, struct err *err);

/* One of names, which ends in NULL; *ret_index is its place. 1 when set, 0 when absent. */
int fields_enum(const struct fields *fields, const char *key, const char *const *names,
                int *ret_index, struct err *err);

/* A list of at most max items. 1 when set, 0 when absent (*ret_list is then NULL). */
int fields_list(const struct fields *fields, const char *key, size_t max, const json_t **ret_list,
                struct err *err);

/* A list of at most max different texts, copied. The caller frees each and the array. */
int fields_names(const struct fields *fields, const char *key, size_t max, char ***ret_names,
                 int32_t *ret_count, struct err *err);

/* A number or a percentage. 1 when set, 0 when absent. */
int fields_percent(const struct fields *fields, const char *key, struct intorpercent *ret_value,
                   struct err *err);

/* Checks that every value of the map under key is text, as labels and annotations must be; an
 * unquoted yes or 1 is not. */
int fields_check_texts(const struct fields *fields, const char *key, struct err *err);

/* Text of lower-case letters, digits and '-' that starts and ends with a letter or digit, at most
 * max long, without "--". path names it in the message. */
int fields_check_label(const char *path, const char *text, size_t max, struct err *err);

/* Refuses every field that known, ending in NULL, does not list: "spec.routes[].name". An object
 * none of whose children is listed is taken as it is. The message says what was probably meant. */
int fields_check_known(const json_t *root, const char *const *known, struct err *err);

/* Checks apiVersion and kind, and reads metadata's name (a DNS label without "--") and namespace,
 * which may be absent: *ret_ns is then NULL. */
int fields_header(const json_t *root, const char *kind, size_t name_max, const char **ret_name,
                  const char **ret_ns, struct err *err);

#endif
