/* getnameinfo(), and what EAI_… mean in words. */
#include <netinet/in.h>

#include "net/addrinfo.h"

#include <stdio.h>
#include <string.h>

#include "lib/ip_text.h"
#include "lib/types.h"
#include "lwip/netif.h"
#include "net/host_lookup.h"
#include "net/interfaces.h"
#include "net/netdb_tables.h"

enum { FLAGS_KNOWN = NI_NUMERICHOST | NI_NUMERICSERV | NI_NOFQDN | NI_NAMEREQD | NI_DGRAM };

struct parts {
    struct host_addr addr;
    uint16_t port; /* host order */
};

static int take_apart(struct parts *out, const struct sockaddr *addr, socklen_t len)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    sa_family_t family = AF_UNSPEC;

    if (addr && len >= sizeof(family))
        memcpy(&family, addr, sizeof(family));
    if (family == AF_INET && len >= sizeof(four)) {
        memcpy(&four, addr, sizeof(four));
        *out = (struct parts){.addr.family = AF_INET, .port = lwip_ntohs(four.sin_port)};
        memcpy(out->addr.bytes, &four.sin_addr, sizeof(four.sin_addr));
        return 0;
    }
    if (family == AF_INET6 && len >= sizeof(six)) {
        memcpy(&six, addr, sizeof(six));
        *out = (struct parts){.addr.family = AF_INET6, .port = lwip_ntohs(six.sin6_port)};
        memcpy(out->addr.bytes, &six.sin6_addr, sizeof(six.sin6_addr));
        out->addr.scope = six.sin6_scope_id;
        return 0;
    }
    return EAI_FAMILY;
}

static int copy_out(char *to, socklen_t room, const char *text)
{
    const size_t len = strlen(text);

    if (len >= room)
        return EAI_OVERFLOW;
    memcpy(to, text, len + 1);
    return 0;
}

/* The address as text, its interface behind a percent sign when the address needs one (RFC 4007 §11). */
static int numeric_host(const struct host_addr *addr, char *host, socklen_t room)
{
    char text[IP6_TEXT_BYTES + 1 + INTERFACE_NAME_BYTES];

    if (addr->family == AF_INET) {
        (void)ip4_format(text, addr->bytes);
        return copy_out(host, room, text);
    }
    const size_t len = ip6_format(text, addr->bytes);

    if (addr->scope > 0) {
        const struct netif *netif = interface_at(addr->scope);

        text[len] = '%';
        if (netif)
            interface_name(netif, text + len + 1);
        else
            snprintf(text + len + 1, INTERFACE_NAME_BYTES, "%u", (unsigned)addr->scope);
    }
    return copy_out(host, room, text);
}

static void cut_domain(char *name)
{
    char *dot = strchr(name, '.');

    if (dot)
        *dot = '\0';
}

static int host_out(const struct host_addr *addr, char *host, socklen_t room, int flags)
{
    struct host_addr plain = *addr;
    char name[DNS_NAME_BYTES];

    if (flags & NI_NUMERICHOST)
        return flags & NI_NAMEREQD ? EAI_NONAME : numeric_host(addr, host, room);
    /* A mapped address is an IPv4 host's. */
    if (addr->family == AF_INET6 &&
        memcmp(addr->bytes, (uint8_t[12]){[10] = 0xff, [11] = 0xff}, 12) == 0) {
        plain = (struct host_addr){.family = AF_INET};
        memcpy(plain.bytes, addr->bytes + 12, 4);
    }
    const int err = host_by_addr(name, &plain);

    if (err)
        return flags & NI_NAMEREQD ? err : numeric_host(addr, host, room);
    if (flags & NI_NOFQDN)
        cut_domain(name);
    return copy_out(host, room, name);
}

static int service_out(uint16_t port, char *service, socklen_t room, int flags)
{
    const char *protocol = flags & NI_DGRAM ? "udp" : "tcp";
    const struct servent *known =
        flags & NI_NUMERICSERV ? NULL : netdb_service_by_port(port, protocol);
    char text[8];

    if (known)
        return copy_out(service, room, known->s_name);
    snprintf(text, sizeof(text), "%u", port);
    return copy_out(service, room, text);
}

int addrinfo_name(const struct sockaddr *addr, socklen_t len, char *host, socklen_t host_size,
                  char *service, socklen_t service_size, int flags)
{
    const bool want_host = host && host_size > 0, want_service = service && service_size > 0;
    struct parts parts;
    int err;

    if (flags &
        ~(FLAGS_KNOWN | 256)) /* NI_NUMERICSCOPE: taken, as all scopes but ours are numbers */
        return EAI_BADFLAGS;
    err = take_apart(&parts, addr, len);
    if (!err && want_host)
        err = host_out(&parts.addr, host, host_size, flags);
    if (!err && want_service)
        err = service_out(parts.port, service, service_size, flags);
    return err;
}

const char *addrinfo_error(int error)
{
    switch (error) {
    case 0:
        return "No error";
    case EAI_BADFLAGS:
        return "Flags that don't exist or don't go together";
    case EAI_NONAME:
        return "Name or service not known";
    case EAI_AGAIN:
        return "No name server answered; it may later";
    case EAI_FAIL:
        return "The name server can't tell";
    case EAI_NODATA:
        return "The name has no address of that kind";
    case EAI_FAMILY:
        return "Address family not supported";
    case EAI_SOCKTYPE:
        return "Socket type not supported";
    case EAI_SERVICE:
        return "Service unknown for this socket type";
    case EAI_ADDRFAMILY:
        return "The host has no address in that family";
    case EAI_MEMORY:
        return "Out of memory";
    case EAI_SYSTEM:
        return "System error: see errno";
    case EAI_OVERFLOW:
        return "Buffer too small";
    default:
        return "Unknown error";
    }
}
