/*
 * The packed ring by the device: virtio 1.2 §2.8, honest or lying. fake_vdev.c comes here once RING_PACKED was accepted.
 *
 * Slots and wrap counters are kept as one number, 0 … 2 × size - 1, whose upper half is the lap with wrap counter 0.
 */
#include <string.h>

#include "drivers/virtio_net/spec.h"
#include "tests/fake/fake_vdev.h"

enum {
    AVAIL = VRING_PACKED_AVAIL,
    USED = VRING_PACKED_USED,
    KNOWN_FLAGS = VRING_DESC_NEXT | VRING_DESC_WRITE | VRING_DESC_INDIRECT | AVAIL | USED,
};

static unsigned after(const struct fake_queue *q, unsigned place, unsigned slots)
{
    return (place + slots) % (2u * q->size);
}

static bool wrap_of(const struct fake_queue *q, unsigned place)
{
    return place < q->size;
}

static struct vring_packed_desc *at(const struct fake_queue *q, unsigned place)
{
    return &q->packed.desc[place % q->size];
}

static uint16_t load_flags(const struct fake_queue *q, unsigned place)
{
    return __atomic_load_n(&at(q, place)->flags.raw, __ATOMIC_ACQUIRE);
}

static bool is_avail(const struct fake_queue *q, unsigned place)
{
    const unsigned flags = load_flags(q, place);
    const bool wrap = wrap_of(q, place);

    return !(flags & AVAIL) != wrap && !(flags & USED) == wrap;
}

void fake_packed_setup(struct fake_vdev *v, struct fake_queue *q,
                       const struct virtio_queue_mem *mem)
{
    q->packed.desc = (struct vring_packed_desc *)(uintptr_t)mem->desc;
    q->packed.driver_event = (union vring_packed_event *)(uintptr_t)mem->driver;
    q->packed.device_event = (union vring_packed_event *)(uintptr_t)mem->device;
    if (mem->size > FAKE_PACKED_MAX)
        fake_violation(v, "a packed ring larger than the fake can hold");
    if ((mem->desc & 15) || (mem->driver & 3) || (mem->device & 3))
        fake_violation(v, "ring parts are not aligned (§2.8)");
    for (unsigned i = 0; i < mem->size; i++)
        if (q->packed.desc[i].flags.raw)
            fake_violation(v, "the ring is not zeroed");
    if (q->packed.driver_event->both.raw || q->packed.device_event->both.raw)
        fake_violation(v, "the event words are not zeroed");
}

unsigned fake_packed_avail_count(const struct fake_queue *q)
{
    unsigned place = q->packed.avail, seen = 0, count = 0;

    while (seen < q->size && is_avail(q, place)) {
        bool more = true;
        for (; more && seen < q->size; seen++) {
            more = load_flags(q, place) & VRING_DESC_NEXT;
            place = after(q, place, 1);
        }
        count++;
    }
    return count;
}

/* Read the chain at the next place; returns its slots. */
static unsigned read_chain(struct fake_vdev *v, struct fake_queue *q, struct fake_chain *c)
{
    for (unsigned n = 0; n < q->size; n++) {
        const unsigned place = after(q, q->packed.avail, n);
        const struct vring_packed_desc *d = at(q, place);
        const unsigned flags = load_flags(q, place);

        if (!is_avail(q, place))
            fake_violation(v, "a chain goes on in a slot that is not available (§2.8.21)");
        if (flags & (unsigned)~KNOWN_FLAGS)
            fake_violation(v, "reserved flags in a descriptor (§2.8.13)");
        if (flags & VRING_DESC_INDIRECT)
            fake_violation(v, "the fake knows no indirect tables in a packed ring");
        fake_add_iov(v, c, d->addr.raw, d->len.raw, flags & VRING_DESC_WRITE);
        c->head = d->id.raw; /* the last one's counts (§2.8.6) */
        if (!(flags & VRING_DESC_NEXT))
            return n + 1;
    }
    fake_violation(v, "a chain longer than the ring (§2.8.7)");
    return q->size;
}

static uint16_t off_wrap(const struct fake_queue *q, unsigned place)
{
    return (uint16_t)(place % q->size | (wrap_of(q, place) ? VRING_PACKED_WRAP : 0u));
}

/* With EVENT_IDX: the next one, please. */
static void name_next(struct fake_queue *q)
{
    q->packed.device_event->off_wrap.raw = off_wrap(q, q->packed.avail);
    __atomic_store_n(&q->packed.device_event->flags.raw, VRING_PACKED_EVENT_DESC, __ATOMIC_RELEASE);
}

bool fake_packed_pop(struct fake_vdev *v, struct fake_queue *q, struct fake_chain *c)
{
    if (!q->size || !is_avail(q, q->packed.avail))
        return false;
    *c = (struct fake_chain){0};
    const unsigned slots = read_chain(v, q, c);
    if (c->head >= q->size || q->packed.held[c->head].slots) {
        fake_violation(v, "a buffer id beyond the ring, or of a buffer that is out already");
        return false;
    }
    q->packed.held[c->head].slots = (uint16_t)slots;
    q->packed.held[c->head].in_len = (uint32_t)c->in_len;
    q->packed.avail = after(q, q->packed.avail, slots);
    q->in_flight++;
    if (!q->no_notify && fake_has(v, VNET_F_EVENT_IDX))
        name_next(q);
    return true;
}

/* Write a used descriptor; the first one of a batch shows only when it is published. */
static void put_used(struct fake_queue *q, uint32_t id, uint32_t len, unsigned slots)
{
    const unsigned place = q->packed.used;
    const uint16_t flags = wrap_of(q, place) ? AVAIL | USED : 0;
    struct vring_packed_desc *d = at(q, place);

    d->id.raw = (uint16_t)id;
    d->len.raw = len;
    if (place == q->packed.told)
        q->packed.told_flags = flags;
    else
        d->flags.raw = flags;
    q->packed.used = after(q, place, slots);
}

/* An id that the driver has posted nothing under, provided that all it has posted was popped. */
static uint32_t id_not_posted(const struct fake_queue *q)
{
    for (uint16_t id = 0; id < q->size; id++)
        if (!q->packed.held[id].slots)
            return id;
    return q->size - 1u;
}

void fake_packed_push(struct fake_vdev *v, struct fake_queue *q, uint16_t id, uint32_t len)
{
    const unsigned slots = q->packed.held[id].slots;
    const uint32_t in_len = q->packed.held[id].in_len;

    if (q->in_flight)
        q->in_flight--;
    if (fake_lie(v, FAKE_USED_ID_OUT_OF_RANGE))
        put_used(q, q->size, len, slots);
    else if (fake_lie(v, FAKE_USED_ID_NOT_POSTED))
        put_used(q, id_not_posted(q), len, slots);
    else if (fake_lie(v, FAKE_LEN_PAST_CHAIN))
        put_used(q, id, in_len + 1, slots);
    else if (fake_lie(v, FAKE_LEN_ALL_ONES))
        put_used(q, id, UINT32_MAX, slots);
    else
        put_used(q, id, len, slots);
    q->packed.held[id].slots = 0;

    if (fake_lie(v, FAKE_COMPLETED_TWICE))
        put_used(q, id, len, slots);
    if (fake_lie(v, FAKE_DESC_REWRITTEN)) {
        memset(q->packed.desc, 0xff, sizeof(*q->packed.desc) * q->size);
        q->packed.told_flags = UINT16_MAX;
    }
}

/* What §2.8.10 lets a driver write. */
static void check_word(struct fake_vdev *v, const struct fake_queue *q, unsigned flags,
                       unsigned slot)
{
    if (flags > VRING_PACKED_EVENT_DESC)
        fake_violation(v, "reserved flags in the driver's event word (§2.8.14)");
    if (flags != VRING_PACKED_EVENT_DESC)
        return;
    if (!fake_has(v, VNET_F_EVENT_IDX))
        fake_violation(v, "an event by descriptor without EVENT_IDX (§2.8.10)");
    if (slot >= q->size)
        fake_violation(v, "an event beyond the ring (§2.8.10)");
}

bool fake_packed_publish(struct fake_vdev *v, struct fake_queue *q)
{
    const unsigned from = q->packed.told, to = q->packed.used;

    if (from == to)
        return false;
    __atomic_store_n(&at(q, from)->flags.raw, q->packed.told_flags, __ATOMIC_RELEASE);
    q->packed.told = to;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);

    const uint16_t flags = __atomic_load_n(&q->packed.driver_event->flags.raw, __ATOMIC_ACQUIRE);
    const uint16_t event = q->packed.driver_event->off_wrap.raw;
    check_word(v, q, flags, event & (VRING_PACKED_WRAP - 1u));
    if (flags != VRING_PACKED_EVENT_DESC)
        return flags == VRING_PACKED_EVENT_ENABLE;
    for (unsigned p = from; p != to; p = after(q, p, 1)) /* the slow and obvious way */
        if (off_wrap(q, p) == event)
            return true;
    return false;
}

void fake_packed_want_kicks(struct fake_vdev *v, struct fake_queue *q, bool want)
{
    if (want && fake_has(v, VNET_F_EVENT_IDX))
        name_next(q);
    else
        q->packed.device_event->flags.raw =
            want ? VRING_PACKED_EVENT_ENABLE : VRING_PACKED_EVENT_DISABLE;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
