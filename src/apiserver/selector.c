#include "apiserver/selector.h"

#include "base/auto.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

enum selector_op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_ABSENT };

struct selector_term {
    char *key;
    enum selector_op op;
    char **values;
    int value_count;
};

struct scan {
    const char *text;
    const char *at;
    int value_count; /* of all terms */
};

static int parse_term(struct scan *scan, struct selector_term *term, struct err *err);
static int parse_op(struct scan *scan, struct selector_term *term, bool *ret_list, struct err *err);
static int parse_values(struct scan *scan, struct selector_term *term, struct err *err);
static int parse_value(struct scan *scan, struct selector_term *term, struct err *err);
static char *word(struct scan *scan);
static void spaces(struct scan *scan);
static bool skip(struct scan *scan, const char *token);
static struct selector_term *term_add(struct selector *selector);
static int parse_field(char *text, const char *group, const char *resource,
                       struct selector *selector, struct err *err);
static bool field_is_known(const char *key, const char *group, const char *resource);
static bool term_matches(const struct selector_term *term, const char *value);
static const char *field_value(const json_t *object, const char *path);

int selector_labels(const char *text, struct selector *ret_selector, struct err *err) {
    struct selector selector = {0};
    struct scan scan = {text, text, 0};

    if (!text)
        return 0;
    spaces(&scan);
    if (*scan.at == '\0')
        return 0;
    do {
        int r = ERR_INVALID;

        if (selector.term_count == SELECTOR_TERMS_MAX)
            err_set(err, r, "more than %d requirements", SELECTOR_TERMS_MAX);
        else
            r = parse_term(&scan, term_add(&selector), err);
        if (r < 0) {
            selector_done(&selector);
            return err_wrap(err, r, "unable to parse requirement");
        }
    } while (skip(&scan, ","));
    if (*scan.at != '\0') {
        selector_done(&selector);
        return err_set(err, ERR_INVALID,
                       "unable to parse requirement: found '%.40s', expected: ',' or 'end of "
                       "string'",
                       scan.at);
    }
    *ret_selector = selector;
    return 0;
}

int selector_fields(const char *text, const char *group, const char *resource,
                    struct selector *ret_selector, struct err *err) {
    struct selector selector = {0};

    if (!text || *text == '\0')
        return 0;
    auto_free char *copy = str_dup(text);
    char *rest = copy;

    while (rest) {
        char *end = rest;
        int r = 0;

        /* A backslash guards a comma, an equals sign or another backslash. */
        while (*end != '\0' && *end != ',')
            end += end[0] == '\\' && end[1] != '\0' ? 2 : 1;
        char *next = *end == ',' ? end + 1 : NULL;

        *end = '\0';
        if (selector.term_count == SELECTOR_TERMS_MAX)
            r = err_set(err, ERR_INVALID, "more than %d field requirements", SELECTOR_TERMS_MAX);
        else if (*rest != '\0')
            r = parse_field(rest, group, resource, &selector, err);
        if (r < 0) {
            selector_done(&selector);
            return r;
        }
        rest = next;
    }
    *ret_selector = selector;
    return 0;
}

void selector_done(struct selector *selector) {
    if (!selector)
        return;
    for (int i = 0; i < selector->term_count; i++) {
        struct selector_term *term = &selector->terms[i];

        for (int k = 0; k < term->value_count; k++)
            free(term->values[k]);
        free(term->values);
        free(term->key);
    }
    free(selector->terms);
    *selector = (struct selector){0};
}

bool selector_has_labels(const struct selector *selector, const json_t *object) {
    const json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");

    for (int i = 0; i < selector->term_count; i++) {
        const struct selector_term *term = &selector->terms[i];

        if (!term_matches(term, json_string_value(json_object_get(labels, term->key))))
            return false;
    }
    return true;
}

bool selector_has_fields(const struct selector *selector, const json_t *object) {
    for (int i = 0; i < selector->term_count; i++) {
        const struct selector_term *term = &selector->terms[i];
        const char *value = field_value(object, term->key);

        if (!term_matches(term, value ? value : "")) /* an absent field is the empty one */
            return false;
    }
    return true;
}

const char *selector_demands(const struct selector *selector, const char *key) {
    for (int i = 0; i < selector->term_count; i++) {
        const struct selector_term *term = &selector->terms[i];

        if (term->op == OP_IN && term->value_count == 1 && strcmp(term->key, key) == 0)
            return term->values[0];
    }
    return NULL;
}

static int parse_term(struct scan *scan, struct selector_term *term, struct err *err) {
    bool list = false;

    spaces(scan);
    if (skip(scan, "!"))
        term->op = OP_ABSENT;
    term->key = word(scan);
    if (!term->key)
        return err_set(err, ERR_INVALID,
                       "found '%.40s', expected: !, identifier, or 'end of "
                       "string'",
                       scan->at);
    if (term->op == OP_ABSENT)
        return 0;
    const int r = parse_op(scan, term, &list, err);

    if (r < 0 || term->op == OP_EXISTS)
        return r;
    return list ? parse_values(scan, term, err) : parse_value(scan, term, err);
}

static int parse_op(struct scan *scan, struct selector_term *term, bool *ret_list,
                    struct err *err) {
    if (*scan->at == '\0' || *scan->at == ',') {
        term->op = OP_EXISTS;
        return 0;
    }
    if (skip(scan, "==") || skip(scan, "=")) {
        term->op = OP_IN;
        return 0;
    }
    if (skip(scan, "!=")) {
        term->op = OP_NOT_IN;
        return 0;
    }
    auto_free char *name = word(scan);

    *ret_list = true;
    if (name && (strcmp(name, "in") == 0 || strcmp(name, "notin") == 0)) {
        term->op = *name == 'i' ? OP_IN : OP_NOT_IN;
        return 0;
    }
    return err_set(err, ERR_INVALID, "found '%.40s', expected: in, notin, =, ==, !=, gt, lt",
                   name ? name : scan->at);
}

static int parse_values(struct scan *scan, struct selector_term *term, struct err *err) {
    if (!skip(scan, "("))
        return err_set(err, ERR_INVALID, "found '%.40s', expected: '('", scan->at);
    do {
        const int r = parse_value(scan, term, err);

        if (r < 0)
            return r;
    } while (skip(scan, ","));
    if (!skip(scan, ")"))
        return err_set(err, ERR_INVALID, "found '%.40s', expected: ',' or ')'", scan->at);
    return 0;
}

/* One value, which may be empty. */
static int parse_value(struct scan *scan, struct selector_term *term, struct err *err) {
    if (++scan->value_count > SELECTOR_VALUES_MAX)
        return err_set(err, ERR_INVALID, "more than %d values", SELECTOR_VALUES_MAX);
    spaces(scan);
    char *value = word(scan);

    if (value && strlen(value) > 63) {
        err_set(err, ERR_INVALID, "values[0][%.40s]: Invalid value: must be no more than 63 bytes",
                term->key);
        free(value);
        return ERR_INVALID;
    }
    term->values = str_resize(term->values, (size_t)term->value_count + 1, sizeof(char *));
    term->values[term->value_count++] = value ? value : str_dup("");
    return 0;
}

/* A label's name or value; NULL if none stands here. */
static char *word(struct scan *scan) {
    const char *start = scan->at;

    while (isalnum((unsigned char)*scan->at) || (*scan->at && strchr("-._/", *scan->at)))
        scan->at++;
    if (scan->at == start)
        return NULL;
    char *found = str_dup_len(start, (size_t)(scan->at - start));

    spaces(scan);
    return found;
}

static void spaces(struct scan *scan) {
    while (*scan->at == ' ' || *scan->at == '\t')
        scan->at++;
}

static bool skip(struct scan *scan, const char *token) {
    if (strncmp(scan->at, token, strlen(token)) != 0)
        return false;
    scan->at += strlen(token);
    spaces(scan);
    return true;
}

static struct selector_term *term_add(struct selector *selector) {
    selector->terms =
        str_resize(selector->terms, (size_t)selector->term_count + 1, sizeof(struct selector_term));
    struct selector_term *term = &selector->terms[selector->term_count++];

    *term = (struct selector_term){0};
    return term;
}

/* "key=value", "key==value" or "key!=value"; text may be written to. */
static int parse_field(char *text, const char *group, const char *resource,
                       struct selector *selector, struct err *err) {
    char *sign = strchr(text, '=');

    if (!sign || sign == text)
        return err_set(err, ERR_INVALID, "invalid selector: '%.60s'; can't understand '%.60s'",
                       text, text);
    const bool not = sign[-1] == '!';
    char *value = sign[1] == '=' ? sign + 2 : sign + 1;
    char *end = value;

    sign[not ? -1 : 0] = '\0';
    if (!field_is_known(text, group, resource))
        return err_set(err, ERR_INVALID, "field label not supported: %.60s", text);
    for (const char *from = value; *from; from++) {
        if (from[0] == '\\' && from[1] != '\0')
            from++;
        *end++ = *from;
    }
    struct selector_term *term = term_add(selector);

    term->key = str_dup(text);
    term->op = not ? OP_NOT_IN : OP_IN;
    term->values = str_alloc(1, sizeof(char *));
    term->values[0] = str_dup_len(value, (size_t)(end - value));
    term->value_count = 1;
    return 0;
}

static bool field_is_known(const char *key, const char *group, const char *resource) {
    static const struct {
        const char *resource;
        const char *group;
        const char *key;
    } known[] = {
        {"pods", "", "spec.nodeName"},
        {"pods", "", "spec.restartPolicy"},
        {"pods", "", "spec.schedulerName"},
        {"pods", "", "spec.serviceAccountName"},
        {"pods", "", "status.phase"},
        {"pods", "", "status.podIP"},
        {"namespaces", "", "status.phase"},
        {"nodes", "", "spec.unschedulable"},
        {"secrets", "", "type"},
        {"services", "", "spec.clusterIP"},
        {"services", "", "spec.type"},
        {"events", NULL, "involvedObject.kind"},
        {"events", NULL, "involvedObject.namespace"},
        {"events", NULL, "involvedObject.name"},
        {"events", NULL, "involvedObject.uid"},
        {"events", NULL, "involvedObject.apiVersion"},
        {"events", NULL, "involvedObject.resourceVersion"},
        {"events", NULL, "involvedObject.fieldPath"},
        {"events", NULL, "regarding.kind"},
        {"events", NULL, "regarding.namespace"},
        {"events", NULL, "regarding.name"},
        {"events", NULL, "regarding.uid"},
        {"events", NULL, "reason"},
        {"events", NULL, "type"},
        {"events", NULL, "source"},
        {"events", NULL, "reportingComponent"},
    };

    if (strcmp(key, "metadata.name") == 0 || strcmp(key, "metadata.namespace") == 0)
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].key, key) == 0 && strcmp(known[i].resource, resource) == 0 &&
            (!known[i].group || strcmp(known[i].group, group) == 0))
            return true;
    }
    return false;
}

/* NULL is an absent label. */
static bool term_matches(const struct selector_term *term, const char *value) {
    if (term->op == OP_EXISTS || term->op == OP_ABSENT)
        return (value != NULL) == (term->op == OP_EXISTS);
    bool listed = false;

    for (int i = 0; value && !listed && i < term->value_count; i++)
        listed = strcmp(term->values[i], value) == 0;
    return listed == (term->op == OP_IN);
}

/* The text at a dotted path; events are stored in their core form. */
static const char *field_value(const json_t *object, const char *path) {
    static const char *const aliases[][2] = {
        {"regarding.", "involvedObject."},
        {"source", "source.component"},
    };
    auto_free char *copy = NULL;
    const json_t *value = object;
    char *rest = NULL;

    if (strncmp(path, aliases[0][0], strlen(aliases[0][0])) == 0)
        copy = str_printf("%s%s", aliases[0][1], path + strlen(aliases[0][0]));
    else
        copy = str_dup(strcmp(path, aliases[1][0]) == 0 ? aliases[1][1] : path);
    for (const char *key = strtok_r(copy, ".", &rest); key; key = strtok_r(NULL, ".", &rest))
        value = json_object_get(value, key);
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    return json_string_value(value);
}
