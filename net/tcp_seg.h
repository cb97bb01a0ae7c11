/*
 * Segments of lwIP's send queues: made, measured, cut.
 *
 * A `struct tcp_seg` here holds up to 64 KB: what one hand-over to the device can carry. It is cut into segments of the MSS
 * by the device, or by net/tso.c. Where a window, a loss or an acknowledgement falls inside, the segment is cut first:
 * the bytes stay where they are, the rear part only gets a header of its own.
 *
 * Poll loop only, as all of lwIP.
 */
#ifndef NET_TCP_SEG_H
#define NET_TCP_SEG_H

#include <stdbool.h>

#include "drivers/netdev.h"
#include "lwip/priv/tcp_priv.h"

/* pbufs of one segment: its headers count as one. Longer ones would have to be copied together for the device. */
enum { TCP_SEG_PIECES_MAX = NETDEV_PIECES_MAX - 4 };

static inline u32_t tcp_seg_seqno(const struct tcp_seg *seg)
{
    return lwip_ntohl(seg->tcphdr->seqno);
}

/* The sequence number behind it; SYN and FIN count as one (RFC 9293 §3.4). */
static inline u32_t tcp_seg_end(const struct tcp_seg *seg)
{
    return tcp_seg_seqno(seg) + TCP_TCPLEN(seg);
}

/* The device, or a backlog, still holds its pbufs: nothing of it may be changed. */
static inline bool tcp_seg_busy(const struct tcp_seg *seg)
{
    return seg->p->ref != 1;
}

/* Option bytes in front of a data segment's payload. */
u8_t tcp_seg_option_bytes(const struct tcp_pcb *pcb);

/* Payload bytes of one segment on the wire: the MSS without options, not more than half of what the peer ever offered
 * (RFC 9293 §3.8.6.2.1), at least 1. */
u16_t tcp_seg_payload(const struct tcp_pcb *pcb);

/*
 * A segment of p: `optlen` bytes for options, then its data. Room for TCP's header lies in front.
 * Takes p, also on failure. NULL: no memory.
 */
struct tcp_seg *tcp_seg_make(const struct tcp_pcb *pcb, struct pbuf *p, u8_t hdrflags, u32_t seqno,
                             u8_t optflags);

/*
 * Cut a segment of data: it keeps its first `at` bytes, 1 … len - 1; the rest, FIN and PSH with it, becomes the segment
 * behind it in the same queue. Nothing is copied. The segment must not be busy.
 *
 * Returns ERR_OK, or ERR_MEM with nothing changed.
 */
err_t tcp_seg_cut(struct tcp_pcb *pcb, struct tcp_seg *seg, u16_t at);

/*
 * Take what is acknowledged off the front of *queue, which is `unsent` or `unacked` of pcb: lwIP frees whole segments only, and those
 * that were whole when the acknowledgement came. A busy one that is acknowledged in part stays as it is, and so does one for which there is no memory: then the peer gets some bytes twice.
 */
void tcp_seg_drop_acked(struct tcp_pcb *pcb, struct tcp_seg **queue);

#endif
