/*
 * Initial sequence numbers as RFC 6528 §3 wants them: a 4 µs clock plus a keyed hash of the connection's
 * addresses and ports, so that nobody off the path can guess the next one, and an old duplicate of
 * the same connection lies behind.
 */
#ifndef NET_TCP_ISN_H
#define NET_TCP_ISN_H

/* Draw the secret. Call once, after random_init(), before the first connection. */
void tcp_isn_init(void);

#endif
