#include "base/names.h"

#include "base/str.h"

#include <assert.h>
#include <string.h>
#include <uthash.h>

struct name {
    UT_hash_handle hh;
    size_t ref_count;
    char text[];
};

struct names {
    struct name *by_text;
    size_t max_count;
};

struct names *names_new(size_t max_count) {
    struct names *names = str_alloc(1, sizeof(*names));

    names->max_count = max_count;
    return names;
}

void names_free(struct names *names) {
    struct name *name;
    struct name *next;

    if (!names)
        return;
    HASH_ITER(hh, names->by_text, name, next) {
        HASH_DEL(names->by_text, name);
        free(name);
    }
    free(names);
}

static struct name *find(const struct names *names, const char *bytes, size_t size_bytes) {
    struct name *name;

    HASH_FIND(hh, names->by_text, bytes, size_bytes, name);
    return name;
}

/* The entry whose text this is. */
static struct name *entry_of(const char *text) {
    return (struct name *)((uintptr_t)text - offsetof(struct name, text));
}

const char *names_take(struct names *names, const char *bytes, size_t size_bytes) {
    struct name *name;

    if (size_bytes == 0)
        bytes = "";
    name = find(names, bytes, size_bytes);
    if (!name) {
        if (names_count(names) >= names->max_count || size_bytes > NAMES_TEXT_MAX ||
            memchr(bytes, '\0', size_bytes))
            return NULL;
        name = str_alloc(1, sizeof(*name) + size_bytes + 1);
        memcpy(name->text, bytes, size_bytes);
        HASH_ADD_KEYPTR(hh, names->by_text, name->text, size_bytes, name);
    }
    name->ref_count++;
    return name->text;
}

const char *names_hold(struct names *names, const char *text) {
    (void)names;
    if (text)
        entry_of(text)->ref_count++;
    return text;
}

void names_drop(struct names *names, const char *text) {
    struct name *name;

    if (!text)
        return;
    name = entry_of(text);
    assert(name->ref_count > 0);
    if (--name->ref_count > 0)
        return;
    HASH_DEL(names->by_text, name);
    free(name);
}

const char *names_find(const struct names *names, const char *bytes, size_t size_bytes) {
    const struct name *name = find(names, size_bytes ? bytes : "", size_bytes);

    return name ? name->text : NULL;
}

size_t names_count(const struct names *names) {
    return names ? HASH_COUNT(names->by_text) : 0;
}
