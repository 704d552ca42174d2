/* names.h - texts that occur many times, kept once each: node names, app uids, zones, label keys.
 *
 * Within one table the same text is always the same pointer, so == compares texts. Which pointer
 * says nothing: no order may depend on it.
 * Ownership: the table owns the texts; each names_take() and names_hold() is one reference that one
 *            names_drop() gives back, and the last frees the text. names_free() frees all.
 * Limits:    max_count different texts, each of at most NAMES_TEXT_MAX bytes.
 * Threads:   one.
 */
#ifndef BULKHEAD_BASE_NAMES_H
#define BULKHEAD_BASE_NAMES_H

#include <stddef.h>

#define NAMES_TEXT_MAX 1024

struct names;

/* An empty table. Release with names_free(). */
struct names *names_new(size_t max_count);

/* Releases the table with every text in it, whoever holds one; NULL is fine. */
void names_free(struct names *names);

/* The shared copy of the text, NUL-terminated, with one more reference. NULL when it is new and the
 * table is full, when it is too long, and when it holds a NUL. "" is a text like any other. */
const char *names_take(struct names *names, const char *bytes, size_t size_bytes);

/* One more reference to a text of this table; returns it. NULL gives NULL. */
const char *names_hold(struct names *names, const char *text);

/* Gives one reference back; the text is gone with its last one. NULL is fine. */
void names_drop(struct names *names, const char *text);

/* The shared copy without a reference, or NULL if nobody holds this text: a look-up for ==. */
const char *names_find(const struct names *names, const char *bytes, size_t size_bytes);

/* Number of different texts held; 0 for NULL. */
size_t names_count(const struct names *names);

#endif
