#include "api/condition.h"

#include "api/member.h"
#include "base/timestamp.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char *const status_names[] = {"Unknown", "True", "False"};

static bool is_camel_case(const char *text) {
    size_t len = text ? strnlen(text, CONDITION_NAME_MAX + 1) : 0;

    if (len == 0 || len > CONDITION_NAME_MAX || !isupper((unsigned char)text[0]))
        return false;
    while (len > 0)
        if (!isalnum((unsigned char)text[--len]))
            return false;
    return true;
}

static int check(const struct condition *condition, struct err *err) {
    if (!is_camel_case(condition->type))
        return err_set(err, ERR_INVALID, "condition type '%.64s' is not CamelCase",
                       condition->type ? condition->type : "");
    if (!is_camel_case(condition->reason))
        return err_set(err, ERR_INVALID, "condition %s: reason '%.64s' is not CamelCase",
                       condition->type, condition->reason ? condition->reason : "");
    return 0;
}

/* Bytes of the message that are kept: a cut never splits a character. */
static size_t kept_bytes(const char *message) {
    size_t size_bytes = strnlen(message, CONDITION_MESSAGE_MAX + 1);

    if (size_bytes <= CONDITION_MESSAGE_MAX)
        return size_bytes;
    size_bytes = CONDITION_MESSAGE_MAX;
    while (size_bytes > 0 && ((unsigned char)message[size_bytes] & 0xC0) == 0x80)
        size_bytes--;
    return size_bytes;
}

/* Puts value (stolen) under key unless an equal one is there. Returns whether it changed. */
static bool put(json_t *entry, const char *key, json_t *value) {
    if (json_equal(json_object_get(entry, key), value)) {
        json_decref(value);
        return false;
    }
    json_object_set_new(entry, key, value);
    return true;
}

int condition_set(json_t *conditions, const struct condition *condition, int64_t now_ms,
                  struct err *err) {
    json_t *entry = (json_t *)(uintptr_t)condition_find(conditions, condition->type);
    const char *message = condition->message ? condition->message : "";
    char now[TIMESTAMP_SIZE];
    json_t *text;
    bool changed;
    int r = check(condition, err);

    if (r < 0)
        return r;
    if (!json_is_array(conditions) ||
        (!entry && json_array_size(conditions) >= CONDITION_COUNT_MAX))
        return err_set(err, ERR_INVALID, "condition %s: no list with room for it; at most %d",
                       condition->type, CONDITION_COUNT_MAX);
    text = json_stringn(message, kept_bytes(message));
    if (!text)
        return err_set(err, ERR_INVALID, "condition %s: message is not UTF-8", condition->type);
    if (!entry) {
        json_array_append_new(conditions, json_object());
        entry = json_array_get(conditions, json_array_size(conditions) - 1);
        put(entry, "type", json_string(condition->type));
    }
    changed = put(entry, "status", json_string(status_names[condition->status]));
    timestamp_format(now_ms, now);
    if (changed || !json_is_string(json_object_get(entry, "lastTransitionTime")))
        changed = put(entry, "lastTransitionTime", json_string(now)) || changed;
    changed = put(entry, "reason", json_string(condition->reason)) || changed;
    changed = put(entry, "message", text) || changed;
    changed =
        put(entry, "observedGeneration", json_integer(condition->observed_generation)) || changed;
    return changed;
}

const json_t *condition_find(const json_t *conditions, const char *type) {
    for (size_t i = 0; type && i < json_array_size(conditions); i++) {
        const json_t *entry = json_array_get(conditions, i);
        const char *text = json_string_value(json_object_get(entry, "type"));

        if (text && strcmp(text, type) == 0)
            return entry;
    }
    return NULL;
}

enum condition_status condition_status(const json_t *conditions, const char *type) {
    const json_t *entry = condition_find(conditions, type);
    const char *text = json_string_value(json_object_get(entry, "status"));

    if (text && strcmp(text, status_names[CONDITION_TRUE]) == 0)
        return CONDITION_TRUE;
    if (text && strcmp(text, status_names[CONDITION_FALSE]) == 0)
        return CONDITION_FALSE;
    return CONDITION_UNKNOWN;
}

/* A string as a slice; 0 and nothing for null. */
static int slice(struct jsonpull *pull, struct jsonpull_text *ret_text, struct err *err) {
    const int r = jsonpull_null(pull, err);

    return r != 0 ? (r < 0 ? r : 0) : jsonpull_text(pull, ret_text, err);
}

/* 1 when the object that comes next is of the type. */
static int read_entry(struct jsonpull *pull, const char *type, struct condition_seen *ret_seen,
                      struct err *err) {
    struct condition_seen seen = {0};
    struct jsonpull_text key, type_text = {0}, status = {0}, changed = {0};
    char time[64];
    size_t size_bytes;
    int r = member_object(pull, err);

    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        int read = 0;

        if (jsonpull_text_is(&key, "type"))
            read = slice(pull, &type_text, err);
        else if (jsonpull_text_is(&key, "status"))
            read = slice(pull, &status, err);
        else if (jsonpull_text_is(&key, "reason"))
            read = slice(pull, &seen.reason, err);
        else if (jsonpull_text_is(&key, "lastTransitionTime"))
            read = slice(pull, &changed, err);
        if (read < 0)
            return read;
    }
    if (r < 0 || !type_text.bytes || !jsonpull_text_is(&type_text, type))
        return r;
    if (changed.bytes &&
        ((r = jsonpull_text_copy(&changed, time, sizeof(time), &size_bytes, err)) < 0 ||
         (r = timestamp_parse(time, &seen.changed_ms, err)) < 0))
        return r;
    if (status.bytes && jsonpull_text_is(&status, status_names[CONDITION_TRUE]))
        seen.status = CONDITION_TRUE;
    else if (status.bytes && jsonpull_text_is(&status, status_names[CONDITION_FALSE]))
        seen.status = CONDITION_FALSE;
    *ret_seen = seen;
    return 1;
}

int condition_read(struct jsonpull *pull, const char *type, struct condition_seen *ret_seen,
                   struct err *err) {
    int found = 0;
    int r = member_array(pull, err);

    while (r > 0 && (r = jsonpull_next_item(pull, err)) > 0) {
        const int entry = read_entry(pull, type, ret_seen, err);

        if (entry < 0)
            return err_wrap(err, entry, "conditions");
        found |= entry;
    }
    return r < 0 ? r : found;
}
