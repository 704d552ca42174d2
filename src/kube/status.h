/* status.h - what to do about an answer that is not a success: by reason and code, never by text.
 *
 * Pure. Units: wait_ms and retry_after_ms are milliseconds.
 */
#ifndef BULKHEAD_KUBE_STATUS_H
#define BULKHEAD_KUBE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#define STATUS_RESEND_MAX_COUNT 10

enum status_action {
    STATUS_BACKOFF,    /* may pass by itself: the key goes through its backoff */
    STATUS_READ_AGAIN, /* we acted on a stale copy: read, decide again */
    STATUS_GONE,       /* the object is not there */
    STATUS_RELIST,     /* the resource version is too old */
    STATUS_REPORT,     /* only a change by the user helps */
    STATUS_LOGIN,      /* new credentials, then again */
};

/* The action for a Status. reason may be NULL or unknown: then the code decides. */
enum status_action status_action(int code, const char *reason);

/* Whether to send the same request again, and when. Only 429 and 5xx that name a wait are resent,
 * for any method, up to STATUS_RESEND_MAX_COUNT times; retry_after_ms < 0 means no such header.
 * resent_count is how often it was resent. Returns true and the wait, or false. */
bool status_resend(int code, int64_t retry_after_ms, int resent_count, int64_t *ret_wait_ms);

#endif
