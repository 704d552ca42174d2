#include "api/address.h"

#include <arpa/inet.h>

int address_parse(const char *text, struct address *ret_address, struct err *err) {
    struct address address = {0};

    if (!text)
        text = "";
    if (inet_pton(AF_INET, text, address.bytes) == 1)
        address.family = ADDRESS_IPV4;
    else if (inet_pton(AF_INET6, text, address.bytes) == 1)
        address.family = ADDRESS_IPV6;
    else if (*text)
        return err_set(err, ERR_INVALID, "'%.64s' is no IP address", text);
    *ret_address = address;
    return 0;
}

void address_format(const struct address *address, char ret_text[ADDRESS_TEXT_SIZE]) {
    const int family = address->family == ADDRESS_IPV4 ? AF_INET : AF_INET6;

    if (address->family == ADDRESS_NONE ||
        !inet_ntop(family, address->bytes, ret_text, ADDRESS_TEXT_SIZE))
        ret_text[0] = '\0';
}
