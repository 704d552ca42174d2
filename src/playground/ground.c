#include "playground/ground.h"

#include "apiserver/apiserver.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/timestamp.h"
#include "base/yaml.h"
#include "controller/connection.h"
#include "kube/kubeconfig.h"
#include "net/certificate.h"
#include "net/fetch.h"
#include "net/serve.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CERTIFICATE_DAYS 30
#define FILE_MAX_BYTES ((size_t)4 << 20)
#define CALL_TIMEOUT_MS 20000
#define WEB_TURN_MS 50
#define TOKEN_SIZE 40

struct cluster {
    struct apiserver *server;
    char token[TOKEN_SIZE];
    char url[64];
    char *kubeconfig_path;
    struct str kubeconfig;
    struct transport *transport; /* the storyteller's */
    struct kube_client *client;
    struct transport *fleet_transport;
    struct fleet *fleet;
};

struct ground {
    struct ground_options options;
    struct certificate *authority;
    struct certificate *certificate;
    struct cluster clusters[GROUND_CLUSTERS];
    struct serve *serve;
    pthread_t web;
    bool web_runs;
    atomic_bool web_ends;
    struct fetch *fetch;
    struct connection connection;
    struct transport *hub_transport;
    struct manager *manager;
};

const char *ground_name(enum ground_cluster cluster) {
    static const char *const names[GROUND_CLUSTERS] = {"hub", "cls-a", "cls-b"};

    return names[cluster];
}

const char *ground_kubeconfig(const struct ground *ground, enum ground_cluster cluster) {
    return ground->clusters[cluster].kubeconfig_path;
}

struct fleet *ground_fleet(struct ground *ground, enum ground_cluster cluster) {
    return ground->clusters[cluster].fleet;
}

/* The web thread: everything of libwebsockets and of the API servers happens here. */
static void *web_run(void *arg) {
    struct ground *ground = arg;

    while (!atomic_load(&ground->web_ends)) {
        serve_turn(ground->serve, WEB_TURN_MS);
        for (enum ground_cluster i = GROUND_HUB; i < GROUND_CLUSTERS; i++)
            apiserver_tick(ground->clusters[i].server, clock_mono_ms(NULL));
    }
    return NULL;
}

static int servers_start(struct ground *ground, struct err *err) {
    static const char *const names[] = {"127.0.0.1", "localhost", NULL};
    const int64_t wall_ms = clock_wall_ms(NULL);
    const struct certificate_subject subject = {
        .common_name = "bulkhead-playground", .names = names, .days = CERTIFICATE_DAYS};
    struct serve_port ports[GROUND_CLUSTERS];
    int r = certificate_authority_new("bulkhead-playground-ca", wall_ms, CERTIFICATE_DAYS,
                                      &ground->authority, err);

    if (r >= 0)
        r = certificate_issue(ground->authority, &subject, wall_ms, &ground->certificate, err);
    for (enum ground_cluster i = GROUND_HUB; r >= 0 && i < GROUND_CLUSTERS; i++) {
        struct cluster *cluster = &ground->clusters[i];
        const struct apiserver_options options = {
            .rng = {.state = random_seed()}, .name = ground_name(i), .token = cluster->token};

        snprintf(cluster->token, sizeof cluster->token, "%016llx%016llx",
                 (unsigned long long)random_seed(), (unsigned long long)random_seed());
        cluster->server = apiserver_new(&options);
        ports[i] = (struct serve_port){.address = "127.0.0.1",
                                       .handler = apiserver_handler(cluster->server),
                                       .cert_pem = certificate_cert_pem(ground->certificate),
                                       .key_pem = certificate_key_pem(ground->certificate)};
    }
    if (r >= 0)
        r = serve_new(ports, GROUND_CLUSTERS, &ground->serve, err);
    if (r < 0)
        return r;
    for (enum ground_cluster i = GROUND_HUB; i < GROUND_CLUSTERS; i++)
        snprintf(ground->clusters[i].url, sizeof ground->clusters[i].url, "https://127.0.0.1:%d",
                 serve_port_number(ground->serve, (int)i));
    if (pthread_create(&ground->web, NULL, web_run, ground) != 0)
        return err_set(err, ERR_RETRY, "the web thread cannot be started");
    ground->web_runs = true;
    return 0;
}

static int file_write(const char *path, const struct str *text, struct err *err) {
    FILE *file = fopen(path, "w");
    bool failed = !file || fwrite(text->data, 1, text->size_bytes, file) != text->size_bytes;

    if (file)
        failed = fclose(file) != 0 || failed;
    if (failed || chmod(path, S_IRUSR | S_IWUSR) != 0)
        return err_set(err, ERR_RETRY, "%s: %s", path, strerror(errno));
    return 0;
}

static int kubeconfigs_write(struct ground *ground, struct err *err) {
    const char *folder = ground->options.kubeconfig_dir;

    if (mkdir(folder, S_IRWXU) != 0 && errno != EEXIST)
        return err_set(err, ERR_INVALID, "--kubeconfig-dir %s: %s", folder, strerror(errno));
    for (enum ground_cluster i = GROUND_HUB; i < GROUND_CLUSTERS; i++) {
        struct cluster *cluster = &ground->clusters[i];
        const struct kubeconfig_output output = {
            .name = ground_name(i),
            .server = cluster->url,
            .ca_pem = certificate_cert_pem(ground->authority),
            .token = cluster->token,
            .ns = i == GROUND_HUB ? "retail" : NULL,
        };

        str_init(&cluster->kubeconfig, FILE_MAX_BYTES);
        cluster->kubeconfig_path = str_printf("%s/%s.kubeconfig", folder, ground_name(i));
        int r = kubeconfig_write(&cluster->kubeconfig, &output, err);

        if (r >= 0)
            r = file_write(cluster->kubeconfig_path, &cluster->kubeconfig, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int endpoint_open(struct ground *ground, enum ground_cluster cluster, const char *agent,
                         struct transport **ret_transport, struct err *err) {
    const struct fetch_endpoint endpoint = {
        .url = ground->clusters[cluster].url,
        .ca_pem = certificate_cert_pem(ground->authority),
        .token = ground->clusters[cluster].token,
        .user_agent = agent,
        .loopback = true,
    };

    return fetch_endpoint_new(ground->fetch, &endpoint, ret_transport, err);
}

static int clients_open(struct ground *ground, struct err *err) {
    int r = fetch_new(&ground->fetch, err);

    for (enum ground_cluster i = GROUND_HUB; r >= 0 && i < GROUND_CLUSTERS; i++) {
        struct cluster *cluster = &ground->clusters[i];

        r = endpoint_open(ground, i, "bulkhead-playground/0.1.0", &cluster->transport, err);
        if (r < 0)
            break;
        cluster->client = kube_client_new(cluster->transport);
        if (i == GROUND_HUB)
            continue;
        r = endpoint_open(ground, i, "bulkhead-fleet/0.1.0", &cluster->fleet_transport, err);
        if (r < 0)
            break;
        const struct fleet_options options = {.transport = cluster->fleet_transport,
                                              .rng = {.state = random_seed()},
                                              .start_ms = 300,
                                              .start_more_ms = 700,
                                              .stop_ms = 200};

        cluster->fleet = fleet_new(&options);
    }
    return r;
}

static void log_line(void *arg, const char *line) {
    const struct ground *ground = arg;
    char now[TIMESTAMP_SIZE];

    if (ground->options.quiet)
        return;
    timestamp_format(clock_wall_ms(NULL), now);
    fprintf(stderr, "%s %s\n", now, line);
}

static int connect_child(void *arg, const char *child, const char *kubeconfig,
                         struct transport **ret_transport, struct err *err) {
    struct ground *ground = arg;

    return connection_open(&ground->connection, child, kubeconfig, ret_transport, err);
}

static int controller_start(struct ground *ground, struct err *err) {
    const int r =
        endpoint_open(ground, GROUND_HUB, CONNECTION_USER_AGENT, &ground->hub_transport, err);

    if (r < 0)
        return r;
    ground->connection = (struct connection){.fetch = ground->fetch, .loopback = true};
    const struct manager_options options = {
        .rng = {.state = random_seed()},
        .ns = "bulkhead-system",
        .hub = ground->hub_transport,
        .connect = connect_child,
        .log = log_line,
        .arg = ground,
    };

    ground->manager = manager_new(&options);
    return 0;
}

void ground_turn(struct ground *ground, int wait_ms) {
    const int64_t now_ms = clock_mono_ms(NULL);
    int64_t due_ms = now_ms + wait_ms;

    if (ground->manager) {
        const int64_t next_ms = manager_turn(ground->manager, now_ms);

        if (next_ms < due_ms)
            due_ms = next_ms;
    }
    for (enum ground_cluster i = GROUND_HUB; i < GROUND_CLUSTERS; i++) {
        const int64_t next_ms =
            ground->clusters[i].fleet ? fleet_turn(ground->clusters[i].fleet, now_ms) : INT64_MAX;

        if (next_ms < due_ms)
            due_ms = next_ms;
    }
    fetch_turn(ground->fetch, due_ms > now_ms ? (int)(due_ms - now_ms) : 0);
}

struct answer {
    bool done;
    bool ok;
    json_t *object;
    char text[400];
};

static void take_answer(void *arg, const struct kube_reply *reply) {
    struct answer *answer = arg;

    answer->done = true;
    answer->ok = kube_reply_ok(reply);
    kube_reply_text(reply, answer->text, sizeof answer->text);
    if (answer->ok && reply->body_bytes)
        answer->object = json_loadb(reply->body, reply->body_bytes, 0, NULL);
}

int ground_call(struct ground *ground, enum ground_cluster cluster, const struct kube_call *call,
                json_t **ret_object, struct err *err) {
    const int64_t deadline_ms = clock_mono_ms(NULL) + CALL_TIMEOUT_MS;
    struct answer answer = {0};
    uint64_t id;
    const int r =
        kube_client_call(ground->clusters[cluster].client, call, take_answer, &answer, &id, err);

    if (r < 0)
        return r;
    while (!answer.done) {
        if (clock_mono_ms(NULL) > deadline_ms) {
            kube_client_cancel(ground->clusters[cluster].client, id);
            return err_set(err, ERR_RETRY, "%s does not answer", ground_name(cluster));
        }
        ground_turn(ground, 20);
    }
    if (!answer.ok)
        return err_set(err, ERR_INVALID, "%s: %s", ground_name(cluster), answer.text);
    if (ret_object)
        *ret_object = answer.object;
    else
        json_decref(answer.object);
    return 0;
}

static const char *resource_of(const char *kind) {
    static const char *const rows[][2] = {
        {"AppDefinition", "appdefinitions"},
        {"ChildCluster", "childclusters"},
        {"CustomResourceDefinition", "customresourcedefinitions"},
        {"Namespace", "namespaces"},
        {"Secret", "secrets"},
    };

    for (size_t i = 0; kind && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], kind) == 0)
            return rows[i][1];
    return NULL;
}

int ground_apply(struct ground *ground, enum ground_cluster cluster, const json_t *object,
                 struct err *err) {
    const char *api_version = json_string_value(json_object_get(object, "apiVersion"));
    const json_t *metadata = json_object_get(object, "metadata");
    const char *resource = resource_of(json_string_value(json_object_get(object, "kind")));
    const char *slash = api_version ? strchr(api_version, '/') : NULL;

    if (!resource || !api_version)
        return err_set(err, ERR_INVALID, "a document of a kind that the playground does not apply");
    auto_free char *group = slash ? str_dup_len(api_version, (size_t)(slash - api_version)) : NULL;
    auto_free char *body = json_dumps(object, JSON_COMPACT);
    const struct kube_call call = {
        .verb = KUBE_APPLY,
        .target = {.group = group,
                   .version = slash ? slash + 1 : api_version,
                   .resource = resource,
                   .ns = json_string_value(json_object_get(metadata, "namespace")),
                   .name = json_string_value(json_object_get(metadata, "name"))},
        .body = body,
        .body_bytes = body ? strlen(body) : 0,
        .field_manager = "bulkhead-playground",
        .force = true,
    };

    return ground_call(ground, cluster, &call, NULL, err);
}

struct applying {
    struct ground *ground;
    enum ground_cluster cluster;
};

static int apply_document(void *arg, json_t *root, struct err *err) {
    const struct applying *applying = arg;

    return ground_apply(applying->ground, applying->cluster, root, err);
}

int ground_apply_file(struct ground *ground, enum ground_cluster cluster, const char *path,
                      struct err *err) {
    struct applying applying = {ground, cluster};
    FILE *file = fopen(path, "r");
    struct str text;
    char chunk[4096];
    size_t got;
    int r = 0;

    if (!file)
        return err_set(err, ERR_NOTFOUND,
                       "%s: %s; run from the project's folder or name it with "
                       "--assets",
                       path, strerror(errno));
    str_init(&text, FILE_MAX_BYTES);
    while (r >= 0 && (got = fread(chunk, 1, sizeof chunk, file)) > 0)
        r = str_add(&text, chunk, got, err);
    fclose(file);
    if (r >= 0)
        r = yaml_each(text.data ? text.data : "", text.size_bytes, apply_document, &applying, err);
    str_done(&text);
    return r < 0 ? err_wrap(err, r, "%s", path) : 0;
}

static int child_declare(struct ground *ground, enum ground_cluster cluster, struct err *err) {
    const struct str *kubeconfig = &ground->clusters[cluster].kubeconfig;
    struct str encoded;

    str_init(&encoded, FILE_MAX_BYTES);
    int r = base64_encode(&encoded, kubeconfig->data, kubeconfig->size_bytes, err);

    if (r >= 0) {
        json_t *secret = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind",
                                   "Secret", "metadata", "namespace", "bulkhead-system", "name",
                                   ground_name(cluster), "data", "kubeconfig", encoded.data);
        json_t *child =
            json_pack("{s:s, s:s, s:{s:s}, s:{s:{s:s}, s:s, s:[s]}}", "apiVersion",
                      "bulkhead.dev/v1alpha1", "kind", "ChildCluster", "metadata", "name",
                      ground_name(cluster), "spec", "kubeconfigSecret", "name",
                      ground_name(cluster), "region", "gz", "allowedNamespaces", "retail");

        r = ground_apply(ground, GROUND_HUB, secret, err);
        if (r >= 0)
            r = ground_apply(ground, GROUND_HUB, child, err);
        json_decref(secret);
        json_decref(child);
    }
    str_done(&encoded);
    return r;
}

static int hub_fill(struct ground *ground, struct err *err) {
    static const char *const crds[] = {"appdefinition", "placement", "childcluster"};
    static const char *const spaces[] = {"bulkhead-system", "retail"};
    int r = 0;

    for (size_t i = 0; r >= 0 && i < sizeof crds / sizeof *crds; i++) {
        auto_free char *path = str_printf("%s/crds/%s.yaml", ground->options.assets, crds[i]);

        r = ground_apply_file(ground, GROUND_HUB, path, err);
    }
    for (size_t i = 0; r >= 0 && i < sizeof spaces / sizeof *spaces; i++) {
        json_t *space = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace",
                                  "metadata", "name", spaces[i]);

        r = ground_apply(ground, GROUND_HUB, space, err);
        json_decref(space);
    }
    for (enum ground_cluster i = GROUND_A; r >= 0 && i < GROUND_CLUSTERS; i++)
        r = child_declare(ground, i, err);
    return r;
}

/* The article's fleet: how many pods of 250 milli-CPU each zone of each child has room for. */
static void nodes_add(struct ground *ground) {
    static const struct {
        enum ground_cluster cluster;
        const char *name;
        const char *zone;
        int pods;
    } rows[] = {
        {GROUND_A, "cls-a-gz-3", "gz-3", 14},
        {GROUND_A, "cls-a-gz-4", "gz-4", 4},
        {GROUND_B, "cls-b-gz-4", "gz-4", 9},
        {GROUND_B, "cls-b-gz-5", "gz-5", 2},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct fleet_node node = {.name = rows[i].name,
                                        .zone = rows[i].zone,
                                        .cpu_milli = rows[i].pods * 250,
                                        .memory_bytes = INT64_C(16) << 30,
                                        .pods = 110};

        fleet_node_add(ground->clusters[rows[i].cluster].fleet, &node);
    }
}

int ground_new(const struct ground_options *options, struct ground **ret_ground, struct err *err) {
    struct ground *ground = str_alloc(1, sizeof *ground);
    int r;

    ground->options = *options;
    r = servers_start(ground, err);
    if (r >= 0)
        r = kubeconfigs_write(ground, err);
    if (r >= 0)
        r = clients_open(ground, err);
    if (r >= 0) {
        nodes_add(ground);
        r = hub_fill(ground, err);
    }
    if (r >= 0)
        r = controller_start(ground, err);
    if (r < 0) {
        ground_free(ground);
        return r;
    }
    *ret_ground = ground;
    return 0;
}

void ground_free(struct ground *ground) {
    if (!ground)
        return;
    manager_free(ground->manager);
    transport_free(ground->hub_transport);
    for (enum ground_cluster i = GROUND_HUB; i < GROUND_CLUSTERS; i++) {
        struct cluster *cluster = &ground->clusters[i];

        fleet_free(cluster->fleet);
        transport_free(cluster->fleet_transport);
        kube_client_free(cluster->client);
        transport_free(cluster->transport);
        str_done(&cluster->kubeconfig);
        free(cluster->kubeconfig_path);
    }
    fetch_free(ground->fetch);
    if (ground->web_runs) {
        atomic_store(&ground->web_ends, true);
        serve_wake(ground->serve);
        pthread_join(ground->web, NULL);
    }
    serve_free(ground->serve);
    for (enum ground_cluster i = GROUND_HUB; i < GROUND_CLUSTERS; i++)
        apiserver_free(ground->clusters[i].server);
    certificate_free(ground->certificate);
    certificate_free(ground->authority);
    free(ground);
}
