#include "net/interfaces.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "lwip/netif.h"
#include "net/vif.h"

static bool is_loopback(const struct netif *netif)
{
    return netif->name[0] == 'l' && netif->name[1] == 'o';
}

void interface_name(const struct netif *netif, char name[INTERFACE_NAME_BYTES])
{
    if (is_loopback(netif))
        strcpy(name, "lo");
    else
        snprintf(name, INTERFACE_NAME_BYTES, "%s", vif_name(netif));
}

unsigned interface_index(const char *name)
{
    char own[INTERFACE_NAME_BYTES];
    struct netif *netif;

    NETIF_FOREACH(netif)
    {
        interface_name(netif, own);
        if (strcmp(name, own) == 0)
            return netif_get_index(netif);
    }
    return 0;
}

struct netif *interface_at(unsigned idx)
{
    return idx > 0 && idx <= UINT8_MAX ? netif_get_by_index((u8_t)idx) : NULL;
}

unsigned interface_flags(const struct netif *netif)
{
    unsigned flags = 0;

    if (netif->flags & NETIF_FLAG_UP)
        flags |= IFF_UP;
    if (netif->flags & NETIF_FLAG_LINK_UP || is_loopback(netif))
        flags |= IFF_RUNNING;
    if (netif->flags & NETIF_FLAG_BROADCAST)
        flags |= IFF_BROADCAST;
    if (is_loopback(netif))
        return flags | IFF_LOOPBACK;
    return flags | IFF_MULTICAST;
}
