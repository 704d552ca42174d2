#include "kube/mapping.h"

#include "base/auto.h"
#include "base/str.h"
#include "kube/statusbody.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <utarray.h>
#include <uthash.h>

#define NAME_MAX_BYTES 253

static const char accept[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

struct kind {
    char *key; /* "group/Kind" */
    char *group;
    char *version;
    char *resource;
    bool namespaced;
    unsigned refresh; /* the one that told of it */
    UT_hash_handle hh;
};

struct mapping {
    struct kube_client *client;
    const struct clock *clock;
    struct kind *kinds;
    UT_array *documents; /* paths of this refresh, in the order they are asked for */
    unsigned document_at;
    unsigned refresh;
    uint64_t call_id; /* the transport's; 0: at rest */
    bool wanted;      /* a kind was not found since the last start */
    bool partial;     /* something of this refresh failed: forget nothing */
    int64_t started_ms;
    int status;
    bool json;
    bool too_large;
    struct str body;
};

static void start(struct mapping *mapping, int64_t now_ms);
static void ask(struct mapping *mapping);
static void finish(struct mapping *mapping);
static void on_head(void *arg, const struct http_head *head);
static void on_data(void *arg, const char *bytes, size_t size_bytes);
static void on_done(void *arg, enum http_end end, const char *text);
static bool read_document(struct mapping *mapping, const json_t *root);
static void read_aggregated(struct mapping *mapping, const json_t *root);
static void read_groups(struct mapping *mapping, const json_t *root);
static void read_versions(struct mapping *mapping, const json_t *root);
static void read_resources(struct mapping *mapping, const json_t *root);
static void add_kind(struct mapping *mapping, const char *group, const char *version,
                     const char *kind, const char *resource, bool namespaced);
static void add_document(struct mapping *mapping, const char *group, const char *version);
static const char *text_of(const json_t *obj, const char *key);
static bool is_name(const char *text);
static void kind_free(struct mapping *mapping, struct kind *kind);

struct mapping *mapping_new(struct kube_client *client, const struct clock *clock) {
    struct mapping *mapping = str_alloc(1, sizeof *mapping);

    mapping->client = client;
    mapping->clock = clock;
    utarray_new(mapping->documents, &ut_str_icd);
    str_init(&mapping->body, HTTP_BODY_MAX_BYTES);
    return mapping;
}

void mapping_free(struct mapping *mapping) {
    if (!mapping)
        return;
    transport_cancel(kube_client_transport(mapping->client), mapping->call_id);
    while (mapping->kinds)
        kind_free(mapping, mapping->kinds);
    utarray_free(mapping->documents);
    str_done(&mapping->body);
    free(mapping);
}

int mapping_find(struct mapping *mapping, const char *group, const char *kind,
                 struct mapping_resource *ret_resource) {
    auto_free char *key = str_printf("%s/%s", group, kind);
    struct kind *found = NULL;

    HASH_FIND(hh, mapping->kinds, key, strlen(key), found);
    if (found) {
        *ret_resource = (struct mapping_resource){found->group, found->version, found->resource,
                                                  found->namespaced};
        return 1;
    }
    mapping->wanted = true;
    mapping_tick(mapping, clock_mono_ms(mapping->clock));
    return 0;
}

int64_t mapping_tick(struct mapping *mapping, int64_t now_ms) {
    const int64_t due_ms = mapping->refresh ? mapping->started_ms + MAPPING_REFRESH_MS : now_ms;

    if (!mapping->wanted || mapping->call_id)
        return INT64_MAX; /* the end of the one under way looks again */
    if (now_ms < due_ms)
        return due_ms;
    start(mapping, now_ms);
    return INT64_MAX;
}

bool mapping_is_busy(const struct mapping *mapping) {
    return mapping->call_id != 0;
}

static void start(struct mapping *mapping, int64_t now_ms) {
    const char *roots[] = {"/api", "/apis"};

    mapping->wanted = mapping->partial = false;
    mapping->started_ms = now_ms;
    mapping->refresh++;
    mapping->document_at = 0;
    utarray_clear(mapping->documents);
    utarray_push_back(mapping->documents, &roots[0]);
    utarray_push_back(mapping->documents, &roots[1]);
    ask(mapping);
}

/* Asks for the next document. */
static void ask(struct mapping *mapping) {
    const struct http_receiver receiver = {on_head, on_data, on_done, mapping};
    char **path = utarray_eltptr(mapping->documents, mapping->document_at);
    const struct http_request request = {.method = "GET",
                                         .target = *path,
                                         .accept = accept,
                                         .kind = HTTP_UNARY,
                                         .timeout_ms = MAPPING_TIMEOUT_MS,
                                         .limit_bytes = HTTP_BODY_MAX_BYTES};

    mapping->document_at++;
    mapping->status = 0;
    mapping->json = mapping->too_large = false;
    str_clear(&mapping->body);
    mapping->call_id = transport_send(kube_client_transport(mapping->client), &request, &receiver);
}

/* Only a refresh that saw everything may forget. */
static void finish(struct mapping *mapping) {
    struct kind *kind, *next;

    str_done(&mapping->body);
    str_init(&mapping->body, HTTP_BODY_MAX_BYTES);
    if (mapping->partial)
        return;
    HASH_ITER(hh, mapping->kinds, kind, next) {
        if (kind->refresh != mapping->refresh)
            kind_free(mapping, kind);
    }
}

static void on_head(void *arg, const struct http_head *head) {
    struct mapping *mapping = arg;

    mapping->status = head->status;
    mapping->json = statusbody_is_json(head->content_type);
}

static void on_data(void *arg, const char *bytes, size_t size_bytes) {
    struct mapping *mapping = arg;

    if (str_add(&mapping->body, bytes, size_bytes, NULL) < 0)
        mapping->too_large = true;
}

static void on_done(void *arg, enum http_end end, const char *text) {
    struct mapping *mapping = arg;
    json_t *root = NULL;

    (void)text;
    mapping->call_id = 0;
    if (end == HTTP_DONE && mapping->status == 200 && mapping->json && !mapping->too_large)
        root = json_loadb(mapping->body.data ? mapping->body.data : "", mapping->body.size_bytes, 0,
                          NULL);
    if (!read_document(mapping, root))
        mapping->partial = true;
    json_decref(root);
    if (mapping->document_at < utarray_len(mapping->documents))
        ask(mapping);
    else
        finish(mapping);
}

/* Whether it was a document of discovery. */
static bool read_document(struct mapping *mapping, const json_t *root) {
    static const struct {
        const char *kind;
        void (*read)(struct mapping *mapping, const json_t *root);
    } readers[] = {
        {"APIGroupDiscoveryList", read_aggregated},
        {"APIGroupList", read_groups},
        {"APIVersions", read_versions},
        {"APIResourceList", read_resources},
    };

    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (strcmp(text_of(root, "kind"), readers[i].kind) == 0) {
            readers[i].read(mapping, root);
            return true;
        }
    return false;
}

/* The versions of a group come in the server's order of preference. */
static void read_aggregated(struct mapping *mapping, const json_t *root) {
    const json_t *group, *version, *resource;
    size_t g, v, r;

    json_array_foreach(json_object_get(root, "items"), g, group) {
        const char *name = text_of(json_object_get(group, "metadata"), "name");

        json_array_foreach(json_object_get(group, "versions"), v, version) {
            if (strcmp(text_of(version, "freshness"), "Stale") == 0)
                mapping->partial = true;
            json_array_foreach(json_object_get(version, "resources"), r, resource) {
                const json_t *kind = json_object_get(resource, "responseKind");

                add_kind(mapping, name, text_of(version, "version"), text_of(kind, "kind"),
                         text_of(resource, "resource"),
                         strcmp(text_of(resource, "scope"), "Namespaced") == 0);
            }
        }
    }
}

static void read_groups(struct mapping *mapping, const json_t *root) {
    const json_t *group, *version;
    size_t g, v;

    json_array_foreach(json_object_get(root, "groups"), g, group) {
        const char *name = text_of(group, "name");
        const char *preferred = text_of(json_object_get(group, "preferredVersion"), "version");

        if (preferred[0])
            add_document(mapping, name, preferred);
        json_array_foreach(json_object_get(group, "versions"), v, version) {
            if (strcmp(text_of(version, "version"), preferred) != 0)
                add_document(mapping, name, text_of(version, "version"));
        }
    }
}

static void read_versions(struct mapping *mapping, const json_t *root) {
    const json_t *version;
    size_t v;

    json_array_foreach(json_object_get(root, "versions"), v, version) {
        if (json_is_string(version))
            add_document(mapping, "", json_string_value(version));
    }
}

static void read_resources(struct mapping *mapping, const json_t *root) {
    const char *group_version = text_of(root, "groupVersion");
    const char *slash = strchr(group_version, '/');
    auto_free char *group = str_dup_len(group_version, slash ? (size_t)(slash - group_version) : 0);
    const json_t *resource;
    size_t r;

    json_array_foreach(json_object_get(root, "resources"), r, resource) {
        add_kind(mapping, group, slash ? slash + 1 : group_version, text_of(resource, "kind"),
                 text_of(resource, "name"), json_is_true(json_object_get(resource, "namespaced")));
    }
}

/* The first one of a refresh counts: it has the preferred version. A subresource, "pods/status", is
 * no name. */
static void add_kind(struct mapping *mapping, const char *group, const char *version,
                     const char *kind, const char *resource, bool namespaced) {
    struct kind *known = NULL;

    if ((group[0] && !is_name(group)) || !is_name(version) || !is_name(kind) || !is_name(resource))
        return;
    auto_free char *key = str_printf("%s/%s", group, kind);

    HASH_FIND(hh, mapping->kinds, key, strlen(key), known);
    if (known && known->refresh == mapping->refresh)
        return;
    if (known)
        kind_free(mapping, known);
    if (HASH_COUNT(mapping->kinds) >= MAPPING_KIND_MAX)
        return;
    known = str_alloc(1, sizeof *known);
    *known = (struct kind){.key = take(key),
                           .group = str_dup(group),
                           .version = str_dup(version),
                           .resource = str_dup(resource),
                           .namespaced = namespaced,
                           .refresh = mapping->refresh};
    HASH_ADD_KEYPTR(hh, mapping->kinds, known->key, strlen(known->key), known);
}

static void add_document(struct mapping *mapping, const char *group, const char *version) {
    if ((group[0] && !is_name(group)) || !is_name(version) ||
        utarray_len(mapping->documents) >= MAPPING_DOCUMENT_MAX) {
        mapping->partial = true;
        return;
    }
    auto_free char *path =
        group[0] ? str_printf("/apis/%s/%s", group, version) : str_printf("/api/%s", version);

    utarray_push_back(mapping->documents, &path);
}

/* "" for what is absent or no text. */
static const char *text_of(const json_t *obj, const char *key) {
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

/* Whether text may stand in a path as it is. */
static bool is_name(const char *text) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";
    const size_t size_bytes = strlen(text);

    return size_bytes > 0 && size_bytes <= NAME_MAX_BYTES && text[0] != '.' &&
           strspn(text, allowed) == size_bytes;
}

static void kind_free(struct mapping *mapping, struct kind *kind) {
    HASH_DEL(mapping->kinds, kind);
    free(kind->key);
    free(kind->group);
    free(kind->version);
    free(kind->resource);
    free(kind);
}
