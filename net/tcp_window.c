#include "net/tcp_window.h"

#include <stdbool.h>

#include "lwip/priv/tcp_priv.h"

/* What the peer may still send, as it last heard from us. */
static u32_t window_seen_by_peer(const struct tcp_pcb *pcb)
{
    return TCP_SEQ_GT(pcb->rcv_ann_right_edge, pcb->rcv_nxt)
               ? pcb->rcv_ann_right_edge - pcb->rcv_nxt
               : 0;
}

/*
 * A peer that sees less than half the buffer may be waiting for us, so an update worth at least
 * min(half the buffer, MSS) goes out at once (RFC 1122 §4.2.3.3). Above half, lwIP's own
 * threshold decides, and a fast stream isn't acknowledged twice.
 */
static bool update_is_due(const struct tcp_pcb *pcb, u32_t seen)
{
    const u32_t half = TCP_WND_MAX(pcb) / 2;

    return seen < half && pcb->rcv_wnd - seen >= LWIP_MIN(half, pcb->mss);
}

void tcp_window_opened(struct tcp_pcb *pcb, size_t len)
{
    while (len > 0) {
        const u16_t step = (u16_t)LWIP_MIN(len, 0xffff);

        tcp_recved(pcb, step);
        len -= step;
    }

    const u32_t seen = window_seen_by_peer(pcb);
    if (pcb->rcv_wnd > seen && update_is_due(pcb, seen)) {
        tcp_ack_now(pcb);
        tcp_output(pcb);
    }
}
