/* base64.h - RFC 4648, as Secrets and continue tokens use it. */
#ifndef BULKHEAD_APISERVER_BASE64_H
#define BULKHEAD_APISERVER_BASE64_H

#include <stddef.h>

/* The padded standard alphabet. Caller frees. */
char *base64_encode(const void *bytes, size_t size_bytes);

/* Reads the padded standard alphabet; NULL if text is not that. The result has a NUL behind it and
 * its size in ret_size_bytes (may be NULL). Caller frees. */
char *base64_decode(const char *text, size_t *ret_size_bytes);

#endif
