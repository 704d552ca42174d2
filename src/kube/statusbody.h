/* statusbody.h - what the body of a refusal says: the fields of a Status that decisions rest on.
 *
 * Pure. A body that is no Status (HTML, nothing, cut JSON) is not an error: it says nothing.
 * Limits: texts are cut to their fields; a reason that does not fit is dropped, since a part of it
 *         would be another reason.
 */
#ifndef BULKHEAD_KUBE_STATUSBODY_H
#define BULKHEAD_KUBE_STATUSBODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATUSBODY_REASON_SIZE 64
#define STATUSBODY_MESSAGE_SIZE 1024

struct statusbody {
    int code; /* 0: none */
    char reason[STATUSBODY_REASON_SIZE];
    char message[STATUSBODY_MESSAGE_SIZE]; /* for people only */
    int64_t retry_after_ms;                /* details.retryAfterSeconds; -1: none */
    bool too_large_rv;                     /* a cause says ResourceVersionTooLarge */
    bool field_conflict;                   /* a cause says FieldManagerConflict */
};

/* Reads a Status; what is not there is 0, "" or -1. Never fails. */
void statusbody_read(const char *bytes, size_t size_bytes, struct statusbody *ret_status);

/* Whether a Content-Type header names JSON, with or without parameters (C25). */
bool statusbody_is_json(const char *content_type);

#endif
