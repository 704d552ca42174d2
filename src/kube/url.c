#include "kube/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static int segment(struct str *out, const char *text, struct err *err);

int url_encode(struct str *out, const char *text, struct err *err) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    int r = 0;

    for (const char *c = text; *c && r >= 0; c++)
        r = strchr(plain, *c) ? str_add(out, c, 1, err)
                              : str_addf(out, err, "%%%02X", (unsigned)(unsigned char)*c);
    return r;
}

int url_path(struct str *out, const struct url_target *target, struct err *err) {
    const bool core = !target->group || !target->group[0];
    const char *pieces[] = {
        core ? "api" : "apis",
        core ? NULL : target->group,
        target->version,
        target->ns ? "namespaces" : NULL,
        target->ns,
        target->resource,
        target->name,
        target->subresource,
    };

    if (!target->version || !target->resource || (target->subresource && !target->name))
        return err_set(err, ERR_INVALID, "path lacks a version, a resource or a name");
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        const int r = pieces[i] ? segment(out, pieces[i], err) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

int url_query(struct str *out, const char *key, const char *value, struct err *err) {
    int r = str_add(out, out->data && strchr(out->data, '?') ? "&" : "?", 1, err);

    if (r >= 0)
        r = url_encode(out, key, err);
    if (r >= 0)
        r = str_add(out, "=", 1, err);
    return r < 0 ? r : url_encode(out, value, err);
}

static int segment(struct str *out, const char *text, struct err *err) {
    if (!text[0] || !strcmp(text, ".") || !strcmp(text, ".."))
        return err_set(err, ERR_INVALID, "'%s' cannot be part of a path", text);
    const int r = str_add(out, "/", 1, err);

    return r < 0 ? r : url_encode(out, text, err);
}
