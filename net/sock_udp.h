/* UDP sockets, inner interface. */
#ifndef NET_SOCK_UDP_H
#define NET_SOCK_UDP_H

#include <stdbool.h>

#include "lwip/udp.h"

/* Is pcb a socket's? Then its recv_arg is the struct sock. */
bool sock_udp_owns(const struct udp_pcb *pcb);

#endif
