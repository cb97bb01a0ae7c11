/*
 * A watch over lwIP's two lists of segments to send.
 *
 * lwIP's timer for retransmission puts `unacked` in front of `unsent`, taking for granted that it comes first in the
 * stream. A fast retransmission breaks that: it moves the first unacknowledged segment to `unsent`, and when the peer's
 * window has closed in the meantime it stays there. After the next timeout it stands behind segments that the peer has
 * already; with a congestion window of one segment it is never sent, and the connection stands still until it is reset.
 */
#ifndef NET_TCP_ORDER_H
#define NET_TCP_ORDER_H

#include "lwip/tcp.h"

/* Look after all connections from now on, several times within the shortest retransmission timeout. After lwip_init(). */
void net_tcp_order_init(void);

/* Take segments that wait in `unsent` for a window, and belong before `unacked`, back to its front. */
void net_tcp_order(struct tcp_pcb *pcb);

#endif
