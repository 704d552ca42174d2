#include "bench/rig_sink.h"

#include "api/objectname.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#define TEXT_MAX_BYTES ((size_t)1 << 30)
#define METADATA "\"metadata\":{"
#define REPLICAS "\"replicas\":"

struct entry {
    char *path;
    char *resource;
    char *head;   /* up to and with the brace of metadata */
    char *tail;   /* the rest but the last brace */
    char *status; /* NULL: none */
    bool finalized;
    uint64_t uid;
    uint64_t rv;
    uint64_t generation;
    UT_hash_handle hh;
};

struct stream {
    struct http_reply *reply;
    char *resource;
    struct stream *prev, *next;
};

struct sink {
    struct entry *entries;
    struct stream *streams;
    uint64_t last_rv;
    struct str text; /* of the answer in the making */
};

static uint64_t last_uid; /* no two sinks give the same */

struct sink *sink_new(void) {
    struct sink *sink = str_alloc(1, sizeof *sink);

    str_init(&sink->text, TEXT_MAX_BYTES);
    return sink;
}

void sink_free(struct sink *sink) {
    struct entry *entry, *next;

    if (!sink)
        return;
    HASH_ITER(hh, sink->entries, entry, next) {
        HASH_DEL(sink->entries, entry);
        free(entry->path);
        free(entry->resource);
        free(entry->head);
        free(entry->tail);
        free(entry->status);
        free(entry);
    }
    str_done(&sink->text);
    free(sink);
}

static void object_add(struct str *text, const struct entry *entry) {
    str_addf(text, NULL,
             "%s\"uid\":\"u-%llu\",\"resourceVersion\":\"%llu\",\"generation\":%llu,%s%s",
             entry->head, (unsigned long long)entry->uid, (unsigned long long)entry->rv,
             (unsigned long long)entry->generation,
             entry->finalized ? "\"finalizers\":[\"" OBJECTNAME_FINALIZER "\"]," : "", entry->tail);
    if (entry->status)
        str_addf(text, NULL, ",\"status\":%s", entry->status);
    str_add(text, "}", 1, NULL);
}

static void event_add(struct str *text, const char *type, const struct entry *entry) {
    str_addf(text, NULL, "{\"type\":\"%s\",\"object\":", type);
    object_add(text, entry);
    str_add(text, "}\n", 2, NULL);
}

static void changed(struct sink *sink, struct entry *entry, bool is_new) {
    struct stream *stream;

    entry->rv = ++sink->last_rv;
    str_clear(&sink->text);
    DL_FOREACH(sink->streams, stream) {
        if (strcmp(stream->resource, entry->resource) != 0)
            continue;
        if (!sink->text.size_bytes)
            event_add(&sink->text, is_new ? "ADDED" : "MODIFIED", entry);
        stream->reply->ops->data(stream->reply, sink->text.data, sink->text.size_bytes);
    }
}

static void answer_entry(struct sink *sink, struct http_reply *reply, const struct entry *entry) {
    str_clear(&sink->text);
    object_add(&sink->text, entry);
    http_answer(reply, 200, "application/json", sink->text.data, sink->text.size_bytes);
}

static void answer_absent(struct http_reply *reply) {
    static const char status[] =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"not found\",\"reason\":\"NotFound\",\"code\":404}";

    http_answer(reply, 404, "application/json", status, sizeof status - 1);
}

/* "/apis/G/V[/namespaces/NS]/RES..." or "/api/V...": the plural, copied. */
static char *resource_of(const char *path) {
    const char *at = path + 1;

    for (int skip = strncmp(path, "/api/", 5) == 0 ? 2 : 3; skip > 0; skip--)
        at = strchr(at, '/') + 1;
    if (strncmp(at, "namespaces/", 11) == 0) {
        const char *deeper = strchr(at + 11, '/');

        if (deeper)
            at = deeper + 1;
    }
    return str_dup_len(at, strcspn(at, "/"));
}

/* Takes the object's text apart. Returns false if it has no metadata. */
static bool entry_take(struct entry *entry, const char *body, size_t body_bytes) {
    char *text = str_dup_len(body, body_bytes);
    char *metadata = strstr(text, METADATA);

    if (metadata) {
        metadata += sizeof METADATA - 1;
        free(entry->head);
        free(entry->tail);
        entry->head = str_dup_len(text, (size_t)(metadata - text));
        entry->tail = str_dup_len(metadata, strlen(metadata) - 1);
    }
    free(text);
    return metadata != NULL;
}

static struct entry *entry_new(struct sink *sink, const char *path) {
    struct entry *entry = str_alloc(1, sizeof *entry);

    entry->path = str_dup(path);
    entry->resource = resource_of(path);
    entry->uid = ++last_uid;
    HASH_ADD_KEYPTR(hh, sink->entries, entry->path, strlen(entry->path), entry);
    return entry;
}

static struct entry *entry_find(const struct sink *sink, const char *path) {
    struct entry *entry;

    HASH_FIND_STR(sink->entries, path, entry);
    return entry;
}

static void scale(struct sink *sink, struct entry *entry, const struct http_incoming *incoming,
                  struct http_reply *reply) {
    const char *wanted = strstr(incoming->body, REPLICAS);
    char *present = strstr(entry->tail, REPLICAS);
    const long count = wanted ? strtol(wanted + sizeof REPLICAS - 1, NULL, 10) : 0;

    if (present && strtol(present + sizeof REPLICAS - 1, NULL, 10) != count) {
        char *rest = present + sizeof REPLICAS - 1;
        char *tail = str_printf("%.*s%ld%s", (int)(rest - entry->tail), entry->tail, count,
                                rest + strspn(rest, "0123456789"));

        free(entry->tail);
        entry->tail = tail;
        entry->generation++;
        changed(sink, entry, false);
    }
    http_answer(reply, 200, "application/json", incoming->body, incoming->body_bytes);
}

static void apply(struct sink *sink, const struct http_incoming *incoming,
                  struct http_reply *reply) {
    struct entry *entry = entry_find(sink, incoming->path);
    const bool is_new = !entry;

    if (!is_new && strstr(incoming->body, "\"finalizers\":")) {
        entry->finalized = true;
    } else {
        if (is_new)
            entry = entry_new(sink, incoming->path);
        if (!entry_take(entry, incoming->body, incoming->body_bytes))
            abort();
        entry->generation++;
    }
    changed(sink, entry, is_new);
    answer_entry(sink, reply, entry);
}

/* A write of a subresource, whose path is the object's with "/status" or "/scale". */
static void apply_part(struct sink *sink, const struct http_incoming *incoming, const char *part,
                       struct http_reply *reply) {
    char *path = str_dup_len(incoming->path, (size_t)(part - incoming->path));
    struct entry *entry = entry_find(sink, path);

    free(path);
    if (!entry) {
        answer_absent(reply);
    } else if (strcmp(part, "/scale") == 0) {
        scale(sink, entry, incoming, reply);
    } else {
        const char *status = strstr(incoming->body, "\"status\":{");

        if (!status)
            abort();
        free(entry->status);
        entry->status = str_dup_len(status + 9, strlen(status + 9) - 1);
        changed(sink, entry, false);
        answer_entry(sink, reply, entry);
    }
}

/* All there is, then the mark that this was all, then changes. */
static void watch(struct sink *sink, const struct http_incoming *incoming,
                  struct http_reply *reply) {
    struct stream *stream = str_alloc(1, sizeof *stream);
    struct entry *entry, *next;

    stream->reply = reply;
    stream->resource = resource_of(incoming->path);
    reply->owner = stream;
    DL_APPEND(sink->streams, stream);
    reply->ops->head(reply, 200, "application/json", NULL);
    if (!strstr(incoming->query, "sendInitialEvents=true"))
        return;
    str_clear(&sink->text);
    HASH_ITER(hh, sink->entries, entry, next) {
        if (strcmp(entry->resource, stream->resource) == 0)
            event_add(&sink->text, "ADDED", entry);
    }
    str_addf(&sink->text, NULL,
             "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%llu\","
             "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
             (unsigned long long)sink->last_rv + 1);
    sink->last_rv++;
    reply->ops->data(reply, sink->text.data, sink->text.size_bytes);
}

static void request(void *arg, const struct http_incoming *incoming, struct http_reply *reply) {
    struct sink *sink = arg;
    const char *part = strrchr(incoming->path, '/');

    if (strcmp(incoming->method, "POST") == 0 || strstr(incoming->path, "/events/")) {
        /* Events are followed by nobody. */
        http_answer(reply, 201, "application/json", incoming->body, incoming->body_bytes);
    } else if (strcmp(incoming->method, "PATCH") == 0) {
        if (strcmp(part, "/status") == 0 || strcmp(part, "/scale") == 0)
            apply_part(sink, incoming, part, reply);
        else
            apply(sink, incoming, reply);
    } else if (strcmp(incoming->method, "GET") != 0) {
        http_answer(reply, 405, "application/json", "{}", 2);
    } else if (strstr(incoming->query, "watch=true")) {
        watch(sink, incoming, reply);
    } else {
        const struct entry *entry = entry_find(sink, incoming->path);

        if (entry)
            answer_entry(sink, reply, entry);
        else
            answer_absent(reply);
    }
}

static void closed(void *arg, struct http_reply *reply) {
    struct sink *sink = arg;
    struct stream *stream = reply->owner;

    if (!stream)
        return;
    DL_DELETE(sink->streams, stream);
    free(stream->resource);
    free(stream);
}

struct http_handler sink_handler(struct sink *sink) {
    return (struct http_handler){.request = request, .closed = closed, .arg = sink};
}
