/* What datagram sockets share: a bounded queue of what came, with addresses; how it is read. */
#ifndef NET_SOCK_DGRAM_H
#define NET_SOCK_DGRAM_H

#include "net/sock_impl.h"

/*
 * From within lwIP's input: queue p (takes it, or frees it when SO_RCVBUF is full or memory is short; counted) as
 * sent by from:port, with what ip_current_…() know of it.
 */
void sock_dgram_put(struct sock *s, struct pbuf *p, const ip_addr_t *from, u16_t port);

void sock_dgram_clear(struct sock *s);

/* Before the kind's own checks: what any datagram must satisfy. Returns 0; -EPIPE, -EDESTADDRREQ, -EMSGSIZE, -EACCES. */
int sock_dgram_send_check(const struct sock *s, const struct sock_msg *msg, size_t max_bytes);

/* The iovecs' bytes as one pbuf; NULL without memory. */
struct pbuf *sock_dgram_collect(struct sock_msg *msg);

/* sock_ops of both kinds */
ssize_t sock_dgram_recv(struct sock *s, struct sock_msg *msg);
unsigned sock_dgram_poll(struct sock *s);
size_t sock_dgram_readable(struct sock *s);
int sock_dgram_shutdown(struct sock *s, int how);

/* getsockname() after connect() tells the address that packets will leave from. `pcb_ip`: the pcb's own. */
int sock_dgram_learn_source(struct sock *s, const ip_addr_t *pcb_ip, const ip_addr_t *to);

#endif
