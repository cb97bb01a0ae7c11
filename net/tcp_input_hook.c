#include "net/tcp_input_hook.h"

#include "lib/counters.h"
#include "lib/types.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/tcp_recovery.h"
#include "net/tcp_reopen.h"
#include "net/tcp_time_wait.h"

enum { PATIENCE_TICKS = TCP_BACKLOG_PATIENCE_MS / TCP_SLOW_INTERVAL };

static uint64_t evicted, bare, reopened;
static struct counter counters[] = {
    {.name = "tcp_half_open_evicted_total",
     .help = "Half-open connections that made room in a full backlog.",
     .value = &evicted},
    {.name = "tcp_bare_segments_total",
     .help = "Segments dropped that had neither SYN, ACK nor RST.",
     .value = &bare},
    {.name = "tcp_reopened_total",
     .help = "Connections in TIME-WAIT that a new SYN opened again.",
     .value = &reopened},
};

static uint32_t age_ticks(const struct tcp_pcb *pcb)
{
    return tcp_ticks - pcb->tmr;
}

static struct tcp_pcb *oldest_half_open(const struct tcp_pcb_listen *listener)
{
    struct tcp_pcb *oldest = NULL;

    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
        if (pcb->state == SYN_RCVD && pcb->listener == listener &&
            (!oldest || age_ticks(pcb) > age_ticks(oldest)))
            oldest = pcb;
    }
    return oldest;
}

/* No RST: its address may be somebody else's. */
static void make_room(const struct tcp_pcb_listen *listener)
{
    struct tcp_pcb *pcb = oldest_half_open(listener);

    /* A tick may have come right behind it: "more than" is what says that a whole one has passed. */
    if (!pcb || age_ticks(pcb) <= PATIENCE_TICKS)
        return;
    evicted++;
    tcp_abandon(pcb, 0);
}

static void on_syn(const struct tcp_pcb *pcb)
{
    /* lwIP passes listeners as the common type: their first members are the same. */
    const struct tcp_pcb_listen *listener = (const struct tcp_pcb_listen *)(const void *)pcb;

    net_tcp_time_wait_trim();
    if (listener->accepts_pending >= listener->backlog)
        make_room(listener);
}

err_t net_tcp_input_hook(struct tcp_pcb *pcb, struct tcp_hdr *hdr, u16_t optlen, u16_t opt1len,
                         u8_t *opt2, struct pbuf *p)
{
    const unsigned control = TCPH_FLAGS(hdr) & (TCP_SYN | TCP_ACK | TCP_RST);

    if (control == 0) {
        bare++;
        return ERR_VAL;
    }
    if (control == TCP_SYN && pcb->state == LISTEN)
        on_syn(pcb);
    if (control == TCP_SYN && pcb->state == TIME_WAIT && net_tcp_reopen(pcb, hdr, p)) {
        reopened++;
        return ERR_VAL; /* it went its way */
    }
    net_tcp_ack_in(
        pcb, hdr,
        (struct tcp_options_in){
            .first = (const u8_t *)(hdr + 1), .second = opt2, .first_len = opt1len, .len = optlen});
    return ERR_OK;
}

void net_tcp_input_hook_init(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    net_tcp_time_wait_init();
    net_tcp_recovery_init();
}
