/* documents.h - single objects read by name: what apps name in the hub, and its copies in children.
 *
 * Secrets are read by name and never listed (safety rule 11), so there is no watch: what was read
 * is good for a while and is then read again.
 * Ownership: content is held as JSON and wiped with the document.
 * Limits:    DOCUMENTS_MAX; there what has not been read again for long makes room. Beyond it
 *            nothing more is remembered, and what needs it waits.
 * Threads:   control only.
 */
#ifndef BULKHEAD_CONTROLLER_DOCUMENTS_H
#define BULKHEAD_CONTROLLER_DOCUMENTS_H

#include "controller/render.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DOCUMENTS_MAX 200000
#define DOCUMENTS_HUB_MS 60000                     /* a source is read again after so long */
#define DOCUMENTS_CHILD_MS 600000                  /* a copy, which only we write */
#define DOCUMENTS_KEPT_MS (2 * DOCUMENTS_CHILD_MS) /* at the most, once room is short */

enum document_state { DOCUMENT_UNREAD, DOCUMENT_ABSENT, DOCUMENT_PRESENT };

struct document {
    enum document_state state;
    bool ours;    /* carries our label */
    bool allowed; /* carries bulkhead.dev/allow-apps */
    char uid[64];
    char hash[RENDER_HASH_SIZE]; /* of its annotation; "" without one */
    json_t *object;              /* in the hub; NULL in children */
    int64_t read_ms;
};

struct documents;

/* An empty set. Release with documents_free(). */
struct documents *documents_new(void);

/* Wipes and releases it; NULL is fine. */
void documents_free(struct documents *documents);

/* What is known of an object at now; state DOCUMENT_UNREAD when it is to be read (again). A known
 * one that is due is still given, with due set. Borrowed until the next change. */
const struct document *documents_find(const struct documents *documents, int target,
                                      const char *resource, const char *ns, const char *name,
                                      int64_t now_ms, bool *ret_due);

/* Takes what a read or a write of ours was answered with; object NULL: it is not there. */
void documents_take(struct documents *documents, int target, const char *resource, const char *ns,
                    const char *name, json_t *object, int64_t now_ms);

/* Forgets all of a target, which went. */
void documents_drop(struct documents *documents, int target);

#endif
