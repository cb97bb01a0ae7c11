/*
 * virtio-net on the wire: feature bits, configuration, packet header; nothing else. virtio 1.2 §5.1, §6.
 */
#ifndef DRIVERS_VIRTIO_NET_SPEC_H
#define DRIVERS_VIRTIO_NET_SPEC_H

#include "lib/types.h"

/* Queue numbers with one pair (§5.1.2). */
enum { VNET_RXQ = 0, VNET_TXQ = 1 };

/* Feature bits: §5.1.3, and §6 for those from 24 on. */
enum vnet_feature {
    VNET_F_CSUM = 0,        /* the device completes checksums of what we send */
    VNET_F_GUEST_CSUM = 1,  /* we take frames whose checksum is only begun */
    VNET_F_MTU = 3,         /* the configuration tells the MTU */
    VNET_F_MAC = 5,         /* … and the MAC address */
    VNET_F_GUEST_TSO4 = 7,  /* we take TCP/IPv4 frames larger than the MTU */
    VNET_F_GUEST_TSO6 = 8,  /* likewise IPv6 */
    VNET_F_GUEST_ECN = 9,   /* … with ECN */
    VNET_F_HOST_TSO4 = 11,  /* the device cuts TCP/IPv4 frames into segments */
    VNET_F_HOST_TSO6 = 12,  /* likewise IPv6 */
    VNET_F_HOST_ECN = 13,   /* … with ECN */
    VNET_F_MRG_RXBUF = 15,  /* a received frame may fill several buffers */
    VNET_F_STATUS = 16,     /* the configuration tells the link state */
    VNET_F_ANY_LAYOUT = 27, /* legacy only: header and data may share a descriptor */
    VNET_F_INDIRECT_DESC = 28,
    VNET_F_EVENT_IDX = 29,
    VNET_F_VERSION_1 = 32,
    VNET_F_ACCESS_PLATFORM = 33, /* the device's accesses go through the platform's IOMMU */
};

/* §5.1.4. Read only what was negotiated. */
struct virtio_net_config {
    uint8_t mac[6];           /* with MAC */
    le16 status;              /* with STATUS: enum vnet_status */
    le16 max_virtqueue_pairs; /* with MQ or RSS */
    le16 mtu;                 /* with MTU: bytes of IP packet */
};
static_assert(offsetof(struct virtio_net_config, status) == 6, "§5.1.4");
static_assert(offsetof(struct virtio_net_config, mtu) == 10, "§5.1.4");

enum vnet_status { VNET_S_LINK_UP = 1, VNET_S_ANNOUNCE = 2 };

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

#endif
