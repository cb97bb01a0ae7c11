#include "net/tcp_order.h"

#include <stdbool.h>

#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"

enum { WATCH_MS = TCP_TMR_INTERVAL };

static u32_t seqno_of(const struct tcp_seg *seg)
{
    return lwip_ntohl(seg->tcphdr->seqno);
}

/* What fits the window will be sent by lwIP itself. */
static bool fits_window(const struct tcp_pcb *pcb, const struct tcp_seg *seg)
{
    return seqno_of(seg) - pcb->lastack + seg->len <= pcb->snd_wnd;
}

void net_tcp_order(struct tcp_pcb *pcb)
{
    struct tcp_seg *behind = pcb->unacked;
    struct tcp_seg **link = &pcb->unacked;

    while (behind && pcb->unsent && TCP_SEQ_LT(seqno_of(pcb->unsent), seqno_of(behind)) &&
           !fits_window(pcb, pcb->unsent)) {
        struct tcp_seg *seg = pcb->unsent;

        pcb->unsent = seg->next;
        seg->next = behind;
        *link = seg;
        link = &seg->next;
    }
    if (!pcb->unsent)
        pcb->unsent_oversize = 0; /* the room behind it was the last segment's */
}

static void watch(void *arg)
{
    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next)
        net_tcp_order(pcb);
    sys_timeout(WATCH_MS, watch, arg);
}

void net_tcp_order_init(void)
{
    watch(NULL);
}
