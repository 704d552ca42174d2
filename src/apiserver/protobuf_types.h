/* protobuf_types.h - the messages that protobuf.h can read, by field number.
 *
 * A message is a list of "NUMBER:NAME:TYPE". Types: s text, i whole number, b flag, y bytes (base64
 * in JSON), t time, q quantity, o number or text, or the name of a message. In front of a type:
 * * a list, % a map from text, ! a value that counts even if it is empty or 0, ^ fields that stand
 * in the outer object itself.
 */
#ifndef BULKHEAD_APISERVER_PROTOBUF_TYPES_H
#define BULKHEAD_APISERVER_PROTOBUF_TYPES_H

#include <stddef.h>

struct protobuf_type {
    const char *name;
    const char *fields;
};

/* The fields of a message of this name, of the first len bytes of name; NULL: not in the table. */
const char *protobuf_fields(const char *name, size_t len);

#endif
