/* Socket options of IPv4 and IPv6. RFC 3493 §5, RFC 3542; Linux's where those say nothing. */
#include <netinet/in.h>

#include "lwip/ip.h"
#include "lwip/netif.h"
#include "net/interfaces.h"
#include "net/sock_addr.h"
#include "net/sock_opt.h"

enum { TTL_MAX = 255, ECN_MASK = 3 };

/* BSD's programs give some options as a single byte. */
static int number_in(const void *value, socklen_t len, int *number)
{
    if (!value)
        return -EFAULT;
    if (len >= sizeof(*number)) {
        memcpy(number, value, sizeof(*number));
        return 0;
    }
    if (len < 1)
        return -EINVAL;
    *number = *(const uint8_t *)value;
    return 0;
}

static int set_byte(struct sock *s, uint8_t *byte, int number, int min, int default_value)
{
    if (number == -1) /* RFC 3493 §5.1: back to the default */
        number = default_value;
    if (number < min || number > TTL_MAX)
        return -EINVAL;
    *byte = (uint8_t)number;
    s->ops->apply(s);
    return 0;
}

/* TCP keeps the two bits of congestion notification to itself. */
static int set_tos(struct sock *s, int number)
{
    if (s->type == SOCK_STREAM)
        number &= ~ECN_MASK;
    s->opt.tos = (uint8_t)number;
    s->ops->apply(s);
    return 0;
}

static int set_discover(struct sock *s, int number)
{
    if (number < IP_PMTUDISC_DONT || number > 5) /* Linux's last, IP_PMTUDISC_OMIT */
        return -EINVAL;
    s->opt.mtu_discover = (uint8_t)number;
    return 0;
}

static bool *flag4(struct sock *s, int name)
{
    switch (name) {
    case IP_PKTINFO:
        return &s->opt.pktinfo4;
    case IP_RECVTTL:
        return &s->opt.recv_ttl4;
    case IP_RECVTOS:
        return &s->opt.recv_tos4;
    case IP_MULTICAST_LOOP:
        return &s->opt.mcast_loop;
    case IP_RECVERR:
        return &s->opt.recv_err;
    case IP_FREEBIND:
        return &s->opt.free_bind;
    case IP_MULTICAST_ALL:
        return &s->opt.mcast_all;
    case IP_BIND_ADDRESS_NO_PORT:
        return &s->opt.late_port;
    default:
        return NULL;
    }
}

static bool *flag6(struct sock *s, int name)
{
    switch (name) {
    case IPV6_RECVPKTINFO:
        return &s->opt.pktinfo6;
    case IPV6_RECVHOPLIMIT:
        return &s->opt.recv_hops6;
    case IPV6_RECVTCLASS:
        return &s->opt.recv_tclass6;
    case IPV6_MULTICAST_LOOP:
        return &s->opt.mcast_loop;
    case IPV6_RECVERR:
        return &s->opt.recv_err;
    default:
        return NULL;
    }
}

/* ---- the interface that multicasts leave by ---- */

static struct netif *netif_of_addr(in_addr_t addr)
{
    struct netif *netif;

    NETIF_FOREACH(netif)
    {
        if (netif_ip4_addr(netif)->addr == addr)
            return netif;
    }
    return NULL;
}

static int set_mcast_if4(struct sock *s, const void *value, socklen_t len)
{
    struct ip_mreqn req = {.imr_ifindex = 0};

    if (s->type == SOCK_STREAM)
        return -EINVAL;
    if (len >= sizeof(struct ip_mreq)) /* the address stands in the same place in both */
        memcpy(&req, value, size_min(len, sizeof(req)));
    else if (sock_opt_in(value, len, &req.imr_address, sizeof(req.imr_address)))
        return -EINVAL;
    const bool by_addr = req.imr_ifindex == 0 && req.imr_address.s_addr != INADDR_ANY;
    const struct netif *netif =
        by_addr ? netif_of_addr(req.imr_address.s_addr) : interface_at((unsigned)req.imr_ifindex);

    if (!netif && (by_addr || req.imr_ifindex != 0))
        return -EADDRNOTAVAIL;
    s->opt.mcast_if = netif ? netif_get_index(netif) : 0;
    s->ops->apply(s);
    return 0;
}

static int set_mcast_if6(struct sock *s, int number)
{
    if (s->type == SOCK_STREAM)
        return -ENOPROTOOPT;
    if (number != 0 && (number < 0 || !interface_at((unsigned)number)))
        return -ENODEV;
    s->opt.mcast_if = (uint8_t)number;
    s->ops->apply(s);
    return 0;
}

static int get_mcast_if4(const struct sock *s, void *value, socklen_t *len)
{
    const struct netif *netif = interface_at(s->opt.mcast_if);
    const struct in_addr addr = {netif ? netif_ip4_addr(netif)->addr : INADDR_ANY};

    return sock_opt_out(value, len, &addr, sizeof(addr));
}

/* ---- set ---- */

static int set_number4(struct sock *s, int name, int number)
{
    bool *flag = flag4(s, name);

    if (flag) {
        *flag = number != 0;
        s->ops->apply(s);
        return 0;
    }
    switch (name) {
    case IP_TOS:
        return set_tos(s, number);
    case IP_TTL:
        return set_byte(s, &s->opt.ttl, number, 1, SOCK_TTL_DEFAULT);
    case IP_MULTICAST_TTL:
        if (s->type == SOCK_STREAM)
            return -EINVAL;
        return set_byte(s, &s->opt.mcast_ttl, number, 0, IP_DEFAULT_MULTICAST_TTL);
    case IP_MTU_DISCOVER:
        return set_discover(s, number);
    default:
        return -ENOPROTOOPT;
    }
}

int sock_ip4_setopt(struct sock *s, int name, const void *value, socklen_t len)
{
    int number;

    if (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP)
        return sock_group4(s, name, value, len);
    if (name == IP_MULTICAST_IF)
        return set_mcast_if4(s, value, len);
    const int err = number_in(value, len, &number);

    return err ? err : set_number4(s, name, number);
}

int sock_ip6_setopt(struct sock *s, int name, const void *value, socklen_t len)
{
    bool *flag = flag6(s, name);
    int number;

    if (name == IPV6_JOIN_GROUP || name == IPV6_LEAVE_GROUP)
        return sock_group6(s, name, value, len);
    const int err = sock_opt_in(value, len, &number, sizeof(number));

    if (err)
        return err;
    if (flag) {
        *flag = number != 0;
        s->ops->apply(s);
        return 0;
    }
    switch (name) {
    case IPV6_V6ONLY:
        if (s->bound)
            return -EINVAL;
        s->opt.v6only = number != 0;
        return 0;
    case IPV6_UNICAST_HOPS:
        return set_byte(s, &s->opt.ttl, number, 0, SOCK_TTL_DEFAULT);
    case IPV6_MULTICAST_HOPS:
        if (s->type == SOCK_STREAM)
            return -ENOPROTOOPT;
        return set_byte(s, &s->opt.mcast_ttl, number, 0, IP_DEFAULT_MULTICAST_TTL);
    case IPV6_MULTICAST_IF:
        return set_mcast_if6(s, number);
    case IPV6_TCLASS:
        return set_byte(s, &s->opt.tos, number, 0, 0);
    case IPV6_MTU_DISCOVER:
        return set_discover(s, number);
    default:
        return -ENOPROTOOPT;
    }
}

/* ---- get ---- */

/* The MTU on the way to the peer, as far as we know: our interface's. */
static int get_mtu(const struct sock *s, void *value, socklen_t *len)
{
    const struct netif *netif =
        s->state == SOCK_CONNECTED ? ip_route(&s->local.ip, &s->peer.ip) : NULL;

    if (!netif)
        return -ENOTCONN;
    return sock_opt_int_out(value, len, netif->mtu ? netif->mtu : UINT16_MAX);
}

int sock_ip4_getopt(const struct sock *s, int name, void *value, socklen_t *len)
{
    const bool *flag = flag4((struct sock *)(uintptr_t)s, name);

    if (flag)
        return sock_opt_int_out(value, len, *flag);
    switch (name) {
    case IP_TOS:
        return sock_opt_int_out(value, len, s->opt.tos);
    case IP_TTL:
        return sock_opt_int_out(value, len, s->opt.ttl);
    case IP_MULTICAST_TTL:
        return sock_opt_int_out(value, len, s->opt.mcast_ttl);
    case IP_MULTICAST_IF:
        return get_mcast_if4(s, value, len);
    case IP_MTU_DISCOVER:
        return sock_opt_int_out(value, len, s->opt.mtu_discover);
    case IP_MTU:
        return get_mtu(s, value, len);
    default:
        return -ENOPROTOOPT;
    }
}

int sock_ip6_getopt(const struct sock *s, int name, void *value, socklen_t *len)
{
    const bool *flag = flag6((struct sock *)(uintptr_t)s, name);

    if (flag)
        return sock_opt_int_out(value, len, *flag);
    switch (name) {
    case IPV6_V6ONLY:
        return sock_opt_int_out(value, len, s->opt.v6only);
    case IPV6_UNICAST_HOPS:
        return sock_opt_int_out(value, len, s->opt.ttl);
    case IPV6_MULTICAST_HOPS:
        return sock_opt_int_out(value, len, s->opt.mcast_ttl);
    case IPV6_MULTICAST_IF:
        return sock_opt_int_out(value, len, s->opt.mcast_if);
    case IPV6_TCLASS:
        return sock_opt_int_out(value, len, s->opt.tos);
    case IPV6_MTU_DISCOVER:
        return sock_opt_int_out(value, len, s->opt.mtu_discover);
    case IPV6_MTU:
        return get_mtu(s, value, len);
    default:
        return -ENOPROTOOPT;
    }
}
