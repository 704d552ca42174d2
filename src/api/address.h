/* address.h - an IP address in its bytes, as caches hold it.
 *
 * Never resolves a name. An IPv4 address takes the first 4 bytes, in network order.
 */
#ifndef BULKHEAD_API_ADDRESS_H
#define BULKHEAD_API_ADDRESS_H

#include "base/err.h"

#include <stdint.h>

#define ADDRESS_TEXT_SIZE 46

enum address_family {
    ADDRESS_NONE, /* all-zero is no address */
    ADDRESS_IPV4,
    ADDRESS_IPV6,
};

struct address {
    uint8_t bytes[16];
    uint8_t family; /* enum address_family */
};

/* Reads "10.0.0.1" or "fd00::1"; "" is no address. ERR_INVALID for anything else. */
int address_parse(const char *text, struct address *ret_address, struct err *err);

/* Writes the address in its canonical form; "" for none. */
void address_format(const struct address *address, char ret_text[ADDRESS_TEXT_SIZE]);

#endif
