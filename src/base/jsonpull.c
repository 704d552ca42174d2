#include "base/jsonpull.h"

#include "base/jsonscan.h"

#include <assert.h>
#include <string.h>

static int fail(struct jsonpull *pull, size_t at, const char *what, struct err *err);
static int mismatch(const struct jsonpull *pull, const char *what, struct err *err);
static int begin(struct jsonpull *pull, struct err *err);
static int enter(struct jsonpull *pull, bool array, struct err *err);
static int advance(struct jsonpull *pull, struct jsonpull_text *ret_key, struct err *err);
static int pass(struct jsonpull *pull, struct err *err);
static int pass_rest(struct jsonpull *pull, int depth, struct err *err);
static int lex_string(struct jsonpull *pull, struct jsonpull_text *ret_text, struct err *err);
static int lex_number(struct jsonpull *pull, size_t *ret_end, struct err *err);
static int lex_word(struct jsonpull *pull, const char *word, size_t len, struct err *err);
static int hex4(const char *bytes, size_t left_bytes);
static size_t unescape(const char *bytes, char out[4]);

static bool in_array(const struct jsonpull *pull) {
    const int level = pull->depth - 1;

    return pull->arrays[level / 64] >> (level % 64) & 1;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The byte at position at, or 0, which no token starts with and no token goes on with. */
static char byte_at(const struct jsonpull *pull, size_t at) {
    return at < pull->size_bytes ? pull->data[at] : '\0';
}

static char skip_space(struct jsonpull *pull) {
    size_t at = pull->at;
    char c = byte_at(pull, at);

    while (c == ' ' || c == '\n' || c == '\t' || c == '\r')
        c = byte_at(pull, ++at);
    pull->at = at;
    return c;
}

void jsonpull_init(struct jsonpull *pull, const char *data, size_t size_bytes) {
    *pull = (struct jsonpull){.data = data, .size_bytes = size_bytes};
}

int jsonpull_type(struct jsonpull *pull, struct err *err) {
    const int c = begin(pull, err);
    size_t end;

    if (c < 0)
        return c;
    switch (c) {
    case '{':
        return JSONPULL_OBJECT;
    case '[':
        return JSONPULL_ARRAY;
    case '"':
        return JSONPULL_STRING;
    case 't':
    case 'f':
        return JSONPULL_BOOL;
    case 'n':
        return JSONPULL_NULL;
    default:
        return lex_number(pull, &end, err);
    }
}

int jsonpull_enter_object(struct jsonpull *pull, struct err *err) {
    const int c = begin(pull, err);

    if (c < 0)
        return c;
    return c == '{' ? enter(pull, false, err) : mismatch(pull, "not an object", err);
}

int jsonpull_enter_array(struct jsonpull *pull, struct err *err) {
    const int c = begin(pull, err);

    if (c < 0)
        return c;
    return c == '[' ? enter(pull, true, err) : mismatch(pull, "not an array", err);
}

int jsonpull_next_key(struct jsonpull *pull, struct jsonpull_text *ret_key, struct err *err) {
    if (pull->fault)
        return fail(pull, 0, NULL, err);
    assert(pull->depth > 0 && !in_array(pull));
    if (pull->step == JSONPULL_VALUE) {
        const int r = jsonpull_skip(pull, err);

        if (r < 0)
            return r;
    }
    return advance(pull, ret_key, err);
}

int jsonpull_next_item(struct jsonpull *pull, struct err *err) {
    if (pull->fault)
        return fail(pull, 0, NULL, err);
    assert(pull->depth > 0 && in_array(pull));
    if (pull->step == JSONPULL_VALUE) {
        const int r = jsonpull_skip(pull, err);

        if (r < 0)
            return r;
    }
    return advance(pull, NULL, err);
}

int jsonpull_skip(struct jsonpull *pull, struct err *err) {
    const int depth = pull->depth;
    const int r = pass(pull, err);

    return r < 0 ? r : pass_rest(pull, depth, err);
}

int jsonpull_raw(struct jsonpull *pull, const char **ret_bytes, size_t *ret_size_bytes,
                 struct err *err) {
    const int c = begin(pull, err);

    if (c < 0)
        return c;
    const size_t start = pull->at;
    const int r = jsonpull_skip(pull, err);

    if (r < 0)
        return r;
    *ret_bytes = pull->data + start;
    *ret_size_bytes = pull->at - start;
    return 0;
}

int jsonpull_text(struct jsonpull *pull, struct jsonpull_text *ret_text, struct err *err) {
    const int c = begin(pull, err);

    if (c < 0)
        return c;
    if (c != '"')
        return mismatch(pull, "not a string", err);
    const int r = lex_string(pull, ret_text, err);

    if (r < 0)
        return r;
    pull->step = JSONPULL_AFTER;
    return 0;
}

int jsonpull_string(struct jsonpull *pull, char *room, size_t room_bytes,
                    struct jsonpull_text *ret_text, struct err *err) {
    struct jsonpull_text text;
    const size_t start = pull->at;
    int r = jsonpull_text(pull, &text, err);

    if (r < 0)
        return r;
    if (text.escaped) {
        size_t size;

        r = jsonpull_text_copy(&text, room, room_bytes, &size, err);
        if (r < 0) {
            pull->at = start;
            pull->step = JSONPULL_VALUE;
            return err_wrap(err, r, "json: byte %zu", start);
        }
        text = (struct jsonpull_text){.bytes = room, .size_bytes = size};
    }
    *ret_text = text;
    return 0;
}

int jsonpull_int(struct jsonpull *pull, int64_t *ret_value, struct err *err) {
    const int type = jsonpull_type(pull, err);
    int64_t value = 0;
    size_t end;

    if (type < 0)
        return type;
    if (type != JSONPULL_INT)
        return mismatch(pull, "not a whole number", err);
    lex_number(pull, &end, err); /* succeeded a moment ago */
    const bool negative = pull->data[pull->at] == '-';

    for (size_t i = pull->at + negative; i < end; i++) { /* downwards: INT64_MIN has no opposite */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, pull->data[i] - '0', &value))
            return mismatch(pull, "does not fit in 64 bits", err);
    }
    if (!negative && __builtin_sub_overflow(0, value, &value))
        return mismatch(pull, "does not fit in 64 bits", err);
    pull->at = end;
    pull->step = JSONPULL_AFTER;
    *ret_value = value;
    return 0;
}

int jsonpull_bool(struct jsonpull *pull, bool *ret_value, struct err *err) {
    const int c = begin(pull, err);

    if (c < 0)
        return c;
    if (c != 't' && c != 'f')
        return mismatch(pull, "neither true nor false", err);
    const int r = pass(pull, err);

    if (r < 0)
        return r;
    *ret_value = c == 't';
    return 0;
}

int jsonpull_null(struct jsonpull *pull, struct err *err) {
    const int c = begin(pull, err);

    if (c < 0)
        return c;
    if (c != 'n')
        return 0;
    const int r = pass(pull, err);

    return r < 0 ? r : 1;
}

int jsonpull_end(struct jsonpull *pull, struct err *err) {
    int r = 0;

    if (pull->fault)
        return fail(pull, 0, NULL, err);
    if (pull->step == JSONPULL_VALUE)
        r = pass(pull, err);
    if (r == 0)
        r = pass_rest(pull, 0, err);
    if (r < 0)
        return r;
    skip_space(pull);
    return pull->at < pull->size_bytes ? fail(pull, pull->at, "text after the value", err) : 0;
}

bool jsonpull_text_is(const struct jsonpull_text *text, const char *word) {
    const size_t len = strlen(word);
    size_t seen = 0;
    char out[4];

    if (!text->escaped)
        return text->size_bytes == len && memcmp(text->bytes, word, len) == 0;
    for (size_t i = 0; i < text->size_bytes;) {
        size_t size = 1;

        out[0] = text->bytes[i];
        if (out[0] == '\\') {
            size = unescape(text->bytes + i, out);
            i += text->bytes[i + 1] != 'u' ? 2 : size == 4 ? 12 : 6;
        } else {
            i++;
        }
        if (size > len - seen || memcmp(word + seen, out, size) != 0)
            return false;
        seen += size;
    }
    return seen == len;
}

int jsonpull_text_copy(const struct jsonpull_text *text, char *room, size_t room_bytes,
                       size_t *ret_size_bytes, struct err *err) {
    size_t used = 0;

    for (size_t i = 0; i < text->size_bytes;) {
        const char *from = text->bytes + i;
        const char *slash = text->escaped ? memchr(from, '\\', text->size_bytes - i) : NULL;
        size_t size = slash ? (size_t)(slash - from) : text->size_bytes - i;
        char out[4];

        i += size;
        if (size == 0) {
            size = unescape(from, out);
            i += from[1] != 'u' ? 2 : size == 4 ? 12 : 6;
            from = out;
            if (size == 1 && out[0] == '\0')
                return err_set(err, ERR_INVALID, "a string holds U+0000");
        }
        if (used + size >= room_bytes)
            return err_set(err, ERR_INVALID, "a string needs more than %zu bytes", room_bytes);
        memcpy(room + used, from, size);
        used += size;
    }
    if (used >= room_bytes)
        return err_set(err, ERR_INVALID, "a string needs more than %zu bytes", room_bytes);
    room[used] = '\0';
    *ret_size_bytes = used;
    return 0;
}

/* Broken text: the first fault stays, whatever is asked for later. */
static int fail(struct jsonpull *pull, size_t at, const char *what, struct err *err) {
    if (!pull->fault) {
        pull->fault = what;
        pull->fault_at = at;
    }
    return err_set(err, ERR_INVALID, "json: byte %zu: %s", pull->fault_at, pull->fault);
}

static int mismatch(const struct jsonpull *pull, const char *what, struct err *err) {
    return err_set(err, ERR_INVALID, "json: byte %zu: %s", pull->at, what);
}

/* Moves to the value that is due and returns its first byte, which can start a value. */
static int begin(struct jsonpull *pull, struct err *err) {
    if (pull->fault)
        return fail(pull, 0, NULL, err);
    assert(pull->step == JSONPULL_VALUE);
    const char c = skip_space(pull);

    if (c == '"' || c == '{' || c == '[' || c == '-' || is_digit(c) || c == 't' || c == 'f' ||
        c == 'n')
        return c;
    return fail(pull, pull->at, pull->at < pull->size_bytes ? "not a value" : "the text is cut",
                err);
}

static int enter(struct jsonpull *pull, bool array, struct err *err) {
    if (pull->depth >= JSONPULL_DEPTH_MAX)
        return fail(pull, pull->at, "nested too deeply", err);
    const uint64_t bit = UINT64_C(1) << (pull->depth % 64);
    uint64_t *arrays = &pull->arrays[pull->depth / 64];

    *arrays = array ? *arrays | bit : *arrays & ~bit;
    pull->depth++;
    pull->at++;
    pull->step = JSONPULL_FIRST;
    return 0;
}

/* One step in the innermost container: 1 before its next value, 0 once it is left. */
static int advance(struct jsonpull *pull, struct jsonpull_text *ret_key, struct err *err) {
    const bool array = in_array(pull);
    char c = skip_space(pull);

    if (c == (array ? ']' : '}')) {
        pull->at++;
        pull->depth--;
        pull->step = JSONPULL_AFTER;
        return 0;
    }
    if (pull->step == JSONPULL_AFTER) {
        if (c != ',')
            return fail(pull, pull->at, array ? "not , or ]" : "not , or }", err);
        pull->at++;
        c = skip_space(pull);
    }
    if (!array) {
        struct jsonpull_text key;

        if (c != '"')
            return fail(pull, pull->at, "not a key", err);
        const int r = lex_string(pull, ret_key ? ret_key : &key, err);

        if (r < 0)
            return r;
        if (skip_space(pull) != ':')
            return fail(pull, pull->at, "not a colon", err);
        pull->at++;
    }
    pull->step = JSONPULL_VALUE;
    return 1;
}

/* Reads a scalar, or enters a container. */
static int pass(struct jsonpull *pull, struct err *err) {
    const int c = begin(pull, err);
    struct jsonpull_text text;
    size_t end;
    int r;

    if (c < 0)
        return c;
    switch (c) {
    case '{':
    case '[':
        return enter(pull, c == '[', err);
    case '"':
        r = lex_string(pull, &text, err);
        break;
    case 't':
        r = lex_word(pull, "true", 4, err);
        break;
    case 'f':
        r = lex_word(pull, "false", 5, err);
        break;
    case 'n':
        r = lex_word(pull, "null", 4, err);
        break;
    default:
        r = lex_number(pull, &end, err);
        if (r > 0)
            pull->at = end;
    }
    if (r < 0)
        return r;
    pull->step = JSONPULL_AFTER;
    return 0;
}

/* Reads on until depth containers are open. */
static int pass_rest(struct jsonpull *pull, int depth, struct err *err) {
    while (pull->depth > depth) {
        int r = advance(pull, NULL, err);

        if (r > 0)
            r = pass(pull, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Size of the escape at at, or 0 with *ret_what saying why it is none. */
static size_t escape_size(const struct jsonpull *pull, size_t at, const char **ret_what) {
    const char *p = pull->data + at;
    const size_t left = pull->size_bytes - at;

    *ret_what = "not an escape";
    if (left < 2)
        return 0;
    if (p[1] != 'u')
        return p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) ? 2 : 0;
    const int unit = hex4(p + 2, left - 2);

    if (unit < 0)
        return 0;
    if (unit < 0xD800 || unit > 0xDFFF)
        return 6;
    *ret_what = "half a surrogate pair";
    if (unit > 0xDBFF || left < 12 || p[6] != '\\' || p[7] != 'u')
        return 0;
    const int low = hex4(p + 8, left - 8);

    return low >= 0xDC00 && low <= 0xDFFF ? 12 : 0;
}

/* Reads a string from its opening quote on. */
static int lex_string(struct jsonpull *pull, struct jsonpull_text *ret_text, struct err *err) {
    const size_t start = pull->at + 1;
    size_t at = start;
    bool escaped = false;

    for (;;) {
        const char *what = "not UTF-8";
        size_t size;

        at += jsonscan_plain(pull->data + at, pull->size_bytes - at);
        if (at == pull->size_bytes)
            return fail(pull, at, "the text is cut", err);
        const unsigned char c = (unsigned char)pull->data[at];

        if (c == '"')
            break;
        if (c < 0x20)
            return fail(pull, at, "a control character in a string", err);
        if (c == '\\') {
            escaped = true;
            size = escape_size(pull, at, &what);
        } else {
            size = jsonscan_utf8(pull->data + at, pull->size_bytes - at);
        }
        if (size == 0)
            return fail(pull, at, what, err);
        at += size;
    }
    *ret_text = (struct jsonpull_text){pull->data + start, at - start, escaped};
    pull->at = at + 1;
    return 0;
}

static size_t skip_digits(const struct jsonpull *pull, size_t at) {
    while (is_digit(byte_at(pull, at)))
        at++;
    return at;
}

/* Finds a number's end without reading it; JSONPULL_INT or JSONPULL_REAL. */
static int lex_number(struct jsonpull *pull, size_t *ret_end, struct err *err) {
    size_t at = pull->at + (byte_at(pull, pull->at) == '-');
    size_t start = at;
    int type = JSONPULL_INT;

    at = byte_at(pull, at) == '0' ? at + 1 : skip_digits(pull, at);
    if (at == start)
        return fail(pull, at, "not a number", err);
    if (byte_at(pull, at) == '.') {
        type = JSONPULL_REAL;
        start = at + 1;
        at = skip_digits(pull, start);
        if (at == start)
            return fail(pull, at, "not a number", err);
    }
    if (byte_at(pull, at) == 'e' || byte_at(pull, at) == 'E') {
        type = JSONPULL_REAL;
        start = at + 1;
        if (byte_at(pull, start) == '+' || byte_at(pull, start) == '-')
            start++;
        at = skip_digits(pull, start);
        if (at == start)
            return fail(pull, at, "not a number", err);
    }
    *ret_end = at;
    return type;
}

static int lex_word(struct jsonpull *pull, const char *word, size_t len, struct err *err) {
    if (pull->size_bytes - pull->at < len || memcmp(pull->data + pull->at, word, len) != 0)
        return fail(pull, pull->at, "not a value", err);
    pull->at += len;
    return 0;
}

/* Value of four hexadecimal digits, or -1. */
static int hex4(const char *bytes, size_t left_bytes) {
    int value = 0;

    if (left_bytes < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char c = bytes[i];
        const char lower = (char)(c | 0x20);

        if (is_digit(c))
            value = value * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (lower - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* Writes what a validated escape stands for; returns how many bytes. Four bytes come from a
 * surrogate pair and from nothing else. */
static size_t unescape(const char *bytes, char out[4]) {
    static const char NAMES[] = "bfnrt", MEANT[] = "\b\f\n\r\t";

    if (bytes[1] != 'u') {
        const char *name = strchr(NAMES, bytes[1]);

        out[0] = name ? MEANT[name - NAMES] : bytes[1];
        return 1;
    }
    const unsigned unit = (unsigned)hex4(bytes + 2, 4);

    if (unit < 0x80) {
        out[0] = (char)unit;
        return 1;
    }
    if (unit < 0x800) {
        out[0] = (char)(0xC0 | unit >> 6);
        out[1] = (char)(0x80 | (unit & 0x3F));
        return 2;
    }
    if (unit < 0xD800 || unit > 0xDFFF) {
        out[0] = (char)(0xE0 | unit >> 12);
        out[1] = (char)(0x80 | (unit >> 6 & 0x3F));
        out[2] = (char)(0x80 | (unit & 0x3F));
        return 3;
    }
    const unsigned low = (unsigned)hex4(bytes + 8, 4);
    const unsigned point = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);

    out[0] = (char)(0xF0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}
