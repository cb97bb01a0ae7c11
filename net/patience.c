#include "net/patience.h"

#include <errno.h>

#include "lib/options.h"
#include "lib/thread.h"
#include "lwip/ip.h"
#include "lwip/netif.h"
#include "net/net_config.h"
#include "port/clock.h"

enum { LOOK_AGAIN_US = 5000 };

static const struct vif *nics[OPT_NICS_MAX];
static size_t nic_count;

void net_patience_add(const struct vif *vif)
{
    nics[nic_count++] = vif;
}

static bool ip6_under_way(const struct netif *netif)
{
    for (int i = 0; i < LWIP_IPV6_NUM_ADDRESSES; i++) {
        if (ip6_addr_istentative(netif_ip6_addr_state(netif, i)))
            return true;
    }
    return false;
}

static bool under_way(const struct vif *vif)
{
    if (vif->dev->broken)
        return false;
    return (vif->dhcp && !net_config_usable(vif)) || ip6_under_way(&vif->netif);
}

/* Give whatever is under way a moment. False: nothing is, or it took too long. */
static bool wait_a_moment(void)
{
    const uint64_t now_us = clock_now_us();
    bool some = false;

    for (size_t i = 0; i < nic_count; i++)
        some |= under_way(nics[i]);
    if (!some || now_us > (uint64_t)PATIENCE_MS * 1000)
        return false;
    return thread_sleep_until(now_us + LOOK_AGAIN_US) != -EINTR;
}

static bool has_way(const ip_addr_t *from, const ip_addr_t *to)
{
    struct netif *netif = ip_route(from, to);

    const ip_addr_t *local = netif ? ip_netif_get_local_ip(netif, to) : NULL;

    return local && !ip_addr_isany(local);
}

void net_wait_for_way(const ip_addr_t *from, const ip_addr_t *to)
{
    while (!has_way(from, to) && wait_a_moment())
        ;
}

static bool knows_name_server(void)
{
    ip_addr_t server;

    for (unsigned i = 0; i < DNS_MAX_SERVERS; i++) {
        net_config_name_server(i, &server);
        if (!ip_addr_isany_val(server))
            return true;
    }
    return false;
}

void net_wait_for_name_server(void)
{
    while (!knows_name_server() && wait_a_moment())
        ;
}
