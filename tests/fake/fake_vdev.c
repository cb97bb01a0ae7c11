/* The device side of virtio-net, honest or lying. See fake_vdev.h. */
#include "tests/fake/fake_vdev.h"

#include <errno.h>
#include <string.h>

enum {
    ST_ACKNOWLEDGE = 1,
    ST_DRIVER = 2,
    ST_DRIVER_OK = 4,
    ST_FEATURES_OK = 8,
    ST_FAILED = 128,
    F_INDIRECT = 28,
    F_EVENT_IDX = 29,
    F_PACKED = 34,
};

static struct fake_vdev *self(struct virtio_dev *dev)
{
    return CONTAINER_OF(dev, struct fake_vdev, dev);
}

void fake_violation(struct fake_vdev *v, const char *what)
{
    v->violations++;
    v->violation = what;
}

/* True once: when this lie is due. */
bool fake_lie(struct fake_vdev *v, enum fake_fault fault)
{
    if (v->fault != fault || v->fault_told)
        return false;
    if (v->fault_after) {
        v->fault_after--;
        return false;
    }
    v->fault_told = true;
    return true;
}

/* ---- transport --------------------------------------------------------------------------- */

static uint8_t get_status(struct virtio_dev *dev)
{
    struct fake_vdev *v = self(dev);

    if (v->fault == FAKE_GONE)
        return 0xff;
    if (v->fault == FAKE_GONE_ZERO)
        return 0;
    if (v->fault == FAKE_RESET_NEVER_ENDS && v->status == 0)
        return ST_DRIVER_OK;
    if (v->status == 0 && v->reset_left) {
        v->reset_left--;
        return ST_DRIVER_OK;
    }
    return v->status;
}

static void reset(struct fake_vdev *v)
{
    v->status = 0;
    v->features = 0;
    v->lost = false;
    v->ctrl.count = 0;
    v->ctrl.pairs = 1;
    for (unsigned i = 0; i < FAKE_QUEUES; i++) {
        const uint16_t offered = v->queue[i].offered_size;
        v->queue[i] = (struct fake_queue){.offered_size = offered};
    }
}

static void set_status(struct virtio_dev *dev, uint8_t status)
{
    struct fake_vdev *v = self(dev);

    if (status == 0) {
        reset(v);
        v->resets++;
        v->reset_left = v->reset_reads;
        return;
    }
    if (v->status == 0 && v->reset_left)
        fake_violation(v, "the driver went on before the reset had ended (§2.4.2)");
    if (v->status & ~status)
        fake_violation(v, "a status bit was cleared without reset (§2.1.1)");
    if ((status & ST_DRIVER_OK) && !(status & ST_FEATURES_OK) && !v->transport.legacy)
        fake_violation(v, "DRIVER_OK before FEATURES_OK (§3.1.1)");
    if (v->fault == FAKE_FEATURES_REFUSED)
        status &= (uint8_t)~ST_FEATURES_OK;
    v->status = status;
}

static uint64_t get_features(struct virtio_dev *dev)
{
    return self(dev)->dev.offered;
}

static void set_features(struct virtio_dev *dev, uint64_t features)
{
    struct fake_vdev *v = self(dev);

    if (features & ~v->dev.offered)
        fake_violation(v, "a feature was accepted that was not offered (§2.2.1)");
    if (v->status & ST_FEATURES_OK)
        fake_violation(v, "features written after FEATURES_OK (§3.1.1)");
    v->features = features;
}

static uint32_t config_generation(struct virtio_dev *dev)
{
    struct fake_vdev *v = self(dev);

    if (v->fault == FAKE_CONFIG_NEVER_SETTLES)
        v->generation++;
    return v->generation;
}

static int config_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    struct fake_vdev *v = self(dev);

    if (offset > v->config_len || len > v->config_len - offset)
        return -ERANGE;
    memcpy(buf, v->config + offset, len);
    return 0;
}

static uint16_t queue_max_size(struct virtio_dev *dev, uint16_t idx)
{
    struct fake_vdev *v = self(dev);

    switch (v->fault) {
    case FAKE_QUEUE_SIZE_ZERO:
        return 0;
    case FAKE_QUEUE_SIZE_ODD:
        return 255;
    case FAKE_QUEUE_SIZE_HUGE:
        return 65535;
    default:
        return idx < FAKE_QUEUES ? v->queue[idx].offered_size : 0;
    }
}

static int queue_setup(struct virtio_dev *dev, uint16_t idx, const struct virtio_queue_mem *mem,
                       uint16_t vector)
{
    struct fake_vdev *v = self(dev);
    struct fake_queue *q = &v->queue[idx];

    if (v->fault == FAKE_QUEUE_REFUSED)
        return -EIO;
    if (idx >= FAKE_QUEUES || mem->size > q->offered_size ||
        (!fake_has(v, F_PACKED) && (mem->size & (mem->size - 1))))
        fake_violation(v, "queue set up with an impossible size (§4.1.5.1.3)");
    if (v->transport.legacy && mem->size != q->offered_size)
        fake_violation(v, "a legacy queue's size can't be chosen (§4.1.5.1.3)");
    if (!fake_has(v, F_PACKED) && ((mem->desc & 15) || (mem->driver & 1) || (mem->device & 3)))
        fake_violation(v, "ring parts are not aligned (§2.7)");
    if (v->transport.legacy) {
        const struct vring_layout l = vring_layout(mem->size, true);
        if ((mem->desc & 4095) || mem->driver != mem->desc + l.avail ||
            mem->device != mem->desc + l.used)
            fake_violation(v, "the parts are not laid out as legacy wants (§2.7.2)");
    }
    if (v->status & ST_DRIVER_OK)
        fake_violation(v, "queue set up after DRIVER_OK (§3.1.1)");
    q->size = mem->size;
    q->vector = vector;
    if (fake_has(v, F_PACKED)) {
        fake_packed_setup(v, q, mem);
        return 0;
    }
    q->desc = (struct vring_desc *)(uintptr_t)mem->desc;
    q->avail = (struct vring_avail *)(uintptr_t)mem->driver;
    q->used = (struct vring_used *)(uintptr_t)mem->device;
    if (q->avail->idx.raw || q->used->idx.raw || q->used->flags.raw)
        fake_violation(v, "the rings are not zeroed");
    return 0;
}

static void notify(struct virtio_dev *dev, uint16_t idx)
{
    struct fake_vdev *v = self(dev);

    if (!(v->status & ST_DRIVER_OK) && !v->lost)
        fake_violation(v, "notification before DRIVER_OK (§3.1.1)");
    v->queue[idx].kicks++;
}

static uint8_t read_isr(struct virtio_dev *dev)
{
    (void)dev;
    return 1;
}

static int config_vector(struct virtio_dev *dev, uint16_t vector)
{
    (void)dev;
    (void)vector;
    return 0;
}

static bool is_present(struct virtio_dev *dev)
{
    return self(dev)->fault != FAKE_GONE_ZERO;
}

void fake_vdev_init(struct fake_vdev *v, uint64_t features, uint16_t size, bool legacy)
{
    static const uint8_t mac[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};

    *v = (struct fake_vdev){
        .transport = {.name = legacy ? "legacy" : "modern",
                      .legacy = legacy,
                      .get_status = get_status,
                      .set_status = set_status,
                      .get_features = get_features,
                      .set_features = set_features,
                      .config_generation = config_generation,
                      .config_read = config_read,
                      .queue_max_size = queue_max_size,
                      .queue_setup = queue_setup,
                      .notify = notify,
                      .read_isr = read_isr,
                      .config_vector = config_vector,
                      .is_present = is_present},
        .dev = {.device_id = 1, .offered = features, .irqs = "intx", .where = "fake"},
        .config_len = FAKE_CONFIG_BYTES,
    };
    v->dev.transport = &v->transport;
    for (unsigned i = 0; i < FAKE_QUEUES; i++)
        v->queue[i].offered_size = size;
    memcpy(v->config, mac, sizeof(mac));
    v->config[6] = 1;            /* status: link up */
    v->config[8] = 1;            /* max_virtqueue_pairs */
    v->config[10] = 1500 & 0xff; /* mtu */
    v->config[11] = 1500 >> 8;
}

void fake_lose_state(struct fake_vdev *v)
{
    reset(v);
    v->lost = true;
}

void fake_config_set(struct fake_vdev *v, uint32_t offset, const void *bytes, uint32_t len)
{
    memcpy(v->config + offset, bytes, len);
    v->generation++;
}

/* ---- rings ------------------------------------------------------------------------------- */

static le16 *used_event(const struct fake_queue *q)
{
    return &q->avail->ring[q->size];
}

static le16 *avail_event(const struct fake_queue *q)
{
    return (le16 *)(void *)&q->used->ring[q->size];
}

static uint16_t load_avail_idx(const struct fake_queue *q)
{
    return __atomic_load_n(&q->avail->idx.raw, __ATOMIC_ACQUIRE);
}

unsigned fake_avail_count(const struct fake_vdev *v, uint16_t queue_idx)
{
    const struct fake_queue *q = &v->queue[queue_idx];

    if (q->size && fake_has(v, F_PACKED))
        return fake_packed_avail_count(q);
    return q->size ? (uint16_t)(load_avail_idx(q) - q->avail_seen) : 0;
}

void fake_add_iov(struct fake_vdev *v, struct fake_chain *c, uint64_t addr, uint32_t len,
                  bool writable)
{
    if (c->count == FAKE_CHAIN_MAX) {
        fake_violation(v, "chain longer than the fake can hold");
        return;
    }
    if (!len)
        fake_violation(v, "empty segment");
    c->iov[c->count++] = (struct fake_iov){(uint8_t *)(uintptr_t)addr, len, writable};
    if (writable) {
        c->in_len += len;
        return;
    }
    if (c->in_len)
        fake_violation(v, "a readable segment behind a writable one (§2.7.4.2)");
    c->out_count++;
    c->out_len += len;
}

static void add_iov(struct fake_vdev *v, struct fake_chain *c, const struct vring_desc *d)
{
    fake_add_iov(v, c, d->addr.raw, d->len.raw, d->flags.raw & VRING_DESC_WRITE);
}

static void walk_table(struct fake_vdev *v, struct fake_chain *c, const struct fake_queue *q,
                       const struct vring_desc *d)
{
    const struct vring_desc *table = (const struct vring_desc *)(uintptr_t)d->addr.raw;
    const unsigned entries = d->len.raw / (unsigned)sizeof(*table);

    if (!fake_has(v, F_INDIRECT))
        fake_violation(v, "indirect without negotiation (§2.7.5.3.1)");
    if (d->flags.raw & VRING_DESC_NEXT)
        fake_violation(v, "INDIRECT together with NEXT (§2.7.5.3.1)");
    if (d->len.raw % sizeof(*table) || entries > q->size || !entries)
        fake_violation(v, "indirect table of a wrong size (§2.7.5.3.1)");
    c->indirect = true;
    for (unsigned i = 0, n = 0; n < entries; n++) {
        if (table[i].flags.raw & VRING_DESC_INDIRECT)
            fake_violation(v, "nested indirect table (§2.7.5.3.1)");
        add_iov(v, c, &table[i]);
        if (!(table[i].flags.raw & VRING_DESC_NEXT))
            return;
        i = table[i].next.raw;
        if (i >= entries) {
            fake_violation(v, "a link leaves its indirect table");
            return;
        }
    }
    fake_violation(v, "indirect table without an end");
}

static bool read_chain(struct fake_vdev *v, const struct fake_queue *q, struct fake_chain *c)
{
    uint16_t at = c->head;

    for (unsigned n = 0; n < q->size; n++) {
        const struct vring_desc *d = &q->desc[at];
        if (d->flags.raw & VRING_DESC_INDIRECT) {
            walk_table(v, c, q, d);
            return true;
        }
        add_iov(v, c, d);
        if (!(d->flags.raw & VRING_DESC_NEXT))
            return true;
        at = d->next.raw;
        if (at >= q->size)
            return false;
    }
    return false;
}

bool fake_pop(struct fake_vdev *v, uint16_t queue_idx, struct fake_chain *c)
{
    struct fake_queue *q = &v->queue[queue_idx];

    if (fake_has(v, F_PACKED))
        return fake_packed_pop(v, q, c);
    if (!fake_avail_count(v, queue_idx))
        return false;
    if (fake_avail_count(v, queue_idx) + q->in_flight > q->size)
        fake_violation(v, "more chains available than the queue has entries");
    if (fake_has(v, F_EVENT_IDX) && q->avail->flags.raw)
        fake_violation(v, "avail.flags is not 0 with EVENT_IDX (§2.7.7.1)");
    if (q->avail->flags.raw > 1)
        fake_violation(v, "avail.flags other than 0 and 1 (§2.7.7.1)");

    *c = (struct fake_chain){.head = q->avail->ring[q->avail_seen % q->size].raw};
    q->avail_seen++;
    q->in_flight++;
    if (!q->no_notify && fake_has(v, F_EVENT_IDX))
        avail_event(q)->raw = q->avail_seen; /* the next one, please */
    if (!read_chain(v, q, c))
        fake_violation(v, "a chain that loops or leaves the table (§2.7.5)");
    return true;
}

/* Bytes that the device may write to a chain. */
static uint32_t writable_len(struct fake_vdev *v, const struct fake_queue *q, uint16_t head)
{
    struct fake_chain c = {.head = head};

    read_chain(v, q, &c);
    return (uint32_t)c.in_len;
}

static void put_used(struct fake_queue *q, uint32_t id, uint32_t len)
{
    struct vring_used_elem *e = &q->used->ring[q->used_idx % q->size];

    e->id.raw = id;
    e->len.raw = len;
    q->used_idx++;
}

/* A descriptor that is no head of a posted chain, if there is one. */
static uint32_t id_not_posted(const struct fake_queue *q)
{
    for (uint16_t id = 0; id < q->size; id++) {
        bool posted = false;
        for (uint16_t i = 1; i <= q->size && i <= q->avail_seen; i++)
            posted |= q->avail->ring[(uint16_t)(q->avail_seen - i) % q->size].raw == id;
        if (!posted)
            return id;
    }
    return q->size - 1u;
}

void fake_push_silent(struct fake_vdev *v, uint16_t queue_idx, uint16_t head, uint32_t len)
{
    struct fake_queue *q = &v->queue[queue_idx];

    if (fake_has(v, F_PACKED)) {
        fake_packed_push(v, q, head, len);
        return;
    }
    if (q->in_flight)
        q->in_flight--;
    if (fake_lie(v, FAKE_USED_ID_OUT_OF_RANGE))
        put_used(q, q->size, len);
    else if (fake_lie(v, FAKE_USED_ID_NOT_POSTED))
        put_used(q, id_not_posted(q), len);
    else if (fake_lie(v, FAKE_USED_ID_NOT_A_HEAD))
        put_used(q, q->desc[head].next.raw, len);
    else if (fake_lie(v, FAKE_LEN_PAST_CHAIN))
        put_used(q, head, writable_len(v, q, head) + 1);
    else if (fake_lie(v, FAKE_LEN_ALL_ONES))
        put_used(q, head, UINT32_MAX);
    else
        put_used(q, head, len);

    if (fake_lie(v, FAKE_COMPLETED_TWICE))
        put_used(q, head, len);
    if (fake_lie(v, FAKE_USED_IDX_JUMPS))
        q->used_idx = (uint16_t)(q->used_idx + 0x7000);
    if (fake_lie(v, FAKE_USED_IDX_JUMPS_BY_1))
        q->used_idx = (uint16_t)(load_avail_idx(q) + 1);
    if (fake_lie(v, FAKE_USED_IDX_BACKWARDS))
        q->used_idx = (uint16_t)(q->used_idx - 0x100); /* no later completion hides it */
    if (fake_lie(v, FAKE_DESC_REWRITTEN))
        memset(q->desc, 0xff, sizeof(*q->desc) * q->size);
}

static bool event_crossed(uint16_t event, uint16_t from, uint16_t to)
{
    for (uint16_t i = from; i != to; i++) /* the slow and obvious way, to check the quick one */
        if (i == event)
            return true;
    return false;
}

/* Show the driver what was used; true when it wants to be interrupted for it. */
static bool publish_split(struct fake_vdev *v, struct fake_queue *q)
{
    const uint16_t from = q->irq_idx;

    __atomic_store_n(&q->used->idx.raw, q->used_idx, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    q->irq_idx = q->used_idx;
    return fake_has(v, F_EVENT_IDX) ? event_crossed(used_event(q)->raw, from, q->used_idx)
                                    : !(q->avail->flags.raw & VRING_AVAIL_NO_INTERRUPT);
}

void fake_publish(struct fake_vdev *v, uint16_t queue_idx)
{
    struct fake_queue *q = &v->queue[queue_idx];

    if (!(fake_has(v, F_PACKED) ? fake_packed_publish(v, q) : publish_split(v, q)))
        return;
    q->irqs++;
    if (v->irq)
        v->irq(v->irq_arg, queue_idx);
}

void fake_push(struct fake_vdev *v, uint16_t queue_idx, uint16_t head, uint32_t len)
{
    fake_push_silent(v, queue_idx, head, len);
    fake_publish(v, queue_idx);
}

void fake_want_kicks(struct fake_vdev *v, uint16_t queue_idx, bool want)
{
    struct fake_queue *q = &v->queue[queue_idx];

    q->no_notify = !want;
    if (fake_has(v, F_PACKED))
        fake_packed_want_kicks(v, q, want);
    else if (fake_has(v, F_EVENT_IDX))
        avail_event(q)->raw = (uint16_t)(want ? q->avail_seen : q->avail_seen - 1);
    else
        q->used->flags.raw = want ? 0 : VRING_USED_NO_NOTIFY;
}
