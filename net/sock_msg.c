/* Messages: sendmsg(), recvmsg() and what is made of them; control data. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "net/sock.h"
#include "net/patience.h"
#include "net/sock_addr.h"
#include "net/sock_impl.h"
#include "port/clock.h"

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

/* Field by field: the addresses inside are large, and a stream has none. */
void sock_msg_start(struct sock_msg *m, const struct sock *s, const struct iovec *iov,
                    size_t iov_count, int flags)
{
    m->pos = (struct iov_pos){iov, iov_count, 0};
    m->len = iov_bytes(iov, iov_count);
    m->flags = flags;
    m->nonblock = sock_nonblock(s) || (flags & MSG_DONTWAIT);
    m->to = NULL;
    m->flags_out = 0;
    m->has_control = m->has_tos = false;
    m->netif_idx = m->ttl = m->tos = 0;
    if (s->type != SOCK_STREAM)
        m->from = m->dst = (struct sock_name){0};
}

/* ---- control data, in ---- */

static int number_of(const struct cmsghdr *c, int *number)
{
    if (c->cmsg_len < CMSG_LEN(sizeof(*number)))
        return -EINVAL;
    memcpy(number, CMSG_DATA(c), sizeof(*number));
    return 0;
}

static int pktinfo4_in(struct sock_msg *m, const struct cmsghdr *c)
{
    struct in_pktinfo info;

    if (c->cmsg_len < CMSG_LEN(sizeof(info)))
        return -EINVAL;
    memcpy(&info, CMSG_DATA(c), sizeof(info));
    m->netif_idx = (uint8_t)info.ipi_ifindex;
    ip_addr_set_ip4_u32_val(m->src, info.ipi_spec_dst.s_addr);
    return 0;
}

static int pktinfo6_in(struct sock_msg *m, const struct cmsghdr *c)
{
    struct in6_pktinfo info;
    u32_t word[4];

    if (c->cmsg_len < CMSG_LEN(sizeof(info)))
        return -EINVAL;
    memcpy(&info, CMSG_DATA(c), sizeof(info));
    memcpy(word, &info.ipi6_addr, sizeof(word));
    m->netif_idx = (uint8_t)info.ipi6_ifindex;
    IP_ADDR6(&m->src, word[0], word[1], word[2], word[3]);
    return 0;
}

static int ttl_in(struct sock_msg *m, const struct cmsghdr *c, bool is_tos)
{
    int number;
    const int err = number_of(c, &number);

    if (err || number < 0 || number > UINT8_MAX || (!is_tos && number == 0))
        return -EINVAL;
    if (is_tos)
        m->tos = (uint8_t)number;
    else
        m->ttl = (uint8_t)number;
    m->has_tos |= is_tos;
    return 0;
}

static int one_in(struct sock_msg *m, const struct cmsghdr *c)
{
    const int kind = c->cmsg_level << 16 | c->cmsg_type;

    switch (kind) {
    case IPPROTO_IP << 16 | IP_PKTINFO:
        return pktinfo4_in(m, c);
    case IPPROTO_IPV6 << 16 | IPV6_PKTINFO:
        return pktinfo6_in(m, c);
    case IPPROTO_IP << 16 | IP_TTL:
    case IPPROTO_IPV6 << 16 | IPV6_HOPLIMIT:
        return ttl_in(m, c, false);
    case IPPROTO_IP << 16 | IP_TOS:
    case IPPROTO_IPV6 << 16 | IPV6_TCLASS:
        return ttl_in(m, c, true);
    default: /* SCM_RIGHTS among them: there is nobody to pass a descriptor to */
        return -EINVAL;
    }
}

static int control_in(struct sock_msg *m, const struct msghdr *msg)
{
    const struct cmsghdr *c = msg->msg_control ? CMSG_FIRSTHDR(msg) : NULL;
    int err = 0;

    m->src = *IP_ADDR_ANY;
    for (; c && !err;
         c = CMSG_NXTHDR((struct msghdr *)(uintptr_t)msg, (struct cmsghdr *)(uintptr_t)c)) {
        const size_t left =
            msg->msg_controllen - (size_t)((const uint8_t *)c - (uint8_t *)msg->msg_control);

        if (c->cmsg_len < sizeof(*c) || c->cmsg_len > left)
            return -EINVAL;
        m->has_control = true;
        err = one_in(m, c);
    }
    return err;
}

/* ---- sending ---- */

static ssize_t send_to(struct sock *s, const struct msghdr *msg, int flags)
{
    struct sock_name to;
    struct sock_msg m;
    int err = msg_check(msg);

    if (err)
        return err;
    if (flags & MSG_OOB)
        return -EOPNOTSUPP;
    sock_msg_start(&m, s, msg->msg_iov, msg->msg_iovlen, flags);
    m.deadline_us = sock_deadline(s->opt.send_timeout_us);
    err = control_in(&m, msg);
    if (err)
        return err;
    if (msg->msg_name && s->type != SOCK_STREAM) { /* streams ignore it, as Linux does */
        err = sock_addr_in(&to, msg->msg_name, msg->msg_namelen, s->family, s->opt.v6only);
        if (err)
            return err;
        m.to = &to;
        if (s->family != AF_UNIX && !m.nonblock)
            net_wait_for_way(&s->local.ip, &to.ip);
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

/* ---- control data, out ---- */

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

static void control_out4(const struct sock *s, const struct sock_msg *m, struct msghdr *msg,
                         size_t *used)
{
    const int ttl = m->ttl;

    if (s->opt.pktinfo4) {
        struct in_pktinfo info = {.ipi_ifindex = m->netif_idx};

        info.ipi_addr.s_addr = info.ipi_spec_dst.s_addr = ip_2_ip4(&m->dst.ip)->addr;
        cmsg_put(msg, used, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
    }
    if (s->opt.recv_ttl4)
        cmsg_put(msg, used, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
    if (s->opt.recv_tos4)
        cmsg_put(msg, used, IPPROTO_IP, IP_TOS, &m->tos, sizeof(m->tos));
}

static void control_out6(const struct sock *s, const struct sock_msg *m, struct msghdr *msg,
                         size_t *used)
{
    const int hops = m->ttl, tclass = m->tos;

    if (s->opt.pktinfo6) {
        struct in6_pktinfo info = {.ipi6_ifindex = m->netif_idx};

        memcpy(&info.ipi6_addr, ip_2_ip6(&m->dst.ip)->addr, sizeof(info.ipi6_addr));
        cmsg_put(msg, used, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
    }
    if (s->opt.recv_hops6)
        cmsg_put(msg, used, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof(hops));
    if (s->opt.recv_tclass6)
        cmsg_put(msg, used, IPPROTO_IPV6, IPV6_TCLASS, &tclass, sizeof(tclass));
}

static void control_out(const struct sock *s, const struct sock_msg *m, struct msghdr *msg)
{
    size_t used = 0;

    if (!msg->msg_control)
        msg->msg_controllen = 0;
    if (s->type == SOCK_STREAM || s->family == AF_UNIX)
        used = 0;
    else if (IP_IS_V4(&m->dst.ip))
        control_out4(s, m, msg, &used);
    else
        control_out6(s, m, msg, &used);
    msg->msg_controllen = used;
}

/* ---- receiving ---- */

static ssize_t recv_from(struct sock *s, struct msghdr *msg, int flags)
{
    struct sock_msg m;
    const int err = msg_check(msg);

    if (err)
        return err;
    if (flags & MSG_ERRQUEUE)
        return -EAGAIN; /* errors are told by SO_ERROR and the next call */
    if (flags & MSG_OOB)
        return -EINVAL; /* no urgent data is kept apart, so there never is any (POSIX) */
    sock_msg_start(&m, s, msg->msg_iov, msg->msg_iovlen, flags);
    m.deadline_us = sock_deadline(s->opt.recv_timeout_us);
    const ssize_t got = s->ops->recv(s, &m);

    if (got < 0)
        return got;
    msg->msg_flags = m.flags_out;
    /* A stream's sender is getpeername()'s; an unnamed one of AF_UNIX has no address at all. */
    if (s->type != SOCK_STREAM && msg->msg_name && (s->family != AF_UNIX || m.from.raw))
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

/* send() and recv() of a stream are what most programs do all day: nothing to check but the descriptor. */

static ssize_t send_plain(struct sock *s, const void *data, size_t len, int flags)
{
    const struct iovec iov = {(void *)(uintptr_t)data, size_min(len, PTRDIFF_MAX)};
    struct sock_msg m;

    sock_msg_start(&m, s, &iov, 1, flags);
    m.deadline_us = sock_deadline(s->opt.send_timeout_us);
    return s->ops->send(s, &m);
}

static ssize_t recv_plain(struct sock *s, void *buf, size_t len, int flags)
{
    const struct iovec iov = {buf, size_min(len, PTRDIFF_MAX)};
    struct sock_msg m;

    sock_msg_start(&m, s, &iov, 1, flags);
    m.deadline_us = sock_deadline(s->opt.recv_timeout_us);
    return s->ops->recv(s, &m);
}

static ssize_t send_addressed(struct sock *s, const void *data, size_t len, int flags,
                              const struct sockaddr *to, socklen_t to_len)
{
    struct iovec iov = {(void *)(uintptr_t)data, size_min(len, PTRDIFF_MAX)};
    const struct msghdr msg = {
        .msg_name = (void *)(uintptr_t)to, .msg_namelen = to_len, .msg_iov = &iov, .msg_iovlen = 1};

    return send_to(s, &msg, flags);
}

ssize_t sock_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
                    socklen_t to_len)
{
    struct sock *s;
    const int err = sock_get(fd, &s);

    if (err)
        return err;
    const ssize_t sent = s->type == SOCK_STREAM && !(flags & MSG_OOB)
                             ? send_plain(s, data, len, flags)
                             : send_addressed(s, data, len, flags, to, to_len);

    (void)file_put(&s->file);
    return sent;
}

static ssize_t recv_addressed(struct sock *s, void *buf, size_t len, int flags,
                              struct sockaddr *from, socklen_t *from_len)
{
    struct iovec iov = {buf, size_min(len, PTRDIFF_MAX)};
    struct msghdr msg = {.msg_name = from_len ? from : NULL,
                         .msg_namelen = from_len ? *from_len : 0,
                         .msg_iov = &iov,
                         .msg_iovlen = 1};
    const ssize_t got = recv_from(s, &msg, flags);

    if (got >= 0 && from && from_len)
        *from_len = msg.msg_namelen;
    return got;
}

ssize_t sock_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
                      socklen_t *from_len)
{
    struct sock *s;
    const int err = sock_get(fd, &s);

    if (err)
        return err;
    const ssize_t got = s->type == SOCK_STREAM && !from && !(flags & (MSG_OOB | MSG_ERRQUEUE))
                            ? recv_plain(s, buf, len, flags)
                            : recv_addressed(s, buf, len, flags, from, from_len);

    (void)file_put(&s->file);
    return got;
}

/* ---- several at once ---- */

int sock_sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags)
{
    unsigned done;

    for (done = 0; done < size_min(count, FD_IOV_MAX); done++) {
        const ssize_t sent = sock_sendmsg(fd, &msgs[done].msg_hdr, flags);

        if (sent < 0)
            return done > 0 ? (int)done : (int)sent;
        msgs[done].msg_len = (unsigned)sent;
    }
    return (int)done;
}

int sock_recvmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags, uint64_t deadline_us)
{
    const bool once = flags & MSG_WAITFORONE;
    unsigned done;

    flags &= ~MSG_WAITFORONE;
    for (done = 0; done < size_min(count, FD_IOV_MAX); done++) {
        const ssize_t got = sock_recvmsg(fd, &msgs[done].msg_hdr, flags);

        if (got < 0)
            return done > 0 ? (int)done : (int)got;
        msgs[done].msg_len = (unsigned)got;
        if (once)
            flags |= MSG_DONTWAIT;
        /* Linux looks at the time after each message only. */
        if (clock_now_us() >= deadline_us)
            return (int)done + 1;
    }
    return (int)done;
}
