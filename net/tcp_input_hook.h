/*
 * A hook of lwipopts.h: each incoming segment passes here before its connection or listener gets it.
 *
 * No control bit at all. lwIP takes the data of such a segment, without the check of its acknowledgement number: half of
 * what a blind attacker would have to guess (RFC 5961 §5). It is dropped, as RFC 9293 §3.10.7.4 (fifth) has it.
 *
 * A SYN for a connection in TIME-WAIT: tcp_reopen.h.
 *
 * A listener whose backlog is full of half-open connections makes room for a new one.
 * lwIP counts a half-open connection against the backlog from its SYN on, for 20 s, and ignores every SYN
 * while the backlog is full. 255 SYNs from addresses that never answer would thus close a port for 20 s, and a few
 * hundred of them now and then for good (RFC 4987 §2). So when a SYN finds the backlog full, the oldest
 * half-open connection goes, provided that it had TCP_BACKLOG_PATIENCE_MS to complete: an honest client that is
 * among many is never reset for it, and one whose own SYN found no room comes back a second later
 * (RFC 6298 §2.1) to find some.
 */
#ifndef NET_TCP_INPUT_HOOK_H
#define NET_TCP_INPUT_HOOK_H

#include "lwip/err.h"
#include "lwip/prot/tcp.h"

struct pbuf;
struct tcp_pcb;

/* Longer than a round trip, and shorter than the second after which a client repeats its SYN. lwIP counts in its slow ticks. */
enum { TCP_BACKLOG_PATIENCE_MS = 500 };

/* lwIP: the options are opt1len bytes behind hdr, and the rest at opt2 (in the next pbuf; may be NULL). ERR_OK: go on. Anything else: the segment is dropped. */
err_t net_tcp_input_hook(struct tcp_pcb *pcb, struct tcp_hdr *hdr, u16_t optlen, u16_t opt1len,
                         u8_t *opt2, struct pbuf *p);

/* Register the counters of what is done here. Call once. */
void net_tcp_input_hook_init(void);

#endif
