/*
 * What changes about a NIC while it runs, made known to lwIP: link, address, MTU. And the reverse: making ourselves
 * known to the network.
 */
#ifndef NET_VIF_FOLLOW_H
#define NET_VIF_FOLLOW_H

struct vif;

/* Compare lwIP's view with the driver's. Poll loop only. */
void vif_follow(struct vif *vif);

/*
 * Tell everybody on the link where our addresses are: ARP and neighbour advertisements nobody asked for (RFC 5227 §3,
 * RFC 4861 §7.2.6), and the groups that we are in, for switches that listen.
 */
void vif_announce(struct vif *vif);

#endif
