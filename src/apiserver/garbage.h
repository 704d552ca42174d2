/* garbage.h - what goes when something else goes: dependents, a namespace's content, a CRD's
 * objects.
 *
 * Deleting only notes what follows; garbage_run() does it, one thing after the other, so that long
 * chains of owners need no deep stack.
 */
#ifndef BULKHEAD_APISERVER_GARBAGE_H
#define BULKHEAD_APISERVER_GARBAGE_H

#include "apiserver/objects.h"
#include "apiserver/server.h"

#include <stdbool.h>
#include <stdint.h>

enum removal_policy { REMOVAL_BACKGROUND, REMOVAL_FOREGROUND, REMOVAL_ORPHAN };

struct removal {
    enum removal_policy policy;
    int64_t grace_s; /* of pods; -1: their own */
};

/* An empty index of owners. Release with garbage_free(). */
struct garbage *garbage_new(void);

/* Releases it; NULL is fine. */
void garbage_free(struct garbage *garbage);

/* Takes note of a change that was made. */
void garbage_note(struct apiserver *server, const struct change *change);

/* Deletes an object, or marks it deleted where finalizers or a pod's grace hold it back. Returns
 * true if it is gone. */
bool garbage_delete(struct apiserver *server, struct object *object, const struct removal *removal);

/* Whether an object was marked deleted and is held back by nothing any more. */
bool garbage_is_free(const json_t *tree);

/* Does everything that is due because of earlier deletions. */
void garbage_run(struct apiserver *server);

/* Ends the grace of pods that nobody removed, and deletes what was made for an owner that is gone.
 * Returns when to come again; INT64_MAX: nothing waits. */
int64_t garbage_tick(struct apiserver *server, int64_t now_ms);

/* Whether this namespace is being deleted. */
bool garbage_is_ending(const struct apiserver *server, const char *ns);

#endif
