/* TCP's socket options. Numbers and struct tcp_info: <netinet/tcp.h>. */
#include <netinet/tcp.h>
#undef TCP_MSS /* the host's header has one, of another meaning than lwIP's */

#include <errno.h>
#include <string.h>

#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/sock_tcp.h"

enum {
    KEEP_SECONDS_MAX = 32767, /* Linux's limits */
    KEEP_COUNT_MAX = 127,
    RTT_UNIT_US = TCP_SLOW_INTERVAL * 1000,
};

void sock_tcp_apply(struct sock *s)
{
    struct tcp_pcb *pcb = s->pcb.tcp;

    if (!pcb)
        return;
    ip_reset_option(pcb, SOF_REUSEADDR | SOF_KEEPALIVE);
    if (s->opt.reuse_addr || s->opt.reuse_port)
        ip_set_option(pcb, SOF_REUSEADDR);
    if (s->opt.keepalive)
        ip_set_option(pcb, SOF_KEEPALIVE);
    pcb->tos = s->opt.tos;
    pcb->ttl = s->opt.ttl;
    if (s->state == SOCK_CONNECTED)
        sock_tcp_window_update(s, 0); /* SO_RCVBUF may have been raised */
    if (s->state == SOCK_LISTENING)   /* a smaller block, without the rest */
        return;
    if (s->opt.nodelay)
        tcp_nagle_disable(pcb);
    else
        tcp_nagle_enable(pcb);
    pcb->keep_idle = s->opt.keep_idle_s * 1000;
    pcb->keep_intvl = s->opt.keep_interval_s * 1000;
    pcb->keep_cnt = s->opt.keep_count;
}

static int in_range(int value, int min, int max)
{
    return value >= min && value <= max ? 0 : -EINVAL;
}

/* What was held back leaves when the hindrance is taken off. */
static void push(struct sock *s)
{
    if (s->pcb.tcp && s->state == SOCK_CONNECTED)
        (void)tcp_output(s->pcb.tcp);
}

static int set_keepalive(struct sock *s, int name, int value)
{
    const int err = in_range(value, 1, name == TCP_KEEPCNT ? KEEP_COUNT_MAX : KEEP_SECONDS_MAX);

    if (err)
        return err;
    if (name == TCP_KEEPIDLE)
        s->opt.keep_idle_s = (uint32_t)value;
    else if (name == TCP_KEEPINTVL)
        s->opt.keep_interval_s = (uint32_t)value;
    else
        s->opt.keep_count = (uint32_t)value;
    sock_tcp_apply(s);
    return 0;
}

int sock_tcp_setopt(struct sock *s, int name, int value)
{
    switch (name) {
    case TCP_NODELAY:
        s->opt.nodelay = value != 0;
        sock_tcp_apply(s);
        if (value)
            push(s);
        return 0;
    case TCP_CORK:
        s->opt.cork = value != 0;
        if (!value)
            push(s);
        return 0;
    case TCP_KEEPIDLE:
    case TCP_KEEPINTVL:
    case TCP_KEEPCNT:
        return set_keepalive(s, name, value);
    case TCP_QUICKACK: /* hints: lwIP's own timing stays */
    case TCP_DEFER_ACCEPT:
    case TCP_SYNCNT:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

static const uint8_t linux_state[] = {
    [CLOSED] = TCP_CLOSE,         [LISTEN] = TCP_LISTEN,           [SYN_SENT] = TCP_SYN_SENT,
    [SYN_RCVD] = TCP_SYN_RECV,    [ESTABLISHED] = TCP_ESTABLISHED, [FIN_WAIT_1] = TCP_FIN_WAIT1,
    [FIN_WAIT_2] = TCP_FIN_WAIT2, [CLOSE_WAIT] = TCP_CLOSE_WAIT,   [CLOSING] = TCP_CLOSING,
    [LAST_ACK] = TCP_LAST_ACK,    [TIME_WAIT] = TCP_TIME_WAIT,
};

/* lwIP keeps the smoothed round-trip time in slow-timer ticks, eightfold; its deviation fourfold (RFC 6298). */
static void info_of(struct tcp_info *info, const struct tcp_pcb *pcb)
{
    info->tcpi_state = linux_state[pcb->state];
    info->tcpi_retransmits = pcb->nrtx;
    info->tcpi_options = (uint8_t)((pcb->flags & TF_TIMESTAMP ? TCPI_OPT_TIMESTAMPS : 0) |
                                   (pcb->flags & TF_SACK ? TCPI_OPT_SACK : 0) |
                                   (pcb->flags & TF_WND_SCALE ? TCPI_OPT_WSCALE : 0));
    info->tcpi_snd_wscale = pcb->snd_scale & 0xfu;
    info->tcpi_rcv_wscale = pcb->rcv_scale & 0xfu;
    info->tcpi_rto = (uint32_t)pcb->rto * RTT_UNIT_US;
    info->tcpi_snd_mss = info->tcpi_rcv_mss = info->tcpi_advmss = pcb->mss;
    info->tcpi_unacked = (pcb->snd_nxt - pcb->lastack + pcb->mss - 1u) / LWIP_MAX(pcb->mss, 1u);
    info->tcpi_rtt = pcb->sa > 0 ? (uint32_t)pcb->sa * RTT_UNIT_US / 8 : 0;
    info->tcpi_rttvar = pcb->sv > 0 ? (uint32_t)pcb->sv * RTT_UNIT_US / 4 : 0;
    info->tcpi_snd_ssthresh = pcb->ssthresh / LWIP_MAX(pcb->mss, 1u);
    info->tcpi_snd_cwnd = pcb->cwnd / LWIP_MAX(pcb->mss, 1u);
    info->tcpi_rcv_space = pcb->rcv_wnd;
}

static int get_info(const struct sock *s, void *value, socklen_t *len)
{
    struct tcp_info info = {.tcpi_state = TCP_CLOSE};

    if (s->state == SOCK_LISTENING)
        info.tcpi_state = TCP_LISTEN;
    else if (s->pcb.tcp)
        info_of(&info, s->pcb.tcp);
    *len = (socklen_t)size_min(*len, sizeof(info));
    memcpy(value, &info, *len);
    return 0;
}

static int get_text(const char *text, void *value, socklen_t *len)
{
    *len = (socklen_t)size_min(*len, strlen(text) + 1);
    memcpy(value, text, *len);
    return 0;
}

static int get_number(const struct sock *s, int name, int *number)
{
    const bool has_block = s->pcb.tcp && s->state != SOCK_LISTENING;

    switch (name) {
    case TCP_NODELAY:
        *number = s->opt.nodelay;
        return 0;
    case TCP_CORK:
        *number = s->opt.cork;
        return 0;
    case TCP_KEEPIDLE:
        *number = (int)s->opt.keep_idle_s;
        return 0;
    case TCP_KEEPINTVL:
        *number = (int)s->opt.keep_interval_s;
        return 0;
    case TCP_KEEPCNT:
        *number = (int)s->opt.keep_count;
        return 0;
    case TCP_MAXSEG: /* RFC 9293 §3.7.1: 536 until the peer has spoken */
        *number = has_block && s->state == SOCK_CONNECTED ? s->pcb.tcp->mss : 536;
        return 0;
    case TCP_QUICKACK:
        *number = 1;
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

int sock_tcp_getopt(struct sock *s, int name, void *value, socklen_t *len)
{
    int number;

    if (name == TCP_INFO)
        return get_info(s, value, len);
    if (name == TCP_CONGESTION)
        return get_text("reno", value, len);
    const int err = get_number(s, name, &number);

    if (err)
        return err;
    *len = (socklen_t)size_min(*len, sizeof(number));
    memcpy(value, &number, *len);
    return 0;
}
