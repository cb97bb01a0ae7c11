/*
 * A virtqueue, split or packed: buffers go to the device by vq_post(), come back by vq_take().
 *
 * virtio 1.2 §2.7; with RING_PACKED accepted §2.8, in vq_packed.c. The rings lie in memory that the device writes; the queue keeps its own copy of
 * everything it needs to trust (which heads are posted, their chain length, what they may
 * write), so a device that rewrites descriptors behind our back changes nothing here.
 * Indices are free-running 16 bits: full and empty differ (§2.7.6).
 *
 * One consumer: the poll loop. Nothing blocks.
 */
#ifndef DRIVERS_VIRTIO_VIRTQUEUE_H
#define DRIVERS_VIRTIO_VIRTQUEUE_H

#include "drivers/virtio/device.h"
#include "drivers/virtio/vring.h"
#include "drivers/virtio/vring_packed.h"
#include "lib/types.h"
#include "port/shared.h"

struct vq_seg {
    dma_addr addr;
    uint32_t len; /* 1 … 2^32-1 */
};

struct vq_done {
    void *cookie;
    uint32_t len; /* bytes written, from the start of the chain's writable part */
};

/*
 * Our own record, one for each descriptor (packed: buffer id): the free list and the links of a chain run through `next`;
 * the rest is set in the record of a chain's head only.
 */
struct vq_chain {
    void *cookie;
    uint32_t in_len;     /* bytes that the device may write; 0 = it only reads */
    uint16_t next;       /* following descriptor of the chain, or of the free list */
    uint16_t desc_count; /* descriptors held; 0 = not the head of a posted chain */
};

/* What only the packed ring has: vq_packed.h. */
struct vq_packed_ring {
    struct vring_packed_desc *desc;         /* shared; of what we wrote nothing is believed */
    union vring_packed_event *driver_event; /* shared: written, never read back */
    union vring_packed_event *device_event; /* shared: read only */
    uint16_t avail_slot, used_slot;         /* next to post to; next that the device will use */
    uint16_t avail_bits, used_bits;         /* AVAIL and USED as they will stand there */
    uint32_t unasked;                       /* descriptors posted since the last kick decision */
};

struct virtqueue {
    struct vring_desc *desc;   /* shared with the device: written, never read back */
    struct vring_avail *avail; /* likewise */
    struct vring_used *used;   /* read through port/shared.h only */
    struct vq_chain *chains;   /* by descriptor */

    uint16_t size;       /* entries, a power of two (packed: any number), 1 … 32768 */
    uint16_t mask;       /* size - 1 */
    uint16_t free_count; /* descriptors not posted; 0 as well once broken */
    uint16_t avail_idx;  /* next slot to publish, free-running */
    uint16_t free_head;  /* the next chain's head: LIFO, so the warmest descriptor goes first */
    uint16_t used_idx;   /* next used entry to look at, free-running */
    uint16_t used_seen;  /* the device's used.idx when last read: entries before it may be taken */
    uint16_t kicked_idx; /* avail_idx at the last kick decision */
    uint16_t queue_idx;
    bool event_idx, broken, packed;
    bool kick_saved; /* the last decision was not to kick */

    struct vring_desc *indirect_tables; /* size × indirect_max, or NULL: indirect isn't used */
    uint16_t indirect_max;              /* entries of one table */
    uint16_t chain_max;                 /* most segments of one vq_post() */
    struct virtio_dev *dev;
    void *mem; /* rings, tables and records: one run of pages, owned */
    size_t mem_pages;

    uint64_t kicks, kicks_saved; /* notifications sent; found unwanted by the device */
    uint64_t kicks_overdue;      /* of kicks: those that vq_kick_overdue() found missing */
    const char *broken_why;      /* NULL, or the first lie in words */

    struct vq_packed_ring ring; /* packed only; desc, avail and used above are NULL then */
};

enum {
    VQ_INDIRECT_MAX =
        16, /* entries of one table: 64 KB of TCP in pages; longer chains lie in the ring */
};

/*
 * Allocate the rings for queue idx of dev with at most max_size entries (0 = what the device offers;
 * legacy can't be lowered, §4.1.5.1.3) and publish them with that MSI-X vector. A modern
 * queue is halved until memory suffices for it.
 *
 *   chain_max  most segments one vq_post() will be given, 1 … 65,535; lowered to the queue's size
 *              (§2.7.5.3.1). With INDIRECT_DESC accepted and chain_max > 1 a table for each head is
 *              allocated as well.
 *
 * Returns 0; -ENOENT no such queue; -EPROTO an impossible size; -ENOMEM; -EIO the device refused.
 * On failure nothing is held.
 */
int vq_open(struct virtqueue *vq, struct virtio_dev *dev, uint16_t idx, uint16_t max_size,
            uint16_t chain_max, uint16_t vector);

/*
 * Free the rings. The device must have been reset (§3.3.1). Cookies still posted are handed to `drop`
 * (unless NULL) first. Closing what never opened does nothing.
 */
void vq_close(struct virtqueue *vq, void (*drop)(void *arg, void *cookie), void *arg);

/* The same for a device that can't be reset: it may still write to the rings, so their memory is given up. */
void vq_abandon(struct virtqueue *vq, void (*drop)(void *arg, void *cookie), void *arg);

/*
 * Post one chain: first `out_count` segments the device reads, then `in_count` it writes (§2.7.4.2).
 * Borrows the segments' memory until the chain is taken. Published to the device at once
 * (index store ordered after the descriptors), but the kick is the caller's: vq_kick().
 *
 * Returns 0; -EAGAIN when there are too few free descriptors; -EPROTO when the queue is broken.
 * ASSERTs out_count + in_count in 1 … chain_max; cookie must not be NULL.
 */
int vq_post(struct virtqueue *vq, const struct vq_seg *segs, unsigned out_count, unsigned in_count,
            void *cookie);

/* vq_post() of one segment that the device writes: a receive buffer. */
int vq_post_in(struct virtqueue *vq, dma_addr addr, uint32_t len, void *cookie);

/* The head that the next vq_post() will use, 0 … size - 1: an index for what belongs to a chain. Valid
 * only while something is free. */
static inline uint16_t vq_next_head(const struct virtqueue *vq)
{
    return vq->free_head;
}

/* How many chains of `seg_count` segments vq_post() would take now. */
unsigned vq_room(const struct virtqueue *vq, unsigned seg_count);

/*
 * Take completed buffers off the used ring, up to `max` of them, in the order the device gave them back.
 *
 * Nothing the device wrote is believed before it is checked: the id must name a chain that is
 * posted now, and len must fit what that chain let it write. The first lie breaks the queue,
 * and it stays broken until it is reopened: one log line, one counter. What was taken before it is good.
 *
 *   done   done[i].cookie is what vq_post() was given; the caller owns that buffer again. done[i].len counts
 *          bytes written from the start of the chain; 0 for a chain the device only reads, where some
 *          devices report nonsense.
 *
 * Returns how many were taken; 0 also when the queue is broken.
 * Poll loop only; never blocks. §2.7.8, §2.7.14.
 */
unsigned vq_take_batch(struct virtqueue *vq, struct vq_done *done, unsigned max);

/* The same for one. Returns 0; -EAGAIN when nothing more is completed; -EPROTO when the queue is broken. */
int vq_take(struct virtqueue *vq, struct vq_done *done);

/* True when the used ring holds something vq_take() would return. One read, no barrier. */
bool vq_pending(const struct virtqueue *vq);

/*
 * Notify the device of everything posted since the last call, if it wants to be: flags without
 * EVENT_IDX, the wrap-safe range test with it (§2.7.10.1), after a full barrier (§2.7.13.4.1).
 */
void vq_kick(struct virtqueue *vq);

/*
 * Before sleeping: look again whether a kick that was saved would have been wanted, and make up for it.
 *
 * vq_kick() is exact on a machine whose barriers are. QEMU's TCG leaves them out for a single processor,
 * so its device may go to sleep on an old avail.idx while we decide by an old avail_event. The caller has let
 * the stores settle since (cpu_idle()). A kick too many does no harm; it happens while the device is still
 * working through what is posted.
 */
void vq_kick_overdue(struct virtqueue *vq);

/* Notify the device whatever it has asked for: for one that seems to have missed a kick. */
void vq_kick_again(struct virtqueue *vq);

/*
 * Ask for an interrupt once `after` more buffers (≥ 1; lowered to the number posted) than already
 * taken are used; without EVENT_IDX at the next one. Returns true when that many are there already, looked at
 * after a full barrier (so the caller polls again instead of sleeping). §2.7.7.
 */
bool vq_irq_enable(struct virtqueue *vq, uint16_t after);

/* Ask for no interrupts. A hint: one may still come (§2.7.7.1). */
void vq_irq_disable(struct virtqueue *vq);

/* Number of chains posted and not yet taken. Each chain takes one avail and one used slot. */
static inline uint16_t vq_posted_count(const struct virtqueue *vq)
{
    return (uint16_t)(vq->avail_idx - vq->used_idx);
}

/*
 * ---- a chain written in place --------------------------------------------------------------------
 *
 * What vq_post() does for chains in the ring, for a caller that has its segments in another shape:
 *
 *     if (vq_prefers_ring(vq, count) && count <= vq->free_count) {
 *         struct vq_chain_writer w = vq_chain_begin(vq);
 *         … count × vq_chain_add(vq, &w, addr, len, 0 or VRING_DESC_WRITE) …
 *         vq_chain_end(vq, &w, count, in_len, cookie);
 *     }
 */
struct vq_chain_writer {
    uint16_t last, next;
    uint16_t flags;
};

/*
 * A table costs the device one more look-up, a chain costs ring entries: so short chains lie in the
 * ring while there is plenty of it, and in tables when it gets narrow. Never for a packed queue: its chains are written by
 * vq_post() only.
 */
static inline bool vq_prefers_ring(const struct virtqueue *vq, unsigned count)
{
    return !vq->packed && (count * 4 <= vq->free_count || !vq->indirect_max);
}

static inline void vq_write_desc(struct vring_desc *d, dma_addr addr, uint32_t len, uint16_t flags,
                                 uint16_t next)
{
    d->addr = le64_make(addr);
    d->len = le32_make(len);
    d->flags = le16_make(flags);
    if (flags & VRING_DESC_NEXT)
        d->next = le16_make(next);
}

/* Take `desc_count` descriptors off the free list, whose links up to `last` are the chain's now, and make
 * `head` available. */
static inline void vq_publish(struct virtqueue *vq, uint16_t head, uint16_t last,
                              unsigned desc_count, uint32_t in_len, void *cookie)
{
    struct vq_chain *c = &vq->chains[head];

    vq->free_head = vq->chains[last].next;
    vq->free_count = (uint16_t)(vq->free_count - desc_count);
    c->cookie = cookie;
    c->in_len = in_len;
    c->desc_count = (uint16_t)desc_count;
    vq->avail->ring[vq->avail_idx & vq->mask] = le16_make(head);
    vq->avail_idx++;
    /* A: the descriptors and the slot above are visible before the index that exposes them. */
    shared_store16_release(&vq->avail->idx, vq->avail_idx);
}

static inline struct vq_chain_writer vq_chain_begin(const struct virtqueue *vq)
{
    return (struct vq_chain_writer){.next = vq->free_head};
}

static inline void vq_chain_add(struct virtqueue *vq, struct vq_chain_writer *w, dma_addr addr,
                                uint32_t len, uint16_t flags)
{
    /* The link is our own list's: the ring's isn't read back. */
    w->last = w->next;
    w->next = vq->chains[w->last].next;
    w->flags = flags;
    vq_write_desc(&vq->desc[w->last], addr, len, flags | VRING_DESC_NEXT, w->next);
}

static inline void vq_chain_end(struct virtqueue *vq, const struct vq_chain_writer *w,
                                unsigned count, uint32_t in_len, void *cookie)
{
    vq->desc[w->last].flags = le16_make(w->flags); /* the last one has no next */
    vq_publish(vq, vq->free_head, w->last, count, in_len, cookie);
}

#endif
