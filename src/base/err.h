/* err.h - the one way a function says that it failed.
 *
 * Ownership: the caller owns struct err, usually on its stack. The text is inline, so reporting
 *            allocates nothing and nothing has to be released. A NULL err is always allowed.
 * Errors:    a failing function returns a negative enum err_code and fills *err; a succeeding
 *            one returns 0 or more and leaves *err alone. There is no third case.
 */
#ifndef BULKHEAD_BASE_ERR_H
#define BULKHEAD_BASE_ERR_H

enum err_code {
    ERR_RETRY = -1,    /* may pass by itself: requeue with backoff */
    ERR_CONFLICT = -2, /* we acted on a stale copy: read again, requeue at once */
    ERR_NOTFOUND = -3,
    ERR_INVALID = -4, /* only a change by the user helps: report it, do not requeue */
};

struct err {
    int code; /* 0 or an enum err_code */
    char msg[240];
};

/* Fills *err (cut at its size); returns code, so that a caller can write return err_set(...). */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts context and ": " before the text a callee left in *err; returns code unchanged. */
int err_wrap(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
