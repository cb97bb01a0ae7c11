#include <netdb.h>
#include <netinet/in.h>

#include "net/host_lookup.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/page_frag.h"
#include "lwip/netif.h"
#include "net/dns_query.h"

static void add(struct host_addrs *out, uint8_t family, const void *bytes, uint32_t scope)
{
    struct host_addr *addr = &out->addr[out->count];

    if (out->count == HOST_ADDRS_MAX)
        return;
    *addr = (struct host_addr){.family = family, .scope = scope};
    memcpy(addr->bytes, bytes, family == AF_INET ? 4 : 16);
    out->count++;
}

static bool is_loopback(const struct netif *netif)
{
    return netif->name[0] == 'l' && netif->name[1] == 'o';
}

/* ---- names that need no asking ---- */

/* "localhost", "x.localhost", with or without the dot at the end. */
static bool is_localhost(const char *name)
{
    static const char tail[] = "localhost";
    size_t len = strlen(name);

    if (len > 0 && name[len - 1] == '.')
        len--;
    if (len < sizeof(tail) - 1)
        return false;
    const char *end = name + len - (sizeof(tail) - 1);

    return strncasecmp(end, tail, sizeof(tail) - 1) == 0 && (end == name || end[-1] == '.');
}

static const char *own_name(void)
{
    const char *name = netif_default ? netif_get_hostname(netif_default) : NULL;

    return name ? name : "";
}

static void add_loopback(struct host_addrs *out, int family)
{
    static const uint8_t four[4] = {127, 0, 0, 1}, six[16] = {[15] = 1};

    if (family != AF_INET)
        add(out, AF_INET6, six, 0);
    if (family != AF_INET6)
        add(out, AF_INET, four, 0);
}

static void add_own6(struct host_addrs *out, struct netif *netif)
{
    for (s8_t i = 0; i < LWIP_IPV6_NUM_ADDRESSES; i++) {
        const ip6_addr_t *ip = netif_ip6_addr(netif, i);

        if (ip6_addr_isvalid(netif_ip6_addr_state(netif, i)))
            add(out, AF_INET6, ip->addr, ip6_addr_islinklocal(ip) ? netif_get_index(netif) : 0);
    }
}

static void add_own(struct host_addrs *out, int family)
{
    struct netif *netif;

    NETIF_FOREACH(netif)
    {
        if (is_loopback(netif))
            continue;
        if (family != AF_INET6 && !ip4_addr_isany(netif_ip4_addr(netif)))
            add(out, AF_INET, netif_ip4_addr(netif), 0);
        if (family != AF_INET)
            add_own6(out, netif);
    }
    if (out->count == 0)
        add_loopback(out, family);
}

static bool known(struct host_addrs *out, const char *name, int family)
{
    if (is_localhost(name))
        add_loopback(out, family);
    else if (*own_name() && strcasecmp(name, own_name()) == 0)
        add_own(out, family);
    else
        return false;
    memcpy(out->name, name, size_min(strlen(name) + 1, sizeof(out->name) - 1));
    return true;
}

bool host_has_family(int family)
{
    struct netif *netif;

    NETIF_FOREACH(netif)
    {
        if (is_loopback(netif))
            continue;
        if (family == AF_INET && !ip4_addr_isany(netif_ip4_addr(netif)))
            return true;
        for (s8_t i = 0; family == AF_INET6 && i < LWIP_IPV6_NUM_ADDRESSES; i++) {
            if (ip6_addr_isvalid(netif_ip6_addr_state(netif, i)) &&
                !ip6_addr_islinklocal(netif_ip6_addr(netif, i)))
                return true;
        }
    }
    return false;
}

/* ---- names that DNS knows ---- */

static int eai_of(int err)
{
    switch (err) {
    case -EAGAIN:
    case -EINTR:
        return EAI_AGAIN;
    case -EINVAL:
        return EAI_NONAME;
    case -ENOBUFS:
    case -ENOMEM:
        return EAI_MEMORY;
    default:
        return EAI_FAIL;
    }
}

static void take_addrs(struct host_addrs *out, const struct dns_query *q)
{
    for (size_t i = 0; q->answered && i < q->answer.addr_count; i++)
        add(out, q->type == DNS_A ? AF_INET : AF_INET6, q->answer.addrs[i], 0);
    if (q->answered && q->answer.addr_count > 0)
        memcpy(out->name, q->answer.name, sizeof(out->name));
}

/* One family's answer is as good as both; without any, the worst news counts. */
static int verdict(const struct host_addrs *out, const struct dns_query *queries, size_t count,
                   int err)
{
    bool named = false;

    if (out->count > 0)
        return 0;
    if (err)
        return eai_of(err);
    for (size_t i = 0; i < count; i++)
        named |= queries[i].answer.rcode == DNS_OK;
    return named ? EAI_NODATA : EAI_NONAME;
}

static int ask_dns(struct host_addrs *out, const char *name, int family)
{
    struct frag *f = frag_take(DNS_QUERY_TYPES_MAX * sizeof(struct dns_query), FRAG_SMALL);
    size_t count = 0;

    if (!f)
        return EAI_MEMORY;
    struct dns_query *queries = (struct dns_query *)(void *)frag_start(f);

    /* IPv6 first where it leads anywhere. */
    if (family != AF_INET)
        queries[count++] = (struct dns_query){.type = DNS_AAAA};
    if (family != AF_INET6)
        queries[count++] = (struct dns_query){.type = DNS_A};
    const int err = dns_ask(name, queries, count);
    const bool six_last = !host_has_family(AF_INET6);

    for (size_t i = 0; i < count; i++)
        take_addrs(out, &queries[six_last ? count - 1 - i : i]);
    const int result = verdict(out, queries, count, err);

    frag_give(f);
    return result;
}

int host_by_name(struct host_addrs *out, const char *name, int family)
{
    out->count = 0;
    out->name[0] = '\0';
    return known(out, name, family) ? 0 : ask_dns(out, name, family);
}

/* ---- addresses ---- */

static bool is_known_addr(const struct host_addrs *list, const struct host_addr *addr)
{
    const size_t len = addr->family == AF_INET ? 4 : 16;

    for (size_t i = 0; i < list->count; i++) {
        if (list->addr[i].family == addr->family &&
            memcmp(list->addr[i].bytes, addr->bytes, len) == 0)
            return true;
    }
    return false;
}

static int ask_reverse(char name[DNS_NAME_BYTES], const struct host_addr *addr)
{
    struct frag *f = frag_take(sizeof(struct dns_query), FRAG_SMALL);
    char reverse[DNS_NAME_BYTES];

    if (!f)
        return EAI_MEMORY;
    struct dns_query *q = (struct dns_query *)(void *)frag_start(f);

    *q = (struct dns_query){.type = DNS_PTR};
    dns_reverse_name(reverse, addr->bytes, addr->family == AF_INET ? 4 : 16);
    int result = dns_ask(reverse, q, 1);

    result = result ? eai_of(result) : q->answer.name[0] ? 0 : EAI_NONAME;
    memcpy(name, q->answer.name, DNS_NAME_BYTES);
    frag_give(f);
    return result;
}

int host_by_addr(char name[DNS_NAME_BYTES], const struct host_addr *addr)
{
    struct host_addrs own = {.count = 0}, loopback = {.count = 0};

    add_loopback(&loopback, AF_UNSPEC);
    add_own(&own, AF_UNSPEC);
    if (is_known_addr(&loopback, addr))
        strcpy(name, "localhost");
    else if (*own_name() && is_known_addr(&own, addr))
        memcpy(name, own_name(), size_min(strlen(own_name()) + 1, DNS_NAME_BYTES));
    else
        return ask_reverse(name, addr);
    name[DNS_NAME_BYTES - 1] = '\0';
    return 0;
}
