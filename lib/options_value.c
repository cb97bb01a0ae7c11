#include "lib/options_value.h"

#include <stdlib.h>
#include <string.h>

#include "lib/ip_text.h"

enum { RXBUF_MIN = 64, RXBUF_MAX = 65536, VLAN_MAX = 4094 };

static const char not_an_address[] = "not an address";
static const char not_unicast[] = "not the address of one host";

/* Are the bits of an address from `from` to its end all `bit`? */
static bool bits_are(const uint8_t *addr, size_t addr_bytes, size_t from, bool bit)
{
    for (size_t i = from; i < addr_bytes * 8; i++)
        if ((addr[i / 8] >> (7 - i % 8) & 1) != bit)
            return false;
    return true;
}

static bool same_network(const uint8_t *a, const uint8_t *b, size_t prefix)
{
    for (size_t i = 0; i < prefix; i++)
        if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
            return false;
    return true;
}

/* One host elsewhere: not "this network" 0/8, loopback 127/8, multicast 224/4, broadcast (RFC 1122 §3.2.1.3). */
static bool ip4_is_unicast(const uint8_t addr[4])
{
    return addr[0] != 0 && addr[0] != 127 && (addr[0] & 0xf0) != 0xe0 &&
           !bits_are(addr, 4, 0, true);
}

/* Not ::, ::1, multicast, or IPv4 in disguise (RFC 4291 §2.4, §2.5.5). */
static bool ip6_is_unicast(const uint8_t addr[16])
{
    const bool starts_zero = bits_are(addr, 10, 0, false);
    const bool compatible = addr[10] == 0 && addr[11] == 0;
    const bool mapped = addr[10] == 0xff && addr[11] == 0xff;
    return addr[0] != 0xff && !(starts_zero && (compatible || mapped));
}

static bool ip6_is_link_local(const uint8_t addr[16])
{
    return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

static const char *check_static4(const struct opt_ip4 *ip)
{
    if (!ip4_is_unicast(ip->addr))
        return not_unicast;
    if (ip->prefix == 0)
        return "the prefix must be 1 to 32";
    /* RFC 3021: a /31 has no network and broadcast address; a /32 is the host itself. */
    if (ip->prefix <= 30 && bits_are(ip->addr, 4, ip->prefix, false))
        return "that is the network's own address";
    if (ip->prefix <= 30 && bits_are(ip->addr, 4, ip->prefix, true))
        return "that is the network's broadcast address";
    return NULL;
}

const char *opt_value_ip4(struct opt_ip4 *out, const char *text)
{
    struct opt_ip4 ip = {.mode = OPT_IP_STATIC};
    if (strcmp(text, "dhcp") == 0) {
        ip.mode = OPT_IP_AUTO;
    } else if (strcmp(text, "off") == 0) {
        ip.mode = OPT_IP_OFF;
    } else if (ip4_parse(ip.addr, text)) {
        return "the /PREFIX is missing";
    } else if (!ip4_parse_cidr(ip.addr, &ip.prefix, text)) {
        return not_an_address;
    } else {
        const char *why = check_static4(&ip);
        if (why)
            return why;
    }
    *out = ip;
    return NULL;
}

static const char *check_static6(const struct opt_ip6 *ip)
{
    if (!ip6_is_unicast(ip->addr))
        return not_unicast;
    if (ip->prefix == 0)
        return "the prefix must be 1 to 128";
    /* RFC 4291 §2.6.1; on a /127 it is a host (RFC 6164 §6). */
    if (ip->prefix <= 126 && bits_are(ip->addr, 16, ip->prefix, false))
        return "that is the subnet-router anycast address";
    return NULL;
}

const char *opt_value_ip6(struct opt_ip6 *out, const char *text)
{
    struct opt_ip6 ip = {.mode = OPT_IP_STATIC};
    if (strcmp(text, "auto") == 0) {
        ip.mode = OPT_IP_AUTO;
    } else if (strcmp(text, "off") == 0) {
        ip.mode = OPT_IP_OFF;
    } else if (ip6_parse(ip.addr, text)) {
        return "the /PREFIX is missing";
    } else if (!ip6_parse_cidr(ip.addr, &ip.prefix, text)) {
        return not_an_address;
    } else {
        const char *why = check_static6(&ip);
        if (why)
            return why;
    }
    *out = ip;
    return NULL;
}

const char *opt_value_gw4(uint8_t out[4], const char *text)
{
    uint8_t addr[4];
    if (!ip4_parse(addr, text))
        return not_an_address;
    if (!ip4_is_unicast(addr))
        return not_unicast;
    memcpy(out, addr, sizeof(addr));
    return NULL;
}

const char *opt_value_gw6(uint8_t out[16], const char *text)
{
    uint8_t addr[16];
    if (!ip6_parse(addr, text))
        return not_an_address;
    if (!ip6_is_unicast(addr))
        return not_unicast;
    memcpy(out, addr, sizeof(addr));
    return NULL;
}

/* One resolver, either family. */
static const char *parse_resolver(struct opt_addr *out, const char *text)
{
    *out = (struct opt_addr){.family = 4};
    const char *why = opt_value_gw4(out->addr, text);
    if (why == not_an_address) {
        out->family = 6;
        why = opt_value_gw6(out->addr, text);
    }
    return why;
}

const char *opt_value_dns(struct opt_addr *out, const char *text)
{
    struct opt_addr found[OPT_DNS_MAX] = {0};
    for (size_t i = 0;; i++) {
        char one[IP6_TEXT_BYTES];
        const size_t len = strcspn(text, ",");
        if (i == OPT_DNS_MAX)
            return "too many";
        if (len >= sizeof(one))
            return not_an_address;
        memcpy(one, text, len);
        one[len] = '\0';
        const char *why = parse_resolver(&found[i], one);
        if (why)
            return why;
        if (!text[len])
            break;
        text += len + 1;
    }
    memcpy(out, found, sizeof(found));
    return NULL;
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

const char *opt_value_hostname(char *out, const char *text)
{
    const size_t len = strlen(text);
    if (len == 0 || len > OPT_HOSTNAME_MAX)
        return "the length must be 1 to 63";
    for (size_t i = 0; i < len; i++) {
        const bool at_edge = i == 0 || i == len - 1 || text[i - 1] == '.' || text[i + 1] == '.';
        if (!is_alnum(text[i]) && (at_edge || (text[i] != '-' && text[i] != '.')))
            return "not a host name";
    }
    memcpy(out, text, len + 1);
    return NULL;
}

/* A decimal number, or UINT32_MAX when the text is none; larger ones than `max` become max + 1. */
static uint32_t read_number(const char *text, uint32_t max)
{
    const size_t digits = strspn(text, "0123456789");
    uint32_t value = 0;

    if (digits == 0 || text[digits])
        return UINT32_MAX;
    for (size_t i = 0; i < digits && value <= max; i++)
        value = value * 10 + (uint32_t)(text[i] - '0');
    return value <= max ? value : max + 1;
}

const char *opt_value_vlan(uint16_t *out, const char *text)
{
    const uint32_t id = strcmp(text, "off") == 0 ? 0 : read_number(text, VLAN_MAX);

    if (id == UINT32_MAX)
        return "neither a known word nor a number";
    if (id > VLAN_MAX || (id == 0 && *text == '0'))
        return "out of range";
    *out = (uint16_t)id;
    return NULL;
}

const char *opt_value_rxbuf(struct opt_vnet *out, const char *text)
{
    static const char *const words[] = {
        [OPT_RXBUF_AUTO] = "auto",
        [OPT_RXBUF_PAGE] = "page",
        [OPT_RXBUF_MTU] = "mtu",
        [OPT_RXBUF_SPLIT] = "split",
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            out->rxbuf = (enum opt_rxbuf)i;
            out->rxbuf_bytes = 0;
            return NULL;
        }
    }
    const uint32_t bytes = read_number(text, RXBUF_MAX);
    if (bytes == UINT32_MAX)
        return "neither a known word nor a number";
    if (bytes < RXBUF_MIN || bytes > RXBUF_MAX)
        return "out of range";
    out->rxbuf = OPT_RXBUF_BYTES;
    out->rxbuf_bytes = bytes;
    return NULL;
}

const char *opt_check_gw4(const struct opt_nic *nic)
{
    const struct opt_ip4 *ip = &nic->ip;
    if (!nic->gw_set || ip->mode != OPT_IP_STATIC)
        return NULL;
    if (memcmp(nic->gw, ip->addr, 4) == 0)
        return "that is this host's own address";
    if (ip->prefix == 32)
        return NULL; /* a point-to-point link: everything is behind the gateway */
    if (!same_network(nic->gw, ip->addr, ip->prefix))
        return "not on the network of this host's address";
    if (ip->prefix <= 30 &&
        (bits_are(nic->gw, 4, ip->prefix, false) || bits_are(nic->gw, 4, ip->prefix, true)))
        return not_unicast;
    return NULL;
}

const char *opt_check_gw6(const struct opt_nic *nic)
{
    const struct opt_ip6 *ip = &nic->ip6;
    if (!nic->gw6_set || ip->mode != OPT_IP_STATIC)
        return NULL;
    if (memcmp(nic->gw6, ip->addr, 16) == 0)
        return "that is this host's own address";
    if (ip->prefix == 128 || ip6_is_link_local(nic->gw6) ||
        same_network(nic->gw6, ip->addr, ip->prefix))
        return NULL;
    return "neither link-local nor on the network of this host's address";
}

/*
 * A number as Linux's memparse() reads it: decimal, 0x…, or octal with a leading 0; then perhaps K, M or G.
 * *at moves behind it. False when there is none, or it is too large.
 */
static bool take_size(const char **at, uint64_t *out)
{
    static const char units[] = "KMG";
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    *out = strtoull(*at, &end, 0);
    if (*out == UINT64_MAX) /* too large, or as good as */
        return false;
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (*out << shift >> shift != *out)
        return false;
    *out <<= shift;
    *at = unit ? end + 1 : end;
    return true;
}

const char *opt_value_mmio(struct opt_mmio *out, const char *text)
{
    struct opt_mmio v;
    uint64_t irq, id;

    if (!take_size(&text, &v.size) || *text++ != '@' || !take_size(&text, &v.base) ||
        *text++ != ':' || !take_size(&text, &irq))
        return "not of that form";
    if (*text == ':') {
        text++;
        if (!take_size(&text, &id))
            return "not of that form";
    }
    if (*text)
        return "not of that form";
    if (v.size < 256 || v.base % 4 != 0 || v.base > UINT64_MAX - v.size)
        return "no place for registers";
    if (irq > UINT16_MAX)
        return "no such interrupt";
    v.irq = (uint32_t)irq;
    *out = v;
    return NULL;
}
