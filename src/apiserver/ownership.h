/* ownership.h - metadata.managedFields as a table: who owns which fields of an object.
 *
 * Appliers are told apart by name and subresource, updaters also by API version. An entry whose
 * set is empty is not written. At most OWNERS_UPDATERS_MAX updaters are kept: the oldest become one
 * named "ancient-changes".
 * Ownership: a table owns its texts and sets; the empty one is all zero.
 */
#ifndef BULKHEAD_APISERVER_OWNERSHIP_H
#define BULKHEAD_APISERVER_OWNERSHIP_H

#include "apiserver/fieldset.h"

#define OWNERS_UPDATERS_MAX 10

struct owner {
    char *manager;
    char *api_version;
    char *subresource; /* "": none */
    char *time;
    bool applies; /* operation Apply, else Update */
    struct fieldset set;
};

struct owners {
    struct owner *at;
    size_t count;
    size_t room_count;
};

/* Releases it; all-zero and NULL are fine. */
void owners_done(struct owners *owners);

/* Reads the table of an object (NULL: none); entries that make no sense are left out. */
struct owners owners_read(const json_t *object);

/* Writes the table into an object's metadata: sorted, capped, without empty entries. */
void owners_write(struct owners *owners, json_t *object);

/* The entry of key's manager, operation, subresource and, for an updater, API version; made if
 * there is none, with an empty set. key's set is ignored. Borrowed until the next call. */
struct owner *owners_get(struct owners *owners, const struct owner *key);

/* Gives the entry a set (taken over); its time and API version move to key's only if that changes
 * anything. */
void owner_replace(struct owner *owner, struct fieldset set, const struct owner *key);

/* Takes the paths of lost from everybody but except (NULL: from all). */
void owners_lose(struct owners *owners, const struct owner *except, const struct fieldset *lost);

#endif
