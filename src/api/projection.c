#include "api/projection.h"

#include "api/member.h"

static int read_section(const struct projection *projection, const char *name,
                        projection_field read_field, struct jsonpull *pull, struct err *err) {
    struct jsonpull_text key;
    int r = member_object(pull, err);

    while (r > 0 && (r = jsonpull_next_key(pull, &key, err)) > 0) {
        const int read = read_field(projection->arg, pull, &key, err);

        if (read < 0)
            return err_wrap(err, read, "%s.%.*s", name,
                            key.size_bytes < 40 ? (int)key.size_bytes : 40, key.bytes);
    }
    return r;
}

static int read_document(const struct projection *projection, struct jsonpull *pull,
                         struct meta *meta, struct err *err) {
    struct jsonpull_text key;
    int r = jsonpull_enter_object(pull, err);

    if (r < 0)
        return r;
    while ((r = jsonpull_next_key(pull, &key, err)) > 0) {
        if (jsonpull_text_is(&key, "metadata"))
            r = meta_read(pull, &projection->wanted, meta, err);
        else if (jsonpull_text_is(&key, "spec"))
            r = read_section(projection, "spec", projection->read_spec, pull, err);
        else if (jsonpull_text_is(&key, "status"))
            r = read_section(projection, "status", projection->read_status, pull, err);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : jsonpull_end(pull, err);
}

int projection_read(const struct projection *projection, const char *bytes, size_t size_bytes,
                    struct meta *ret_meta, struct err *err) {
    struct meta meta = {0};
    struct jsonpull pull;
    int r;

    jsonpull_init(&pull, bytes, size_bytes);
    if ((r = read_document(projection, &pull, &meta, err)) < 0)
        return *meta.key ? err_wrap(err, r, "%.120s", meta.key) : r;
    if (!*meta.key)
        return err_set(err, ERR_INVALID, "metadata: missing");
    *ret_meta = meta;
    return 0;
}
