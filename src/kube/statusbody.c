#include "kube/statusbody.h"

#include "base/jsonpull.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

static int read_fields(struct jsonpull *pull, struct statusbody *status);
static int read_details(struct jsonpull *pull, struct statusbody *status);
static int read_causes(struct jsonpull *pull, struct statusbody *status);
static int read_cause(struct jsonpull *pull, struct statusbody *status);
static void read_reason(struct jsonpull *pull, char *room, size_t room_bytes);
static void read_message(struct jsonpull *pull, struct statusbody *status);

void statusbody_read(const char *bytes, size_t size_bytes, struct statusbody *ret_status) {
    const struct statusbody nothing = {.retry_after_ms = -1};
    struct jsonpull pull;

    *ret_status = nothing;
    jsonpull_init(&pull, bytes, size_bytes);
    if (read_fields(&pull, ret_status) < 0 || jsonpull_end(&pull, NULL) < 0)
        *ret_status = nothing;
}

bool statusbody_is_json(const char *content_type) {
    static const char json[] = "application/json";
    const size_t len = sizeof json - 1;

    return strncasecmp(content_type, json, len) == 0 &&
           (content_type[len] == '\0' || strchr("; \t", content_type[len]));
}

static int read_fields(struct jsonpull *pull, struct statusbody *status) {
    struct jsonpull_text key;
    int r = jsonpull_enter_object(pull, NULL);

    if (r < 0)
        return r;
    while ((r = jsonpull_next_key(pull, &key, NULL)) == 1) {
        int64_t code = 0;

        if (jsonpull_text_is(&key, "reason"))
            read_reason(pull, status->reason, sizeof status->reason);
        else if (jsonpull_text_is(&key, "message"))
            read_message(pull, status);
        else if (jsonpull_text_is(&key, "code") && jsonpull_int(pull, &code, NULL) >= 0)
            status->code = code > 0 && code < INT_MAX ? (int)code : 0;
        else if (jsonpull_text_is(&key, "details") && read_details(pull, status) < 0)
            return ERR_INVALID;
    }
    return r;
}

/* A value of another type than expected is left, and passed over by the next key. */
static int read_details(struct jsonpull *pull, struct statusbody *status) {
    struct jsonpull_text key;
    int r = 0;

    if (jsonpull_type(pull, NULL) != JSONPULL_OBJECT)
        return 0;
    jsonpull_enter_object(pull, NULL);
    while ((r = jsonpull_next_key(pull, &key, NULL)) == 1) {
        int64_t seconds = 0;

        if (jsonpull_text_is(&key, "causes") && read_causes(pull, status) < 0)
            return ERR_INVALID;
        if (jsonpull_text_is(&key, "retryAfterSeconds") &&
            jsonpull_int(pull, &seconds, NULL) >= 0 && seconds > 0 && seconds <= INT_MAX)
            status->retry_after_ms = seconds * 1000;
    }
    return r;
}

static int read_causes(struct jsonpull *pull, struct statusbody *status) {
    int r = 0;

    if (jsonpull_type(pull, NULL) != JSONPULL_ARRAY)
        return 0;
    jsonpull_enter_array(pull, NULL);
    while ((r = jsonpull_next_item(pull, NULL)) == 1)
        if (read_cause(pull, status) < 0)
            return ERR_INVALID;
    return r;
}

static int read_cause(struct jsonpull *pull, struct statusbody *status) {
    struct jsonpull_text key;
    int r = 0;

    if (jsonpull_type(pull, NULL) != JSONPULL_OBJECT)
        return 0;
    jsonpull_enter_object(pull, NULL);
    while ((r = jsonpull_next_key(pull, &key, NULL)) == 1) {
        char reason[STATUSBODY_REASON_SIZE] = "";

        if (!jsonpull_text_is(&key, "reason"))
            continue;
        read_reason(pull, reason, sizeof reason);
        status->too_large_rv |= strcmp(reason, "ResourceVersionTooLarge") == 0;
        status->field_conflict |= strcmp(reason, "FieldManagerConflict") == 0;
    }
    return r;
}

static void read_reason(struct jsonpull *pull, char *room, size_t room_bytes) {
    struct jsonpull_text text;
    size_t size_bytes = 0;

    if (jsonpull_text(pull, &text, NULL) < 0 ||
        jsonpull_text_copy(&text, room, room_bytes, &size_bytes, NULL) < 0)
        room[0] = '\0';
}

static void read_message(struct jsonpull *pull, struct statusbody *status) {
    struct jsonpull_text text;
    size_t size_bytes = 0;

    if (jsonpull_text(pull, &text, NULL) < 0 ||
        jsonpull_text_copy(&text, status->message, sizeof status->message, &size_bytes, NULL) >= 0)
        return;
    /* Too long: its start, as it stands in the document, cut before a whole character. */
    size_bytes = sizeof status->message - 1;
    if (size_bytes > text.size_bytes)
        size_bytes = text.size_bytes;
    else
        while (size_bytes > 0 && ((unsigned char)text.bytes[size_bytes] & 0xC0) == 0x80)
            size_bytes--;
    memcpy(status->message, text.bytes, size_bytes);
    status->message[size_bytes] = '\0';
}
