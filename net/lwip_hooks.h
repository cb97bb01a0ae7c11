/* The functions that lwipopts.h hooks into lwIP. lwIP includes this file where it calls them. */
#ifndef NET_LWIP_HOOKS_H
#define NET_LWIP_HOOKS_H

#include "lwip/ip_addr.h"
#include "net/nd6_guard.h"
#include "net/tcp_input_hook.h"
#include "net/tcp_segment_hook.h"

struct netif;
struct tcp_pcb;

/* A reply leaves by the interface that its source address belongs to, whatever the routing table
 * would say (RFC 1122 §3.3.4.2, strong host). NULL: let lwIP route by destination. */
struct netif *net_route4_by_source(const ip4_addr_t *src, const ip4_addr_t *dest);

/* The same for IPv6. Addresses with a scope don't come here: their zone names the interface. */
struct netif *net_route6_by_source(const ip6_addr_t *src, const ip6_addr_t *dest);

/* The static IPv4 gateway of netif (gw=), or NULL: the one that DHCP named. */
const ip4_addr_t *net_gateway4(struct netif *netif, const ip4_addr_t *dest);

/* The static IPv6 gateway of netif (gw6=), or NULL: ask the routers that ND knows. */
const ip6_addr_t *net_gateway6(struct netif *netif, const ip6_addr_t *dest);

/* Initial sequence number of a connection: RFC 6528's clock plus keyed hash. */
u32_t net_tcp_isn(const ip_addr_t *local_ip, u16_t local_port, const ip_addr_t *remote_ip,
                  u16_t remote_port);

/* Called before a TCP header is built; pcb may be NULL. Takes a zero-window probe's byte back. Returns len. */
u8_t net_tcp_header_options(const struct tcp_pcb *pcb, u8_t len);

#endif
