/* TCP's socket options. Numbers and struct tcp_info: <netinet/tcp.h>. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#undef TCP_MSS /* the host's header has one, of another meaning than lwIP's */

#include <errno.h>
#include <string.h>

#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/sock_opt.h"
#include "net/sock_tcp.h"
#include "net/tcp_segment_hook.h"

enum {
    KEEP_SECONDS_MAX = 32767, /* Linux's limits */
    KEEP_COUNT_MAX = 127,
    MSS_MIN = 88,
    MSS_MAX = 32767,
    MSS_DEFAULT = 536, /* RFC 9293 §3.7.1: until the peer has spoken */
    TIMESTAMP_BYTES = 12,
    RTT_UNIT_US = TCP_SLOW_INTERVAL * 1000,
};

static const char CONGESTION[] = "reno";

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
    pcb->netif_idx = s->opt.device_idx ? s->opt.device_idx : NETIF_NO_INDEX;
    if (s->state != SOCK_CONNECTED)
        net_tcp_limit_syn(pcb, s->opt.mss_max,
                          (uint16_t)size_min(sock_buffer_bytes(s->recv_limit), UINT16_MAX));
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

static int set_mss(struct sock *s, int value)
{
    if (value != 0 && (value < MSS_MIN || value > MSS_MAX))
        return -EINVAL;
    s->opt.mss_max = (uint16_t)value;
    sock_tcp_apply(s); /* before connect() and listen(); the handshake of others is over */
    return 0;
}

static int set_number(struct sock *s, int name, int value)
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
    case TCP_MAXSEG:
        return set_mss(s, value);
    case TCP_KEEPIDLE:
    case TCP_KEEPINTVL:
    case TCP_KEEPCNT:
        return set_keepalive(s, name, value);
    case TCP_USER_TIMEOUT:
        if (value < 0)
            return -EINVAL;
        s->opt.user_timeout_ms = (uint32_t)value;
        return 0;
    case TCP_DEFER_ACCEPT: /* hints: lwIP's own timing stays */
        s->opt.defer_accept = (uint8_t)(value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : value);
        return 0;
    case TCP_SYNCNT:
        if (in_range(value, 1, KEEP_COUNT_MAX))
            return -EINVAL;
        s->opt.syn_count = (uint8_t)value;
        return 0;
    case TCP_QUICKACK:
    case TCP_LINGER2:
    case TCP_WINDOW_CLAMP:
    case TCP_NOTSENT_LOWAT:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

/* There is one algorithm: RFC 5681's. */
static int set_congestion(const void *value, socklen_t len)
{
    if (!value || len < 1)
        return -EINVAL;
    const size_t used = strnlen(value, len);

    return used == strlen(CONGESTION) && memcmp(value, CONGESTION, used) == 0 ? 0 : -ENOENT;
}

int sock_tcp_setopt(struct sock *s, int name, const void *value, socklen_t len)
{
    int number;

    if (name == TCP_CONGESTION)
        return set_congestion(value, len);
    const int err = sock_opt_in(value, len, &number, sizeof(number));

    return err ? err : set_number(s, name, number);
}

static const uint8_t linux_state[] = {
    [CLOSED] = TCP_CLOSE,         [LISTEN] = TCP_LISTEN,           [SYN_SENT] = TCP_SYN_SENT,
    [SYN_RCVD] = TCP_SYN_RECV,    [ESTABLISHED] = TCP_ESTABLISHED, [FIN_WAIT_1] = TCP_FIN_WAIT1,
    [FIN_WAIT_2] = TCP_FIN_WAIT2, [CLOSE_WAIT] = TCP_CLOSE_WAIT,   [CLOSING] = TCP_CLOSING,
    [LAST_ACK] = TCP_LAST_ACK,    [TIME_WAIT] = TCP_TIME_WAIT,
};

/* What a segment carries: options take their share of the MSS. */
static uint32_t segment_bytes(const struct tcp_pcb *pcb)
{
    return pcb->mss - (pcb->flags & TF_TIMESTAMP ? TIMESTAMP_BYTES : 0u);
}

static uint32_t in_segments(const struct tcp_pcb *pcb, uint32_t bytes)
{
    return pcb->mss ? (bytes + pcb->mss - 1u) / pcb->mss : 0;
}

/* Our own measurement (sock_tcp_io.c): lwIP's is in steps of half a second. */
static void rtt_of(struct tcp_info *info, const struct sock *s)
{
    info->tcpi_rtt = s->rtt_us;
    info->tcpi_rttvar = s->rtt_var_us;
    info->tcpi_min_rtt = s->rtt_min_us;
}

static void info_of(struct tcp_info *info, const struct tcp_pcb *pcb)
{
    const struct netif *netif = ip_route(&pcb->local_ip, &pcb->remote_ip);

    info->tcpi_pmtu = netif && netif->mtu ? netif->mtu : UINT16_MAX;
    info->tcpi_total_retrans = net_tcp_extra_get(pcb).retransmitted;
    info->tcpi_ca_state = pcb->flags & TF_INFR ? TCP_CA_Recovery
                          : pcb->nrtx          ? TCP_CA_Loss
                                               : TCP_CA_Open;
    info->tcpi_probes = pcb->persist_probe;
    info->tcpi_backoff = pcb->nrtx;
    info->tcpi_notsent_bytes = pcb->snd_lbb - pcb->snd_nxt;
    info->tcpi_snd_wnd = pcb->snd_wnd;
    info->tcpi_reordering = 3;
    info->tcpi_state = linux_state[pcb->state];
    info->tcpi_retransmits = pcb->nrtx;
    info->tcpi_options = (uint8_t)((pcb->flags & TF_TIMESTAMP ? TCPI_OPT_TIMESTAMPS : 0) |
                                   (pcb->flags & TF_SACK ? TCPI_OPT_SACK : 0) |
                                   (pcb->flags & TF_WND_SCALE ? TCPI_OPT_WSCALE : 0));
    info->tcpi_snd_wscale = pcb->snd_scale & 0xfu;
    info->tcpi_rcv_wscale = pcb->rcv_scale & 0xfu;
    info->tcpi_rto = (uint32_t)pcb->rto * RTT_UNIT_US;
    info->tcpi_snd_mss = info->tcpi_rcv_mss = info->tcpi_advmss = segment_bytes(pcb);
    info->tcpi_unacked = in_segments(pcb, pcb->snd_nxt - pcb->lastack);
    info->tcpi_snd_ssthresh = in_segments(pcb, pcb->ssthresh);
    info->tcpi_snd_cwnd = in_segments(pcb, pcb->cwnd);
    info->tcpi_rcv_space = pcb->rcv_wnd;
}

static int get_info(const struct sock *s, void *value, socklen_t *len)
{
    struct tcp_info info = {.tcpi_state = TCP_CLOSE};

    if (s->state == SOCK_LISTENING)
        info.tcpi_state = TCP_LISTEN;
    else if (s->pcb.tcp)
        info_of(&info, s->pcb.tcp);
    rtt_of(&info, s);
    return sock_opt_out(value, len, &info, sizeof(info));
}

/* Linux fills TCP_CA_NAME_MAX bytes. */
static int get_congestion(void *value, socklen_t *len)
{
    char name[TCP_CA_NAME_MAX] = {0};

    memcpy(name, CONGESTION, sizeof(CONGESTION));
    return sock_opt_out(value, len, name, sizeof(name));
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
    case TCP_MAXSEG:
        if (has_block && s->state == SOCK_CONNECTED)
            *number = (int)segment_bytes(s->pcb.tcp);
        else
            *number = s->opt.mss_max ? s->opt.mss_max : MSS_DEFAULT;
        return 0;
    case TCP_USER_TIMEOUT:
        *number = (int)s->opt.user_timeout_ms;
        return 0;
    case TCP_DEFER_ACCEPT:
        *number = s->opt.defer_accept;
        return 0;
    case TCP_SYNCNT:
        *number = s->opt.syn_count ? s->opt.syn_count : TCP_SYNMAXRTX;
        return 0;
    case TCP_LINGER2:
        *number = TCP_FIN_WAIT_TIMEOUT / 1000;
        return 0;
    case TCP_WINDOW_CLAMP:
    case TCP_NOTSENT_LOWAT:
        *number = 0;
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
        return get_congestion(value, len);
    const int err = get_number(s, name, &number);

    return err ? err : sock_opt_int_out(value, len, number);
}
