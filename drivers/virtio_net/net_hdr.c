#include "drivers/virtio_net/net_hdr.h"

/* The kind of segments, if it was negotiated, else -1. */
static int read_gso(const struct net_hdr_rules *rules, uint8_t type)
{
    switch (type) {
    case VNET_GSO_TCPV4:
        return rules->tso4 ? FRAME_GSO_TCP4 : -1;
    case VNET_GSO_TCPV6:
        return rules->tso6 ? FRAME_GSO_TCP6 : -1;
    default:
        return -1;
    }
}

bool net_hdr_read_gso(const struct net_hdr_rules *rules, const struct virtio_net_hdr *hdr,
                      struct frame_offload *out)
{
    const bool ecn = hdr->gso_type & VNET_GSO_ECN;
    const int gso = read_gso(rules, hdr->gso_type & (uint8_t)~VNET_GSO_ECN);
    struct frame_offload facts = net_hdr_read_csum(rules, hdr);

    if (gso <= FRAME_GSO_NONE || (ecn && !rules->ecn) || !le16_get(hdr->gso_size))
        return false;
    facts.gso = (uint8_t)gso;
    facts.ecn = ecn;
    facts.gso_size = le16_get(hdr->gso_size);
    facts.hdr_len = le16_get(hdr->hdr_len);
    *out = facts;
    return true;
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
