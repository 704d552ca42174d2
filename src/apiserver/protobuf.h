/* protobuf.h - objects that typed clients send in Kubernetes' protobuf form, as JSON trees.
 *
 * kubectl create, drain and auth write that form whatever the server prefers. Only the messages in
 * protobuf_types.h are known, and of them the fields that those commands set; others are dropped.
 * Limits: PROTOBUF_DEPTH_MAX nested messages; the body's size bounds the rest.
 */
#ifndef BULKHEAD_APISERVER_PROTOBUF_H
#define BULKHEAD_APISERVER_PROTOBUF_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

#define PROTOBUF_DEPTH_MAX 32

/* Reads one body: "k8s", a NUL, and an envelope. New reference in ret_object. ERR_NOTFOUND if its
 * kind is not in the table, ERR_INVALID if it is broken. */
int protobuf_read(const char *bytes, size_t size_bytes, json_t **ret_object, struct err *err);

#endif
