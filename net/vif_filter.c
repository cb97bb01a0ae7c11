#include "net/vif_filter.h"

#include <string.h>

#include "lwip/igmp.h"
#include "lwip/mld6.h"
#include "net/vif.h"

static void add(struct vif_filter *filter, const uint8_t mac[6])
{
    if (vif_filter_wants(filter, mac))
        return; /* 32 IPv4 groups share an address (RFC 1112 §6.4) */
    if (filter->group_count == NETDEV_GROUPS_MAX)
        filter->all_groups = true;
    else
        memcpy(filter->groups[filter->group_count++], mac, sizeof(filter->groups[0]));
}

static void add_ip4(struct vif_filter *filter, const ip4_addr_t *group)
{
    const uint8_t mac[6] = {
        0x01, 0, 0x5e, ip4_addr2(group) & 0x7f, ip4_addr3(group), ip4_addr4(group)};

    add(filter, mac);
}

/* RFC 2464 §7: the last four bytes. */
static void add_ip6(struct vif_filter *filter, const ip6_addr_t *group)
{
    uint8_t mac[6] = {0x33, 0x33};

    memcpy(mac + 2, &group->addr[3], 4);
    add(filter, mac);
}

static void collect(struct vif *vif)
{
    struct vif_filter *filter = &vif->filter;

    *filter = (struct vif_filter){0};
    if (vif->ip4) {
        for (const struct igmp_group *g = netif_igmp_data(&vif->netif); g; g = g->next)
            add_ip4(filter, &g->group_address);
    }
    if (vif->ip6) {
        /* Every node is in this one, so lwIP's list doesn't name it. */
        static const uint8_t all_nodes[6] = {0x33, 0x33, 0, 0, 0, 1};

        add(filter, all_nodes);
        for (const struct mld_group *g = netif_mld6_data(&vif->netif); g; g = g->next)
            add_ip6(filter, &g->group_address);
    }
}

static void renew(struct vif *vif)
{
    const struct vif_filter *filter = &vif->filter;

    collect(vif);
    const struct netdev_filter wish = {.groups = filter->groups,
                                       .group_count = filter->group_count,
                                       .all_groups = filter->all_groups,
                                       .broadcast = vif->ip4};
    if (vif->dev->ops->set_filter)
        vif->dev->ops->set_filter(vif->dev, &wish);
}

static err_t on_igmp(struct netif *netif, const ip4_addr_t *group,
                     enum netif_mac_filter_action action)
{
    (void)group;
    (void)action;
    renew(netif->state);
    return ERR_OK;
}

static err_t on_mld6(struct netif *netif, const ip6_addr_t *group,
                     enum netif_mac_filter_action action)
{
    (void)group;
    (void)action;
    renew(netif->state);
    return ERR_OK;
}

void vif_filter_open(struct vif *vif)
{
    netif_set_igmp_mac_filter(&vif->netif, on_igmp);
    netif_set_mld_mac_filter(&vif->netif, on_mld6);
    renew(vif);
}

bool vif_filter_wants(const struct vif_filter *filter, const uint8_t *mac)
{
    if (filter->all_groups)
        return true;
    for (size_t i = 0; i < filter->group_count; i++) {
        if (memcmp(filter->groups[i], mac, sizeof(filter->groups[i])) == 0)
            return true;
    }
    return false;
}
