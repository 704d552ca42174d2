#include "controller/documents.h"

#include "api/objectname.h"
#include "base/str.h"
#include "controller/dependency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define KEY_SIZE 400

struct entry {
    char *key;
    int target;
    struct document document;
    UT_hash_handle hh;
};

struct documents {
    struct entry *entries;
};

struct documents *documents_new(void) {
    return str_alloc(1, sizeof(struct documents));
}

/* Strings of a Secret's data are overwritten before jansson frees them. */
static void content_wipe(json_t *object) {
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(object, "data"), key, value) {
        if (json_is_string(value))
            explicit_bzero((char *)json_string_value(value), json_string_length(value));
    }
    json_decref(object);
}

static void entry_free(struct documents *documents, struct entry *entry) {
    HASH_DEL(documents->entries, entry);
    content_wipe(entry->document.object);
    free(entry->key);
    free(entry);
}

void documents_free(struct documents *documents) {
    struct entry *entry, *next;

    if (!documents)
        return;
    HASH_ITER(hh, documents->entries, entry, next)
    entry_free(documents, entry);
    free(documents);
}

void documents_drop(struct documents *documents, int target) {
    struct entry *entry, *next;

    HASH_ITER(hh, documents->entries, entry, next) {
        if (entry->target == target)
            entry_free(documents, entry);
    }
}

/* Makes room: what nobody has had read again since it was due belongs to no app any more. */
static void entries_expire(struct documents *documents, int64_t now_ms) {
    struct entry *entry, *next;

    HASH_ITER(hh, documents->entries, entry, next) {
        if (now_ms - entry->document.read_ms >= DOCUMENTS_KEPT_MS)
            entry_free(documents, entry);
    }
}

static void key_make(char key[KEY_SIZE], int target, const char *resource, const char *ns,
                     const char *name) {
    snprintf(key, KEY_SIZE, "%d/%s/%s/%s", target, resource, ns, name);
}

const struct document *documents_find(const struct documents *documents, int target,
                                      const char *resource, const char *ns, const char *name,
                                      int64_t now_ms, bool *ret_due) {
    static const struct document unread;
    char key[KEY_SIZE];
    struct entry *entry;

    key_make(key, target, resource, ns, name);
    HASH_FIND_STR(documents->entries, key, entry);
    *ret_due = !entry || now_ms - entry->document.read_ms >=
                             (target == 0 ? DOCUMENTS_HUB_MS : DOCUMENTS_CHILD_MS);
    return entry ? &entry->document : &unread;
}

void documents_take(struct documents *documents, int target, const char *resource, const char *ns,
                    const char *name, json_t *object, int64_t now_ms) {
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *labels = json_object_get(metadata, "labels");
    const char *by = json_string_value(json_object_get(labels, OBJECTNAME_LABEL_MANAGED_BY));
    const char *uid = json_string_value(json_object_get(metadata, "uid"));
    const char *hash = json_string_value(
        json_object_get(json_object_get(metadata, "annotations"), OBJECTNAME_ANNOTATION_HASH));
    char key[KEY_SIZE];
    struct entry *entry;

    key_make(key, target, resource, ns, name);
    if (HASH_COUNT(documents->entries) >= DOCUMENTS_MAX)
        entries_expire(documents, now_ms);
    HASH_FIND_STR(documents->entries, key, entry);
    if (!entry && HASH_COUNT(documents->entries) >= DOCUMENTS_MAX)
        return;
    if (!entry) {
        entry = str_alloc(1, sizeof *entry);
        entry->key = str_dup(key);
        entry->target = target;
        HASH_ADD_KEYPTR(hh, documents->entries, entry->key, strlen(entry->key), entry);
    }
    content_wipe(entry->document.object);
    entry->document = (struct document){
        .state = object ? DOCUMENT_PRESENT : DOCUMENT_ABSENT,
        .ours = by && strcmp(by, OBJECTNAME_MANAGER) == 0,
        .allowed = json_object_get(labels, DEPENDENCY_LABEL_ALLOW) != NULL,
        .object = target == 0 ? json_incref(object) : NULL,
        .read_ms = now_ms,
    };
    snprintf(entry->document.uid, sizeof entry->document.uid, "%s", uid ? uid : "");
    snprintf(entry->document.hash, sizeof entry->document.hash, "%s", hash ? hash : "");
}
