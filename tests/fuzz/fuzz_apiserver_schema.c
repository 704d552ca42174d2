/* fuzz_apiserver_schema - any JSON is no schema, or one that fills in, prunes and judges any other:
 * the input is [schema, object]. Defaults and pruning must be settled after one round. */
#include "apiserver/schema.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void twice(void (*change)(const struct schema *, json_t *), const struct schema *schema,
                  json_t *object) {
    json_t *once;

    change(schema, object);
    once = json_deep_copy(object);
    change(schema, object);
    if (!json_equal(once, object))
        abort();
    json_decref(once);
}

static void prune(const struct schema *schema, json_t *object) {
    struct schema_causes causes = {0};

    schema_prune(schema, object, &causes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *pair = json_loadb((const char *)data, size, 0, NULL);
    json_t *object = json_array_get(pair, 1);
    struct schema *schema = NULL;
    struct schema_causes causes = {0};

    if (object && schema_new(json_array_get(pair, 0), &schema, NULL) >= 0) {
        schema_validate(schema, object, &causes);
        twice(prune, schema, object);
        twice(schema_default, schema, object);
        schema_validate(schema, object, &causes);
    }
    schema_free(schema);
    json_decref(pair);
    return 0;
}
