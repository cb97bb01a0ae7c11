/*
 * UDP sockets: datagrams with their addresses, in a bounded queue.
 */
#include <errno.h>
#include <string.h>

#include "lib/page_frag.h"
#include "lwip/ip.h"
#include "lwip/udp.h"
#include "net/sock_addr.h"
#include "net/sock_impl.h"

struct dgram {
    struct dgram *next;
    struct pbuf *p;
    struct sock_name from, dst;
    uint8_t netif_idx;
};

/* ---- arrival ---- */

static size_t accounted(const struct pbuf *p)
{
    return p->tot_len + (size_t)SOCK_DGRAM_OVERHEAD_BYTES;
}

static struct dgram *dgram_new(struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    struct frag *f = frag_take(sizeof(struct dgram), FRAG_SMALL);

    if (!f)
        return NULL;
    struct dgram *d = (struct dgram *)(void *)frag_start(f);

    *d = (struct dgram){.p = p, .netif_idx = netif_get_index(ip_current_input_netif())};
    ip_addr_copy(d->from.ip, *from);
    d->from.port = port;
    ip_addr_copy(d->dst.ip, *ip_current_dest_addr());
    return d;
}

static void on_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from,
                        u16_t port)
{
    struct sock *s = arg;
    struct dgram *d = NULL;

    (void)pcb;
    if (!s->read_shut && s->dgram_bytes + accounted(p) <= s->recv_limit)
        d = dgram_new(p, from, port);
    if (!d) {
        s->dgram_dropped++;
        pbuf_free(p);
        return;
    }
    if (s->dgram_tail)
        s->dgram_tail->next = d;
    else
        s->dgram_head = d;
    s->dgram_tail = d;
    s->dgram_bytes += accounted(p);
    file_changed(&s->file);
}

static void dgram_drop_head(struct sock *s)
{
    struct dgram *d = s->dgram_head;

    s->dgram_head = d->next;
    if (!s->dgram_head)
        s->dgram_tail = NULL;
    s->dgram_bytes -= accounted(d->p);
    pbuf_free(d->p);
    frag_give(frag_of_start(d));
}

/* ---- names ---- */

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
    int err = need_pcb(s);

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

/* getsockname() after connect() tells the address that packets will leave from. */
static int learn_source(struct sock *s, const ip_addr_t *to)
{
    struct netif *netif = ip_route(&s->pcb.udp->local_ip, to);
    const ip_addr_t *source = netif ? ip_netif_get_local_ip(netif, to) : NULL;

    if (!source)
        return -ENETUNREACH;
    if (ip_addr_isany(&s->local.ip) || IP_IS_ANY_TYPE_VAL(s->local.ip))
        ip_addr_copy(s->local.ip, *source);
    return 0;
}

static int udp_kind_connect(struct sock *s, const struct sock_name *peer, bool nonblock)
{
    (void)nonblock;
    if (peer->port == 0)
        return dissolve(s);
    int err = bind_if_needed(s);

    if (!err)
        err = learn_source(s, &peer->ip);
    if (!err)
        err = sock_errno(udp_connect(s->pcb.udp, &peer->ip, peer->port));
    if (err)
        return err;
    s->peer = *peer;
    s->state = SOCK_CONNECTED;
    return 0;
}

static int udp_kind_shutdown(struct sock *s, int how)
{
    if (s->state != SOCK_CONNECTED)
        return -ENOTCONN;
    if (how != SHUT_WR)
        s->read_shut = true;
    if (how != SHUT_RD)
        s->write_shut = true;
    file_changed(&s->file);
    return 0;
}

/* ---- sending ---- */

static struct pbuf *collect(struct sock_msg *msg)
{
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)msg->len, PBUF_RAM);

    if (p && msg->len > 0)
        (void)iov_take(&msg->pos, p->payload, msg->len);
    return p;
}

static bool is_broadcast(const ip_addr_t *ip)
{
    struct netif *netif;

    if (!IP_IS_V4(ip))
        return false;
    NETIF_FOREACH(netif)
    {
        if (ip4_addr_isbroadcast(ip_2_ip4(ip), netif))
            return true;
    }
    return false;
}

static int send_check(const struct sock *s, const struct sock_msg *msg)
{
    const ip_addr_t *to = msg->to ? &msg->to->ip : &s->peer.ip;

    if (s->write_shut)
        return -EPIPE;
    if (!msg->to && s->state != SOCK_CONNECTED)
        return -EDESTADDRREQ;
    if (msg->len > SOCK_DGRAM_MAX)
        return -EMSGSIZE;
    if (msg->to && msg->to->port == 0)
        return -EINVAL;
    if (!s->opt.broadcast && is_broadcast(to))
        return -EACCES;
    return 0;
}

static ssize_t udp_kind_send(struct sock *s, struct sock_msg *msg)
{
    int err = s->error ? sock_take_error(s) : send_check(s, msg);

    if (!err)
        err = bind_if_needed(s);
    if (err)
        return err;
    struct pbuf *p = collect(msg);

    if (!p)
        return -ENOBUFS;
    const err_t lwip_err =
        msg->to ? udp_sendto(s->pcb.udp, p, &msg->to->ip, msg->to->port) : udp_send(s->pcb.udp, p);

    pbuf_free(p);
    err = sock_errno(lwip_err);
    return err ? err : (ssize_t)msg->len;
}

/* ---- receiving ---- */

static int wait_for_datagram(struct sock *s, const struct sock_msg *msg)
{
    bool asked_network = false;

    while (!s->dgram_head) {
        if (s->error)
            return sock_take_error(s);
        if (s->read_shut)
            return 0;
        if (msg->nonblock) {
            if (asked_network)
                return -EAGAIN;
            asked_network = true; /* a loop of recv() and nothing else must see packets */
            thread_yield();
            continue;
        }
        const int err = sock_wait(s, msg->deadline_us);

        if (err)
            return err;
    }
    return 0;
}

static size_t copy_out(struct sock_msg *msg, const struct pbuf *p)
{
    size_t copied = 0;

    for (; p && copied < msg->len; p = p->next)
        copied += iov_put(&msg->pos, p->payload, p->len);
    return copied;
}

static ssize_t udp_kind_recv(struct sock *s, struct sock_msg *msg)
{
    const int waited = wait_for_datagram(s, msg);
    const struct dgram *d = s->dgram_head;

    if (waited || !d)
        return waited;
    const size_t full = d->p->tot_len;
    const size_t copied = copy_out(msg, d->p);

    msg->from = d->from;
    msg->dst = d->dst;
    msg->netif_idx = d->netif_idx;
    if (copied < full)
        msg->flags_out |= MSG_TRUNC;
    if (!(msg->flags & MSG_PEEK))
        dgram_drop_head(s);
    return (ssize_t)((msg->flags & MSG_TRUNC) ? full : copied);
}

static unsigned udp_kind_poll(struct sock *s)
{
    unsigned mask = POLLOUT | POLLWRNORM;

    if (s->dgram_head || s->read_shut)
        mask |= POLLIN | POLLRDNORM;
    if (s->read_shut)
        mask |= POLLRDHUP;
    if (s->read_shut && s->write_shut)
        mask |= POLLHUP;
    return mask;
}

static size_t udp_kind_readable(struct sock *s)
{
    return s->dgram_head ? s->dgram_head->p->tot_len : 0;
}

static int udp_kind_close(struct sock *s)
{
    if (s->pcb.udp)
        udp_remove(s->pcb.udp);
    s->pcb.udp = NULL;
    while (s->dgram_head)
        dgram_drop_head(s);
    return 0;
}

const struct sock_ops sock_udp_ops = {
    .poll = udp_kind_poll,
    .readable = udp_kind_readable,
    .bind = udp_kind_bind,
    .connect = udp_kind_connect,
    .shutdown = udp_kind_shutdown,
    .send = udp_kind_send,
    .recv = udp_kind_recv,
    .close = udp_kind_close,
    .apply = udp_kind_apply,
};
