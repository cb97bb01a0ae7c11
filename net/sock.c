#include "net/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/check.h"
#include "lib/thread.h"
#include "net/patience.h"
#include "net/sock_addr.h"
#include "net/sock_impl.h"
#include "net/sock_unix.h"
#include "port/clock.h"

/* ---- a socket as a file ---- */

static ssize_t file_read(struct file *f, const struct iovec *iov, size_t iov_count)
{
    struct sock *s = sock_of_file(f);
    struct sock_msg msg;

    sock_msg_start(&msg, s, iov, iov_count, 0);
    msg.deadline_us = sock_deadline(s->opt.recv_timeout_us);
    if (msg.len == 0 && s->type == SOCK_STREAM)
        return 0; /* recv() of nothing may wait; read() doesn't */
    return s->ops->recv(s, &msg);
}

static ssize_t file_write(struct file *f, const struct iovec *iov, size_t iov_count)
{
    struct sock *s = sock_of_file(f);
    struct sock_msg msg;

    sock_msg_start(&msg, s, iov, iov_count, 0);
    msg.deadline_us = sock_deadline(s->opt.send_timeout_us);
    return s->ops->send(s, &msg);
}

static unsigned file_poll(struct file *f)
{
    struct sock *s = sock_of_file(f);

    /* An error is told by whichever call comes next, so neither would wait. */
    return s->ops->poll(s) | (s->error ? POLLERR | POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM : 0);
}

static int file_ioctl(struct file *f, unsigned long request, void *arg)
{
    return sock_ioctl(sock_of_file(f), request, arg);
}

static int file_stat(struct file *f, struct stat *st)
{
    (void)f;
    st->st_mode = S_IFSOCK | S_IRWXU | S_IRWXG | S_IRWXO;
    return 0;
}

static int file_close(struct file *f)
{
    struct sock *s = sock_of_file(f);
    const int err = s->ops->close(s);

    sock_free(s);
    return err;
}

static const struct file_ops sock_file_ops = {
    .read = file_read,
    .write = file_write,
    .poll = file_poll,
    .ioctl = file_ioctl,
    .stat = file_stat,
    .close = file_close,
};

/* ---- life ---- */

static_assert(sizeof(struct sock) <= 1024, "a socket is one small frag");

struct sock *sock_new(uint8_t family, uint8_t type, const struct sock_ops *ops)
{
    struct frag *f = frag_take(sizeof(struct sock), FRAG_SMALL);

    if (!f)
        return NULL;
    struct sock *s = (struct sock *)(void *)frag_start(f);

    *s = (struct sock){.ops = ops, .family = family, .type = type};
    /* Of both, half are a program's bytes: sock_buffer_bytes(). */
    s->recv_max = 2 * size_max(TCP_WND, SOCK_DGRAM_BUF);
    s->send_max = 2 * size_max(TCP_SND_BUF, SOCK_DGRAM_BUF);
    s->recv_limit = type == SOCK_STREAM ? 2 * (size_t)TCP_WND : SOCK_DGRAM_BUF;
    s->send_limit = type == SOCK_STREAM ? 2 * (size_t)TCP_SND_BUF : SOCK_DGRAM_BUF;
    s->opt.ttl = SOCK_TTL_DEFAULT;
    s->opt.mcast_ttl = IP_DEFAULT_MULTICAST_TTL;
    s->opt.mcast_loop = s->opt.mcast_all = true;
    s->opt.mtu_discover = IP_PMTUDISC_WANT;
    s->opt.recv_lowat = 1;
    s->opt.keep_idle_s = SOCK_KEEP_IDLE_S;
    s->opt.keep_interval_s = SOCK_KEEP_INTERVAL_S;
    s->opt.keep_count = SOCK_KEEP_COUNT;
    file_init(&s->file, &sock_file_ops, O_RDWR);
    sock_addr_any(&s->local.ip, family, false);
    sock_addr_any(&s->peer.ip, family, false);
    return s;
}

void sock_free(struct sock *s)
{
    ASSERT(!s->recv_queue.head && !s->dgram_head && !s->accept_head);
    frag_give(frag_of_start(s));
}

int sock_get(int fd, struct sock **s)
{
    struct file *f = fd_get(fd);

    if (!f)
        return -EBADF;
    if (f->ops != &sock_file_ops) {
        (void)file_put(f);
        return -ENOTSOCK;
    }
    *s = sock_of_file(f);
    return 0;
}

uint64_t sock_deadline(uint64_t timeout_us)
{
    return timeout_us ? clock_now_us() + timeout_us : THREAD_NO_DEADLINE;
}

int sock_wait(struct sock *s, uint64_t deadline_us)
{
    const int err = waitq_wait(&s->file.waiters, deadline_us);

    return err == -ETIMEDOUT ? -EAGAIN : err;
}

int sock_take_error(struct sock *s)
{
    const int error = s->error;

    s->error = 0;
    return -error;
}

/* One place for all of lwIP's results. */
int sock_errno(int8_t err)
{
    switch (err) {
    case ERR_OK:
        return 0;
    case ERR_MEM:
        return -ENOBUFS;
    case ERR_BUF: /* no free port */
        return -EADDRNOTAVAIL;
    case ERR_TIMEOUT:
        return -ETIMEDOUT;
    case ERR_RTE:
        return -ENETUNREACH;
    case ERR_INPROGRESS:
        return -EINPROGRESS;
    case ERR_WOULDBLOCK:
        return -EAGAIN;
    case ERR_USE:
        return -EADDRINUSE;
    case ERR_ALREADY:
        return -EALREADY;
    case ERR_ISCONN:
        return -EISCONN;
    case ERR_CONN:
        return -ENOTCONN;
    case ERR_IF:
        return -ENETDOWN;
    case ERR_ABRT: /* given up after too many retransmissions */
        return -ETIMEDOUT;
    case ERR_RST:
        return -ECONNRESET;
    case ERR_CLSD:
        return -ENOTCONN;
    default: /* ERR_VAL, ERR_ARG */
        return -EINVAL;
    }
}

/* ---- the calls ---- */

static int kind_of(int domain, int type, int protocol, const struct sock_ops **ops)
{
    const bool is_echo = protocol == (domain == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6);

    if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_RAW)
        return -ESOCKTNOSUPPORT;
    if (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP))
        *ops = &sock_tcp_ops;
    else if (type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP))
        *ops = &sock_udp_ops;
    else if ((type == SOCK_DGRAM && is_echo) ||
             (type == SOCK_RAW && protocol > 0 && protocol <= UINT8_MAX))
        *ops = &sock_raw_ops;
    else
        return -EPROTONOSUPPORT;
    return 0;
}

static int install(struct sock *s, int flags)
{
    if (flags & SOCK_NONBLOCK)
        s->file.flags |= O_NONBLOCK;
    const int fd = fd_install(&s->file, 0, flags & SOCK_CLOEXEC);

    if (fd < 0)
        (void)file_put(&s->file);
    return fd;
}

/* A socket without a descriptor. */
static int sock_make(int domain, int type, int protocol, struct sock **s)
{
    const struct sock_ops *ops = NULL;
    const int err = domain == AF_UNIX ? sock_unix_kind(type, protocol, &ops)
                    : domain == AF_INET || domain == AF_INET6
                        ? kind_of(domain, type, protocol, &ops)
                        : -EAFNOSUPPORT;

    if (err)
        return err;
    *s = sock_new((uint8_t)domain, (uint8_t)type, ops);
    if (!*s)
        return -ENOBUFS;
    if (domain != AF_UNIX)
        (*s)->protocol = (uint8_t)(protocol              ? protocol
                                   : type == SOCK_STREAM ? IPPROTO_TCP
                                                         : IPPROTO_UDP);
    return 0;
}

int sock_socket(int domain, int type, int protocol)
{
    const int flags = type & (SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct sock *s;
    const int err = sock_make(domain, type & ~flags, protocol, &s);

    return err ? err : install(s, flags);
}

int sock_socketpair(int domain, int type, int protocol, int fds[2])
{
    const int flags = type & (SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct sock *a, *b;
    int err = domain == AF_INET || domain == AF_INET6 ? -EOPNOTSUPP : 0;

    if (!err)
        err = sock_make(domain, type & ~flags, protocol, &a);
    if (err)
        return err;
    err = sock_make(domain, type & ~flags, protocol, &b);
    if (!err)
        err = sock_unix_pair(a, b);
    if (err) {
        (void)file_put(&a->file);
        return err;
    }
    fds[0] = install(a, flags);
    fds[1] = install(b, flags);
    if (fds[0] >= 0 && fds[1] >= 0)
        return 0;
    err = fds[0] < 0 ? fds[0] : fds[1];
    if (fds[0] >= 0)
        (void)fd_close(fds[0]);
    if (fds[1] >= 0)
        (void)fd_close(fds[1]);
    return err;
}

int sock_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    struct sock *s;
    struct sock_name name;
    int err = sock_get(fd, &s);

    if (err)
        return err;
    err = sock_addr_in(&name, addr, len, s->family, s->opt.v6only);
    if (!err)
        err = s->bound || s->state != SOCK_IDLE ? -EINVAL : s->ops->bind(s, &name);
    (void)file_put(&s->file);
    return err;
}

int sock_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    struct sock *s;
    struct sock_name peer = {0};
    sa_family_t family = AF_UNSPEC;
    int err = sock_get(fd, &s);

    if (err)
        return err;
    if (addr && len >= sizeof(family))
        memcpy(&family, addr, sizeof(family));
    /* AF_UNSPEC dissolves a datagram socket's association: peer with port 0. */
    if (!addr || family != AF_UNSPEC || s->type == SOCK_STREAM || len < sizeof(family))
        err = sock_addr_in(&peer, addr, len, s->family, s->opt.v6only);
    if (!err && s->family != AF_UNIX && peer.port != 0 && !sock_nonblock(s))
        net_wait_for_way(&s->local.ip, &peer.ip);
    if (!err)
        err = s->ops->connect(s, &peer, sock_nonblock(s));
    (void)file_put(&s->file);
    return err;
}

int sock_listen(int fd, int backlog)
{
    struct sock *s;
    int err = sock_get(fd, &s);

    if (err)
        return err;
    if (backlog == 0)
        backlog = SOCK_BACKLOG_OF_ZERO;
    if (backlog < 0 || backlog > SOCK_BACKLOG_MAX)
        backlog = SOCK_BACKLOG_MAX;
    err = s->ops->listen ? s->ops->listen(s, backlog) : -EOPNOTSUPP;
    (void)file_put(&s->file);
    return err;
}

int sock_accept(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
    struct sock *s, *conn;

    if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
        return -EINVAL;
    int err = sock_get(fd, &s);

    if (err)
        return err;
    err = s->ops->accept ? s->ops->accept(s, &conn, sock_nonblock(s)) : -EOPNOTSUPP;
    (void)file_put(&s->file);
    if (err)
        return err;
    sock_addr_out(&conn->peer, conn->family, addr, len);
    return install(conn, flags);
}

int sock_shutdown(int fd, int how)
{
    struct sock *s;
    int err = sock_get(fd, &s);

    if (err)
        return err;
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
        err = -EINVAL;
    else
        err = s->ops->shutdown(s, how);
    (void)file_put(&s->file);
    return err;
}

int sock_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
    struct sock *s;
    const int err = sock_get(fd, &s);

    if (err)
        return err;
    sock_addr_out(&s->local, s->family, addr, len);
    (void)file_put(&s->file);
    return 0;
}

int sock_getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
    struct sock *s;
    int err = sock_get(fd, &s);

    if (err)
        return err;
    if (s->state == SOCK_CONNECTED)
        sock_addr_out(&s->peer, s->family, addr, len);
    else
        err = -ENOTCONN;
    (void)file_put(&s->file);
    return err;
}
