/*
 * The sending half of a UDP test: -R, --full-duplex, and the way back of -d and -r.
 *
 * Datagrams leave at the rate the client asked for, or in bursts; several at a time where the gap between
 * them is below a tick of a millisecond. The end is a datagram with a negative id; on the way back it is
 * repeated until the client's report arrives, FIN_TRIES times at most.
 */
#ifndef APPS_IPERF_IPERF2_UDP_SEND_H
#define APPS_IPERF_IPERF2_UDP_SEND_H

#include "apps/iperf/iperf2_wire.h"
#include "lwip/udp.h"

struct udp_sender;

/*
 * Send from the client's own flow: pcb is the server's, and not ours. `done(arg)` is called when the test is over, from
 * the ticker; the sender is freed then. Returns NULL without memory, or when there are too many.
 */
struct udp_sender *udp_sender_start(struct udp_pcb *pcb, const ip_addr_t *local,
                                    const ip_addr_t *peer, uint16_t port,
                                    const struct iperf2_request *req, void (*done)(void *arg),
                                    void *arg);

/* End it now, without done(). NULL is fine. */
void udp_sender_cancel(struct udp_sender *s);

/* Send to req->back_port at `peer` from a port of our own; nobody waits for it. */
void udp_back_start(const ip_addr_t *local, const ip_addr_t *peer,
                    const struct iperf2_request *req);

#endif
