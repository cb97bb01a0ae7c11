/*
 * Internet checksums (RFC 1071), and a frame's checksum facts translated to and from lwIP's ways.
 *
 * In: the device says per frame what it knows (FRAME_CSUM_*). Only where that covers the whole checksum that
 * lwIP would verify is lwIP told not to look: an unfragmented TCP or UDP packet directly behind its
 * IP header. Everything else is completed or verified in software. virtio 1.2 §5.1.6.4.1.
 * Out: lwIP leaves TCP's checksum field 0 on an interface that completes it; here the pseudo-header
 * sum is put into it and the device told where (§5.1.6.2).
 *
 * Poll loop only. Frames are Ethernet frames without VLAN tag.
 */
#ifndef NET_CSUM_H
#define NET_CSUM_H

#include <stdbool.h>

#include "drivers/netdev.h"

struct pbuf;

/*
 * One's complement sum of len bytes (≥ 0) as 16-bit words in memory order, folded to 16 bits, not
 * inverted; what lwIP calls LWIP_CHKSUM. Any alignment.
 */
uint16_t csum_lwip(const void *data, int len);

enum csum_trust {
    CSUM_VERIFY,  /* lwIP must check in software */
    CSUM_VOUCHED, /* the device, or the host that never finished it, vouches for TCP or UDP */
    CSUM_BAD,     /* can't be completed: offsets point outside; drop */
};

/*
 * What lwIP may believe about a received frame. A partial checksum that lwIP couldn't recognise (not TCP
 * or UDP directly behind IP, or a fragment) is completed in place first and then verified like any.
 *
 *   p         the IP packet (Ethernet header taken off); its first pbuf holds the headers
 *   offload   as the driver gave it: offsets count from the Ethernet header
 */
enum csum_trust csum_in(struct pbuf *p, const struct frame_offload *offload);

/*
 * Prepare an outgoing frame for a device that completes TCP checksums: for TCP, put the pseudo-header
 * sum into the header and describe it in *offload; for anything else leave both alone.
 * lwIP has computed every other checksum itself.
 */
void csum_out(struct pbuf *p, struct frame_offload *offload);

/* Compute the TCP checksum of a whole outgoing frame, whatever stands in the field. Not TCP: nothing happens. */
void csum_complete_tcp(struct pbuf *p);

#endif
