/*
 * A hook of lwipopts.h: each TCP header passes here when its options are written.
 *
 * TCP_MAXSEG. lwIP announces the MSS that the interface has; a program that asked for a smaller one has it written over
 * the option of its SYN (RFC 9293 §3.7.1: what we announce is what the peer sends at most).
 *
 * SO_RCVBUF. The first window is lwIP's 64 KiB, whatever the program wants. A peer cuts its segments by the largest window
 * it has seen, and with a smaller one later on they would never fit.
 *
 * Retransmissions. lwIP counts those in a row, for its timer, but not those of a connection: TCP_INFO and iperf3's
 * column "Retr" want them. A segment with data that begins before what was sent already is one.
 */
#ifndef NET_TCP_SEGMENT_HOOK_H
#define NET_TCP_SEGMENT_HOOK_H

#include "lwip/prot/tcp.h"
#include "lwip/tcp.h"

/* What we keep with each of lwIP's control blocks: the one slot of LWIP_TCP_PCB_NUM_EXT_ARGS holds it. */
struct net_tcp_extra {
    uint16_t mss_max;       /* TCP_MAXSEG; 0: the interface's */
    uint16_t syn_window;    /* bytes at most; 0: lwIP's */
    uint32_t retransmitted; /* segments; wraps */
};

struct net_tcp_extra net_tcp_extra_get(const struct tcp_pcb *pcb);

/* For SYNs to come; those of a listener's connections, too. 0: no limit. pcb may be a listener. */
void net_tcp_limit_syn(struct tcp_pcb *pcb, uint16_t mss_max, uint16_t window);

/* lwIP: `opts` is where the next option goes, and the result the same. pcb may be NULL. */
u32_t *net_tcp_segment_out(const struct pbuf *p, struct tcp_hdr *hdr, const struct tcp_pcb *pcb,
                           u32_t *opts);

#endif
