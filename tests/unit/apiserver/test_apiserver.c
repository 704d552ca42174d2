#include "apiserver/apiserver.h"

#include "reply.h"
#include "unit.h"

#include "base/auto.h"

#include <stdbool.h>

#define JSON "application/json"
#define MERGE "application/merge-patch+json"
#define APPLY "application/apply-patch+yaml"

struct rig {
    struct clock clock;
    struct apiserver *server;
    struct http_handler handler;
    const char *accept;
    struct test_reply last;
    json_t *answer; /* of the last request */
};

static int setup(void **state) {
    struct rig *rig = str_alloc(1, sizeof *rig);

    rig->clock = clock_by_hand(1700000000000, 5000);
    rig->server = apiserver_new(&(struct apiserver_options){
        .clock = &rig->clock, .rng = {1}, .name = "hub", .token = "secret"});
    rig->handler = apiserver_handler(rig->server);
    rig->accept = "";
    reply_init(&rig->last);
    *state = rig;
    return 0;
}

static int teardown(void **state) {
    struct rig *rig = *state;

    apiserver_free(rig->server);
    reply_done(&rig->last);
    json_decref(rig->answer);
    free(rig);
    return 0;
}

static void send_to(struct rig *rig, struct test_reply *reply, const char *method,
                    const char *target, const char *type, const char *body) {
    auto_free char *path = str_dup(target);
    char *query = strchr(path, '?');

    if (query)
        *query++ = '\0';
    rig->handler.request(rig->handler.arg,
                         &(struct http_incoming){.method = method,
                                                 .path = path,
                                                 .query = query ? query : "",
                                                 .accept = rig->accept,
                                                 .content_type = type ? type : "",
                                                 .bearer = "secret",
                                                 .user_agent = "tester/v1",
                                                 .body = body,
                                                 .body_bytes = body ? strlen(body) : 0},
                         &reply->reply);
}

/* One whole request; returns its status. Single quotes in body stand for double ones. */
static int ask(struct rig *rig, const char *method, const char *target, const char *type,
               const char *body) {
    auto_free char *text = str_dup(body);

    for (char *at = text; at && *at; at++)
        *at = *at == '\'' ? '"' : *at;
    reply_done(&rig->last);
    reply_init(&rig->last);
    send_to(rig, &rig->last, method, target, type, text);
    assert_int_equal(rig->last.heads, 1);
    assert_int_equal(rig->last.ends, 1);
    json_decref(rig->answer);
    rig->answer = json_loads(reply_text(&rig->last), JSON_DECODE_ANY, NULL);
    return rig->last.status;
}

/* The text or number at a dotted path of the last answer, as text. */
static const char *got(struct rig *rig, const char *path) {
    static char number[32];
    auto_free char *copy = str_dup(path);
    char *rest = NULL;
    const json_t *value = rig->answer;

    for (char *key = strtok_r(copy, ".", &rest); key; key = strtok_r(NULL, ".", &rest))
        value = json_is_array(value) ? json_array_get(value, (size_t)strtol(key, NULL, 10))
                                     : json_object_get(value, key);
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%lld", json_integer_value(value));
        return number;
    }
    return json_is_string(value)    ? json_string_value(value)
           : json_is_boolean(value) ? (json_is_true(value) ? "true" : "false")
           : value                  ? "?"
                                    : "";
}

#define MAPS "/api/v1/namespaces/default/configmaps"

static void make_map(struct rig *rig, const char *name) {
    auto_free char *body = str_printf("{'metadata':{'name':'%s'},'data':{'a':'1'}}", name);

    assert_int_equal(ask(rig, "POST", MAPS, JSON, body), 201);
}

static void a_created_object_has_its_system_metadata(void **state) {
    struct rig *rig = *state;

    make_map(rig, "one");
    assert_string_equal(got(rig, "kind"), "ConfigMap");
    assert_string_equal(got(rig, "metadata.namespace"), "default");
    assert_string_equal(got(rig, "metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
    assert_int_equal(strlen(got(rig, "metadata.uid")), 36);
    assert_true(strtol(got(rig, "metadata.resourceVersion"), NULL, 10) > 0);
    assert_string_equal(got(rig, "metadata.managedFields.0.manager"), "tester");
    assert_int_equal(ask(rig, "GET", MAPS "/one", NULL, NULL), 200);
    assert_string_equal(got(rig, "data.a"), "1");
    assert_int_equal(ask(rig, "POST", MAPS, JSON, "{'metadata':{'generateName':'x-'}}"), 201);
    assert_int_equal(strlen(got(rig, "metadata.name")), 7);
}

static void refusals_are_worded_as_kubectl_knows_them(void **state) {
    static const struct {
        const char *method, *target, *type, *body;
        int status;
        const char *reason, *message;
    } rows[] = {
        // clang-format off
        {"GET", MAPS "/x", NULL, NULL, 404, "NotFound", "configmaps \"x\" not found"},
        {"GET", "/apis/apps/v1/namespaces/default/deployments/x", NULL, NULL, 404, "NotFound",
         "deployments.apps \"x\" not found"},
        {"POST", MAPS, JSON, "{'metadata':{'name':'one'}}", 409, "AlreadyExists",
         "configmaps \"one\" already exists"},
        {"PUT", MAPS "/one", JSON, "{'metadata':{'name':'one','resourceVersion':'1'}}", 409,
         "Conflict", "Operation cannot be fulfilled on configmaps \"one\": the object has been "
         "modified; please apply your changes to the latest version and try again"},
        {"POST", MAPS, JSON, "{'metadata':{}}", 422, "Invalid", "ConfigMap \"\" is invalid: "
         "metadata.name: Required value: name or generateName is required"},
        {"POST", "/api/v1/namespaces/none/configmaps", JSON, "{'metadata':{'name':'a'}}", 404,
         "NotFound", "namespaces \"none\" not found"},
        {"POST", MAPS, JSON, "{'kind':'Pod','apiVersion':'v1'}", 400, "BadRequest",
         "the API version in the data (v1, Kind=Pod) does not match the expected API version (v1, "
         "Kind=ConfigMap)"},
        {"POST", MAPS, JSON, "{'metadata':{'name':'a','namespace':'b'}}", 400, "BadRequest",
         "the namespace of the provided object does not match the namespace sent on the request"},
        {"PUT", MAPS "/one", JSON, "{'metadata':{'name':'two'}}", 400, "BadRequest",
         "the name of the object (two) does not match the name on the URL (one)"},
        {"POST", MAPS, JSON, "{", 400, "BadRequest", NULL},
        {"POST", MAPS, JSON, "", 400, "BadRequest", NULL},
        {"POST", MAPS, "application/cbor", "k8s", 415, "UnsupportedMediaType",
         NULL},
        {"PATCH", MAPS "/one", JSON, "{}", 415, "UnsupportedMediaType", NULL},
        {"PATCH", MAPS "/none", MERGE, "{}", 404, "NotFound", "configmaps \"none\" not found"},
        {"GET", "/api/v1/namespaces/default/nonsense", NULL, NULL, 404, "NotFound",
         "the server could not find the requested resource"},
        {"GET", "/nonsense", NULL, NULL, 404, "NotFound", NULL},
        {"POST", MAPS "/one", JSON, "{}", 405, "MethodNotAllowed",
         "the server does not allow this method on the requested resource"},
        {"DELETE", "/api/v1/namespaces/default", NULL, NULL, 403, "Forbidden",
         "namespaces \"default\" is forbidden: this namespace may not be deleted"},
        {"POST", MAPS, JSON, "{'metadata':{'name':'a','finalizers':[1]}}", 400, "BadRequest",
         "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
         "value into Go struct field ConfigMap.metadata.finalizers"},
        {"POST", MAPS, JSON, "{'metadata':{'name':'a','labels':{'a':1}}}", 400, "BadRequest", NULL},
        {"POST", MAPS, JSON, "{'metadata':{'name':1}}", 400, "BadRequest", NULL},
        {"POST", MAPS, JSON, "{'metadata':[]}", 400, "BadRequest", NULL},
        {"PATCH", MAPS "/one", MERGE, "{'metadata':{'ownerReferences':['a']}}", 400, "BadRequest",
         NULL},
        {"PATCH", MAPS "/one?fieldManager=%ff", MERGE, "{}", 422, "Invalid", NULL},
        {"PATCH", MAPS "/one", MERGE, "[]", 400, "BadRequest", NULL},
        {"GET", MAPS "/%ff", NULL, NULL, 404, "NotFound", NULL},
        {"GET", MAPS "/a,b?watch=1", NULL, NULL, 400, "BadRequest", NULL},
        {"DELETE", "/api/v1/namespaces", NULL, NULL, 405, "MethodNotAllowed", NULL},
        {"GET", MAPS "?labelSelector=%3D", NULL, NULL, 400, "BadRequest", NULL},
        {"GET", MAPS "?resourceVersion=99999", NULL, NULL, 504, "Timeout", NULL},
        {"GET", MAPS "?resourceVersion=1&continue=x", NULL, NULL, 400, "BadRequest", NULL},
        {"GET", MAPS "?resourceVersionMatch=Exact", NULL, NULL, 422, "Invalid", NULL},
        {"GET", MAPS "?watch=1&sendInitialEvents=true", NULL, NULL, 422, "Invalid", NULL},
        {"GET", MAPS "?limit=x", NULL, NULL, 400, "BadRequest", NULL},
        {"GET", MAPS "?resourceVersion=a", NULL, NULL, 400, "BadRequest", NULL},
        // clang-format on
    };
    struct rig *rig = *state;

    make_map(rig, "one");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int status = ask(rig, rows[i].method, rows[i].target, rows[i].type, rows[i].body);

        if (status != rows[i].status || strcmp(got(rig, "reason"), rows[i].reason) != 0 ||
            (rows[i].message && strcmp(got(rig, "message"), rows[i].message) != 0))
            fail_msg("row %zu: %d %s", i, status, reply_text(&rig->last));
        assert_string_equal(got(rig, "kind"), "Status");
        assert_string_equal(got(rig, "status"), "Failure");
    }
}

static void a_wrong_token_is_401_but_health_is_open(void **state) {
    struct rig *rig = *state;
    struct http_incoming in = {.method = "GET",
                               .path = MAPS,
                               .query = "",
                               .accept = "",
                               .content_type = "",
                               .bearer = "wrong",
                               .user_agent = ""};

    rig->handler.request(rig->handler.arg, &in, &rig->last.reply);
    assert_int_equal(rig->last.status, 401);
    assert_non_null(strstr(reply_text(&rig->last), "\"reason\":\"Unauthorized\""));
    reply_done(&rig->last);
    reply_init(&rig->last);
    in.path = "/readyz";
    rig->handler.request(rig->handler.arg, &in, &rig->last.reply);
    assert_int_equal(rig->last.status, 200);
    assert_string_equal(reply_text(&rig->last), "ok");
}

static void a_write_that_changes_nothing_is_not_stored(void **state) {
    struct rig *rig = *state;

    make_map(rig, "one");
    auto_free char *rv = str_dup(got(rig, "metadata.resourceVersion"));

    clock_advance(&rig->clock, 5000);
    assert_int_equal(ask(rig, "PATCH", MAPS "/one", MERGE, "{'data':{'a':'1'}}"), 200);
    assert_string_equal(got(rig, "metadata.resourceVersion"), rv);
    assert_int_equal(ask(rig, "PATCH", MAPS "/one?dryRun=All", MERGE, "{'data':{'a':'2'}}"), 200);
    assert_string_equal(got(rig, "data.a"), "2");
    assert_int_equal(ask(rig, "POST", MAPS "?dryRun=All", JSON, "{'metadata':{'name':'dry'}}"),
                     201);
    assert_int_equal(ask(rig, "DELETE", MAPS "/one?dryRun=All", NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", MAPS "/dry", NULL, NULL), 404);
    assert_int_equal(ask(rig, "GET", MAPS "/one", NULL, NULL), 200);
    assert_string_equal(got(rig, "metadata.resourceVersion"), rv);
    assert_int_equal(ask(rig, "PATCH", MAPS "/one", MERGE, "{'data':{'a':'2'}}"), 200);
    assert_string_not_equal(got(rig, "metadata.resourceVersion"), rv);
}

#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

static void make_deployment(struct rig *rig) {
    assert_int_equal(
        ask(rig, "POST", DEPLOYMENTS, JSON,
            "{'metadata':{'name':'web'},'spec':{'replicas':2,'selector':{'matchLabels':{'a':'b'}},"
            "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c',"
            "'image':'i'}]}}},'status':{'replicas':9}}"),
        201);
}

static void status_and_spec_are_written_apart(void **state) {
    struct rig *rig = *state;

    make_deployment(rig);
    assert_string_equal(got(rig, "metadata.generation"), "1");
    assert_string_equal(got(rig, "status.replicas"), "");
    assert_int_equal(ask(rig, "PATCH", DEPLOYMENTS "/web/status", MERGE,
                         "{'spec':{'replicas':7},'status':{'replicas':3},'metadata':{'labels':"
                         "{'x':'y'}}}"),
                     200);
    assert_string_equal(got(rig, "spec.replicas"), "2");
    assert_string_equal(got(rig, "status.replicas"), "3");
    assert_string_equal(got(rig, "metadata.labels.x"), "");
    assert_string_equal(got(rig, "metadata.generation"), "1");
    assert_int_equal(ask(rig, "PATCH", DEPLOYMENTS "/web", MERGE,
                         "{'spec':{'replicas':7},'status':{'replicas':0}}"),
                     200);
    assert_string_equal(got(rig, "spec.replicas"), "7");
    assert_string_equal(got(rig, "status.replicas"), "3");
    assert_string_equal(got(rig, "metadata.generation"), "2");
}

static void scale_reads_and_writes_replicas(void **state) {
    struct rig *rig = *state;

    make_deployment(rig);
    assert_int_equal(ask(rig, "GET", DEPLOYMENTS "/web/scale", NULL, NULL), 200);
    assert_string_equal(got(rig, "kind"), "Scale");
    assert_string_equal(got(rig, "spec.replicas"), "2");
    assert_string_equal(got(rig, "status.selector"), "a=b");
    assert_int_equal(ask(rig, "PATCH", DEPLOYMENTS "/web/scale", MERGE, "{'spec':{'replicas':5}}"),
                     200);
    assert_string_equal(got(rig, "spec.replicas"), "5");
    assert_int_equal(ask(rig, "PUT", DEPLOYMENTS "/web/scale", JSON,
                         "{'metadata':{'name':'web','resourceVersion':'1'},'spec':{'replicas':6}}"),
                     409);
    assert_int_equal(ask(rig, "PUT", DEPLOYMENTS "/web/scale", JSON, "{'spec':{'replicas':-1}}"),
                     422);
    assert_int_equal(ask(rig, "PUT", DEPLOYMENTS "/web/scale", JSON, "{'spec':{}}"), 200);
    assert_int_equal(ask(rig, "GET", DEPLOYMENTS "/web", NULL, NULL), 200);
    assert_string_equal(got(rig, "spec.replicas"), "0");
}

static void finalizers_hold_an_object_back(void **state) {
    struct rig *rig = *state;

    assert_int_equal(
        ask(rig, "POST", MAPS, JSON, "{'metadata':{'name':'held','finalizers':['a/b','c/d']}}"),
        201);
    assert_int_equal(ask(rig, "DELETE", MAPS "/held", NULL, NULL), 200);
    assert_string_equal(got(rig, "metadata.deletionTimestamp"), "2023-11-14T22:13:20Z");
    auto_free char *rv = str_dup(got(rig, "metadata.resourceVersion"));

    assert_int_equal(ask(rig, "DELETE", MAPS "/held", NULL, NULL), 200);
    assert_string_equal(got(rig, "metadata.resourceVersion"), rv);
    assert_int_equal(
        ask(rig, "PATCH", MAPS "/held", MERGE, "{'metadata':{'finalizers':['a/b','e/f']}}"), 422);
    assert_int_equal(ask(rig, "PATCH", MAPS "/held", MERGE, "{'metadata':{'finalizers':['a/b']}}"),
                     200);
    assert_int_equal(ask(rig, "PATCH", MAPS "/held", MERGE, "{'metadata':{'finalizers':null}}"),
                     200);
    assert_int_equal(ask(rig, "GET", MAPS "/held", NULL, NULL), 404);
}

/* Makes a config map owned by the object of this uid. */
static void make_owned(struct rig *rig, const char *name, const char *uid, bool blocks) {
    auto_free char *body = str_printf(
        "{'metadata':{'name':'%s','finalizers':[%s],'ownerReferences':[{'apiVersion':'v1','kind':"
        "'ConfigMap','name':'o','uid':'%s','blockOwnerDeletion':%s}]}}",
        name, blocks ? "'x/y'" : "", uid, blocks ? "true" : "false");

    assert_int_equal(ask(rig, "POST", MAPS, JSON, body), 201);
}

static void dependents_follow_their_owner(void **state) {
    struct rig *rig = *state;
    char name[16];

    make_map(rig, "o");
    auto_free char *first = str_dup(got(rig, "metadata.uid"));
    auto_free char *uid = str_dup(first);

    for (int i = 0; i < 50; i++) { /* a chain of owners */
        snprintf(name, sizeof name, "link%d", i);
        make_owned(rig, name, uid, false);
        free(uid);
        uid = str_dup(got(rig, "metadata.uid"));
    }
    assert_int_equal(ask(rig, "DELETE", MAPS "/o", JSON, "{'preconditions':{'uid':'x'}}"), 409);
    assert_int_equal(ask(rig, "DELETE", MAPS "/o", JSON, "{}"), 200);
    assert_string_equal(got(rig, "status"), "Success");
    assert_string_equal(got(rig, "details.uid"), first);
    assert_int_equal(ask(rig, "GET", MAPS, NULL, NULL), 200);
    assert_string_equal(got(rig, "items.0"), "");
}

static void orphans_stay_and_foreground_waits(void **state) {
    struct rig *rig = *state;

    make_map(rig, "o");
    make_owned(rig, "left", got(rig, "metadata.uid"), false);
    assert_int_equal(ask(rig, "DELETE", MAPS "/o?propagationPolicy=Orphan", NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", MAPS "/o", NULL, NULL), 404);
    assert_int_equal(ask(rig, "GET", MAPS "/left", NULL, NULL), 200);
    assert_string_equal(got(rig, "metadata.ownerReferences.0.name"), "");

    make_map(rig, "o");
    make_owned(rig, "blocks", got(rig, "metadata.uid"), true);
    assert_int_equal(ask(rig, "DELETE", MAPS "/o", JSON, "{'propagationPolicy':'Foreground'}"),
                     200);
    assert_int_equal(ask(rig, "GET", MAPS "/o", NULL, NULL), 200);
    assert_string_equal(got(rig, "metadata.finalizers.0"), "foregroundDeletion");
    assert_int_equal(ask(rig, "GET", MAPS "/blocks", NULL, NULL), 200);
    assert_string_not_equal(got(rig, "metadata.deletionTimestamp"), "");
    assert_int_equal(ask(rig, "PATCH", MAPS "/blocks", MERGE, "{'metadata':{'finalizers':[]}}"),
                     200);
    assert_int_equal(ask(rig, "GET", MAPS "/blocks", NULL, NULL), 404);
    assert_int_equal(ask(rig, "GET", MAPS "/o", NULL, NULL), 404);
}

static void what_is_made_for_an_absent_owner_goes(void **state) {
    struct rig *rig = *state;

    make_owned(rig, "late", "00000000-0000-4000-8000-000000000000", false);
    apiserver_tick(rig->server, rig->clock.mono_ms);
    assert_int_equal(ask(rig, "GET", MAPS "/late", NULL, NULL), 404);
}

static void a_namespace_goes_after_its_content(void **state) {
    struct rig *rig = *state;

    assert_int_equal(ask(rig, "POST", "/api/v1/namespaces", JSON, "{'metadata':{'name':'shop'}}"),
                     201);
    assert_string_equal(got(rig, "status.phase"), "Active");
    assert_string_equal(got(rig, "spec.finalizers.0"), "kubernetes");
    assert_int_equal(ask(rig, "POST", "/api/v1/namespaces/shop/configmaps", JSON,
                         "{'metadata':{'name':'a','finalizers':['x/y']}}"),
                     201);
    assert_int_equal(ask(rig, "POST", "/api/v1/namespaces/shop/secrets", JSON,
                         "{'metadata':{'name':'b'},'stringData':{'k':'value'}}"),
                     201);
    assert_string_equal(got(rig, "data.k"), "dmFsdWU=");
    assert_string_equal(got(rig, "stringData"), "");
    assert_int_equal(ask(rig, "DELETE", "/api/v1/namespaces/shop", NULL, NULL), 200);
    assert_string_equal(got(rig, "status.phase"), "Terminating");
    assert_int_equal(ask(rig, "GET", "/api/v1/namespaces/shop/secrets/b", NULL, NULL), 404);
    assert_int_equal(
        ask(rig, "POST", "/api/v1/namespaces/shop/configmaps", JSON, "{'metadata':{'name':'c'}}"),
        403);
    assert_int_equal(ask(rig, "PATCH", "/api/v1/namespaces/shop/configmaps/a", MERGE,
                         "{'metadata':{'finalizers':[]}}"),
                     200);
    assert_int_equal(ask(rig, "GET", "/api/v1/namespaces/shop", NULL, NULL), 404);
}

static void pods_on_a_node_have_a_grace(void **state) {
    struct rig *rig = *state;
    const char *const pods = "/api/v1/namespaces/default/pods";

    assert_int_equal(ask(rig, "POST", pods, JSON,
                         "{'metadata':{'name':'p'},'spec':{'nodeName':'n','containers':[{'name':"
                         "'c','image':'i'}]}}"),
                     201);
    assert_string_equal(got(rig, "status.phase"), "Pending");
    assert_int_equal(ask(rig, "DELETE", "/api/v1/namespaces/default/pods/p", NULL, NULL), 200);
    assert_string_equal(got(rig, "metadata.deletionGracePeriodSeconds"), "30");
    assert_string_equal(got(rig, "metadata.deletionTimestamp"), "2023-11-14T22:13:50Z");
    clock_advance(&rig->clock, 29000);
    apiserver_tick(rig->server, rig->clock.mono_ms);
    assert_int_equal(ask(rig, "GET", "/api/v1/namespaces/default/pods/p", NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", "/api/v1/namespaces/default/pods/p/log", NULL, NULL), 405);
    clock_advance(&rig->clock, 1000);
    apiserver_tick(rig->server, rig->clock.mono_ms);
    assert_int_equal(ask(rig, "GET", "/api/v1/namespaces/default/pods/p", NULL, NULL), 404);
    assert_int_equal(ask(rig, "POST", pods, JSON,
                         "{'metadata':{'name':'p'},'spec':{'nodeName':'n','containers':[{'name':"
                         "'c','image':'i'}]}}"),
                     201);
    assert_int_equal(
        ask(rig, "DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0", NULL, NULL),
        200);
    assert_int_equal(ask(rig, "GET", "/api/v1/namespaces/default/pods/p", NULL, NULL), 404);
}

static void a_collection_is_deleted_by_selector(void **state) {
    struct rig *rig = *state;

    make_map(rig, "one");
    assert_int_equal(ask(rig, "POST", MAPS, JSON, "{'metadata':{'name':'two','labels':{'a':'b'}}}"),
                     201);
    assert_int_equal(ask(rig, "DELETE", MAPS "?labelSelector=a%3Db", NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", MAPS "/one", NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", MAPS "/two", NULL, NULL), 404);
}

static void pages_are_of_one_version(void **state) {
    struct rig *rig = *state;
    char name[24];
    int seen = 0;

    for (int i = 0; i < 25; i++) {
        snprintf(name, sizeof name, "m%02d", i);
        make_map(rig, name);
    }
    assert_int_equal(ask(rig, "GET", MAPS "?limit=10", NULL, NULL), 200);
    assert_string_equal(got(rig, "metadata.remainingItemCount"), "15");
    auto_free char *rv = str_dup(got(rig, "metadata.resourceVersion"));
    auto_free char *first = str_printf(MAPS "?limit=10&continue=%s", got(rig, "metadata.continue"));
    auto_free char *next = str_dup(first);

    assert_int_equal(ask(rig, "DELETE", MAPS "/m15", NULL, NULL), 200);
    make_map(rig, "m15a");
    for (int page = 0; page < 2; page++) {
        assert_int_equal(ask(rig, "GET", next, NULL, NULL), 200);
        assert_string_equal(got(rig, "metadata.resourceVersion"), rv);
        const json_t *items = json_object_get(rig->answer, "items");

        for (size_t i = 0; i < json_array_size(items); i++) {
            snprintf(name, sizeof name, "m%02d", 10 + seen++);
            assert_string_equal(json_string_value(json_object_get(
                                    json_object_get(json_array_get(items, i), "metadata"), "name")),
                                name);
        }
        free(next);
        next = str_printf(MAPS "?limit=10&continue=%s", got(rig, "metadata.continue"));
    }
    assert_int_equal(seen, 15);
    apiserver_compact(rig->server);
    assert_int_equal(ask(rig, "GET", first, NULL, NULL), 410);
    assert_string_equal(got(rig, "reason"), "Expired");
    free(next);
    next = str_printf(MAPS "?continue=%s", got(rig, "metadata.continue"));
    assert_int_equal(ask(rig, "GET", next, NULL, NULL), 200);
    assert_string_equal(got(rig, "items.0.metadata.name"), "m10");
    assert_string_equal(got(rig, "items.5.metadata.name"), "m15a");
    assert_int_equal(
        ask(rig, "GET", MAPS "?resourceVersion=3&resourceVersionMatch=Exact", NULL, NULL), 410);
    assert_int_equal(ask(rig, "GET", MAPS "?resourceVersion=0&limit=5", NULL, NULL), 200);
    assert_string_equal(got(rig, "metadata.continue"), "");
}

static void apply_creates_merges_and_conflicts(void **state) {
    struct rig *rig = *state;

    assert_int_equal(ask(rig, "PATCH", MAPS "/ssa", APPLY, "data: {}"), 422);
    assert_int_equal(
        ask(rig, "PATCH", MAPS "/ssa?fieldManager=a", APPLY,
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ssa\ndata:\n  x: '1'"),
        201);
    assert_int_equal(ask(rig, "PATCH", MAPS "/ssa?fieldManager=b", APPLY,
                         "{'apiVersion':'v1','kind':'ConfigMap','data':{'x':'2'}}"),
                     409);
    assert_string_equal(got(rig, "details.causes.0.field"), ".data.x");
    assert_string_equal(got(rig, "details.causes.0.reason"), "FieldManagerConflict");
    assert_int_equal(ask(rig, "PATCH", MAPS "/ssa?fieldManager=b&force=true", APPLY,
                         "{'apiVersion':'v1','kind':'ConfigMap','data':{'x':'2'}}"),
                     200);
    assert_string_equal(got(rig, "data.x"), "2");
    auto_free char *rv = str_dup(got(rig, "metadata.resourceVersion"));

    assert_int_equal(ask(rig, "PATCH", MAPS "/ssa?fieldManager=b", APPLY,
                         "{'apiVersion':'v1','kind':'ConfigMap','data':{'x':'2'}}"),
                     200);
    assert_string_equal(got(rig, "metadata.resourceVersion"), rv);
}

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WIDGETS "/apis/example.io/v1/namespaces/default/widgets"

static void make_crd(struct rig *rig) {
    assert_int_equal(
        ask(rig, "POST", CRDS, JSON,
            "{'metadata':{'name':'widgets.example.io'},'spec':{'group':'example.io','scope':"
            "'Namespaced','names':{'plural':'widgets','singular':'widget','kind':'Widget'},"
            "'versions':[{'name':'v1','served':true,'storage':true,'subresources':{'status':{}},"
            "'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object',"
            "'properties':{'size':{'type':'integer','minimum':1,'default':3}},'required':"
            "['size']},'status':{'type':'object','properties':{'ok':{'type':'boolean'}}}}}}}]}}"),
        201);
}

static int only_odd(void *arg, const json_t *object, const json_t *old, struct err *err) {
    const json_int_t size =
        json_integer_value(json_object_get(json_object_get(object, "spec"), "size"));

    *(int *)arg += old ? 100 : 1;
    return size % 2 ? 0 : err_set(err, ERR_INVALID, "spec.size: must be odd");
}

static void custom_resources_are_defaulted_pruned_and_checked(void **state) {
    struct rig *rig = *state;
    int asked = 0;

    assert_int_equal(ask(rig, "GET", WIDGETS, NULL, NULL), 404);
    make_crd(rig);
    apiserver_hook_add(rig->server,
                       &(struct apiserver_hook){"example.io", "widgets", only_odd, &asked});
    assert_int_equal(ask(rig, "POST", WIDGETS, JSON,
                         "{'metadata':{'name':'w'},'spec':{'colour':'red'},'status':{'ok':true}}"),
                     201);
    assert_string_equal(got(rig, "spec.size"), "3");
    assert_string_equal(got(rig, "spec.colour"), "");
    assert_string_equal(got(rig, "status.ok"), "");
    assert_non_null(strstr(rig->last.warning, "unknown field \"spec.colour\""));
    assert_int_equal(ask(rig, "POST", WIDGETS "?fieldValidation=Strict", JSON,
                         "{'metadata':{'name':'w2'},'spec':{'colour':'red'}}"),
                     400);
    assert_string_equal(got(rig, "message"),
                        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding "
                        "error: unknown field \"spec.colour\"");
    assert_int_equal(ask(rig, "PATCH", WIDGETS "/w", MERGE, "{'spec':{'size':0}}"), 422);
    assert_int_equal(ask(rig, "PATCH", WIDGETS "/w", MERGE, "{'spec':{'size':4}}"), 422);
    assert_non_null(strstr(got(rig, "message"), "must be odd"));
    assert_int_equal(asked, 101);
    assert_int_equal(
        ask(rig, "PUT", WIDGETS "/w", JSON, "{'metadata':{'name':'w'},'spec':{'size':5}}"), 422);
    assert_int_equal(ask(rig, "DELETE", CRDS "/widgets.example.io", NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", CRDS "/widgets.example.io", NULL, NULL), 404);
    assert_int_equal(ask(rig, "GET", WIDGETS "/w", NULL, NULL), 404);
    make_crd(rig);
    assert_int_equal(ask(rig, "GET", WIDGETS "/w", NULL, NULL), 404);
}

static void a_crd_waits_for_its_objects(void **state) {
    struct rig *rig = *state;

    make_crd(rig);
    assert_int_equal(
        ask(rig, "POST", WIDGETS, JSON, "{'metadata':{'name':'w','finalizers':['x/y']},'spec':{}}"),
        201);
    assert_int_equal(ask(rig, "POST", WIDGETS, JSON, "{'metadata':{'name':'v'},'spec':{}}"), 201);
    assert_int_equal(ask(rig, "DELETE", CRDS "/widgets.example.io", NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", CRDS "/widgets.example.io", NULL, NULL), 200);
    assert_string_not_equal(got(rig, "metadata.deletionTimestamp"), "");
    assert_int_equal(ask(rig, "GET", WIDGETS "/v", NULL, NULL), 404);
    assert_int_equal(ask(rig, "PATCH", WIDGETS "/w", MERGE, "{'metadata':{'finalizers':null}}"),
                     200);
    assert_int_equal(ask(rig, "GET", CRDS "/widgets.example.io", NULL, NULL), 404);
    assert_int_equal(ask(rig, "GET", WIDGETS, NULL, NULL), 404);
}

static void status_is_applied_apart(void **state) {
    struct rig *rig = *state;

    make_crd(rig);
    assert_int_equal(ask(rig, "POST", WIDGETS, JSON, "{'metadata':{'name':'w'},'spec':{}}"), 201);
    assert_int_equal(ask(rig, "PATCH", WIDGETS "/w/status?fieldManager=s", APPLY,
                         "apiVersion: example.io/v1\nkind: Widget\nmetadata: {name: w}\n"
                         "spec: {size: 9}\nstatus: {ok: true}"),
                     200);
    assert_string_equal(got(rig, "status.ok"), "true");
    assert_string_equal(got(rig, "spec.size"), "3");
    assert_string_equal(got(rig, "metadata.managedFields.0.manager"), "s");
    assert_string_equal(got(rig, "metadata.managedFields.0.subresource"), "status");
    assert_int_equal(ask(rig, "PATCH", WIDGETS "/w/status?fieldManager=t", APPLY,
                         "{'apiVersion':'example.io/v1','kind':'Widget','status':{'ok':false}}"),
                     409);
}

static void pods_are_bound_and_evicted(void **state) {
    struct rig *rig = *state;
    const char *const pod = "/api/v1/namespaces/default/pods/p";

    assert_int_equal(ask(rig, "POST", "/api/v1/namespaces/default/pods", JSON,
                         "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]"
                         "}}"),
                     201);
    assert_int_equal(ask(rig, "POST", "/api/v1/namespaces/default/pods/p/binding", JSON,
                         "{'target':{'name':'n1'}}"),
                     200);
    assert_int_equal(ask(rig, "POST", "/api/v1/namespaces/default/pods/p/binding", JSON,
                         "{'target':{'name':'n2'}}"),
                     409);
    assert_int_equal(ask(rig, "GET", pod, NULL, NULL), 200);
    assert_string_equal(got(rig, "spec.nodeName"), "n1");
    assert_int_equal(ask(rig, "POST", "/api/v1/namespaces/default/pods/p/eviction", JSON,
                         "{'deleteOptions':{'gracePeriodSeconds':0}}"),
                     200);
    assert_int_equal(ask(rig, "GET", pod, NULL, NULL), 404);
}

static void events_have_two_forms(void **state) {
    struct rig *rig = *state;

    assert_int_equal(
        ask(rig, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", JSON,
            "{'metadata':{'name':'e'},'regarding':{'kind':'Pod','name':'p'},'note':'hello',"
            "'reason':'Because','type':'Normal','action':'Did','eventTime':"
            "'2023-11-14T22:13:20.000000Z','reportingController':'me','reportingInstance':'i'}"),
        201);
    assert_string_equal(got(rig, "note"), "hello");
    assert_int_equal(ask(rig, "GET",
                         "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp",
                         NULL, NULL),
                     200);
    assert_string_equal(got(rig, "items.0.apiVersion"), "v1");
    assert_string_equal(got(rig, "items.0.message"), "hello");
    assert_string_equal(got(rig, "items.0.involvedObject.kind"), "Pod");
    assert_string_equal(got(rig, "items.0.source.component"), "me");
    assert_int_equal(ask(rig, "PATCH", "/apis/events.k8s.io/v1/namespaces/default/events/e", MERGE,
                         "{'series':{'count':4,'lastObservedTime':'2023-11-14T22:14:20.000000Z'}}"),
                     200);
    assert_int_equal(ask(rig, "GET", "/api/v1/namespaces/default/events/e", NULL, NULL), 200);
    assert_string_equal(got(rig, "count"), "4");
    assert_string_equal(got(rig, "lastTimestamp"), "2023-11-14T22:14:20.000000Z");
}

static void services_get_an_address(void **state) {
    struct rig *rig = *state;
    const char *const services = "/api/v1/namespaces/default/services";

    assert_int_equal(ask(rig, "POST", services, JSON,
                         "{'metadata':{'name':'a'},'spec':{'ports':[{'port':80}]}}"),
                     201);
    assert_string_equal(got(rig, "spec.clusterIP"), "10.96.0.1");
    assert_int_equal(ask(rig, "PATCH", "/api/v1/namespaces/default/services/a", MERGE,
                         "{'spec':{'clusterIP':null}}"),
                     200);
    assert_string_equal(got(rig, "spec.clusterIP"), "10.96.0.1");
    assert_int_equal(
        ask(rig, "POST", services, JSON, "{'metadata':{'name':'b'},'spec':{'clusterIP':'None'}}"),
        201);
    assert_string_equal(got(rig, "spec.clusterIP"), "None");
}

static void a_body_beyond_its_limit_is_refused(void **state) {
    struct rig *rig = *state;
    char *body = str_alloc(1, ((size_t)3 << 20) + 2);

    memset(body, ' ', ((size_t)3 << 20) + 1);
    assert_int_equal(ask(rig, "POST", MAPS, JSON, body), 413);
    body[(size_t)3 << 20] = '\0';
    assert_int_equal(ask(rig, "POST", MAPS, JSON, body), 400);
    free(body);
}

static void patches_may_say_what_yaml_cannot(void **state) {
    struct rig *rig = *state;

    make_map(rig, "one");
    assert_int_equal(ask(rig, "PATCH", MAPS "/one", MERGE, "{'data':{'a':'\\ud83d\\ude00'}}"), 200);
    assert_string_equal(got(rig, "data.a"), "\xf0\x9f\x98\x80");
    assert_int_equal(ask(rig, "PATCH", MAPS "/one", MERGE, "data: {}"), 400);
}

static void a_node_registers_with_its_status(void **state) {
    struct rig *rig = *state;

    assert_int_equal(ask(rig, "POST", "/api/v1/nodes", JSON,
                         "{'metadata':{'name':'n'},'status':{'conditions':[{'type':'Ready',"
                         "'status':'True'}]}}"),
                     201);
    assert_string_equal(got(rig, "status.conditions.0.type"), "Ready");
}

static void tables_and_metadata_are_negotiated(void **state) {
    struct rig *rig = *state;

    make_map(rig, "one");
    rig->accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    assert_int_equal(ask(rig, "GET", MAPS, NULL, NULL), 200);
    assert_string_equal(got(rig, "kind"), "Table");
    assert_string_equal(got(rig, "rows.0.cells.0"), "one");
    rig->accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    assert_int_equal(ask(rig, "GET", MAPS, NULL, NULL), 200);
    assert_string_equal(got(rig, "kind"), "PartialObjectMetadataList");
    assert_string_equal(got(rig, "items.0.kind"), "PartialObjectMetadata");
    assert_string_equal(got(rig, "items.0.data"), "");
    rig->accept = "application/vnd.kubernetes.protobuf";
    assert_int_equal(ask(rig, "GET", MAPS, NULL, NULL), 406);
    rig->accept = "application/vnd.kubernetes.protobuf,application/json";
    assert_int_equal(ask(rig, "GET", MAPS, NULL, NULL), 200);
}

static void documents(void **state) {
    struct rig *rig = *state;

    assert_int_equal(ask(rig, "GET", "/version", NULL, NULL), 200);
    assert_string_equal(got(rig, "major"), "1");
    assert_int_equal(ask(rig, "GET", "/api", NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", "/apis/apps/v1/", NULL, NULL), 200);
    assert_string_equal(got(rig, "groupVersion"), "apps/v1");
    assert_int_equal(ask(rig, "GET", "/openapi/v3", NULL, NULL), 200);
    rig->accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    assert_int_equal(ask(rig, "GET", "/apis", NULL, NULL), 200);
    assert_string_equal(got(rig, "kind"), "APIGroupDiscoveryList");
    assert_string_equal(rig->last.type, rig->accept);
    rig->accept = "";
    assert_int_equal(ask(rig, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                         JSON, "{'kind':'SelfSubjectAccessReview'}"),
                     201);
    assert_string_equal(got(rig, "status.allowed"), "true");
}

/* Ten thousand objects: lists of them are whole, and writes among them quick enough for a test. */
static void ten_thousand_objects(void **state) {
    struct rig *rig = *state;
    char name[24];

    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "m%d", i * 7919 % 10000);
        make_map(rig, name);
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(ask(rig, "GET", MAPS, NULL, NULL), 200);
    assert_int_equal(json_array_size(json_object_get(rig->answer, "items")), 10000);
    assert_int_equal(ask(rig, "DELETE", MAPS, NULL, NULL), 200);
    assert_int_equal(ask(rig, "GET", MAPS, NULL, NULL), 200);
    assert_int_equal(json_array_size(json_object_get(rig->answer, "items")), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_created_object_has_its_system_metadata),
        TEST(refusals_are_worded_as_kubectl_knows_them),
        TEST(a_wrong_token_is_401_but_health_is_open),
        TEST(a_write_that_changes_nothing_is_not_stored),
        TEST(status_and_spec_are_written_apart),
        TEST(scale_reads_and_writes_replicas),
        TEST(finalizers_hold_an_object_back),
        TEST(dependents_follow_their_owner),
        TEST(orphans_stay_and_foreground_waits),
        TEST(what_is_made_for_an_absent_owner_goes),
        TEST(a_namespace_goes_after_its_content),
        TEST(pods_on_a_node_have_a_grace),
        TEST(a_collection_is_deleted_by_selector),
        TEST(pages_are_of_one_version),
        TEST(apply_creates_merges_and_conflicts),
        TEST(custom_resources_are_defaulted_pruned_and_checked),
        TEST(a_crd_waits_for_its_objects),
        TEST(status_is_applied_apart),
        TEST(pods_are_bound_and_evicted),
        TEST(events_have_two_forms),
        TEST(services_get_an_address),
        TEST(a_body_beyond_its_limit_is_refused),
        TEST(patches_may_say_what_yaml_cannot),
        TEST(a_node_registers_with_its_status),
        TEST(tables_and_metadata_are_negotiated),
        TEST(documents),
        TEST(ten_thousand_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
