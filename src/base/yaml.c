#include "base/yaml.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

struct reader {
    yaml_document_t *document;
    int depth;
    int nodes; /* values built so far; an alias counts as often as it is used */
    struct err *err;
};

static int read_node(struct reader *reader, int index, json_t **ret_value);

static size_t line_of(const yaml_node_t *node) {
    return node->start_mark.line + 1;
}

static bool one_of(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* A whole number in decimal notation; 012 stays text, so that no reader sees
 * octal by accident. */
static bool is_whole(const char *text, json_int_t *ret_value) {
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;

    if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits) ||
        (digits[0] == '0' && digits[1] != '\0'))
        return false;
    errno = 0;
    *ret_value = strtoll(text, &end, 10);
    return errno == 0;
}

static bool is_real(const char *text, double *ret_value) {
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;

    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')
        return false;
    if (strspn(text, "+-0123456789.eE") != strlen(text) || !strpbrk(text, "0123456789"))
        return false;
    *ret_value = strtod(text, &end);
    return *end == '\0' && *ret_value - *ret_value == 0.0;
}

static int read_scalar(struct reader *reader, const yaml_node_t *node, json_t **ret_value) {
    static const char *const TRUE_WORDS[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                             "on",   "On",   "ON",   "y",   "Y",   NULL};
    static const char *const FALSE_WORDS[] = {"false", "False", "FALSE", "no", "No", "NO",
                                              "off",   "Off",   "OFF",   "n",  "N",  NULL};
    static const char *const NULL_WORDS[] = {"", "~", "null", "Null", "NULL", NULL};
    const char *text = (const char *)node->data.scalar.value;
    const size_t len = node->data.scalar.length;
    json_int_t whole;
    double real;

    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strlen(text) == len) {
        if (one_of(text, NULL_WORDS))
            *ret_value = json_null();
        else if (one_of(text, TRUE_WORDS) || one_of(text, FALSE_WORDS))
            *ret_value = json_boolean(one_of(text, TRUE_WORDS));
        else if (is_whole(text, &whole))
            *ret_value = json_integer(whole);
        else if (is_real(text, &real))
            *ret_value = json_real(real);
        else
            *ret_value = json_stringn(text, len);
    } else {
        *ret_value = json_stringn(text, len);
    }
    if (!*ret_value)
        return err_set(reader->err, ERR_INVALID, "line %zu: not UTF-8 text", line_of(node));
    return 0;
}

static int read_mapping(struct reader *reader, const yaml_node_t *node, json_t **ret_value) {
    json_auto_t *object = json_object();
    const yaml_node_pair_t *pairs = node->data.mapping.pairs.start;

    for (const yaml_node_pair_t *pair = pairs; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(reader->document, pair->key);
        json_t *value = NULL;

        if (key->type != YAML_SCALAR_NODE)
            return err_set(reader->err, ERR_INVALID, "line %zu: a key must be text", line_of(key));
        const char *name = (const char *)key->data.scalar.value;

        if (json_object_get(object, name)) {
            const yaml_node_pair_t *first = pairs;

            while (strcmp((const char *)yaml_document_get_node(reader->document, first->key)
                              ->data.scalar.value,
                          name) != 0)
                first++;
            return err_set(reader->err, ERR_INVALID,
                           "line %zu: key \"%s\" was given on line %zu already; keep one",
                           line_of(key), name,
                           line_of(yaml_document_get_node(reader->document, first->key)));
        }
        const int r = read_node(reader, pair->value, &value);

        if (r < 0)
            return r;
        if (json_object_setn_new(object, name, key->data.scalar.length, value) < 0)
            return err_set(reader->err, ERR_INVALID, "line %zu: key is not UTF-8", line_of(key));
    }
    *ret_value = take(object);
    return 0;
}

static int read_sequence(struct reader *reader, const yaml_node_t *node, json_t **ret_value) {
    json_auto_t *array = json_array();

    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        json_t *value = NULL;
        const int r = read_node(reader, *item, &value);

        if (r < 0)
            return r;
        json_array_append_new(array, value);
    }
    *ret_value = take(array);
    return 0;
}

static int read_node(struct reader *reader, int index, json_t **ret_value) {
    const yaml_node_t *node = yaml_document_get_node(reader->document, index);
    int r;

    if (++reader->nodes > YAML_NODES_MAX)
        return err_set(reader->err, ERR_INVALID,
                       "line %zu: more than %d values, aliases counted at each use", line_of(node),
                       YAML_NODES_MAX);
    if (reader->depth == YAML_DEPTH_MAX)
        return err_set(reader->err, ERR_INVALID, "line %zu: nested deeper than %d", line_of(node),
                       YAML_DEPTH_MAX);
    reader->depth++;
    if (node->type == YAML_MAPPING_NODE)
        r = read_mapping(reader, node, ret_value);
    else if (node->type == YAML_SEQUENCE_NODE)
        r = read_sequence(reader, node, ret_value);
    else
        r = read_scalar(reader, node, ret_value);
    reader->depth--;
    return r;
}

static int parser_fault(const yaml_parser_t *parser, struct err *err) {
    return err_set(
        err, ERR_INVALID, "line %zu: %s",
        (parser->problem_mark.line ? parser->problem_mark.line : parser->context_mark.line) + 1,
        parser->problem ? parser->problem : "not YAML");
}

/* 1 with the next document's value, 0 after the last; *nodes counts over all of them. */
static int read_next(yaml_parser_t *parser, int *nodes, json_t **ret_root, struct err *err) {
    yaml_document_t document;
    int r = 0;

    if (!yaml_parser_load(parser, &document))
        return parser_fault(parser, err);
    struct reader reader = {.document = &document, .nodes = *nodes, .err = err};

    if (yaml_document_get_root_node(&document)) {
        r = read_node(&reader, 1, ret_root);
        r = r < 0 ? r : 1;
    }
    *nodes = reader.nodes;
    yaml_document_delete(&document);
    return r;
}

/* Refuses a second document; the first stays as it is. */
static int expect_end(yaml_parser_t *parser, struct err *err) {
    yaml_document_t next;
    int r = 0;

    if (!yaml_parser_load(parser, &next))
        return parser_fault(parser, err);
    const yaml_node_t *root = yaml_document_get_root_node(&next);

    if (root)
        r = err_set(err, ERR_INVALID, "line %zu: a second document; one is expected",
                    line_of(root));
    yaml_document_delete(&next);
    return r;
}

static void start(yaml_parser_t *parser, const char *text, size_t size_bytes) {
    if (!yaml_parser_initialize(parser))
        abort();
    yaml_parser_set_input_string(parser, (const unsigned char *)text, size_bytes);
}

int yaml_parse(const char *text, size_t size_bytes, json_t **ret_root, struct err *err) {
    yaml_parser_t parser;
    json_auto_t *root = NULL;
    int nodes = 0;

    start(&parser, text, size_bytes);
    int r = read_next(&parser, &nodes, &root, err);

    if (r == 0)
        r = err_set(err, ERR_INVALID, "no document in it");
    if (r > 0)
        r = expect_end(&parser, err);
    yaml_parser_delete(&parser);
    if (r == 0)
        *ret_root = take(root);
    return r;
}

int yaml_each(const char *text, size_t size_bytes, yaml_document_fn *document, void *arg,
              struct err *err) {
    yaml_parser_t parser;
    int nodes = 0;
    int count = 0;
    int r;

    start(&parser, text, size_bytes);
    do {
        json_auto_t *root = NULL;

        r = read_next(&parser, &nodes, &root, err);
        if (r <= 0 || json_is_null(root))
            continue;
        count++;
        r = document(arg, root, err);
        r = r < 0 ? r : 1;
    } while (r > 0);
    yaml_parser_delete(&parser);
    return r < 0 ? r : count;
}
