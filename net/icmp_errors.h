/*
 * "Destination unreachable", handed to the socket whose packet it answers: lwIP throws it away.
 *
 * A connected UDP socket hears ECONNREFUSED of a closed port; a TCP socket that is still connecting hears why it
 * can't. Established connections hear nothing: such a message is easily forged, and may pass (RFC 5927 §4).
 */
#ifndef NET_ICMP_ERRORS_H
#define NET_ICMP_ERRORS_H

#include "lwip/ip_addr.h"

/* Listen to ICMP and ICMPv6. Call once, after lwip_init(). */
void net_icmp_errors_init(void);

/* What such a message says of our packet. */
struct icmp_error {
    int error; /* positive errno */
    u8_t protocol;
    ip_addr_t local, remote;
    u16_t local_port, remote_port;
    u32_t seq; /* TCP's */
};

/* sock_udp.c, sock_tcp.c: tell the socket, if there is one and it is as above. */
void sock_udp_unreachable(const struct icmp_error *e);
void sock_tcp_unreachable(const struct icmp_error *e);

#endif
