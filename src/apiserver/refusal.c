#include "apiserver/refusal.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_MAX_BYTES 16384

static json_t *details_new(const char *group, const char *kind, const char *name);
static json_t *cause_new(const char *reason, const char *message, const char *field);
static char *qualified(const char *resource, const char *group);

int refuse(struct refusal *refusal, int status, const char *reason, const char *fmt, ...) {
    char text[4096];
    va_list args;

    if (refusal->status != 0)
        return ERR_INVALID;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    refusal->status = status;
    refusal->reason = reason;
    refusal->message = str_dup(text);
    return ERR_INVALID;
}

int refuse_unknown(struct refusal *refusal, const char *group, const char *resource,
                   const char *name) {
    auto_free char *full = qualified(resource, group);

    if (refusal->status == 0)
        refusal->details = details_new(group, resource, name);
    return refuse(refusal, 404, "NotFound", "%s \"%s\" not found", full, name);
}

int refuse_path(struct refusal *refusal) {
    if (refusal->status == 0)
        refusal->details = json_object();
    return refuse(refusal, 404, "NotFound", "the server could not find the requested resource");
}

int refuse_verb(struct refusal *refusal) {
    if (refusal->status == 0)
        refusal->details = json_object();
    return refuse(refusal, 405, "MethodNotAllowed",
                  "the server does not allow this method on the requested resource");
}

int refuse_existing(struct refusal *refusal, const struct kind *kind, const char *name) {
    auto_free char *full = qualified(kind->resource, kind->group);

    if (refusal->status == 0)
        refusal->details = details_new(kind->group, kind->resource, name);
    return refuse(refusal, 409, "AlreadyExists", "%s \"%s\" already exists", full, name);
}

int refuse_conflict(struct refusal *refusal, const struct kind *kind, const char *name,
                    const char *why) {
    auto_free char *full = qualified(kind->resource, kind->group);

    if (refusal->status == 0)
        refusal->details = details_new(kind->group, kind->resource, name);
    return refuse(refusal, 409, "Conflict", "Operation cannot be fulfilled on %s \"%s\": %s", full,
                  name, why);
}

int refuse_invalid(struct refusal *refusal, const struct kind *kind, const char *name,
                   const struct schema_causes *causes) {
    auto_free char *full = qualified(kind->name, kind->group);
    const int kept = causes->count < SCHEMA_CAUSES_MAX ? causes->count : SCHEMA_CAUSES_MAX;
    struct str text;

    if (refusal->status != 0)
        return ERR_INVALID;
    json_t *list = json_array();

    str_init(&text, MESSAGE_MAX_BYTES);
    str_addf(&text, NULL, "%s", kept > 1 ? "[" : "");
    for (int i = 0; i < kept; i++) {
        const struct schema_cause *cause = &causes->at[i];

        str_addf(&text, NULL, "%s%s%s%s", i > 0 ? ", " : "", cause->field,
                 *cause->field != '\0' ? ": " : "", cause->message);
        json_array_append_new(list, cause_new(cause->reason, cause->message, cause->field));
    }
    str_addf(&text, NULL, "%s", kept > 1 ? "]" : "");
    refusal->status = 422;
    refusal->reason = "Invalid";
    refusal->message = str_printf("%s \"%s\" is invalid: %s", full, name, text.data);
    refusal->details = details_new(kind->group, kind->name, name);
    json_object_set_new(refusal->details, "causes", list);
    str_done(&text);
    return ERR_INVALID;
}

int refuse_field(struct refusal *refusal, const struct kind *kind, const char *name,
                 const char *reason, const char *field, const char *fmt, ...) {
    struct schema_causes causes = {.count = 1};
    va_list args;

    causes.at[0].reason = reason;
    snprintf(causes.at[0].field, sizeof causes.at[0].field, "%s", field);
    va_start(args, fmt);
    vsnprintf(causes.at[0].message, sizeof causes.at[0].message, fmt, args);
    va_end(args);
    return refuse_invalid(refusal, kind, name, &causes);
}

int refuse_apply(struct refusal *refusal, const struct patch_conflicts *conflicts) {
    const int kept =
        conflicts->count < PATCH_CONFLICTS_MAX ? conflicts->count : PATCH_CONFLICTS_MAX;
    struct str text;

    if (refusal->status != 0)
        return ERR_INVALID;
    json_t *causes = json_array();

    str_init(&text, MESSAGE_MAX_BYTES);
    str_addf(&text, NULL, "Apply failed with %d conflict%s:", kept, kept == 1 ? "" : "s");
    for (int i = 0; i < kept; i++) {
        const struct patch_conflict *conflict = &conflicts->at[i];
        const bool same = i > 0 && strcmp(conflict->manager, conflicts->at[i - 1].manager) == 0;
        const char *quote = strchr(conflict->manager, '"') ? "" : "\"";
        auto_free char *who = str_printf("conflict with %s%s%s", quote, conflict->manager, quote);

        if (kept == 1)
            str_addf(&text, NULL, " %s: %s", who, conflict->field);
        else if (same)
            str_addf(&text, NULL, "\n- %s", conflict->field);
        else
            str_addf(&text, NULL, "%sconflicts%s:\n- %s", i > 0 ? "\n" : " ",
                     who + strlen("conflict"), conflict->field);
        json_array_append_new(causes, cause_new("FieldManagerConflict", who, conflict->field));
    }
    refusal->status = 409;
    refusal->reason = "Conflict";
    refusal->message = text.data ? str_dup(text.data) : str_dup("");
    refusal->details = json_pack("{s:o}", "causes", causes);
    str_done(&text);
    return ERR_INVALID;
}

int refuse_future(struct refusal *refusal, uint64_t rv, uint64_t current) {
    if (refusal->status == 0)
        refusal->details =
            json_pack("{s:[o], s:i}", "causes",
                      cause_new("ResourceVersionTooLarge", "Too large resource version", NULL),
                      "retryAfterSeconds", 1);
    return refuse(refusal, 504, "Timeout",
                  "Timeout: Too large resource version: %llu, current: %llu",
                  (unsigned long long)rv, (unsigned long long)current);
}

json_t *refusal_status_new(const struct refusal *refusal) {
    json_t *status =
        json_pack("{s:s, s:s, s:{}, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1",
                  "metadata", "status", "Failure", "message", refusal->message, "reason",
                  refusal->reason, "code", refusal->status);

    if (!status) /* the words quote bytes that are no UTF-8 */
        status = json_pack("{s:s, s:s, s:{}, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1",
                           "metadata", "status", "Failure", "reason", refusal->reason, "code",
                           refusal->status);
    if (refusal->details)
        json_object_set(status, "details", refusal->details);
    if (refusal->continue_token)
        json_object_set_new(json_object_get(status, "metadata"), "continue",
                            json_string(refusal->continue_token));
    return status;
}

void refusal_done(struct refusal *refusal) {
    if (!refusal)
        return;
    free(refusal->message);
    free(refusal->continue_token);
    json_decref(refusal->details);
    *refusal = (struct refusal){0};
}

static json_t *details_new(const char *group, const char *kind, const char *name) {
    json_t *details = json_object();

    json_object_set_new(details, "name", json_string(name));
    if (*group != '\0')
        json_object_set_new(details, "group", json_string(group));
    json_object_set_new(details, "kind", json_string(kind));
    return details;
}

static json_t *cause_new(const char *reason, const char *message, const char *field) {
    json_t *cause = json_object();

    json_object_set_new(cause, "reason", json_string(reason));
    json_object_set_new(cause, "message", json_string(message));
    if (field && *field != '\0')
        json_object_set_new(cause, "field", json_string(field));
    return cause;
}

/* "deployments.apps" */
static char *qualified(const char *resource, const char *group) {
    return *group != '\0' ? str_printf("%s.%s", resource, group) : str_dup(resource);
}
