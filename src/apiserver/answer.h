/* answer.h - what goes back: objects, lists, tables and refusals. */
#ifndef BULKHEAD_APISERVER_ANSWER_H
#define BULKHEAD_APISERVER_ANSWER_H

#include "apiserver/server.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A stored object, in the call's view. */
void answer_object(struct call *call, int status, const struct object *object);

/* A tree in the kind's version, in the call's view. */
void answer_tree(struct call *call, int status, json_t *tree);

/* A document as it is. */
void answer_document(struct call *call, int status, const json_t *document);

/* Plain text. */
void answer_text(struct call *call, int status, const char *text);

/* The refusal as a Status. */
void answer_refusal(struct call *call);

/* A list in the call's view. continue_token may be NULL; remaining < 0: not told. */
void answer_list(struct call *call, struct object *const *list, size_t count, uint64_t rv,
                 const char *continue_token, int64_t remaining);

/* A Status of success about an object that is gone. */
void answer_deleted(struct call *call, const struct object *object);

#endif
