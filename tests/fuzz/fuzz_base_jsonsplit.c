/* fuzz_base_jsonsplit - a stream in one chunk and the same in chunks the input chooses: the same
 * items, head and verdict. Byte 0 chooses the mode and the cap, byte 1 the chunks. A list that is
 * whole and has only valid items is JSON for jsonpull too. */
#include "base/jsonpull.h"
#include "base/jsonsplit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t hash; /* of every byte and end of what was handed over */
    uint64_t count;
    bool all_valid;
};

static int take_object(void *arg, const char *bytes, size_t size_bytes, struct err *err) {
    struct seen *seen = arg;
    struct jsonpull pull;
    struct jsonsplit_event event;

    if (size_bytes < 2 || bytes[0] != '{')
        abort();
    for (size_t i = 0; i < size_bytes; i++)
        seen->hash = (seen->hash ^ (uint8_t)bytes[i]) * UINT64_C(1099511628211);
    seen->hash = (seen->hash ^ 256) * UINT64_C(1099511628211);
    seen->count++;
    jsonpull_init(&pull, bytes, size_bytes);
    seen->all_valid &= jsonpull_end(&pull, err) == 0;
    jsonsplit_event_read(bytes, size_bytes, &event, NULL);
    return 0;
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Feeds everything; seed 0 in one chunk. Each chunk is gone after its call, so that nothing may
 * still point at it. */
static int run(struct jsonsplit *split, const char *bytes, size_t size, uint32_t seed) {
    const uint32_t spread = 1 + seed % 17;

    for (size_t at = 0; at < size;) {
        size_t chunk = size - at;

        if (seed != 0) {
            seed = (seed * 1103515245 + 12345) | 1;
            if (1 + (seed >> 16) % spread < chunk)
                chunk = 1 + (seed >> 16) % spread;
        }
        char *piece = malloc(chunk);

        memcpy(piece, bytes + at, chunk);
        jsonsplit_feed(split, piece, chunk, NULL);
        free(piece);
        at += chunk;
    }
    return jsonsplit_end(split, NULL);
}

static void compare(const struct jsonsplit_head *a, const struct jsonsplit_head *b) {
    if (a->is_list != b->is_list || !same_text(a->kind, b->kind) ||
        !same_text(a->api_version, b->api_version) ||
        !same_text(a->resource_version, b->resource_version) ||
        !same_text(a->continue_token, b->continue_token))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    struct seen seen[2] = {{.all_valid = true}, {.all_valid = true}};
    struct jsonsplit split[2];
    int result[2];
    const char *bytes = (const char *)data + 2;
    const enum jsonsplit_mode mode = data[0] & 1 ? JSONSPLIT_WATCH : JSONSPLIT_LIST;

    size -= 2;
    for (int i = 0; i < 2; i++) {
        const struct jsonsplit_options options = {.mode = mode,
                                                  .item_max_bytes = data[0] & 2 ? 24 : 0,
                                                  .item = take_object,
                                                  .whole = take_object,
                                                  .arg = &seen[i]};

        jsonsplit_init(&split[i], &options);
        result[i] = run(&split[i], bytes, size, i ? 1U + data[1] : 0);
    }
    if (result[0] != result[1] || seen[0].hash != seen[1].hash || seen[0].count != seen[1].count)
        abort();
    compare(&split[0].head, &split[1].head);
    if (mode == JSONSPLIT_LIST && result[0] == 0 && seen[0].all_valid) {
        struct jsonpull pull;
        struct err err = {0};

        jsonpull_init(&pull, bytes, size);
        if (jsonpull_end(&pull, &err) < 0 && !strstr(err.msg, "nested too deeply"))
            abort();
    }
    jsonsplit_done(&split[0]);
    jsonsplit_done(&split[1]);
    return 0;
}
