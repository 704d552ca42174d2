/* fuzz_apiserver_jsonpath - any bytes are refused, or are a path that can be run. */
#include "apiserver/jsonpath.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = str_dup_len((const char *)data, size);
    json_t *root =
        json_loads("{\"a\":[{\"b\":1,\"c\":\"x\"},{\"b\":[2,3]}],\"d\":{\"e\":null}}", 0, NULL);
    struct jsonpath *path = NULL;

    if (jsonpath_new(text, &path, NULL) >= 0)
        json_decref(jsonpath_find_new(path, root));
    jsonpath_free(path);
    json_decref(root);
    free(text);
    return 0;
}
