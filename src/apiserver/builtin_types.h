/* builtin_types.h - the types that built-in kinds are made of, as one compact table.
 *
 * A type is a line of fields, each NAME:TYPE, TYPE being
 *     s text  i int32  l int64  b boolean  t date-time  d base64  x int or text  q quantity
 *     o any object  j anything  m map to text  M map to quantity  D map to base64
 *     n list of numbers  a list of texts  u set of texts  Foo another type
 *     [Foo] list  [Foo/k] list merged by key k  [Foo/k,l] by both  {Foo} map of Foo
 *     s(A|B) one of these
 * followed by ! if it is required, ~ if a strategic merge drops what $retainKeys does not name, and
 * =VALUE for its default. Of a list merged by two keys, a strategic merge knows the first.
 */
#ifndef BULKHEAD_APISERVER_BUILTIN_TYPES_H
#define BULKHEAD_APISERVER_BUILTIN_TYPES_H

#include <stdbool.h>

struct builtin_type {
    const char *name;
    bool closed; /* every field is listed: another one is a typing error */
    bool atomic; /* for apply */
    const char *fields;
};

/* Ends with a row without a name. */
extern const struct builtin_type builtin_types[];

#endif
