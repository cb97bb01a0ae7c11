/*
 * What all services of this image share: how they listen, watch over their connections and close them.
 *
 * A connection ends in one of three ways: both sides have sent FIN and everything arrived; the peer resets it or
 * stops answering (keepalive: 30 s of silence, then a probe each 5 s, given up after the 6th); or it makes
 * no progress while it owes us some, for SERVICE_STALL_S.
 */
#ifndef APPS_IPERF_SERVICE_H
#define APPS_IPERF_SERVICE_H

#include "lib/types.h"
#include "lwip/tcp.h"
#include "lwip/udp.h"

enum {
    SERVICE_STALL_S = 300,
    SERVICE_ADDR_TEXT_MAX = 64,
};

/* Listen on both families. Returns 0 or -ENOMEM, -EADDRINUSE, after logging it. */
int service_listen_tcp(uint16_t port, tcp_accept_fn accept);
int service_listen_udp(uint16_t port, udp_recv_fn recv, struct udp_pcb **pcb);

/*
 * At the start of an accept callback: keepalive on, Nagle off. False when memory is so short that
 * a new connection would endanger those we have (counted): then return service_refuse(pcb).
 */
bool service_admit(struct tcp_pcb *pcb, err_t err);
err_t service_refuse(struct tcp_pcb *pcb); /* RST; gives the pcb to lwIP. Returns ERR_ABRT */

/*
 * Queue up to `want` bytes of payload_at(*pos …) by reference; *pos moves on. Stops where the send buffer, or its
 * room for segments, ends; leaves a rest smaller than a sixteenth of the buffer for later, so that
 * segments stay large. Returns the bytes queued; tcp_output() is left to the caller.
 */
uint64_t service_send_payload(struct tcp_pcb *pcb, uint64_t *pos, uint64_t want);

/* Answer a datagram to where the callback's datagram came from, from the address it was sent to. Borrows p. */
err_t service_reply_udp(struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *addr, u16_t port);

/* "10.0.0.1:53422", "[fe80::1]:80" */
void service_addr_text(char out[SERVICE_ADDR_TEXT_MAX], const ip_addr_t *addr, uint16_t port);

/* Bytes of memory that could be had now. */
size_t service_memory_free(void);

/* Register the counters of this file. */
void service_counters_init(void);

#endif
