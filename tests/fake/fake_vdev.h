/*
 * A virtio-net device made of C: the device side of the rings and of the frames, for host tests.
 *
 * It obeys the specification (virtio 1.2 chapters 2 and 5.1) until it is told to lie: struct
 * fake_vdev.fault names one lie, which it tells once, after fault_after honest completions. It watches the
 * driver as well: whatever breaks a MUST of the driver's is counted in `violations`, with the last one in words.
 *
 * Nothing happens by itself. A test calls the device's side: fake_net_receive() and
 * fake_net_transmit() for whole frames, fake_pop() and fake_push() for bare rings.
 */
#ifndef TESTS_FAKE_VDEV_H
#define TESTS_FAKE_VDEV_H

#include "drivers/virtio/device.h"
#include "drivers/virtio/vring.h"
#include "drivers/virtio/vring_packed.h"
#include "lib/types.h"

enum fake_fault {
    FAKE_HONEST,
    /* told by fake_push() */
    FAKE_USED_ID_OUT_OF_RANGE,
    FAKE_USED_ID_NOT_POSTED,
    FAKE_USED_ID_NOT_A_HEAD, /* the second descriptor of a chain */
    FAKE_COMPLETED_TWICE,
    FAKE_LEN_PAST_CHAIN,
    FAKE_LEN_ALL_ONES,
    FAKE_USED_IDX_JUMPS,      /* far more completions than buffers */
    FAKE_USED_IDX_JUMPS_BY_1, /* one more than posted */
    FAKE_USED_IDX_BACKWARDS,
    FAKE_DESC_REWRITTEN, /* the descriptor table is overwritten with ones: not a lie that must be seen */
    /* told by fake_net_receive() */
    FAKE_LEN_ZERO,
    FAKE_LEN_SHORT_OF_HEADER,
    FAKE_NUM_BUFFERS_ZERO,
    FAKE_NUM_BUFFERS_HUGE,
    FAKE_NUM_BUFFERS_ONE_MORE, /* a piece is missing */
    FAKE_LATER_PIECE_EMPTY,
    /* told by fake_ctrl_work() */
    FAKE_CTRL_ACK_UNWRITTEN, /* the command comes back, its answer was never written */
    FAKE_CTRL_ACK_ALL_ONES,
    FAKE_CTRL_NEVER, /* the command is kept for good */
    /* told by the transport */
    FAKE_QUEUE_SIZE_ZERO,
    FAKE_QUEUE_SIZE_ODD,
    FAKE_QUEUE_SIZE_HUGE,
    FAKE_QUEUE_REFUSED, /* queue_setup fails */
    FAKE_RESET_NEVER_ENDS,
    FAKE_FEATURES_REFUSED, /* FEATURES_OK doesn't stick */
    FAKE_CONFIG_NEVER_SETTLES,
    FAKE_GONE,      /* status reads as all ones */
    FAKE_GONE_ZERO, /* … as 0, like all else, and the bus misses it */
    FAKE_FAULT_COUNT
};

enum { FAKE_QUEUES = 5, FAKE_CHAIN_MAX = 128, FAKE_CONFIG_BYTES = 64, FAKE_FRAME_MAX = 70000 };

/* A packed ring as the device sees it: fake_packed.c. */
enum { FAKE_PACKED_MAX = 1024 };
struct fake_packed {
    struct vring_packed_desc *desc;
    union vring_packed_event *driver_event, *device_event;
    /* Places, 0 … 2 × size - 1: next to look for a buffer, next to write a used one, first that isn't published. */
    unsigned avail, used, told;
    uint16_t told_flags; /* what publishing writes there */
    struct {
        uint16_t slots; /* 0 = not popped */
        uint32_t in_len;
    } held[FAKE_PACKED_MAX]; /* by buffer id */
};

struct fake_queue {
    uint16_t offered_size; /* what the device says it can */
    uint16_t size;         /* what the driver set up; 0 = not yet */
    uint16_t vector;
    struct vring_desc *desc;
    struct vring_avail *avail;
    struct vring_used *used;
    uint16_t avail_seen; /* next avail slot to look at */
    uint16_t used_idx;
    uint16_t irq_idx; /* used_idx at the last interrupt decision */
    bool no_notify;   /* the device doesn't want kicks (flags or event) */
    unsigned kicks, irqs;
    unsigned in_flight; /* popped, not pushed */
    struct fake_packed packed;
};

/* What the control queue was told since the last reset, and how it answers. */
enum { FAKE_CTRL_LOG = 64, FAKE_CTRL_DATA = 512, FAKE_CTRL_REFUSALS = 8 };
struct fake_ctrl {
    struct fake_ctrl_cmd {
        uint8_t class, command;
        size_t len;
        uint8_t data[FAKE_CTRL_DATA];
    } log[FAKE_CTRL_LOG];
    unsigned count;
    uint16_t pairs; /* 1 after a reset */
    struct {
        uint8_t class, command;
    } refuse[FAKE_CTRL_REFUSALS]; /* answered with an error; stays over a reset */
    unsigned refuse_count;
};

struct fake_vdev {
    struct virtio_dev dev; /* what the driver gets */
    struct virtio_transport transport;
    uint64_t features; /* as driver wrote them */
    uint8_t status;
    uint8_t config[FAKE_CONFIG_BYTES];
    uint32_t config_len; /* bytes that exist */
    uint8_t generation;
    struct fake_queue queue[FAKE_QUEUES];
    unsigned resets;
    unsigned reset_reads; /* how many looks at its status a reset takes; 0 = it is done at once */
    unsigned reset_left;  /* of them, in the reset under way */
    bool lost;            /* fake_lose_state() was called, and the driver has not reset it yet */

    /* An interrupt is a call, at once, as on a machine with interrupts on. May be NULL. */
    void (*irq)(void *arg, uint16_t queue_idx);
    void *irq_arg;

    enum fake_fault fault;
    unsigned fault_after; /* honest completions before the lie */
    bool fault_told;

    struct fake_ctrl ctrl;

    unsigned violations;
    const char *violation;
    unsigned rx_no_buffer; /* frames that found too few receive buffers */
};

/* A chain as the device reads it, indirect tables unrolled. */
struct fake_iov {
    uint8_t *base;
    uint32_t len;
    bool writable;
};
struct fake_chain {
    uint16_t head;             /* packed: the buffer id */
    unsigned count, out_count; /* segments; of them readable, which come first */
    struct fake_iov iov[FAKE_CHAIN_MAX];
    size_t out_len, in_len; /* bytes */
    bool indirect;
};

/* A device that offers `features`; queues of `size` entries; legacy or modern register layout. The
 * configuration holds MAC 52:54:00:12:34:56, link up, one pair, MTU 1500. */
void fake_vdev_init(struct fake_vdev *v, uint64_t features, uint16_t size, bool legacy);

/* Take the next available chain. False when there is none. */
bool fake_pop(struct fake_vdev *v, uint16_t queue_idx, struct fake_chain *out);

/* How many chains wait to be popped. */
unsigned fake_avail_count(const struct fake_vdev *v, uint16_t queue_idx);

/* Complete a chain with `len` bytes written, publish at once, interrupt if it is wanted. */
void fake_push(struct fake_vdev *v, uint16_t queue_idx, uint16_t head, uint32_t len);

/* The same in steps: entries first, one index store and one interrupt decision for all. */
void fake_push_silent(struct fake_vdev *v, uint16_t queue_idx, uint16_t head, uint32_t len);
void fake_publish(struct fake_vdev *v, uint16_t queue_idx);

/* Ask for kicks or not, by the means negotiated. With EVENT_IDX asking is naming the next index. */
void fake_want_kicks(struct fake_vdev *v, uint16_t queue_idx, bool want);

/* Offload facts that come with a frame, as on the wire (struct virtio_net_hdr less num_buffers). */
struct fake_net_hdr {
    uint8_t flags, gso_type;
    uint16_t hdr_len, gso_size, csum_start, csum_offset;
    uint16_t num_buffers; /* transmit: as found there */
};

/*
 * Deliver one frame to receive queue 0. hdr may be NULL (all zero).
 * False when the posted buffers don't suffice: nothing is used then (§5.1.6.3).
 */
bool fake_net_receive(struct fake_vdev *v, const void *frame, size_t len,
                      const struct fake_net_hdr *hdr);

/* Bytes of the header that was negotiated: 10 or 12. */
size_t fake_net_hdr_len(const struct fake_vdev *v);

/*
 * Send up to `max` frames waiting in transmit queue 1; each is given to `sink` (unless NULL), then completed.
 * Returns their number.
 */
typedef void fake_net_sink(void *arg, const struct fake_net_hdr *hdr, const uint8_t *frame,
                           size_t len);
unsigned fake_net_transmit(struct fake_vdev *v, unsigned max, fake_net_sink *sink, void *arg);

/* One frame of a popped transmit chain: checks it and hands it to `sink`, without completing it. */
void fake_net_read(struct fake_vdev *v, const struct fake_chain *chain, fake_net_sink *sink,
                   void *arg);

/* Somebody resets the device behind the driver's back: it knows nothing any more. */
void fake_lose_state(struct fake_vdev *v);

/* The control queue's number (§5.1.2). */
uint16_t fake_ctrl_queue(const struct fake_vdev *v);

/* Take and answer the commands that wait. Returns their number; they are in ctrl.log. */
unsigned fake_ctrl_work(struct fake_vdev *v);

/* From now on this command is answered with an error. */
void fake_ctrl_refuse(struct fake_vdev *v, uint8_t class, uint8_t command);

/* The last such command in the log, or NULL. */
const struct fake_ctrl_cmd *fake_ctrl_find(const struct fake_vdev *v, uint8_t class,
                                           uint8_t command);

/* For the fake's own parts: true once, when this lie is due; and a driver's fault seen. */
bool fake_lie(struct fake_vdev *v, enum fake_fault fault);
void fake_violation(struct fake_vdev *v, const char *what);
void fake_add_iov(struct fake_vdev *v, struct fake_chain *c, uint64_t addr, uint32_t len,
                  bool writable);

/* fake_packed.c: what fake_pop() and the others do with a packed ring. */
void fake_packed_setup(struct fake_vdev *v, struct fake_queue *q,
                       const struct virtio_queue_mem *mem);
unsigned fake_packed_avail_count(const struct fake_queue *q);
bool fake_packed_pop(struct fake_vdev *v, struct fake_queue *q, struct fake_chain *c);
void fake_packed_push(struct fake_vdev *v, struct fake_queue *q, uint16_t id, uint32_t len);
bool fake_packed_publish(struct fake_vdev *v, struct fake_queue *q); /* true: interrupt wanted */
void fake_packed_want_kicks(struct fake_vdev *v, struct fake_queue *q, bool want);

static inline bool fake_has(const struct fake_vdev *v, unsigned feature)
{
    return (v->features >> feature) & 1;
}

/* Change the configuration and count the generation up. */
void fake_config_set(struct fake_vdev *v, uint32_t offset, const void *bytes, uint32_t len);

#endif
