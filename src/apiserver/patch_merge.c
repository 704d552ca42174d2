#include "apiserver/patch.h"

#define DEPTH_MAX 64

static int merge(json_t *target, const json_t *patch, int depth, struct err *err);

int patch_merge(const json_t *object, const json_t *patch, json_t **ret_object, struct err *err) {
    if (!json_is_object(patch)) {
        *ret_object = json_deep_copy(patch);
        return 0;
    }
    json_t *target = json_is_object(object) ? json_deep_copy(object) : json_object();
    const int r = merge(target, patch, 0, err);

    if (r < 0)
        json_decref(target);
    else
        *ret_object = target;
    return r;
}

/* Merges the object patch into the object target. */
static int merge(json_t *target, const json_t *patch, int depth, struct err *err) {
    const char *key;
    const json_t *value;

    if (depth > DEPTH_MAX)
        return err_set(err, ERR_INVALID, "the patch is nested too deeply");
    json_object_foreach((json_t *)(uintptr_t)patch, key, value) {
        json_t *at = json_object_get(target, key);

        if (json_is_null(value)) {
            json_object_del(target, key);
            continue;
        }
        if (!json_is_object(value)) {
            json_object_set_new(target, key, json_deep_copy(value));
            continue;
        }
        if (!json_is_object(at)) { /* nulls in the patch name nothing here either */
            at = json_object();
            json_object_set_new(target, key, at);
        }
        const int r = merge(at, value, depth + 1, err);

        if (r < 0)
            return r;
    }
    return 0;
}
