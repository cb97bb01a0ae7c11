/*
 * A hook of lwipopts.h: nobody takes an address away that we have.
 *
 * A neighbour advertisement for an address that is still tentative says that it is somebody else's (RFC 4862 §5.4.4). For
 * one that passed detection long ago lwIP believes that, too: it gives the address up for good, its connections with it,
 * and with the link-local address all others. A single frame was enough, or our own one that a looping bridge
 * brought back. As other systems do, such an advertisement is counted, told, and dropped: the address stays.
 */
#ifndef NET_ND6_GUARD_H
#define NET_ND6_GUARD_H

struct netif;
struct pbuf;

/* p starts with an IPv6 header. 0: go on. 1: it was dropped, and p freed. */
int net_nd6_guard(struct pbuf *p, struct netif *netif);

/* Register nd6_claims_ignored_total. Call once. */
void net_nd6_guard_init(void);

#endif
