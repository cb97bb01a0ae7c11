/* Sockets under their POSIX names: net/sock.h's functions, with -1 and errno. */
#include <errno.h>
#include <sys/socket.h>

#include "net/sock.h"
#include "port/clock.h"

static ssize_t result(ssize_t value)
{
    if (value >= 0)
        return value;
    errno = (int)-value;
    return -1;
}

int socket(int domain, int type, int protocol)
{
    return (int)result(sock_socket(domain, type, protocol));
}

int socketpair(int domain, int type, int protocol, int fds[2])
{
    return (int)result(sock_socketpair(domain, type, protocol, fds));
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    return (int)result(sock_bind(fd, addr, len));
}

int listen(int fd, int backlog)
{
    return (int)result(sock_listen(fd, backlog));
}

int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
    return (int)result(sock_accept(fd, addr, len, 0));
}

int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
    return (int)result(sock_accept(fd, addr, len, flags));
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    return (int)result(sock_connect(fd, addr, len));
}

int shutdown(int fd, int how)
{
    return (int)result(sock_shutdown(fd, how));
}

int getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
    return (int)result(sock_getsockname(fd, addr, len));
}

int getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
    return (int)result(sock_getpeername(fd, addr, len));
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    return (int)result(sock_getsockopt(fd, level, name, value, len));
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
    return (int)result(sock_setsockopt(fd, level, name, value, len));
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
    return result(sock_sendto(fd, data, len, flags, NULL, 0));
}

ssize_t sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
               socklen_t to_len)
{
    return result(sock_sendto(fd, data, len, flags, to, to_len));
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    return result(sock_sendmsg(fd, msg, flags));
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
    return result(sock_recvfrom(fd, buf, len, flags, NULL, NULL));
}

ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
                 socklen_t *from_len)
{
    return result(sock_recvfrom(fd, buf, len, flags, from, from_len));
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    return result(sock_recvmsg(fd, msg, flags));
}

int sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags)
{
    return (int)result(sock_sendmmsg(fd, msgs, count, flags));
}

int recvmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags, struct timespec *timeout)
{
    uint64_t deadline_us = UINT64_MAX;

    if (timeout)
        deadline_us = clock_now_us() + (uint64_t)timeout->tv_sec * 1000000 +
                      (uint64_t)timeout->tv_nsec / 1000;
    return (int)result(sock_recvmmsg(fd, msgs, count, flags, deadline_us));
}

/* No urgent data is kept apart, so the mark is never ahead of it. */
int sockatmark(int fd)
{
    socklen_t len = sizeof(int);
    int type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
}
