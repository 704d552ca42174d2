#include "api/pod.h"

#include "api/condition.h"
#include "api/member.h"
#include "api/objectname.h"
#include "api/projection.h"

#include <string.h>

enum { LABEL_APP_UID, LABEL_APP, LABEL_ZONE, LABEL_MANAGED, LABEL_TEMPLATE, LABEL_REVISION };

static const char *const wanted_labels[] = {
    [LABEL_APP_UID] = OBJECTNAME_LABEL_APP_UID,
    [LABEL_APP] = OBJECTNAME_LABEL_APP,
    [LABEL_ZONE] = OBJECTNAME_LABEL_ZONE,
    [LABEL_MANAGED] = OBJECTNAME_LABEL_MANAGED_BY,
    [LABEL_TEMPLATE] = "pod-template-hash",
    [LABEL_REVISION] = "controller-revision-hash",
    [LABEL_REVISION + 1] = NULL,
};

/* One reading: its parts may come in any order, so the request is put together at the end. */
struct reader {
    struct names *names;
    const struct resource_names *resources;
    struct pod pod;
    struct room_amount containers;
    struct room_amount sidecars; /* init containers that keep running */
    struct room_amount init_max; /* the most that one init container and its sidecars take */
    struct resources level;      /* spec.resources */
    struct resources overhead;
    bool uncounted; /* by any container */
};

static int take_label(void *arg, const char *key, const char *value, struct err *err) {
    struct reader *reader = arg;
    struct pod *pod = &reader->pod;
    const char **slot = &pod->revision;

    if (key == wanted_labels[LABEL_MANAGED]) {
        pod->managed = strcmp(value, OBJECTNAME_MANAGER) == 0;
        return 0;
    }
    if (key == wanted_labels[LABEL_APP_UID])
        slot = &pod->app_uid;
    else if (key == wanted_labels[LABEL_APP])
        slot = &pod->app;
    else if (key == wanted_labels[LABEL_ZONE])
        slot = &pod->zone;
    return member_hold(reader->names, value, strlen(value), slot, err);
}

/* Reads the "requests" of the object that comes next. */
static int read_requests(struct jsonpull *pull, const struct reader *reader,
                         struct resources *ret_requests, struct err *err) {
    struct jsonpull_text key;
    int r = member_object(pull, err);

    *ret_requests = (struct resources){0};
    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        int read = 0;

        if (jsonpull_text_is(&key, "requests"))
            read = resources_read(pull, reader->resources, ret_requests, err);
        if (read < 0)
            return err_wrap(err, read, "requests");
    }
    return r;
}

/* Reads one container: what it asks for and whether, as an init container, it stays. */
static int read_container(struct jsonpull *pull, struct reader *reader, struct room_amount *ret,
                          bool *ret_stays, struct err *err) {
    struct resources requests = {0};
    struct jsonpull_text key;
    char policy[16] = "";
    int r = member_object(pull, err);

    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        int read = 0;

        if (jsonpull_text_is(&key, "resources"))
            read = read_requests(pull, reader, &requests, err);
        else if (jsonpull_text_is(&key, "restartPolicy"))
            read = member_text(pull, policy, sizeof(policy), err);
        if (read < 0)
            return read;
    }
    reader->uncounted = reader->uncounted || requests.uncounted;
    *ret = requests.amount;
    *ret_stays = strcmp(policy, "Always") == 0;
    return r;
}

static int read_containers(struct jsonpull *pull, struct reader *reader, struct err *err) {
    struct room_amount request;
    bool stays;
    int r = member_array(pull, err);

    reader->containers = (struct room_amount){0};
    while (r > 0 && (r = jsonpull_next_item(pull, err)) > 0) {
        const int read = read_container(pull, reader, &request, &stays, err);

        if (read < 0)
            return read;
        resources_add(&reader->containers, &request);
    }
    return r;
}

/* Init containers run one after the other, each beside the sidecars that stand before it. */
static int read_init_containers(struct jsonpull *pull, struct reader *reader, struct err *err) {
    struct room_amount request;
    bool stays;
    int r = member_array(pull, err);

    reader->sidecars = (struct room_amount){0};
    reader->init_max = (struct room_amount){0};
    while (r > 0 && (r = jsonpull_next_item(pull, err)) > 0) {
        const int read = read_container(pull, reader, &request, &stays, err);

        if (read < 0)
            return read;
        resources_add(&request, &reader->sidecars);
        if (stays)
            reader->sidecars = request;
        resources_max(&reader->init_max, &request);
    }
    return r;
}

static int read_spec_field(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                           struct err *err) {
    struct reader *reader = arg;
    if (jsonpull_text_is(key, "nodeName"))
        return member_name(pull, reader->names, &reader->pod.node, err);
    if (jsonpull_text_is(key, "containers"))
        return read_containers(pull, reader, err);
    if (jsonpull_text_is(key, "initContainers"))
        return read_init_containers(pull, reader, err);
    if (jsonpull_text_is(key, "overhead"))
        return resources_read(pull, reader->resources, &reader->overhead, err);
    if (jsonpull_text_is(key, "resources"))
        return read_requests(pull, reader, &reader->level, err);
    return 0;
}

static int read_phase(struct jsonpull *pull, struct reader *reader, struct err *err) {
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};
    struct jsonpull_text text;
    int r = jsonpull_null(pull, err);

    if (r != 0)
        return r < 0 ? r : 0;
    if ((r = jsonpull_text(pull, &text, err)) < 0)
        return r;
    reader->pod.phase = text.size_bytes ? POD_UNKNOWN : POD_PENDING;
    for (uint8_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
        if (jsonpull_text_is(&text, phases[i]))
            reader->pod.phase = i;
    return 0;
}

static int read_ip(struct jsonpull *pull, struct reader *reader, struct err *err) {
    char text[ADDRESS_TEXT_SIZE];
    int r = member_text(pull, text, sizeof(text), err);

    return r <= 0 ? r : address_parse(text, &reader->pod.ip, err);
}

static int read_conditions(struct jsonpull *pull, struct reader *reader, struct err *err) {
    struct condition_seen ready = {0};
    int r = condition_read(pull, "Ready", &ready, err);

    if (r < 0)
        return r;
    reader->pod.ready = ready.status == CONDITION_TRUE;
    reader->pod.ready_changed_ms = ready.changed_ms;
    return 0;
}

static int read_status_field(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                             struct err *err) {
    struct reader *reader = arg;
    if (jsonpull_text_is(key, "phase"))
        return read_phase(pull, reader, err);
    if (jsonpull_text_is(key, "conditions"))
        return read_conditions(pull, reader, err);
    if (jsonpull_text_is(key, "startTime"))
        return member_time(pull, &reader->pod.started_ms, err);
    if (jsonpull_text_is(key, "podIP"))
        return read_ip(pull, reader, err);
    return 0;
}

/* spec.resources stands for all containers in what may be asked for at pod level: cpu, memory and
 * huge pages. */
static void apply_level(const struct reader *reader, struct room_amount *total) {
    const struct resource_names *names = reader->resources;

    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++) {
        const char *name = i >= ROOM_EXTENDED && names ? names->extended[i - ROOM_EXTENDED] : NULL;

        if (reader->level.named[i] && (i == ROOM_CPU_MILLI || i == ROOM_MEMORY_BYTES ||
                                       (name && strncmp(name, "hugepages-", 10) == 0)))
            total->of[i] = reader->level.amount.of[i];
    }
}

static void set_request(struct reader *reader) {
    struct room_amount total = reader->containers;
    struct pod *pod = &reader->pod;

    resources_add(&total, &reader->sidecars);
    resources_max(&total, &reader->init_max);
    apply_level(reader, &total);
    resources_add(&total, &reader->overhead.amount);
    pod->cpu_milli =
        total.of[ROOM_CPU_MILLI] < INT32_MAX ? (int32_t)total.of[ROOM_CPU_MILLI] : INT32_MAX;
    pod->memory_bytes = total.of[ROOM_MEMORY_BYTES];
    for (int i = 0; i < ROOM_EXTENDED_COUNT; i++)
        pod->extended[i] = total.of[ROOM_EXTENDED + i];
    pod->uncounted = reader->uncounted || reader->level.uncounted || reader->overhead.uncounted;
}

int pod_read(const char *bytes, size_t size_bytes, struct names *names,
             const struct resource_names *resources, struct meta *ret_meta, struct pod *ret_pod,
             struct err *err) {
    struct reader reader = {.names = names, .resources = resources};
    const struct projection projection = {
        .wanted = {.labels = wanted_labels, .sink = take_label, .arg = &reader},
        .read_spec = read_spec_field,
        .read_status = read_status_field,
        .arg = &reader};
    struct meta meta;
    int r;

    if ((r = projection_read(&projection, bytes, size_bytes, &meta, err)) < 0) {
        pod_done(&reader.pod, names);
        return err_wrap(err, r, "pod");
    }
    set_request(&reader);
    reader.pod.terminating = meta.deleting;
    *ret_meta = meta;
    *ret_pod = reader.pod;
    return 0;
}

void pod_done(struct pod *pod, struct names *names) {
    if (!pod)
        return;
    names_drop(names, pod->node);
    names_drop(names, pod->app_uid);
    names_drop(names, pod->app);
    names_drop(names, pod->zone);
    names_drop(names, pod->revision);
    *pod = (struct pod){0};
}

bool pod_is_terminal(const struct pod *pod) {
    return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

void pod_request(const struct pod *pod, struct room_amount *ret_request) {
    *ret_request = (struct room_amount){0};
    if (pod_is_terminal(pod))
        return;
    ret_request->of[ROOM_CPU_MILLI] = pod->cpu_milli;
    ret_request->of[ROOM_MEMORY_BYTES] = pod->memory_bytes;
    ret_request->of[ROOM_PODS] = 1;
    for (int i = 0; i < ROOM_EXTENDED_COUNT; i++)
        ret_request->of[ROOM_EXTENDED + i] = pod->extended[i];
}
