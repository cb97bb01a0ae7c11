/*
 * The split virtqueue: our side of one ring. See virtqueue.h; virtio 1.2 §2.7. What both rings have in common is done
 * here, too; where they differ, vq_packed.c is asked once RING_PACKED was accepted.
 *
 * Ordering. Four places where one side's store must be seen before another access. Each names its pair:
 *
 *   A  descriptors, ring slot ▸ avail.idx        release store; pairs with the device's acquire of avail.idx
 *   B  avail.idx ▸ look at used.flags/avail_event full barrier; pairs with the device's barrier between
 *                                                 writing avail_event and its last look at avail.idx
 *   C  used.idx ▸ used entry, buffer contents    acquire load; pairs with the device's release of used.idx
 *   D  used_event/avail.flags ▸ look at used.idx full barrier; pairs with the device's barrier between
 *                                                 writing used.idx and its look at used_event
 *
 * Without B or D each side may look too early, and both sleep: the stall that several drivers are known for.
 */
#include "drivers/virtio/virtqueue.h"

#include <errno.h>
#include <string.h>

#include "drivers/virtio/device.h"
#include "drivers/virtio/vq_packed.h"
#include "lib/check.h"
#include "lib/log.h"
#include "lib/page_alloc.h"
#include "port/dma.h"
#include "port/shared.h"

enum {
    FEATURE_INDIRECT_DESC = 28, /* §6 */
    FEATURE_EVENT_IDX = 29,
    FEATURE_RING_PACKED = 34,
    /* Posts that may go by without a kick before vq_take() makes one: see take_more(). */
    KICK_OVERDUE = 0x4000,
};

/* ---- open and close ---------------------------------------------------------------------- */

/* Bytes of everything that belongs to a queue, and where our own parts start. */
struct vq_plan {
    struct vring_layout ring;
    size_t tables, chains, total;
};

static struct vq_plan plan_memory(const struct virtqueue *vq, bool legacy)
{
    const size_t size = vq->size;
    struct vq_plan p = {0};

    if (vq->packed)
        p.ring.total = vring_packed_layout(vq->size).total;
    else
        p.ring = vring_layout(vq->size, legacy);
    p.tables = size_round_up(p.ring.total, 64);
    p.chains = p.tables + sizeof(struct vring_desc) * size * vq->indirect_max;
    p.total = p.chains + sizeof(struct vq_chain) * size;
    return p;
}

/* Entries of each indirect table; 0 when none are wanted. A table may not exceed the queue (§2.7.5.3.1). */
static uint16_t table_entries(const struct virtqueue *vq, uint16_t chain_max)
{
    if (chain_max < 2 || vq->packed || !virtio_has(vq->dev, FEATURE_INDIRECT_DESC))
        return 0;
    const size_t entries = size_min(size_min(chain_max, VQ_INDIRECT_MAX), vq->size);
    return entries < 2 ? 0 : (uint16_t)entries;
}

static void lay_out_split(struct virtqueue *vq, const struct vq_plan *p, uint8_t *base)
{
    vq->desc = (struct vring_desc *)(void *)base;
    vq->avail = (struct vring_avail *)(void *)(base + p->ring.avail);
    vq->used = (struct vring_used *)(void *)(base + p->ring.used);
    vq->indirect_tables = vq->indirect_max ? (struct vring_desc *)(void *)(base + p->tables) : NULL;
    vq->mask = (uint16_t)(vq->size - 1);
    for (unsigned i = 0; i < vq->size; i++)
        vq->chains[i].next = (uint16_t)((i + 1) & vq->mask);
}

static void lay_out(struct virtqueue *vq, const struct vq_plan *p)
{
    uint8_t *base = vq->mem;

    memset(base, 0, p->total);
    vq->chains = (struct vq_chain *)(void *)(base + p->chains);
    if (vq->packed)
        vq_packed_init(vq, base);
    else
        lay_out_split(vq, p, base);
    vq->free_head = 0;
    vq->free_count = vq->size;
}

/* A legacy device learns a 32-bit page number (§4.1.4.8): the block must lie below 16 TiB. */
static bool reachable(const struct virtqueue *vq, bool legacy)
{
    return !legacy || (dma_of(vq->mem) >> 12) <= UINT32_MAX;
}

static int allocate(struct virtqueue *vq, uint16_t chain_max)
{
    const bool legacy = vq->dev->transport->legacy;

    for (;;) {
        vq->indirect_max = table_entries(vq, chain_max);
        const struct vq_plan p = plan_memory(vq, legacy);

        vq->mem_pages = size_round_up(p.total, PAGE_BYTES) / PAGE_BYTES;
        vq->mem = page_take(vq->mem_pages);
        if (vq->mem && reachable(vq, legacy)) {
            vq->chain_max = (uint16_t)size_min(chain_max, vq->size);
            lay_out(vq, &p);
            return 0;
        }
        if (vq->mem)
            page_give(vq->mem, vq->mem_pages);
        vq->mem = NULL;
        if (legacy || vq->size <= 2)
            return -ENOMEM;
        vq->size >>= 1;
    }
}

/* The size to use: what the device offers, lowered where that is possible. 0 = it offered nonsense. A packed ring may have
 * any (§2.8). */
static uint16_t choose_size(const struct virtqueue *vq, uint16_t offered, uint16_t max_size)
{
    const bool fixed = vq->dev->transport->legacy;
    uint16_t size = offered;

    if (vq->packed && offered <= VRING_SIZE_MAX)
        return max_size && max_size < offered ? max_size : offered;
    if ((offered & (offered - 1u)) || offered > VRING_SIZE_MAX)
        return 0;
    while (max_size && !fixed && size > max_size)
        size >>= 1;
    return size;
}

static struct virtio_queue_mem queue_mem(const struct virtqueue *vq)
{
    const void *const desc = vq->packed ? (const void *)vq->ring.desc : vq->desc;
    const void *const driver = vq->packed ? (const void *)vq->ring.driver_event : vq->avail;
    const void *const device = vq->packed ? (const void *)vq->ring.device_event : vq->used;

    return (struct virtio_queue_mem){dma_of(desc), dma_of(driver), dma_of(device), vq->size};
}

int vq_open(struct virtqueue *vq, struct virtio_dev *dev, uint16_t idx, uint16_t max_size,
            uint16_t chain_max, uint16_t vector)
{
    ASSERT(chain_max >= 1);
    *vq = (struct virtqueue){.dev = dev, .queue_idx = idx};

    const uint16_t offered = dev->transport->queue_max_size(dev, idx);
    if (!offered)
        return -ENOENT;
    vq->packed = virtio_has(dev, FEATURE_RING_PACKED);
    vq->event_idx = virtio_has(dev, FEATURE_EVENT_IDX);
    vq->size = choose_size(vq, offered, max_size);
    if (!vq->size) {
        log_error("virtqueue", "%s queue %u: size %u is no %s up to 32768", dev->where,
                  (unsigned)idx, (unsigned)offered, vq->packed ? "number" : "power of two");
        return -EPROTO;
    }
    int err = allocate(vq, chain_max);
    if (err)
        return err;

    const struct virtio_queue_mem mem = queue_mem(vq);
    err = dev->transport->queue_setup(dev, idx, &mem, vector);
    if (err)
        vq_close(vq, NULL, NULL);
    return err;
}

void vq_abandon(struct virtqueue *vq, void (*drop)(void *arg, void *cookie), void *arg)
{
    if (!vq->mem)
        return;
    for (unsigned i = 0; drop && i < vq->size; i++)
        if (vq->chains[i].desc_count)
            drop(arg, vq->chains[i].cookie);

    /* What is worth reading after the end stays: counters and the reason. */
    vq->mem = NULL;
    vq->desc = NULL;
    vq->avail = NULL;
    vq->used = NULL;
    vq->chains = NULL;
    vq->indirect_tables = NULL;
    vq->ring = (struct vq_packed_ring){0};
    vq->broken = true;
    vq->avail_idx = vq->used_idx = vq->used_seen = 0;
    vq->free_count = 0;
}

void vq_close(struct virtqueue *vq, void (*drop)(void *arg, void *cookie), void *arg)
{
    void *mem = vq->mem;

    vq_abandon(vq, drop, arg);
    if (mem)
        page_give(mem, vq->mem_pages);
}

/*
 * The first lie: say it once, believe nothing more. Nothing is free and nothing is takable any
 * more, so that the fast paths need not ask whether the queue is broken.
 */
static __attribute__((cold, noinline)) void lied(struct virtqueue *vq, const char *why)
{
    vq->broken = true;
    vq->free_count = 0;
    vq->used_seen = vq->used_idx;
    vq->broken_why = why;
    log_error("virtqueue", "%s queue %u: the device lied (%s); the queue is out of use",
              vq->dev->where, (unsigned)vq->queue_idx, why);
}

/* ---- post -------------------------------------------------------------------------------- */

static int no_room(const struct virtqueue *vq)
{
    return vq->broken ? -EPROTO : -EAGAIN;
}

int vq_post_in(struct virtqueue *vq, dma_addr addr, uint32_t len, void *cookie)
{
    if (__builtin_expect(vq->free_count == 0, 0))
        return no_room(vq);
    if (__builtin_expect(vq->packed, 0)) {
        vq_packed_post(vq, &(struct vq_seg){addr, len}, 0, 1, cookie);
        return 0;
    }

    const uint16_t head = vq->free_head;
    vq_write_desc(&vq->desc[head], addr, len, VRING_DESC_WRITE, 0);
    vq_publish(vq, head, head, 1, len, cookie);
    return 0;
}

static void post_indirect(struct virtqueue *vq, const struct vq_seg *segs, unsigned out_count,
                          unsigned count, void *cookie)
{
    const uint16_t head = vq->free_head;
    struct vring_desc *table = &vq->indirect_tables[(size_t)head * vq->indirect_max];
    uint32_t in_len = 0;

    for (unsigned i = 0; i < count; i++) {
        const bool in = i >= out_count;
        const unsigned next = i + 1 < count ? VRING_DESC_NEXT : 0;

        in_len += in ? segs[i].len : 0;
        vq_write_desc(&table[i], segs[i].addr, segs[i].len,
                      (uint16_t)(next | (in ? VRING_DESC_WRITE : 0)), (uint16_t)(i + 1));
    }
    /* Never NEXT or WRITE beside INDIRECT (§2.7.5.3.1). */
    vq_write_desc(&vq->desc[head], dma_of(table), (uint32_t)(count * sizeof(*table)),
                  VRING_DESC_INDIRECT, 0);
    vq_publish(vq, head, head, 1, in_len, cookie);
}

static void post_direct(struct virtqueue *vq, const struct vq_seg *segs, unsigned out_count,
                        unsigned count, void *cookie)
{
    struct vq_chain_writer w = vq_chain_begin(vq);
    uint32_t in_len = 0;

    for (unsigned i = 0; i < count; i++) {
        const bool in = i >= out_count;

        in_len += in ? segs[i].len : 0;
        vq_chain_add(vq, &w, segs[i].addr, segs[i].len, in ? VRING_DESC_WRITE : 0);
    }
    vq_chain_end(vq, &w, count, in_len, cookie);
}

int vq_post(struct virtqueue *vq, const struct vq_seg *segs, unsigned out_count, unsigned in_count,
            void *cookie)
{
    const unsigned count = out_count + in_count;

    ASSERT(count - 1u < vq->chain_max);
    const bool table = count > 1 && !vq_prefers_ring(vq, count) && count <= vq->indirect_max;
    if (__builtin_expect((table ? 1u : count) > vq->free_count, 0))
        return no_room(vq);
    if (__builtin_expect(vq->packed, 0))
        vq_packed_post(vq, segs, out_count, count, cookie);
    else if (table)
        post_indirect(vq, segs, out_count, count, cookie);
    else
        post_direct(vq, segs, out_count, count, cookie);
    return 0;
}

unsigned vq_room(const struct virtqueue *vq, unsigned seg_count)
{
    return seg_count <= vq->indirect_max ? vq->free_count : vq->free_count / seg_count;
}

/* ---- take -------------------------------------------------------------------------------- */

/*
 * The place where a forgotten kick is made up for: the range
 * test of vq_kick() is exact only up to 2^16 posts. Between two calls at most `size` chains can be
 * posted (what is free plus what is takable), so KICK_OVERDUE + 2^15 < 2^16 bounds the distance.
 */
static inline void make_up_for_kick(struct virtqueue *vq)
{
    if ((uint16_t)(vq->avail_idx - vq->kicked_idx) >= KICK_OVERDUE)
        vq_kick(vq);
}

/* Look for more used entries; how many there are. */
static unsigned look_for_more(struct virtqueue *vq)
{
    if (vq->broken)
        return 0;
    /* C: the entries and the buffers are read after the index that vouches for them. */
    const uint16_t seen = shared_load16_acquire(&vq->used->idx);

    if ((uint16_t)(seen - vq->used_idx) > vq_posted_count(vq)) {
        lied(vq, "used index beyond what is posted");
        return 0;
    }
    make_up_for_kick(vq);
    vq->used_seen = seen;
    return (uint16_t)(seen - vq->used_idx);
}

/* The last record of a chain that lies in the ring. */
static struct vq_chain *chain_end(struct vq_chain *chains, struct vq_chain *c)
{
    for (unsigned left = c->desc_count; left > 1; left--)
        c = &chains[c->next];
    return c;
}

/*
 * Take one used entry, if it is no lie. Indices and the free list live in `t`, so that a batch keeps them in
 * registers; whole is written back by the caller. NULL, or the lie.
 */
struct taker {
    struct vq_chain *chains;
    uint32_t size;
    uint16_t free_head, freed; /* freed: descriptors given back so far */
};

static inline const char *take_one(struct taker *t, const struct vring_used_elem *e,
                                   struct vq_done *done)
{
    const uint32_t id = shared_load32(&e->id);
    uint32_t len = shared_load32(&e->len);

    if (__builtin_expect(id >= t->size, 0))
        return "used id out of range";
    struct vq_chain *const c = &t->chains[id];
    struct vq_chain *last = c;
    if (__builtin_expect(c->desc_count != 1, 0)) {
        if (c->desc_count == 0)
            return "used id that is not posted";
        last = chain_end(t->chains, c);
    }
    if (__builtin_expect(len > c->in_len, 0)) {
        if (c->in_len)
            return "used length beyond the buffer";
        len = 0; /* a chain that it only read: the number means nothing */
    }
    done->cookie = c->cookie;
    done->len = len;
    last->next = t->free_head;
    t->free_head = (uint16_t)id;
    t->freed = (uint16_t)(t->freed + c->desc_count);
    c->desc_count = 0;
    return NULL;
}

static __attribute__((noinline)) unsigned take_packed(struct virtqueue *vq, struct vq_done *done,
                                                      unsigned max)
{
    const char *lie = NULL;

    if (vq->broken)
        return 0;
    make_up_for_kick(vq);
    const unsigned taken = vq_packed_take(vq, done, max, &lie);
    if (lie)
        lied(vq, lie);
    return taken;
}

unsigned vq_take_batch(struct virtqueue *vq, struct vq_done *done, unsigned max)
{
    unsigned count = (uint16_t)(vq->used_seen - vq->used_idx);

    if (count == 0) { /* as always with a packed ring, which has no index to look ahead by */
        if (__builtin_expect(vq->packed, 0))
            return take_packed(vq, done, max);
        count = look_for_more(vq);
    }
    if (count > max)
        count = max;
    if (count == 0)
        return 0;

    struct taker t = {vq->chains, vq->size, vq->free_head, 0};
    const struct vring_used_elem *const ring = vq->used->ring;
    const uint32_t mask = vq->mask;
    const char *lie = NULL;
    unsigned taken = 0, at = vq->used_idx;
    do {
        lie = take_one(&t, &ring[at & mask], &done[taken]);
        if (__builtin_expect(lie != NULL, 0))
            break;
        at++;
        taken++;
    } while (taken < count);

    vq->used_idx = (uint16_t)at;
    vq->free_head = t.free_head;
    vq->free_count = (uint16_t)(vq->free_count + t.freed);
    if (__builtin_expect(lie != NULL, 0))
        lied(vq, lie);
    return taken;
}

int vq_take(struct virtqueue *vq, struct vq_done *done)
{
    if (vq_take_batch(vq, done, 1))
        return 0;
    return vq->broken ? -EPROTO : -EAGAIN;
}

bool vq_pending(const struct virtqueue *vq)
{
    if (vq->broken)
        return false;
    return vq->packed ? vq_packed_pending(vq) : shared_load16(&vq->used->idx) != vq->used_idx;
}

/* ---- notifications, both ways ------------------------------------------------------------ */

/* avail_event: behind the used ring; the device's word on when it wants a kick. */
static inline uint16_t avail_event(const struct virtqueue *vq)
{
    return shared_load16((const le16 *)(const void *)&vq->used->ring[vq->size]);
}

/* used_event: behind the avail ring; our word on when we want an interrupt. */
static inline void set_used_event(struct virtqueue *vq, uint16_t idx)
{
    shared_store16(&vq->avail->ring[vq->size], idx);
}

/* Did [from, to) pass `event`? Distances, not values: both may have wrapped (§2.7.10.1). */
static inline bool event_passed(uint16_t event, uint16_t from, uint16_t to)
{
    return (uint16_t)(to - event - 1) < (uint16_t)(to - from);
}

static bool kick_wanted(const struct virtqueue *vq, uint16_t from, uint16_t to)
{
    return vq->event_idx ? event_passed(avail_event(vq), from, to)
                         : !(shared_load16(&vq->used->flags) & VRING_USED_NO_NOTIFY);
}

static void notify(struct virtqueue *vq)
{
    vq->kick_saved = false;
    vq->kicks++;
    vq->dev->transport->notify(vq->dev, vq->queue_idx);
}

void vq_kick(struct virtqueue *vq)
{
    const uint16_t from = vq->kicked_idx, to = vq->avail_idx;

    if (from == to || vq->broken)
        return;
    vq->kicked_idx = to;
    /* B: avail.idx is visible before we ask whether the device still looks at it. */
    shared_barrier();
    if (vq->packed ? vq_packed_kick_wanted(vq) : kick_wanted(vq, from, to)) {
        notify(vq);
    } else {
        vq->kick_saved = true;
        vq->kicks_saved++;
    }
}

/* In order, "wants to hear of the next one" is an event from the first that isn't done. */
static bool kick_overdue(const struct virtqueue *vq)
{
    const uint16_t done = shared_load16(&vq->used->idx);

    return done != vq->kicked_idx && kick_wanted(vq, done, vq->kicked_idx);
}

void vq_kick_overdue(struct virtqueue *vq)
{
    if (!vq->kick_saved || vq->broken)
        return;
    if (vq->packed ? vq_packed_kick_overdue(vq) : kick_overdue(vq)) {
        vq->kicks_overdue++;
        notify(vq);
    }
}

void vq_kick_again(struct virtqueue *vq)
{
    if (!vq->broken)
        notify(vq);
}

bool vq_irq_enable(struct virtqueue *vq, uint16_t after)
{
    if (vq->broken)
        return false;
    if (vq->packed)
        return vq_packed_irq_enable(vq, after);
    if (!vq->event_idx || after == 0)
        after = 1;
    else if (after > vq_posted_count(vq))
        after = vq_posted_count(vq) ? vq_posted_count(vq) : 1;

    if (vq->event_idx)
        set_used_event(vq, (uint16_t)(vq->used_idx + after - 1));
    else
        shared_store16(&vq->avail->flags, 0);
    /* D: the wish is visible before the last look, so what completes after that look interrupts. */
    shared_barrier();
    return (uint16_t)(shared_load16(&vq->used->idx) - vq->used_idx) >= after;
}

void vq_irq_disable(struct virtqueue *vq)
{
    if (vq->broken)
        return;
    if (vq->packed) {
        vq_packed_irq_disable(vq);
        return;
    }
    /* With EVENT_IDX flags must stay 0 (§2.7.7.1): an event just passed is 65,535 buffers away. */
    if (vq->event_idx)
        set_used_event(vq, (uint16_t)(vq->used_idx - 1));
    else
        shared_store16(&vq->avail->flags, VRING_AVAIL_NO_INTERRUPT);
}
