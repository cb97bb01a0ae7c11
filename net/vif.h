/*
 * One NIC as lwIP sees it: frames in, frames out, link state.
 *
 * In: netdev poll ▸ address and VLAN filter ▸ pbuf ▸ IP or ARP. lwIP's ethernet_input() is not used: the header
 * comes off before a frame becomes a pbuf, whose 16-bit length could not hold it in front of 64 KB.
 * Out: lwIP ▸ (tso_cut) ▸ pieces of the pbuf chain ▸ netdev send. The chain is held until the device has let go.
 * When the ring is full, frames wait in a bounded backlog, then lwIP is told ERR_MEM and
 * TCP is woken when there is room: nothing that TCP sent is dropped.
 *
 * Poll loop only.
 */
#ifndef NET_VIF_H
#define NET_VIF_H

#include "drivers/netdev.h"
#include "lib/counters.h"
#include "lwip/netif.h"
#include "net/vif_filter.h"
#include "net/vlan.h"

enum {
    VIF_BACKLOG_MAX = 512, /* frames: several 64 KB datagrams in fragments; a power of two */
    VIF_BACKLOG_TCP_MAX =
        64, /* of them for TCP, which can wait: enough for ACKs between two turns */
    VIF_COUNTER_COUNT = 12,
};

struct vif_counters {
    uint64_t in_frames, out_frames;
    uint64_t in_not_ours;  /* unicast to somebody else (a flooding bridge) */
    uint64_t in_filtered;  /* multicast of a group that nobody is in */
    uint64_t in_vlan;      /* tagged for another VLAN, or untagged when we are in one */
    uint64_t in_unknown;   /* a protocol that isn't configured: counted and dropped */
    uint64_t in_bad;       /* too long for the stack, or its checksum can't be completed */
    uint64_t in_no_memory; /* no memory to gather a scattered header */
    uint64_t out_copied;   /* too many pieces, or volatile memory: joined by a copy */
    uint64_t out_cut;      /* made from frames longer than the MTU, which the device doesn't cut */
    uint64_t out_refused;  /* backlog full: lwIP was told ERR_MEM */
    uint64_t out_dropped;  /* the device can't take it, or is broken */
};

struct vif {
    struct netif netif;
    struct netdev *dev; /* borrowed */
    bool ip4, ip6;      /* families in use: ip=off, ip6=off */
    bool dhcp;
    bool armed; /* interrupts are on */
    bool broken_seen;
    bool tx_csum;                     /* dev->features.tx_csum, as the stack knows it */
    uint8_t vlan_tag[VLAN_TAG_BYTES]; /* put into what is sent, when dev->vlan_id is set */
    struct vif_filter filter;
    uint32_t link_changes; /* dev->link_changes as lwIP knows it */
    bool tcp_refused;      /* some tcp_output() met ERR_MEM: wake TCP when there is room */
    uint32_t wake_turn;    /* which of the refused senders comes first: they take turns */
    bool gw4_set, gw6_set; /* gw=, gw6=: they win over DHCP and router advertisements */
    ip4_addr_t gw4;
    ip6_addr_t gw6;
    struct pbuf *backlog[VIF_BACKLOG_MAX];
    uint32_t backlog_head, backlog_tail; /* free-running */
    uint32_t in_device;                  /* frames that the device has and we haven't got back */
    uint64_t arp_asked_us,
        arp_heard_us; /* when a neighbour was last asked for, and one last spoke */
    struct vif_counters count;
    char labels[24];
    struct counter counters[VIF_COUNTER_COUNT];
};

/* Add the interface to lwIP (administratively up, link as the device says). dev is borrowed for good.
 * Returns 0 or -ENOMEM. */
int vif_open(struct vif *vif, struct netdev *dev, bool ip4, bool ip6);

/* Take what the device has received, up to NETDEV_POLL_MAX frames, into lwIP. Returns their number. */
size_t vif_poll(struct vif *vif);

/* Tell the device about everything sent since. */
void vif_flush(struct vif *vif);

/* Every NETDEV_TICK_MS: the driver's tick, and link changes. */
void vif_tick(struct vif *vif);

/* Before sleeping: ask for interrupts. True when there is work after all. */
bool vif_arm(struct vif *vif);
void vif_disarm(struct vif *vif);

/* Whether TCP packets longer than the MTU, marked as net/tso.h has it, may be given to netif's output functions. */
bool vif_takes_long_packets(const struct netif *netif);

/* The NIC's name in the log, "net0"; netif is a vif's. */
const char *vif_name(const struct netif *netif);

#endif
