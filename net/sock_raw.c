/*
 * Raw sockets (any protocol; IPv4's come with their IP header, as everywhere) and Linux's "ping sockets": SOCK_DGRAM with
 * ICMP, which carry echo requests and get the replies to their own. RFC 792, RFC 4443; RFC 3542 §3 for IPv6.
 */
#include <netinet/in.h>

#include <errno.h>
#include <string.h>

#include "lib/random.h"
#include "lwip/inet_chksum.h"
#include "lwip/ip.h"
#include "lwip/raw.h"
#include "net/sock_addr.h"
#include "net/sock_dgram.h"
#include "net/sock_opt.h"

enum {
    ECHO_BYTES = 8, /* the head of an echo */
    ECHO4_REQUEST = 8,
    ECHO4_REPLY = 0,
    ECHO6_REQUEST = 128,
    ECHO6_REPLY = 129,
    RAW_MAX = 65515, /* 65,535 less IPv4's header */
};

/* RFC 792's and RFC 4443's are the same but for the types. */
struct echo {
    uint8_t type, code;
    uint16_t checksum, id, sequence; /* network order */
};
static_assert(sizeof(struct echo) == ECHO_BYTES, "RFC 792");

static bool is_ping(const struct sock *s)
{
    return s->type == SOCK_DGRAM;
}

/* ---- arrival ---- */

/* Others may want the packet as well, lwIP itself among them: everyone gets a copy. */
static struct pbuf *copy_from(struct pbuf *p, size_t skip)
{
    struct pbuf *copy = pbuf_alloc(PBUF_RAW, (u16_t)(p->tot_len - skip), PBUF_RAM);

    if (copy)
        pbuf_copy_partial(p, copy->payload, copy->tot_len, (u16_t)skip);
    return copy;
}

static bool is_own_reply(const struct sock *s, const struct pbuf *p, size_t skip)
{
    struct echo echo;

    if (pbuf_copy_partial(p, &echo, sizeof(echo), (u16_t)skip) < sizeof(echo))
        return false;
    return echo.type == (s->family == AF_INET ? ECHO4_REPLY : ECHO6_REPLY) &&
           lwip_ntohs(echo.id) == s->local.port;
}

/* lwIP shows the packet from its IP header on, and goes on with it when this returns 0. */
static u8_t on_packet(void *arg, struct raw_pcb *pcb, struct pbuf *p, const ip_addr_t *from)
{
    struct sock *s = arg;
    const size_t head = ip_current_header_tot_len();
    /* Only IPv4's raw sockets are shown the header. */
    const size_t skip = is_ping(s) || s->family == AF_INET6 ? head : 0;

    (void)pcb;
    if (p->tot_len < skip || (is_ping(s) && !is_own_reply(s, p, skip)))
        return 0;
    struct pbuf *copy = copy_from(p, skip);

    if (copy)
        sock_dgram_put(s, copy, from, 0);
    else
        s->dgram_dropped++;
    return 0;
}

/* ---- names ---- */

static void raw_apply(struct sock *s)
{
    struct raw_pcb *pcb = s->pcb.raw;

    if (!pcb)
        return;
    pcb->so_options = s->opt.broadcast ? SOF_BROADCAST : 0;
    pcb->tos = s->opt.tos;
    pcb->ttl = s->opt.ttl;
    pcb->netif_idx = s->opt.device_idx ? s->opt.device_idx : NETIF_NO_INDEX;
    pcb->mcast_ttl = s->opt.mcast_ttl;
    pcb->mcast_ifindex = s->opt.mcast_if;
}

/* Raw sockets hear from the moment they are made: the control block comes with the first use, poll() and recv() included. */
static int need_pcb(struct sock *s)
{
    if (s->pcb.raw)
        return 0;
    s->pcb.raw =
        raw_new_ip_type(s->family == AF_INET ? IPADDR_TYPE_V4 : IPADDR_TYPE_V6, s->protocol);
    if (!s->pcb.raw)
        return -ENOBUFS;
    if (s->protocol == IPPROTO_ICMPV6) { /* RFC 3542 §3.1: we compute it */
        s->pcb.raw->chksum_reqd = 1;
        s->pcb.raw->chksum_offset = offsetof(struct echo, checksum);
    }
    if (is_ping(s) && !s->local.port)
        s->local.port = (u16_t)(random_u32() | 1);
    raw_recv(s->pcb.raw, on_packet, s);
    raw_apply(s);
    return 0;
}

static int raw_bind_to(struct sock *s, const struct sock_name *name)
{
    if (!sock_addr_is_local(&name->ip))
        return -EADDRNOTAVAIL;
    if (is_ping(s) && name->port)
        s->local.port = name->port;
    int err = need_pcb(s);

    if (!err && !ip_addr_isany(&name->ip))
        err = sock_errno(raw_bind(s->pcb.raw, &name->ip));
    if (err)
        return err;
    s->bound = true;
    ip_addr_copy(s->local.ip, name->ip);
    return 0;
}

static int raw_connect_to(struct sock *s, const struct sock_name *peer, bool nonblock)
{
    (void)nonblock;
    int err = need_pcb(s);

    if (!err && ip_addr_isany(&peer->ip)) {
        raw_disconnect(s->pcb.raw);
        s->state = SOCK_IDLE;
        return 0;
    }
    if (!err)
        err = sock_dgram_learn_source(s, &s->pcb.raw->local_ip, &peer->ip);
    if (!err)
        err = sock_errno(raw_connect(s->pcb.raw, &peer->ip));
    if (err)
        return err;
    s->peer = *peer;
    s->state = SOCK_CONNECTED;
    return 0;
}

/* ---- sending ---- */

/* A ping socket's id and checksum are ours to fill in. */
static int finish_echo(const struct sock *s, struct pbuf *p)
{
    struct echo echo;

    if (p->len < sizeof(echo))
        return -EINVAL;
    memcpy(&echo, p->payload, sizeof(echo));
    if (echo.type != (s->family == AF_INET ? ECHO4_REQUEST : ECHO6_REQUEST) || echo.code != 0)
        return -EINVAL;
    echo.id = lwip_htons(s->local.port);
    echo.checksum = 0;
    memcpy(p->payload, &echo, sizeof(echo));
    if (s->family == AF_INET) {
        echo.checksum = inet_chksum_pbuf(p);
        memcpy(p->payload, &echo, sizeof(echo));
    }
    return 0;
}

static ssize_t raw_kind_send(struct sock *s, struct sock_msg *msg)
{
    int err = s->error ? sock_take_error(s) : sock_dgram_send_check(s, msg, RAW_MAX);

    if (!err)
        err = need_pcb(s);
    if (err)
        return err;
    struct pbuf *p = sock_dgram_collect(msg);

    if (!p)
        return -ENOBUFS;
    if (is_ping(s))
        err = finish_echo(s, p);
    if (!err)
        err = sock_errno(raw_sendto(s->pcb.raw, p, msg->to ? &msg->to->ip : &s->peer.ip));
    pbuf_free(p);
    return err ? err : (ssize_t)msg->len;
}

static ssize_t raw_kind_recv(struct sock *s, struct sock_msg *msg)
{
    const int err = need_pcb(s);

    return err ? err : sock_dgram_recv(s, msg);
}

static unsigned raw_kind_poll(struct sock *s)
{
    (void)need_pcb(s);
    return sock_dgram_poll(s);
}

static int raw_kind_close(struct sock *s)
{
    if (s->pcb.raw)
        raw_remove(s->pcb.raw);
    s->pcb.raw = NULL;
    sock_group_leave_all(s);
    sock_dgram_clear(s);
    return 0;
}

const struct sock_ops sock_raw_ops = {
    .poll = raw_kind_poll,
    .readable = sock_dgram_readable,
    .bind = raw_bind_to,
    .connect = raw_connect_to,
    .shutdown = sock_dgram_shutdown,
    .send = raw_kind_send,
    .recv = raw_kind_recv,
    .close = raw_kind_close,
    .apply = raw_apply,
};
