/*
 * For servers over lwIP's raw API: listen on both families, and give a connection back. From lwIP's callbacks, or with
 * net_lock() held.
 */
#ifndef NET_TCP_SERVE_H
#define NET_TCP_SERVE_H

#include <stdint.h>

#include "lwip/tcp.h"

/* tcp_poll()'s interval for one call a second: lwIP counts in its slow ticks. */
enum { TCP_POLL_EACH_SECOND = 1000 / (2 * TCP_TMR_INTERVAL) };

/* Call `accept` for each connection to this port. Returns 0, -ENOMEM or -EADDRINUSE. */
int net_tcp_listen(uint16_t port, tcp_accept_fn accept);

/*
 * Give the pcb back to lwIP with FIN after what is queued; its callbacks are forgotten. Everything received must have been
 * consumed, or the peer gets RST. Returns ERR_OK or ERR_ABRT, for a callback of this pcb to return.
 */
err_t net_tcp_close(struct tcp_pcb *pcb);

/* The same with RST. Returns ERR_ABRT. */
err_t net_tcp_abort(struct tcp_pcb *pcb);

#endif
