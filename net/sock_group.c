/*
 * Multicast groups of a socket: joined by option, left by option or with the socket. lwIP counts how many want a group,
 * and tells the network (IGMP, MLD).
 */
#include <netinet/in.h>

#include "lwip/igmp.h"
#include "lwip/ip.h"
#include "lwip/mld6.h"
#include "lwip/netif.h"
#include "net/interfaces.h"
#include "net/sock_opt.h"

struct sock_group {
    struct sock_group *next;
    ip_addr_t ip;
    uint8_t netif_idx;
};

static int tell_lwip(const struct sock_group *g, bool join)
{
    struct netif *netif = interface_at(g->netif_idx);
    err_t err;

    if (!netif)
        return -ENODEV;
    if (IP_IS_V4(&g->ip))
        err = join ? igmp_joingroup_netif(netif, ip_2_ip4(&g->ip))
                   : igmp_leavegroup_netif(netif, ip_2_ip4(&g->ip));
    else
        err = join ? mld6_joingroup_netif(netif, ip_2_ip6(&g->ip))
                   : mld6_leavegroup_netif(netif, ip_2_ip6(&g->ip));
    return err == ERR_VAL ? -ENODEV : sock_errno(err);
}

/* Where the group stands in the list, or where the list ends. */
static struct sock_group **find(struct sock *s, const ip_addr_t *ip, uint8_t netif_idx)
{
    struct sock_group **at = &s->groups;

    while (*at && !((*at)->netif_idx == netif_idx && ip_addr_eq(&(*at)->ip, ip)))
        at = &(*at)->next;
    return at;
}

static int join(struct sock *s, const ip_addr_t *ip, const struct netif *netif)
{
    const uint8_t idx = netif_get_index(netif);

    if (*find(s, ip, idx))
        return -EADDRINUSE;
    struct frag *f = frag_take(sizeof(struct sock_group), FRAG_SMALL);

    if (!f)
        return -ENOBUFS;
    struct sock_group *g = (struct sock_group *)(void *)frag_start(f);

    *g = (struct sock_group){.next = s->groups, .netif_idx = idx};
    ip_addr_copy(g->ip, *ip);
    const int err = tell_lwip(g, true);

    if (err) {
        frag_give(f);
        return err;
    }
    s->groups = g;
    return 0;
}

static void leave(struct sock_group **at)
{
    struct sock_group *g = *at;

    *at = g->next;
    (void)tell_lwip(g, false);
    frag_give(frag_of_start(g));
}

void sock_group_leave_all(struct sock *s)
{
    while (s->groups)
        leave(&s->groups);
}

static int change(struct sock *s, bool joining, const ip_addr_t *ip, const struct netif *netif)
{
    if (!netif)
        return -ENODEV;
    if (joining)
        return join(s, ip, netif);
    struct sock_group **at = find(s, ip, netif_get_index(netif));

    if (!*at)
        return -EADDRNOTAVAIL;
    leave(at);
    return 0;
}

static struct netif *netif_for4(const struct ip_mreqn *req)
{
    const ip4_addr_t group = {req->imr_multiaddr.s_addr};
    struct netif *netif;

    if (req->imr_ifindex)
        return interface_at((unsigned)req->imr_ifindex);
    if (req->imr_address.s_addr == INADDR_ANY)
        return ip4_route(&group);
    NETIF_FOREACH(netif)
    {
        if (netif_ip4_addr(netif)->addr == req->imr_address.s_addr)
            return netif;
    }
    return NULL;
}

int sock_group4(struct sock *s, int name, const void *value, socklen_t len)
{
    struct ip_mreqn req = {.imr_ifindex = 0};
    ip_addr_t ip;

    if (s->type == SOCK_STREAM)
        return -EPROTO;
    if (!value || len < sizeof(struct ip_mreq))
        return -EINVAL;
    memcpy(&req, value, size_min(len, sizeof(req)));
    if (len < sizeof(req))
        req.imr_ifindex = 0;
    if (!IN_MULTICAST(lwip_ntohl(req.imr_multiaddr.s_addr)))
        return name == IP_ADD_MEMBERSHIP ? -EINVAL : -EADDRNOTAVAIL;
    ip_addr_set_ip4_u32_val(ip, req.imr_multiaddr.s_addr);
    return change(s, name == IP_ADD_MEMBERSHIP, &ip, netif_for4(&req));
}

int sock_group6(struct sock *s, int name, const void *value, socklen_t len)
{
    struct ipv6_mreq req;
    u32_t word[4];
    ip_addr_t ip;
    const int err = sock_opt_in(value, len, &req, sizeof(req));

    if (err || s->type == SOCK_STREAM)
        return err ? err : -ENOPROTOOPT;
    memcpy(word, &req.ipv6mr_multiaddr, sizeof(word));
    IP_ADDR6(&ip, word[0], word[1], word[2], word[3]);
    if (!ip_addr_ismulticast(&ip))
        return name == IPV6_JOIN_GROUP ? -EINVAL : -EADDRNOTAVAIL;
    const struct netif *netif =
        req.ipv6mr_interface ? interface_at(req.ipv6mr_interface) : netif_default;

    if (netif && ip6_addr_has_scope(ip_2_ip6(&ip), IP6_MULTICAST))
        ip6_addr_assign_zone(ip_2_ip6(&ip), IP6_MULTICAST, netif);
    return change(s, name == IPV6_JOIN_GROUP, &ip, netif);
}
