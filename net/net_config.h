/*
 * A NIC's addresses: the option table's words made true in lwIP.
 *
 * DHCP or a static IPv4 address, SLAAC or a static IPv6 address, gateways, resolvers, the host name.
 * docs/options.md has the words. Poll loop only.
 */
#ifndef NET_NET_CONFIG_H
#define NET_NET_CONFIG_H

#include "lib/options.h"
#include "net/vif.h"

/* Configure one interface. hostname is borrowed for good. Returns 0, or -ENOMEM when DHCP can't start. */
int net_config_apply(struct vif *vif, const struct opt_nic *opt, const char *hostname);

/* Resolvers given on the command line; they outrank what DHCP and RAs bring. */
void net_config_dns(const struct opt_addr *dns, size_t count);

/* Name server i, 0 … DNS_MAX_SERVERS - 1: those of dns=, else what DHCP and routers said. The any address: there is none. */
void net_config_name_server(size_t i, ip_addr_t *addr);

/*
 * True once the interface can be used: its IPv4 address is there, or, without IPv4, an IPv6 address has passed
 * duplicate address detection.
 */
bool net_config_usable(const struct vif *vif);

/* "10.0.2.15/24 fe80::1/64 gw 10.0.2.2 mtu 1500": every address in use. Bounded, NUL-terminated. */
void net_config_text(const struct vif *vif, char *text, size_t size);

#endif
