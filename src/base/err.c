#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...) {
    va_list args;

    if (!err)
        return code;
    err->code = code;
    va_start(args, fmt);
    vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    return code;
}

int err_wrap(struct err *err, int code, const char *fmt, ...) {
    char inner[sizeof(err->msg)];
    va_list args;

    if (!err)
        return code;
    memcpy(inner, err->msg, sizeof(inner));
    err->code = code;
    va_start(args, fmt);
    vsnprintf(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    const size_t used = strlen(err->msg);

    snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", inner);
    return code;
}
