#include "api/workload.h"

#include "api/condition.h"
#include "api/member.h"
#include "api/objectname.h"
#include "api/projection.h"

#include <string.h>

enum { LABEL_APP_UID, LABEL_APP, LABEL_ZONE, LABEL_MANAGED };

static const char *const wanted_labels[] = {
    [LABEL_APP_UID] = OBJECTNAME_LABEL_APP_UID,
    [LABEL_APP] = OBJECTNAME_LABEL_APP,
    [LABEL_ZONE] = OBJECTNAME_LABEL_ZONE,
    [LABEL_MANAGED] = OBJECTNAME_LABEL_MANAGED_BY,
    [LABEL_MANAGED + 1] = NULL,
};
static const char *const wanted_annotations[] = {OBJECTNAME_ANNOTATION_HASH, NULL};
static const char *const wanted_managers[] = {OBJECTNAME_SCALE_MANAGER, NULL};

struct reader {
    struct names *names;
    struct workload workload;
};

static int take_entry(void *arg, const char *key, const char *value, struct err *err) {
    struct reader *reader = arg;
    struct workload *workload = &reader->workload;
    const char **slot = &workload->template_hash;

    if (key == wanted_labels[LABEL_MANAGED]) {
        workload->managed = strcmp(value, OBJECTNAME_MANAGER) == 0;
        return 0;
    }
    if (key == wanted_managers[0]) {
        workload->scaled = workload->scaled || strcmp(value, "scale") == 0;
        return 0;
    }
    if (key == wanted_labels[LABEL_APP_UID])
        slot = &workload->app_uid;
    else if (key == wanted_labels[LABEL_APP])
        slot = &workload->app;
    else if (key == wanted_labels[LABEL_ZONE])
        slot = &workload->zone;
    return member_hold(reader->names, value, strlen(value), slot, err);
}

static int read_ordinals(struct jsonpull *pull, int32_t *ret_start, struct err *err) {
    struct jsonpull_text key;
    int r = member_object(pull, err);

    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        int read = 0;

        if (jsonpull_text_is(&key, "start"))
            read = member_count32(pull, ret_start, err);
        if (read < 0)
            return read;
    }
    return r;
}

static int read_spec_field(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                           struct err *err) {
    struct reader *reader = arg;
    struct workload *workload = &reader->workload;

    if (jsonpull_text_is(key, "replicas"))
        return member_count32(pull, &workload->replicas, err);
    if (jsonpull_text_is(key, "paused"))
        return member_bool(pull, &workload->paused, err);
    if (jsonpull_text_is(key, "ordinals"))
        return read_ordinals(pull, &workload->ordinals_start, err);
    return 0;
}

static int read_conditions(struct jsonpull *pull, struct workload *workload, struct err *err) {
    struct condition_seen progressing = {0};
    int r = condition_read(pull, "Progressing", &progressing, err);

    if (r < 0)
        return r;
    workload->deadline_exceeded = progressing.reason.bytes &&
                                  jsonpull_text_is(&progressing.reason, "ProgressDeadlineExceeded");
    return 0;
}

static int read_status_field(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                             struct err *err) {
    struct reader *reader = arg;
    struct workload *workload = &reader->workload;
    const struct {
        const char *key;
        int32_t *count;
    } counts[] = {
        {"replicas", &workload->status_replicas},
        {"updatedReplicas", &workload->updated_replicas},
        {"readyReplicas", &workload->ready_replicas},
        {"availableReplicas", &workload->available_replicas},
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (jsonpull_text_is(key, counts[i].key))
            return member_count32(pull, counts[i].count, err);
    if (jsonpull_text_is(key, "observedGeneration"))
        return member_count(pull, INT64_MAX, &workload->observed_generation, err);
    if (jsonpull_text_is(key, "currentRevision"))
        return member_name(pull, reader->names, &workload->current_revision, err);
    if (jsonpull_text_is(key, "updateRevision"))
        return member_name(pull, reader->names, &workload->update_revision, err);
    if (jsonpull_text_is(key, "conditions"))
        return read_conditions(pull, workload, err);
    return 0;
}

int workload_read(enum workload_kind kind, const char *bytes, size_t size_bytes,
                  struct names *names, struct meta *ret_meta, struct workload *ret_workload,
                  struct err *err) {
    struct reader reader = {.names = names, .workload = {.kind = (uint8_t)kind, .replicas = 1}};
    const struct projection projection = {.wanted = {.labels = wanted_labels,
                                                     .annotations = wanted_annotations,
                                                     .managers = wanted_managers,
                                                     .sink = take_entry,
                                                     .arg = &reader},
                                          .read_spec = read_spec_field,
                                          .read_status = read_status_field,
                                          .arg = &reader};
    struct meta meta;
    int r;

    if ((r = projection_read(&projection, bytes, size_bytes, &meta, err)) < 0) {
        workload_done(&reader.workload, names);
        return err_wrap(err, r, "workload");
    }
    reader.workload.generation = meta.generation;
    reader.workload.created_ms = meta.created_ms;
    reader.workload.deleting = meta.deleting;
    *ret_meta = meta;
    *ret_workload = reader.workload;
    return 0;
}

void workload_done(struct workload *workload, struct names *names) {
    if (!workload)
        return;
    names_drop(names, workload->app_uid);
    names_drop(names, workload->app);
    names_drop(names, workload->zone);
    names_drop(names, workload->template_hash);
    names_drop(names, workload->current_revision);
    names_drop(names, workload->update_revision);
    *workload = (struct workload){0};
}
