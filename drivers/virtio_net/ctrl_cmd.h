/*
 * Commands of the control queue as bytes. Pure functions. virtio 1.2 §5.1.6.5.
 *
 * What a driver may ask is a list of items, in the order in which they are told after a reset: first what decides
 * whether frames come at all, last the narrowing of the filter, so that nothing wanted is lost between two commands.
 */
#ifndef DRIVERS_VIRTIO_NET_CTRL_CMD_H
#define DRIVERS_VIRTIO_NET_CTRL_CMD_H

#include "drivers/netdev.h"
#include "drivers/virtio_net/spec.h"
#include "lib/types.h"

enum ctrl_item {
    CTRL_MQ_PAIRS,     /* §5.1.6.5.6.1 */
    CTRL_MAC_ADDR,     /* §5.1.6.5.2 */
    CTRL_OFFLOADS,     /* §5.1.6.5.8 */
    CTRL_VLAN_ADD,     /* §5.1.6.5.3 */
    CTRL_MAC_TABLE,    /* §5.1.6.5.2 */
    CTRL_ALLMULTI,     /* §5.1.6.5.1 */
    CTRL_NOBCAST,      /* likewise */
    CTRL_PROMISC,      /* likewise */
    CTRL_COAL_TX,      /* §5.1.6.5.9 */
    CTRL_COAL_RX,      /* likewise */
    CTRL_ANNOUNCE_ACK, /* §5.1.6.5.4 */
    CTRL_ITEMS
};

/* What the device should know; which of it is told is the caller's choice. */
struct ctrl_wish {
    uint16_t pairs;
    uint8_t mac[6];
    bool unicast;      /* mac goes into the table, too: the device may not know it */
    uint64_t offloads; /* feature bits GUEST_*, a subset of those negotiated */
    uint16_t vlan_id;
    bool allmulti, nobcast, promisc;
    uint32_t coal_tx_packets, coal_tx_us, coal_rx_packets, coal_rx_us;
    uint16_t group_count; /* ≤ NETDEV_GROUPS_MAX */
    uint8_t groups[NETDEV_GROUPS_MAX][6];
};

enum { CTRL_DATA_MAX = 2 * 4 + 6 + NETDEV_GROUPS_MAX * 6 };

/* One command in memory that the device reads: header and data lie behind each other. */
struct ctrl_cmd {
    struct vnet_ctrl_hdr hdr;
    uint8_t data[CTRL_DATA_MAX];
};
static_assert(offsetof(struct ctrl_cmd, data) == 2, "one piece with the header");

/*
 * Write the command for an item.
 *
 *   first   receives the bytes of the data's first part: legacy framing gives the two address tables
 *           a descriptor each (§5.1.6.6). Equal to the result for everything else.
 *
 * Returns the bytes of data, 0 … CTRL_DATA_MAX.
 */
size_t ctrl_cmd_write(enum ctrl_item item, const struct ctrl_wish *wish, struct ctrl_cmd *cmd,
                      size_t *first);

/* The feature bit that must have been negotiated for an item (a driver MUST NOT send others), and its name for people. */
unsigned ctrl_cmd_feature(enum ctrl_item item);
const char *ctrl_cmd_name(enum ctrl_item item);

#endif
