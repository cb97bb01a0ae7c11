/* gethostbyname() and its kin: obsolete since 2001, and still what many programs call. Over net/host_lookup.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "lib/ip_text.h"
#include "net/host_lookup.h"

static int last_error;

int *__h_errno_location(void)
{
    return &last_error;
}

static int h_error_of(int eai)
{
    switch (eai) {
    case 0:
        return NETDB_SUCCESS;
    case EAI_NODATA:
        return NO_DATA;
    case EAI_AGAIN:
        return TRY_AGAIN;
    case EAI_NONAME:
        return HOST_NOT_FOUND;
    default:
        return NO_RECOVERY;
    }
}

/* What a struct hostent points to. */
struct pieces {
    char name[DNS_NAME_BYTES];
    char *aliases[1];
    char *list[HOST_ADDRS_MAX + 1];
    uint8_t bytes[HOST_ADDRS_MAX][16];
};

static void fill(struct hostent *entry, struct pieces *p, const struct host_addrs *hosts)
{
    const int family = hosts->addr[0].family;
    size_t used = 0;

    for (size_t i = 0; i < hosts->count; i++) {
        if (hosts->addr[i].family != family)
            continue;
        memcpy(p->bytes[used], hosts->addr[i].bytes, sizeof(p->bytes[used]));
        p->list[used] = (char *)p->bytes[used];
        used++;
    }
    p->list[used] = NULL;
    p->aliases[0] = NULL;
    memcpy(p->name, hosts->name, sizeof(p->name));
    *entry = (struct hostent){.h_name = p->name,
                              .h_aliases = p->aliases,
                              .h_addrtype = family,
                              .h_length = family == AF_INET ? 4 : 16,
                              .h_addr_list = p->list};
}

/* An address instead of a name is its own name. */
static bool numeric(struct host_addrs *out, const char *name, int family)
{
    struct host_addr *addr = &out->addr[0];
    struct in_addr four;

    *addr = (struct host_addr){.family = (uint8_t)family};
    if (family == AF_INET && inet_aton(name, &four))
        memcpy(addr->bytes, &four, sizeof(four));
    else if (family != AF_INET6 || !ip6_parse(addr->bytes, name))
        return false;
    out->count = 1;
    snprintf(out->name, sizeof(out->name), "%s", name);
    return true;
}

static int look_up(struct hostent *entry, struct pieces *p, const char *name, int family)
{
    struct host_addrs hosts = {.count = 0};
    const int err = numeric(&hosts, name, family) ? 0 : host_by_name(&hosts, name, family);

    if (!err)
        fill(entry, p, &hosts);
    return h_error_of(err);
}

struct hostent *gethostbyname2(const char *name, int family)
{
    static struct pieces pieces;
    static struct hostent entry;

    if (family != AF_INET && family != AF_INET6) {
        errno = EAFNOSUPPORT;
        last_error = NETDB_INTERNAL;
        return NULL;
    }
    last_error = look_up(&entry, &pieces, name, family);
    return last_error ? NULL : &entry;
}

struct hostent *gethostbyname(const char *name)
{
    return gethostbyname2(name, AF_INET);
}

int gethostbyname_r(const char *name, struct hostent *entry, char *room, size_t room_size,
                    struct hostent **result, int *error)
{
    const size_t skip = -(uintptr_t)room % _Alignof(struct pieces);

    *result = NULL;
    if (room_size < skip + sizeof(struct pieces)) {
        *error = NETDB_INTERNAL;
        return ERANGE; /* the caller comes again with twice the room */
    }
    *error = look_up(entry, (struct pieces *)(void *)(room + skip), name, AF_INET);
    if (!*error)
        *result = entry;
    return 0;
}

struct hostent *gethostbyaddr(const void *addr, socklen_t len, int family)
{
    static struct pieces pieces;
    static struct hostent entry;
    struct host_addrs hosts = {.count = 1};

    if ((family != AF_INET || len != 4) && (family != AF_INET6 || len != 16)) {
        errno = EINVAL;
        last_error = NETDB_INTERNAL;
        return NULL;
    }
    hosts.addr[0].family = (uint8_t)family;
    memcpy(hosts.addr[0].bytes, addr, len);
    last_error = h_error_of(host_by_addr(hosts.name, &hosts.addr[0]));
    if (last_error)
        return NULL;
    fill(&entry, &pieces, &hosts);
    return &entry;
}

const char *hstrerror(int error)
{
    static const char *const texts[] = {
        [NETDB_SUCCESS] = "No error",
        [HOST_NOT_FOUND] = "Unknown host",
        [TRY_AGAIN] = "No name server answered; it may later",
        [NO_RECOVERY] = "The name server can't tell",
        [NO_DATA] = "The name has no address of that kind",
    };

    if (error == NETDB_INTERNAL)
        return "Internal error: see errno";
    if (error < 0 || (size_t)error >= sizeof(texts) / sizeof(texts[0]))
        return "Unknown error";
    return texts[error];
}

void herror(const char *prefix)
{
    fprintf(stderr, "%s%s%s\n", prefix ? prefix : "", prefix && *prefix ? ": " : "",
            hstrerror(last_error));
}
