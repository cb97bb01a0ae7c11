/*
 * The seam between a network device and the stack. drivers/ implements it, net/ uses it.
 *
 * What crosses it is a frame: page fragments (in) or borrowed pieces (out) plus its offload facts,
 * without any virtio word. All calls come from the poll loop; none blocks; the only thing an
 * interrupt does is to make netdev->irq_seen true.
 */
#ifndef DRIVERS_NETDEV_H
#define DRIVERS_NETDEV_H

#include "lib/page_frag.h"
#include "lib/types.h"

enum {
    NETDEV_POLL_MAX = 64,   /* frames one poll may return: bounds the latency of everything else */
    NETDEV_GROUPS_MAX = 64, /* multicast addresses that are told one by one */
    NETDEV_PIECES_MAX = 48, /* pieces of one outgoing frame at most, whatever the device */
};

/* What the device said, or what it is asked to do, about a frame's checksum and segmentation. */
enum frame_flags {
    FRAME_CSUM_PARTIAL = 1 << 0, /* in: only the pseudo-header sum stands in the checksum field, the
                                    frame never left the host. out: device, please complete it */
    FRAME_CSUM_VALID = 1 << 1,   /* in only: the device has verified the (outermost) L4 checksum */
};
enum frame_gso { FRAME_GSO_NONE, FRAME_GSO_TCP4, FRAME_GSO_TCP6, FRAME_GSO_UDP };

struct frame_offload {
    uint8_t flags;     /* enum frame_flags */
    uint8_t gso;       /* enum frame_gso */
    bool ecn;          /* TCP segments carry CWR: split per RFC 3168 */
    uint16_t gso_size; /* payload bytes of each segment, when gso */
    uint16_t hdr_len;  /* bytes up to the payload, when gso; in: a hint that must not be trusted */
    uint16_t csum_start;  /* from the first byte of the Ethernet header, when FRAME_CSUM_PARTIAL */
    uint16_t csum_offset; /* from csum_start */
};

/* A received Ethernet frame. Whoever holds it owns its frags (frag_give_list). */
struct frame_in {
    struct frag *head; /* linked by next; never NULL; data/len of each set */
    uint32_t len;      /* sum of the frags' len; ≥ 14 */
    struct frame_offload
        offload; /* checked: offsets lie within the frame, flags don't contradict */
};

/* An outgoing Ethernet frame: memory that must stay unchanged until sent(cookie). */
struct frame_piece {
    const void *addr;
    uint32_t len; /* 1 … 65,550 */
};
struct frame_out {
    const struct frame_piece *pieces; /* borrowed during send() only */
    size_t piece_count;               /* 1 … netdev.pieces_max */
    struct frame_offload offload;
    void *cookie; /* handed to on_sent once the device has let go of the pieces */
};

struct netdev_features {
    bool tx_csum;          /* send() takes FRAME_CSUM_PARTIAL */
    bool tx_tso4, tx_tso6; /* send() takes FRAME_GSO_TCP4/6 */
    bool rx_csum;          /* frames may arrive with FRAME_CSUM_PARTIAL/VALID */
    bool rx_gso;           /* frames of up to 64 KB may arrive */
};

/* Which frames the stack wants besides those to the NIC's own address. */
struct netdev_filter {
    const uint8_t (*groups)[6]; /* multicast addresses, each once; borrowed during the call */
    size_t group_count;         /* 0 … NETDEV_GROUPS_MAX */
    bool all_groups;            /* there are more: every multicast frame */
    bool broadcast;
};

struct netdev;

struct netdev_ops {
    /*
     * Take up to max (≤ NETDEV_POLL_MAX) received frames, refill the receive ring, take
     * transmit completions when that is due. Gives the frames to the caller.
     * Returns the number of frames.
     */
    size_t (*poll)(struct netdev *dev, struct frame_in *frames, size_t max);

    /*
     * Queue one frame. Borrows the pieces until on_sent(cookie). Takes completions itself when the
     * ring is full. The device is told at flush(), or earlier if the ring fills.
     * Returns 0; -EAGAIN when there is no room, or the device is being reset (caller keeps the frame; on_room()
     * follows); -EINVAL for a frame the device can't take (counted), also one that was made for features it no longer
     * has; -EIO when the device is broken.
     */
    int (*send)(struct netdev *dev, const struct frame_out *frame);

    /* Tell the device about everything queued since the last flush (one kick at most). */
    void (*flush)(struct netdev *dev);

    /*
     * Ask for an interrupt at the next event. Returns true when there already is work (so: poll again
     * instead of sleeping). virtio 1.2 §2.7.7: enabled first, looked second, so none is lost.
     */
    bool (*arm)(struct netdev *dev);

    /* Interrupts are not needed now: the loop is polling. */
    void (*disarm)(struct netdev *dev);

    /* Called every NETDEV_TICK_MS by the poll loop: reclaim a quiet ring, refill an empty one, read
     * a changed link state. */
    void (*tick)(struct netdev *dev);

    /*
     * What the device need not deliver. It helps only: a device that can't filter delivers everything, and the stack
     * looks itself. Takes effect some time later, whatever happens meanwhile. NULL: this driver can't.
     */
    void (*set_filter)(struct netdev *dev, const struct netdev_filter *filter);
};
enum { NETDEV_TICK_MS = 100 };

/* One NIC. Embedded in the driver's own struct; the driver fills it at open. */
struct netdev {
    const struct netdev_ops *ops;
    char name[8];   /* "net0", given in the order of discovery */
    uint8_t mac[6]; /* these three are changed in poll() and tick() only */
    uint16_t mtu;   /* bytes of IP packet, 68 … 65,535 */
    bool link_up;
    uint32_t link_changes; /* how often link_up changed: a flap between two looks is seen as well */
    /* The VLAN that all frames of this NIC are in, 1 … 4094; 0 = none. Set before the driver starts. Frames cross
     * with their tag: the stack puts it on, takes it off, and drops what is in another VLAN. */
    uint16_t vlan_id;
    uint16_t
        pieces_max; /* of one outgoing frame, 1 … NETDEV_PIECES_MAX: a small ring takes fewer */
    struct netdev_features features; /* changed in poll()/tick() only: a reset may bring others */
    bool broken;            /* unplugged, or beyond recovery: out of use, and the log says why */
    volatile bool irq_seen; /* set by the interrupt handler, cleared by the poll loop */

    /* Filled by net/ before the first poll. */
    void (*on_sent)(void *stack, void *cookie); /* the pieces of that frame are free again */
    void (*on_room)(
        void *stack); /* after -EAGAIN: send() will take frames again. Called from poll()
                                     and tick() only, never from within send() or flush(): the stack
                                     sends from it */
    void (*on_announce)(
        void *stack); /* the network must learn where we are (the guest was moved). Called
                                         from poll() and tick() only; the stack sends from it */
    void *stack;
};

#endif
