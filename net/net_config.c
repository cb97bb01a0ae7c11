#include "net/net_config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/ip_text.h"
#include "lwip/dhcp.h"
#include "lwip/dns.h"
#include "lwip/ip4_addr.h"
#include "lwip/ip6_addr.h"
#include "lwip/nd6.h"

enum { LINK_LOCAL_SLOT = 0, STATIC_SLOT = 1, ON_LINK_PREFIX = 64 };

static ip4_addr_t addr4(const uint8_t *bytes)
{
    ip4_addr_t addr;

    memcpy(&addr.addr, bytes, sizeof(addr.addr));
    return addr;
}

static ip6_addr_t addr6(const uint8_t *bytes)
{
    ip6_addr_t addr = {0};

    memcpy(addr.addr, bytes, sizeof(addr.addr));
    return addr;
}

static ip4_addr_t mask_of(uint8_t prefix)
{
    const uint32_t host = prefix ? UINT32_MAX << (32 - prefix) : 0;
    ip4_addr_t mask = {lwip_htonl(host)};

    return mask;
}

static int apply_ip4(struct vif *vif, const struct opt_nic *opt)
{
    if (opt->ip.mode == OPT_IP_OFF)
        return 0;
    vif->gw4_set = opt->gw_set;
    vif->gw4 = opt->gw_set ? addr4(opt->gw) : (ip4_addr_t){0};
    if (opt->ip.mode == OPT_IP_AUTO) {
        vif->dhcp = true;
        return dhcp_start(&vif->netif) == ERR_OK ? 0 : -ENOMEM;
    }
    const ip4_addr_t addr = addr4(opt->ip.addr);
    const ip4_addr_t mask = mask_of(opt->ip.prefix);

    netif_set_addr(&vif->netif, &addr, &mask, &vif->gw4);
    return 0;
}

static void apply_ip6(struct vif *vif, const struct opt_nic *opt)
{
    struct netif *netif = &vif->netif;

    if (opt->ip6.mode == OPT_IP_OFF)
        return;
    netif_create_ip6_linklocal_address(netif, 1);
    netif_ip6_addr_set_state(netif, LINK_LOCAL_SLOT, IP6_ADDR_TENTATIVE);
    netif_set_ip6_autoconfig_enabled(netif, opt->ip6.mode == OPT_IP_AUTO);
    if (opt->ip6.mode == OPT_IP_STATIC) {
        ip6_addr_t addr = addr6(opt->ip6.addr);

        ip6_addr_assign_zone(&addr, IP6_UNICAST, netif);
        netif_ip6_addr_set(netif, STATIC_SLOT, &addr);
        netif_ip6_addr_set_state(netif, STATIC_SLOT, IP6_ADDR_TENTATIVE);
    }
    vif->gw6_set = opt->gw6_set;
    if (opt->gw6_set) {
        vif->gw6 = addr6(opt->gw6);
        ip6_addr_assign_zone(&vif->gw6, IP6_UNICAST, netif);
    }
    /* The question whether somebody has our address goes out now, not at lwIP's next second: the answer is
     * waited for until then (RFC 4862 §5.4: RETRANS_TIMER, 1 s). */
    nd6_tmr();
}

int net_config_apply(struct vif *vif, const struct opt_nic *opt, const char *hostname)
{
    netif_set_hostname(&vif->netif, hostname);
    apply_ip6(vif, opt);
    return apply_ip4(vif, opt);
}

/* dns=: it wins over what DHCP and routers say. */
static ip_addr_t named[DNS_MAX_SERVERS];
static size_t named_count;

void net_config_dns(const struct opt_addr *dns, size_t count)
{
    named_count = 0;
    for (size_t i = 0; i < count && named_count < DNS_MAX_SERVERS; i++) {
        if (dns[i].family == 4)
            ip_addr_copy_from_ip4(named[named_count], addr4(dns[i].addr));
        else if (dns[i].family == 6)
            ip_addr_copy_from_ip6(named[named_count], addr6(dns[i].addr));
        else
            continue;
        named_count++;
    }
}

void net_config_name_server(size_t i, ip_addr_t *addr)
{
    if (named_count == 0)
        ip_addr_copy(*addr, *dns_getserver((u8_t)i));
    else if (i < named_count)
        ip_addr_copy(*addr, named[i]);
    else
        ip_addr_set_zero(addr);
}

static bool has_valid_ip6(const struct netif *netif)
{
    for (int i = 0; i < LWIP_IPV6_NUM_ADDRESSES; i++) {
        if (ip6_addr_isvalid(netif_ip6_addr_state(netif, i)))
            return true;
    }
    return false;
}

bool net_config_usable(const struct vif *vif)
{
    if (vif->ip4)
        return !ip4_addr_isany_val(*netif_ip4_addr(&vif->netif));
    return vif->ip6 ? has_valid_ip6(&vif->netif) : true;
}

/* ---- text ---- */

struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const int n = vsnprintf(t->at, t->left, fmt, args);
    va_end(args);
    if (n > 0 && (size_t)n < t->left) {
        t->at += n;
        t->left -= (size_t)n;
    }
}

static unsigned prefix_of(const ip4_addr_t *mask)
{
    return (unsigned)__builtin_popcount(mask->addr);
}

static void put_ip4(struct text *t, const char *before, const ip4_addr_t *addr)
{
    char text[IP4_TEXT_BYTES];
    uint8_t bytes[sizeof(addr->addr)];

    memcpy(bytes, &addr->addr, sizeof(bytes));
    ip4_format(text, bytes);
    put(t, "%s%s", before, text);
}

static void put_ip6(struct text *t, const struct netif *netif)
{
    char text[IP6_TEXT_BYTES];
    uint8_t bytes[16];

    for (int i = 0; i < LWIP_IPV6_NUM_ADDRESSES; i++) {
        const u8_t state = netif_ip6_addr_state(netif, i);

        if (ip6_addr_isinvalid(state) || ip6_addr_isduplicated(state))
            continue;
        memcpy(bytes, netif_ip6_addr(netif, i)->addr, sizeof(bytes));
        ip6_format(text, bytes);
        put(t, "%s/%d ", text, ON_LINK_PREFIX);
    }
}

void net_config_text(const struct vif *vif, char *text, size_t size)
{
    const struct netif *netif = &vif->netif;
    const ip4_addr_t *gw = vif->gw4_set ? &vif->gw4 : netif_ip4_gw(netif);
    struct text t = {text, size};

    text[0] = '\0';
    if (vif->ip4) {
        put_ip4(&t, "", netif_ip4_addr(netif));
        put(&t, "/%u ", prefix_of(netif_ip4_netmask(netif)));
    }
    put_ip6(&t, netif);
    if (vif->ip4 && !ip4_addr_isany(gw)) {
        put_ip4(&t, "gw ", gw);
        put(&t, " ");
    }
    put(&t, "mtu %u", netif->mtu);
}
