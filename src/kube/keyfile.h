/* keyfile.h - the content of one credential: a bearer token, certificates, a private key.
 *
 * Says whether the content can be what it is taken for, so that a half-written or empty file never
 * replaces a good credential, and no certificate at all never means "trust the system's".
 * Never:     prints content; errors name the place and the remedy.
 * Ownership: what is returned is the caller's, to be released with keyfile_wipe().
 */
#ifndef BULKHEAD_KUBE_KEYFILE_H
#define BULKHEAD_KUBE_KEYFILE_H

#include "base/err.h"

#include <stddef.h>

#define KEYFILE_MAX_BYTES ((size_t)1 << 20)     /* of any file read here */
#define KEYFILE_TOKEN_MAX_BYTES ((size_t)65536) /* of a token (C06) */

enum keyfile_kind {
    KEYFILE_TOKEN,
    KEYFILE_CERTIFICATES, /* PEM, one or more, with comments and CRLF between them */
    KEYFILE_KEY,          /* PEM */
};

/* Reads the whole of a file that is no folder; it may be a pipe, which is waited for. A NUL is
 * added. ERR_NOTFOUND: no such file; ERR_RETRY: unreadable; ERR_INVALID: above the limit. */
int keyfile_read(const char *path, char **ret_text, size_t *ret_size_bytes, struct err *err);

/* Reads a regular file and checks it. A token is returned trimmed. */
int keyfile_load(const char *path, enum keyfile_kind kind, char **ret_text, struct err *err);

/* The checked copy of content: a token is trimmed, and refused when empty, longer than its limit or
 * with a blank or control character inside (C06); of PEM at least one whole block is asked. */
int keyfile_copy(const char *text, size_t size_bytes, enum keyfile_kind kind, char **ret_text,
                 struct err *err);

/* How many whole certificates PEM text holds; ERR_INVALID if one of them is cut or not base64. */
int keyfile_count(const char *pem, struct err *err);

/* Overwrites and frees; NULL is fine. */
void keyfile_wipe(char *text);

#endif
