/* auto.h - ownership by scope: auto_free char *s = NULL; frees s on every way out.
 *
 * take(p) moves an owned pointer out of its scope and is the only way ownership leaves a block.
 */
#ifndef BULKHEAD_BASE_AUTO_H
#define BULKHEAD_BASE_AUTO_H

#include <stdlib.h>

/* The cleanup handler of auto_free; frees what the variable points to. NULL is fine. */
static inline void auto_free_ptr(void *variable) {
    free(*(void **)variable);
}

#define auto_free __attribute__((cleanup(auto_free_ptr)))
#define take(p)                                                                                    \
    ({                                                                                             \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

#endif
