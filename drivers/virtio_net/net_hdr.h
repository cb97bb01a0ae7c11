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

/* Which of the offload facts were negotiated, for one direction. */
struct net_hdr_rules {
    bool csum, tso4, tso6, ecn;
};

/*
 * Read a received header.
 *
 *   hdr   a copy in our own memory: the device may still write to the original
 *   out   written only on success
 *
 * Returns false when the frame must be dropped: a segmentation type unknown or not negotiated, an ECN
 * bit without one, segments of size 0. Flag bits that are unknown are ignored (§5.1.6.4.2).
 */
bool net_hdr_read(const struct net_hdr_rules *rules, const struct virtio_net_hdr *hdr,
                  struct frame_offload *out);

/* True when the checksum facts lie within a frame of that many bytes. */
bool net_hdr_fits(const struct frame_offload *offload, uint32_t frame_len);

/*
 * Write a header to send. num_buffers is 0 (§5.1.6.2.1).
 *
 * Returns false when the device can't do what is asked: it wasn't negotiated, or the facts contradict
 * (segmentation without FRAME_CSUM_PARTIAL, size 0); hdr is then untouched.
 */
bool net_hdr_write(const struct net_hdr_rules *rules, const struct frame_offload *offload,
                   struct virtio_net_hdr *hdr);

#endif
