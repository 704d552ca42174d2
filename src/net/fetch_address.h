/* fetch_address.h - decides which addresses may be dialled at all (C82).
 *
 * Asked about every address after name resolution, so a name that is rebound is refused too.
 * Refused: link-local, cloud metadata, unspecified, multicast, reserved; loopback unless allowed;
 * and whatever IPv6 wraps such an IPv4 address (mapped, compatible, NAT64, 6to4).
 */
#ifndef BULKHEAD_NET_FETCH_ADDRESS_H
#define BULKHEAD_NET_FETCH_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* Families other than IPv4 and IPv6 are refused. */
bool fetch_address_allowed(const struct sockaddr *address, bool loopback);

#endif
