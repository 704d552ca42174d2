/* selector.h - which objects a list or watch is about: label and field selectors.
 *
 * Labels:  a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a, joined by commas. Fields: the ones
 *          named in selector_fields(), with = , == and !=.
 * Errors:  ERR_INVALID with the words for the user.
 * Limits:  SELECTOR_TERMS_MAX terms, SELECTOR_VALUES_MAX values in all.
 */
#ifndef BULKHEAD_APISERVER_SELECTOR_H
#define BULKHEAD_APISERVER_SELECTOR_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

#define SELECTOR_TERMS_MAX 64
#define SELECTOR_VALUES_MAX 1024

/* A parsed selector; all-zero matches everything. Release with selector_done(). */
struct selector {
    struct selector_term *terms;
    int term_count;
};

/* Parses a labelSelector; NULL or "" matches everything. */
int selector_labels(const char *text, struct selector *ret_selector, struct err *err);

/* Parses a fieldSelector for objects of this group and resource; NULL or "" matches everything. */
int selector_fields(const char *text, const char *group, const char *resource,
                    struct selector *ret_selector, struct err *err);

/* Releases it; all-zero and NULL are fine. */
void selector_done(struct selector *selector);

/* Whether an object's labels match. */
bool selector_has_labels(const struct selector *selector, const json_t *object);

/* Whether an object's fields match. */
bool selector_has_fields(const struct selector *selector, const json_t *object);

/* The value that the selector demands of a field or label; NULL if it demands none. Borrowed. */
const char *selector_demands(const struct selector *selector, const char *key);

#endif
