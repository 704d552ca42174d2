#include "base/jsonsplit.h"

#include "base/auto.h"
#include "base/jsonpull.h"
#include "base/jsonscan.h"

#include <inttypes.h>
#include <string.h>

#define HELD_KEEP_BYTES ((size_t)256 << 10) /* a larger buffer is given back after its item */
#define HEAD_TEXT_MAX_BYTES ((size_t)64 << 10)

/* What the next byte may be. The IN_ steps are inside a key, a value or an item. */
enum step {
    STEP_START,
    STEP_KEY_OR_END,
    STEP_KEY,
    STEP_IN_KEY,
    STEP_COLON,
    STEP_VALUE,
    STEP_IN_VALUE,
    STEP_AFTER_VALUE,
    STEP_ITEM_OR_END,
    STEP_ITEM,
    STEP_IN_ITEM,
    STEP_AFTER_ITEM,
    STEP_DONE,
    STEP_BETWEEN, /* watch: white space or the next object */
};

enum field { FIELD_OTHER, FIELD_KIND, FIELD_API_VERSION, FIELD_METADATA, FIELD_ITEMS };

static int feed_all(struct jsonsplit *split, const char *bytes, size_t size_bytes);
static int take_byte(struct jsonsplit *split, const char *bytes, size_t at);
static int take_start(struct jsonsplit *split, char c, uint64_t offset);
static int start_value(struct jsonsplit *split, char c, uint64_t offset);
static int start_item(struct jsonsplit *split, char c, uint64_t offset);
static int scan_on(struct jsonsplit *split, const char *bytes, size_t size_bytes, size_t *at);
static int scan_ended(struct jsonsplit *split, const char *bytes, size_t end);
static int end_key(struct jsonsplit *split, const char *text, size_t size_bytes);
static int end_value(struct jsonsplit *split, const char *text, size_t size_bytes);
static int end_document(struct jsonsplit *split, const char *bytes, size_t end);
static int read_metadata(struct jsonsplit *split, const char *text, size_t size_bytes);
static int read_text(struct jsonpull *pull, char **ret_text, struct err *err);
static int hand_over(struct jsonsplit *split, jsonsplit_take *take, const char *text, size_t size);
static int slice(struct jsonsplit *split, const char *bytes, uint64_t from, size_t end,
                 const char **ret_text, size_t *ret_size_bytes);
static int hold_rest(struct jsonsplit *split, const char *bytes, size_t size_bytes);
static void forget(struct jsonsplit *split);
static int broken(struct jsonsplit *split, uint64_t offset, const char *what);

void jsonsplit_init(struct jsonsplit *split, const struct jsonsplit_options *options) {
    *split = (struct jsonsplit){.options = *options};
    if (split->options.item_max_bytes == 0)
        split->options.item_max_bytes = JSONSPLIT_ITEM_MAX_BYTES;
    split->step = options->mode == JSONSPLIT_WATCH ? STEP_BETWEEN : STEP_START;
    str_init(&split->held, split->options.item_max_bytes);
}

int jsonsplit_feed(struct jsonsplit *split, const char *bytes, size_t size_bytes, struct err *err) {
    if (split->result == 0)
        split->result = feed_all(split, bytes, size_bytes);
    if (split->result != 0)
        str_done(&split->held);
    if (split->result < 0)
        return err_set(err, split->result, "%s", split->err.msg);
    return split->result;
}

int jsonsplit_end(struct jsonsplit *split, struct err *err) {
    if (split->result < 0)
        return err_set(err, split->result, "%s", split->err.msg);
    if (split->result > 0 || split->step == STEP_DONE)
        return split->result;
    str_done(&split->held);
    if (split->options.mode == JSONSPLIT_WATCH)
        return 0;
    return err_set(err, ERR_RETRY, "the list was cut at byte %" PRIu64, split->base);
}

void jsonsplit_done(struct jsonsplit *split) {
    if (!split)
        return;
    str_done(&split->held);
    free(split->head.kind);
    free(split->head.api_version);
    free(split->head.resource_version);
    free(split->head.continue_token);
    *split = (struct jsonsplit){0};
}

int jsonsplit_event_read(const char *bytes, size_t size_bytes, struct jsonsplit_event *ret_event,
                         struct err *err) {
    struct jsonsplit_event event = {0};
    struct jsonpull pull;
    struct jsonpull_text key, type;
    size_t type_bytes = 0;

    jsonpull_init(&pull, bytes, size_bytes);
    int r = jsonpull_enter_object(&pull, err);

    while (r >= 0 && (r = jsonpull_next_key(&pull, &key, err)) > 0) {
        if (jsonpull_text_is(&key, "type")) {
            r = jsonpull_text(&pull, &type, err);
            if (r == 0)
                r = jsonpull_text_copy(&type, event.type, sizeof(event.type), &type_bytes, err);
        } else if (jsonpull_text_is(&key, "object")) {
            r = jsonpull_type(&pull, err);
            if (r == JSONPULL_OBJECT)
                r = jsonpull_raw(&pull, &event.object, &event.object_bytes, err);
            else if (r > 0)
                r = err_set(err, ERR_INVALID, "object: not an object");
        }
    }
    if (r == 0)
        r = jsonpull_end(&pull, err);
    if (r < 0)
        return err_wrap(err, r, "watch event");
    if (type_bytes == 0 || !event.object)
        return err_set(err, ERR_INVALID, "watch event: without %s", type_bytes ? "object" : "type");
    *ret_event = event;
    return 0;
}

static int feed_all(struct jsonsplit *split, const char *bytes, size_t size_bytes) {
    size_t at = 0;
    int r = 0;

    while (at < size_bytes && r == 0) {
        if (split->step == STEP_IN_KEY || split->step == STEP_IN_VALUE ||
            split->step == STEP_IN_ITEM) {
            r = scan_on(split, bytes, size_bytes, &at);
        } else {
            const char c = bytes[at];

            if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
                r = take_byte(split, bytes, at);
            at++;
        }
    }
    if (r == 0)
        r = hold_rest(split, bytes, size_bytes);
    split->base += size_bytes;
    return r;
}

/* One byte between keys, values and items; never white space. */
static int take_byte(struct jsonsplit *split, const char *bytes, size_t at) {
    const char c = bytes[at];
    const uint64_t offset = split->base + at;

    switch (split->step) {
    case STEP_COLON:
        split->step = STEP_VALUE;
        return c == ':' ? 0 : broken(split, offset, "not a colon");
    case STEP_VALUE:
        return start_value(split, c, offset);
    case STEP_KEY_OR_END:
    case STEP_AFTER_VALUE:
        if (c == '}')
            return end_document(split, bytes, at + 1);
        break;
    case STEP_ITEM_OR_END:
    case STEP_AFTER_ITEM:
        if (c == ']') {
            split->step = STEP_AFTER_VALUE;
            return 0;
        }
        break;
    default:
        break;
    }
    return take_start(split, c, offset);
}

/* The opening byte of a document, key or item, or the comma before one. */
static int take_start(struct jsonsplit *split, char c, uint64_t offset) {
    switch (split->step) {
    case STEP_START:
        if (c != '{')
            return broken(split, offset, "not an object");
        split->keep = offset;
        split->keeping = true;
        split->step = STEP_KEY_OR_END;
        return 0;
    case STEP_KEY_OR_END:
    case STEP_KEY:
        if (c != '"')
            return broken(split, offset, "not a key");
        split->scan = (struct jsonsplit_scan){.in_string = true};
        split->mark = offset;
        if (!split->keeping) {
            split->keep = offset;
            split->keeping = true;
        }
        split->step = STEP_IN_KEY;
        return 0;
    case STEP_AFTER_VALUE:
        split->step = STEP_KEY;
        return c == ',' ? 0 : broken(split, offset, "not , or }");
    case STEP_AFTER_ITEM:
        split->step = STEP_ITEM;
        return c == ',' ? 0 : broken(split, offset, "not , or ]");
    case STEP_ITEM_OR_END:
    case STEP_ITEM:
    case STEP_BETWEEN:
        return start_item(split, c, offset);
    default:
        return broken(split, offset, "text after the document");
    }
}

static int start_value(struct jsonsplit *split, char c, uint64_t offset) {
    if (split->field == FIELD_ITEMS && c == '[') {
        if (split->head.is_list)
            return broken(split, offset, "a second items");
        split->head.is_list = true;
        forget(split);
        split->step = STEP_ITEM_OR_END;
        return 0;
    }
    split->scan = (struct jsonsplit_scan){.depth = c == '{' || c == '['};
    split->scan.in_string = c == '"';
    split->scan.scalar = !split->scan.in_string && split->scan.depth == 0;
    if (split->scan.scalar && strchr(",:]}", c))
        return broken(split, offset, "not a value");
    split->mark = offset;
    if (!split->keeping) {
        split->keep = offset;
        split->keeping = true;
    }
    split->step = STEP_IN_VALUE;
    return 0;
}

static int start_item(struct jsonsplit *split, char c, uint64_t offset) {
    if (c != '{')
        return broken(split, offset, "not an object");
    split->scan = (struct jsonsplit_scan){.depth = 1};
    split->mark = offset;
    split->keep = offset;
    split->keeping = true;
    split->step = STEP_IN_ITEM;
    return 0;
}

/* Whether a byte ends a number or a word that stands before it. */
static bool ends_scalar(char c) {
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Scans what is left of a string from *at on; true once it was closed. */
static bool scan_string(struct jsonsplit_scan *scan, const char *bytes, size_t size_bytes,
                        size_t *at) {
    size_t i = *at;

    while (i < size_bytes) {
        if (scan->escaped) {
            scan->escaped = false;
            i++;
            continue;
        }
        i += jsonscan_text(bytes + i, size_bytes - i);
        if (i == size_bytes || (bytes[i] != '"' && bytes[i] != '\\'))
            break; /* a control character is for the caller to refuse */
        if (bytes[i++] == '"') {
            *at = i;
            scan->in_string = false;
            return true;
        }
        scan->escaped = true;
    }
    *at = i;
    return false;
}

/* Goes on inside a key, value or item until it or the chunk ends. */
static int scan_on(struct jsonsplit *split, const char *bytes, size_t size_bytes, size_t *at) {
    struct jsonsplit_scan *scan = &split->scan;
    size_t i = *at;

    if (scan->scalar) {
        while (i < size_bytes && !ends_scalar(bytes[i]))
            i++;
        *at = i;
        return i < size_bytes ? scan_ended(split, bytes, i) : 0;
    }
    while (i < size_bytes) {
        if (scan->in_string) {
            if (!scan_string(scan, bytes, size_bytes, &i)) {
                *at = i;
                return i < size_bytes
                           ? broken(split, split->base + i, "a control character in a string")
                           : 0;
            }
        } else {
            const char c = bytes[i++];

            if (c == '"')
                scan->in_string = true;
            else if (c == '{' || c == '[')
                scan->depth++;
            else if (c == '}' || c == ']')
                scan->depth--;
            else
                continue;
            if (scan->depth > JSONPULL_DEPTH_MAX)
                return broken(split, split->base + i - 1, "nested too deeply");
        }
        if (scan->depth == 0 && !scan->in_string) {
            *at = i;
            return scan_ended(split, bytes, i);
        }
    }
    *at = i;
    return 0;
}

/* A key, value or item ended before the chunk's byte end. */
static int scan_ended(struct jsonsplit *split, const char *bytes, size_t end) {
    const char *text;
    size_t size;
    int r = slice(split, bytes, split->mark, end, &text, &size);

    if (r < 0)
        return r;
    if (split->step == STEP_IN_KEY) {
        r = end_key(split, text, size);
        split->step = STEP_COLON;
    } else if (split->step == STEP_IN_VALUE) {
        r = end_value(split, text, size);
        split->step = STEP_AFTER_VALUE;
    } else {
        split->step = split->options.mode == JSONSPLIT_WATCH ? STEP_BETWEEN : STEP_AFTER_ITEM;
        r = hand_over(split, split->options.item, text, size);
        split->count++;
        forget(split);
        return r;
    }
    if (split->head.is_list) /* before the items, the document may yet turn out to be no list */
        forget(split);
    return r;
}

static int end_key(struct jsonsplit *split, const char *text, size_t size_bytes) {
    static const char *const NAMES[] = {[FIELD_KIND] = "kind",
                                        [FIELD_API_VERSION] = "apiVersion",
                                        [FIELD_METADATA] = "metadata",
                                        [FIELD_ITEMS] = "items"};
    struct jsonpull pull;
    struct jsonpull_text key;
    struct err err;

    jsonpull_init(&pull, text, size_bytes);
    if (jsonpull_text(&pull, &key, &err) < 0)
        return broken(split, split->mark, err.msg);
    split->field = FIELD_OTHER;
    for (int i = FIELD_KIND; i <= FIELD_ITEMS; i++)
        if (jsonpull_text_is(&key, NAMES[i]))
            split->field = i;
    return 0;
}

static int end_value(struct jsonsplit *split, const char *text, size_t size_bytes) {
    struct jsonsplit_head *head = &split->head;
    struct jsonpull pull;
    struct err err;
    int r = 0;

    jsonpull_init(&pull, text, size_bytes);
    if (split->field == FIELD_METADATA)
        return read_metadata(split, text, size_bytes);
    if (split->field == FIELD_KIND)
        r = read_text(&pull, &head->kind, &err);
    else if (split->field == FIELD_API_VERSION)
        r = read_text(&pull, &head->api_version, &err);
    else if (split->field == FIELD_ITEMS && jsonpull_type(&pull, &err) == JSONPULL_NULL)
        head->is_list = true;
    if (r >= 0)
        r = jsonpull_end(&pull, &err);
    return r < 0 ? broken(split, split->mark, err.msg) : 0;
}

static int read_metadata(struct jsonsplit *split, const char *text, size_t size_bytes) {
    struct jsonpull pull;
    struct jsonpull_text key;
    struct err err;

    jsonpull_init(&pull, text, size_bytes);
    int r = jsonpull_null(&pull, &err);

    if (r == 0) {
        r = jsonpull_enter_object(&pull, &err);
        while (r >= 0 && (r = jsonpull_next_key(&pull, &key, &err)) > 0) {
            if (jsonpull_text_is(&key, "resourceVersion"))
                r = read_text(&pull, &split->head.resource_version, &err);
            else if (jsonpull_text_is(&key, "continue"))
                r = read_text(&pull, &split->head.continue_token, &err);
        }
    }
    if (r >= 0)
        r = jsonpull_end(&pull, &err);
    return r < 0 ? broken(split, split->mark, err.msg) : 0;
}

/* Reads a string or null; the last one of several wins, as everywhere. */
static int read_text(struct jsonpull *pull, char **ret_text, struct err *err) {
    struct jsonpull_text text;
    size_t size;
    int r = jsonpull_null(pull, err);

    if (r < 0)
        return r;
    if (r > 0) {
        free(take(*ret_text));
        return 0;
    }
    r = jsonpull_text(pull, &text, err);
    if (r < 0)
        return r;
    if (text.size_bytes > HEAD_TEXT_MAX_BYTES)
        return err_set(err, ERR_INVALID, "longer than %zu bytes", HEAD_TEXT_MAX_BYTES);
    auto_free char *copy = str_alloc(text.size_bytes + 1, 1);

    r = jsonpull_text_copy(&text, copy, text.size_bytes + 1, &size, err);
    if (r < 0)
        return r;
    free(*ret_text);
    *ret_text = take(copy);
    return 0;
}

/* The document's closing brace stands before the chunk's byte end. */
static int end_document(struct jsonsplit *split, const char *bytes, size_t end) {
    const char *text;
    size_t size;

    split->step = STEP_DONE;
    if (split->head.is_list) {
        forget(split);
        return 0;
    }
    int r = slice(split, bytes, split->keep, end, &text, &size);

    if (r < 0)
        return r;
    if (!split->options.whole)
        return broken(split, split->keep, "not a list");
    r = hand_over(split, split->options.whole, text, size);
    forget(split);
    return r;
}

static int hand_over(struct jsonsplit *split, jsonsplit_take *taker, const char *text,
                     size_t size) {
    const int r = taker(split->options.arg, text, size, &split->err);

    if (r < 0)
        return err_wrap(&split->err, r, "object at byte %" PRIu64, split->keep);
    return r > 0;
}

/* The bytes from offset from on, up to the chunk's byte end, as one piece. */
static int slice(struct jsonsplit *split, const char *bytes, uint64_t from, size_t end,
                 const char **ret_text, size_t *ret_size_bytes) {
    const uint64_t size = split->base + end - from;

    if (split->base + end - split->keep > split->options.item_max_bytes)
        return broken(split, split->keep, "longer than the cap");
    if (from >= split->base) {
        *ret_text = bytes + (from - split->base);
    } else {
        const uint64_t have = split->held_start + split->held.size_bytes;
        const int r =
            str_add(&split->held, bytes + (have - split->base), split->base + end - have, NULL);

        if (r < 0)
            return broken(split, split->keep, "longer than the cap");
        *ret_text = split->held.data + (from - split->held_start);
    }
    *ret_size_bytes = (size_t)size;
    return 0;
}

/* The chunk goes away: keeps what an unfinished piece still needs of it. */
static int hold_rest(struct jsonsplit *split, const char *bytes, size_t size_bytes) {
    if (!split->keeping)
        return 0;
    if (split->base + size_bytes - split->keep > split->options.item_max_bytes)
        return broken(split, split->keep, "longer than the cap");
    if (split->held.size_bytes == 0)
        split->held_start = split->keep;
    const uint64_t have = split->held_start + split->held.size_bytes;

    return str_add(&split->held, bytes + (have - split->base), split->base + size_bytes - have,
                   &split->err);
}

static void forget(struct jsonsplit *split) {
    split->keeping = false;
    if (split->held.room_bytes > HELD_KEEP_BYTES)
        str_done(&split->held);
    else
        str_clear(&split->held);
}

static int broken(struct jsonsplit *split, uint64_t offset, const char *what) {
    return err_set(&split->err, ERR_INVALID, "byte %" PRIu64 " of the stream: %s", offset, what);
}
