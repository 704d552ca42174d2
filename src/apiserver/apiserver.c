#include "apiserver/apiserver.h"

#include "apiserver/answer.h"
#include "apiserver/commit.h"
#include "apiserver/garbage.h"
#include "apiserver/protobuf.h"
#include "apiserver/read.h"
#include "apiserver/server.h"
#include "apiserver/verb.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MANAGER_MAX_LEN 128
#define AGGREGATED_MEDIA "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

static void request(void *arg, const struct http_incoming *incoming, struct http_reply *reply);
static int parse_body(const struct http_incoming *in, json_t **ret_body, struct err *err);
static void closed(void *arg, struct http_reply *reply);
static void changed(void *arg, const struct change *change);
static void add_namespaces(struct apiserver *server);
static bool is_admitted(const struct call *call);
static int dispatch(struct call *call);
static int answer_path(struct call *call);
static int answer_discovery(struct call *call);
static int answer_version(struct call *call);
static int answer_review(struct call *call);
static int dispatch_kind(struct call *call);
static bool is_manager(const char *text);
static int dispatch_collection(struct call *call);
static int dispatch_object(struct call *call);
static int dispatch_subresource(struct call *call);
static bool is_method(const struct call *call, const char *method);

struct apiserver *apiserver_new(const struct apiserver_options *options) {
    struct apiserver *server = str_alloc(1, sizeof *server);

    *server = (struct apiserver){
        .clock = options->clock,
        .rng = options->rng,
        .name = str_dup(options->name ? options->name : "apiserver"),
        .token = str_dup(options->token),
        .service_count = 1,
    };
    server->objects = objects_new(OBJECTS_MAX, OBJECTS_HISTORY_MAX, changed, server);
    server->kinds = kinds_new();
    server->watches = watches_new(server->objects, server->kinds, server->clock);
    server->garbage = garbage_new();
    server->namespaces = objects_set(server->objects, "", "namespaces");
    server->crds =
        objects_set(server->objects, "apiextensions.k8s.io", "customresourcedefinitions");
    add_namespaces(server);
    return server;
}

void apiserver_free(struct apiserver *server) {
    if (!server)
        return;
    watches_free(server->watches);
    garbage_free(server->garbage);
    objects_free(server->objects);
    kinds_free(server->kinds);
    for (int i = 0; i < server->hook_count; i++) {
        free(server->hooks[i].group);
        free(server->hooks[i].resource);
    }
    free(server->hooks);
    free(server->name);
    free(server->token);
    free(server);
}

struct http_handler apiserver_handler(struct apiserver *server) {
    return (struct http_handler){request, closed, server};
}

int64_t apiserver_tick(struct apiserver *server, int64_t now_ms) {
    const int64_t garbage_ms = garbage_tick(server, now_ms);
    const int64_t watch_ms = watches_tick(server->watches, now_ms);

    return garbage_ms < watch_ms ? garbage_ms : watch_ms;
}

void apiserver_hook_add(struct apiserver *server, const struct apiserver_hook *hook) {
    server->hooks =
        str_resize(server->hooks, (size_t)server->hook_count + 1, sizeof(struct server_hook));
    server->hooks[server->hook_count++] = (struct server_hook){
        str_dup(hook->group), str_dup(hook->resource), hook->verdict, hook->arg};
}

void apiserver_compact(struct apiserver *server) {
    objects_compact(server->objects);
}

void server_time(const struct apiserver *server, char ret_time[SERVER_TIME_SIZE]) {
    server_time_in(server, 0, ret_time);
}

void server_time_in(const struct apiserver *server, int64_t seconds,
                    char ret_time[SERVER_TIME_SIZE]) {
    const time_t now = (time_t)(clock_wall_ms(server->clock) / 1000 + seconds);
    struct tm parts;

    gmtime_r(&now, &parts);
    strftime(ret_time, SERVER_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

void server_uid(struct apiserver *server, char ret_uid[SERVER_UID_SIZE]) {
    const uint64_t high = random_next(&server->rng);
    const uint64_t low = random_next(&server->rng);

    snprintf(ret_uid, SERVER_UID_SIZE, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32),
             (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
             (unsigned)(0x8000 | (low >> 48 & 0x3fff)), (unsigned long long)(low & 0xffffffffffff));
}

struct object *call_object(struct call *call) {
    struct object *object = object_set_get(call->set, call->route.ns, call->route.name);

    if (!object)
        refuse_unknown(&call->refusal, call->kind->group, call->kind->resource, call->route.name);
    return object;
}

int call_body(struct call *call, json_t **ret_body) {
    json_t *body = NULL;
    struct err err = {0};

    *ret_body = NULL;
    if (call->in->body_bytes == 0)
        return 0;
    const int r = parse_body(call->in, &body, &err);

    if (r == ERR_NOTFOUND)
        return refuse(&call->refusal, 415, "UnsupportedMediaType",
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json, application/yaml");
    if (r < 0)
        return refuse(&call->refusal, 400, "BadRequest", "the object provided is unrecognized: %s",
                      err.msg);
    if (!json_is_object(body)) {
        json_decref(body);
        return refuse(&call->refusal, 400, "BadRequest", "the body is not an object");
    }
    *ret_body = body;
    return 0;
}

char *call_manager(const struct call *call) {
    const char *agent = call->in->user_agent;
    size_t len = 0;

    if (*call->route.field_manager != '\0')
        return str_dup(call->route.field_manager);
    while (len < MANAGER_MAX_LEN && agent[len] > ' ' && agent[len] <= '~' && agent[len] != '/')
        len++;
    return len > 0 ? str_dup_len(agent, len) : str_dup("unknown");
}

/* ERR_NOTFOUND: a form that we do not read. */
static int parse_body(const struct http_incoming *in, json_t **ret_body, struct err *err) {
    const char *type = in->content_type;

    if (strncmp(type, "application/vnd.kubernetes.protobuf", 35) == 0)
        return protobuf_read(in->body, in->body_bytes, ret_body, err);
    if (strstr(type, "yaml"))
        return yaml_parse(in->body, in->body_bytes, ret_body, err);
    if (*type != '\0' && strncmp(type, "application/json", 16) != 0)
        return ERR_NOTFOUND;
    json_error_t fault;

    *ret_body = json_loadb(in->body, in->body_bytes, JSON_REJECT_DUPLICATES, &fault);
    return *ret_body ? 0 : err_set(err, ERR_INVALID, "%s", fault.text);
}

static void request(void *arg, const struct http_incoming *incoming, struct http_reply *reply) {
    struct apiserver *server = arg;
    struct call call = {.server = server, .in = incoming, .reply = reply};
    struct err err = {0};
    int r = 0;

    if (route_parse(incoming->path, incoming->query, &call.route, &err) < 0)
        r = refuse(&call.refusal, 400, "BadRequest", "%s", err.msg);
    else if (!is_admitted(&call))
        r = refuse(&call.refusal, 401, "Unauthorized", "Unauthorized");
    else if (incoming->body_bytes > OBJECT_MAX_BYTES)
        r = refuse(&call.refusal, 413, "RequestEntityTooLarge",
                   "Request entity too large: limit is %zu", OBJECT_MAX_BYTES);
    else
        r = dispatch(&call);
    if (r < 0)
        answer_refusal(&call);
    garbage_run(server);
    refusal_done(&call.refusal);
    route_done(&call.route);
    free(call.warning);
}

static void closed(void *arg, struct http_reply *reply) {
    struct apiserver *server = arg;

    watches_closed(server->watches, reply);
}

static void changed(void *arg, const struct change *change) {
    struct apiserver *server = arg;

    watches_tell(server->watches, change);
    garbage_note(server, change);
    if (change->type == CHANGE_DELETED && change->now->set == server->crds) {
        kinds_crd_remove(server->kinds, change->now->name);
        watches_end_unserved(server->watches);
    }
}

static void add_namespaces(struct apiserver *server) {
    static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char time[SERVER_TIME_SIZE];
        char uid[SERVER_UID_SIZE];

        server_time(server, time);
        server_uid(server, uid);
        objects_put(server->objects, server->namespaces,
                    json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:{s:s}}, s:{s:[s]}, s:{s:s}}",
                              "apiVersion", "v1", "kind", "Namespace", "metadata", "name", names[i],
                              "uid", uid, "creationTimestamp", time, "labels",
                              "kubernetes.io/metadata.name", names[i], "spec", "finalizers",
                              "kubernetes", "status", "phase", "Active"),
                    NULL, NULL);
    }
}

/* Health and version are for everyone. */
static bool is_admitted(const struct call *call) {
    const char *first = call->route.part_count > 0 ? call->route.parts[0] : "";
    const char *const open[] = {"healthz", "livez", "readyz", "version"};

    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        if (strcmp(first, open[i]) == 0)
            return true;
    }
    return !call->server->token || strcmp(call->server->token, call->in->bearer) == 0;
}

static int dispatch(struct call *call) {
    const struct route *route = &call->route;
    const char *group, *resource;

    if (!route->is_resource)
        return answer_path(call);
    if (strcmp(route->group, "authorization.k8s.io") == 0)
        return answer_review(call);
    call->kind = kinds_find(call->server->kinds, route->group, route->version, route->resource);
    if (!call->kind || (*route->ns != '\0' && !call->kind->namespaced))
        return refuse_path(&call->refusal);
    call->view = (struct view){
        .kind = call->kind,
        .include_object = route->include_object,
        .wall_ms = clock_wall_ms(call->server->clock),
    };
    if (view_form_of(call->in->accept, &call->view.form) < 0)
        return refuse(&call->refusal, 406, "NotAcceptable",
                      "only the following media types are accepted: application/json, "
                      "application/json;as=Table;v=v1;g=meta.k8s.io");
    view_storage(call->kind, &group, &resource);
    call->set = objects_set(call->server->objects, group, resource);
    return dispatch_kind(call);
}

/* Everything that is no resource. */
static int answer_path(struct call *call) {
    const char *path = call->in->path;
    const char *first = call->route.part_count > 0 ? call->route.parts[0] : "";

    if (!is_method(call, "GET"))
        return call->route.part_count > 0 ? refuse_verb(&call->refusal)
                                          : refuse_path(&call->refusal);
    if (strcmp(first, "healthz") == 0 || strcmp(first, "livez") == 0 ||
        strcmp(first, "readyz") == 0) {
        answer_text(call, 200, "ok");
        return 0;
    }
    if (strcmp(path, "/version") == 0)
        return answer_version(call);
    if (strcmp(first, "api") == 0 || strcmp(first, "apis") == 0)
        return answer_discovery(call);
    json_auto_t *document =
        strcmp(first, "openapi") == 0 ? kinds_openapi_new(call->server->kinds, path) : NULL;

    if (!document)
        return refuse_path(&call->refusal);
    answer_document(call, 200, document);
    return 0;
}

static int answer_discovery(struct call *call) {
    const bool aggregated = strstr(call->in->accept, "g=apidiscovery.k8s.io") &&
                            strstr(call->in->accept, "v=v2;") && call->route.part_count == 1;
    const size_t len = strlen(call->in->path);
    auto_free char *path =
        str_dup_len(call->in->path, len > 1 && call->in->path[len - 1] == '/' ? len - 1 : len);
    json_auto_t *document = kinds_discovery_new(call->server->kinds, path, aggregated);

    if (!document)
        return refuse_path(&call->refusal);
    auto_free char *text = json_dumps(document, JSON_COMPACT);

    http_answer(call->reply, 200, aggregated ? AGGREGATED_MEDIA : "application/json", text,
                strlen(text));
    return 0;
}

static int answer_version(struct call *call) {
    json_auto_t *version = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "major", "1", "minor", "34", "gitVersion",
        "v1.34.0", "gitCommit", "", "gitTreeState", "clean", "buildDate", "1970-01-01T00:00:00Z",
        "goVersion", "none", "compiler", "c", "platform", "linux/amd64");

    answer_document(call, 200, version);
    return 0;
}

/* Whoever is admitted may do everything. */
static int answer_review(struct call *call) {
    json_auto_t *body = NULL;

    if (strcmp(call->route.resource, "selfsubjectaccessreviews") != 0)
        return refuse_path(&call->refusal);
    if (!is_method(call, "POST"))
        return refuse_verb(&call->refusal);
    if (call_body(call, &body) < 0)
        return ERR_INVALID;
    if (!body)
        return refuse(&call->refusal, 400, "BadRequest", "the request has no body");
    json_object_set_new(body, "status", json_pack("{s:b}", "allowed", 1));
    answer_document(call, 201, body);
    return 0;
}

static int dispatch_kind(struct call *call) {
    const struct route *route = &call->route;

    if (call->kind->read_only && !is_method(call, "GET"))
        return refuse_verb(&call->refusal);
    if (!is_manager(route->field_manager))
        return refuse(&call->refusal, 422, "Invalid",
                      "fieldManager: Invalid value: must be at most %d printable characters",
                      MANAGER_MAX_LEN);
    if (*route->name == '\0')
        return dispatch_collection(call);
    if (call->kind->namespaced && *route->ns == '\0')
        return refuse_path(&call->refusal);
    return *route->subresource != '\0' ? dispatch_subresource(call) : dispatch_object(call);
}

static bool is_manager(const char *text) {
    size_t len = 0;

    while (text[len] >= ' ' && text[len] <= '~')
        len++;
    return text[len] == '\0' && len <= MANAGER_MAX_LEN;
}

static int dispatch_collection(struct call *call) {
    if (is_method(call, "GET"))
        return call->route.watch ? read_watch(call) : read_list(call);
    if (call->kind->namespaced && *call->route.ns == '\0')
        return refuse_verb(&call->refusal);
    if (is_method(call, "POST"))
        return verb_create(call);
    if (is_method(call, "DELETE") && call->set != call->server->namespaces)
        return verb_delete_collection(call);
    return refuse_verb(&call->refusal);
}

static int dispatch_object(struct call *call) {
    if (is_method(call, "GET"))
        return call->route.watch ? read_watch(call) : read_get(call);
    if (is_method(call, "PUT"))
        return verb_replace(call);
    if (is_method(call, "PATCH"))
        return verb_patch(call);
    if (is_method(call, "DELETE"))
        return verb_delete(call);
    return refuse_verb(&call->refusal);
}

static int dispatch_subresource(struct call *call) {
    const char *name = call->route.subresource;
    const bool is_pod = *call->kind->group == '\0' && strcmp(call->kind->resource, "pods") == 0;

    if (strcmp(name, "status") == 0 && call->kind->has_status) {
        if (is_method(call, "GET"))
            return read_get(call);
        if (is_method(call, "PUT"))
            return verb_replace(call);
        return is_method(call, "PATCH") ? verb_patch(call) : refuse_verb(&call->refusal);
    }
    if (strcmp(name, "scale") == 0 && call->kind->has_scale)
        return is_method(call, "GET") || is_method(call, "PUT") || is_method(call, "PATCH")
                   ? verb_scale(call)
                   : refuse_verb(&call->refusal);
    if (is_pod && strcmp(name, "eviction") == 0 && is_method(call, "POST"))
        return verb_evict(call);
    if (is_pod && strcmp(name, "binding") == 0 && is_method(call, "POST"))
        return verb_bind(call);
    if (is_pod && (strcmp(name, "log") == 0 || strcmp(name, "exec") == 0 ||
                   strcmp(name, "attach") == 0 || strcmp(name, "portforward") == 0)) {
        if (!call_object(call))
            return ERR_INVALID;
        return refuse(&call->refusal, 405, "MethodNotAllowed",
                      "%s has no containers to run: pods/%s is not served", call->server->name,
                      name);
    }
    return refuse_path(&call->refusal);
}

static bool is_method(const struct call *call, const char *method) {
    return strcmp(call->in->method, method) == 0;
}
