#include "api/member.h"

#include "base/timestamp.h"

#include <string.h>

int member_object(struct jsonpull *pull, struct err *err) {
    int r = jsonpull_null(pull, err);

    if (r == 0)
        return (r = jsonpull_enter_object(pull, err)) < 0 ? r : 1;
    return r < 0 ? r : 0;
}

int member_array(struct jsonpull *pull, struct err *err) {
    int r = jsonpull_null(pull, err);

    if (r == 0)
        return (r = jsonpull_enter_array(pull, err)) < 0 ? r : 1;
    return r < 0 ? r : 0;
}

int member_text(struct jsonpull *pull, char *room, size_t room_bytes, struct err *err) {
    struct jsonpull_text text;
    size_t size_bytes;
    int r = jsonpull_null(pull, err);

    if (r != 0)
        return r < 0 ? r : 0;
    if ((r = jsonpull_text(pull, &text, err)) < 0 ||
        (r = jsonpull_text_copy(&text, room, room_bytes, &size_bytes, err)) < 0)
        return r;
    return 1;
}

int member_count(struct jsonpull *pull, int64_t max, int64_t *ret_count, struct err *err) {
    int64_t value;
    int r = jsonpull_null(pull, err);

    if (r != 0)
        return r < 0 ? r : 0;
    if ((r = jsonpull_int(pull, &value, err)) < 0)
        return r;
    if (value < 0 || value > max)
        return err_set(err, ERR_INVALID, "%lld is not from 0 to %lld", (long long)value,
                       (long long)max);
    *ret_count = value;
    return 1;
}

int member_count32(struct jsonpull *pull, int32_t *ret_count, struct err *err) {
    int64_t value = 0;
    int r = member_count(pull, INT32_MAX, &value, err);

    if (r == 1)
        *ret_count = (int32_t)value;
    return r;
}

int member_bool(struct jsonpull *pull, bool *ret_value, struct err *err) {
    int r = jsonpull_null(pull, err);

    if (r != 0)
        return r < 0 ? r : 0;
    return (r = jsonpull_bool(pull, ret_value, err)) < 0 ? r : 1;
}

int member_time(struct jsonpull *pull, int64_t *ret_ms, struct err *err) {
    char text[64];
    int r = member_text(pull, text, sizeof(text), err);

    if (r <= 0)
        return r;
    return (r = timestamp_parse(text, ret_ms, err)) < 0 ? r : 1;
}

int member_hold(struct names *names, const char *text, size_t size_bytes, const char **slot,
                struct err *err) {
    const char *held = size_bytes ? names_take(names, text, size_bytes) : NULL;

    if (size_bytes && !held)
        return err_set(err, ERR_RETRY, "no room for the name '%.*s' beside %zu others",
                       (int)(size_bytes < 64 ? size_bytes : 64), text, names_count(names));
    names_drop(names, *slot);
    *slot = held;
    return 0;
}

int member_name(struct jsonpull *pull, struct names *names, const char **slot, struct err *err) {
    char room[NAMES_TEXT_MAX];
    struct jsonpull_text text;
    int r = jsonpull_null(pull, err);

    if (r != 0)
        return r < 0 ? r : member_hold(names, "", 0, slot, err);
    if ((r = jsonpull_string(pull, room, sizeof(room), &text, err)) < 0)
        return r;
    if (text.size_bytes > NAMES_TEXT_MAX)
        return err_set(err, ERR_INVALID, "a name of %zu bytes; at most %d", text.size_bytes,
                       NAMES_TEXT_MAX);
    return (r = member_hold(names, text.bytes, text.size_bytes, slot, err)) < 0 ? r : 1;
}
