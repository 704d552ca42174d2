#include "apiserver/jsonpath.h"

#include "base/str.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum step_kind { STEP_NAME, STEP_DEEP, STEP_RANGE, STEP_ALL, STEP_FILTER };
enum compare_verb { VERB_EXISTS, VERB_EQ, VERB_NE, VERB_LT, VERB_LE, VERB_GT, VERB_GE };

struct step {
    enum step_kind kind;
    char *name;
    int64_t from; /* STEP_RANGE; negative counts from the end */
    int64_t to;
    bool open_end; /* up to the end */
    struct jsonpath *left;
    enum compare_verb verb;
    json_t *right;
};

struct jsonpath {
    struct step steps[JSONPATH_STEPS_MAX];
    int count;
};

/* What is being read. */
struct reader {
    const char *text;
    const char *at;
    const char *end;
};

static int read_steps(struct reader *reader, struct jsonpath *path, struct err *err);

int jsonpath_new(const char *text, struct jsonpath **ret_path, struct err *err) {
    struct reader reader = {text, text, text + strlen(text)};
    struct jsonpath *path;
    int r;

    if (strlen(text) > JSONPATH_MAX_BYTES)
        return err_set(err, ERR_INVALID, "longer than %d bytes", JSONPATH_MAX_BYTES);
    if (reader.end > text && *text == '{' && reader.end[-1] == '}') {
        reader.at++;
        reader.end--;
    }
    if (reader.at < reader.end && *reader.at == '$')
        reader.at++;
    path = str_alloc(1, sizeof(*path));
    r = read_steps(&reader, path, err);
    if (r < 0) {
        jsonpath_free(path);
        return r;
    }
    *ret_path = path;
    return 0;
}

void jsonpath_free(struct jsonpath *path) {
    if (!path)
        return;
    for (int i = 0; i < path->count; i++) {
        free(path->steps[i].name);
        jsonpath_free(path->steps[i].left);
        json_decref(path->steps[i].right);
    }
    free(path);
}

static int broken(const struct reader *reader, struct err *err, const char *words) {
    return err_set(err, ERR_INVALID, "%s at byte %zu of '%s'", words,
                   (size_t)(reader->at - reader->text), reader->text);
}

static bool skip(struct reader *reader, const char *word) {
    const size_t len = strlen(word);

    if ((size_t)(reader->end - reader->at) < len || strncmp(reader->at, word, len) != 0)
        return false;
    reader->at += len;
    return true;
}

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->end && *reader->at == ' ')
        reader->at++;
}

/* A bare name ends at . [ and at what can follow it in a filter; \ takes the next byte as it is. */
static char *read_name_new(struct reader *reader) {
    char *name = str_alloc((size_t)(reader->end - reader->at) + 1, 1);
    size_t len = 0;

    while (reader->at < reader->end && !strchr(".[ ]()=!<>{}|&", *reader->at)) {
        if (*reader->at == '\\' && reader->at + 1 < reader->end)
            reader->at++;
        name[len++] = *reader->at++;
    }
    return name;
}

/* A quoted text; the quote has been read. NULL if it does not end. */
static char *read_quoted_new(struct reader *reader, char quote) {
    char *text = str_alloc((size_t)(reader->end - reader->at) + 1, 1);
    size_t len = 0;

    while (reader->at < reader->end && *reader->at != quote) {
        if (*reader->at == '\\' && reader->at + 1 < reader->end)
            reader->at++;
        text[len++] = *reader->at++;
    }
    if (reader->at < reader->end) {
        reader->at++;
        return text;
    }
    free(text);
    return NULL;
}

static bool read_number(struct reader *reader, int64_t *ret_number) {
    const bool negative = skip(reader, "-");
    int64_t number = 0;
    int digits = 0;

    while (reader->at < reader->end && isdigit((unsigned char)*reader->at) && digits < 9) {
        number = number * 10 + (*reader->at++ - '0');
        digits++;
    }
    *ret_number = negative ? -number : number;
    return digits > 0;
}

static int read_value(struct reader *reader, json_t **ret_value, struct err *err) {
    json_error_t fault;

    skip_blanks(reader);
    if (reader->at < reader->end && (*reader->at == '"' || *reader->at == '\'')) {
        char *text = read_quoted_new(reader, *reader->at++);

        if (!text)
            return broken(reader, err, "unclosed quote");
        *ret_value = json_string(text);
        free(text);
        return *ret_value ? 0 : broken(reader, err, "no UTF-8");
    }
    *ret_value = json_loadb(reader->at, (size_t)(reader->end - reader->at),
                            JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &fault);
    if (!*ret_value)
        return broken(reader, err, "no value");
    reader->at += fault.position;
    return 0;
}

static int read_filter(struct reader *reader, struct step *step, struct err *err) {
    static const struct {
        const char *word;
        enum compare_verb verb;
    } verbs[] = {{"==", VERB_EQ}, {"!=", VERB_NE}, {"<=", VERB_LE},
                 {">=", VERB_GE}, {"<", VERB_LT},  {">", VERB_GT}};
    int r;

    step->kind = STEP_FILTER;
    skip_blanks(reader);
    if (!skip(reader, "@"))
        return broken(reader, err, "a filter starts with @");
    step->left = str_alloc(1, sizeof(*step->left));
    if ((r = read_steps(reader, step->left, err)) < 0)
        return r;
    skip_blanks(reader);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]) && step->verb == VERB_EXISTS; i++)
        if (skip(reader, verbs[i].word))
            step->verb = verbs[i].verb;
    if (step->verb != VERB_EXISTS && (r = read_value(reader, &step->right, err)) < 0)
        return r;
    skip_blanks(reader);
    return skip(reader, ")]") ? 0 : broken(reader, err, "a filter ends with )]");
}

static int read_range(struct reader *reader, struct step *step, struct err *err) {
    const bool has_from = read_number(reader, &step->from);

    step->kind = STEP_RANGE;
    if (skip(reader, ":")) {
        step->open_end = !read_number(reader, &step->to);
    } else if (has_from) {
        step->to = step->from + 1;
        step->open_end = step->from == -1;
    } else {
        return broken(reader, err, "no index");
    }
    return skip(reader, "]") ? 0 : broken(reader, err, "no ]");
}

static int read_bracket(struct reader *reader, struct step *step, struct err *err) {
    if (skip(reader, "?("))
        return read_filter(reader, step, err);
    if (skip(reader, "*]")) {
        step->kind = STEP_ALL;
        return 0;
    }
    if (reader->at < reader->end && (*reader->at == '\'' || *reader->at == '"')) {
        step->name = read_quoted_new(reader, *reader->at++);
        return step->name && skip(reader, "]") ? 0 : broken(reader, err, "no end of the name");
    }
    return read_range(reader, step, err);
}

static int read_step(struct reader *reader, struct step *step, struct err *err) {
    if (skip(reader, "["))
        return read_bracket(reader, step, err);
    if (skip(reader, ".."))
        step->kind = STEP_DEEP;
    else if (!skip(reader, "."))
        return broken(reader, err, "neither . nor [");
    if (step->kind == STEP_NAME && skip(reader, "*")) {
        step->kind = STEP_ALL;
        return 0;
    }
    step->name = read_name_new(reader);
    return *step->name ? 0 : broken(reader, err, "no name");
}

/* Reads up to the end, or to what cannot be part of a path. */
static int read_steps(struct reader *reader, struct jsonpath *path, struct err *err) {
    const bool inner = reader->at > reader->text && reader->at[-1] == '@';
    int r;

    while (reader->at < reader->end && (!inner || *reader->at == '.' || *reader->at == '[')) {
        if (path->count == JSONPATH_STEPS_MAX)
            return broken(reader, err, "too many steps");
        if ((r = read_step(reader, &path->steps[path->count++], err)) < 0)
            return r;
    }
    return 0;
}

static void keep(json_t *finds, json_t *value) {
    if (value && json_array_size(finds) < JSONPATH_FINDS_MAX)
        json_array_append(finds, value);
}

static void find_deep(const char *name, json_t *value, json_t *finds) {
    const char *key;
    json_t *child;

    keep(finds, json_object_get(value, name));
    json_object_foreach(value, key, child) {
        find_deep(name, child, finds);
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        find_deep(name, json_array_get(value, i), finds);
}

static void find_range(const struct step *step, json_t *list, json_t *finds) {
    const int64_t count = (int64_t)json_array_size(list);
    int64_t from = step->from < 0 ? step->from + count : step->from;
    int64_t to = step->open_end ? count : step->to < 0 ? step->to + count : step->to;

    if (from < 0 && to <= from + 1)
        return; /* an index before the first */
    from = from < 0 ? 0 : from;
    to = to > count ? count : to;
    for (int64_t i = from; i < to; i++)
        keep(finds, json_array_get(list, (size_t)i));
}

static void find_all(json_t *value, json_t *finds) {
    const char *key;
    json_t *child;

    json_object_foreach(value, key, child) {
        keep(finds, child);
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        keep(finds, json_array_get(value, i));
}

/* -1, 0, 1, or 2 where there is no order. */
static int order(const json_t *a, const json_t *b) {
    if (json_is_number(a) && json_is_number(b))
        return (json_number_value(a) > json_number_value(b)) -
               (json_number_value(a) < json_number_value(b));
    if (json_is_string(a) && json_is_string(b)) {
        const int r = strcmp(json_string_value(a), json_string_value(b));

        return (r > 0) - (r < 0);
    }
    return json_equal((json_t *)(uintptr_t)a, (json_t *)(uintptr_t)b) ? 0 : 2;
}

static bool holds(const struct step *step, const json_t *item) {
    json_auto_t *left = jsonpath_find_new(step->left, item);
    const json_t *value = json_array_get(left, 0);
    const int r = value && step->right ? order(value, step->right) : 2;

    switch (step->verb) {
    case VERB_EXISTS:
        return value != NULL;
    case VERB_EQ:
        return r == 0;
    case VERB_NE:
        return value && r != 0;
    case VERB_LT:
        return r == -1;
    case VERB_LE:
        return r == -1 || r == 0;
    case VERB_GT:
        return r == 1;
    case VERB_GE:
        return r == 1 || r == 0;
    }
    return false;
}

static void find_step(const struct step *step, json_t *value, json_t *finds) {
    switch (step->kind) {
    case STEP_NAME:
        keep(finds, json_object_get(value, step->name));
        return;
    case STEP_DEEP:
        find_deep(step->name, value, finds);
        return;
    case STEP_RANGE:
        find_range(step, value, finds);
        return;
    case STEP_ALL:
        find_all(value, finds);
        return;
    case STEP_FILTER:
        for (size_t i = 0; i < json_array_size(value); i++)
            if (holds(step, json_array_get(value, i)))
                keep(finds, json_array_get(value, i));
        return;
    }
}

json_t *jsonpath_find_new(const struct jsonpath *path, const json_t *root) {
    json_t *found = json_array();

    json_array_append(found, (json_t *)(uintptr_t)root);
    for (int i = 0; i < path->count; i++) {
        json_t *next = json_array();

        for (size_t j = 0; j < json_array_size(found); j++)
            find_step(&path->steps[i], json_array_get(found, j), next);
        json_decref(found);
        found = next;
    }
    return found;
}
