/*
 * Calls that need an address wait for it, while one is being asked for.
 *
 * `main` runs before DHCP has answered, so that a server is ready when its address is. A client would fail where on other systems
 * somebody has set up the network before it starts. So whatever needs a way to a peer waits until there is one, for as long as the
 * configuration is under way, and at most until PATIENCE_MS after the start. Calls that must not block fail at once.
 *
 * Threads only.
 */
#ifndef NET_PATIENCE_H
#define NET_PATIENCE_H

#include <stdbool.h>

#include "lwip/ip_addr.h"
#include "net/vif.h"

enum {
    PATIENCE_MS = 10000
}; /* since the start: DHCP with two lost messages, or IPv6 with a slow router */

/* Watch this interface. At most OPT_NICS_MAX. */
void net_patience_add(const struct vif *vif);

/* Wait until `to` can be reached from `from` (any: from wherever), or waiting has no sense any more: its caller finds out. */
void net_wait_for_way(const ip_addr_t *from, const ip_addr_t *to);

/* Wait until some name server is known, likewise. */
void net_wait_for_name_server(void);

#endif
