/*
 * What a virtio-net device says about itself in its configuration, at start and whenever that changes. virtio 1.2 §5.1.4.
 *
 * The device's word is checked like everything else it writes: an address that nobody can have, an MTU that
 * carries no IPv4 or doesn't fit the buffers, are not taken over.
 */
#include <errno.h>
#include <string.h>

#include "drivers/virtio_net/vnet.h"
#include "lib/log.h"
#include "lib/random.h"

#define FIELD(member)                                                                              \
    offsetof(struct virtio_net_config, member), sizeof(((struct virtio_net_config *)0)->member)

static int read_field(struct vnet *nic, void *to, size_t offset, size_t len)
{
    return virtio_config_read(nic->dev, (uint32_t)offset, to, (uint32_t)len);
}

/* ---- address ----------------------------------------------------------------------------- */

static bool can_be_ours(const uint8_t *mac)
{
    static const uint8_t none[6];

    return (mac[0] & 1) == 0 && memcmp(mac, none, sizeof(none)) != 0;
}

static void make_up_mac(struct vnet *nic)
{
    if (nic->own_mac)
        return; /* a restart: the network knows us by it */
    random_bytes(nic->net.mac, sizeof(nic->net.mac));
    nic->net.mac[0] =
        (uint8_t)((nic->net.mac[0] & ~1u) | 2u); /* not multicast, locally administered */
    nic->own_mac = true;
}

static int read_mac(struct vnet *nic)
{
    uint8_t mac[6];

    if (!virtio_has(nic->dev, VNET_F_MAC)) {
        make_up_mac(nic);
        return 0;
    }
    const int err = read_field(nic, mac, FIELD(mac));
    if (err)
        return err;
    if (can_be_ours(mac)) {
        memcpy(nic->net.mac, mac, sizeof(mac));
        nic->own_mac = false;
        return 0;
    }
    log_warn("vnet", "%s: the device's MAC address is no station's; one is made up", nic->net.name);
    make_up_mac(nic);
    return 0;
}

static void follow_mac(struct vnet *nic)
{
    uint8_t mac[6];

    if (nic->own_mac || !virtio_has(nic->dev, VNET_F_MAC) || read_field(nic, mac, FIELD(mac)) ||
        !can_be_ours(mac) || memcmp(mac, nic->net.mac, sizeof(mac)) == 0)
        return;
    log_limited(LOG_INFO, "vnet", "%s: its MAC address is now %02x:%02x:%02x:%02x:%02x:%02x",
                nic->net.name, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    memcpy(nic->net.mac, mac, sizeof(mac));
}

/* ---- MTU --------------------------------------------------------------------------------- */

static int read_mtu(struct vnet *nic)
{
    le16 mtu;

    nic->net.mtu = VNET_MTU_DEFAULT;
    if (!virtio_has(nic->dev, VNET_F_MTU))
        return 0;
    const int err = read_field(nic, &mtu, FIELD(mtu));
    if (err)
        return err;
    nic->net.mtu = le16_get(mtu);
    if (nic->net.mtu >= VNET_MTU_MIN)
        return 0;
    log_error("vnet", "%s: the device's MTU of %u is less than %u", nic->net.name,
              (unsigned)nic->net.mtu, (unsigned)VNET_MTU_MIN);
    return -ENOTSUP;
}

/* The largest packet that the buffers posted at start hold. Where frames may fill several, any. */
static uint32_t largest_mtu(const struct vnet *nic)
{
    if (virtio_has(nic->dev, VNET_F_MRG_RXBUF))
        return UINT16_MAX;
    return nic->rx.buf_bytes - nic->hdr_len - VNET_ETHER_BYTES - VNET_VLAN_BYTES;
}

/* A device shouldn't change it (§5.1.4.1), but the network behind it may have changed. */
static void follow_mtu(struct vnet *nic)
{
    le16 wire;

    if (!virtio_has(nic->dev, VNET_F_MTU) || read_field(nic, &wire, FIELD(mtu)))
        return;
    const uint16_t told = le16_get(wire);
    const uint16_t mtu = told > largest_mtu(nic) ? (uint16_t)largest_mtu(nic) : told;

    if (mtu == nic->net.mtu || mtu < VNET_MTU_MIN)
        return;
    log_limited(LOG_INFO, "vnet", "%s: the device's MTU is now %u; %u is used", nic->net.name,
                (unsigned)told, (unsigned)mtu);
    nic->net.mtu = mtu;
}

/* ---- link -------------------------------------------------------------------------------- */

static void follow_speed(struct vnet *nic)
{
    struct {
        le32 speed;
        uint8_t duplex;
    } wire;

    if (!virtio_has(nic->dev, VNET_F_SPEED_DUPLEX) || read_field(nic, &wire.speed, FIELD(speed)) ||
        read_field(nic, &wire.duplex, FIELD(duplex)))
        return;
    const uint32_t told = le32_get(wire.speed);
    const uint32_t mbps = told > INT32_MAX ? 0 : told; /* all ones: unknown; more is reserved */

    if (mbps != nic->speed_mbps)
        log_limited(LOG_INFO, "vnet", "%s: %u Mbit/s, %s", nic->net.name, (unsigned)mbps,
                    wire.duplex == VNET_DUPLEX_FULL   ? "full duplex"
                    : wire.duplex == VNET_DUPLEX_HALF ? "half duplex"
                                                      : "duplex unknown");
    nic->speed_mbps = mbps;
}

/* A link that flaps all the time is told once a second, each way; what is unsaid then is said later, by the tick. */
void vnet_config_say_link(struct vnet *nic)
{
    uint32_t unsaid;
    const bool up = nic->net.link_up;

    if (up != nic->link_said && log_limit_pass(&nic->link_log[up], &unsaid)) {
        log_info("vnet", "%s: link %s", nic->net.name, up ? "up" : "down");
        nic->link_said = up;
    }
}

static void follow_status(struct vnet *nic)
{
    le16 wire = le16_make(VNET_S_LINK_UP); /* without STATUS: assumed up (§5.1.4.2) */

    if (virtio_has(nic->dev, VNET_F_STATUS) && read_field(nic, &wire, FIELD(status)))
        return;
    const uint16_t status = le16_get(wire);
    const bool up = status & VNET_S_LINK_UP;

    nic->net.link_changes += up != nic->net.link_up;
    nic->net.link_up = up;
    vnet_config_say_link(nic);
    if ((status & VNET_S_ANNOUNCE) && virtio_has(nic->dev, VNET_F_GUEST_ANNOUNCE))
        nic->announce_due = true;
}

/* ---- all --------------------------------------------------------------------------------- */

static int read_pairs(struct vnet *nic)
{
    le16 pairs;

    nic->max_pairs = 1;
    if (!virtio_has(nic->dev, VNET_F_MQ))
        return 0;
    const int err = read_field(nic, &pairs, FIELD(max_virtqueue_pairs));
    if (!err)
        nic->max_pairs = le16_get(pairs);
    return err;
}

int vnet_config_read(struct vnet *nic)
{
    nic->config_seen = false;
    int err = read_mac(nic);
    if (!err)
        err = read_mtu(nic);
    if (!err)
        err = read_pairs(nic);
    return err;
}

/*
 * With one vector for everything each interrupt may be the configuration's. A device counts its changes (§2.5.2), so one
 * register tells most times that there is nothing to read. Legacy has no such count.
 */
static bool may_have_changed(struct vnet *nic)
{
    if (nic->dev->transport->legacy)
        return true;
    const uint32_t generation = nic->dev->transport->config_generation(nic->dev);
    const bool same = nic->config_seen && generation == nic->config_generation;

    nic->config_seen = true;
    nic->config_generation = generation;
    return !same;
}

void vnet_config_follow(struct vnet *nic)
{
    if (!may_have_changed(nic))
        return;
    follow_status(nic);
    follow_mac(nic);
    follow_mtu(nic);
    follow_speed(nic);
}

/* §5.1.6.5.4: first the packets, then the word that they were sent, so the kick for them goes first. */
void vnet_config_announce(struct vnet *nic)
{
    if (!nic->announce_due || !nic->net.on_announce)
        return;
    nic->announce_due = false;
    nic->announcements++;
    nic->net.on_announce(nic->net.stack);
    vq_kick(&nic->tx.vq);
    vnet_ctrl_tell(nic, CTRL_ANNOUNCE_ACK);
}
