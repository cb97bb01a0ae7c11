/* TCP sockets, inner interface: the control block's side (sock_tcp.c), the bytes (sock_tcp_io.c), options. */
#ifndef NET_SOCK_TCP_H
#define NET_SOCK_TCP_H

#include "net/sock_impl.h"

/* The control block is s's from now on: its callbacks lead here. */
void sock_tcp_attach(struct sock *s, struct tcp_pcb *pcb);

/* lwIP keeps the block and calls nobody. Returns it; NULL: there was none. */
struct tcp_pcb *sock_tcp_take_off(struct sock *s);

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

/* SO_RCVLOWAT, as far as the window allows it. At least 1. */
size_t sock_tcp_lowat(const struct sock *s);

/* ---- sock_tcp_open.c ---- */
int sock_tcp_bind(struct sock *s, const struct sock_name *name);
int sock_tcp_listen(struct sock *s, int backlog);
int sock_tcp_accept(struct sock *s, struct sock **conn, bool nonblock);
int sock_tcp_connect(struct sock *s, const struct sock_name *peer, bool nonblock);
void sock_tcp_unqueue(struct sock *listener, struct sock *conn); /* out of the accept queue */

/* The handshake is over: TCP_MAXSEG binds what we send as well. */
void sock_tcp_limit_mss(const struct sock *s);

/* ---- sock_tcp_io.c ---- */
void sock_tcp_rtt_acked(struct sock *s); /* something was acknowledged */
ssize_t sock_tcp_send(struct sock *s, struct sock_msg *msg);
ssize_t sock_tcp_recv(struct sock *s, struct sock_msg *msg);

/* ---- sock_tcp_opt.c ---- */
void sock_tcp_apply(struct sock *s);
int sock_tcp_setopt(struct sock *s, int name, const void *value, socklen_t len);
int sock_tcp_getopt(struct sock *s, int name, void *value, socklen_t *len);

#endif
