/* Addresses as text under their POSIX names: lib/ip_text.h's functions. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ip_text.h"

const struct in6_addr in6addr_any = IN6ADDR_ANY_INIT;
const struct in6_addr in6addr_loopback = IN6ADDR_LOOPBACK_INIT;

uint16_t(htons)(uint16_t host)
{
    return __htons(host);
}

uint32_t(htonl)(uint32_t host)
{
    return __htonl(host);
}

uint16_t(ntohs)(uint16_t net)
{
    return __ntohs(net);
}

uint32_t(ntohl)(uint32_t net)
{
    return __ntohl(net);
}

int inet_pton(int family, const char *text, void *addr)
{
    if (family == AF_INET)
        return ip4_parse(addr, text);
    if (family == AF_INET6)
        return ip6_parse(addr, text);
    errno = EAFNOSUPPORT;
    return -1;
}

const char *inet_ntop(int family, const void *addr, char *text, socklen_t size)
{
    char full[IP6_TEXT_BYTES];
    size_t len;

    if (family != AF_INET && family != AF_INET6) {
        errno = EAFNOSUPPORT;
        return NULL;
    }
    len = family == AF_INET ? ip4_format(full, addr) : ip6_format(full, addr);
    if (len >= size) {
        errno = ENOSPC;
        return NULL;
    }
    return memcpy(text, full, len + 1);
}

/*
 * The old form: one to four parts, decimal, octal or hexadecimal; the last fills all bytes that are left. What follows the
 * address must be a blank or the end.
 */
int inet_aton(const char *text, struct in_addr *addr)
{
    uint32_t value = 0;

    for (unsigned part = 0; part < 4; part++) {
        char *end;

        if (*text < '0' || *text > '9')
            return 0;
        const unsigned long number = strtoul(text, &end, 0);

        if (*end != '.') {
            const uint64_t room = (uint64_t)1 << (32 - 8 * part);

            if ((*end && !strchr(" \t\n\r\f\v", *end)) || number >= room)
                return 0;
            addr->s_addr = __htonl(value | (uint32_t)number);
            return 1;
        }
        if (number > UINT8_MAX)
            return 0;
        value |= (uint32_t)number << (24 - 8 * part);
        text = end + 1;
    }
    return 0;
}

in_addr_t inet_addr(const char *text)
{
    struct in_addr addr;

    return inet_aton(text, &addr) ? addr.s_addr : INADDR_NONE;
}

char *inet_ntoa(struct in_addr addr)
{
    static char text[INET_ADDRSTRLEN];

    (void)inet_ntop(AF_INET, &addr, text, sizeof(text));
    return text;
}
