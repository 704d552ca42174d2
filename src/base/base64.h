/* base64.h - RFC 4648's standard alphabet, padded, as Secrets and kubeconfigs carry bytes.
 *
 * Ownership: the str is the caller's and is only appended to; its limit bounds the result.
 */
#ifndef BULKHEAD_BASE_BASE64_H
#define BULKHEAD_BASE_BASE64_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>

/* Appends the encoding of size_bytes bytes, in one line. ERR_INVALID beyond the limit; out is then
 * as before. */
int base64_encode(struct str *out, const void *bytes, size_t size_bytes, struct err *err);

/* Appends the bytes that text stands for. Line breaks, blanks and tabs count for nothing, since
 * editors and exporters wrap. ERR_INVALID for any other stray character, wrong padding or a passed
 * limit, without a word of the content; out is then as before. */
int base64_decode(struct str *out, const char *text, size_t size_bytes, struct err *err);

#endif
