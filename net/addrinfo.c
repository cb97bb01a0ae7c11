#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/addrinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ip_text.h"
#include "lib/types.h"
#include "net/host_lookup.h"
#include "net/interfaces.h"
#include "net/netdb_tables.h"

enum {
    FLAGS_KNOWN = AI_PASSIVE | AI_CANONNAME | AI_NUMERICHOST | AI_V4MAPPED | AI_ALL |
                  AI_ADDRCONFIG | AI_NUMERICSERV,
    KINDS = 3,
    PORT_MAX = 65535,
};

/* The combinations that there are, in the order of results. */
static const struct kind {
    int type, protocol;
    const char *name; /* of the protocol, for services; NULL: has none */
} kinds[KINDS] = {
    {SOCK_STREAM, IPPROTO_TCP, "tcp"},
    {SOCK_DGRAM, IPPROTO_UDP, "udp"},
    {SOCK_RAW, 0, NULL},
};

/* What one call found out: a port for each kind of socket, and the addresses. */
struct request {
    struct addrinfo hints;
    bool used[KINDS];
    in_port_t port[KINDS]; /* network order */
    struct host_addrs hosts;
};

/* ---- services ---- */

static bool parse_port(const char *text, unsigned long *port)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    *port = strtoul(text, &end, 10);
    return *end == '\0' && *port <= PORT_MAX;
}

static bool kind_fits(const struct kind *k, const struct addrinfo *hints)
{
    if (hints->ai_socktype && hints->ai_socktype != k->type)
        return false;
    /* A raw socket has any protocol. */
    return !hints->ai_protocol || k->type == SOCK_RAW || hints->ai_protocol == k->protocol;
}

/* All, or the first that the hints allow. */
static bool find_kinds(struct request *r)
{
    const bool only_one = r->hints.ai_socktype || r->hints.ai_protocol;
    bool found = false;

    for (size_t i = 0; i < KINDS && !(found && only_one); i++) {
        r->used[i] = kind_fits(&kinds[i], &r->hints);
        found |= r->used[i];
    }
    return found;
}

static int named_service(struct request *r, const char *service)
{
    bool found = false;

    for (size_t i = 0; i < KINDS; i++) {
        const struct servent *s =
            r->used[i] && kinds[i].name ? netdb_service_by_name(service, kinds[i].name) : NULL;

        r->used[i] = s != NULL;
        r->port[i] = s ? (in_port_t)s->s_port : 0;
        found |= r->used[i];
    }
    return found ? 0 : EAI_SERVICE;
}

static int find_service(struct request *r, const char *service)
{
    unsigned long port;

    if (!find_kinds(r))
        return EAI_SOCKTYPE;
    if (!service)
        return 0;
    if (r->hints.ai_socktype == SOCK_RAW)
        return EAI_SERVICE; /* it has no ports */
    if (!parse_port(service, &port))
        return r->hints.ai_flags & AI_NUMERICSERV ? EAI_NONAME : named_service(r, service);
    for (size_t i = 0; i < KINDS; i++)
        r->port[i] = htons((uint16_t)port);
    return 0;
}

/* ---- hosts ---- */

static void add_host(struct request *r, uint8_t family, const void *bytes, uint32_t scope)
{
    struct host_addr *addr = &r->hosts.addr[r->hosts.count++];

    *addr = (struct host_addr){.family = family, .scope = scope};
    memcpy(addr->bytes, bytes, family == AF_INET ? 4 : 16);
}

/* No host: every address of ours, or ourselves. */
static int no_node(struct request *r)
{
    static const uint8_t any[16] = {0}, loop4[4] = {127, 0, 0, 1}, loop6[16] = {[15] = 1};
    const bool passive = r->hints.ai_flags & AI_PASSIVE;
    const int family = r->hints.ai_family;

    /* Linux has the wildcards in this order, and the loopbacks in the other. */
    if (passive && family != AF_INET6)
        add_host(r, AF_INET, any, 0);
    if (family != AF_INET)
        add_host(r, AF_INET6, passive ? any : loop6, 0);
    if (!passive && family != AF_INET6)
        add_host(r, AF_INET, loop4, 0);
    return 0;
}

static void map4(struct host_addr *addr)
{
    uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};

    memcpy(mapped + 12, addr->bytes, 4);
    memcpy(addr->bytes, mapped, sizeof(mapped));
    addr->family = AF_INET6;
}

/* fe80::1%net0 or fe80::1%2; other addresses than link-local ones have no interface to name. */
static bool parse_scope(const uint8_t bytes[16], const char *text, uint32_t *scope)
{
    const bool link_local = (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) ||
                            (bytes[0] == 0xff && (bytes[1] & 0xf) == 2);
    char *end;

    *scope = link_local ? interface_index(text) : 0;
    if (*scope > 0 || *text < '0' || *text > '9')
        return *scope > 0;
    *scope = (uint32_t)strtoul(text, &end, 10);
    return *end == '\0' && interface_at(*scope);
}

static bool parse6(const char *node, uint8_t bytes[16], uint32_t *scope)
{
    const char *percent = strchr(node, '%');
    const size_t len = percent ? (size_t)(percent - node) : strlen(node);
    char text[IP6_TEXT_BYTES];

    *scope = 0;
    if (len >= sizeof(text))
        return false;
    memcpy(text, node, len);
    text[len] = '\0';
    return ip6_parse(bytes, text) && (!percent || parse_scope(bytes, percent + 1, scope));
}

/* 0: not a number. 1: taken. EAI_…: of the wrong family. */
static int numeric_node(struct request *r, const char *node)
{
    const int family = r->hints.ai_family;
    struct in_addr four;
    uint8_t six[16];
    uint32_t scope;

    if (inet_aton(node, &four)) {
        if (family == AF_INET6 && !(r->hints.ai_flags & AI_V4MAPPED))
            return EAI_ADDRFAMILY;
        add_host(r, AF_INET, &four, 0);
        if (family == AF_INET6)
            map4(&r->hosts.addr[0]);
    } else if (parse6(node, six, &scope)) {
        if (family == AF_INET)
            return EAI_ADDRFAMILY;
        add_host(r, AF_INET6, six, scope);
    } else {
        return 0;
    }
    memcpy(r->hosts.name, node, size_min(strlen(node) + 1, sizeof(r->hosts.name) - 1));
    return 1;
}

static void keep_families(struct host_addrs *hosts, bool four, bool six)
{
    size_t kept = 0;

    for (size_t i = 0; i < hosts->count; i++) {
        if (hosts->addr[i].family == AF_INET ? four : six)
            hosts->addr[kept++] = hosts->addr[i];
    }
    hosts->count = kept;
}

/* AF_INET6 with AI_V4MAPPED: IPv4's addresses stand in where there are no others, or, with AI_ALL, join them. */
static int named_mapped(struct request *r, const char *node)
{
    const int err = host_by_name(&r->hosts, node, AF_UNSPEC);
    bool six = false;

    for (size_t i = 0; !err && i < r->hosts.count; i++)
        six |= r->hosts.addr[i].family == AF_INET6;
    if (!err && six && !(r->hints.ai_flags & AI_ALL))
        keep_families(&r->hosts, false, true);
    for (size_t i = 0; !err && i < r->hosts.count; i++) {
        if (r->hosts.addr[i].family == AF_INET)
            map4(&r->hosts.addr[i]);
    }
    return err;
}

static int named_node(struct request *r, const char *node)
{
    const int flags = r->hints.ai_flags;
    int family = r->hints.ai_family;

    if (strpbrk(node, ":%"))
        return EAI_NONAME; /* an address that isn't one: no server needs to be asked */
    if (family == AF_INET6 && (flags & AI_V4MAPPED))
        return named_mapped(r, node);
    if (family == AF_UNSPEC && (flags & AI_ADDRCONFIG)) {
        const bool four = host_has_family(AF_INET), six = host_has_family(AF_INET6);

        if (four != six)
            family = four ? AF_INET : AF_INET6;
    }
    return host_by_name(&r->hosts, node, family);
}

static int find_hosts(struct request *r, const char *node)
{
    if (!node)
        return no_node(r);
    const int numeric = numeric_node(r, node);

    if (numeric)
        return numeric > 0 ? 0 : numeric;
    return r->hints.ai_flags & AI_NUMERICHOST ? EAI_NONAME : named_node(r, node);
}

/* ---- the list ---- */

/* An entry and its address are one piece of memory. */
struct entry {
    struct addrinfo info;
    struct sockaddr_storage addr;
};

static socklen_t address_out(void *to, const struct host_addr *addr, in_port_t port)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port};
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = port, .sin6_scope_id = addr->scope};

    if (addr->family == AF_INET) {
        memcpy(&four.sin_addr, addr->bytes, sizeof(four.sin_addr));
        memcpy(to, &four, sizeof(four));
        return sizeof(four);
    }
    memcpy(&six.sin6_addr, addr->bytes, sizeof(six.sin6_addr));
    memcpy(to, &six, sizeof(six));
    return sizeof(six);
}

static struct addrinfo *entry_new(const struct request *r, const struct host_addr *addr,
                                  size_t kind_idx)
{
    struct entry *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->info.ai_flags = r->hints.ai_flags;
    e->info.ai_family = addr->family;
    e->info.ai_socktype = kinds[kind_idx].type;
    e->info.ai_protocol =
        kinds[kind_idx].type == SOCK_RAW ? r->hints.ai_protocol : kinds[kind_idx].protocol;
    e->info.ai_addr = (struct sockaddr *)&e->addr;
    e->info.ai_addrlen = address_out(&e->addr, addr, r->port[kind_idx]);
    return &e->info;
}

void addrinfo_free(struct addrinfo *list)
{
    while (list) {
        struct addrinfo *next = list->ai_next;

        free(list->ai_canonname);
        free(CONTAINER_OF(list, struct entry, info));
        list = next;
    }
}

static int build(const struct request *r, struct addrinfo **result)
{
    struct addrinfo *list = NULL, **end = &list;

    for (size_t i = 0; i < r->hosts.count; i++) {
        for (size_t k = 0; k < KINDS; k++) {
            if (!r->used[k])
                continue;
            *end = entry_new(r, &r->hosts.addr[i], k);
            if (!*end) {
                addrinfo_free(list);
                return EAI_MEMORY;
            }
            end = &(*end)->ai_next;
        }
    }
    if (list && (r->hints.ai_flags & AI_CANONNAME)) {
        list->ai_canonname = strdup(r->hosts.name);
        if (!list->ai_canonname) {
            addrinfo_free(list);
            return EAI_MEMORY;
        }
    }
    *result = list;
    return 0;
}

static int check(const char *node, const char *service, const struct addrinfo *hints)
{
    if (!node && !service)
        return EAI_NONAME;
    if ((hints->ai_flags & ~FLAGS_KNOWN) || (!node && (hints->ai_flags & AI_CANONNAME)))
        return EAI_BADFLAGS;
    if (hints->ai_family != AF_UNSPEC && hints->ai_family != AF_INET &&
        hints->ai_family != AF_INET6)
        return EAI_FAMILY;
    return 0;
}

int addrinfo_get(const char *node, const char *service, const struct addrinfo *hints,
                 struct addrinfo **result)
{
    static const struct addrinfo none = {.ai_flags = AI_V4MAPPED | AI_ADDRCONFIG};
    int err = check(node, service, hints ? hints : &none);

    if (err)
        return err;
    struct request *r = calloc(1, sizeof(*r));

    if (!r)
        return EAI_MEMORY;
    r->hints = hints ? *hints : none;
    err = find_service(r, service);
    if (!err)
        err = find_hosts(r, node);
    if (!err)
        err = build(r, result);
    free(r);
    return err;
}
