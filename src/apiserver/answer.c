#include "apiserver/answer.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX_BYTES ((size_t)64 << 20)
#define FLUSH_BYTES ((size_t)64 << 10)

#define JSON_MEDIA "application/json"

static void send(struct call *call, int status, struct str *text);
static void send_table(struct call *call, struct object *const *list, size_t count, const char *rv,
                       const char *continue_token);
static void flush(struct call *call, struct str *text);

void answer_object(struct call *call, int status, const struct object *object) {
    struct str text;

    str_init(&text, ANSWER_MAX_BYTES);
    view_add(&call->view, object, &text, NULL);
    send(call, status, &text);
}

void answer_tree(struct call *call, int status, json_t *tree) {
    struct str text;

    str_init(&text, ANSWER_MAX_BYTES);
    view_add_tree(&call->view, tree, &text, NULL);
    send(call, status, &text);
}

void answer_document(struct call *call, int status, const json_t *document) {
    auto_free char *text = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);

    call->reply->ops->head(call->reply, status, JSON_MEDIA, call->warning);
    call->reply->ops->data(call->reply, text, strlen(text));
    call->reply->ops->end(call->reply);
}

void answer_text(struct call *call, int status, const char *text) {
    http_answer(call->reply, status, "text/plain", text, strlen(text));
}

void answer_refusal(struct call *call) {
    json_auto_t *status = refusal_status_new(&call->refusal);

    answer_document(call, call->refusal.status, status);
}

void answer_list(struct call *call, struct object *const *list, size_t count, uint64_t rv,
                 const char *continue_token, int64_t remaining) {
    auto_free char *api_version = view_api_version(call->kind);
    const bool metadata = call->view.form == VIEW_METADATA;
    struct str text;
    char version[24];

    snprintf(version, sizeof version, "%llu", (unsigned long long)rv);
    if (call->view.form == VIEW_TABLE) {
        send_table(call, list, count, version, continue_token);
        return;
    }
    str_init(&text, ANSWER_MAX_BYTES);
    call->reply->ops->head(call->reply, 200, JSON_MEDIA, call->warning);
    str_addf(&text, NULL,
             "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%s\"",
             metadata ? "PartialObjectMetadataList" : call->kind->list_name,
             metadata ? "meta.k8s.io/v1" : api_version, version);
    if (continue_token)
        str_addf(&text, NULL, ",\"continue\":\"%s\"", continue_token);
    if (remaining >= 0)
        str_addf(&text, NULL, ",\"remainingItemCount\":%lld", (long long)remaining);
    str_addf(&text, NULL, "},\"items\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            str_add(&text, ",", 1, NULL);
        view_add(&call->view, list[i], &text, NULL);
        if (text.size_bytes >= FLUSH_BYTES)
            flush(call, &text);
    }
    str_add(&text, "]}\n", 3, NULL);
    flush(call, &text);
    str_done(&text);
    call->reply->ops->end(call->reply);
}

void answer_deleted(struct call *call, const struct object *object) {
    const char *uid =
        json_string_value(json_object_get(json_object_get(object->tree, "metadata"), "uid"));
    json_auto_t *details = json_pack("{s:s}", "name", object->name);

    if (*call->kind->group != '\0')
        json_object_set_new(details, "group", json_string(call->kind->group));
    json_object_set_new(details, "kind", json_string(call->kind->resource));
    json_object_set_new(details, "uid", json_string(uid ? uid : ""));
    json_auto_t *status = json_pack("{s:s, s:s, s:{}, s:s, s:O}", "kind", "Status", "apiVersion",
                                    "v1", "metadata", "status", "Success", "details", details);

    answer_document(call, 200, status);
}

static void send(struct call *call, int status, struct str *text) {
    str_add(text, "\n", 1, NULL);
    call->reply->ops->head(call->reply, status, JSON_MEDIA, call->warning);
    call->reply->ops->data(call->reply, text->data, text->size_bytes);
    call->reply->ops->end(call->reply);
    str_done(text);
}

static void send_table(struct call *call, struct object *const *list, size_t count, const char *rv,
                       const char *continue_token) {
    json_auto_t *trees = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(trees, view_object_new(call->kind, list[i]->tree));
    json_auto_t *table = kind_table_new(call->kind, trees, rv, continue_token,
                                        call->view.include_object, call->view.wall_ms);

    answer_document(call, 200, table);
}

static void flush(struct call *call, struct str *text) {
    call->reply->ops->data(call->reply, text->data, text->size_bytes);
    str_clear(text);
}
