/* pattern.h - the regular expressions of schemas: RE2's syntax, run by PCRE2.
 *
 * What RE2 does not know (look-around, back-references, atomic groups) is refused, so that a schema
 * accepted here is accepted by a real API server.
 * Limits: pattern 4096 bytes; a match gives up, as no match, after a bounded number of steps.
 */
#ifndef BULKHEAD_APISERVER_PATTERN_H
#define BULKHEAD_APISERVER_PATTERN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define PATTERN_MAX_BYTES 4096

struct pattern;

/* Compiles one. ERR_INVALID says what is wrong with it. Release with pattern_free(). */
int pattern_new(const char *text, struct pattern **ret_pattern, struct err *err);

/* Releases it; NULL is fine. */
void pattern_free(struct pattern *pattern);

/* Whether it is found anywhere in the text. */
bool pattern_matches(const struct pattern *pattern, const char *text, size_t size_bytes);

/* Its source, for messages; borrowed. */
const char *pattern_text(const struct pattern *pattern);

#endif
