#include "kube/event.h"

#include "base/auto.h"
#include "base/jsonwrite.h"
#include "base/str.h"
#include "base/timestamp.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define BODY_MAX_BYTES ((size_t)32 << 10)
#define NAME_MAX_BYTES 200 /* of the regarded object's name within the event's */

/* Equal facts. */
struct series {
    char *key;
    char *name; /* the Event's */
    char *ns;
    char *reason;
    char *action;
    char *note;
    char *regarding; /* JSON */
    enum event_type type;
    int64_t first_wall_ms;
    int64_t last_wall_ms;
    int64_t last_ms; /* the latest fact, monotonic */
    int64_t write_ms;
    int64_t retry_ms; /* not before; 0: no try has failed */
    int64_t count;
    int64_t written_count; /* as the server knows it; 0: not created */
    int64_t sent_count;
    uint64_t sent_id; /* of the write under way; 0: none */
    unsigned tries;
    bool dead; /* given up: only counts what would have been said */
    UT_hash_handle hh;
};

struct event_recorder {
    char *controller;
    char *instance;
    struct random rng;
    struct series *series;
    struct str body;
    uint64_t last_id;
    unsigned dropped_count;
};

static struct series *series_new(struct event_recorder *recorder, char *key,
                                 const struct event_regarding *regarding);
static void series_free(struct event_recorder *recorder, struct series *series);
static int64_t series_due_ms(const struct series *series);
static void prune(struct event_recorder *recorder, int64_t now_ms);
static void give_up(struct event_recorder *recorder, struct series *series);
static int write_body(struct event_recorder *recorder, const struct series *series);
static void write_series(struct jsonwrite *w, const struct series *series);
static void member(struct jsonwrite *w, const char *key, const char *text);
static char *regarding_json(const struct event_regarding *regarding);
static char *event_name(struct event_recorder *recorder, const char *name);
static size_t cut_bytes(const char *text, size_t max_bytes);

struct event_recorder *event_recorder_new(const char *controller, const char *instance,
                                          struct random rng) {
    struct event_recorder *recorder = str_alloc(1, sizeof *recorder);

    recorder->controller = str_dup(controller);
    recorder->instance = str_dup(instance);
    recorder->rng = rng;
    str_init(&recorder->body, BODY_MAX_BYTES);
    return recorder;
}

void event_recorder_free(struct event_recorder *recorder) {
    if (!recorder)
        return;
    while (recorder->series)
        series_free(recorder, recorder->series);
    str_done(&recorder->body);
    free(recorder->controller);
    free(recorder->instance);
    free(recorder);
}

void event_record(struct event_recorder *recorder, const struct event_regarding *regarding,
                  enum event_type type, const char *reason, const char *action, const char *note,
                  int64_t now_ms, int64_t wall_ms) {
    auto_free char *key = str_printf("%d\n%s\n%s\n%s\n%s\n%s\n%s\n%s", (int)type, action, reason,
                                     regarding->api_version, regarding->kind, regarding->ns,
                                     regarding->name, regarding->uid);
    struct series *series = NULL;

    prune(recorder, now_ms);
    HASH_FIND(hh, recorder->series, key, strlen(key), series);
    if (!series && HASH_COUNT(recorder->series) >= EVENT_SERIES_MAX) {
        recorder->dropped_count++;
        return;
    }
    if (!series) {
        series = series_new(recorder, take(key), regarding);
        series->type = type;
        series->reason = str_dup(reason);
        series->action = str_dup(action);
        series->note = str_dup_len(note, cut_bytes(note, EVENT_NOTE_MAX_BYTES));
        series->first_wall_ms = wall_ms;
    }
    if (series->dead)
        recorder->dropped_count++;
    series->count++;
    series->last_ms = now_ms;
    series->last_wall_ms = wall_ms;
}

int event_next(struct event_recorder *recorder, int64_t now_ms, struct kube_call *ret_call,
               uint64_t *ret_id) {
    prune(recorder, now_ms);
    for (struct series *series = recorder->series; series; series = series->hh.next) {
        if (series_due_ms(series) > now_ms)
            continue;
        if (write_body(recorder, series) < 0) {
            give_up(recorder, series);
            continue;
        }
        series->sent_id = ++recorder->last_id;
        series->sent_count = series->count;
        *ret_call = (struct kube_call){
            .verb = series->written_count > 0 ? KUBE_MERGE_PATCH : KUBE_CREATE,
            .target = {.group = "events.k8s.io",
                       .version = "v1",
                       .resource = "events",
                       .ns = series->ns,
                       .name = series->written_count > 0 ? series->name : NULL},
            .body = recorder->body.data,
            .body_bytes = recorder->body.size_bytes,
        };
        *ret_id = series->sent_id;
        return 1;
    }
    return 0;
}

void event_done(struct event_recorder *recorder, uint64_t id, const struct kube_reply *reply,
                int64_t now_ms) {
    struct series *series = recorder->series;

    while (series && (id == 0 || series->sent_id != id))
        series = series->hh.next;
    if (!series)
        return;
    const bool patch = series->written_count > 0;
    const int status = reply && reply->end == HTTP_DONE ? reply->status : 0;
    /* A name of ours that exists is an earlier try whose answer was lost. */
    const bool exists = !patch && status == 409 && strcmp(reply->reason, "AlreadyExists") == 0;

    series->sent_id = 0;
    if (exists || (reply && kube_reply_ok(reply))) {
        series->written_count = exists ? 1 : series->sent_count;
        series->write_ms = now_ms;
        series->tries = 0;
        series->retry_ms = 0;
    } else if (patch && status == 404) {
        series->written_count = 0; /* expired: tell it anew */
    } else if ((status != 0 && status != 429 && status < 500) ||
               ++series->tries >= EVENT_TRY_MAX_COUNT) {
        give_up(recorder, series);
    } else {
        const int64_t wait_ms =
            reply && reply->retry_after_ms > EVENT_TRY_MS ? reply->retry_after_ms : EVENT_TRY_MS;

        series->retry_ms = now_ms + wait_ms;
    }
}

int64_t event_due_ms(const struct event_recorder *recorder) {
    int64_t due_ms = INT64_MAX;

    for (const struct series *series = recorder->series; series; series = series->hh.next)
        if (series_due_ms(series) < due_ms)
            due_ms = series_due_ms(series);
    return due_ms;
}

unsigned event_dropped_count(const struct event_recorder *recorder) {
    return recorder->dropped_count;
}

static struct series *series_new(struct event_recorder *recorder, char *key,
                                 const struct event_regarding *regarding) {
    struct series *series = str_alloc(1, sizeof *series);

    series->key = key;
    series->name = event_name(recorder, regarding->name);
    series->ns = str_dup(regarding->ns[0] ? regarding->ns : "default");
    series->regarding = regarding_json(regarding);
    HASH_ADD_KEYPTR(hh, recorder->series, series->key, strlen(series->key), series);
    return series;
}

static void series_free(struct event_recorder *recorder, struct series *series) {
    HASH_DEL(recorder->series, series);
    free(series->key);
    free(series->name);
    free(series->ns);
    free(series->reason);
    free(series->action);
    free(series->note);
    free(series->regarding);
    free(series);
}

/* When the next write of a series is due; INT64_MAX: none is. */
static int64_t series_due_ms(const struct series *series) {
    const int64_t idle_ms = series->last_ms + EVENT_IDLE_MS;
    int64_t due_ms = series->write_ms + EVENT_REFRESH_MS;

    if (series->dead || series->sent_id || series->count == series->written_count)
        return INT64_MAX;
    if (series->written_count <= 1) /* new, or just now known to repeat */
        due_ms = series->last_ms;
    else if (idle_ms < due_ms)
        due_ms = idle_ms; /* its end */
    return due_ms > series->retry_ms ? due_ms : series->retry_ms;
}

static void prune(struct event_recorder *recorder, int64_t now_ms) {
    struct series *series, *next;

    HASH_ITER(hh, recorder->series, series, next) {
        const bool written = series->dead || series->count == series->written_count;

        if (written && !series->sent_id && now_ms - series->last_ms >= EVENT_IDLE_MS)
            series_free(recorder, series);
    }
}

/* Stays known until it is idle, so that a refusal is not asked for again by each new fact. */
static void give_up(struct event_recorder *recorder, struct series *series) {
    series->dead = true;
    recorder->dropped_count++;
}

static int write_body(struct event_recorder *recorder, const struct series *series) {
    char when[TIMESTAMP_MICRO_SIZE];
    struct jsonwrite w;

    str_clear(&recorder->body);
    jsonwrite_init(&w, &recorder->body);
    jsonwrite_object(&w);
    if (series->written_count == 0) {
        timestamp_format_micro(series->first_wall_ms, when);
        member(&w, "apiVersion", "events.k8s.io/v1");
        member(&w, "kind", "Event");
        jsonwrite_key(&w, "metadata");
        jsonwrite_object(&w);
        member(&w, "name", series->name);
        member(&w, "namespace", series->ns);
        jsonwrite_object_end(&w);
        member(&w, "eventTime", when);
        member(&w, "type", series->type == EVENT_NORMAL ? "Normal" : "Warning");
        member(&w, "reason", series->reason);
        member(&w, "action", series->action);
        member(&w, "note", series->note);
        member(&w, "reportingController", recorder->controller);
        member(&w, "reportingInstance", recorder->instance);
        jsonwrite_key(&w, "regarding");
        jsonwrite_raw(&w, series->regarding, strlen(series->regarding));
    }
    if (series->count > 1)
        write_series(&w, series);
    jsonwrite_object_end(&w);
    return jsonwrite_finish(&w, NULL);
}

static void write_series(struct jsonwrite *w, const struct series *series) {
    char when[TIMESTAMP_MICRO_SIZE];

    timestamp_format_micro(series->last_wall_ms, when);
    jsonwrite_key(w, "series");
    jsonwrite_object(w);
    jsonwrite_key(w, "count");
    jsonwrite_int(w, series->count < INT32_MAX ? series->count : INT32_MAX);
    member(w, "lastObservedTime", when);
    jsonwrite_object_end(w);
}

static void member(struct jsonwrite *w, const char *key, const char *text) {
    jsonwrite_key(w, key);
    jsonwrite_text(w, text);
}

/* "" if it cannot be written; the event's body then fails too. */
static char *regarding_json(const struct event_regarding *regarding) {
    struct str out;
    struct jsonwrite w;

    str_init(&out, BODY_MAX_BYTES);
    jsonwrite_init(&w, &out);
    jsonwrite_object(&w);
    member(&w, "apiVersion", regarding->api_version);
    member(&w, "kind", regarding->kind);
    if (regarding->ns[0])
        member(&w, "namespace", regarding->ns);
    member(&w, "name", regarding->name);
    member(&w, "uid", regarding->uid);
    jsonwrite_object_end(&w);
    jsonwrite_finish(&w, NULL);
    char *json = str_dup(out.data ? out.data : "");

    str_done(&out);
    return json;
}

/* "<object>.<16 digits>"; what a name may not hold is written as "-". */
static char *event_name(struct event_recorder *recorder, const char *name) {
    auto_free char *clean = str_dup_len(name, cut_bytes(name, NAME_MAX_BYTES));
    size_t size_bytes = strlen(clean);

    for (char *c = clean; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", *c))
            *c = '-';
    while (size_bytes > 0 && strchr("-.", clean[size_bytes - 1]))
        clean[--size_bytes] = '\0';
    const char *start = clean + strspn(clean, "-.");

    return str_printf("%s.%016" PRIx64, start[0] ? start : "event", random_next(&recorder->rng));
}

/* Length of text, or of its longest start of whole characters within max_bytes. */
static size_t cut_bytes(const char *text, size_t max_bytes) {
    size_t size_bytes = strlen(text);

    if (size_bytes <= max_bytes)
        return size_bytes;
    size_bytes = max_bytes;
    while (size_bytes > 0 && ((unsigned char)text[size_bytes] & 0xC0) == 0x80)
        size_bytes--;
    return size_bytes;
}
