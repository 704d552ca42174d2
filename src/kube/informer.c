#include "kube/informer.h"

#include "base/jsonpull.h"
#include "base/jsonsplit.h"
#include "base/str.h"
#include "kube/statusbody.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET_MAX_BYTES ((size_t)64 << 10)
#define REFUSAL_MAX_BYTES ((size_t)64 << 10) /* of a refusal's body that is kept */
#define TEXT_SIZE 320

/* The response under way. */
struct stream {
    uint64_t id; /* the transport's; 0: none */
    uint64_t serial;
    bool watch;
    bool splitting; /* split has been set up */
    int refused;    /* HTTP status of a refusal, told once its body is whole; else 0 */
    int64_t retry_after_ms;
    struct jsonsplit split;
    struct str refusal;
};

struct informer {
    struct informer_options options; /* its texts are owned here */
    struct reflector *reflector;
    struct stream stream;
    struct reflector_out out; /* of the latest step; drop and send until settle() */
    unsigned fault_count;
    struct err fault;
};

/* What is read of an object when the caller's reader is not asked. */
struct envelope {
    char ns[TEXT_SIZE];
    char name[TEXT_SIZE];
    char uid[TEXT_SIZE];
    char rv[REFLECTOR_RV_SIZE];
    bool initial_end;
};

static void step(struct informer *informer, struct reflector_event event);
static void settle(struct informer *informer);
static void start(struct informer *informer);
static int write_target(struct str *out, const struct informer *informer, struct err *err);
static void stream_close(struct stream *stream);
static void on_head(void *arg, const struct http_head *head);
static void on_data(void *arg, const char *bytes, size_t size_bytes);
static void on_done(void *arg, enum http_end end, const char *text);
static void on_list_done(struct informer *informer);
static void on_refused(struct informer *informer);
static int on_object(void *arg, const char *bytes, size_t size_bytes, struct err *err);
static int on_line(void *arg, const char *bytes, size_t size_bytes, struct err *err);
static void on_change(struct informer *informer, enum reflector_type type,
                      const struct jsonsplit_event *line);
static void on_deleted(struct informer *informer, const struct jsonsplit_event *line);
static void on_bookmark(struct informer *informer, const struct jsonsplit_event *line);
static void on_error(struct informer *informer, const struct jsonsplit_event *line);
static int read_item(struct informer *informer, const char *bytes, size_t size_bytes,
                     struct store_item *ret_item);
static enum reflector_type type_of(const char *text);
static const char *reason_of(const struct statusbody *status);
static void envelope_read(const char *bytes, size_t size_bytes, struct envelope *ret_envelope);
static void metadata_read(struct jsonpull *pull, struct envelope *envelope);
static void annotations_read(struct jsonpull *pull, struct envelope *envelope);
static void text_read(struct jsonpull *pull, char *room, size_t room_bytes);

struct informer *informer_new(const struct informer_options *options) {
    struct informer *informer = str_alloc(1, sizeof *informer);
    struct informer_options *own = &informer->options;
    const struct reflector_config config = {.max_items = options->max_items,
                                            .free_object = options->free_object,
                                            .sink = options->sink,
                                            .context = options->context,
                                            .watch_list = options->watch_list,
                                            .no_bookmarks = options->no_bookmarks};

    *own = *options;
    own->target = (struct url_target){.group = str_dup(options->target.group),
                                      .version = str_dup(options->target.version),
                                      .resource = str_dup(options->target.resource),
                                      .ns = str_dup(options->target.ns)};
    own->label_selector = str_dup(options->label_selector);
    own->field_selector = str_dup(options->field_selector);
    informer->reflector = reflector_new(&config, options->rng);
    return informer;
}

void informer_free(struct informer *informer) {
    if (!informer)
        return;
    transport_cancel(informer->options.transport, informer->stream.id);
    stream_close(&informer->stream);
    reflector_free(informer->reflector);
    free((char *)informer->options.target.group);
    free((char *)informer->options.target.version);
    free((char *)informer->options.target.resource);
    free((char *)informer->options.target.ns);
    free((char *)informer->options.label_selector);
    free((char *)informer->options.field_selector);
    free(informer);
}

int64_t informer_tick(struct informer *informer, int64_t now_ms) {
    if (now_ms >= informer->out.again_at_ms) {
        const struct reflector_event event = {.kind = REFLECTOR_TIMER};

        informer->out = reflector_step(informer->reflector, &event, now_ms);
        settle(informer);
    }
    return informer->out.again_at_ms;
}

int64_t informer_due_ms(const struct informer *informer) {
    return informer->out.again_at_ms;
}

const struct store *informer_store(const struct informer *informer) {
    return reflector_store(informer->reflector);
}

struct reflector_status informer_status(const struct informer *informer) {
    return reflector_status(informer->reflector);
}

unsigned informer_fault_count(const struct informer *informer, const char **ret_text) {
    *ret_text = informer->fault.msg;
    return informer->fault_count;
}

void informer_fold(struct informer *informer, const char *bytes, size_t size_bytes) {
    const struct informer_options *options = &informer->options;
    struct store_item item = {0};
    const int r = options->read(options->read_arg, bytes, size_bytes, &item, NULL);

    if (r >= 0)
        reflector_fold(informer->reflector, &item, r > 0, clock_mono_ms(options->clock));
}

void informer_fold_gone(struct informer *informer, const char *key, const char *uid) {
    reflector_fold_gone(informer->reflector, key, uid, clock_mono_ms(informer->options.clock));
}

/* Feeds an event of the stream. What the reflector wants is done by settle(), once nothing of the
 * stream is in use any more; until then no other step may follow one that wants something. */
static void step(struct informer *informer, struct reflector_event event) {
    event.serial = informer->stream.serial;
    informer->out =
        reflector_step(informer->reflector, &event, clock_mono_ms(informer->options.clock));
}

static void settle(struct informer *informer) {
    if (informer->out.drop) {
        informer->out.drop = false;
        transport_cancel(informer->options.transport, informer->stream.id);
        stream_close(&informer->stream);
    }
    if (informer->out.send) {
        informer->out.send = false;
        start(informer);
    }
}

static void start(struct informer *informer) {
    const struct http_receiver receiver = {on_head, on_data, on_done, informer};
    struct stream *stream = &informer->stream;
    struct str target;
    struct err err;

    stream_close(stream);
    *stream = (struct stream){.serial = informer->out.request.serial,
                              .watch = informer->out.request.watch};
    str_init(&stream->refusal, REFUSAL_MAX_BYTES);
    str_init(&target, TARGET_MAX_BYTES);
    if (write_target(&target, informer, &err) < 0) {
        informer->fault_count++;
        informer->fault = err;
        step(informer, (struct reflector_event){.kind = REFLECTOR_BROKEN});
    } else {
        /* A list too: its body has no cap and no deadline but the watchdog's. */
        const struct http_request request = {
            .method = "GET", .target = target.data, .kind = HTTP_STREAM};

        stream->id = transport_send(informer->options.transport, &request, &receiver);
    }
    str_done(&target);
}

static int write_target(struct str *out, const struct informer *informer, struct err *err) {
    const struct reflector_request *q = &informer->out.request;
    char limit[16], timeout[16];
    const struct {
        const char *key, *value;
    } queries[] = {
        {"watch", q->watch ? "true" : NULL},
        {"labelSelector", informer->options.label_selector},
        {"fieldSelector", informer->options.field_selector},
        {"limit", q->limit > 0 ? limit : NULL},
        {"continue", q->continue_token},
        {"resourceVersion", q->rv},
        {"resourceVersionMatch", q->match_not_older ? "NotOlderThan" : NULL},
        {"sendInitialEvents", q->send_initial_events ? "true" : NULL},
        {"allowWatchBookmarks", q->bookmarks ? "true" : NULL},
        {"timeoutSeconds", q->timeout_s > 0 ? timeout : NULL},
    };
    int r = url_path(out, &informer->options.target, err);

    snprintf(limit, sizeof limit, "%d", q->limit);
    snprintf(timeout, sizeof timeout, "%d", q->timeout_s);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0] && r >= 0; i++)
        if (queries[i].value)
            r = url_query(out, queries[i].key, queries[i].value, err);
    return r;
}

static void stream_close(struct stream *stream) {
    if (stream->splitting)
        jsonsplit_done(&stream->split);
    str_done(&stream->refusal);
    *stream = (struct stream){.serial = stream->serial};
}

static void on_head(void *arg, const struct http_head *head) {
    struct informer *informer = arg;
    struct stream *stream = &informer->stream;
    const bool fine = head->status >= 200 && head->status < 300;

    if (!fine) {
        stream->refused = head->status;
        stream->retry_after_ms = head->retry_after_ms;
        step(informer, (struct reflector_event){.kind = REFLECTOR_BYTES});
    } else if (!statusbody_is_json(head->content_type)) {
        step(informer, (struct reflector_event){.kind = REFLECTOR_GARBLED});
    } else {
        const struct jsonsplit_options split = {
            .mode = stream->watch ? JSONSPLIT_WATCH : JSONSPLIT_LIST,
            .item = stream->watch ? on_line : on_object,
            .arg = informer,
        };

        jsonsplit_init(&stream->split, &split);
        stream->splitting = true;
        step(informer, (struct reflector_event){.kind = REFLECTOR_HEAD, .status = head->status});
    }
    settle(informer);
}

static void on_data(void *arg, const char *bytes, size_t size_bytes) {
    struct informer *informer = arg;
    struct stream *stream = &informer->stream;

    step(informer, (struct reflector_event){.kind = REFLECTOR_BYTES});
    if (stream->refused) {
        if (str_add(&stream->refusal, bytes, size_bytes, NULL) < 0)
            on_refused(informer); /* no Status is as long: enough was heard */
    } else if (stream->splitting && jsonsplit_feed(&stream->split, bytes, size_bytes, NULL) < 0) {
        step(informer, (struct reflector_event){.kind = REFLECTOR_GARBLED});
    }
    settle(informer);
}

static void on_done(void *arg, enum http_end end, const char *text) {
    struct informer *informer = arg;
    struct stream *stream = &informer->stream;

    (void)text;
    stream->id = 0;
    if (stream->refused)
        on_refused(informer);
    else if (end != HTTP_DONE || !stream->splitting)
        step(informer, (struct reflector_event){.kind = REFLECTOR_BROKEN});
    else if (stream->watch)
        step(informer, (struct reflector_event){.kind = REFLECTOR_END});
    else
        on_list_done(informer);
    stream_close(stream);
    settle(informer);
}

static void on_list_done(struct informer *informer) {
    const struct jsonsplit_head *head = &informer->stream.split.head;
    struct reflector_event event = {.kind = REFLECTOR_BROKEN};

    if (jsonsplit_end(&informer->stream.split, NULL) == 0)
        event = (struct reflector_event){.kind = REFLECTOR_LIST_END,
                                         .rv = head->resource_version,
                                         .continue_token = head->continue_token};
    step(informer, event);
}

static void on_refused(struct informer *informer) {
    const struct stream *stream = &informer->stream;
    struct statusbody status;

    statusbody_read(stream->refusal.data, stream->refusal.size_bytes, &status);
    step(informer, (struct reflector_event){.kind = REFLECTOR_HEAD,
                                            .status = stream->refused,
                                            .retry_after_ms = stream->retry_after_ms > 0
                                                                  ? stream->retry_after_ms
                                                                  : status.retry_after_ms,
                                            .reason = reason_of(&status)});
}

/* An element of a list. 1 stops the splitter: the reflector wants another stream. */
static int on_object(void *arg, const char *bytes, size_t size_bytes, struct err *err) {
    struct informer *informer = arg;
    struct reflector_event event = {.kind = REFLECTOR_ITEM};
    const int r = read_item(informer, bytes, size_bytes, &event.item);

    (void)err;
    if (r > 0)
        step(informer, event);
    else if (r == 0 && event.item.object && informer->options.free_object)
        informer->options.free_object(event.item.object);
    return informer->out.drop || informer->out.send;
}

/* A line of a watch. */
static int on_line(void *arg, const char *bytes, size_t size_bytes, struct err *err) {
    struct informer *informer = arg;
    struct jsonsplit_event line;
    const int r = jsonsplit_event_read(bytes, size_bytes, &line, err);

    if (r < 0)
        return r;
    const enum reflector_type type = type_of(line.type);

    if (type == REFLECTOR_BOOKMARK)
        on_bookmark(informer, &line);
    else if (type == REFLECTOR_ERROR)
        on_error(informer, &line);
    else if (type == REFLECTOR_DELETED)
        on_deleted(informer, &line);
    else
        on_change(informer, type, &line);
    return informer->out.drop || informer->out.send;
}

static void on_change(struct informer *informer, enum reflector_type type,
                      const struct jsonsplit_event *line) {
    struct reflector_event event = {.kind = REFLECTOR_CHANGE, .type = type};
    int r = 1;

    if (type != REFLECTOR_UNKNOWN)
        r = read_item(informer, line->object, line->object_bytes, &event.item);
    event.unwanted = r == 0;
    if (r >= 0)
        step(informer, event);
}

/* A delete must not be lost to a reader that cannot make sense of the rest of the object. */
static void on_deleted(struct informer *informer, const struct jsonsplit_event *line) {
    struct reflector_event event = {.kind = REFLECTOR_CHANGE, .type = REFLECTOR_DELETED};
    struct envelope object;
    char key[2 * TEXT_SIZE + 2];

    if (read_item(informer, line->object, line->object_bytes, &event.item) < 0) {
        envelope_read(line->object, line->object_bytes, &object);
        snprintf(key, sizeof key, "%s%s%s", object.ns, object.ns[0] ? "/" : "", object.name);
        event.item = (struct store_item){.key = object.name[0] ? key : NULL,
                                         .uid = object.uid,
                                         .rv = object.rv[0] ? object.rv : NULL};
    }
    step(informer, event);
}

static void on_bookmark(struct informer *informer, const struct jsonsplit_event *line) {
    struct envelope object;

    envelope_read(line->object, line->object_bytes, &object);
    step(informer, (struct reflector_event){.kind = REFLECTOR_CHANGE,
                                            .type = REFLECTOR_BOOKMARK,
                                            .rv = object.rv[0] ? object.rv : NULL,
                                            .initial_end = object.initial_end});
}

static void on_error(struct informer *informer, const struct jsonsplit_event *line) {
    struct statusbody status;

    statusbody_read(line->object, line->object_bytes, &status);
    step(informer, (struct reflector_event){.kind = REFLECTOR_CHANGE,
                                            .type = REFLECTOR_ERROR,
                                            .status = status.code,
                                            .retry_after_ms = status.retry_after_ms,
                                            .reason = reason_of(&status)});
}

/* As options.read. An item without a key counts as one that cannot be read. */
static int read_item(struct informer *informer, const char *bytes, size_t size_bytes,
                     struct store_item *ret_item) {
    const struct informer_options *options = &informer->options;
    struct err err = {0};
    int r = options->read(options->read_arg, bytes, size_bytes, ret_item, &err);

    if (r >= 0 && !ret_item->key) {
        if (ret_item->object && options->free_object)
            options->free_object(ret_item->object);
        r = err_set(&err, ERR_INVALID, "an object without a name");
    }
    if (r >= 0) {
        if (ret_item->rv && !ret_item->rv[0])
            ret_item->rv = NULL; /* "" would be taken for a version */
        return r;
    }
    *ret_item = (struct store_item){0};
    informer->fault_count++;
    informer->fault = err;
    return r;
}

static enum reflector_type type_of(const char *text) {
    static const char *const types[] = {
        [REFLECTOR_ADDED] = "ADDED",     [REFLECTOR_MODIFIED] = "MODIFIED",
        [REFLECTOR_DELETED] = "DELETED", [REFLECTOR_BOOKMARK] = "BOOKMARK",
        [REFLECTOR_ERROR] = "ERROR",
    };

    for (int i = REFLECTOR_ADDED; i <= REFLECTOR_ERROR; i++)
        if (strcmp(text, types[i]) == 0)
            return (enum reflector_type)i;
    return REFLECTOR_UNKNOWN;
}

static const char *reason_of(const struct statusbody *status) {
    return status->too_large_rv ? "ResourceVersionTooLarge" : status->reason;
}

/* What is missing or does not fit reads as "". */
static void envelope_read(const char *bytes, size_t size_bytes, struct envelope *ret_envelope) {
    struct jsonpull pull;
    struct jsonpull_text key;

    *ret_envelope = (struct envelope){0};
    jsonpull_init(&pull, bytes, size_bytes);
    if (jsonpull_enter_object(&pull, NULL) < 0)
        return;
    while (jsonpull_next_key(&pull, &key, NULL) == 1)
        if (jsonpull_text_is(&key, "metadata") && jsonpull_type(&pull, NULL) == JSONPULL_OBJECT)
            metadata_read(&pull, ret_envelope);
}

static void metadata_read(struct jsonpull *pull, struct envelope *envelope) {
    struct jsonpull_text key;

    jsonpull_enter_object(pull, NULL);
    while (jsonpull_next_key(pull, &key, NULL) == 1) {
        if (jsonpull_text_is(&key, "namespace"))
            text_read(pull, envelope->ns, sizeof envelope->ns);
        else if (jsonpull_text_is(&key, "name"))
            text_read(pull, envelope->name, sizeof envelope->name);
        else if (jsonpull_text_is(&key, "uid"))
            text_read(pull, envelope->uid, sizeof envelope->uid);
        else if (jsonpull_text_is(&key, "resourceVersion"))
            text_read(pull, envelope->rv, sizeof envelope->rv);
        else if (jsonpull_text_is(&key, "annotations") &&
                 jsonpull_type(pull, NULL) == JSONPULL_OBJECT)
            annotations_read(pull, envelope);
    }
}

static void annotations_read(struct jsonpull *pull, struct envelope *envelope) {
    struct jsonpull_text key;

    jsonpull_enter_object(pull, NULL);
    while (jsonpull_next_key(pull, &key, NULL) == 1) {
        char value[8] = "";

        if (!jsonpull_text_is(&key, "k8s.io/initial-events-end"))
            continue;
        text_read(pull, value, sizeof value);
        envelope->initial_end = strcmp(value, "true") == 0;
    }
}

static void text_read(struct jsonpull *pull, char *room, size_t room_bytes) {
    struct jsonpull_text text;
    size_t size_bytes = 0;

    if (jsonpull_text(pull, &text, NULL) < 0 ||
        jsonpull_text_copy(&text, room, room_bytes, &size_bytes, NULL) < 0)
        room[0] = '\0';
}
