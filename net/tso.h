/*
 * Frames longer than the MTU: super-segments of TCP (tcp_send.h), on their way to the wire.
 *
 * The sender writes the payload of each segment to be made into TCP's urgent pointer. It is the one field that comes along wherever lwIP lets
 * the packet wait (ARP, ND), and that our TCP never uses. It is 0 again in all that leaves. With HOST_TSO the device cuts
 * (virtio 1.2 §5.1.6.2), otherwise tso_cut() does, once and late: the stack's work for 40 segments was done for one.
 *
 * Poll loop only. Frames are Ethernet frames without VLAN tag, their headers in the first pbuf.
 */
#ifndef NET_TSO_H
#define NET_TSO_H

#include <stdbool.h>

#include "drivers/netdev.h"
#include "lwip/pbuf.h"

enum { TSO_SEGMENTS_MAX = 64 }; /* of one frame: bounds what a full ring must take at once */

/* Take the mark off the frame. Returns the payload of its segments; 0: there is none, or it isn't TCP. */
uint16_t tso_unmark(struct pbuf *frame);

/* Put it back, for a frame that has to wait. */
void tso_mark(struct pbuf *frame, uint16_t payload);

/* Describe a frame that the device is to cut. It has had csum_out(), and payload is not 0. */
void tso_describe(const struct pbuf *frame, uint16_t payload, struct frame_offload *offload);

/* Can this device cut it? */
bool tso_by_device(const struct netdev_features *features, const struct pbuf *frame);

/*
 * Cut a marked frame into frames of the MTU. Their payload is the frame's memory, which they hold.
 *
 *   csum     compute TCP's checksum: no device will
 *   frames   at least TSO_SEGMENTS_MAX; written only on success. The caller owns each
 *
 * Returns their number; 0: no memory, or more than TSO_SEGMENTS_MAX. The frame itself stays the caller's, unmarked as before.
 */
size_t tso_cut(struct pbuf *frame, bool csum, struct pbuf **frames);

#endif
