#include "api/node.h"

#include "api/condition.h"
#include "api/member.h"
#include "api/projection.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* One reading; the lists are cut to size at its end. */
struct reader {
    struct names *names;
    const struct resource_names *resources;
    struct node node; /* its lists point to the two below */
    struct node_label labels[NODE_LABELS_MAX];
    struct node_taint taints[NODE_TAINTS_MAX];
};

/* Holds a text, which may be "". */
static int hold(struct names *names, const char *text, const char **ret_held, struct err *err) {
    *ret_held = names_take(names, text, strlen(text));
    if (!*ret_held)
        return err_set(err, ERR_RETRY, "no room for the name '%.64s' beside %zu others", text,
                       names_count(names));
    return 0;
}

static int take_label(void *arg, const char *key, const char *value, struct err *err) {
    struct reader *reader = arg;
    struct node *node = &reader->node;
    struct node_label *label = NULL;
    int r;

    for (uint16_t i = 0; i < node->label_count; i++)
        if (strcmp(node->labels[i].key, key) == 0)
            label = &node->labels[i];
    if (!label) {
        if (node->label_count == NODE_LABELS_MAX)
            return err_set(err, ERR_INVALID, "more than %d labels", NODE_LABELS_MAX);
        label = &node->labels[node->label_count];
        if ((r = hold(reader->names, key, &label->key, err)) < 0)
            return r;
        node->label_count++;
    }
    names_drop(reader->names, label->value);
    return hold(reader->names, value, &label->value, err);
}

static enum room_effect effect_of(const char *text) {
    if (strcmp(text, "NoExecute") == 0)
        return ROOM_NO_EXECUTE;
    if (strcmp(text, "PreferNoSchedule") == 0)
        return ROOM_PREFER_NO_SCHEDULE;
    return ROOM_NO_SCHEDULE;
}

static int read_taint(struct jsonpull *pull, struct reader *reader, struct err *err) {
    char taint_key[NAMES_TEXT_MAX + 1] = "";
    char value[NAMES_TEXT_MAX + 1] = "";
    char effect[32] = "";
    struct node *node = &reader->node;
    struct jsonpull_text key;
    int r = member_object(pull, err);

    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        int read = 0;

        if (jsonpull_text_is(&key, "key"))
            read = member_text(pull, taint_key, sizeof(taint_key), err);
        else if (jsonpull_text_is(&key, "value"))
            read = member_text(pull, value, sizeof(value), err);
        else if (jsonpull_text_is(&key, "effect"))
            read = member_text(pull, effect, sizeof(effect), err);
        if (read < 0)
            return read;
    }
    if (r < 0)
        return r;
    if (node->taint_count == NODE_TAINTS_MAX)
        return err_set(err, ERR_INVALID, "more than %d taints", NODE_TAINTS_MAX);
    struct node_taint *taint = &node->taints[node->taint_count++];

    taint->effect = effect_of(effect);
    if ((r = hold(reader->names, taint_key, &taint->key, err)) < 0)
        return r;
    return hold(reader->names, value, &taint->value, err);
}

static int read_taints(struct jsonpull *pull, struct reader *reader, struct err *err) {
    int r = member_array(pull, err);

    while (r > 0 && (r = jsonpull_next_item(pull, err)) > 0) {
        const int read = read_taint(pull, reader, err);

        if (read < 0)
            return read;
    }
    return r;
}

static int read_spec_field(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                           struct err *err) {
    struct reader *reader = arg;
    bool unschedulable = false;
    int r;

    if (jsonpull_text_is(key, "taints"))
        return read_taints(pull, reader, err);
    if (!jsonpull_text_is(key, "unschedulable"))
        return 0;
    if ((r = member_bool(pull, &unschedulable, err)) < 0)
        return r;
    reader->node.schedulable = !unschedulable;
    return 0;
}

static int read_address(struct jsonpull *pull, struct reader *reader, struct err *err) {
    char type[32] = "";
    char text[NAMES_TEXT_MAX + 1] = ""; /* a host name may stand here, too */
    struct jsonpull_text key;
    int r = member_object(pull, err);

    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        int read = 0;

        if (jsonpull_text_is(&key, "type"))
            read = member_text(pull, type, sizeof(type), err);
        else if (jsonpull_text_is(&key, "address"))
            read = member_text(pull, text, sizeof(text), err);
        if (read < 0)
            return read;
    }
    if (r < 0 || strcmp(type, "InternalIP") != 0 || reader->node.ip.family != ADDRESS_NONE)
        return r;
    return address_parse(text, &reader->node.ip, err);
}

static int read_addresses(struct jsonpull *pull, struct reader *reader, struct err *err) {
    int r = member_array(pull, err);

    while (r > 0 && (r = jsonpull_next_item(pull, err)) > 0) {
        const int read = read_address(pull, reader, err);

        if (read < 0)
            return read;
    }
    return r;
}

static int read_status_field(void *arg, struct jsonpull *pull, const struct jsonpull_text *key,
                             struct err *err) {
    struct reader *reader = arg;
    struct condition_seen ready = {0};
    struct resources allocatable;
    int r = 0;

    if (jsonpull_text_is(key, "addresses"))
        return read_addresses(pull, reader, err);
    if (jsonpull_text_is(key, "allocatable")) {
        if ((r = resources_read(pull, reader->resources, &allocatable, err)) >= 0)
            reader->node.allocatable = allocatable.amount;
    } else if (jsonpull_text_is(key, "conditions")) {
        if ((r = condition_read(pull, "Ready", &ready, err)) >= 0)
            reader->node.ready = ready.status == CONDITION_TRUE;
    }
    return r;
}

static void drop_names(const struct node *node, struct names *names) {
    names_drop(names, node->name);
    for (uint16_t i = 0; i < node->label_count; i++) {
        names_drop(names, node->labels[i].key);
        names_drop(names, node->labels[i].value);
    }
    for (uint16_t i = 0; i < node->taint_count; i++) {
        names_drop(names, node->taints[i].key);
        names_drop(names, node->taints[i].value);
    }
}

/* A heap copy of the first count elements; NULL for none. */
static void *cut(const void *list, size_t count, size_t size_bytes) {
    void *copy = count ? str_alloc(count, size_bytes) : NULL;

    if (copy)
        memcpy(copy, list, count * size_bytes);
    return copy;
}

int node_read(const char *bytes, size_t size_bytes, struct names *names,
              const struct resource_names *resources, struct meta *ret_meta, struct node *ret_node,
              struct err *err) {
    struct reader reader = {.names = names, .resources = resources, .node.schedulable = true};
    struct node *node = &reader.node;
    const struct projection projection = {
        .wanted = {.all_labels = true, .sink = take_label, .arg = &reader},
        .read_spec = read_spec_field,
        .read_status = read_status_field,
        .arg = &reader};
    struct meta meta;
    int r;

    node->labels = reader.labels;
    node->taints = reader.taints;
    if ((r = projection_read(&projection, bytes, size_bytes, &meta, err)) < 0 ||
        (r = hold(names, meta.name, &node->name, err)) < 0) {
        drop_names(node, names);
        return err_wrap(err, r, "node");
    }
    node->labels = cut(reader.labels, node->label_count, sizeof(*node->labels));
    node->taints = cut(reader.taints, node->taint_count, sizeof(*node->taints));
    node->deleting = meta.deleting;
    *ret_meta = meta;
    *ret_node = *node;
    return 0;
}

void node_done(struct node *node, struct names *names) {
    if (!node)
        return;
    drop_names(node, names);
    free(node->labels);
    free(node->taints);
    *node = (struct node){0};
}

const char *node_label(const struct node *node, const char *key) {
    for (uint16_t i = 0; i < node->label_count; i++)
        if (strcmp(node->labels[i].key, key) == 0)
            return node->labels[i].value;
    return NULL;
}
