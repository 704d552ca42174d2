#include "kube/resourceversion.h"

#include <string.h>

bool resourceversion_is_ordered(const char *text) {
    if (!text || text[0] < '1' || text[0] > '9')
        return false;
    return text[strspn(text, "0123456789")] == '\0';
}

int resourceversion_compare(const char *a, const char *b, int *ret_order) {
    if (!a)
        a = "";
    if (!b)
        b = "";
    const int order = strcmp(a, b);

    if (order == 0) {
        *ret_order = 0;
        return 1;
    }
    if (!resourceversion_is_ordered(a) || !resourceversion_is_ordered(b))
        return 0;
    const size_t a_len = strlen(a), b_len = strlen(b);

    if (a_len != b_len)
        *ret_order = a_len < b_len ? -1 : 1;
    else
        *ret_order = order < 0 ? -1 : 1;
    return 1;
}
