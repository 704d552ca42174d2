#include "api/resources.h"

#include "api/member.h"
#include "api/quantity.h"

#include <string.h>

#define QUANTITY_ROOM 65

/* The slot of a resource; -1 for one that nobody counts. */
static int slot_of(const struct jsonpull_text *key, const struct resource_names *names) {
    if (jsonpull_text_is(key, "cpu"))
        return ROOM_CPU_MILLI;
    if (jsonpull_text_is(key, "memory"))
        return ROOM_MEMORY_BYTES;
    if (jsonpull_text_is(key, "pods"))
        return ROOM_PODS;
    for (int i = 0; names && i < ROOM_EXTENDED_COUNT; i++)
        if (names->extended[i] && jsonpull_text_is(key, names->extended[i]))
            return ROOM_EXTENDED + i;
    return -1;
}

/* A quantity as text, whether it was written as a string or as a number. 0 for null. */
static int read_quantity(struct jsonpull *pull, char room[QUANTITY_ROOM], struct err *err) {
    const int type = jsonpull_type(pull, err);
    const char *bytes;
    size_t size_bytes;
    int r;

    if (type != JSONPULL_INT && type != JSONPULL_REAL)
        return type < 0 ? type : member_text(pull, room, QUANTITY_ROOM, err);
    if ((r = jsonpull_raw(pull, &bytes, &size_bytes, err)) < 0)
        return r;
    if (size_bytes >= QUANTITY_ROOM)
        return err_set(err, ERR_INVALID, "a quantity of %zu digits", size_bytes);
    memcpy(room, bytes, size_bytes);
    room[size_bytes] = '\0';
    return 1;
}

static int read_entry(struct jsonpull *pull, int slot, struct resources *resources,
                      struct err *err) {
    char text[QUANTITY_ROOM];
    int64_t value;
    int r = read_quantity(pull, text, err);

    if (r <= 0)
        return r;
    r = slot == ROOM_CPU_MILLI ? quantity_milli(text, &value, err)
                               : quantity_whole(text, &value, err);
    if (r < 0)
        return r;
    if (slot < 0) {
        resources->uncounted = resources->uncounted || value > 0;
        return 0;
    }
    resources->amount.of[slot] = value;
    resources->named[slot] = true;
    return 0;
}

int resources_read(struct jsonpull *pull, const struct resource_names *names,
                   struct resources *ret_resources, struct err *err) {
    struct resources resources = {0};
    struct jsonpull_text key;
    int r = member_object(pull, err);

    if (r < 0)
        return r;
    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        const int entry = read_entry(pull, slot_of(&key, names), &resources, err);

        if (entry < 0)
            return err_wrap(err, entry, "%.*s", key.size_bytes < 40 ? (int)key.size_bytes : 40,
                            key.bytes);
    }
    if (r < 0)
        return r;
    *ret_resources = resources;
    return 0;
}

void resources_add(struct room_amount *a, const struct room_amount *b) {
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        if (__builtin_add_overflow(a->of[i], b->of[i], &a->of[i]))
            a->of[i] = INT64_MAX;
}

void resources_max(struct room_amount *a, const struct room_amount *b) {
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        if (b->of[i] > a->of[i])
            a->of[i] = b->of[i];
}
