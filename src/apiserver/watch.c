#include "apiserver/watch.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define FRAME_MAX_BYTES (4 * OBJECT_MAX_BYTES)
#define FLUSH_BYTES ((size_t)256 << 10)
#define FRAMES_MAX 8

struct watch {
    struct watch *next;
    struct http_reply *reply; /* NULL: over, to be swept */
    struct object_set *set;
    char *group;
    char *version;
    char *resource;
    char *include_object;
    enum view_form form;
    char *ns;
    struct selector labels;
    struct selector fields;
    bool bookmarks;
    int64_t bookmark_ms;
    int64_t end_ms;
    size_t initial_bytes; /* of the state sent at once: not the client's lag */
};

struct watches {
    struct objects *objects;
    const struct kinds *kinds;
    const struct clock *clock;
    struct watch *first;
    int count;
    int busy; /* depth of loops over the list */
};

/* What several watches are sent for one change. */
struct frame {
    const char *type;
    bool left; /* the object stopped matching */
    const struct kind *kind;
    enum view_form form;
    const char *include_object;
    struct str text;
};

struct frames {
    struct frame at[FRAMES_MAX];
    int count;
    int64_t wall_ms;
};

static void send_initial(struct watches *watches, struct watch *watch, bool mark);
static void send_history(struct watches *watches, struct watch *watch, uint64_t from_rv);
static void send_expired(struct watches *watches, struct watch *watch, uint64_t from_rv);
static void send_bookmark(struct watches *watches, struct watch *watch, bool mark);
static void tell(struct watches *watches, struct watch *watch, const struct change *change,
                 struct frames *frames);
static struct frame *frame_of(struct frames *frames, const struct watch *watch,
                              const struct kind *kind, const char *type, bool left,
                              const struct change *change);
static void frame_add(struct str *text, const char *type, const struct view *view,
                      const struct object *object);
static void frame_add_left(struct str *text, const struct view *view, const struct change *change);
static void frames_done(struct frames *frames);
static bool concerns(const struct watch *watch, const struct object *object);
static void flush(struct watch *watch, struct str *text);
static void end(struct watch *watch);
static void sweep(struct watches *watches);
static const struct kind *kind_of(const struct watches *watches, const struct watch *watch);

struct watches *watches_new(struct objects *objects, const struct kinds *kinds,
                            const struct clock *clock) {
    struct watches *watches = str_alloc(1, sizeof *watches);

    *watches = (struct watches){.objects = objects, .kinds = kinds, .clock = clock};
    return watches;
}

void watches_free(struct watches *watches) {
    if (!watches)
        return;
    for (struct watch *watch = watches->first; watch; watch = watch->next)
        end(watch);
    sweep(watches);
    free(watches);
}

int watches_start(struct watches *watches, struct watch_request *request, struct http_reply *reply,
                  struct err *err) {
    if (watches->count >= WATCHES_MAX)
        return err_set(err, ERR_RETRY, "%d watches are open, the most there may be", WATCHES_MAX);
    struct watch *watch = str_alloc(1, sizeof *watch);
    const int64_t now_ms = clock_mono_ms(watches->clock);

    *watch = (struct watch){
        .next = watches->first,
        .reply = reply,
        .set = request->set,
        .group = str_dup(request->kind->group),
        .version = str_dup(request->kind->version),
        .resource = str_dup(request->kind->resource),
        .include_object = str_dup(request->include_object),
        .form = request->form,
        .ns = str_dup(request->ns),
        .labels = request->labels,
        .fields = request->fields,
        .bookmarks = request->bookmarks,
        .bookmark_ms = now_ms + WATCH_BOOKMARK_MS,
        .end_ms = now_ms + request->timeout_ms,
    };
    request->labels = request->fields = (struct selector){0};
    reply->owner = watch;
    watches->first = watch;
    watches->count++;
    watches->busy++;
    reply->ops->head(reply, 200, "application/json", NULL);
    if (request->initial)
        send_initial(watches, watch, request->initial_mark);
    else if (request->from_rv > 0)
        send_history(watches, watch, request->from_rv);
    watches->busy--;
    sweep(watches);
    return 0;
}

void watches_tell(struct watches *watches, const struct change *change) {
    struct frames frames = {.wall_ms = clock_wall_ms(watches->clock)};

    watches->busy++;
    for (struct watch *watch = watches->first; watch; watch = watch->next) {
        if (watch->reply && watch->set == change->now->set)
            tell(watches, watch, change, &frames);
    }
    watches->busy--;
    sweep(watches);
    frames_done(&frames);
}

void watches_end_unserved(struct watches *watches) {
    watches->busy++;
    for (struct watch *watch = watches->first; watch; watch = watch->next) {
        if (watch->reply && !kind_of(watches, watch))
            end(watch);
    }
    watches->busy--;
    sweep(watches);
}

void watches_closed(struct watches *watches, struct http_reply *reply) {
    struct watch *watch = reply->owner;

    if (!watch)
        return;
    watch->reply = NULL;
    sweep(watches);
}

int64_t watches_tick(struct watches *watches, int64_t now_ms) {
    int64_t next_ms = INT64_MAX;

    watches->busy++;
    for (struct watch *watch = watches->first; watch; watch = watch->next) {
        if (!watch->reply)
            continue;
        const bool over = watch->end_ms <= now_ms;

        if (watch->bookmarks && (over || watch->bookmark_ms <= now_ms)) {
            send_bookmark(watches, watch, false);
            watch->bookmark_ms = now_ms + WATCH_BOOKMARK_MS;
        }
        if (over)
            end(watch);
        else if (watch->end_ms < next_ms)
            next_ms = watch->end_ms;
        if (!over && watch->bookmarks && watch->bookmark_ms < next_ms)
            next_ms = watch->bookmark_ms;
    }
    watches->busy--;
    sweep(watches);
    return next_ms;
}

int watches_count(const struct watches *watches) {
    return watches->count;
}

static void send_initial(struct watches *watches, struct watch *watch, bool mark) {
    const struct view view = {kind_of(watches, watch), watch->form, watch->include_object,
                              clock_wall_ms(watches->clock)};
    struct str text;
    size_t first, last;

    str_init(&text, FLUSH_BYTES + FRAME_MAX_BYTES);
    object_set_range(watch->set, watch->ns, &first, &last);
    for (size_t i = first; i < last; i++) {
        if (!concerns(watch, watch->set->at[i]))
            continue;
        frame_add(&text, "ADDED", &view, watch->set->at[i]);
        if (text.size_bytes >= FLUSH_BYTES) {
            watch->initial_bytes += text.size_bytes;
            flush(watch, &text);
        }
    }
    watch->initial_bytes += text.size_bytes;
    flush(watch, &text);
    str_done(&text);
    if (mark)
        send_bookmark(watches, watch, true);
}

static void send_history(struct watches *watches, struct watch *watch, uint64_t from_rv) {
    uint64_t rv = from_rv;

    /* A version from the future is of another life of this server: the client must read anew. */
    if (rv < objects_oldest_rv(watches->objects) || rv > objects_rv(watches->objects)) {
        send_expired(watches, watch, from_rv);
        return;
    }
    for (;;) {
        const struct change *change = objects_change_after(watches->objects, rv);

        if (!change || !watch->reply)
            return;
        rv = change->rv;
        if (change->now->set == watch->set) {
            struct frames frames = {.wall_ms = clock_wall_ms(watches->clock)};

            tell(watches, watch, change, &frames);
            frames_done(&frames);
        }
    }
}

static void send_expired(struct watches *watches, struct watch *watch, uint64_t from_rv) {
    struct str text;

    str_init(&text, 1024);
    str_addf(&text, NULL,
             "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
             "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: %llu "
             "(%llu)\",\"reason\":\"Expired\",\"code\":410}}\n",
             (unsigned long long)from_rv, (unsigned long long)objects_oldest_rv(watches->objects));
    flush(watch, &text);
    str_done(&text);
    end(watch);
}

/* mark: the initial state is complete. */
static void send_bookmark(struct watches *watches, struct watch *watch, bool mark) {
    const struct kind *kind = kind_of(watches, watch);
    struct str text;
    char rv[24];

    if (!kind || !watch->bookmarks || !watch->reply)
        return;
    auto_free char *api_version = view_api_version(kind);

    snprintf(rv, sizeof rv, "%llu", (unsigned long long)objects_rv(watches->objects));
    json_auto_t *object =
        json_pack("{s:s, s:s, s:{s:s, s:n}}", "kind", kind->name, "apiVersion", api_version,
                  "metadata", "resourceVersion", rv, "creationTimestamp");
    struct view view = {kind, watch->form, watch->include_object, 0};

    if (mark)
        json_object_set_new(json_object_get(object, "metadata"), "annotations",
                            json_pack("{s:s}", "k8s.io/initial-events-end", "true"));
    /* A table would lose the mark: a table's bookmark is the bare object, as clients allow. */
    if (watch->form == VIEW_TABLE)
        view.form = VIEW_PLAIN;
    str_init(&text, 4096);
    str_addf(&text, NULL, "{\"type\":\"BOOKMARK\",\"object\":");
    view_add_tree(&view, object, &text, NULL);
    str_addf(&text, NULL, "}\n");
    flush(watch, &text);
    str_done(&text);
}

static void tell(struct watches *watches, struct watch *watch, const struct change *change,
                 struct frames *frames) {
    const bool was = change->before && concerns(watch, change->before);
    const bool is = change->type != CHANGE_DELETED && concerns(watch, change->now);
    const struct kind *kind = was || is ? kind_of(watches, watch) : NULL;
    const size_t lag_max_bytes = WATCH_BACKLOG_MAX_BYTES + watch->initial_bytes;

    if (!was && !is)
        return;
    const char *type = is ? was ? "MODIFIED" : "ADDED" : "DELETED";
    struct frame *frame =
        kind ? frame_of(frames, watch, kind, type, !is && change->type != CHANGE_DELETED, change)
             : NULL;
    const size_t backlog_bytes = watch->reply->ops->backlog_bytes(watch->reply);

    if (backlog_bytes <= WATCH_BACKLOG_MAX_BYTES)
        watch->initial_bytes = 0;
    if (!frame || frame->text.size_bytes == 0 || backlog_bytes > lag_max_bytes)
        end(watch);
    else
        watch->reply->ops->data(watch->reply, frame->text.data, frame->text.size_bytes);
}

static struct frame *frame_of(struct frames *frames, const struct watch *watch,
                              const struct kind *kind, const char *type, bool left,
                              const struct change *change) {
    for (int i = 0; i < frames->count; i++) {
        struct frame *frame = &frames->at[i];

        if (strcmp(frame->type, type) == 0 && frame->left == left && frame->kind == kind &&
            frame->form == watch->form && strcmp(frame->include_object, watch->include_object) == 0)
            return frame;
    }
    if (frames->count == FRAMES_MAX)
        frames_done(frames);
    struct frame *frame = &frames->at[frames->count++];
    const struct view view = {kind, watch->form, watch->include_object, frames->wall_ms};

    *frame = (struct frame){type, left, kind, watch->form, watch->include_object, {0}};
    str_init(&frame->text, FRAME_MAX_BYTES);
    if (left)
        frame_add_left(&frame->text, &view, change);
    else
        frame_add(&frame->text, type, &view, change->now);
    return frame;
}

static void frame_add(struct str *text, const char *type, const struct view *view,
                      const struct object *object) {
    const size_t start_bytes = text->size_bytes;

    str_addf(text, NULL, "{\"type\":\"%s\",\"object\":", type);
    if (view_add(view, object, text, NULL) < 0 || str_add(text, "}\n", 2, NULL) < 0)
        text->size_bytes = start_bytes; /* cannot be: one object is smaller than a frame */
}

/* The last state that matched, with the version of the change that ended this. */
static void frame_add_left(struct str *text, const struct view *view, const struct change *change) {
    json_auto_t *tree = json_copy(change->before->tree);
    json_t *metadata = json_copy(json_object_get(tree, "metadata"));
    char rv[24];

    snprintf(rv, sizeof rv, "%llu", (unsigned long long)change->rv);
    json_object_set_new(metadata, "resourceVersion", json_string(rv));
    json_object_set_new(tree, "metadata", metadata);
    json_auto_t *shown = view_object_new(view->kind, tree);

    str_addf(text, NULL, "{\"type\":\"DELETED\",\"object\":");
    view_add_tree(view, shown, text, NULL);
    str_add(text, "}\n", 2, NULL);
}

static void frames_done(struct frames *frames) {
    for (int i = 0; i < frames->count; i++)
        str_done(&frames->at[i].text);
    frames->count = 0;
}

static bool concerns(const struct watch *watch, const struct object *object) {
    return (*watch->ns == '\0' || strcmp(watch->ns, object->ns) == 0) &&
           selector_has_labels(&watch->labels, object->tree) &&
           selector_has_fields(&watch->fields, object->tree);
}

static void flush(struct watch *watch, struct str *text) {
    if (watch->reply && text->size_bytes > 0)
        watch->reply->ops->data(watch->reply, text->data, text->size_bytes);
    str_clear(text);
}

static void end(struct watch *watch) {
    struct http_reply *reply = watch->reply;

    if (!reply)
        return;
    watch->reply = NULL;
    reply->owner = NULL;
    reply->ops->end(reply);
}

/* Releases watches that are over, once no loop stands on one. */
static void sweep(struct watches *watches) {
    if (watches->busy > 0)
        return;
    for (struct watch **link = &watches->first; *link;) {
        struct watch *watch = *link;

        if (watch->reply) {
            link = &watch->next;
            continue;
        }
        *link = watch->next;
        watches->count--;
        selector_done(&watch->labels);
        selector_done(&watch->fields);
        free(watch->group);
        free(watch->version);
        free(watch->resource);
        free(watch->include_object);
        free(watch->ns);
        free(watch);
    }
}

/* Looked up each time: a CRD may change or go while its objects are watched. */
static const struct kind *kind_of(const struct watches *watches, const struct watch *watch) {
    return kinds_find(watches->kinds, watch->group, watch->version, watch->resource);
}
