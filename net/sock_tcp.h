/* TCP sockets, inner interface: the control block's side (sock_tcp.c), the bytes (sock_tcp_io.c), options. */
#ifndef NET_SOCK_TCP_H
#define NET_SOCK_TCP_H

#include "net/sock_impl.h"

/* Make sure that s has a control block to bind or connect. Returns 0 or -ENOBUFS. */
int sock_tcp_need_pcb(struct sock *s);

/*
 * Both directions are done: lwIP alone brings the connection to its end. lwIP frees a block in TIME-WAIT without
 * telling anybody, so it must not be kept beyond this point.
 */
void sock_tcp_detach(struct sock *s);

/* At least a quarter of the send buffer is free, and lwIP has memory: worth a writer's while. */
bool sock_tcp_writable(const struct sock *s);

/*
 * The connection is there: its window begins small and grows as the program reads, up to SO_RCVBUF and to its
 * share of memory. So many idle or slow readers can't promise more memory than there is.
 */
void sock_tcp_window_start(struct sock *s);

/* `consumed` bytes left the queue: give the peer as much window as there may be. 0: look again. */
void sock_tcp_window_update(struct sock *s, size_t consumed);

/* Give back all of it: tcp_close() takes a window that isn't whole for unread data, and resets. */
void sock_tcp_window_restore(struct sock *s);

ssize_t sock_tcp_send(struct sock *s, struct sock_msg *msg);
ssize_t sock_tcp_recv(struct sock *s, struct sock_msg *msg);

/* ---- sock_tcp_opt.c ---- */
void sock_tcp_apply(struct sock *s);
int sock_tcp_setopt(struct sock *s, int name, int value);
int sock_tcp_getopt(struct sock *s, int name, void *value, socklen_t *len);

#endif
