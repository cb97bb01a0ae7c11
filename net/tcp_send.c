#include "net/tcp_send.h"

#include "lib/types.h"
#include "lwip/inet_chksum.h"
#include "lwip/ip.h"
#include "lwip/ip4.h"
#include "lwip/ip6.h"
#include "lwip/netif.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/ip6.h"
#include "lwip/stats.h"
#include "lwip/sys.h"
#include "net/tcp_recovery.h"
#include "net/tcp_seg.h"
#include "net/tcp_segment_hook.h"
#include "net/tso.h"
#include "net/vif.h"

enum {
    /* What lies around the payload of the longest packet: IPv6 and TCP with all its options. */
    HEADERS_MAX = IP6_HLEN + 60,
    /* A window with less than its n-th part open is waited for, while data is under way: few large frames cost less. */
    DEFER_SHARE = 8,
};

/* ---- the way to the peer ---- */

static struct netif *route(const struct tcp_pcb *pcb)
{
    return pcb->netif_idx == NETIF_NO_INDEX ? ip_route(&pcb->local_ip, &pcb->remote_ip)
                                            : netif_get_by_index(pcb->netif_idx);
}

u16_t net_tcp_segment_limit(const struct tcp_pcb *pcb, u32_t wanted)
{
    const u16_t payload = tcp_seg_payload(pcb);
    if (wanted <= payload)
        return payload;
    const struct netif *netif = route(pcb);
    if (!netif || !vif_takes_long_packets(netif))
        return payload;

    const u32_t most = LWIP_MIN((u32_t)UINT16_MAX - HEADERS_MAX, pcb->snd_wnd_max / 2);
    const u32_t count = LWIP_MIN(most / payload, (u32_t)TSO_SEGMENTS_MAX);

    return (u16_t)(LWIP_MAX(count, 1u) * payload);
}

static bool choose_local_address(struct tcp_pcb *pcb, struct netif *netif)
{
    if (!ip_addr_isany(&pcb->local_ip))
        return true;
    const ip_addr_t *local = ip_netif_get_local_ip(netif, &pcb->remote_ip);

    if (!local)
        return false;
    ip_addr_copy(pcb->local_ip, *local);
    return true;
}

/* ---- one segment ---- */

static u32_t *put_options(const struct tcp_seg *seg, struct tcp_pcb *pcb, struct netif *netif)
{
    u32_t *opt = (u32_t *)(void *)(seg->tcphdr + 1);

    if (seg->flags & TF_SEG_OPTS_MSS) {
        const u16_t mss = tcp_eff_send_mss_netif(TCP_MSS, netif, &pcb->remote_ip);

        *opt++ = TCP_BUILD_MSS_OPTION(mss);
    }
    pcb->ts_lastacksent = pcb->rcv_nxt;
    if (seg->flags & TF_SEG_OPTS_TS) { /* RFC 7323 §3.2 */
        *opt++ = PP_HTONL(0x0101080a);
        *opt++ = lwip_htonl(sys_now());
        *opt++ = lwip_htonl(pcb->ts_recent);
    }
    if (seg->flags & TF_SEG_OPTS_WND_SCALE) /* RFC 7323 §2.2 */
        *opt++ = PP_HTONL(0x01030300 | TCP_RCV_SCALE);
    if (seg->flags & TF_SEG_OPTS_SACK_PERM) /* RFC 2018 §2 */
        *opt++ = PP_HTONL(0x01010402);
    return opt;
}

/* What changes each time it is sent: RFC 9293 §3.1; a SYN's window is never scaled (RFC 7323 §2.2). */
static void put_header(const struct tcp_seg *seg, struct tcp_pcb *pcb, struct netif *netif)
{
    const bool syn = seg->flags & TF_SEG_OPTS_WND_SCALE;
    const u32_t window = syn ? pcb->rcv_ann_wnd : RCV_WND_SCALE(pcb, pcb->rcv_ann_wnd);

    if (pcb->state != SYN_SENT)
        TCPH_SET_FLAG(seg->tcphdr, TCP_ACK);
    seg->tcphdr->ackno = lwip_htonl(pcb->rcv_nxt);
    seg->tcphdr->wnd = lwip_htons(TCPWND_MIN16(window));
    seg->tcphdr->chksum = 0;
    seg->tcphdr->urgp = 0;
    pcb->rcv_ann_right_edge = pcb->rcv_nxt + pcb->rcv_ann_wnd;
    (void)net_tcp_segment_out(seg->p, seg->tcphdr, pcb, put_options(seg, pcb, netif));
}

/* The IP packet begins at TCP's header: what stood before it was the last transmission's. */
static void take_headers_off(struct tcp_seg *seg)
{
    const u16_t len = (u16_t)((u8_t *)seg->tcphdr - (u8_t *)seg->p->payload);

    seg->p->len = (u16_t)(seg->p->len - len);
    seg->p->tot_len = (u16_t)(seg->p->tot_len - len);
    seg->p->payload = seg->tcphdr;
}

/* RFC 6298 §5.1; one round trip at a time is measured. */
static void start_timers(struct tcp_pcb *pcb, u32_t seqno)
{
    if (pcb->rtime < 0)
        pcb->rtime = 0;
    if (pcb->rttest == 0) {
        pcb->rttest = tcp_ticks;
        pcb->rtseq = seqno;
    }
}

/* lwIP's IP layer would cut a packet above the MTU into fragments; this is the header that it would have put in front. */
static err_t send_long4(struct tcp_pcb *pcb, struct pbuf *p, u16_t count, struct netif *netif)
{
    static u16_t id;
    struct ip_hdr *ip;

    if (pbuf_add_header(p, IP_HLEN) != 0)
        return ERR_BUF;
    ip = p->payload;
    IPH_VHL_SET(ip, 4, IP_HLEN / 4);
    IPH_TOS_SET(ip, pcb->tos);
    IPH_LEN_SET(ip, lwip_htons(p->tot_len));
    IPH_OFFSET_SET(ip, 0);
    IPH_ID_SET(ip, lwip_htons(id));
    id = (u16_t)(id + count); /* each segment will have its own (RFC 6864 §4) */
    IPH_TTL_SET(ip, pcb->ttl);
    IPH_PROTO_SET(ip, IP_PROTO_TCP);
    ip4_addr_copy(ip->src, *ip_2_ip4(&pcb->local_ip));
    ip4_addr_copy(ip->dest, *ip_2_ip4(&pcb->remote_ip));
    IPH_CHKSUM_SET(ip, 0);
    IPH_CHKSUM_SET(ip, inet_chksum(ip, IP_HLEN));
    IP_STATS_INC(ip.xmit);
    return netif->output(netif, p, ip_2_ip4(&pcb->remote_ip));
}

static err_t send_long6(struct tcp_pcb *pcb, struct pbuf *p, struct netif *netif)
{
    struct ip6_hdr *ip;
    const u16_t payload = p->tot_len;

    if (pbuf_add_header(p, IP6_HLEN) != 0)
        return ERR_BUF;
    ip = p->payload;
    IP6H_VTCFL_SET(ip, 6, pcb->tos, 0);
    IP6H_PLEN_SET(ip, payload);
    IP6H_NEXTH_SET(ip, IP6_NEXTH_TCP);
    IP6H_HOPLIM_SET(ip, pcb->ttl);
    ip6_addr_copy_to_packed(ip->src, *ip_2_ip6(&pcb->local_ip));
    ip6_addr_copy_to_packed(ip->dest, *ip_2_ip6(&pcb->remote_ip));
    IP6_STATS_INC(ip6.xmit);
    return netif->output_ip6(netif, p, ip_2_ip6(&pcb->remote_ip));
}

static err_t send_long(struct tcp_pcb *pcb, struct tcp_seg *seg, u16_t payload, struct netif *netif)
{
    seg->tcphdr->urgp = lwip_htons(payload);
    return IP_IS_V6_VAL(pcb->remote_ip)
               ? send_long6(pcb, seg->p, netif)
               : send_long4(pcb, seg->p, (u16_t)((seg->len + payload - 1) / payload), netif);
}

static err_t send_packet(struct tcp_pcb *pcb, struct pbuf *p, struct netif *netif)
{
    struct tcp_hdr *hdr = p->payload;

    IF__NETIF_CHECKSUM_ENABLED(netif, NETIF_CHECKSUM_GEN_TCP)
    {
        hdr->chksum =
            ip_chksum_pseudo(p, IP_PROTO_TCP, p->tot_len, &pcb->local_ip, &pcb->remote_ip);
    }
    return ip_output_if(p, &pcb->local_ip, &pcb->remote_ip, pcb->ttl, pcb->tos, IP_PROTO_TCP,
                        netif);
}

/* ERR_OK as well for a segment that is on its way already. */
static err_t send_segment(struct tcp_pcb *pcb, struct tcp_seg *seg, struct netif *netif)
{
    const u16_t payload = tcp_seg_payload(pcb);
    err_t err;

    if (tcp_seg_busy(seg))
        return ERR_OK;
    take_headers_off(seg);
    put_header(seg, pcb, netif);
    start_timers(pcb, tcp_seg_seqno(seg));
    TCP_STATS_INC(tcp.xmit);
    NETIF_SET_HINTS(netif, &pcb->netif_hints);
    err =
        seg->len > payload ? send_long(pcb, seg, payload, netif) : send_packet(pcb, seg->p, netif);
    NETIF_RESET_HINTS(netif);
    return err;
}

/* ---- what may be sent now ---- */

/* Nagle (RFC 9293 §3.7.4): a segment that isn't full waits while something is unacknowledged. */
static bool held_by_nagle(const struct tcp_pcb *pcb, const struct tcp_seg *seg, u16_t payload)
{
    return pcb->unacked && !seg->next && seg->len < payload &&
           !(pcb->flags & (TF_NODELAY | TF_INFR | TF_NAGLEMEMERR | TF_FIN)) && pcb->snd_buf > 0 &&
           pcb->snd_queuelen < TCP_SND_QUEUELEN;
}

/* An acknowledgement that opens the window further is on its way. In recovery what is under way may be little. */
static bool more_comes(const struct tcp_pcb *pcb)
{
    return pcb->unacked && !(pcb->flags & TF_INFR);
}

/* Bytes of seg that may go: all, whole segments of it, or 0 for none yet. An empty one (SYN, FIN) goes when `usable` says so. */
static u16_t sendable(const struct tcp_pcb *pcb, const struct tcp_seg *seg, u32_t wnd)
{
    const u32_t offset = tcp_seg_seqno(seg) - pcb->lastack;
    const u32_t usable = wnd > offset ? wnd - offset : 0;
    const u16_t payload = tcp_seg_payload(pcb);
    u16_t len = seg->len;

    if (len > usable) {
        const u16_t whole = (u16_t)(usable - usable % payload);

        return more_comes(pcb) && (u32_t)whole * DEFER_SHARE < wnd ? 0 : whole;
    }
    if (len > payload && len % payload != 0 && !seg->next) {
        const struct tcp_seg rest = {.len = (u16_t)(len % payload)};

        if (held_by_nagle(pcb, &rest, payload))
            len = (u16_t)(len - rest.len);
    }
    return len;
}

/* The segment as it may be sent: cut to `len`, and to one MSS where the way takes no more. */
static err_t fit(struct tcp_pcb *pcb, struct tcp_seg *seg, u16_t len, const struct netif *netif)
{
    const u16_t payload = tcp_seg_payload(pcb);

    if (len > payload && !vif_takes_long_packets(netif))
        len = payload;
    if (len >= seg->len || tcp_seg_busy(seg))
        return ERR_OK;
    return tcp_seg_cut(pcb, seg, len);
}

/* ---- the queues ---- */

/* Keep `unacked` in the stream's order: a retransmission goes in front of what was sent after it. */
static void put_unacked(struct tcp_pcb *pcb, struct tcp_seg **hint, struct tcp_seg *seg)
{
    struct tcp_seg **link = &pcb->unacked;

    if (*hint && TCP_SEQ_GEQ(tcp_seg_seqno(seg), tcp_seg_seqno(*hint)))
        link = &(*hint)->next;
    while (*link && TCP_SEQ_LT(tcp_seg_seqno(*link), tcp_seg_seqno(seg)))
        link = &(*link)->next;
    seg->next = *link;
    *link = seg;
    *hint = seg;
}

/* It was handed over. */
static void move_to_unacked(struct tcp_pcb *pcb, struct tcp_seg **hint)
{
    struct tcp_seg *seg = pcb->unsent;
    const u32_t end = tcp_seg_end(seg);

    pcb->unsent = seg->next;
    if (!pcb->unsent)
        pcb->unsent_oversize = 0;
    if (pcb->state != SYN_SENT)
        tcp_clear_flags(pcb, TF_ACK_DELAY | TF_ACK_NOW);
    if (TCP_SEQ_LT(pcb->snd_nxt, end))
        pcb->snd_nxt = end;
    if (TCP_TCPLEN(seg) > 0)
        put_unacked(pcb, hint, seg);
    else
        tcp_seg_free(seg);
}

static bool fits_window(const struct tcp_pcb *pcb, const struct tcp_seg *seg, u32_t wnd)
{
    return tcp_seg_seqno(seg) - pcb->lastack + seg->len <= wnd;
}

/* After a timeout everything waits once more; of some of it the peer has said again that it is there. */
static bool has_it(const struct tcp_pcb *pcb, const struct tcp_seg *seg)
{
    return (pcb->flags & TF_RTO) && net_tcp_sacked(pcb, tcp_seg_seqno(seg), tcp_seg_end(seg));
}

/* Then a segment is cut where that begins or ends. */
static u16_t cut_for_skipping(const struct tcp_pcb *pcb, const struct tcp_seg *seg, u16_t len)
{
    const u32_t from = tcp_seg_seqno(seg);

    return pcb->flags & TF_RTO ? (u16_t)(net_tcp_alike_until(pcb, from, from + len) - from) : len;
}

/* Whether something of the first segment may go; cut to what may. */
static bool ready_to_send(struct tcp_pcb *pcb, struct netif *netif, u32_t wnd)
{
    tcp_seg_drop_acked(pcb, &pcb->unsent);
    struct tcp_seg *seg = pcb->unsent;

    if (!seg)
        return false;
    if (seg->len == 0)
        return fits_window(pcb, seg, wnd);
    const u16_t len = cut_for_skipping(pcb, seg, sendable(pcb, seg, wnd));

    return len > 0 && !held_by_nagle(pcb, seg, tcp_seg_payload(pcb)) &&
           fit(pcb, seg, len, netif) == ERR_OK && fits_window(pcb, seg, wnd);
}

static err_t send_what_may(struct tcp_pcb *pcb, struct netif *netif, u32_t wnd)
{
    struct tcp_seg *hint = NULL;

    while (pcb->unsent && ready_to_send(pcb, netif, wnd)) {
        const err_t err = has_it(pcb, pcb->unsent) ? ERR_OK : send_segment(pcb, pcb->unsent, netif);

        if (err != ERR_OK) {
            tcp_set_flags(pcb, TF_NAGLEMEMERR);
            return err;
        }
        pcb->persist_backoff = 0;
        move_to_unacked(pcb, &hint);
    }
    return ERR_OK;
}

/* The peer's window has no room for what waits, and nothing is under way that could bring news of it (RFC 9293 §3.8.6.1). */
static void watch_window(struct tcp_pcb *pcb, u32_t wnd)
{
    if (pcb->unsent && !pcb->unacked && wnd == pcb->snd_wnd && pcb->persist_backoff == 0 &&
        !fits_window(pcb, pcb->unsent, wnd)) {
        pcb->persist_cnt = 0;
        pcb->persist_backoff = 1;
        pcb->persist_probe = 0;
    }
}

/* ---- what is lost ---- */

/*
 * The unacknowledged segment that is just these bytes, or fewer from their start: cut out of a longer one. NULL: there is none that
 * may be sent now.
 */
static struct tcp_seg *cut_out(struct tcp_pcb *pcb, const struct seq_range *bytes,
                               const struct netif *netif)
{
    tcp_seg_drop_acked(pcb, &pcb->unacked);
    struct tcp_seg *seg = pcb->unacked;

    while (seg && TCP_SEQ_LEQ(tcp_seg_end(seg), bytes->left))
        seg = seg->next;
    if (!seg || TCP_SEQ_GT(tcp_seg_seqno(seg), bytes->left) || tcp_seg_busy(seg))
        return NULL;
    const u32_t skip = bytes->left - tcp_seg_seqno(seg);

    if (skip > 0) {
        if (skip >= seg->len || tcp_seg_cut(pcb, seg, (u16_t)skip) != ERR_OK)
            return NULL;
        seg = seg->next;
    }
    const u32_t len = LWIP_MIN(bytes->right - bytes->left, seg->len);

    return fit(pcb, seg, (u16_t)len, netif) == ERR_OK ? seg : NULL;
}

static err_t send_lost(struct tcp_pcb *pcb, struct netif *netif)
{
    struct seq_range bytes;

    while (net_tcp_resend_next(pcb, &bytes)) {
        struct tcp_seg *seg = cut_out(pcb, &bytes, netif);
        const err_t err = seg ? send_segment(pcb, seg, netif) : ERR_OK;

        if (!seg || err != ERR_OK)
            return err;
        net_tcp_resent(pcb, tcp_seg_end(seg));
    }
    return ERR_OK;
}

static err_t output(struct tcp_pcb *pcb)
{
    struct netif *netif = route(pcb);
    if (!netif || !choose_local_address(pcb, netif))
        return ERR_RTE;
    err_t err = send_lost(pcb, netif);
    const u32_t wnd = net_tcp_send_window(pcb);

    if (err == ERR_OK && pcb->unsent)
        err = send_what_may(pcb, netif, wnd);

    if (err == ERR_OK)
        watch_window(pcb, wnd);
    return err;
}

err_t tcp_output(struct tcp_pcb *pcb)
{
    err_t err = ERR_OK;

    LWIP_ASSERT("not for listeners", pcb->state != LISTEN);
    if (tcp_input_pcb == pcb)
        return ERR_OK; /* it is called again when the segment has been dealt with */
    net_tcp_ack_done(pcb);
    if (pcb->unsent || (pcb->flags & TF_INFR))
        err = output(pcb);
    if (err != ERR_OK)
        return err;
    if (pcb->flags & TF_ACK_NOW)
        return tcp_send_empty_ack(pcb); /* no data took it along */
    tcp_clear_flags(pcb, TF_NAGLEMEMERR);
    return ERR_OK;
}

/* lwIP's persist timer, when the window is open a little: fill it. */
err_t tcp_split_unsent_seg(struct tcp_pcb *pcb, u16_t split)
{
    struct tcp_seg *seg = pcb->unsent;

    if (!seg || split == 0)
        return ERR_VAL;
    if (seg->len <= split || tcp_seg_busy(seg))
        return ERR_OK;
    return tcp_seg_cut(pcb, seg, split);
}

/* ---- again ---- */

/* lwIP has put everything back to `unsent`, and the congestion window is one segment. */
void tcp_rexmit_rto_commit(struct tcp_pcb *pcb)
{
    if (pcb->nrtx < UINT8_MAX)
        pcb->nrtx++;
    net_tcp_timed_out(pcb);
    (void)tcp_output(pcb);
}

void tcp_rexmit_rto(struct tcp_pcb *pcb)
{
    if (tcp_rexmit_rto_prepare(pcb) == ERR_OK)
        tcp_rexmit_rto_commit(pcb);
}

void tcp_rexmit_fast(struct tcp_pcb *pcb)
{
    if (pcb->unacked)
        net_tcp_loss_seen(pcb);
}
