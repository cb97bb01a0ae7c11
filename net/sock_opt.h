/* Socket options, inner interface: each level has its file. Values and lengths are getsockopt()'s and setsockopt()'s. */
#ifndef NET_SOCK_OPT_H
#define NET_SOCK_OPT_H

#include <errno.h>
#include <string.h>

#include "net/sock_impl.h"

/* The value's first `size` bytes. -EINVAL: there are fewer. */
static inline int sock_opt_in(const void *value, socklen_t len, void *to, size_t size)
{
    if (!value || len < size)
        return -EINVAL;
    memcpy(to, value, size);
    return 0;
}

/* POSIX: a value too long for the caller's room is cut. */
static inline int sock_opt_out(void *value, socklen_t *len, const void *from, size_t size)
{
    *len = (socklen_t)size_min(*len, size);
    memcpy(value, from, *len);
    return 0;
}

static inline int sock_opt_int_out(void *value, socklen_t *len, int number)
{
    return sock_opt_out(value, len, &number, sizeof(number));
}

/* ---- sock_ip_opt.c ---- */
int sock_ip4_setopt(struct sock *s, int name, const void *value, socklen_t len);
int sock_ip6_setopt(struct sock *s, int name, const void *value, socklen_t len);
int sock_ip4_getopt(const struct sock *s, int name, void *value, socklen_t *len);
int sock_ip6_getopt(const struct sock *s, int name, void *value, socklen_t *len);

/* ---- sock_group.c: multicast membership; IP_ADD_MEMBERSHIP, IPV6_JOIN_GROUP and their opposites ---- */
int sock_group4(struct sock *s, int name, const void *value, socklen_t len);
int sock_group6(struct sock *s, int name, const void *value, socklen_t len);
void sock_group_leave_all(struct sock *s); /* the socket is closed */

#endif
