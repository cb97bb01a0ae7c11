/* BSD's addresses and lwIP's. RFC 3493: an AF_INET6 socket speaks IPv4 through mapped addresses, ::ffff:a.b.c.d. */
#ifndef NET_SOCK_ADDR_H
#define NET_SOCK_ADDR_H

#include "net/sock_impl.h"

/*
 * A caller's address for a socket of `family`.
 * Returns 0; -EFAULT without an address; -EINVAL when len is too small; -EAFNOSUPPORT for another family; -ENETUNREACH for
 * a mapped address on a socket with v6only.
 */
int sock_addr_in(struct sock_name *out, const struct sockaddr *addr, socklen_t len, uint8_t family,
                 bool v6only);

/* As getpeername() and recvfrom() give it: cut to *len bytes; *len becomes the size it has. addr may be NULL. */
void sock_addr_out(const struct sock_name *name, uint8_t family, struct sockaddr *addr,
                   socklen_t *len);

/* The wildcard address for bind: both versions for AF_INET6 without v6only. */
void sock_addr_any(ip_addr_t *ip, uint8_t family, bool v6only);

/* Can be bound to: an address of ours, or any of them. */
bool sock_addr_is_local(const ip_addr_t *ip);

/* 255.255.255.255, or the broadcast address of one of our networks. */
bool sock_addr_is_broadcast(const ip_addr_t *ip);

#endif
