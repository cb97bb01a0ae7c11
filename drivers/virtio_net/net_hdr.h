/*
 * The packet header of virtio-net ⇄ a frame's offload facts. Pure functions.
 *
 * virtio 1.2 §5.1.6. What a device says about a frame is believed only as far as it was negotiated:
 * a checksum word without GUEST_CSUM counts as nothing said, a segmentation type that was not
 * accepted makes the frame unacceptable.
 */
#ifndef DRIVERS_VIRTIO_NET_NET_HDR_H
#define DRIVERS_VIRTIO_NET_NET_HDR_H

#include "drivers/netdev.h"
#include "drivers/virtio_net/spec.h"
#include "lib/types.h"

enum { NET_HDR_ETHER_BYTES = 14 };

/* Which of the offload facts were negotiated, for one direction. */
struct net_hdr_rules {
    bool csum, tso4, tso6, ecn;
};

/* What a received header says about the checksum. */
static inline struct frame_offload net_hdr_read_csum(const struct net_hdr_rules *rules,
                                                     const struct virtio_net_hdr *hdr)
{
    if (!rules->csum || !(hdr->flags & (VNET_HDR_NEEDS_CSUM | VNET_HDR_DATA_VALID)))
        return (struct frame_offload){0};
    /* Both at once: the sum is still to be completed, whatever else was verified. */
    if (!(hdr->flags & VNET_HDR_NEEDS_CSUM))
        return (struct frame_offload){.flags = FRAME_CSUM_VALID};
    return (struct frame_offload){.flags = FRAME_CSUM_PARTIAL,
                                  .csum_start = le16_get(hdr->csum_start),
                                  .csum_offset = le16_get(hdr->csum_offset)};
}

/* net_hdr_read() of a frame that is said to be segmented. */
bool net_hdr_read_gso(const struct net_hdr_rules *rules, const struct virtio_net_hdr *hdr,
                      struct frame_offload *out);

/*
 * Read a received header.
 *
 *   hdr   a copy in our own memory: the device may still write to the original
 *   out   written only on success
 *
 * Returns false when the frame must be dropped: a segmentation type unknown or not negotiated, an ECN
 * bit without one, segments of size 0. Flag bits that are unknown are ignored (§5.1.6.4.2).
 */
static inline bool net_hdr_read(const struct net_hdr_rules *rules, const struct virtio_net_hdr *hdr,
                                struct frame_offload *out)
{
    if (hdr->gso_type != VNET_GSO_NONE)
        return net_hdr_read_gso(rules, hdr, out);
    *out = net_hdr_read_csum(rules, hdr);
    return true;
}

/* True when the checksum facts lie within a frame of that many bytes. */
static inline bool net_hdr_fits(const struct frame_offload *offload, uint32_t frame_len)
{
    if (!(offload->flags & FRAME_CSUM_PARTIAL))
        return true;
    return offload->csum_start >= NET_HDR_ETHER_BYTES &&
           (uint32_t)offload->csum_start + offload->csum_offset + sizeof(uint16_t) <= frame_len;
}

/*
 * Write a header to send. num_buffers is 0 (§5.1.6.2.1).
 *
 * Returns false when the device can't do what is asked: it wasn't negotiated, or the facts contradict
 * (segmentation without FRAME_CSUM_PARTIAL, size 0); hdr is then untouched.
 */
bool net_hdr_write(const struct net_hdr_rules *rules, const struct frame_offload *offload,
                   struct virtio_net_hdr *hdr);

#endif
