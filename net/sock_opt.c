/* getsockopt() and setsockopt(): the levels of sockets, IPv4 and IPv6. TCP's are in sock_tcp_opt.c. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>

#include "net/sock.h"
#include "net/sock_impl.h"

enum {
    USEC = 1000000,
    BUF_MIN_BYTES = 4096, /* SO_SNDBUF, SO_RCVBUF: smaller ones are raised */
    TTL_MAX = 255,
};

/* ---- values in and out ---- */

static int value_in(const void *value, socklen_t len, void *to, size_t size)
{
    if (!value || len < size)
        return -EINVAL;
    memcpy(to, value, size);
    return 0;
}

/* POSIX: a value too long for the caller's room is cut. */
static int value_out(void *value, socklen_t *len, const void *from, size_t size)
{
    *len = (socklen_t)size_min(*len, size);
    memcpy(value, from, *len);
    return 0;
}

static int int_out(void *value, socklen_t *len, int number)
{
    return value_out(value, len, &number, sizeof(number));
}

/* ---- level SOL_SOCKET ---- */

static int set_timeout(uint64_t *timeout_us, const void *value, socklen_t len)
{
    struct timeval tv;
    const int err = value_in(value, len, &tv, sizeof(tv));

    if (err)
        return err;
    if (tv.tv_usec < 0 || tv.tv_usec >= USEC)
        return -EDOM;
    *timeout_us = tv.tv_sec < 0 ? 0 : (uint64_t)tv.tv_sec * USEC + (uint64_t)tv.tv_usec;
    return 0;
}

static int get_timeout(uint64_t timeout_us, void *value, socklen_t *len)
{
    const struct timeval tv = {.tv_sec = (time_t)(timeout_us / USEC),
                               .tv_usec = (suseconds_t)(timeout_us % USEC)};

    return value_out(value, len, &tv, sizeof(tv));
}

static int set_linger(struct sock *s, const void *value, socklen_t len)
{
    struct linger linger;
    const int err = value_in(value, len, &linger, sizeof(linger));

    if (err)
        return err;
    s->opt.linger = linger.l_onoff != 0;
    s->opt.linger_s = linger.l_linger < 0 ? UINT32_MAX : (uint32_t)linger.l_linger;
    return 0;
}

static bool *flag_of(struct sock *s, int name)
{
    switch (name) {
    case SO_REUSEADDR:
        return &s->opt.reuse_addr;
    case SO_REUSEPORT:
        return &s->opt.reuse_port;
    case SO_KEEPALIVE:
        return &s->opt.keepalive;
    case SO_BROADCAST:
        return &s->opt.broadcast;
    case SO_OOBINLINE:
        return &s->opt.oob_inline;
    default:
        return NULL;
    }
}

static void set_limit(size_t *limit, int bytes, size_t max)
{
    *limit = size_min(size_max(bytes < 0 ? max : (size_t)bytes, BUF_MIN_BYTES), max);
}

static int set_socket_number(struct sock *s, int name, int number)
{
    bool *flag = flag_of(s, name);

    if (flag) {
        *flag = number != 0;
        s->ops->apply(s);
        return 0;
    }
    switch (name) {
    case SO_SNDBUF:
        set_limit(&s->send_limit, number, s->send_max);
        return 0;
    case SO_RCVBUF:
        set_limit(&s->recv_limit, number, s->recv_max);
        s->ops->apply(s);
        return 0;
    case SO_PRIORITY: /* hints without a meaning here */
    case SO_RCVLOWAT:
    case SO_DONTROUTE:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

static int set_socket(struct sock *s, int name, const void *value, socklen_t len)
{
    int number;

    if (name == SO_RCVTIMEO)
        return set_timeout(&s->opt.recv_timeout_us, value, len);
    if (name == SO_SNDTIMEO)
        return set_timeout(&s->opt.send_timeout_us, value, len);
    if (name == SO_LINGER)
        return set_linger(s, value, len);
    const int err = value_in(value, len, &number, sizeof(number));

    return err ? err : set_socket_number(s, name, number);
}

static int get_socket_number(struct sock *s, int name, int *number)
{
    const bool *flag = flag_of(s, name);

    if (flag) {
        *number = *flag;
        return 0;
    }
    switch (name) {
    case SO_ERROR:
        *number = -sock_take_error(s);
        return 0;
    case SO_TYPE:
        *number = s->type;
        return 0;
    case SO_DOMAIN:
        *number = s->family;
        return 0;
    case SO_PROTOCOL:
        *number = s->protocol;
        return 0;
    case SO_ACCEPTCONN:
        *number = s->state == SOCK_LISTENING;
        return 0;
    case SO_SNDBUF:
        *number = (int)size_min(s->send_limit, INT32_MAX);
        return 0;
    case SO_RCVBUF:
        *number = (int)size_min(s->recv_limit, INT32_MAX);
        return 0;
    case SO_RCVLOWAT:
    case SO_SNDLOWAT:
        *number = 1;
        return 0;
    case SO_PRIORITY:
    case SO_DONTROUTE:
        *number = 0;
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

static int get_socket(struct sock *s, int name, void *value, socklen_t *len)
{
    int number;

    if (name == SO_RCVTIMEO)
        return get_timeout(s->opt.recv_timeout_us, value, len);
    if (name == SO_SNDTIMEO)
        return get_timeout(s->opt.send_timeout_us, value, len);
    if (name == SO_LINGER) {
        const struct linger linger = {s->opt.linger, (int)s->opt.linger_s};

        return value_out(value, len, &linger, sizeof(linger));
    }
    const int err = get_socket_number(s, name, &number);

    return err ? err : int_out(value, len, number);
}

/* ---- levels IPPROTO_IP and IPPROTO_IPV6 ---- */

static int set_byte(struct sock *s, uint8_t *byte, int number, int min, int default_value)
{
    if (number == -1) /* RFC 3493 §5.1: back to the default */
        number = default_value;
    if (number < min || number > TTL_MAX)
        return -EINVAL;
    *byte = (uint8_t)number;
    s->ops->apply(s);
    return 0;
}

static int set_ip4(struct sock *s, int name, int number)
{
    switch (name) {
    case IP_TOS:
        return set_byte(s, &s->opt.tos, number, 0, 0);
    case IP_TTL:
        return set_byte(s, &s->opt.ttl, number, 1, SOCK_TTL_DEFAULT);
    case IP_PKTINFO:
        s->opt.pktinfo4 = number != 0;
        return 0;
    case IP_MTU_DISCOVER: /* lwIP never sets DF, and fragments what it must */
    case IP_RECVERR:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

static int set_ip6(struct sock *s, int name, int number)
{
    switch (name) {
    case IPV6_V6ONLY:
        if (s->bound)
            return -EINVAL;
        s->opt.v6only = number != 0;
        return 0;
    case IPV6_UNICAST_HOPS:
        return set_byte(s, &s->opt.ttl, number, 1, SOCK_TTL_DEFAULT);
    case IPV6_TCLASS:
        return set_byte(s, &s->opt.tos, number, 0, 0);
    case IPV6_RECVPKTINFO:
        s->opt.pktinfo6 = number != 0;
        return 0;
    case IPV6_MTU_DISCOVER:
    case IPV6_RECVERR:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

static int get_ip(const struct sock *s, int level, int name, void *value, socklen_t *len)
{
    const bool v6 = level == IPPROTO_IPV6;

    if (!v6 && name == IP_TOS)
        return int_out(value, len, s->opt.tos);
    if (!v6 && name == IP_TTL)
        return int_out(value, len, s->opt.ttl);
    if (!v6 && name == IP_PKTINFO)
        return int_out(value, len, s->opt.pktinfo4);
    if (v6 && name == IPV6_V6ONLY)
        return int_out(value, len, s->opt.v6only);
    if (v6 && name == IPV6_UNICAST_HOPS)
        return int_out(value, len, s->opt.ttl);
    if (v6 && name == IPV6_TCLASS)
        return int_out(value, len, s->opt.tos);
    if (v6 && name == IPV6_RECVPKTINFO)
        return int_out(value, len, s->opt.pktinfo6);
    return -ENOPROTOOPT;
}

/* ---- the calls ---- */

static int set(struct sock *s, int level, int name, const void *value, socklen_t len)
{
    int number;

    if (level == SOL_SOCKET)
        return set_socket(s, name, value, len);
    const int err = value_in(value, len, &number, sizeof(number));

    if (err)
        return err;
    if (level == IPPROTO_IP)
        return set_ip4(s, name, number);
    if (level == IPPROTO_IPV6)
        return s->family == AF_INET6 ? set_ip6(s, name, number) : -ENOPROTOOPT;
    if (level == IPPROTO_TCP && s->ops->setopt)
        return s->ops->setopt(s, name, number);
    return -ENOPROTOOPT;
}

static int get(struct sock *s, int level, int name, void *value, socklen_t *len)
{
    if (level == SOL_SOCKET)
        return get_socket(s, name, value, len);
    if (level == IPPROTO_IP || (level == IPPROTO_IPV6 && s->family == AF_INET6))
        return get_ip(s, level, name, value, len);
    if (level == IPPROTO_TCP && s->ops->getopt)
        return s->ops->getopt(s, name, value, len);
    return -ENOPROTOOPT;
}

int sock_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
    struct sock *s;
    int err = sock_get(fd, &s);

    if (err)
        return err;
    err = set(s, level, name, value, len);
    (void)file_put(&s->file);
    return err;
}

int sock_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    struct sock *s;
    int err = sock_get(fd, &s);

    if (err)
        return err;
    err = value && len ? get(s, level, name, value, len) : -EFAULT;
    (void)file_put(&s->file);
    return err;
}
