#include "drivers/virtio_net/ctrl_cmd.h"

#include <string.h>

#include "lib/check.h"

static const struct {
    uint8_t class, command, feature;
    const char *name;
} items[CTRL_ITEMS] = {
    [CTRL_MQ_PAIRS] = {VNET_CTRL_MQ, VNET_CTRL_MQ_PAIRS_SET, VNET_F_MQ, "one pair of queues"},
    [CTRL_MAC_ADDR] = {VNET_CTRL_MAC, VNET_CTRL_MAC_ADDR_SET, VNET_F_CTRL_MAC_ADDR,
                       "the MAC address"},
    [CTRL_OFFLOADS] = {VNET_CTRL_GUEST_OFFLOADS, VNET_CTRL_GUEST_OFFLOADS_SET,
                       VNET_F_CTRL_GUEST_OFFLOADS, "the receive offloads"},
    [CTRL_VLAN_ADD] = {VNET_CTRL_VLAN, VNET_CTRL_VLAN_ADD, VNET_F_CTRL_VLAN, "the VLAN"},
    [CTRL_MAC_TABLE] = {VNET_CTRL_MAC, VNET_CTRL_MAC_TABLE_SET, VNET_F_CTRL_RX,
                        "the multicast addresses"},
    [CTRL_ALLMULTI] = {VNET_CTRL_RX, VNET_CTRL_RX_ALLMULTI, VNET_F_CTRL_RX,
                       "all multicast frames or not"},
    [CTRL_NOBCAST] = {VNET_CTRL_RX, VNET_CTRL_RX_NOBCAST, VNET_F_CTRL_RX_EXTRA,
                      "broadcast frames or not"},
    [CTRL_PROMISC] = {VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, VNET_F_CTRL_RX,
                      "everybody's frames or not"},
    [CTRL_COAL_TX] = {VNET_CTRL_NOTF_COAL, VNET_CTRL_NOTF_COAL_TX_SET, VNET_F_NOTF_COAL,
                      "the delay of transmit interrupts"},
    [CTRL_COAL_RX] = {VNET_CTRL_NOTF_COAL, VNET_CTRL_NOTF_COAL_RX_SET, VNET_F_NOTF_COAL,
                      "the delay of receive interrupts"},
    [CTRL_ANNOUNCE_ACK] = {VNET_CTRL_ANNOUNCE, VNET_CTRL_ANNOUNCE_ACK, VNET_F_GUEST_ANNOUNCE,
                           "that we have announced ourselves"},
};

unsigned ctrl_cmd_feature(enum ctrl_item item)
{
    return items[item].feature;
}

const char *ctrl_cmd_name(enum ctrl_item item)
{
    return items[item].name;
}

/* The data has no alignment, so integers are copied into it. */
static size_t put16(uint8_t *at, uint16_t v)
{
    const le16 wire = le16_make(v);

    memcpy(at, &wire, sizeof(wire));
    return sizeof(wire);
}

static size_t put32(uint8_t *at, uint32_t v)
{
    const le32 wire = le32_make(v);

    memcpy(at, &wire, sizeof(wire));
    return sizeof(wire);
}

static size_t put64(uint8_t *at, uint64_t v)
{
    const le64 wire = le64_make(v);

    memcpy(at, &wire, sizeof(wire));
    return sizeof(wire);
}

static size_t put_flag(uint8_t *at, bool on)
{
    *at = on;
    return 1;
}

static size_t put_table(uint8_t *at, const uint8_t (*macs)[6], uint32_t count)
{
    const size_t head = put32(at, count);
    const size_t len = count * sizeof(*macs);

    memcpy(at + head, macs, len);
    return head + len;
}

/* Unicast addresses stand first (§5.1.6.5.2): none, where the device knows ours. */
static size_t put_tables(uint8_t *at, const struct ctrl_wish *wish, size_t *first)
{
    ASSERT(wish->group_count <= NETDEV_GROUPS_MAX);
    *first = put_table(at, &wish->mac, wish->unicast ? 1 : 0);
    return *first + put_table(at + *first, wish->groups, wish->group_count);
}

static size_t put_data(enum ctrl_item item, const struct ctrl_wish *wish, uint8_t *at,
                       size_t *first)
{
    switch (item) {
    case CTRL_MQ_PAIRS:
        return put16(at, wish->pairs);
    case CTRL_MAC_ADDR:
        memcpy(at, wish->mac, sizeof(wish->mac));
        return sizeof(wish->mac);
    case CTRL_OFFLOADS:
        return put64(at, wish->offloads);
    case CTRL_VLAN_ADD:
        return put16(at, wish->vlan_id);
    case CTRL_MAC_TABLE:
        return put_tables(at, wish, first);
    case CTRL_ALLMULTI:
        return put_flag(at, wish->allmulti);
    case CTRL_NOBCAST:
        return put_flag(at, wish->nobcast);
    case CTRL_PROMISC:
        return put_flag(at, wish->promisc);
    case CTRL_COAL_TX:
        return put32(at, wish->coal_tx_packets) + put32(at + 4, wish->coal_tx_us);
    case CTRL_COAL_RX:
        return put32(at, wish->coal_rx_packets) + put32(at + 4, wish->coal_rx_us);
    case CTRL_ANNOUNCE_ACK:
    case CTRL_ITEMS:
        break;
    }
    return 0;
}

size_t ctrl_cmd_write(enum ctrl_item item, const struct ctrl_wish *wish, struct ctrl_cmd *cmd,
                      size_t *first)
{
    ASSERT(item < CTRL_ITEMS);
    cmd->hdr = (struct vnet_ctrl_hdr){items[item].class, items[item].command};
    *first = SIZE_MAX;
    const size_t len = put_data(item, wish, cmd->data, first);

    if (*first > len)
        *first = len;
    return len;
}
