#include "net/nd6_guard.h"

#include "lib/counters.h"
#include "lib/log.h"
#include "lib/types.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "lwip/prot/icmp6.h"
#include "lwip/prot/ip6.h"
#include "lwip/prot/nd6.h"

static uint64_t ignored;
static struct counter counter = {
    .name = "nd6_claims_ignored_total",
    .help = "Neighbour advertisements dropped that claimed an address of ours.",
    .value = &ignored,
};

static bool is_extension(unsigned next_header)
{
    return next_header == IP6_NEXTH_HOPBYHOP || next_header == IP6_NEXTH_ROUTING ||
           next_header == IP6_NEXTH_DESTOPTS;
}

/* The packet's neighbour advertisement, or NULL. What is not in the first pbuf is none: 128 bytes are there. */
static const struct na_header *find_advertisement(const struct pbuf *p)
{
    const uint8_t *bytes = p->payload;
    size_t at = IP6_HLEN;

    if (p->len < IP6_HLEN)
        return NULL;
    unsigned next_header = IP6H_NEXTH((const struct ip6_hdr *)p->payload);
    while (is_extension(next_header) && at + 2 <= p->len) {
        next_header = bytes[at];
        at += (bytes[at + 1] + 1u) * 8;
    }
    if (next_header != IP6_NEXTH_ICMP6 || at + sizeof(struct na_header) > p->len ||
        bytes[at] != ICMP6_TYPE_NA)
        return NULL;
    return (const struct na_header *)(const void *)(bytes + at);
}

/* Assigned: past detection, so not tentative. */
static bool is_assigned(const struct netif *netif, const ip6_addr_p_t *target)
{
    ip6_addr_t addr;

    ip6_addr_copy_from_packed(addr, *target);
    for (int i = 0; i < LWIP_IPV6_NUM_ADDRESSES; i++) {
        if (ip6_addr_isvalid(netif_ip6_addr_state(netif, i)) &&
            ip6_addr_zoneless_eq(&addr, netif_ip6_addr(netif, i)))
            return true;
    }
    return false;
}

int net_nd6_guard(struct pbuf *p, struct netif *netif)
{
    const struct na_header *na = find_advertisement(p);

    if (!na || !is_assigned(netif, &na->target_address))
        return 0;
    ignored++;
    log_limited(LOG_WARN, "net", "another station claims an IPv6 address of ours; it stays");
    pbuf_free(p);
    return 1;
}

void net_nd6_guard_init(void)
{
    counters_add(&counter);
}
