#include "net/vif_follow.h"

#include <string.h>

#include "lib/log.h"
#include "lwip/etharp.h"
#include "lwip/icmp6.h"
#include "lwip/igmp.h"
#include "lwip/inet_chksum.h"
#include "lwip/ip6.h"
#include "lwip/mld6.h"
#include "lwip/prot/nd6.h"
#include "lwip/tcp.h"
#include "lwip/priv/tcp_priv.h"
#include "net/vif.h"

/* ---- making ourselves known ---- */

enum { HOP_LIMIT = 255 }; /* RFC 4861 §7.1.2: it has crossed no router */

struct advertisement {
    struct na_header na;
    uint8_t option_type, option_units; /* 8 bytes: our Ethernet address */
    uint8_t mac[6];
};
static_assert(sizeof(struct advertisement) == 32, "RFC 4861 §4.4 and §4.6.1");

static void advertise(struct netif *netif, const ip6_addr_t *addr)
{
    struct pbuf *p = pbuf_alloc(PBUF_IP, sizeof(struct advertisement), PBUF_RAM);
    ip6_addr_t everybody;

    if (!p)
        return; /* the next round will do, or the neighbours' own questions */
    struct advertisement *a = p->payload;
    memset(a, 0, sizeof(*a));
    a->na.type = ICMP6_TYPE_NA;
    a->na.flags = ND6_FLAG_OVERRIDE;
    ip6_addr_copy_to_packed(a->na.target_address, *addr);
    a->option_type = ND6_OPTION_TYPE_TARGET_LLADDR;
    a->option_units = 1;
    memcpy(a->mac, netif->hwaddr, sizeof(a->mac));
    ip6_addr_set_allnodes_linklocal(&everybody);
    ip6_addr_assign_zone(&everybody, IP6_MULTICAST, netif);
    a->na.chksum = ip6_chksum_pseudo(p, IP6_NEXTH_ICMP6, p->tot_len, addr, &everybody);
    ip6_output_if(p, addr, &everybody, HOP_LIMIT, 0, IP6_NEXTH_ICMP6, netif);
    pbuf_free(p);
}

void vif_announce(struct vif *vif)
{
    struct netif *netif = &vif->netif;

    if (!netif_is_link_up(netif))
        return;
    if (vif->ip4 && !ip4_addr_isany(netif_ip4_addr(netif))) {
        etharp_gratuitous(netif);
        igmp_report_groups(netif);
    }
    for (int i = 0; vif->ip6 && i < LWIP_IPV6_NUM_ADDRESSES; i++) {
        if (ip6_addr_isvalid(netif_ip6_addr_state(netif, i)))
            advertise(netif, netif_ip6_addr(netif, i));
    }
    if (vif->ip6)
        mld6_report_groups(netif);
}

/* ---- link ---- */

static bool leaves_by(const struct tcp_pcb *pcb, const struct netif *netif)
{
    return ip_route(&pcb->local_ip, &pcb->remote_ip) == netif;
}

/*
 * What was under way when the link went down is lost, and what was written meanwhile found no way out; neither has a
 * timer that is due soon, the latter none at all.
 */
static void resume_tcp(struct vif *vif)
{
    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
        if (pcb->unacked && leaves_by(pcb, &vif->netif))
            tcp_rexmit_rto(pcb);
    }
    vif->tcp_refused = true; /* vif_tick() wakes whoever has something to send */
}

/* lwIP asks again whatever it learnt on the link: the lease (RFC 2131 §3.2), routers, duplicates of our addresses' owners. */
static void follow_link(struct vif *vif)
{
    const bool up = vif->dev->link_up && !vif->dev->broken;
    const bool flapped = vif->link_changes != vif->dev->link_changes;

    vif->link_changes = vif->dev->link_changes;
    if (!up || flapped)
        netif_set_link_down(&vif->netif);
    if (!up || netif_is_link_up(&vif->netif))
        return;
    netif_set_link_up(&vif->netif);
    resume_tcp(vif);
}

/* ---- address ---- */

static void follow_mac(struct vif *vif)
{
    struct netif *netif = &vif->netif;

    if (memcmp(netif->hwaddr, vif->dev->mac, sizeof(vif->dev->mac)) == 0)
        return;
    memcpy(netif->hwaddr, vif->dev->mac, sizeof(vif->dev->mac));
    vif_announce(vif);
}

/* ---- MTU ---- */

/* What is queued already goes out in fragments, once. */
static void lower_mss(const struct netif *netif)
{
    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
        if (pcb->state == SYN_SENT || !leaves_by(pcb, netif))
            continue;
        const u16_t mss = tcp_eff_send_mss(pcb->mss, &pcb->local_ip, &pcb->remote_ip);
        if (mss < pcb->mss)
            pcb->mss = mss;
    }
}

static void follow_mtu(struct vif *vif)
{
    struct netif *netif = &vif->netif;
    const u16_t before = netif->mtu, now = vif->dev->mtu;

    if (now == before)
        return;
    netif->mtu = now;
    /* A router's smaller word for IPv6 stays (RFC 4861 §6.3.4); else it follows. */
    if (netif->mtu6 == before || netif->mtu6 > now)
        netif->mtu6 = now;
    if (now < before)
        lower_mss(netif);
}

void vif_follow(struct vif *vif)
{
    follow_link(vif);
    follow_mac(vif);
    follow_mtu(vif);
}
