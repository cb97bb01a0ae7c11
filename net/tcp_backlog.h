/*
 * A hook of lwipopts.h: a listener whose backlog is full of half-open connections makes room for a new one.
 *
 * lwIP counts a half-open connection against the backlog from its SYN on, for 20 s, and ignores every SYN
 * while the backlog is full. 255 SYNs from addresses that never answer would thus close a port for 20 s, and a few
 * hundred of them now and then for good (RFC 4987 §2). So when a SYN finds the backlog full, the oldest
 * half-open connection goes, provided that it had TCP_BACKLOG_PATIENCE_MS to complete: an honest client that is
 * among many is never reset for it, and one whose own SYN found no room comes back a second later
 * (RFC 6298 §2.1) to find some.
 */
#ifndef NET_TCP_BACKLOG_H
#define NET_TCP_BACKLOG_H

#include "lwip/err.h"
#include "lwip/prot/tcp.h"

struct tcp_pcb;

/* Longer than a round trip, and shorter than the second after which a client repeats its SYN. lwIP counts half seconds. */
enum { TCP_BACKLOG_PATIENCE_MS = 500 };

/* Called for each segment before its connection (or listener) gets it. Always ERR_OK: nothing is held back. */
err_t net_tcp_backlog(const struct tcp_pcb *pcb, const struct tcp_hdr *hdr);

/* Half-open connections that went for newer ones are counted as tcp_half_open_evicted_total. Call once. */
void net_tcp_backlog_init(void);

#endif
