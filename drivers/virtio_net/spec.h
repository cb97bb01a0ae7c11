/*
 * virtio-net on the wire: feature bits, configuration, packet header; nothing else. virtio 1.2 §5.1, §6.
 */
#ifndef DRIVERS_VIRTIO_NET_SPEC_H
#define DRIVERS_VIRTIO_NET_SPEC_H

#include "lib/types.h"

/* Queue numbers with one pair (§5.1.2); the control queue stands behind all pairs. */
enum { VNET_RXQ = 0, VNET_TXQ = 1, VNET_CTRLQ = 2, VNET_PAIRS_MAX = 0x8000 };

/* Feature bits: §5.1.3, and §6 for those from 24 on. */
enum vnet_feature {
    VNET_F_CSUM = 0,                /* the device completes checksums of what we send */
    VNET_F_GUEST_CSUM = 1,          /* we take frames whose checksum is only begun */
    VNET_F_CTRL_GUEST_OFFLOADS = 2, /* what we take may be changed while it runs */
    VNET_F_MTU = 3,                 /* the configuration tells the MTU */
    VNET_F_MAC = 5,                 /* … and the MAC address */
    VNET_F_GUEST_TSO4 = 7,          /* we take TCP/IPv4 frames larger than the MTU */
    VNET_F_GUEST_TSO6 = 8,          /* likewise IPv6 */
    VNET_F_GUEST_ECN = 9,           /* … with ECN */
    VNET_F_HOST_TSO4 = 11,          /* the device cuts TCP/IPv4 frames into segments */
    VNET_F_HOST_TSO6 = 12,          /* likewise IPv6 */
    VNET_F_HOST_ECN = 13,           /* … with ECN */
    VNET_F_MRG_RXBUF = 15,          /* a received frame may fill several buffers */
    VNET_F_STATUS = 16,             /* the configuration tells the link state */
    VNET_F_CTRL_VQ = 17,            /* there is a control queue */
    VNET_F_CTRL_RX = 18,            /* … for filters of addresses */
    VNET_F_CTRL_VLAN = 19,      /* … for a filter of VLANs, which then drops every tag not told */
    VNET_F_CTRL_RX_EXTRA = 20,  /* … for more kinds of filters */
    VNET_F_GUEST_ANNOUNCE = 21, /* the device may ask us to make ourselves known */
    VNET_F_MQ = 22,             /* several pairs of queues */
    VNET_F_CTRL_MAC_ADDR = 23,  /* our address may be told by control queue */
    VNET_F_ANY_LAYOUT = 27,     /* legacy only: header and data may share a descriptor */
    VNET_F_INDIRECT_DESC = 28,
    VNET_F_EVENT_IDX = 29,
    VNET_F_VERSION_1 = 32,
    VNET_F_ACCESS_PLATFORM = 33, /* the device's accesses go through the platform's IOMMU */
    VNET_F_RING_PACKED = 34,     /* one ring that both sides write */
    VNET_F_NOTF_COAL = 53,       /* interrupts may be put off */
    VNET_F_GUEST_HDRLEN = 59,    /* the device relies on hdr_len of what we send */
    VNET_F_SPEED_DUPLEX = 63,    /* the configuration tells the speed */
};

/* §5.1.4. Read only what was negotiated. */
struct virtio_net_config {
    uint8_t mac[6];           /* with MAC */
    le16 status;              /* with STATUS: enum vnet_status */
    le16 max_virtqueue_pairs; /* with MQ or RSS */
    le16 mtu;                 /* with MTU: bytes of IP packet */
    le32 speed;               /* with SPEED_DUPLEX: Mbit/s, 0 … 2^31-1; all ones = unknown */
    uint8_t duplex;           /* likewise: enum vnet_duplex */
};
static_assert(offsetof(struct virtio_net_config, status) == 6, "§5.1.4");
static_assert(offsetof(struct virtio_net_config, mtu) == 10, "§5.1.4");
static_assert(offsetof(struct virtio_net_config, speed) == 12, "§5.1.4");
static_assert(offsetof(struct virtio_net_config, duplex) == 16, "§5.1.4");

enum vnet_status { VNET_S_LINK_UP = 1, VNET_S_ANNOUNCE = 2 };
enum vnet_duplex { VNET_DUPLEX_HALF = 0, VNET_DUPLEX_FULL = 1, VNET_DUPLEX_UNKNOWN = 0xff };

enum vnet_hdr_flags {
    VNET_HDR_NEEDS_CSUM = 1, /* only the pseudo-header sum is in place */
    VNET_HDR_DATA_VALID = 2, /* the checksum has been verified */
};

enum vnet_hdr_gso {
    VNET_GSO_NONE = 0,
    VNET_GSO_TCPV4 = 1,
    VNET_GSO_UDP = 3,
    VNET_GSO_TCPV6 = 4,
    VNET_GSO_UDP_L4 = 5,
    VNET_GSO_ECN = 0x80, /* beside one of the TCP types */
};

/* §5.1.6. In front of every frame, both ways. */
struct virtio_net_hdr {
    uint8_t flags;    /* enum vnet_hdr_flags */
    uint8_t gso_type; /* enum vnet_hdr_gso */
    le16 hdr_len;     /* received: a hint only */
    le16 gso_size;
    le16 csum_start;
    le16 csum_offset;
    le16 num_buffers; /* there with VERSION_1 or MRG_RXBUF; has a meaning only with MRG_RXBUF */
};
static_assert(sizeof(struct virtio_net_hdr) == 12, "§5.1.6");

enum {
    VNET_HDR_BYTES = 12,       /* with VERSION_1 or MRG_RXBUF (§5.1.6.1) */
    VNET_HDR_BYTES_LEGACY = 10 /* else */
};

/* ---- the control queue, §5.1.6.5: class and command, then the command's data; one byte back ---- */

enum vnet_ctrl_class {
    VNET_CTRL_RX = 0,
    VNET_CTRL_MAC = 1,
    VNET_CTRL_VLAN = 2,
    VNET_CTRL_ANNOUNCE = 3,
    VNET_CTRL_MQ = 4,
    VNET_CTRL_GUEST_OFFLOADS = 5,
    VNET_CTRL_NOTF_COAL = 6,
};

/* By class. */
enum vnet_ctrl_command {
    VNET_CTRL_RX_PROMISC = 0,         /* one byte: on or off */
    VNET_CTRL_RX_ALLMULTI = 1,        /* likewise */
    VNET_CTRL_RX_NOBCAST = 5,         /* likewise */
    VNET_CTRL_MAC_TABLE_SET = 0,      /* two struct vnet_ctrl_mac_table, unicast first */
    VNET_CTRL_MAC_ADDR_SET = 1,       /* six bytes */
    VNET_CTRL_VLAN_ADD = 0,           /* le16 */
    VNET_CTRL_ANNOUNCE_ACK = 0,       /* nothing */
    VNET_CTRL_MQ_PAIRS_SET = 0,       /* le16 */
    VNET_CTRL_GUEST_OFFLOADS_SET = 0, /* le64: feature bits */
    VNET_CTRL_NOTF_COAL_TX_SET = 0,   /* le32 packets, le32 microseconds */
    VNET_CTRL_NOTF_COAL_RX_SET = 1,   /* likewise */
};

enum vnet_ctrl_ack { VNET_CTRL_OK = 0, VNET_CTRL_ERR = 1 };

struct vnet_ctrl_hdr {
    uint8_t class, command;
};
static_assert(sizeof(struct vnet_ctrl_hdr) == 2, "§5.1.6.5");

struct vnet_ctrl_mac_table {
    le32 entries;
    uint8_t macs[][6];
};
static_assert(offsetof(struct vnet_ctrl_mac_table, macs) == 4, "§5.1.6.5.2");

#endif
