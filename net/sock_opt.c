/* getsockopt() and setsockopt(): the level of sockets. The others: sock_ip_opt.c, sock_tcp_opt.c. */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>

#include "net/interfaces.h"
#include "net/sock.h"
#include "net/sock_impl.h"
#include "net/sock_opt.h"

enum {
    USEC = 1000000,
    SNDBUF_MIN = 4608, /* Linux's: smaller ones are raised */
    RCVBUF_MIN = 2304,
    PRIORITY_MAX = 6,
};

/* ---- level SOL_SOCKET ---- */

static int set_timeout(uint64_t *timeout_us, const void *value, socklen_t len)
{
    struct timeval tv;
    const int err = sock_opt_in(value, len, &tv, sizeof(tv));

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

    return sock_opt_out(value, len, &tv, sizeof(tv));
}

static int set_linger(struct sock *s, const void *value, socklen_t len)
{
    struct linger linger;
    const int err = sock_opt_in(value, len, &linger, sizeof(linger));

    if (err)
        return err;
    s->opt.linger = linger.l_onoff != 0;
    if (s->opt.linger)
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

/* As Linux has it: twice what was asked for, for overhead; a negative one is the largest. */
static size_t buffer_limit(int bytes, size_t min, size_t max)
{
    return size_min(size_max(bytes < 0 ? max : 2 * (size_t)bytes, min), max);
}

/* By name; "" takes the binding off. */
static int set_device(struct sock *s, const char *name, socklen_t len)
{
    char copy[INTERFACE_NAME_BYTES] = "";

    memcpy(copy, name, size_min(len, sizeof(copy) - 1));
    const unsigned idx = interface_index(copy);

    if (copy[0] && !idx)
        return -ENODEV;
    s->opt.device_idx = (uint8_t)idx;
    s->ops->apply(s);
    return 0;
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
    case SO_SNDBUFFORCE:
        s->send_limit = buffer_limit(number, SNDBUF_MIN, s->send_max);
        return 0;
    case SO_RCVBUF:
    case SO_RCVBUFFORCE:
        s->recv_limit = buffer_limit(number, RCVBUF_MIN, s->recv_max);
        s->ops->apply(s);
        return 0;
    case SO_RCVLOWAT:
        s->opt.recv_lowat = number < 0 ? INT32_MAX : number > 0 ? number : 1;
        return 0;
    case SO_PRIORITY: /* kept; there is one queue */
        if (number < 0 || number > PRIORITY_MAX)
            return -EPERM;
        s->opt.priority = (uint8_t)number;
        return 0;
    case SO_DEBUG: /* hints without a meaning here */
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
    if (name == SO_BINDTODEVICE)
        return value || len == 0 ? set_device(s, value, len) : -EFAULT;
    const int err = sock_opt_in(value, len, &number, sizeof(number));

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
        *number = s->opt.recv_lowat;
        return 0;
    case SO_SNDLOWAT:
        *number = 1;
        return 0;
    case SO_PRIORITY:
        *number = s->opt.priority;
        return 0;
    case SO_DEBUG:
    case SO_DONTROUTE:
        *number = 0;
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

static int get_device(const struct sock *s, void *value, socklen_t *len)
{
    const struct netif *netif = interface_at(s->opt.device_idx);
    char name[INTERFACE_NAME_BYTES];

    if (!netif) {
        *len = 0;
        return 0;
    }
    if (*len < sizeof(name))
        return -EINVAL;
    interface_name(netif, name);
    return sock_opt_out(value, len, name, strlen(name) + 1);
}

static int get_socket(struct sock *s, int name, void *value, socklen_t *len)
{
    int number;

    if (name == SO_BINDTODEVICE)
        return get_device(s, value, len);

    if (name == SO_RCVTIMEO)
        return get_timeout(s->opt.recv_timeout_us, value, len);
    if (name == SO_SNDTIMEO)
        return get_timeout(s->opt.send_timeout_us, value, len);
    if (name == SO_LINGER) {
        const struct linger linger = {s->opt.linger, (int)s->opt.linger_s};

        return sock_opt_out(value, len, &linger, sizeof(linger));
    }
    const int err = get_socket_number(s, name, &number);

    return err ? err : sock_opt_int_out(value, len, number);
}

/* ---- the calls ---- */

static int set(struct sock *s, int level, int name, const void *value, socklen_t len)
{
    if (level == SOL_SOCKET)
        return set_socket(s, name, value, len);
    if (s->family == AF_UNIX)
        return -EOPNOTSUPP;
    if (level == IPPROTO_IP)
        return sock_ip4_setopt(s, name, value, len);
    if (level == IPPROTO_IPV6)
        return s->family == AF_INET6 ? sock_ip6_setopt(s, name, value, len) : -ENOPROTOOPT;
    if (level == s->protocol && s->ops->setopt)
        return s->ops->setopt(s, name, value, len);
    return -ENOPROTOOPT;
}

/* An unknown level is another error here than there: Linux has it so. */
static int get(struct sock *s, int level, int name, void *value, socklen_t *len)
{
    if (level == SOL_SOCKET)
        return get_socket(s, name, value, len);
    if (s->family == AF_UNIX)
        return -EOPNOTSUPP;
    if (level == IPPROTO_IP)
        return sock_ip4_getopt(s, name, value, len);
    if (level == IPPROTO_IPV6 && s->family == AF_INET6)
        return sock_ip6_getopt(s, name, value, len);
    if (level == s->protocol && s->ops->getopt)
        return s->ops->getopt(s, name, value, len);
    return -EOPNOTSUPP;
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
    err = !value || !len ? -EFAULT : *len > INT_MAX ? -EINVAL : get(s, level, name, value, len);
    (void)file_put(&s->file);
    return err;
}
