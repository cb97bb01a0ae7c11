/*
 * The virtio-net driver: one struct vnet for each NIC. virtio 1.2 §5.1.
 *
 *   vnet_features.c  what is negotiated, in one table, each with its reason
 *   vnet.c           open, close, interrupts, the netdev operations
 *   vnet_config.c    what the configuration says, at start and when it changes: address, MTU, link, speed
 *   vnet_ctrl.c      what the device is told: filters and the like  ctrl_cmd.c  the commands' bytes
 *   vnet_rx.c        receive buffers: posting, sizing, taking     rx_merge.c  joining the pieces
 *   vnet_tx.c        sending, completions, kicks, back-pressure   net_hdr.c   the packet header
 *   vnet_recover.c   from a lie, a wish for a reset or a stall to a NIC that runs again
 *   vnet_counters.c  names for everything counted here
 *   vnet_probe.c     finds the NICs on PCI and in memory
 */
#ifndef DRIVERS_VIRTIO_NET_VNET_H
#define DRIVERS_VIRTIO_NET_VNET_H

#include "drivers/netdev.h"
#include "drivers/virtio/device.h"
#include "drivers/virtio/virtqueue.h"
#include "drivers/virtio_net/rx_merge.h"
#include "drivers/virtio_net/spec.h"
#include "drivers/virtio_net/vnet_ctrl.h"
#include "drivers/virtio_net/vnet_recover.h"
#include "lib/counters.h"
#include "lib/log.h"
#include "lib/options.h"
#include "lib/types.h"

enum {
    VNET_ETHER_BYTES = 14,
    VNET_VLAN_BYTES = 4,
    VNET_MTU_MIN = 68, /* RFC 791; less can't carry IPv4 */
    VNET_MTU_DEFAULT = 1500,
    VNET_COUNTERS_MAX = 64,

    /* Received frames up to this are copied, so that they don't hold a full-size buffer. */
    VNET_COPY_BYTES = 256,
    /* Longest frame that is just an acknowledgement: Ethernet with VLAN tag, IPv6, TCP with all its options. These may have
     * the last memory: what they acknowledge gives it back. */
    VNET_ACK_BYTES = 18 + 40 + 60,
    /* Without MRG_RXBUF: §5.1.6.3.1 asks for 1526 bytes, or 65,562 with guest TSO. */
    VNET_BUF_MIN = 1526,
    VNET_BUF_TSO = 65562 + VNET_HDR_BYTES,
};

/* Of the features, those that CTRL_GUEST_OFFLOADS may turn on and off (§5.1.6.5.8). */
#define VNET_GUEST_OFFLOADS                                                                        \
    (1ull << VNET_F_GUEST_CSUM | 1ull << VNET_F_GUEST_TSO4 | 1ull << VNET_F_GUEST_TSO6 |           \
     1ull << VNET_F_GUEST_ECN)

struct vnet_rx {
    struct virtqueue vq;
    struct rx_merge merge;
    uint32_t buf_bytes;  /* what the next buffer taken must hold, header included */
    uint32_t post_bytes; /* told to the device instead of the whole capacity; 0 = the capacity */
    uint32_t buf_min, buf_max; /* bounds of the moving average's choice */
    uint32_t average_x64;      /* moving average of frame lengths, times 64 */
    uint16_t fill_goal;        /* buffers that should be posted */

    uint64_t frames, bytes, copied, merged, csum_partial, csum_valid, gso;
    uint64_t frames_at_tick;  /* frames when vnet_rx_tick() ran last */
    uint64_t refill_failures; /* a buffer was wanted for an empty slot, and there was none */
    uint64_t drops[RX_DROP_REASONS];
    struct log_limit drop_log[RX_DROP_REASONS]; /* each reason speaks for itself */
};

struct vnet_tx {
    struct virtqueue vq;
    struct net_hdr_rules rules;
    struct virtio_net_hdr *hdrs; /* by head; pages owned */
    size_t hdr_pages;
    uint16_t segs_max; /* header included */
    bool starved;      /* send() has refused; on_room() is owed */

    uint64_t frames, bytes, refused, full, csum, gso;
    uint64_t done; /* frames that the device has let go of, one by one */
};

/* MSI-X vectors for the two queues; VIRTIO_NO_VECTOR each for INTx. */
struct vnet_vectors {
    uint16_t rx, tx;
};

struct vnet {
    struct netdev net;
    struct virtio_dev *dev;
    struct opt_vnet opt;
    struct vnet_vectors vectors;
    struct vnet_recover recover;
    struct vnet_rx rx;
    struct vnet_tx tx;
    struct vnet_ctrl ctrl;
    uint16_t max_pairs; /* with MQ: what the device has, 1 … VNET_PAIRS_MAX */
    bool own_mac;       /* the device gave none: net.mac is made up, and it should be told */
    bool config_seen;   /* what the configuration said at this generation is known */
    uint32_t config_generation;
    bool announce_due;            /* the device asks for it; the stack hasn't been told yet */
    bool link_said;               /* what the log was told last */
    struct log_limit link_log[2]; /* by what it is told: down, up */
    uint32_t speed_mbps;          /* 0 = unknown */
    uint64_t announcements;
    uint8_t hdr_len;              /* 12 with VERSION_1 or MRG_RXBUF, else 10 (§5.1.6.1) */
    bool split_hdr;               /* legacy without ANY_LAYOUT: header in a descriptor of its own */
    volatile bool config_changed; /* by the interrupt handler */
    uint64_t irqs;                /* likewise */

    char label[24]; /* nic="net0" */
    struct counter counters[VNET_COUNTERS_MAX];
    size_t counter_count;
};

/*
 * Negotiate, by the table in vnet_features.c and the user's switches. nic->net.vlan_id must be set. virtio_negotiate()'s
 * errors.
 * Also decides what follows from it alone: header length, framing, rules for offload facts.
 */
int vnet_negotiate(struct vnet *nic, struct virtio_dev *dev, const struct opt_vnet *opt);

/* What was negotiated, by name, as text of at most `size` bytes. */
void vnet_feature_names(const struct vnet *nic, char *text, size_t size);

/*
 * Set up the queues of a negotiated device, start it, fill the receive ring. Interrupts are off until the
 * first arm(). nic->net.name must be set; net/ adds its callbacks afterwards.
 *
 * Returns 0; -ENOMEM, -ENOTSUP (an MTU below 68, a transmit ring of one entry), or vq_open()'s errors. On
 * failure the device is reset and nothing is held.
 */
int vnet_start(struct vnet *nic, const struct vnet_vectors *vectors);

/* Reset the device and give everything back. Frames in flight are reported sent. */
void vnet_close(struct vnet *nic);

/* To be called by the interrupt handlers; touches two flags and a counter. */
void vnet_interrupt(struct vnet *nic, bool config);

struct pci_access;
struct virtio_mmio_place;

/* Where NICs may be. */
struct vnet_buses {
    const struct pci_access *pci; /* NULL: none */
    const struct virtio_mmio_place *mmio;
    size_t mmio_count;
};

/*
 * Find every virtio-net on PCI, in bus order, then those in memory, in the list's order, and start them: net0, net1, …
 * A device that can't be used gets one line, and the others go on.
 *
 * Returns the number of NICs written to out (≤ max). They live for good.
 */
size_t vnet_probe_all(struct netdev **out, size_t max, const struct options *opt,
                      const struct vnet_buses *buses);

/* ---- between the driver's files ---- */

/* Open and start a negotiated device, and say what it can do in nic->net. On failure it must be reset and its queues
 * closed. vnet_start()'s errors. */
int vnet_bring_up(struct vnet *nic);

/* All queues, after a reset; or (give_back false) of a device that can't be reset. Frames in flight are reported sent. */
void vnet_close_queues(struct vnet *nic, bool give_back);

/* Reset the device, with little patience, and close the queues accordingly. */
void vnet_let_go(struct vnet *nic);

static inline struct vnet *vnet_of(struct netdev *net)
{
    return CONTAINER_OF(net, struct vnet, net);
}

int vnet_rx_open(struct vnet *nic, uint16_t vector);
int vnet_rx_fill(struct vnet *nic); /* -ENOMEM when not even one buffer could be posted */
size_t vnet_rx_poll(struct vnet *nic, struct frame_in *frames, size_t max);
void vnet_rx_tick(struct vnet *nic);
/* The device is reset, or (give_back false) may still write to our buffers: then they stay its own. */
void vnet_rx_close(struct vnet *nic, bool give_back);

int vnet_tx_open(struct vnet *nic, uint16_t vector);
int vnet_tx_send(struct netdev *net, const struct frame_out *frame);
void vnet_tx_flush(struct netdev *net);
void vnet_tx_reap(struct vnet *nic);
void vnet_tx_wake(struct vnet *nic); /* calls on_room() when that is due */
bool vnet_tx_arm(struct vnet *nic);
void vnet_tx_close(struct vnet *nic, bool give_back);

/*
 * Read address, MTU and pairs of a negotiated device. Returns 0; -ENOTSUP for an MTU below 68; virtio_config_read()'s
 * errors. After a restart an address that was made up stays.
 */
int vnet_config_read(struct vnet *nic);
/* Look at everything that may change: link, announcement, address, MTU, speed. Poll loop only. */
void vnet_config_follow(struct vnet *nic);
void vnet_config_say_link(struct vnet *nic);
/* If the device asks that we make ourselves known: have the stack do it, then tell the device. */
void vnet_config_announce(struct vnet *nic);

void vnet_counters_open(struct vnet *nic);
void vnet_counters_close(struct vnet *nic);

#endif
