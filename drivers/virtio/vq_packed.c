/*
 * The packed ring: our side of it. See vq_packed.h; virtio 1.2 §2.8.
 *
 * Ordering. The places A–D are those of virtqueue.c; what stands for the indices here are the flags of a descriptor:
 *
 *   A  a chain's descriptors ▸ its head's flags   release store; pairs with the device's acquire of those flags. It also keeps
 *                                                 what we read of the slots' former, used buffers before their rewriting
 *                                                 is seen to be complete
 *   B  head's flags ▸ look at the device's word   full barrier; pairs with the device's barrier between writing its
 *                                                 word and its last look at the next slot's flags
 *   C  used flags ▸ id, len, buffer contents      acquire load; pairs with the device's release of those flags
 *   D  our word ▸ look at the next slot's flags   full barrier; pairs with the device's barrier between writing used
 *                                                 flags and its look at our word
 *   E  our off_wrap ▸ our flags                   release store; pairs with the device's reading flags first: it never takes
 *                                                 an old slot for the one that DESC speaks of
 *
 * The device's word is read at once, as 32 bits, so E's pair isn't needed on this side.
 */
#include "drivers/virtio/vq_packed.h"

#include "port/shared.h"

enum { BOTH_BITS = VRING_PACKED_AVAIL | VRING_PACKED_USED };

void vq_packed_init(struct virtqueue *vq, uint8_t *base)
{
    const struct vring_packed_layout l = vring_packed_layout(vq->size);

    vq->ring = (struct vq_packed_ring){
        .desc = (struct vring_packed_desc *)(void *)base,
        .driver_event = (union vring_packed_event *)(void *)(base + l.driver),
        .device_event = (union vring_packed_event *)(void *)(base + l.device),
        .avail_bits = VRING_PACKED_AVAIL, /* wrap counters start at 1 (§2.8.1) */
        .used_bits = BOTH_BITS,
    };
    for (unsigned i = 0; i < vq->size; i++)
        vq->chains[i].next =
            (uint16_t)(i + 1); /* the last one's is never followed: no slot is left then */
}

/* ---- post -------------------------------------------------------------------------------- */

/* Take the next id, and note what belongs to it. */
static void record_chain(struct virtqueue *vq, unsigned count, uint32_t in_len, void *cookie)
{
    struct vq_chain *c = &vq->chains[vq->free_head];

    vq->free_head = c->next;
    vq->free_count = (uint16_t)(vq->free_count - count);
    c->cookie = cookie;
    c->in_len = in_len;
    c->desc_count = (uint16_t)count;
}

void vq_packed_post(struct virtqueue *vq, const struct vq_seg *segs, unsigned out_count,
                    unsigned count, void *cookie)
{
    struct vq_packed_ring *r = &vq->ring;
    struct vring_packed_desc *const head = &r->desc[r->avail_slot];
    const uint16_t id = vq->free_head;
    uint16_t head_flags = 0;
    uint32_t in_len = 0;

    for (unsigned i = 0; i < count; i++) {
        const bool in = i >= out_count;
        const unsigned flags =
            r->avail_bits | (in ? VRING_DESC_WRITE : 0u) | (i + 1 < count ? VRING_DESC_NEXT : 0u);

        in_len += in ? segs[i].len : 0;
        struct vring_packed_desc *d = &r->desc[r->avail_slot];
        d->addr = le64_make(segs[i].addr);
        d->len = le32_make(segs[i].len);
        /* The last one's counts (§2.8.6), but there are devices that read the first one's. */
        d->id = le16_make(id);
        if (i == 0)
            head_flags = (uint16_t)flags;
        else
            d->flags = le16_make((uint16_t)flags);
        if (++r->avail_slot == vq->size) {
            r->avail_slot = 0;
            r->avail_bits ^= BOTH_BITS;
        }
    }
    record_chain(vq, count, in_len, cookie);
    vq->avail_idx++;
    r->unasked += count;
    /* A: the whole chain is visible before its head becomes available (§2.8.21). */
    shared_store16_release(&head->flags, head_flags);
}

/* ---- take -------------------------------------------------------------------------------- */

/* A place that the device will use: a slot, and the bits that its flags will have. */
struct place {
    uint16_t slot, bits;
};

static inline struct place next_used(const struct virtqueue *vq)
{
    return (struct place){vq->ring.used_slot, vq->ring.used_bits};
}

/* slots: 0 … size */
static inline struct place place_after(const struct virtqueue *vq, struct place p, unsigned slots)
{
    const unsigned to = p.slot + slots;

    if (to < vq->size)
        return (struct place){(uint16_t)to, p.bits};
    return (struct place){(uint16_t)(to - vq->size), p.bits ^ BOTH_BITS};
}

static inline bool is_used(const struct virtqueue *vq, struct place p)
{
    /* C: id, length and buffer are read after the flags that vouch for them. */
    return (shared_load16_acquire(&vq->ring.desc[p.slot].flags) & BOTH_BITS) == p.bits;
}

/* Take the buffer that was used at the next place, if it is no lie. NULL, or the lie. */
static const char *take_one(struct virtqueue *vq, struct vq_done *done)
{
    const struct vring_packed_desc *d = &vq->ring.desc[vq->ring.used_slot];
    const uint16_t id = shared_load16(&d->id);
    uint32_t len = shared_load32(&d->len);

    if (id >= vq->size)
        return "used id out of range";
    struct vq_chain *const c = &vq->chains[id];
    if (c->desc_count == 0)
        return "used id that is not posted";
    if (len > c->in_len) {
        if (c->in_len)
            return "used length beyond the buffer";
        len = 0; /* a chain that it only read: the number means nothing */
    }
    const struct place next = place_after(vq, next_used(vq), c->desc_count);
    vq->ring.used_slot = next.slot;
    vq->ring.used_bits = next.bits;
    *done = (struct vq_done){c->cookie, len};
    c->next = vq->free_head;
    vq->free_head = id;
    vq->free_count = (uint16_t)(vq->free_count + c->desc_count);
    c->desc_count = 0;
    return NULL;
}

unsigned vq_packed_take(struct virtqueue *vq, struct vq_done *done, unsigned max, const char **lie)
{
    unsigned taken = 0;

    while (taken < max && is_used(vq, next_used(vq))) {
        *lie = take_one(vq, &done[taken]);
        if (*lie)
            break;
        taken++;
    }
    vq->used_idx = (uint16_t)(vq->used_idx + taken);
    vq->used_seen = vq->used_idx;
    return taken;
}

bool vq_packed_pending(const struct virtqueue *vq)
{
    return is_used(vq, next_used(vq));
}

/* ---- notifications, both ways ------------------------------------------------------------ */

/* A place as a number, 0 … 2 × size - 1: the wrap counter makes the ring twice as long. */
static uint32_t lap_position(const struct virtqueue *vq, uint16_t slot, bool wrap)
{
    return slot + (wrap ? 0u : vq->size);
}

/* Has the device asked for any of the `count` descriptors that were posted last? */
static bool asked_for(const struct virtqueue *vq, uint32_t count)
{
    const struct vq_packed_ring *r = &vq->ring;
    const uint32_t word = shared_load32(&r->device_event->both), flags = (word >> 16) & 3;
    const uint16_t slot = word & (VRING_PACKED_WRAP - 1);

    if (flags == VRING_PACKED_EVENT_DISABLE)
        return false;
    /* What makes no sense is no reason to let it sleep. */
    if (flags != VRING_PACKED_EVENT_DESC || !vq->event_idx || slot >= vq->size)
        return true;
    const uint32_t laps = 2u * vq->size;
    const uint32_t event = lap_position(vq, slot, word & VRING_PACKED_WRAP);
    const uint32_t next = lap_position(vq, r->avail_slot, r->avail_bits & VRING_PACKED_AVAIL);
    return (next + laps - 1 - event) % laps < count;
}

bool vq_packed_kick_wanted(struct virtqueue *vq)
{
    const uint32_t count = vq->ring.unasked;

    vq->ring.unasked = 0;
    return asked_for(vq, count);
}

bool vq_packed_kick_overdue(const struct virtqueue *vq)
{
    const uint32_t held = (uint32_t)(vq->size - vq->free_count);

    return held && asked_for(vq, held);
}

/* Have the used buffers that we haven't taken yet reached the slot that lies `slots` behind the next one? */
static bool used_beyond(const struct virtqueue *vq, unsigned slots)
{
    unsigned passed = 0;

    for (struct place p = next_used(vq); is_used(vq, p);) {
        const uint16_t id = shared_load16(&vq->ring.desc[p.slot].id);
        const unsigned count = id < vq->size ? vq->chains[id].desc_count : 0;

        passed += count;
        if (count == 0 || passed > slots) /* 0: a lie, which taking will find */
            return true;
        p = place_after(vq, p, count);
    }
    return false;
}

/* How far away the `after`th (1 … posted) buffer begins, if all are of one length. */
static unsigned slots_before(const struct virtqueue *vq, unsigned after, unsigned posted)
{
    const unsigned held = (unsigned)(vq->size - vq->free_count);

    return held * (after - 1) / posted;
}

bool vq_packed_irq_enable(struct virtqueue *vq, uint16_t after)
{
    union vring_packed_event *const word = vq->ring.driver_event;
    const unsigned posted = vq_posted_count(vq);
    unsigned slots = 0;

    if (vq->event_idx) {
        if (after > 1 && posted > 1)
            slots = slots_before(vq, after < posted ? after : posted, posted);
        const struct place p = place_after(vq, next_used(vq), slots);
        shared_store16(&word->off_wrap,
                       (uint16_t)(p.slot | (p.bits & VRING_PACKED_AVAIL ? VRING_PACKED_WRAP : 0)));
        /* E */
        shared_store16_release(&word->flags, VRING_PACKED_EVENT_DESC);
    } else {
        shared_store16(&word->flags, VRING_PACKED_EVENT_ENABLE);
    }
    /* D: the wish is visible before the last look, so what is used after that look interrupts. */
    shared_barrier();
    return used_beyond(vq, slots);
}

void vq_packed_irq_disable(struct virtqueue *vq)
{
    shared_store16(&vq->ring.driver_event->flags, VRING_PACKED_EVENT_DISABLE);
}
