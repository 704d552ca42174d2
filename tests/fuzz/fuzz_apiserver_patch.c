/* fuzz_apiserver_patch - a JSON text [object, patch, ...] through every patch type: nothing
 * crashes, inputs stay as they are, and applying the same again changes nothing. */
#include "apiserver/patch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOW "2026-01-05T10:00:00Z"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A list of each kind at a, b, c and d; the rest is undescribed. */
static const char SCHEMA[] =
    "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{"
    "\"a\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"a\",\"b\"],\"items\":{\"type\":\"object\",\"properties\":{"
    "\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"integer\",\"default\":1},"
    "\"c\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"integer\"}}"
    "}}},"
    "\"b\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}},"
    "\"c\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"properties\":{"
    "\"a\":{\"type\":\"string\"}}}},"
    "\"d\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\","
    "\"additionalProperties\":{\"type\":\"string\"}}}}";

static void must(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void run_apply(json_t *live, const json_t *applied, const struct schema *schema) {
    struct patch_conflicts conflicts;
    json_t *once = NULL;
    json_t *twice = NULL;

    if (!json_is_object(live))
        return;
    patch_own(NULL, live, schema, "v1", "u", "", NOW);
    if (patch_apply(live, applied, schema, "m", "", true, NOW, &once, &conflicts, NULL) < 0)
        return;
    must(patch_apply(once, applied, schema, "m", "", false, NOW, &twice, &conflicts, NULL) == 0,
         "a second apply is refused");
    must(json_equal(once, twice), "a second apply changes something");
    json_decref(once);
    json_decref(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *pair = json_loadb((const char *)data, size, 0, NULL);
    json_t *before = json_deep_copy(pair);
    json_t *live = json_array_get(pair, 0);
    const json_t *patch = json_array_get(pair, 1);
    json_t *openapi = json_loads(SCHEMA, 0, NULL);
    struct schema *schema = NULL;
    json_t *got = NULL;

    must(schema_new(openapi, &schema, NULL) == 0, "the schema is none");
    if (json_is_array(pair) && live && patch) {
        if (patch_json(live, patch, &got, NULL) == 0)
            json_decref(got);
        if (patch_merge(live, patch, &got, NULL) == 0)
            json_decref(got);
        if (patch_strategic(live, patch, schema, &got, NULL) == 0)
            json_decref(got);
        must(json_equal(pair, before), "an input was changed");
        run_apply(live, patch, schema);
    }
    schema_free(schema);
    json_decref(openapi);
    json_decref(before);
    json_decref(pair);
    return 0;
}
