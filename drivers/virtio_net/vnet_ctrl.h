/*
 * The control queue: what the device is told beside frames. virtio 1.2 §5.1.6.5.
 *
 * There is no queue of commands, but a wish, and a set of items still to be told. Whoever wants something else changes
 * the wish and marks the item; one command at a time is made from the latest wish and sent. So nothing grows,
 * a wish that changes ten times meanwhile is told once, and a device that was reset is told everything again.
 *
 * Nobody waits for an answer. It is taken in passing, by poll() and tick(). A command that is refused is
 * counted and logged, and the driver goes on with less filtering; the stack filters anyhow. One that isn't answered
 * in time stays the device's, with its memory: nothing more is said until the answer comes, or a reset.
 * A device that lies on this queue isn't asked again; frames go on.
 *
 * Poll loop only.
 */
#ifndef DRIVERS_VIRTIO_NET_VNET_CTRL_H
#define DRIVERS_VIRTIO_NET_VNET_CTRL_H

#include "drivers/virtio/virtqueue.h"
#include "drivers/virtio_net/ctrl_cmd.h"
#include "lib/types.h"

enum {
    VNET_CTRL_TIMEOUT_MS = 5000, /* QEMU's takes microseconds; hardware behind vDPA some 10 ms */
    VNET_CTRL_SEGS_MAX = 4,      /* legacy framing: header, two tables, answer */
    VNET_CTRL_RING_MAX = 4,      /* entries, where we may choose: one command is in flight */
    /* Of vnet.notf_coal=on: few enough that nobody notices, for a loop that polls under load anyhow. */
    VNET_COAL_RX_PACKETS = 16,
    VNET_COAL_RX_US = 20,
    VNET_COAL_TX_PACKETS = 64,
    VNET_COAL_TX_US = 100,
};

struct ctrl_mem;
struct vnet;

struct vnet_ctrl {
    struct virtqueue vq;
    struct ctrl_mem *mem;     /* a page: the command in flight; owned */
    struct ctrl_wish wish;    /* survives a reset */
    bool filtered;            /* likewise: the stack has said what it wants */
    bool wants_all_groups;    /* likewise: by the stack's word, whatever the device makes of it */
    uint32_t due;             /* items to be told, a bit each */
    uint32_t refused;         /* items whose last command the device refused */
    uint32_t complained;      /* items of which the log has told */
    enum ctrl_item in_flight; /* CTRL_ITEMS: nothing is */
    bool overdue;
    uint64_t deadline_us;

    uint64_t commands, errors, timeouts, late;
};

/*
 * Set up the queue of a negotiated device (nothing without CTRL_VQ) and mark what it must be told. Before
 * virtio_start(). A device whose control queue can't be had is driven without: that is logged, no error.
 * Returns 0; -ENOMEM; -EIO when the device refused the vector.
 */
int vnet_ctrl_open(struct vnet *nic, uint16_t vector);

/* As vnet_rx_close(). */
void vnet_ctrl_close(struct vnet *nic, bool give_back);

/* An answer is taken, the next command sent. Cheap when there is nothing of either. */
void vnet_ctrl_work(struct vnet *nic);

/* vnet_ctrl_work(), and a look at the clock. */
void vnet_ctrl_tick(struct vnet *nic);

/* Before sleeping: ask for an interrupt at the answer. True when it is there. */
bool vnet_ctrl_arm(struct vnet *nic);
void vnet_ctrl_disarm(struct vnet *nic);

/* Tell an item, soon. Nothing when its feature wasn't negotiated. */
void vnet_ctrl_tell(struct vnet *nic, enum ctrl_item item);

/* netdev_ops.set_filter */
void vnet_ctrl_set_filter(struct netdev *net, const struct netdev_filter *filter);

/* The queue's number: behind the pairs, as many as the device has when MQ was negotiated (§5.1.2). */
uint16_t vnet_ctrl_queue(uint64_t accepted, uint16_t max_pairs);

#endif
