/* Names of hosts, services and protocols under their POSIX names: net/addrinfo.h, net/netdb_tables.h. */
#include <netdb.h>

#include "net/addrinfo.h"
#include "net/netdb_tables.h"

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result)
{
    return addrinfo_get(node, service, hints, result);
}

void freeaddrinfo(struct addrinfo *list)
{
    addrinfo_free(list);
}

const char *gai_strerror(int error)
{
    return addrinfo_error(error);
}

int getnameinfo(const struct sockaddr *addr, socklen_t len, char *host, socklen_t host_size,
                char *service, socklen_t service_size, int flags)
{
    return addrinfo_name(addr, len, host, host_size, service, service_size, flags);
}

/* ---- services and protocols ---- */

static size_t next_service, next_protocol;

struct servent *getservbyname(const char *name, const char *protocol)
{
    return netdb_service_by_name(name, protocol);
}

struct servent *getservbyport(int port, const char *protocol)
{
    return netdb_service_by_port(ntohs((uint16_t)port), protocol);
}

void setservent(int stay_open)
{
    (void)stay_open;
    next_service = 0;
}

struct servent *getservent(void)
{
    struct servent *s = netdb_service_at(next_service);

    next_service += s != NULL;
    return s;
}

void endservent(void)
{
    next_service = 0;
}

struct protoent *getprotobyname(const char *name)
{
    return netdb_protocol_by_name(name);
}

struct protoent *getprotobynumber(int protocol)
{
    return netdb_protocol_by_number(protocol);
}

void setprotoent(int stay_open)
{
    (void)stay_open;
    next_protocol = 0;
}

struct protoent *getprotoent(void)
{
    struct protoent *p = netdb_protocol_at(next_protocol);

    next_protocol += p != NULL;
    return p;
}

void endprotoent(void)
{
    next_protocol = 0;
}
