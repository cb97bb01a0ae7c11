/*
 * Which multicast frames an interface takes: those of the groups that lwIP is in.
 *
 * The device is told, so that it need not deliver the others; whether it obeys is looked at for every frame, because
 * a device may have no filter, a small one, or not yet have heard. The table is made anew from lwIP's lists
 * whenever a group comes or goes. When they are more than it holds, every multicast frame is taken.
 */
#ifndef NET_VIF_FILTER_H
#define NET_VIF_FILTER_H

#include "drivers/netdev.h"

struct netif;
struct vif;

struct vif_filter {
    uint8_t groups[NETDEV_GROUPS_MAX][6];
    size_t group_count;
    bool all_groups;
};

/* Have lwIP tell of groups that come and go. From netif_add()'s initialiser; vif->dev must be set. */
void vif_filter_open(struct vif *vif);

/* Is a frame to this multicast address wanted? */
bool vif_filter_wants(const struct vif_filter *filter, const uint8_t *mac);

#endif
