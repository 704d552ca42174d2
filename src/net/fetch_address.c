#include "net/fetch_address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct block4 {
    uint32_t prefix;
    int bits;
};

struct block6 {
    uint8_t prefix[16];
    int bits;
};

static const struct block4 DENIED4[] = {
    {0x00000000, 8},  /* unspecified, "this network" */
    {0xa9fe0000, 16}, /* link-local, and with it most clouds' metadata */
    {0x646464c8, 32}, /* 100.100.100.200, 168.63.129.16, 192.0.0.192: other clouds' */
    {0xa83f8110, 32}, {0xc00000c0, 32}, {0xe0000000, 4}, /* multicast */
    {0xf0000000, 4},                                     /* reserved, broadcast */
};

static const struct block6 DENIED6[] = {
    {{0xfe, 0x80}, 10},                   /* link-local */
    {{0xfe, 0xc0}, 10},                   /* site-local, long withdrawn */
    {{0xff}, 8},                          /* multicast */
    {{0xfd, 0x00, 0x0e, 0xc2}, 32},       /* fd00:ec2::254 and its neighbours: metadata */
    {{0xfd, 0x20, 0x00, 0xce}, 32},       /* fd20:ce::254: likewise */
    {{0x20, 0x01, 0x00, 0x00}, 32},       /* Teredo: the IPv4 address inside is scrambled */
    {{0x00, 0x64, 0xff, 0x9b, 0, 1}, 48}, /* local NAT64: where the IPv4 address is, is unknown */
};

/* Blocks with an IPv4 address inside, and where it begins. */
static const struct {
    struct block6 block;
    int at;
} WRAPPED[] = {
    {{{0}, 80}, 12}, /* mapped ::ffff:0:0/96, compatible ::/96 and the rest of ::/80 */
    {{{0x00, 0x64, 0xff, 0x9b}, 96}, 12},
    {{{0x20, 0x02}, 16}, 2},
};

static bool is_allowed4(uint32_t address, bool loopback);
static bool is_allowed6(const uint8_t address[16], bool loopback);
static bool is_in(const uint8_t address[16], const struct block6 *block);

bool fetch_address_allowed(const struct sockaddr *address, bool loopback) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;

        memcpy(&in, address, sizeof in);
        return is_allowed4(ntohl(in.sin_addr.s_addr), loopback);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;

        memcpy(&in6, address, sizeof in6);
        return is_allowed6(in6.sin6_addr.s6_addr, loopback);
    }
    return false;
}

static bool is_allowed4(uint32_t address, bool loopback) {
    if (address >> 24 == 127)
        return loopback;
    for (size_t i = 0; i < sizeof DENIED4 / sizeof *DENIED4; i++) {
        if ((address ^ DENIED4[i].prefix) >> (32 - DENIED4[i].bits) == 0)
            return false;
    }
    return true;
}

static bool is_allowed6(const uint8_t address[16], bool loopback) {
    static const struct block6 LOOPBACK = {{[15] = 1}, 128};

    if (is_in(address, &LOOPBACK))
        return loopback;
    for (size_t i = 0; i < sizeof DENIED6 / sizeof *DENIED6; i++) {
        if (is_in(address, &DENIED6[i]))
            return false;
    }
    for (size_t i = 0; i < sizeof WRAPPED / sizeof *WRAPPED; i++) {
        const uint8_t *inside = address + WRAPPED[i].at;

        if (is_in(address, &WRAPPED[i].block))
            return is_allowed4((uint32_t)inside[0] << 24 | (uint32_t)inside[1] << 16 |
                                   (uint32_t)inside[2] << 8 | inside[3],
                               loopback);
    }
    return true;
}

static bool is_in(const uint8_t address[16], const struct block6 *block) {
    const int whole = block->bits / 8;
    const int rest = block->bits % 8;

    return memcmp(address, block->prefix, (size_t)whole) == 0 &&
           (rest == 0 || (address[whole] ^ block->prefix[whole]) >> (8 - rest) == 0);
}
