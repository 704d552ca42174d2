/* fuzz_base_jsonpull - the pull decoder against jansson; unit/base/jsonbuild.h names where the two
 * may differ. */
#include "base/jsonbuild.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool valid;
    const char *differs = size ? jsonbuild_differs((const char *)data, size, &valid) : NULL;

    if (differs) {
        fprintf(stderr, "%s: %.*s\n", differs, (int)size, (const char *)data);
        abort();
    }
    return 0;
}
