#include "fleet/schedule.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static enum room_effect effect_of(const char *text) {
    if (strcmp(text, "NoSchedule") == 0)
        return ROOM_NO_SCHEDULE;
    if (strcmp(text, "NoExecute") == 0)
        return ROOM_NO_EXECUTE;
    return strcmp(text, "PreferNoSchedule") == 0 ? ROOM_PREFER_NO_SCHEDULE : ROOM_EFFECT_ANY;
}

/* Texts become ids that hold for this one comparison: 0 is "", 1 what the taint has, 2 another. */
static uint32_t id_of(const char *text, const char *taints) {
    if (*text == '\0')
        return 0;
    return strcmp(text, taints) == 0 ? 1 : 2;
}

static bool tolerates(const json_t *tolerations, const struct node_taint *taint) {
    const struct room_taint asked = {
        .key = 1, .value = *taint->value == '\0' ? 0 : 1, .effect = taint->effect};

    for (size_t i = 0; i < json_array_size(tolerations); i++) {
        const json_t *entry = json_array_get(tolerations, i);
        const struct room_toleration toleration = {
            .key = id_of(text_of(entry, "key"), taint->key),
            .value = id_of(text_of(entry, "value"), taint->value),
            .effect = effect_of(text_of(entry, "effect")),
            .exists = strcmp(text_of(entry, "operator"), "Exists") == 0,
        };

        if (room_tolerates(&toleration, &asked))
            return true;
    }
    return false;
}

static bool has_labels(const struct node *node, const json_t *selector) {
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)selector, key, value) {
        const char *label = node_label(node, key);

        if (!label || !json_is_string(value) || strcmp(label, json_string_value(value)) != 0)
            return false;
    }
    return true;
}

bool schedule_allows(const struct node *node, const json_t *selector, const json_t *tolerations) {
    if (!node->ready || !node->schedulable || node->deleting || !has_labels(node, selector))
        return false;
    for (int i = 0; i < node->taint_count; i++)
        if (node->taints[i].effect != ROOM_PREFER_NO_SCHEDULE &&
            !tolerates(tolerations, &node->taints[i]))
            return false;
    return true;
}

bool schedule_keeps(const struct node *node, const json_t *tolerations) {
    for (int i = 0; i < node->taint_count; i++)
        if (node->taints[i].effect == ROOM_NO_EXECUTE && !tolerates(tolerations, &node->taints[i]))
            return false;
    return true;
}

bool schedule_fits(const struct room_amount *allocatable, const struct room_amount *used,
                   const struct room_amount *request) {
    for (int i = 0; i < ROOM_RESOURCE_COUNT; i++)
        if (request->of[i] > 0 && request->of[i] > allocatable->of[i] - used->of[i])
            return false;
    return true;
}

int32_t schedule_free_ppm(const struct room_amount *allocatable, const struct room_amount *used) {
    const int64_t all = allocatable->of[ROOM_CPU_MILLI];
    const int64_t free_milli = all - used->of[ROOM_CPU_MILLI];

    if (all <= 0 || free_milli <= 0)
        return 0;
    return (int32_t)(free_milli >= all ? 1000000 : free_milli * 1000000 / all);
}
