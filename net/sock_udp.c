/*
 * UDP sockets: datagrams with their addresses, in a bounded queue.
 */
#include "net/sock_udp.h"

#include <errno.h>
#include <net/if.h>

#include "lwip/ip.h"
#include "net/icmp_errors.h"
#include "net/interfaces.h"
#include "net/sock_addr.h"
#include "net/sock_dgram.h"
#include "net/sock_opt.h"

static void on_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from,
                        u16_t port)
{
    (void)pcb;
    sock_dgram_put(arg, p, from, port);
}

bool sock_udp_owns(const struct udp_pcb *pcb)
{
    return pcb->recv == on_datagram;
}

/* ---- names ---- */

static bool is_loopback(const struct netif *netif)
{
    return netif && (interface_flags(netif) & IFF_LOOPBACK);
}

static void udp_kind_apply(struct sock *s)
{
    struct udp_pcb *pcb = s->pcb.udp;

    if (!pcb)
        return;
    pcb->so_options = 0;
    if (s->opt.reuse_addr || s->opt.reuse_port)
        ip_set_option(pcb, SOF_REUSEADDR);
    if (s->opt.broadcast)
        ip_set_option(pcb, SOF_BROADCAST);
    pcb->tos = s->opt.tos;
    pcb->ttl = s->opt.ttl;
    pcb->netif_idx = s->opt.device_idx ? s->opt.device_idx : NETIF_NO_INDEX;
    pcb->mcast_ttl = s->opt.mcast_ttl;
    pcb->mcast_ifindex = s->opt.mcast_if;
    /* What leaves by the loopback interface comes back anyway. */
    if (s->opt.mcast_loop && !is_loopback(interface_at(s->opt.mcast_if)))
        udp_set_flags(pcb, UDP_FLAGS_MULTICAST_LOOP);
    else
        udp_clear_flags(pcb, UDP_FLAGS_MULTICAST_LOOP);
}

static int need_pcb(struct sock *s)
{
    if (s->pcb.udp)
        return 0;
    s->pcb.udp = udp_new_ip_type(s->family == AF_INET ? IPADDR_TYPE_V4
                                 : s->opt.v6only      ? IPADDR_TYPE_V6
                                                      : IPADDR_TYPE_ANY);
    if (!s->pcb.udp)
        return -ENOBUFS;
    udp_recv(s->pcb.udp, on_datagram, s);
    udp_kind_apply(s);
    return 0;
}

static int udp_kind_bind(struct sock *s, const struct sock_name *name)
{
    /* Groups and broadcasts, too: what is sent there is heard. */
    const bool bindable = sock_addr_is_local(&name->ip) || ip_addr_ismulticast(&name->ip) ||
                          sock_addr_is_broadcast(&name->ip) || s->opt.free_bind;
    int err = bindable ? need_pcb(s) : -EADDRNOTAVAIL;

    if (!err)
        err = sock_errno(udp_bind(s->pcb.udp, &name->ip, name->port));
    if (err)
        return err;
    s->bound = true;
    ip_addr_copy(s->local.ip, name->ip);
    s->local.port = s->pcb.udp->local_port;
    return 0;
}

/* Before the first sending: a port of lwIP's choice. */
static int bind_if_needed(struct sock *s)
{
    struct sock_name any = {.port = 0};

    if (s->bound)
        return 0;
    sock_addr_any(&any.ip, s->family, s->opt.v6only);
    return udp_kind_bind(s, &any);
}

static int dissolve(struct sock *s)
{
    if (s->pcb.udp)
        udp_disconnect(s->pcb.udp);
    s->state = SOCK_IDLE;
    return 0;
}

static int udp_kind_connect(struct sock *s, const struct sock_name *peer, bool nonblock)
{
    (void)nonblock;
    if (peer->port == 0)
        return dissolve(s);
    int err = bind_if_needed(s);

    if (!err)
        err = sock_dgram_learn_source(s, &s->pcb.udp->local_ip, &peer->ip);
    if (!err)
        err = sock_errno(udp_connect(s->pcb.udp, &peer->ip, peer->port));
    if (err)
        return err;
    s->peer = *peer;
    s->state = SOCK_CONNECTED;
    return 0;
}

/* ---- sending ---- */

/* By the interface and from the address that the message's control data names; the rest as always. */
static err_t send_with(struct udp_pcb *pcb, struct pbuf *p, const struct sock_msg *msg,
                       const ip_addr_t *to, u16_t port)
{
    struct netif *netif =
        msg->netif_idx ? interface_at(msg->netif_idx) : ip_route(&pcb->local_ip, to);

    if (!netif)
        return ERR_RTE;
    if (!ip_addr_isany(&msg->src))
        return udp_sendto_if_src(pcb, p, to, port, netif, &msg->src);
    return udp_sendto_if(pcb, p, to, port, netif);
}

static err_t send_one(struct sock *s, struct pbuf *p, const struct sock_msg *msg)
{
    struct udp_pcb *pcb = s->pcb.udp;
    const struct sock_name *to = msg->to ? msg->to : &s->peer;
    err_t err;

    if (!msg->has_control)
        return msg->to ? udp_sendto(pcb, p, &to->ip, to->port) : udp_send(pcb, p);
    pcb->ttl = pcb->mcast_ttl = msg->ttl ? msg->ttl : pcb->ttl;
    pcb->tos = msg->has_tos ? msg->tos : pcb->tos;
    err = send_with(pcb, p, msg, &to->ip, to->port);
    udp_kind_apply(s);
    return err;
}

static ssize_t udp_kind_send(struct sock *s, struct sock_msg *msg)
{
    int err = s->error ? sock_take_error(s) : sock_dgram_send_check(s, msg, SOCK_DGRAM_MAX);

    if (!err && msg->to && msg->to->port == 0)
        err = -EINVAL;
    if (!err)
        err = bind_if_needed(s);
    if (err)
        return err;
    struct pbuf *p = sock_dgram_collect(msg);

    if (!p)
        return -ENOBUFS;
    err = sock_errno(send_one(s, p, msg));
    pbuf_free(p);
    return err ? err : (ssize_t)msg->len;
}

/* ---- the end ---- */

void sock_udp_unreachable(const struct icmp_error *e)
{
    for (struct udp_pcb *pcb = udp_pcbs; pcb; pcb = pcb->next) {
        if (pcb->local_port != e->local_port || pcb->remote_port != e->remote_port ||
            !sock_udp_owns(pcb) || !(pcb->flags & UDP_FLAGS_CONNECTED) ||
            !ip_addr_eq(&pcb->remote_ip, &e->remote))
            continue;
        struct sock *s = pcb->recv_arg;

        /* Only what won't change by itself is an error for UDP (RFC 1122 §4.1.3.3, as Linux reads it). */
        if (e->error != ECONNREFUSED && e->error != ENOPROTOOPT)
            return;
        s->error = e->error;
        file_changed(&s->file);
        return;
    }
}

static int udp_kind_close(struct sock *s)
{
    if (s->pcb.udp)
        udp_remove(s->pcb.udp);
    s->pcb.udp = NULL;
    sock_group_leave_all(s);
    sock_dgram_clear(s);
    return 0;
}

const struct sock_ops sock_udp_ops = {
    .poll = sock_dgram_poll,
    .readable = sock_dgram_readable,
    .bind = udp_kind_bind,
    .connect = udp_kind_connect,
    .shutdown = sock_dgram_shutdown,
    .send = udp_kind_send,
    .recv = sock_dgram_recv,
    .close = udp_kind_close,
    .apply = udp_kind_apply,
};
