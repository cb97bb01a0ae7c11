#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/sock_addr.h"

#include <errno.h>
#include <string.h>

#include "lwip/netif.h"

void sock_addr_any(ip_addr_t *ip, uint8_t family, bool v6only)
{
    if (family == AF_INET)
        ip_addr_copy(*ip, ip_addr_any);
    else if (v6only)
        ip_addr_copy(*ip, ip6_addr_any);
    else
        ip_addr_copy(*ip, ip_addr_any_type);
}

static int in4(struct sock_name *out, const struct sockaddr *addr)
{
    struct sockaddr_in in;

    memcpy(&in, addr, sizeof(in));
    ip_addr_set_ip4_u32_val(out->ip, in.sin_addr.s_addr);
    out->port = lwip_ntohs(in.sin_port);
    return 0;
}

static int in6(struct sock_name *out, const struct sockaddr *addr, bool v6only)
{
    struct sockaddr_in6 in;
    u32_t word[4];

    memcpy(&in, addr, sizeof(in));
    memcpy(word, &in.sin6_addr, sizeof(word));
    out->port = lwip_ntohs(in.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {
        ip_addr_set_ip4_u32_val(out->ip, word[3]);
        return v6only ? -ENETUNREACH : 0;
    }
    if (IN6_IS_ADDR_UNSPECIFIED(&in.sin6_addr)) {
        sock_addr_any(&out->ip, AF_INET6, v6only);
        return 0;
    }
    IP_ADDR6(&out->ip, word[0], word[1], word[2], word[3]);
    /* Interface indices are lwIP's: small numbers. A scope where none is needed is ignored. */
    if (ip6_addr_has_scope(ip_2_ip6(&out->ip), IP6_UNKNOWN) && in.sin6_scope_id <= UINT8_MAX)
        ip6_addr_set_zone(ip_2_ip6(&out->ip), (u8_t)in.sin6_scope_id);
    return 0;
}

/* Linux takes an AF_INET6 address without its scope id: RFC 2133's, 24 bytes. */
enum { SOCKADDR_IN6_MIN_BYTES = 24 };

int sock_addr_in(struct sock_name *out, const struct sockaddr *addr, socklen_t len, uint8_t family,
                 bool v6only)
{
    struct sockaddr_storage copy = {0};
    sa_family_t given;

    if (!addr && len > 0)
        return -EFAULT;
    if (len < sizeof(given))
        return -EINVAL;
    memcpy(&copy, addr, size_min(len, sizeof(copy)));
    memcpy(&given, &copy, sizeof(given));
    *out = (struct sock_name){0};
    if (family == AF_UNIX) {
        *out = (struct sock_name){.raw = addr, .raw_len = len};
        return given == AF_UNIX ? 0 : -EINVAL;
    }
    if (family == AF_INET) {
        if (len < sizeof(struct sockaddr_in))
            return -EINVAL;
        return given == AF_INET ? in4(out, (struct sockaddr *)&copy) : -EAFNOSUPPORT;
    }
    if (len < SOCKADDR_IN6_MIN_BYTES)
        return -EINVAL;
    return given == AF_INET6 ? in6(out, (struct sockaddr *)&copy, v6only) : -EAFNOSUPPORT;
}

bool sock_addr_is_local(const ip_addr_t *ip)
{
    struct netif *netif;

    if (ip_addr_isany(ip) || IP_IS_ANY_TYPE_VAL(*ip) || ip_addr_isloopback(ip))
        return true;
    NETIF_FOREACH(netif)
    {
        if (IP_IS_V4(ip) && ip4_addr_eq(ip_2_ip4(ip), netif_ip4_addr(netif)))
            return true;
        if (IP_IS_V6_VAL(*ip) && netif_get_ip6_addr_match(netif, ip_2_ip6(ip)) >= 0)
            return true;
    }
    return false;
}

bool sock_addr_is_broadcast(const ip_addr_t *ip)
{
    struct netif *netif;

    if (!IP_IS_V4(ip))
        return false;
    NETIF_FOREACH(netif)
    {
        if (ip4_addr_isbroadcast(ip_2_ip4(ip), netif))
            return true;
    }
    return false;
}

static socklen_t out4(const struct sock_name *name, void *to)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = lwip_htons(name->port)};

    if (IP_IS_V4(&name->ip))
        in.sin_addr.s_addr = ip_2_ip4(&name->ip)->addr;
    memcpy(to, &in, sizeof(in));
    return sizeof(in);
}

static socklen_t out6(const struct sock_name *name, void *to)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = lwip_htons(name->port)};
    u32_t word[4] = {0};

    if (IP_IS_V4(&name->ip) && !IP_IS_ANY_TYPE_VAL(name->ip)) {
        word[2] = PP_HTONL(0xffff);
        word[3] = ip_2_ip4(&name->ip)->addr;
    } else if (IP_IS_V6_VAL(name->ip)) {
        memcpy(word, ip_2_ip6(&name->ip)->addr, sizeof(word));
        in.sin6_scope_id = ip6_addr_zone(ip_2_ip6(&name->ip));
    }
    memcpy(&in.sin6_addr, word, sizeof(word));
    memcpy(to, &in, sizeof(in));
    return sizeof(in);
}

static socklen_t out_raw(const struct sock_name *name, void *to)
{
    const sa_family_t family = AF_UNIX;

    memcpy(to, &family, sizeof(family)); /* all that there is of an unnamed one */
    if (name->raw)
        memcpy(to, name->raw, name->raw_len);
    return name->raw ? name->raw_len : sizeof(family);
}

void sock_addr_out(const struct sock_name *name, uint8_t family, struct sockaddr *addr,
                   socklen_t *len)
{
    struct sockaddr_storage copy;
    socklen_t full;

    if (!addr || !len)
        return;
    if (family == AF_UNIX)
        full = out_raw(name, &copy);
    else
        full = family == AF_INET ? out4(name, &copy) : out6(name, &copy);

    memcpy(addr, &copy, size_min(*len, full));
    *len = full;
}
