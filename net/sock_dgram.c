#include "net/sock_dgram.h"

#include <errno.h>
#include <netinet/in.h>

#include "lib/page_frag.h"
#include "lwip/ip.h"
#include "lwip/pbuf.h"
#include "net/sock_addr.h"

struct dgram {
    struct dgram *next;
    struct pbuf *p;
    struct sock_name from, dst;
    uint8_t netif_idx, ttl, tos;
};

/* ---- arrival ---- */

static size_t accounted(const struct pbuf *p)
{
    return p->tot_len + (size_t)SOCK_DGRAM_OVERHEAD_BYTES;
}

static void header_facts(struct dgram *d)
{
    if (ip_current_is_v6()) {
        d->ttl = IP6H_HOPLIM(ip6_current_header());
        d->tos = (uint8_t)IP6H_TC(ip6_current_header());
    } else {
        d->ttl = IPH_TTL(ip4_current_header());
        d->tos = IPH_TOS(ip4_current_header());
    }
}

static struct dgram *dgram_new(struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    struct frag *f = frag_take(sizeof(struct dgram), FRAG_SMALL);

    if (!f)
        return NULL;
    struct dgram *d = (struct dgram *)(void *)frag_start(f);

    *d = (struct dgram){.p = p, .netif_idx = netif_get_index(ip_current_input_netif())};
    header_facts(d);
    ip_addr_copy(d->from.ip, *from);
    d->from.port = port;
    ip_addr_copy(d->dst.ip, *ip_current_dest_addr());
    return d;
}

void sock_dgram_put(struct sock *s, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    struct dgram *d = NULL;

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

void sock_dgram_clear(struct sock *s)
{
    while (s->dgram_head)
        dgram_drop_head(s);
}

/* ---- names ---- */

int sock_dgram_learn_source(struct sock *s, const ip_addr_t *pcb_ip, const ip_addr_t *to)
{
    struct netif *netif = ip_route(pcb_ip, to);
    const ip_addr_t *source = netif ? ip_netif_get_local_ip(netif, to) : NULL;

    if (!source)
        return -ENETUNREACH;
    if (ip_addr_isany(&s->local.ip) || IP_IS_ANY_TYPE_VAL(s->local.ip))
        ip_addr_copy(s->local.ip, *source);
    return 0;
}

int sock_dgram_shutdown(struct sock *s, int how)
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

struct pbuf *sock_dgram_collect(struct sock_msg *msg)
{
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)msg->len, PBUF_RAM);

    if (p && msg->len > 0)
        (void)iov_take(&msg->pos, p->payload, msg->len);
    return p;
}

/* With path MTU discovery nothing is fragmented (RFC 1191 §6.5): what would have to be is refused. */
static bool is_too_large(const struct sock *s, const ip_addr_t *to, size_t len)
{
    const bool v4 = IP_IS_V4(to);
    const struct netif *netif = ip_route(&s->local.ip, to);
    const size_t heads = (v4 ? IP_HLEN : IP6_HLEN) + (s->protocol == IPPROTO_UDP ? 8u : 0u);

    if (s->opt.mtu_discover != IP_PMTUDISC_DO && s->opt.mtu_discover != IP_PMTUDISC_PROBE)
        return false;
    return netif && netif->mtu && len + heads > netif->mtu;
}

int sock_dgram_send_check(const struct sock *s, const struct sock_msg *msg, size_t max_bytes)
{
    const ip_addr_t *to = msg->to ? &msg->to->ip : &s->peer.ip;

    if (s->write_shut)
        return -EPIPE;
    if (!msg->to && s->state != SOCK_CONNECTED)
        return -EDESTADDRREQ;
    if (msg->len > max_bytes || is_too_large(s, to, msg->len))
        return -EMSGSIZE;
    if (!s->opt.broadcast && sock_addr_is_broadcast(to))
        return -EACCES;
    return 0;
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

ssize_t sock_dgram_recv(struct sock *s, struct sock_msg *msg)
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
    msg->ttl = d->ttl;
    msg->tos = d->tos;
    if (copied < full)
        msg->flags_out |= MSG_TRUNC;
    if (!(msg->flags & MSG_PEEK))
        dgram_drop_head(s);
    return (ssize_t)((msg->flags & MSG_TRUNC) ? full : copied);
}

unsigned sock_dgram_poll(struct sock *s)
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

size_t sock_dgram_readable(struct sock *s)
{
    return s->dgram_head ? s->dgram_head->p->tot_len : 0;
}
