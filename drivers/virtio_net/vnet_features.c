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
 *
 * Left out on purpose: HOST_USO and HOST_UFO (the stack makes no UDP segments), GUEST_USO and GUEST_UFO (a program's
 * datagrams must come as they were sent, so large ones would have to be cut again), RSS and HASH_REPORT (there is
 * one receive queue, and lwIP looks connections up itself), RSC_EXT and STANDBY.
 */
static const struct {
    uint8_t bit;
    int8_t option; /* enum opt_feature that may turn it off, or NO_SWITCH */
    bool asked;    /* accepted only when that switch is on */
    const char *name;
    const char *why;
} table[] = {
    {VNET_F_VERSION_1, NO_SWITCH, false, "version_1", "must be accepted when offered (§6.1)"},
    {VNET_F_ACCESS_PLATFORM, NO_SWITCH, false, "access_platform",
     "the device may refuse to work without (§6.1); nobody turns the IOMMU on, so addresses stay"},
    {VNET_F_ANY_LAYOUT, NO_SWITCH, false, "any_layout",
     "legacy: header and frame in one buffer, half the descriptors"},
    {VNET_F_EVENT_IDX, OPT_F_EVENT_IDX, false, "event_idx",
     "one kick for many frames, interrupts after a batch"},
    {VNET_F_INDIRECT_DESC, OPT_F_INDIRECT, false, "indirect", "a full ring of many-piece frames"},
    {VNET_F_RING_PACKED, OPT_F_PACKED, true, "packed",
     "one cache line for a buffer's way there and back; hypervisors' code for it is young"},
    {VNET_F_MAC, NO_SWITCH, false, "mac", "the address that the host expects"},
    {VNET_F_STATUS, OPT_F_STATUS, false, "status", "a pulled cable is noticed"},
    {VNET_F_MTU, OPT_F_MTU, false, "mtu", "no frame larger than the host's network takes"},
    {VNET_F_CSUM, OPT_F_CSUM, false, "csum", "checksums of what is sent are left to the device"},
    {VNET_F_GUEST_CSUM, OPT_F_GUEST_CSUM, false, "guest_csum",
     "frames of the host itself need no checksum"},
    {VNET_F_MRG_RXBUF, OPT_F_MRG, false, "mrg", "large frames without large buffers"},
    {VNET_F_HOST_TSO4, OPT_F_TSO, false, "tso4", "one frame of 64 KB instead of 45 segments"},
    {VNET_F_HOST_TSO6, OPT_F_TSO, false, "tso6", "likewise IPv6"},
    {VNET_F_HOST_ECN, OPT_F_TSO, false, "tso_ecn", "… also with ECN"},
    {VNET_F_GUEST_TSO4, OPT_F_LRO, false, "lro4", "likewise received: the largest gain there is"},
    {VNET_F_GUEST_TSO6, OPT_F_LRO, false, "lro6", "likewise IPv6"},
    {VNET_F_GUEST_ECN, OPT_F_LRO, false, "lro_ecn", "… also with ECN"},
    {VNET_F_SPEED_DUPLEX, OPT_F_SPEED, false, "speed", "people like to see it"},
    {VNET_F_GUEST_HDRLEN, OPT_F_HDRLEN, false, "hdrlen",
     "hdr_len is exact whenever segments are asked for, so the device may rely on it"},
    {VNET_F_CTRL_VQ, OPT_F_CTRL, false, "ctrl", "needed for the rest of this table"},
    {VNET_F_CTRL_RX, OPT_F_CTRL_RX, false, "ctrl_rx",
     "frames for others are dropped before they cost a buffer"},
    {VNET_F_CTRL_RX_EXTRA, OPT_F_CTRL_RX, false, "ctrl_rx_extra",
     "without IPv4 nobody listens to broadcasts"},
    {VNET_F_CTRL_VLAN, OPT_F_CTRL_VLAN, false, "ctrl_vlan",
     "with netN.vlan only: a device that has it accepted drops every tag that it wasn't told"},
    {VNET_F_CTRL_MAC_ADDR, OPT_F_CTRL_MAC, false, "ctrl_mac",
     "an address that we made up must be known to the device's filter"},
    {VNET_F_GUEST_ANNOUNCE, OPT_F_ANNOUNCE, false, "announce",
     "after a migration switches learn at once where we are"},
    {VNET_F_CTRL_GUEST_OFFLOADS, OPT_F_OFFLOADS, true, "guest_offloads",
     "nothing changes them while we run, so accepting it by default would promise nothing"},
    {VNET_F_NOTF_COAL, OPT_F_NOTF_COAL, true, "notf_coal",
     "the loop turns interrupts off while it is busy; delaying the first one only costs"},
    {VNET_F_MQ, OPT_F_MQ, true, "mq",
     "one processor serves one pair best; a device without MQ uses one pair and no command"},
};

/* §5.1.3.1: what may be accepted only together with something else. */
static const struct virtio_depend depends[] = {
    {BIT(VNET_F_GUEST_TSO4), BIT(VNET_F_GUEST_CSUM)},
    {BIT(VNET_F_GUEST_TSO6), BIT(VNET_F_GUEST_CSUM)},
    {BIT(VNET_F_GUEST_ECN), BIT(VNET_F_GUEST_TSO4) | BIT(VNET_F_GUEST_TSO6)},
    {BIT(VNET_F_HOST_TSO4), BIT(VNET_F_CSUM)},
    {BIT(VNET_F_HOST_TSO6), BIT(VNET_F_CSUM)},
    {BIT(VNET_F_HOST_ECN), BIT(VNET_F_HOST_TSO4) | BIT(VNET_F_HOST_TSO6)},
    {BIT(VNET_F_CTRL_RX), BIT(VNET_F_CTRL_VQ)},
    {BIT(VNET_F_CTRL_RX_EXTRA), BIT(VNET_F_CTRL_VQ)},
    {BIT(VNET_F_CTRL_VLAN), BIT(VNET_F_CTRL_VQ)},
    {BIT(VNET_F_CTRL_MAC_ADDR), BIT(VNET_F_CTRL_VQ)},
    {BIT(VNET_F_GUEST_ANNOUNCE), BIT(VNET_F_CTRL_VQ)},
    {BIT(VNET_F_CTRL_GUEST_OFFLOADS), BIT(VNET_F_CTRL_VQ)},
    {BIT(VNET_F_NOTF_COAL), BIT(VNET_F_CTRL_VQ)},
    {BIT(VNET_F_MQ), BIT(VNET_F_CTRL_VQ)},
    {0, 0},
};

static bool wants(const struct opt_vnet *opt, size_t row)
{
    if (table[row].option == NO_SWITCH)
        return true;
    const enum opt_switch word = opt->feature[table[row].option];
    return table[row].asked ? word == OPT_ON : word != OPT_OFF;
}

static uint64_t wanted_by(const struct opt_vnet *opt, uint16_t vlan_id)
{
    uint64_t wanted = 0;

    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (wants(opt, i))
            wanted |= BIT(table[i].bit);
    }
    return vlan_id ? wanted : wanted & ~BIT(VNET_F_CTRL_VLAN);
}

/*
 * With MQ the control queue stands behind all the device's pairs (§5.1.2), so their number must make sense, and the queue
 * must be one that the transport reaches.
 */
static bool can_take_mq(struct vnet *nic)
{
    le16 wire;

    if (virtio_config_read(nic->dev, offsetof(struct virtio_net_config, max_virtqueue_pairs), &wire,
                           sizeof(wire)))
        return false;
    const uint16_t pairs = le16_get(wire);
    return pairs >= 1 && pairs <= VNET_PAIRS_MAX / 2 &&
           nic->dev->transport->queue_max_size(nic->dev,
                                               vnet_ctrl_queue(nic->dev->accepted, pairs)) != 0;
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

/* What was accepted, but turns out to be more than can be kept. */
static uint64_t unkeepable(struct vnet *nic)
{
    const uint64_t lro = BIT(VNET_F_GUEST_TSO4) | BIT(VNET_F_GUEST_TSO6) | BIT(VNET_F_GUEST_ECN);
    uint64_t bits = 0;

    if ((nic->dev->accepted & lro) && !can_take_large_frames(nic)) {
        log_info("vnet", "%s: large received frames declined: the receive ring can't hold them",
                 nic->net.name);
        bits |= lro;
    }
    if (virtio_has(nic->dev, VNET_F_MQ) && !can_take_mq(nic)) {
        log_info("vnet", "%s: MQ declined: no control queue behind the pairs that it says it has",
                 nic->net.name);
        bits |= BIT(VNET_F_MQ);
    }
    return bits;
}

int vnet_negotiate(struct vnet *nic, struct virtio_dev *dev, const struct opt_vnet *opt)
{
    const uint64_t wanted = wanted_by(opt, nic->net.vlan_id);

    nic->dev = dev;
    nic->opt = *opt;
    const int err = negotiate(nic, wanted);
    const uint64_t too_much = err ? 0 : unkeepable(nic);
    return too_much ? negotiate(nic, wanted & ~too_much) : err;
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
