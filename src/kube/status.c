#include "kube/status.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *reason;
    enum status_action action;
} REASONS[] = {
    {"Unauthorized",          STATUS_LOGIN},
    {"Forbidden",             STATUS_REPORT},
    {"NotFound",              STATUS_GONE},
    {"AlreadyExists",         STATUS_READ_AGAIN},
    {"Conflict",              STATUS_READ_AGAIN},
    {"Gone",                  STATUS_RELIST},
    {"Expired",               STATUS_RELIST},
    {"Invalid",               STATUS_REPORT},
    {"BadRequest",            STATUS_REPORT},
    {"MethodNotAllowed",      STATUS_REPORT},
    {"NotAcceptable",         STATUS_REPORT},
    {"RequestEntityTooLarge", STATUS_REPORT},
    {"UnsupportedMediaType",  STATUS_REPORT},
    {"ServerTimeout",         STATUS_BACKOFF},
    {"StoreReadError",        STATUS_BACKOFF},
    {"Timeout",               STATUS_BACKOFF},
    {"TooManyRequests",       STATUS_BACKOFF},
    {"InternalError",         STATUS_BACKOFF},
    {"ServiceUnavailable",    STATUS_BACKOFF},
};
/* clang-format on */

enum status_action status_action(int code, const char *reason) {
    for (size_t i = 0; reason && i < sizeof(REASONS) / sizeof(REASONS[0]); i++) {
        if (strcmp(REASONS[i].reason, reason) == 0)
            return REASONS[i].action;
    }
    switch (code) {
    case 401:
        return STATUS_LOGIN;
    case 404:
        return STATUS_GONE;
    case 409:
        return STATUS_READ_AGAIN;
    case 410:
        return STATUS_RELIST;
    case 408:
    case 429:
        return STATUS_BACKOFF;
    default:
        return code >= 400 && code < 500 ? STATUS_REPORT : STATUS_BACKOFF;
    }
}

bool status_resend(int code, int64_t retry_after_ms, int resent_count, int64_t *ret_wait_ms) {
    const bool may_pass = code == 429 || (code >= 500 && code < 600);

    if (!may_pass || retry_after_ms < 0 || resent_count >= STATUS_RESEND_MAX_COUNT)
        return false;
    *ret_wait_ms = retry_after_ms;
    return true;
}
