/* Messages: sendmsg(), recvmsg() and what is made of them; control data. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "net/sock.h"
#include "net/sock_addr.h"
#include "net/sock_impl.h"

static int msg_check(const struct msghdr *msg)
{
    size_t sum = 0;

    if (msg->msg_iovlen > FD_IOV_MAX)
        return -EMSGSIZE;
    for (size_t i = 0; i < msg->msg_iovlen; i++) {
        if (msg->msg_iov[i].iov_len > (size_t)PTRDIFF_MAX - sum)
            return -EINVAL;
        sum += msg->msg_iov[i].iov_len;
    }
    return 0;
}

static void msg_start(struct sock_msg *m, const struct sock *s, const struct msghdr *msg, int flags)
{
    *m = (struct sock_msg){.pos = {msg->msg_iov, msg->msg_iovlen, 0},
                           .len = iov_bytes(msg->msg_iov, msg->msg_iovlen),
                           .flags = flags,
                           .nonblock = sock_nonblock(s) || (flags & MSG_DONTWAIT)};
}

static ssize_t send_to(struct sock *s, const struct msghdr *msg, int flags)
{
    struct sock_name to;
    struct sock_msg m;
    int err = msg_check(msg);

    if (err)
        return err;
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    msg_start(&m, s, msg, flags);
    m.deadline_us = sock_deadline(s->opt.send_timeout_us);
    if (msg->msg_name && s->type == SOCK_DGRAM) { /* streams ignore it, as Linux does */
        err = sock_addr_in(&to, msg->msg_name, msg->msg_namelen, s->family, s->opt.v6only);
        if (err)
            return err;
        m.to = &to;
    }
    return s->ops->send(s, &m);
}

ssize_t sock_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    struct sock *s;
    const int err = sock_get(fd, &s);

    if (err)
        return err;
    const ssize_t sent = send_to(s, msg, flags);

    (void)file_put(&s->file);
    return sent;
}

/* Append one control message, or set MSG_CTRUNC if there is no room. */
static void cmsg_put(struct msghdr *msg, size_t *used, int level, int type, const void *data,
                     size_t len)
{
    struct cmsghdr head = {.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
    uint8_t *at = (uint8_t *)msg->msg_control + *used;

    if (msg->msg_controllen - *used < CMSG_LEN(len)) {
        msg->msg_flags |= MSG_CTRUNC;
        return;
    }
    memcpy(at, &head, sizeof(head));
    memcpy(at + CMSG_LEN(0), data, len);
    *used += size_min(CMSG_SPACE(len), msg->msg_controllen - *used);
}

static void control_out(const struct sock *s, const struct sock_msg *m, struct msghdr *msg)
{
    size_t used = 0;
    const size_t room = msg->msg_control ? msg->msg_controllen : 0;

    msg->msg_controllen = room;
    if (s->opt.pktinfo4 && IP_IS_V4(&m->dst.ip)) {
        struct in_pktinfo info = {.ipi_ifindex = m->netif_idx};

        info.ipi_addr.s_addr = info.ipi_spec_dst.s_addr = ip_2_ip4(&m->dst.ip)->addr;
        cmsg_put(msg, &used, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
    }
    if (s->opt.pktinfo6 && IP_IS_V6_VAL(m->dst.ip)) {
        struct in6_pktinfo info = {.ipi6_ifindex = m->netif_idx};

        memcpy(&info.ipi6_addr, ip_2_ip6(&m->dst.ip)->addr, sizeof(info.ipi6_addr));
        cmsg_put(msg, &used, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
    }
    msg->msg_controllen = used;
}

static ssize_t recv_from(struct sock *s, struct msghdr *msg, int flags)
{
    struct sock_msg m;
    const int err = msg_check(msg);

    if (err)
        return err;
    if (flags & MSG_OOB)
        return -EINVAL; /* no urgent data is kept apart, so there never is any (POSIX) */
    msg_start(&m, s, msg, flags);
    m.deadline_us = sock_deadline(s->opt.recv_timeout_us);
    const ssize_t got = s->ops->recv(s, &m);

    if (got < 0)
        return got;
    msg->msg_flags = m.flags_out;
    /* A stream's sender is getpeername()'s; an unnamed one of AF_UNIX has no address at all. */
    if (s->type == SOCK_DGRAM && msg->msg_name && (s->family != AF_UNIX || m.from.raw))
        sock_addr_out(&m.from, s->family, msg->msg_name, &msg->msg_namelen);
    else
        msg->msg_namelen = 0;
    control_out(s, &m, msg);
    return got;
}

ssize_t sock_recvmsg(int fd, struct msghdr *msg, int flags)
{
    struct sock *s;
    const int err = sock_get(fd, &s);

    if (err)
        return err;
    const ssize_t got = recv_from(s, msg, flags);

    (void)file_put(&s->file);
    return got;
}

ssize_t sock_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
                    socklen_t to_len)
{
    struct iovec iov = {(void *)(uintptr_t)data, size_min(len, PTRDIFF_MAX)};
    const struct msghdr msg = {
        .msg_name = (void *)(uintptr_t)to, .msg_namelen = to_len, .msg_iov = &iov, .msg_iovlen = 1};

    return sock_sendmsg(fd, &msg, flags);
}

ssize_t sock_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
                      socklen_t *from_len)
{
    struct iovec iov = {buf, size_min(len, PTRDIFF_MAX)};
    struct msghdr msg = {.msg_name = from_len ? from : NULL,
                         .msg_namelen = from_len ? *from_len : 0,
                         .msg_iov = &iov,
                         .msg_iovlen = 1};
    const ssize_t got = sock_recvmsg(fd, &msg, flags);

    if (got >= 0 && from && from_len)
        *from_len = msg.msg_namelen;
    return got;
}
