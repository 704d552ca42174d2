#include "controller/shapes.h"

#include "api/pod.h"
#include "base/auto.h"
#include "base/str.h"
#include "controller/render.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 4096
#define TOLERATIONS_MAX 64
#define SELECTOR_MAX 64

struct shape {
    char hash[RENDER_HASH_SIZE];
    struct room_amount request;
    struct room_toleration tolerations[TOLERATIONS_MAX];
    int toleration_count;
    struct room_ids selector;
    bool nowhere; /* selects more labels than can be numbered */
    uint64_t used;
};

struct shapes {
    struct names *names;
    struct shape at[ROOM_SHAPES_MAX];
    int count;
    uint64_t clock; /* counts uses: which shape was unused for longest */
    struct room_taint taints[ROOM_ID_COUNT];
    int taint_count;
    struct node_label labels[ROOM_ID_COUNT];
    int label_count;
    const char *words[WORDS_MAX]; /* of taints and tolerations; word 0 is "" */
    uint32_t word_count;
};

struct shapes *shapes_new(struct names *names) {
    struct shapes *shapes = str_alloc(1, sizeof *shapes);

    shapes->names = names;
    shapes->words[0] = names_take(names, "", 0);
    shapes->word_count = 1;
    return shapes;
}

void shapes_free(struct shapes *shapes) {
    if (!shapes)
        return;
    for (uint32_t i = 0; i < shapes->word_count; i++)
        names_drop(shapes->names, shapes->words[i]);
    for (int i = 0; i < shapes->label_count; i++) {
        names_drop(shapes->names, shapes->labels[i].key);
        names_drop(shapes->names, shapes->labels[i].value);
    }
    free(shapes);
}

int shapes_count(const struct shapes *shapes) {
    return shapes->count;
}

/* The number of a text; WORDS_MAX when there is none left. */
static uint32_t word_of(struct shapes *shapes, const char *text) {
    const char *shared = names_take(shapes->names, text, strlen(text));

    for (uint32_t i = 0; shared && i < shapes->word_count; i++) {
        if (shapes->words[i] == shared) {
            names_drop(shapes->names, shared);
            return i;
        }
    }
    if (!shared || shapes->word_count == WORDS_MAX) {
        names_drop(shapes->names, shared);
        return WORDS_MAX;
    }
    shapes->words[shapes->word_count] = shared;
    return shapes->word_count++;
}

struct room_shape shapes_room(const struct shapes *shapes, int shape) {
    const struct shape *from = &shapes->at[shape];
    struct room_shape room = {.request = from->request, .selector = from->selector};

    if (from->nowhere)
        room.request.of[ROOM_CPU_MILLI] = INT64_MAX / 8;
    room_tolerated(shapes->taints, shapes->taint_count, from->tolerations, from->toleration_count,
                   &room.tolerated);
    return room;
}

static enum room_effect effect_of(const char *text) {
    if (!text || !*text)
        return ROOM_EFFECT_ANY;
    if (strcmp(text, "PreferNoSchedule") == 0)
        return ROOM_PREFER_NO_SCHEDULE;
    return strcmp(text, "NoExecute") == 0 ? ROOM_NO_EXECUTE : ROOM_NO_SCHEDULE;
}

static int tolerations_read(struct shapes *shapes, const json_t *list, struct shape *shape,
                            struct err *err) {
    size_t i;
    json_t *one;

    json_array_foreach((json_t *)list, i, one) {
        const char *key = json_string_value(json_object_get(one, "key"));
        const char *value = json_string_value(json_object_get(one, "value"));
        const char *operator= json_string_value(json_object_get(one, "operator"));
        const bool exists = operator&& strcmp(operator, "Exists") == 0;

        if (operator&& !exists && strcmp(operator, "Equal") != 0)
            return err_set(err, ERR_INVALID,
                           "tolerations[%zu].operator: '%s' is not Exists or Equal", i, operator);
        if (shape->toleration_count == TOLERATIONS_MAX)
            return err_set(err, ERR_INVALID, "tolerations: more than %d", TOLERATIONS_MAX);
        const uint32_t key_word = word_of(shapes, key ? key : "");
        const uint32_t value_word = word_of(shapes, value ? value : "");

        if (key_word == WORDS_MAX || value_word == WORDS_MAX)
            continue; /* what cannot be compared tolerates nothing */
        shape->tolerations[shape->toleration_count++] = (struct room_toleration){
            .key = key_word,
            .value = value_word,
            .effect = effect_of(json_string_value(json_object_get(one, "effect"))),
            .exists = exists,
        };
    }
    return 0;
}

/* Numbers a label pair; ROOM_ID_COUNT when no number is left. */
static int label_number(struct shapes *shapes, const char *key, const char *value, bool *ret_new) {
    for (int i = 0; i < shapes->label_count; i++)
        if (strcmp(shapes->labels[i].key, key) == 0 && strcmp(shapes->labels[i].value, value) == 0)
            return i;
    if (shapes->label_count == ROOM_ID_COUNT)
        return ROOM_ID_COUNT;
    const char *key_name = names_take(shapes->names, key, strlen(key));
    const char *value_name = names_take(shapes->names, value, strlen(value));

    if (!key_name || !value_name) {
        names_drop(shapes->names, key_name);
        names_drop(shapes->names, value_name);
        return ROOM_ID_COUNT;
    }
    *ret_new = true;
    shapes->labels[shapes->label_count] = (struct node_label){.key = key_name, .value = value_name};
    return shapes->label_count++;
}

static int selector_read(struct shapes *shapes, const json_t *selector, struct shape *shape,
                         bool *ret_new_label, struct err *err) {
    const char *key;
    json_t *value;
    int count = 0;

    json_object_foreach((json_t *)selector, key, value) {
        if (!json_is_string(value))
            return err_set(err, ERR_INVALID, "nodeSelector.%s: not text", key);
        if (++count > SELECTOR_MAX)
            return err_set(err, ERR_INVALID, "nodeSelector: more than %d labels", SELECTOR_MAX);
        const int number = label_number(shapes, key, json_string_value(value), ret_new_label);

        if (number == ROOM_ID_COUNT)
            shape->nowhere = true;
        else
            room_ids_add(&shape->selector, (uint32_t)number);
    }
    return 0;
}

/* The request of a pod with this spec, computed as for the pods that run. */
static int request_read(struct shapes *shapes, const json_t *pod_spec,
                        const struct resource_names *resources, struct room_amount *ret_request,
                        struct err *err) {
    json_t *whole = json_pack("{s:{s:s}, s:O}", "metadata", "name", "x", "spec", pod_spec);
    auto_free char *text = json_dumps(whole, JSON_COMPACT);
    struct meta *meta = str_alloc(1, sizeof *meta);
    struct pod pod = {0};
    int r = ERR_INVALID;

    json_decref(whole);
    if (text)
        r = pod_read(text, strlen(text), shapes->names, resources, meta, &pod, err);
    free(meta);
    if (r < 0)
        return r;
    pod_request(&pod, ret_request);
    pod_done(&pod, shapes->names);
    return 0;
}

/* What of containers makes their request: not their image, nor anything else that differs between
 * apps which need the same room. */
static json_t *resources_of(const json_t *containers) {
    json_t *list = json_array();
    size_t i;
    json_t *one;

    json_array_foreach((json_t *)containers, i, one) {
        json_t *kept = json_object();

        json_object_set(kept, "resources", json_object_get(one, "resources"));
        json_object_set(kept, "restartPolicy", json_object_get(one, "restartPolicy"));
        json_array_append_new(list, kept);
    }
    return list;
}

static void shape_hash(const json_t *pod_spec, char ret_hash[RENDER_HASH_SIZE]) {
    static const char *const parts[] = {"overhead", "resources", "tolerations", "nodeSelector",
                                        NULL};
    json_t *of = json_object();

    json_object_set_new(of, "containers", resources_of(json_object_get(pod_spec, "containers")));
    json_object_set_new(of, "initContainers",
                        resources_of(json_object_get(pod_spec, "initContainers")));
    for (int i = 0; parts[i]; i++)
        json_object_set(of, parts[i], json_object_get(pod_spec, parts[i]));
    render_hash(of, ret_hash);
    json_decref(of);
}

static int slot_for(const struct shapes *shapes) {
    int oldest = 0;

    if (shapes->count < ROOM_SHAPES_MAX)
        return shapes->count;
    for (int i = 1; i < shapes->count; i++)
        if (shapes->at[i].used < shapes->at[oldest].used)
            oldest = i;
    return oldest;
}

int shapes_take(struct shapes *shapes, const json_t *pod_spec,
                const struct resource_names *resources, int *ret_shape,
                enum shapes_change *ret_change, struct err *err) {
    struct shape made = {.used = ++shapes->clock};
    bool new_label = false;

    shape_hash(pod_spec, made.hash);
    for (int i = 0; i < shapes->count; i++) {
        if (memcmp(shapes->at[i].hash, made.hash, sizeof made.hash) == 0) {
            shapes->at[i].used = made.used;
            *ret_shape = i;
            *ret_change = SHAPES_SAME;
            return 0;
        }
    }
    int r = request_read(shapes, pod_spec, resources, &made.request, err);

    if (r >= 0)
        r = tolerations_read(shapes, json_object_get(pod_spec, "tolerations"), &made, err);
    if (r >= 0)
        r = selector_read(shapes, json_object_get(pod_spec, "nodeSelector"), &made, &new_label,
                          err);
    if (r < 0)
        return r;
    const int slot = slot_for(shapes);

    shapes->at[slot] = made;
    if (slot == shapes->count)
        shapes->count++;
    *ret_shape = slot;
    *ret_change = new_label ? SHAPES_LABELS : SHAPES_REPLACED;
    return 0;
}

int shapes_largest(const struct shapes *shapes, int but) {
    int largest = -1;

    for (int i = 0; i < shapes->count; i++)
        if (i != but && (largest < 0 || shapes->at[i].request.of[ROOM_CPU_MILLI] >
                                            shapes->at[largest].request.of[ROOM_CPU_MILLI]))
            largest = i;
    return largest;
}

static int taint_number(struct shapes *shapes, const struct node_taint *taint, int *ret_new) {
    const uint32_t key = word_of(shapes, taint->key);
    const uint32_t value = word_of(shapes, taint->value);

    if (key == WORDS_MAX || value == WORDS_MAX)
        return ROOM_ID_COUNT;
    for (int i = 0; i < shapes->taint_count; i++)
        if (shapes->taints[i].key == key && shapes->taints[i].value == value &&
            shapes->taints[i].effect == taint->effect)
            return i;
    if (shapes->taint_count == ROOM_ID_COUNT)
        return ROOM_ID_COUNT;
    *ret_new = 1;
    shapes->taints[shapes->taint_count] =
        (struct room_taint){.key = key, .value = value, .effect = taint->effect};
    return shapes->taint_count++;
}

void shapes_taints_forget(struct shapes *shapes) {
    shapes->taint_count = 0;
}

int shapes_node(struct shapes *shapes, const struct node *node, struct room_node *ret_node) {
    int is_new = 0;

    *ret_node = (struct room_node){
        .allocatable = node->allocatable,
        .ready = node->ready,
        .schedulable = node->schedulable && !node->deleting,
    };
    for (int i = 0; i < node->taint_count; i++) {
        const int number = taint_number(shapes, &node->taints[i], &is_new);

        if (number == ROOM_ID_COUNT)
            ret_node->schedulable = false;
        else
            room_ids_add(&ret_node->taints, (uint32_t)number);
    }
    for (int i = 0; i < shapes->label_count; i++) {
        const char *value = node_label(node, shapes->labels[i].key);

        if (value && strcmp(value, shapes->labels[i].value) == 0)
            room_ids_add(&ret_node->labels, (uint32_t)i);
    }
    return is_new;
}
