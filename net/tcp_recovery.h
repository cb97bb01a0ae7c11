/*
 * A sender's answer to loss and to acknowledgements: RFC 6675 (SACK), RFC 6582 for a peer without, RFC 5681 in between.
 *
 * lwIP counts duplicates and cuts its window; what is sent again, and when that is over, is decided here. Around each incoming segment:
 *
 *   net_tcp_ack_in()      the hook before lwIP looks at it: SACK blocks, and what the window was
 *   (lwIP)                frees what is acknowledged; three duplicates call tcp_rexmit_fast()
 *   net_tcp_ack_done()    tcp_output(), the first thing: the congestion window; recovery begins, goes on or ends
 *   net_tcp_resend_next() tcp_output(), until it says no: the next piece to be sent again
 *
 * Its state exists from a connection's first loss on, in a slot of lwIP's control block. Without memory for it there is no fast
 * recovery, and the retransmission timer repairs what is lost.
 *
 * Poll loop only.
 */
#ifndef NET_TCP_RECOVERY_H
#define NET_TCP_RECOVERY_H

#include "lwip/priv/tcp_priv.h"
#include "net/tcp_sack.h"

/* The slots of LWIP_TCP_PCB_NUM_EXT_ARGS. */
enum { TCP_SLOT_EXTRA, TCP_SLOT_RECOVERY };

/* The options of an incoming segment as lwIP has them: in one piece, or continued in the next pbuf. */
struct tcp_options_in {
    const u8_t *first, *second;
    u16_t first_len, len; /* in the first piece; in all */
};

/* lwIP has turned the numbers in hdr into the host's order by then. */
void net_tcp_ack_in(struct tcp_pcb *pcb, const struct tcp_hdr *hdr, struct tcp_options_in opts);
void net_tcp_ack_done(struct tcp_pcb *pcb);

/* lwIP saw three duplicate acknowledgements. */
void net_tcp_loss_seen(struct tcp_pcb *pcb);

/* The retransmission timer fired: everything begins anew (RFC 6675 §5.1; RFC 2018 §8 forgets the blocks). */
void net_tcp_timed_out(struct tcp_pcb *pcb);

/*
 * The next bytes to be sent again: at most what the window has room for, whole segments where there are that many.
 * False: nothing now. net_tcp_resent() says up to where they went.
 */
bool net_tcp_resend_next(struct tcp_pcb *pcb, struct seq_range *bytes);
void net_tcp_resent(struct tcp_pcb *pcb, u32_t end);

/* Bytes from lastack on that may be sent in all: the smaller of both windows; in recovery, by what is still under way. */
u32_t net_tcp_send_window(const struct tcp_pcb *pcb);

/* The peer holds all of [left, right). */
bool net_tcp_sacked(const struct tcp_pcb *pcb, u32_t left, u32_t right);

/* Up to where [left, right) is all held by the peer, or all missing, from its first byte on. */
u32_t net_tcp_alike_until(const struct tcp_pcb *pcb, u32_t left, u32_t right);

/* Register the counters of what is done here. Call once. */
void net_tcp_recovery_init(void);

#endif
