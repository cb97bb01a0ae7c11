#include "drivers/virtio_net/net_hdr.h"

#include <string.h>

enum { ETHER_BYTES = 14 };

/* The kind of segments, if it was negotiated; -1 if the frame can't be accepted. */
static int read_gso(const struct net_hdr_rules *rules, uint8_t type)
{
    switch (type) {
    case VNET_GSO_NONE:
        return FRAME_GSO_NONE;
    case VNET_GSO_TCPV4:
        return rules->tso4 ? FRAME_GSO_TCP4 : -1;
    case VNET_GSO_TCPV6:
        return rules->tso6 ? FRAME_GSO_TCP6 : -1;
    default:
        return -1;
    }
}

static uint8_t read_flags(const struct net_hdr_rules *rules, uint8_t flags)
{
    if (!rules->csum)
        return 0;
    /* Both at once: the sum is still to be completed, whatever else was verified. */
    if (flags & VNET_HDR_NEEDS_CSUM)
        return FRAME_CSUM_PARTIAL;
    return flags & VNET_HDR_DATA_VALID ? FRAME_CSUM_VALID : 0;
}

bool net_hdr_read(const struct net_hdr_rules *rules, const struct virtio_net_hdr *hdr,
                  struct frame_offload *out)
{
    const bool ecn = hdr->gso_type & VNET_GSO_ECN;
    const int gso = read_gso(rules, hdr->gso_type & (uint8_t)~VNET_GSO_ECN);
    struct frame_offload facts = {.flags = read_flags(rules, hdr->flags)};

    if (gso < 0 || (ecn && (gso == FRAME_GSO_NONE || !rules->ecn)))
        return false;
    if (gso != FRAME_GSO_NONE) {
        facts.gso = (uint8_t)gso;
        facts.ecn = ecn;
        facts.gso_size = le16_get(hdr->gso_size);
        facts.hdr_len = le16_get(hdr->hdr_len);
        if (!facts.gso_size)
            return false;
    }
    if (facts.flags & FRAME_CSUM_PARTIAL) {
        facts.csum_start = le16_get(hdr->csum_start);
        facts.csum_offset = le16_get(hdr->csum_offset);
    }
    *out = facts;
    return true;
}

bool net_hdr_fits(const struct frame_offload *offload, uint32_t frame_len)
{
    if (!(offload->flags & FRAME_CSUM_PARTIAL))
        return true;
    return offload->csum_start >= ETHER_BYTES &&
           (uint32_t)offload->csum_start + offload->csum_offset + sizeof(uint16_t) <= frame_len;
}

static int write_gso(const struct net_hdr_rules *rules, const struct frame_offload *offload)
{
    const bool ok =
        (offload->flags & FRAME_CSUM_PARTIAL) && offload->gso_size && (!offload->ecn || rules->ecn);

    switch (offload->gso) {
    case FRAME_GSO_TCP4:
        return ok && rules->tso4 ? VNET_GSO_TCPV4 : -1;
    case FRAME_GSO_TCP6:
        return ok && rules->tso6 ? VNET_GSO_TCPV6 : -1;
    default:
        return -1;
    }
}

bool net_hdr_write(const struct net_hdr_rules *rules, const struct frame_offload *offload,
                   struct virtio_net_hdr *hdr)
{
    struct virtio_net_hdr h = {0};

    if (offload->gso != FRAME_GSO_NONE) {
        const int gso = write_gso(rules, offload);
        if (gso < 0)
            return false;
        h.gso_type = (uint8_t)(gso | (offload->ecn ? VNET_GSO_ECN : 0));
        h.gso_size = le16_make(offload->gso_size);
        h.hdr_len = le16_make(offload->hdr_len);
    }
    if (offload->flags & FRAME_CSUM_PARTIAL) {
        if (!rules->csum)
            return false;
        h.flags = VNET_HDR_NEEDS_CSUM;
        h.csum_start = le16_make(offload->csum_start);
        h.csum_offset = le16_make(offload->csum_offset);
    }
    *hdr = h;
    return true;
}
