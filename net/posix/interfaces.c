/* Interfaces and their addresses under their usual names: net/interfaces.h. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lwip/netif.h"
#include "net/interfaces.h"

unsigned if_nametoindex(const char *name)
{
    const unsigned idx = interface_index(name);

    if (!idx)
        errno = ENODEV;
    return idx;
}

char *if_indextoname(unsigned idx, char name[IF_NAMESIZE])
{
    const struct netif *netif = interface_at(idx);

    if (!netif) {
        errno = ENXIO;
        return NULL;
    }
    interface_name(netif, name);
    return name;
}

static size_t netif_count(void)
{
    struct netif *netif;
    size_t count = 0;

    NETIF_FOREACH(netif)
    {
        count++;
    }
    return count;
}

/* The names stand behind the list, in the same piece of memory. */
struct if_nameindex *if_nameindex(void)
{
    const size_t count = netif_count();
    struct if_nameindex *list = calloc(count + 1, sizeof(*list) + INTERFACE_NAME_BYTES);
    struct netif *netif;

    if (!list) {
        errno = ENOBUFS;
        return NULL;
    }
    struct if_nameindex *entry = list;
    char *name = (char *)(list + count + 1);

    NETIF_FOREACH(netif)
    {
        interface_name(netif, name);
        *entry++ = (struct if_nameindex){netif_get_index(netif), name};
        name += INTERFACE_NAME_BYTES;
    }
    return list;
}

void if_freenameindex(struct if_nameindex *list)
{
    free(list);
}

/* ---- getifaddrs ---- */

struct entry {
    struct ifaddrs ifa; /* first: freeifaddrs() frees it */
    char name[INTERFACE_NAME_BYTES];
    struct sockaddr_storage addr, mask, broadcast;
};

static struct entry *entry_new(const struct netif *netif, struct ifaddrs ***end)
{
    struct entry *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    interface_name(netif, e->name);
    e->ifa = (struct ifaddrs){.ifa_name = e->name,
                              .ifa_flags = interface_flags(netif),
                              .ifa_addr = (struct sockaddr *)&e->addr,
                              .ifa_netmask = (struct sockaddr *)&e->mask};
    **end = &e->ifa;
    *end = &e->ifa.ifa_next;
    return e;
}

static void put4(struct sockaddr_storage *to, u32_t addr)
{
    const struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = addr};

    memcpy(to, &in, sizeof(in));
}

static int add4(const struct netif *netif, struct ifaddrs ***end)
{
    const u32_t addr = netif_ip4_addr(netif)->addr, mask = netif_ip4_netmask(netif)->addr;

    if (addr == 0)
        return 0;
    struct entry *e = entry_new(netif, end);

    if (!e)
        return -1;
    put4(&e->addr, addr);
    put4(&e->mask, mask);
    if (e->ifa.ifa_flags & IFF_BROADCAST) {
        put4(&e->broadcast, addr | ~mask);
        e->ifa.ifa_broadaddr = (struct sockaddr *)&e->broadcast;
    }
    return 0;
}

/* lwIP keeps no prefix lengths; its addresses are /64, but for the loopback's. */
static void put_mask6(struct sockaddr_storage *to, bool host)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6};

    memset(&in.sin6_addr, 0xff, host ? 16 : 8);
    memcpy(to, &in, sizeof(in));
}

static int add6(const struct netif *netif, s8_t i, struct ifaddrs ***end)
{
    const ip6_addr_t *ip = netif_ip6_addr(netif, i);
    struct sockaddr_in6 in = {.sin6_family = AF_INET6};

    if (!ip6_addr_isvalid(netif_ip6_addr_state(netif, i)))
        return 0;
    struct entry *e = entry_new(netif, end);

    if (!e)
        return -1;
    memcpy(&in.sin6_addr, ip->addr, sizeof(in.sin6_addr));
    if (ip6_addr_islinklocal(ip))
        in.sin6_scope_id = netif_get_index(netif);
    memcpy(&e->addr, &in, sizeof(in));
    put_mask6(&e->mask, ip6_addr_isloopback(ip));
    return 0;
}

int getifaddrs(struct ifaddrs **list)
{
    struct ifaddrs *first = NULL, **end = &first;
    struct netif *netif;
    int err = 0;

    NETIF_FOREACH(netif)
    {
        err |= add4(netif, &end);
        for (s8_t i = 0; i < LWIP_IPV6_NUM_ADDRESSES; i++)
            err |= add6(netif, i, &end);
    }
    if (err) {
        freeifaddrs(first);
        errno = ENOMEM;
        return -1;
    }
    *list = first;
    return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
    while (list) {
        struct ifaddrs *next = list->ifa_next;

        free(list);
        list = next;
    }
}
