/* Registers of a virtio-mmio device, honest or lying. See fake_mmio.h. */
#include "tests/fake/fake_mmio.h"

#include "tests/host/support/bus.h"
#include "tests/host/support/irq.h"

/* Written out, so that the driver's own list is checked against them. */
enum {
    MAGIC = 0x000,
    VERSION = 0x004,
    DEVICE_ID = 0x008,
    VENDOR_ID = 0x00c,
    DEVICE_FEATURES = 0x010,
    DEVICE_FEATURES_SEL = 0x014,
    DRIVER_FEATURES = 0x020,
    DRIVER_FEATURES_SEL = 0x024,
    GUEST_PAGE_SIZE = 0x028,
    QUEUE_SEL = 0x030,
    QUEUE_NUM_MAX = 0x034,
    QUEUE_NUM = 0x038,
    QUEUE_ALIGN = 0x03c,
    QUEUE_PFN = 0x040,
    QUEUE_READY = 0x044,
    QUEUE_NOTIFY = 0x050,
    INTERRUPT_STATUS = 0x060,
    INTERRUPT_ACK = 0x064,
    STATUS = 0x070,
    QUEUE_DESC = 0x080,
    QUEUE_DEVICE_END = 0x0a8,
    CONFIG_GENERATION = 0x0fc,
    CONFIG = 0x100,
    PAGE = 4096,
    MODERN = 2,
};

static struct fake_mmio_queue *selected(struct fake_mmio *m)
{
    return m->queue_sel < FAKE_QUEUES ? &m->queue[m->queue_sel] : NULL;
}

static uint32_t queue_num_max(struct fake_mmio *m)
{
    if (m->fault == FAKE_MMIO_MAX_HUGE)
        return 65536 + 64;
    return m->vdev.transport.queue_max_size(&m->vdev.dev, (uint16_t)m->queue_sel);
}

/* Registers that only one version has. */
static bool belongs(const struct fake_mmio *m, uint64_t offset)
{
    switch (offset) {
    case GUEST_PAGE_SIZE:
    case QUEUE_ALIGN:
    case QUEUE_PFN:
        return m->version != MODERN;
    case QUEUE_READY:
    case CONFIG_GENERATION:
        return m->version == MODERN;
    default:
        return offset < QUEUE_DESC || m->version == MODERN;
    }
}

static uint32_t queue_in_use(struct fake_mmio *m, uint64_t offset)
{
    const struct fake_mmio_queue *q = selected(m);

    if (m->fault == FAKE_MMIO_QUEUE_BUSY)
        return 1;
    return !q ? 0 : offset == QUEUE_PFN ? q->pfn : q->ready;
}

static uint32_t interrupt_status(const struct fake_mmio *m)
{
    return m->fault == FAKE_MMIO_STATUS_ONES ? UINT32_MAX : m->interrupt_status;
}

static uint32_t reg_read(struct fake_mmio *m, uint64_t offset)
{
    const struct virtio_transport *t = &m->vdev.transport;
    struct virtio_dev *dev = &m->vdev.dev;

    switch (offset) {
    case MAGIC:
        return m->fault == FAKE_MMIO_NO_MAGIC ? 0x12345678 : 0x74726976;
    case VERSION:
        return m->version;
    case DEVICE_ID:
        return m->device_id;
    case VENDOR_ID:
        return 0x1af4;
    case DEVICE_FEATURES:
        return m->device_features_sel > 1
                   ? 0
                   : (uint32_t)(t->get_features(dev) >> 32 * m->device_features_sel);
    case QUEUE_NUM_MAX:
        return queue_num_max(m);
    case QUEUE_PFN:
    case QUEUE_READY:
        return queue_in_use(m, offset);
    case INTERRUPT_STATUS:
        return interrupt_status(m);
    case STATUS:
        return t->get_status(dev);
    case CONFIG_GENERATION:
        return t->config_generation(dev);
    default:
        fake_violation(&m->vdev, "a write-only register was read");
        return 0;
    }
}

static uint32_t config_read(struct fake_mmio *m, uint64_t offset, unsigned bytes)
{
    uint32_t value = 0;

    m->config_reads++;
    m->vdev.transport.config_read(&m->vdev.dev, (uint32_t)offset, &value, bytes);
    return value;
}

static uint64_t address_of(const struct fake_mmio_queue *q, unsigned part)
{
    return q->address[2 * part] | (uint64_t)q->address[2 * part + 1] << 32;
}

static void enable(struct fake_mmio *m, const struct virtio_queue_mem *mem)
{
    struct fake_mmio_queue *q = selected(m);

    if (m->fault == FAKE_MMIO_QUEUE_NOT_READY)
        return;
    if (mem->size > queue_num_max(m) || mem->size == 0)
        fake_violation(&m->vdev, "QueueNum is larger than QueueNumMax (§4.2.2.2)");
    q->ready =
        m->vdev.transport.queue_setup(&m->vdev.dev, (uint16_t)m->queue_sel, mem, 0xffff) == 0;
}

static void ready_write(struct fake_mmio *m, uint32_t value)
{
    struct fake_mmio_queue *q = selected(m);

    if (!q || value != 1) {
        fake_violation(&m->vdev, "a queue was stopped, or one enabled that isn't there");
        return;
    }
    const struct virtio_queue_mem mem = {address_of(q, 0), address_of(q, 1), address_of(q, 2),
                                         (uint16_t)q->num};
    enable(m, &mem);
}

/* The page number says where all three parts lie (§2.7.2), and makes the queue live. */
static void pfn_write(struct fake_mmio *m, uint32_t pfn)
{
    struct fake_mmio_queue *q = selected(m);

    if (!q || q->align != PAGE || m->page_size != PAGE) {
        fake_violation(&m->vdev, "QueuePFN before page size and alignment (§4.2.4)");
        return;
    }
    const struct vring_layout l = vring_layout((uint16_t)q->num, true);
    const uint64_t at = (uint64_t)pfn * PAGE;
    const struct virtio_queue_mem mem = {at, at + l.avail, at + l.used, (uint16_t)q->num};
    enable(m, &mem);
    q->pfn = q->ready ? pfn : 0;
}

static void features_write(struct fake_mmio *m, uint32_t bits)
{
    const uint32_t shift = 32 * m->driver_features_sel;

    if (m->driver_features_sel > 1)
        return;
    m->driver_features &= ~((uint64_t)UINT32_MAX << shift);
    m->driver_features |= (uint64_t)bits << shift;
    m->vdev.transport.set_features(&m->vdev.dev, m->driver_features);
}

static void status_write(struct fake_mmio *m, uint32_t value)
{
    if (value > 0xff)
        fake_violation(&m->vdev, "Status has eight bits");
    if (value == 0) {
        for (unsigned i = 0; i < FAKE_QUEUES; i++)
            m->queue[i] = (struct fake_mmio_queue){0};
        m->interrupt_status = m->page_size = 0;
        m->driver_features = 0;
    }
    m->vdev.transport.set_status(&m->vdev.dev, (uint8_t)value);
}

static void ack_write(struct fake_mmio *m, uint32_t bits)
{
    if (bits & ~(interrupt_status(m) & 3u))
        fake_violation(&m->vdev, "an interrupt was acknowledged that was not seen (§4.2.2.2)");
    if (m->fault != FAKE_MMIO_LINE_STUCK)
        m->interrupt_status &= ~bits;
}

static void queue_write(struct fake_mmio *m, uint64_t offset, uint32_t value)
{
    struct fake_mmio_queue *q = selected(m);

    if (!q || q->ready) {
        fake_violation(&m->vdev, "a queue was changed that is in use, or isn't there (§4.2.2.2)");
        return;
    }
    if (offset == QUEUE_NUM)
        q->num = value;
    else if (offset == QUEUE_ALIGN)
        q->align = value;
    else /* two words for each part, 16 bytes apart */
        q->address[(offset - QUEUE_DESC) / 16 * 2 + (offset >> 2 & 1)] = value;
}

static void reg_write(struct fake_mmio *m, uint64_t offset, uint32_t value)
{
    switch (offset) {
    case DEVICE_FEATURES_SEL:
        m->device_features_sel = value;
        break;
    case DRIVER_FEATURES:
        features_write(m, value);
        break;
    case DRIVER_FEATURES_SEL:
        m->driver_features_sel = value;
        break;
    case GUEST_PAGE_SIZE:
        m->page_size = value;
        break;
    case QUEUE_SEL:
        m->queue_sel = value;
        break;
    case QUEUE_PFN:
        pfn_write(m, value);
        break;
    case QUEUE_READY:
        ready_write(m, value);
        break;
    case QUEUE_NOTIFY:
        m->vdev.transport.notify(&m->vdev.dev, (uint16_t)value);
        break;
    case INTERRUPT_ACK:
        ack_write(m, value);
        break;
    case STATUS:
        status_write(m, value);
        break;
    default:
        if (offset == QUEUE_NUM || offset == QUEUE_ALIGN ||
            (offset >= QUEUE_DESC && offset < QUEUE_DEVICE_END && offset % 16 < 8))
            queue_write(m, offset, value);
        else
            fake_violation(&m->vdev, "a read-only register was written");
    }
}

/* §4.2.2.2: the registers are accessed by 32 bits, aligned, and no others than the version's own. */
static bool wrong_access(struct fake_mmio *m, uint64_t offset, unsigned bytes)
{
    if (bytes == 4 && offset % 4 == 0 && belongs(m, offset))
        return false;
    fake_violation(&m->vdev, "a register was accessed by another width, or isn't of this version");
    return true;
}

static uint32_t bus_read(void *arg, uint64_t offset, unsigned bytes)
{
    struct fake_mmio *m = arg;

    if (offset >= CONFIG)
        return config_read(m, offset - CONFIG, bytes);
    return wrong_access(m, offset, bytes) ? UINT32_MAX : reg_read(m, offset);
}

static void bus_write(void *arg, uint64_t offset, unsigned bytes, uint32_t v)
{
    struct fake_mmio *m = arg;

    if (offset >= CONFIG)
        fake_violation(&m->vdev, "the configuration was written");
    else if (!wrong_access(m, offset, bytes))
        reg_write(m, offset, v);
}

static void interrupt(struct fake_mmio *m, uint32_t bit)
{
    m->interrupt_status |= bit;
    m->interrupts += host_irq_line(m->line) != 0;
}

static void queue_interrupt(void *arg, uint16_t queue_idx)
{
    (void)queue_idx;
    interrupt(arg, 1);
}

void fake_mmio_config_interrupt(struct fake_mmio *m)
{
    interrupt(m, 2);
}

void fake_mmio_init(struct fake_mmio *m, unsigned n, uint32_t version, uint64_t features,
                    uint16_t queue_size)
{
    static const struct host_bus_ops ops = {.read = bus_read, .write = bus_write};

    *m = (struct fake_mmio){.version = version,
                            .device_id = 1,
                            .base = FAKE_MMIO_BASE + (uint64_t)n * FAKE_MMIO_BYTES,
                            .line = FAKE_MMIO_LINE};
    fake_vdev_init(&m->vdev, features, queue_size, version != MODERN);
    m->vdev.irq = queue_interrupt;
    m->vdev.irq_arg = m;
    host_bus_attach(false, m->base, FAKE_MMIO_BYTES, &ops, m);
}
