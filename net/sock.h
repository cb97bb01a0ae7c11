/*
 * Sockets: BSD's calls over lwIP's raw API. docs/decisions/0002-sockets-over-raw-lwip.md says why not lwIP's own.
 *
 * These functions do what POSIX.1-2017 says of the call of the same name and take its arguments, but return
 * a negative errno instead of setting errno; net/posix/ gives them their POSIX names. Where POSIX
 * leaves a choice they do what Linux does. They may wait, so they are for threads, not for callbacks.
 *
 * AF_INET and AF_INET6 (dual-stack unless IPV6_V6ONLY), SOCK_STREAM and SOCK_DGRAM; AF_UNIX within the image.
 */
#ifndef NET_SOCK_H
#define NET_SOCK_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
    SOCK_BACKLOG_MAX = 255,    /* lwIP counts in 8 bits */
    SOCK_BACKLOG_OF_ZERO = 16, /* POSIX: listen(fd, 0) means an implementation-defined minimum */
};

/* type may carry SOCK_NONBLOCK and SOCK_CLOEXEC. Returns a descriptor; -EAFNOSUPPORT, -EPROTONOSUPPORT,
 * -ESOCKTNOSUPPORT, -EINVAL, -EMFILE, -ENOBUFS. */
int sock_socket(int domain, int type, int protocol);

/* Two connected sockets of AF_UNIX. Returns 0; the errors of sock_socket(); -EOPNOTSUPP for other families. */
int sock_socketpair(int domain, int type, int protocol, int fds[2]);

int sock_bind(int fd, const struct sockaddr *addr, socklen_t len);
int sock_connect(int fd, const struct sockaddr *addr, socklen_t len);

/*
 * backlog: connections that may wait for accept(), the unfinished ones included; cut to SOCK_BACKLOG_MAX, as
 * are negative ones. What exceeds it is not refused but not answered, so that the peer tries again. While the program
 * keeps up with accept(), unfinished ones don't count.
 */
int sock_listen(int fd, int backlog);
int sock_accept(int fd, struct sockaddr *addr, socklen_t *len, int flags);

int sock_shutdown(int fd, int how);
int sock_getsockname(int fd, struct sockaddr *addr, socklen_t *len);
int sock_getpeername(int fd, struct sockaddr *addr, socklen_t *len);
int sock_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int sock_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

ssize_t sock_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t sock_recvmsg(int fd, struct msghdr *msg, int flags);

/*
 * Several messages: up to FD_IOV_MAX. Returns how many, or the errno of the first. recvmmsg stops at deadline_us
 * (clock_now_us() time) after a message, not while it waits for one: so does Linux's.
 */
int sock_sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags);
int sock_recvmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags, uint64_t deadline_us);

/* The same with one buffer; to/from may be NULL. */
ssize_t sock_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
                    socklen_t to_len);
ssize_t sock_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
                      socklen_t *from_len);

#endif
