#include "apiserver/event.h"

#include <stddef.h>
#include <string.h>

/* Fields of the two forms that differ in name only; core first. */
static const char *const names[][2] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
};

static json_t *renamed(const json_t *event, const char *api_version, int from, int to);

json_t *event_new_form(const json_t *core) {
    json_t *event = renamed(core, "events.k8s.io/v1", 0, 1);
    const char *controller = json_string_value(json_object_get(event, "reportingController"));

    if (!controller || *controller == '\0') {
        json_t *component = json_object_get(json_object_get(core, "source"), "component");

        if (component)
            json_object_set(event, "reportingController", component);
    }
    return event;
}

json_t *event_core_form(const json_t *event) {
    json_t *core = renamed(event, "v1", 1, 0);
    json_t *controller = json_object_get(event, "reportingController");

    if (controller && !json_object_get(core, "source"))
        json_object_set_new(core, "source", json_pack("{s:O}", "component", controller));
    /* What reads core events sorts by lastTimestamp and counts by count. */
    json_t *time = json_object_get(event, "eventTime");
    json_t *series = json_object_get(event, "series");

    if (json_is_string(time) && !json_object_get(core, "firstTimestamp"))
        json_object_set(core, "firstTimestamp", time);
    if (json_is_object(series)) {
        time = json_object_get(series, "lastObservedTime");
        if (json_is_integer(json_object_get(series, "count")))
            json_object_set(core, "count", json_object_get(series, "count"));
        json_object_del(core, "lastTimestamp");
    }
    if (json_is_string(time) && !json_object_get(core, "lastTimestamp"))
        json_object_set(core, "lastTimestamp", time);
    return core;
}

static json_t *renamed(const json_t *event, const char *api_version, int from, int to) {
    json_t *result = json_object();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)event, key, value) {
        const char *name = key;

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (strcmp(names[i][from], key) == 0)
                name = names[i][to];
        }
        json_object_set(result, name, value);
    }
    json_object_set_new(result, "apiVersion", json_string(api_version));
    return result;
}
