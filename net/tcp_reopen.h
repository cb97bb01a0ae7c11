/*
 * A SYN for a connection in TIME-WAIT opens it anew when it is no old duplicate: RFC 9293 §3.10.7.4, RFC 6191.
 *
 * lwIP answers it with an ACK and ignores the client's RST to that, so that a client which uses a port again within
 * the minute of TIME-WAIT hangs for the rest of it. A few hundred connections a second are enough for that: a
 * client has 28,000 ports.
 */
#ifndef NET_TCP_REOPEN_H
#define NET_TCP_REOPEN_H

#include "lwip/prot/tcp.h"
#include "lwip/tcp.h"

/*
 * pcb is in TIME-WAIT; p is the SYN as lwIP's input has it: header taken off and in host order. True: pcb is gone, and the
 * segment went through lwIP's input once more, to a listener or to nobody; the caller keeps its reference. False: nothing
 * was done.
 */
bool net_tcp_reopen(struct tcp_pcb *pcb, struct tcp_hdr *hdr, struct pbuf *p);

#endif
