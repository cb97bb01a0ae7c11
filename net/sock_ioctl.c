/* ioctl() on sockets: what waits, and BSD's questions about interfaces (struct ifreq). Nothing is set this way. */
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include <errno.h>
#include <string.h>

#include "lwip/netif.h"
#include "lwip/tcp.h"
#include "net/interfaces.h"
#include "net/sock_impl.h"

/* Linux's numbers; the host's headers keep them elsewhere. */
enum {
    ASK_ATMARK = 0x8905,
    ASK_FLAGS = 0x8913,
    ASK_ADDR = 0x8915,
    ASK_BROADCAST = 0x8919,
    ASK_NETMASK = 0x891b,
    ASK_MTU = 0x8921,
    ASK_HWADDR = 0x8927,
    ASK_INDEX = 0x8933,
    HW_ETHERNET = 1, /* ARPHRD_ETHER, ARPHRD_LOOPBACK */
    HW_LOOPBACK = 772,
    LOOPBACK_MTU = 65536,
};

static void addr_out(struct ifreq *req, u32_t addr)
{
    const struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = addr};

    memcpy(&req->ifr_addr, &in, sizeof(in));
}

static void hwaddr_out(struct ifreq *req, const struct netif *netif)
{
    const bool loopback = interface_flags(netif) & IFF_LOOPBACK;

    memset(&req->ifr_hwaddr, 0, sizeof(req->ifr_hwaddr));
    req->ifr_hwaddr.sa_family = loopback ? HW_LOOPBACK : HW_ETHERNET;
    memcpy(req->ifr_hwaddr.sa_data, netif->hwaddr, size_min(netif->hwaddr_len, IFHWADDRLEN));
}

static int addr_of(struct ifreq *req, const struct netif *netif, unsigned long request)
{
    const u32_t addr = netif_ip4_addr(netif)->addr, mask = netif_ip4_netmask(netif)->addr;

    if (addr == 0)
        return -EADDRNOTAVAIL;
    if (request == ASK_ADDR)
        addr_out(req, addr);
    else
        addr_out(req, request == ASK_NETMASK ? mask : addr | ~mask);
    return 0;
}

static int ask_interface(struct ifreq *req, unsigned long request)
{
    char name[INTERFACE_NAME_BYTES];

    memcpy(name, req->ifr_name, sizeof(name));
    name[sizeof(name) - 1] = '\0';
    const struct netif *netif = interface_at(interface_index(name));

    if (!netif)
        return -ENODEV;
    switch (request) {
    case ASK_FLAGS:
        req->ifr_flags = (short)interface_flags(netif);
        return 0;
    case ASK_MTU:
        req->ifr_mtu = netif->mtu ? netif->mtu : LOOPBACK_MTU;
        return 0;
    case ASK_INDEX:
        req->ifr_ifindex = netif_get_index(netif);
        return 0;
    case ASK_HWADDR:
        hwaddr_out(req, netif);
        return 0;
    default:
        return addr_of(req, netif, request);
    }
}

/* Bytes that the peer hasn't acknowledged. */
static int unacknowledged(const struct sock *s)
{
    const bool counts = s->ops == &sock_tcp_ops && s->state == SOCK_CONNECTED && s->pcb.tcp;

    return counts ? (int)(s->pcb.tcp->snd_lbb - s->pcb.tcp->lastack) : 0;
}

int sock_ioctl(struct sock *s, unsigned long request, void *arg)
{
    switch (request) {
    case FIONREAD:
        if (s->state == SOCK_LISTENING)
            return -EINVAL;
        *(int *)arg = (int)size_min(s->ops->readable(s), INT32_MAX);
        return 0;
    case TIOCOUTQ:
        *(int *)arg = unacknowledged(s);
        return 0;
    case ASK_ATMARK: /* no urgent data is kept apart */
        *(int *)arg = 0;
        return 0;
    case ASK_FLAGS:
    case ASK_ADDR:
    case ASK_BROADCAST:
    case ASK_NETMASK:
    case ASK_MTU:
    case ASK_HWADDR:
    case ASK_INDEX:
        return ask_interface(arg, request);
    default:
        return -ENOTTY;
    }
}
