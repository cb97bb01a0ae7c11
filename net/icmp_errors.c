#include "net/icmp_errors.h"

#include <errno.h>
#include <string.h>

#include "lib/counters.h"
#include "lib/log.h"
#include "lib/types.h"
#include "lwip/inet_chksum.h"
#include "lwip/ip.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/ip6.h"
#include "lwip/raw.h"

enum {
    TYPE4_UNREACHABLE = 3, /* RFC 792 */
    TYPE6_UNREACHABLE = 1, /* RFC 4443 §3.1 */
    ICMP_BYTES = 8,
    PORTS_BYTES = 8, /* ports and TCP's sequence number: what RFC 792 promises of our packet */
    LOOK_BYTES = ICMP_BYTES + IP6_HLEN + PORTS_BYTES + 20 /* 20: IPv4's options, most times none */
};

static uint64_t heard;
static struct counter counter = {.name = "icmp_unreachable_total",
                                 .help = "Messages that a destination can't be reached.",
                                 .value = &heard};

static int error_of4(unsigned code)
{
    switch (code) {
    case 0:
        return ENETUNREACH;
    case 2:
        return ENOPROTOOPT;
    case 3:
        return ECONNREFUSED;
    case 4: /* "fragmentation needed": no end of a connection */
        return 0;
    default:
        return EHOSTUNREACH;
    }
}

static int error_of6(unsigned code)
{
    switch (code) {
    case 0:
        return ENETUNREACH;
    case 4:
        return ECONNREFUSED;
    case 1:
    case 5:
    case 6:
        return EACCES;
    default:
        return EHOSTUNREACH;
    }
}

static u16_t get16(const u8_t *at)
{
    return (u16_t)(at[0] << 8 | at[1]);
}

static void take_ports(struct icmp_error *e, const u8_t *at)
{
    e->local_port = get16(at);
    e->remote_port = get16(at + 2);
    e->seq = (u32_t)get16(at + 4) << 16 | get16(at + 6);
}

/* Our own packet's beginning, as it comes back. False: too little of it. */
static bool take_packet4(struct icmp_error *e, const u8_t *at, size_t len)
{
    struct ip_hdr ip;

    if (len < sizeof(ip))
        return false;
    memcpy(&ip, at, sizeof(ip));
    if (IPH_V(&ip) != 4 || len < IPH_HL_BYTES(&ip) + (size_t)PORTS_BYTES ||
        (IPH_OFFSET(&ip) & PP_HTONS(IP_OFFMASK)))
        return false;
    e->protocol = IPH_PROTO(&ip);
    ip_addr_copy_from_ip4(e->local, ip.src);
    ip_addr_copy_from_ip4(e->remote, ip.dest);
    take_ports(e, at + IPH_HL_BYTES(&ip));
    return true;
}

static bool take_packet6(struct icmp_error *e, const u8_t *at, size_t len)
{
    struct ip6_hdr ip;

    if (len < sizeof(ip) + PORTS_BYTES)
        return false;
    memcpy(&ip, at, sizeof(ip));
    if (IP6H_V(&ip) != 6)
        return false;
    e->protocol = IP6H_NEXTH(&ip);
    ip_addr_copy_from_ip6_packed(e->local, ip.src);
    ip_addr_copy_from_ip6_packed(e->remote, ip.dest);
    ip6_addr_assign_zone(ip_2_ip6(&e->local), IP6_UNICAST, ip_current_input_netif());
    ip6_addr_assign_zone(ip_2_ip6(&e->remote), IP6_UNICAST, ip_current_input_netif());
    take_ports(e, at + sizeof(ip));
    return true;
}

/* lwIP verifies after us, and as it does: the loopback interface makes no checksums. */
static bool is_intact(struct pbuf *p, u16_t head, bool v6)
{
    const u16_t flag = v6 ? NETIF_CHECKSUM_CHECK_ICMP6 : NETIF_CHECKSUM_CHECK_ICMP;

    if (!(ip_current_input_netif()->chksum_flags & flag))
        return true;
    if (pbuf_remove_header(p, head))
        return false;
    const bool good = v6 ? ip6_chksum_pseudo(p, IP6_NEXTH_ICMP6, p->tot_len, ip6_current_src_addr(),
                                             ip6_current_dest_addr()) == 0
                         : inet_chksum_pbuf(p) == 0;

    (void)pbuf_add_header_force(p, head);
    return good;
}

static void tell(const struct icmp_error *e)
{
    heard++;
    if (e->error == 0)
        return;
    if (e->protocol == IP_PROTO_UDP)
        sock_udp_unreachable(e);
    else if (e->protocol == IP_PROTO_TCP)
        sock_tcp_unreachable(e);
}

static u8_t on_icmp(void *arg, struct raw_pcb *pcb, struct pbuf *p, const ip_addr_t *from)
{
    const bool v6 = ip_current_is_v6();
    const u16_t head = ip_current_header_tot_len();
    u8_t bytes[LOOK_BYTES];
    struct icmp_error e = {0};

    (void)arg;
    (void)pcb;
    (void)from;
    const size_t len = pbuf_copy_partial(p, bytes, sizeof(bytes), head);

    if (len < ICMP_BYTES || bytes[0] != (v6 ? TYPE6_UNREACHABLE : TYPE4_UNREACHABLE))
        return 0;
    e.error = v6 ? error_of6(bytes[1]) : error_of4(bytes[1]);
    const bool whole = v6 ? take_packet6(&e, bytes + ICMP_BYTES, len - ICMP_BYTES)
                          : take_packet4(&e, bytes + ICMP_BYTES, len - ICMP_BYTES);

    if (whole && is_intact(p, head, v6))
        tell(&e);
    return 0; /* lwIP goes on with it */
}

static void listen_to(u8_t type, u8_t protocol)
{
    struct raw_pcb *pcb = raw_new_ip_type(type, protocol);

    if (pcb)
        raw_recv(pcb, on_icmp, NULL);
    else
        log_warn("net", "no memory to hear of unreachable destinations");
}

void net_icmp_errors_init(void)
{
    counters_add(&counter);
    listen_to(IPADDR_TYPE_V4, IP_PROTO_ICMP);
    listen_to(IPADDR_TYPE_V6, IP6_NEXTH_ICMP6);
}
