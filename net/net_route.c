/* Which interface and which gateway: the two questions that lwIP lets us answer. */
#include "lwip/netif.h"
#include "net/lwip_hooks.h"
#include "net/vif.h"

static bool can_send(const struct netif *netif)
{
    return netif_is_up(netif) && netif_is_link_up(netif);
}

/* A destination of our own wins: that interface gives the packet back to us. */
struct netif *net_route4_by_source(const ip4_addr_t *src, const ip4_addr_t *dest)
{
    struct netif *netif, *found = NULL;

    if (!src || ip4_addr_isany(src) || ip4_addr_isloopback(dest))
        return NULL;
    NETIF_FOREACH(netif)
    {
        if (!can_send(netif))
            continue;
        if (ip4_addr_eq(dest, netif_ip4_addr(netif)))
            return netif;
        if (ip4_addr_eq(src, netif_ip4_addr(netif)))
            found = netif;
    }
    return found;
}

struct netif *net_route6_by_source(const ip6_addr_t *src, const ip6_addr_t *dest)
{
    struct netif *netif, *found = NULL;

    if (!src || ip6_addr_isany(src) || ip6_addr_isloopback(dest))
        return NULL;
    NETIF_FOREACH(netif)
    {
        if (!can_send(netif))
            continue;
        if (netif_get_ip6_addr_match(netif, dest) >= 0)
            return netif;
        if (netif_get_ip6_addr_match(netif, src) >= 0)
            found = netif;
    }
    return found;
}

/* Only our own interfaces have gateways of their own; the loopback's state is lwIP's. */
static const struct vif *own_vif(const struct netif *netif)
{
    return netif->flags & NETIF_FLAG_ETHERNET ? netif->state : NULL;
}

const ip4_addr_t *net_gateway4(struct netif *netif, const ip4_addr_t *dest)
{
    const struct vif *vif = own_vif(netif);

    (void)dest;
    return vif && vif->gw4_set ? &vif->gw4 : NULL;
}

const ip6_addr_t *net_gateway6(struct netif *netif, const ip6_addr_t *dest)
{
    const struct vif *vif = own_vif(netif);

    (void)dest;
    return vif && vif->gw6_set ? &vif->gw6 : NULL;
}
