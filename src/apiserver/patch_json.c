#include "apiserver/patch.h"

#include "base/auto.h"
#include "base/json.h"
#include "base/str.h"

#include <string.h>

#define OPERATIONS_MAX 10000
#define DEPTH_MAX 64                       /* of a pointer together with the value put there */
#define COPIED_MAX_BYTES ((size_t)3 << 20) /* by all copies: each could double the object */

/* A JSON pointer, split and unescaped. */
struct pointer {
    char *text;
    const char *tokens[DEPTH_MAX];
    int count;
};

/* A document under work. */
struct work {
    json_t *root;
    size_t copied_bytes;
};

static int run(struct work *work, const json_t *operation, struct err *err);
static int run_value(struct work *work, const char *op, const json_t *operation,
                     const struct pointer *path, struct err *err);
static int run_from(struct work *work, const char *op, const json_t *operation,
                    const struct pointer *path, struct err *err);
static int pointer_read(const json_t *operation, const char *key, struct pointer *ret_pointer,
                        struct err *err);
static int pointer_split(struct pointer *pointer, struct err *err);
static void pointer_done(struct pointer *pointer);
static bool pointer_starts(const struct pointer *pointer, const struct pointer *start);
static json_t *find(json_t *root, const struct pointer *pointer, int depth);
static int put(struct work *work, const struct pointer *path, json_t *value, bool replace,
               struct err *err);
static int drop(struct work *work, const struct pointer *path, struct err *err);
static bool read_index(const char *token, size_t end, size_t *ret_index);
static bool weigh(const json_t *value, int depth, size_t *bytes);
static bool is_same(const json_t *a, const json_t *b);

int patch_json(const json_t *object, const json_t *operations, json_t **ret_object,
               struct err *err) {
    struct work work = {0};
    size_t bytes = 0;

    if (!json_is_array(operations))
        return err_set(err, ERR_INVALID, "a JSON patch is a list of operations");
    if (json_array_size(operations) > OPERATIONS_MAX)
        return err_set(err, ERR_INVALID,
                       "The allowed maximum operations in a JSON patch is %d, got %zu",
                       OPERATIONS_MAX, json_array_size(operations));
    if (!weigh(object, 0, &bytes))
        return err_set(err, ERR_INVALID, "the object is nested too deeply");
    work.root = json_deep_copy(object);
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const int r = run(&work, json_array_get(operations, i), err);

        if (r < 0) {
            json_decref(work.root);
            return err_wrap(err, r, "operation %zu", i);
        }
    }
    *ret_object = work.root;
    return 0;
}

static int run(struct work *work, const json_t *operation, struct err *err) {
    struct pointer path = {0};
    const char *op;
    int r;

    if (!json_is_object(operation))
        return err_set(err, ERR_INVALID, "not an object");
    r = json_text(operation, "op", &op, err);
    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, ERR_INVALID, "op is missing");
    r = pointer_read(operation, "path", &path, err);
    if (r < 0)
        return r;
    if (strcmp(op, "remove") == 0)
        r = drop(work, &path, err);
    else if (strcmp(op, "move") == 0 || strcmp(op, "copy") == 0)
        r = run_from(work, op, operation, &path, err);
    else
        r = run_value(work, op, operation, &path, err);
    pointer_done(&path);
    return r < 0 ? err_wrap(err, r, "%.16s", op) : 0;
}

static int run_value(struct work *work, const char *op, const json_t *operation,
                     const struct pointer *path, struct err *err) {
    const json_t *value = json_object_get(operation, "value");
    const bool replaces = strcmp(op, "replace") == 0;
    const bool tests = strcmp(op, "test") == 0;
    size_t bytes = 0;

    if (!replaces && !tests && strcmp(op, "add") != 0)
        return err_set(err, ERR_INVALID, "not an operation");
    if (!value)
        return err_set(err, ERR_INVALID, "value is missing");
    if (!weigh(value, path->count, &bytes))
        return err_set(err, ERR_INVALID, "nested too deeply");
    if (!tests)
        return put(work, path, json_deep_copy(value), replaces, err);
    const json_t *found = find(work->root, path, path->count);

    if (!found || !is_same(found, value))
        return err_set(err, ERR_CONFLICT, "testing value %s failed",
                       json_string_value(json_object_get(operation, "path")));
    return 0;
}

static int run_from(struct work *work, const char *op, const json_t *operation,
                    const struct pointer *path, struct err *err) {
    struct pointer from = {0};
    size_t bytes = 0;
    int r = pointer_read(operation, "from", &from, err);

    if (r < 0)
        return r;
    json_t *value = find(work->root, &from, from.count);
    const bool moves = strcmp(op, "move") == 0;

    if (!value)
        r = err_set(err, ERR_INVALID, "from does not exist");
    else if (!weigh(value, path->count, &bytes))
        r = err_set(err, ERR_INVALID, "nested too deeply");
    else if (moves && path->count > from.count && pointer_starts(path, &from))
        r = err_set(err, ERR_INVALID, "a value cannot move into itself");
    else if (moves && path->count == from.count && pointer_starts(path, &from))
        r = 0;
    else if (moves) {
        json_incref(value);
        r = drop(work, &from, err);
        if (r < 0)
            json_decref(value);
        else
            r = put(work, path, value, false, err);
    } else if (work->copied_bytes + bytes > COPIED_MAX_BYTES) {
        r = err_set(err, ERR_INVALID, "more than %zu bytes copied", COPIED_MAX_BYTES);
    } else {
        work->copied_bytes += bytes;
        r = put(work, path, json_deep_copy(value), false, err);
    }
    pointer_done(&from);
    return r;
}

static int pointer_read(const json_t *operation, const char *key, struct pointer *ret_pointer,
                        struct err *err) {
    const char *text;
    int r = json_text(operation, key, &text, err);

    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, ERR_INVALID, "%s is missing", key);
    struct pointer pointer = {.text = str_dup(text)};

    r = pointer_split(&pointer, err);
    if (r < 0) {
        pointer_done(&pointer);
        return err_wrap(err, r, "%s %.80s", key, text);
    }
    *ret_pointer = pointer;
    return 0;
}

static int pointer_split(struct pointer *pointer, struct err *err) {
    const char *from = pointer->text;
    char *to = pointer->text;

    if (*from == '\0')
        return 0;
    if (*from != '/')
        return err_set(err, ERR_INVALID, "a pointer starts with a slash");
    while (*from) {
        char c = *from++;

        if (c == '/') {
            if (pointer->count == DEPTH_MAX)
                return err_set(err, ERR_INVALID, "more than %d steps", DEPTH_MAX);
            if (pointer->count)
                *to++ = '\0';
            pointer->tokens[pointer->count++] = to;
            continue;
        }
        if (c == '~') {
            if (*from != '0' && *from != '1')
                return err_set(err, ERR_INVALID, "~ is written ~0, / is written ~1");
            c = *from++ == '0' ? '~' : '/';
        }
        *to++ = c;
    }
    *to = '\0';
    return 0;
}

static void pointer_done(struct pointer *pointer) {
    free(take(pointer->text));
}

/* Whether pointer leads to start or below it. */
static bool pointer_starts(const struct pointer *pointer, const struct pointer *start) {
    for (int i = 0; i < start->count; i++)
        if (i >= pointer->count || strcmp(pointer->tokens[i], start->tokens[i]) != 0)
            return false;
    return true;
}

/* What stands at the first depth steps of pointer; NULL: nothing. */
static json_t *find(json_t *root, const struct pointer *pointer, int depth) {
    json_t *at = root;

    for (int i = 0; at && i < depth; i++) {
        size_t index;

        if (json_is_object(at))
            at = json_object_get(at, pointer->tokens[i]);
        else if (json_is_array(at) && read_index(pointer->tokens[i], json_array_size(at), &index))
            at = json_array_get(at, index);
        else
            at = NULL;
    }
    return at;
}

/* Puts value (taken over) at path. */
static int put(struct work *work, const struct pointer *path, json_t *value, bool replace,
               struct err *err) {
    if (path->count == 0) {
        json_decref(work->root);
        work->root = value;
        return 0;
    }
    const char *last = path->tokens[path->count - 1];
    json_t *parent = find(work->root, path, path->count - 1);
    size_t index;

    if (json_is_object(parent) && (!replace || json_object_get(parent, last))) {
        json_object_set_new(parent, last, value);
        return 0;
    }
    if (json_is_array(parent)) {
        const size_t end = json_array_size(parent);

        if (!replace && strcmp(last, "-") == 0) {
            json_array_append_new(parent, value);
            return 0;
        }
        if (read_index(last, end, &index)) {
            if (replace)
                json_array_set_new(parent, index, value);
            else
                json_array_insert_new(parent, index, value);
            return 0;
        }
        if (!replace && read_index(last, end + 1, &index)) {
            json_array_append_new(parent, value);
            return 0;
        }
    }
    json_decref(value);
    return err_set(err, ERR_INVALID, "doc is missing path: %.80s: missing value", last);
}

static int drop(struct work *work, const struct pointer *path, struct err *err) {
    if (path->count == 0)
        return err_set(err, ERR_INVALID, "the whole object cannot be removed");
    const char *last = path->tokens[path->count - 1];
    json_t *parent = find(work->root, path, path->count - 1);
    size_t index;

    if (json_is_object(parent) && json_object_del(parent, last) == 0)
        return 0;
    if (json_is_array(parent) && read_index(last, json_array_size(parent), &index)) {
        json_array_remove(parent, index);
        return 0;
    }
    return err_set(err, ERR_INVALID, "doc is missing path: %.80s: missing value", last);
}

/* Reads an index below end: digits alone, without a leading zero. */
static bool read_index(const char *token, size_t end, size_t *ret_index) {
    const size_t len = strlen(token);
    size_t index = 0;

    if (len == 0 || len > 9 || (len > 1 && token[0] == '0'))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (token[i] < '0' || token[i] > '9')
            return false;
        index = index * 10 + (size_t)(token[i] - '0');
    }
    *ret_index = index;
    return index < end;
}

/* Adds about what value takes as text; false if it reaches deeper than DEPTH_MAX. */
static bool weigh(const json_t *value, int depth, size_t *bytes) {
    const char *key;
    const json_t *child;
    size_t i;

    *bytes += 8 + json_string_length(value);
    if (depth > DEPTH_MAX)
        return false;
    json_object_foreach((json_t *)(uintptr_t)value, key, child) {
        *bytes += strlen(key) + 4;
        if (!weigh(child, depth + 1, bytes))
            return false;
    }
    json_array_foreach(value, i, child) {
        if (!weigh(child, depth + 1, bytes))
            return false;
    }
    return true;
}

/* As json_equal(), but numbers are equal by value: 1 and 1.0. Both were weighed. */
static bool is_same(const json_t *a, const json_t *b) {
    const char *key;
    const json_t *child;
    size_t i;

    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
        return json_number_value(a) == json_number_value(b);
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_object(a)) {
        if (json_object_size(a) != json_object_size(b))
            return false;
        json_object_foreach((json_t *)(uintptr_t)a, key, child) {
            const json_t *other = json_object_get(b, key);

            if (!other || !is_same(child, other))
                return false;
        }
        return true;
    }
    if (!json_is_array(a))
        return json_equal(a, b);
    if (json_array_size(a) != json_array_size(b))
        return false;
    json_array_foreach(a, i, child) {
        if (!is_same(child, json_array_get(b, i)))
            return false;
    }
    return true;
}
