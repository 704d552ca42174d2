/* sha256.h - SHA-256 of a buffer, for short stable suffixes of object names.
 *
 * For names, not for secrets: no claim about timing. base has no crypto library, hence our own.
 */
#ifndef BULKHEAD_BASE_SHA256_H
#define BULKHEAD_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE_BYTES 32

/* The digest of size_bytes bytes; data may be NULL when size_bytes is 0. */
void sha256(const void *data, size_t size_bytes, uint8_t ret_digest[SHA256_SIZE_BYTES]);

/* The first 8 hex digits (lower case) of the digest of text, and a NUL. */
void sha256_name_suffix(const char *text, char ret_suffix[9]);

#endif
