/* What the driver negotiates, and why. virtio 1.2 §5.1.3, §6. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/virtio_net/vnet.h"
#include "lib/log.h"
#include "lib/page_alloc.h"

#define BIT(feature) (1ull << (feature))

enum { NO_SWITCH = -1, BIG_BUFFERS_MIN = 64 };

/*
 * Everything we can do. A bit that isn't here is never accepted: an unimplemented feature must not be
 * acknowledged, and a legacy-only bit 6 ("any GSO") stands for nothing that can be relied on.
 */
static const struct {
    uint8_t bit;
    int8_t option; /* enum opt_feature that may turn it off, or NO_SWITCH */
    const char *name;
    const char *why;
} table[] = {
    {VNET_F_VERSION_1, NO_SWITCH, "version_1", "must be accepted when offered (§6.1)"},
    {VNET_F_ACCESS_PLATFORM, NO_SWITCH, "access_platform",
     "the device may refuse to work without (§6.1); nobody turns the IOMMU on, so addresses stay"},
    {VNET_F_ANY_LAYOUT, NO_SWITCH, "any_layout",
     "legacy: header and frame in one buffer, half the descriptors"},
    {VNET_F_EVENT_IDX, OPT_F_EVENT_IDX, "event_idx",
     "one kick for many frames, interrupts after a batch"},
    {VNET_F_INDIRECT_DESC, OPT_F_INDIRECT, "indirect", "a full ring of many-piece frames"},
    {VNET_F_MAC, NO_SWITCH, "mac", "the address that the host expects"},
    {VNET_F_STATUS, OPT_F_STATUS, "status", "a pulled cable is noticed"},
    {VNET_F_MTU, OPT_F_MTU, "mtu", "no frame larger than the host's network takes"},
    {VNET_F_CSUM, OPT_F_CSUM, "csum", "checksums of what is sent are left to the device"},
    {VNET_F_GUEST_CSUM, OPT_F_GUEST_CSUM, "guest_csum",
     "frames of the host itself need no checksum"},
    {VNET_F_MRG_RXBUF, OPT_F_MRG, "mrg", "large frames without large buffers"},
    {VNET_F_HOST_TSO4, OPT_F_TSO, "tso4", "one frame of 64 KB instead of 45 segments"},
    {VNET_F_HOST_TSO6, OPT_F_TSO, "tso6", "likewise IPv6"},
    {VNET_F_HOST_ECN, OPT_F_TSO, "tso_ecn", "… also with ECN"},
    {VNET_F_GUEST_TSO4, OPT_F_LRO, "lro4", "likewise received: the largest gain there is"},
    {VNET_F_GUEST_TSO6, OPT_F_LRO, "lro6", "likewise IPv6"},
    {VNET_F_GUEST_ECN, OPT_F_LRO, "lro_ecn", "… also with ECN"},
};

/* §5.1.3.1: what may be accepted only together with something else. */
static const struct virtio_depend depends[] = {
    {BIT(VNET_F_GUEST_TSO4), BIT(VNET_F_GUEST_CSUM)},
    {BIT(VNET_F_GUEST_TSO6), BIT(VNET_F_GUEST_CSUM)},
    {BIT(VNET_F_GUEST_ECN), BIT(VNET_F_GUEST_TSO4) | BIT(VNET_F_GUEST_TSO6)},
    {BIT(VNET_F_HOST_TSO4), BIT(VNET_F_CSUM)},
    {BIT(VNET_F_HOST_TSO6), BIT(VNET_F_CSUM)},
    {BIT(VNET_F_HOST_ECN), BIT(VNET_F_HOST_TSO4) | BIT(VNET_F_HOST_TSO6)},
    {0, 0},
};

static uint64_t wanted_by(const struct opt_vnet *opt)
{
    uint64_t wanted = 0;

    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (table[i].option == NO_SWITCH || opt->feature[table[i].option] != OPT_OFF)
            wanted |= BIT(table[i].bit);
    }
    return wanted;
}

/*
 * Without MRG_RXBUF every buffer must hold the largest frame. Affordable when a quarter of memory holds enough of
 * them to keep a stream going; the ring is then filled as far as that goes.
 */
static bool can_afford_big_buffers(struct virtio_dev *dev)
{
    const size_t ring = dev->transport->queue_max_size(dev, VNET_RXQ);
    const size_t bytes = FRAG_HEAD_BYTES + frag_capacity_for(VNET_BUF_TSO);

    return page_total_count() / 4 * PAGE_BYTES / bytes >= size_min(ring, BIG_BUFFERS_MIN);
}

/* Bytes of one mergeable buffer, as far as the user's strategy fixes them. */
static size_t mergeable_bytes(const struct opt_vnet *opt)
{
    switch (opt->rxbuf) {
    case OPT_RXBUF_PAGE:
        return PAGE_BYTES;
    case OPT_RXBUF_MTU:
    case OPT_RXBUF_SPLIT:
        return VNET_ETHER_BYTES + VNET_MTU_DEFAULT;
    case OPT_RXBUF_BYTES:
        return opt->rxbuf_bytes;
    case OPT_RXBUF_AUTO:
        break;
    }
    return VNET_BUF_TSO; /* as large as it takes: vnet_rx.c */
}

/* A frame that doesn't fit the whole ring would be dropped by the device each time it comes: never promise that. */
static bool can_take_large_frames(const struct vnet *nic)
{
    const size_t ring = nic->dev->transport->queue_max_size(nic->dev, VNET_RXQ);

    if (!virtio_has(nic->dev, VNET_F_MRG_RXBUF))
        return can_afford_big_buffers(nic->dev);
    return ring / (nic->split_hdr ? 2 : 1) * mergeable_bytes(&nic->opt) >= VNET_BUF_TSO;
}

static int negotiate(struct vnet *nic, uint64_t wanted)
{
    /* Registers of a 1.x device that doesn't say VERSION_1: §6.1 lets it refuse to work, so ask for it. */
    const uint64_t required = nic->dev->transport->legacy ? 0 : BIT(VNET_F_VERSION_1);
    const int err = virtio_negotiate(nic->dev, wanted, required, depends);

    if (err)
        return err;
    const bool modern = virtio_has(nic->dev, VNET_F_VERSION_1);
    nic->hdr_len =
        modern || virtio_has(nic->dev, VNET_F_MRG_RXBUF) ? VNET_HDR_BYTES : VNET_HDR_BYTES_LEGACY;
    nic->split_hdr = !modern && !virtio_has(nic->dev, VNET_F_ANY_LAYOUT);
    return 0;
}

int vnet_negotiate(struct vnet *nic, struct virtio_dev *dev, const struct opt_vnet *opt)
{
    const uint64_t lro = BIT(VNET_F_GUEST_TSO4) | BIT(VNET_F_GUEST_TSO6) | BIT(VNET_F_GUEST_ECN);
    const uint64_t wanted = wanted_by(opt);

    nic->dev = dev;
    nic->opt = *opt;
    const int err = negotiate(nic, wanted);
    if (err || !(dev->accepted & lro) || can_take_large_frames(nic))
        return err;
    log_info("vnet", "%s: large received frames declined: the receive ring can't hold them",
             nic->net.name);
    return negotiate(nic, wanted & ~lro);
}

void vnet_feature_names(const struct vnet *nic, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (!virtio_has(nic->dev, table[i].bit))
            continue;
        const size_t len = strlen(table[i].name);
        if (used + len + 2 > size)
            return;
        if (used)
            text[used++] = ' ';
        memcpy(text + used, table[i].name, len + 1);
        used += len;
    }
}
