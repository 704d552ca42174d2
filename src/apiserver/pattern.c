#include "apiserver/pattern.h"

#include "base/str.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#define MATCH_STEPS_MAX 1000000
#define MATCH_DEPTH_MAX 1000

struct pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
    char *text;
};

/* What PCRE2 would take and RE2 refuses; NULL if there is nothing of that. */
static const char *find_foreign(const char *text) {
    static const char *const groups[] = {"(?=", "(?!", "(?<", "(?>", "(?#",
                                         "(?|", "(?(", "(*",  NULL};
    bool in_class = false;

    for (const char *p = text; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
            if (!in_class && (strchr("123456789GKRXgkh", *p)))
                return "back-reference or escape";
        } else if (in_class) {
            in_class = *p != ']';
        } else if (*p == '[') {
            in_class = true;
            p += p[1] == '^';
            p += p[1] == ']';
        } else if (*p == '(') {
            for (int i = 0; groups[i]; i++)
                if (strncmp(p, groups[i], strlen(groups[i])) == 0 &&
                    !(strcmp(groups[i], "(?<") == 0 && p[3] != '=' && p[3] != '!'))
                    return "group";
        }
    }
    return NULL;
}

int pattern_new(const char *text, struct pattern **ret_pattern, struct err *err) {
    /* RE2's $ is the end of the text, not the place before a last line end. */
    const uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE;
    const char *foreign = find_foreign(text);
    struct pattern *pattern;
    PCRE2_UCHAR words[128];
    PCRE2_SIZE offset = 0;
    int code = 0;

    if (strlen(text) > PATTERN_MAX_BYTES)
        return err_set(err, ERR_INVALID, "longer than %d bytes", PATTERN_MAX_BYTES);
    if (foreign)
        return err_set(err, ERR_INVALID, "RE2 does not know this %s", foreign);
    pattern = str_alloc(1, sizeof(*pattern));
    pattern->text = str_dup(text);
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &code, &offset, NULL);
    if (!pattern->code) {
        pattern_free(pattern);
        if (pcre2_get_error_message(code, words, sizeof(words)) < 0)
            words[0] = '\0';
        return err_set(err, ERR_INVALID, "%s at byte %zu", (const char *)words, (size_t)offset);
    }
    pattern->limits = pcre2_match_context_create(NULL);
    if (!pattern->limits)
        abort();
    pcre2_set_match_limit(pattern->limits, MATCH_STEPS_MAX);
    pcre2_set_depth_limit(pattern->limits, MATCH_DEPTH_MAX);
    *ret_pattern = pattern;
    return 0;
}

void pattern_free(struct pattern *pattern) {
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    free(pattern->text);
    free(pattern);
}

bool pattern_matches(const struct pattern *pattern, const char *text, size_t size_bytes) {
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int r;

    if (!data)
        abort();
    r = pcre2_match(pattern->code, (PCRE2_SPTR)text, size_bytes, 0, 0, data, pattern->limits);
    pcre2_match_data_free(data);
    return r >= 0;
}

const char *pattern_text(const struct pattern *pattern) {
    return pattern->text;
}
