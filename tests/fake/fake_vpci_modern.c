/* The modern register layout of the fake. See fake_vpci.h. virtio 1.2 §4.1.4.3. */
#include <stddef.h>

#include "tests/fake/fake_vpci.h"

enum {
    REGION = 0x1000,
    NOTIFY_FIRST = 5 /* queue 0's doorbell isn't the first: nobody promised */
};

/* Offsets of struct virtio_pci_common_cfg, written out, so that the driver's own struct is checked against them. */
enum {
    DEVICE_FEATURE_SELECT = 0x00,
    DEVICE_FEATURE = 0x04,
    DRIVER_FEATURE_SELECT = 0x08,
    DRIVER_FEATURE = 0x0c,
    CONFIG_VECTOR = 0x10,
    NUM_QUEUES = 0x12,
    DEVICE_STATUS = 0x14,
    CONFIG_GENERATION = 0x15,
    QUEUE_SELECT = 0x16,
    QUEUE_SIZE = 0x18,
    QUEUE_VECTOR = 0x1a,
    QUEUE_ENABLE = 0x1c,
    QUEUE_NOTIFY_OFF = 0x1e,
    QUEUE_DESC = 0x20,
    QUEUE_DRIVER = 0x28,
    QUEUE_DEVICE = 0x30,
    COMMON_BYTES = 0x38,
};

static unsigned field_width(uint64_t offset)
{
    if (offset < CONFIG_VECTOR || (offset >= QUEUE_DESC && offset < COMMON_BYTES))
        return 4;
    return offset == DEVICE_STATUS || offset == CONFIG_GENERATION ? 1 : 2;
}

static uint32_t half(uint64_t v, uint32_t which)
{
    return which > 1 ? 0 : (uint32_t)(v >> 32 * which);
}

static uint16_t notify_off(const struct fake_vpci *v)
{
    if (v->setup.fault == FAKE_NOTIFY_OUTSIDE) /* just behind the end; needs a multiplier */
        return (uint16_t)(REGION / v->setup.notify_multiplier);
    return (uint16_t)(NOTIFY_FIRST + v->queue_select);
}

/* Where a 64-bit queue field lies: its half. */
static uint32_t *queue_address(struct fake_vpci_queue *q, uint64_t offset)
{
    uint64_t *field = offset < QUEUE_DRIVER   ? &q->desc
                      : offset < QUEUE_DEVICE ? &q->driver
                                              : &q->device;

    return (uint32_t *)(void *)field + (offset >> 2 & 1);
}

static uint32_t queue_read(struct fake_vpci *v, uint64_t offset)
{
    static struct fake_vpci_queue none;
    struct fake_vpci_queue *q = fake_vpci_selected(v);

    if (!q) {
        none = (struct fake_vpci_queue){.vector = FAKE_VPCI_NO_VECTOR};
        q = &none;
    }
    switch (offset) {
    case QUEUE_SIZE:
        return fake_vpci_queue_size(v);
    case QUEUE_VECTOR:
        return q->vector;
    case QUEUE_ENABLE:
        return q->enabled;
    case QUEUE_NOTIFY_OFF:
        return notify_off(v);
    default:
        return *queue_address(q, offset);
    }
}

static uint32_t common_read(struct fake_vpci *v, uint64_t offset)
{
    const struct virtio_transport *t = &v->vdev.transport;
    struct virtio_dev *dev = &v->vdev.dev;

    switch (offset) {
    case DEVICE_FEATURE_SELECT:
        return v->device_feature_select;
    case DEVICE_FEATURE:
        return half(t->get_features(dev), v->device_feature_select);
    case DRIVER_FEATURE_SELECT:
        return v->driver_feature_select;
    case DRIVER_FEATURE:
        return half(v->driver_features, v->driver_feature_select);
    case CONFIG_VECTOR:
        return v->config_vector;
    case NUM_QUEUES:
        return v->setup.fault == FAKE_QUEUES_FEWER ? 1 : FAKE_QUEUES;
    case DEVICE_STATUS:
        return t->get_status(dev);
    case CONFIG_GENERATION:
        return t->config_generation(dev);
    case QUEUE_SELECT:
        return v->queue_select;
    default:
        return queue_read(v, offset);
    }
}

static void driver_feature_write(struct fake_vpci *v, uint32_t bits)
{
    const uint32_t shift = 32 * v->driver_feature_select;

    if (v->driver_feature_select > 1)
        return;
    v->driver_features &= ~((uint64_t)UINT32_MAX << shift);
    v->driver_features |= (uint64_t)bits << shift;
    v->vdev.transport.set_features(&v->vdev.dev, v->driver_features);
}

static void queue_size_write(struct fake_vpci *v, struct fake_vpci_queue *q, uint16_t size)
{
    if (size == 0 || (size & (size - 1)) || size > fake_vpci_queue_size(v))
        fake_violation(&v->vdev, "queue_size isn't a power of two up to what was offered");
    if (v->setup.fault != FAKE_QUEUE_SIZE_STUCK)
        q->size = size;
}

static void queue_write(struct fake_vpci *v, uint64_t offset, uint32_t value)
{
    struct fake_vpci_queue *q = fake_vpci_selected(v);

    if (!q)
        return;
    if (q->enabled)
        fake_violation(&v->vdev, "a queue's register was written while it is live (§4.1.4.3.2)");
    switch (offset) {
    case QUEUE_SIZE:
        queue_size_write(v, q, (uint16_t)value);
        break;
    case QUEUE_VECTOR:
        q->vector = fake_vpci_accept_vector(v, (uint16_t)value);
        break;
    case QUEUE_ENABLE:
        if (value != 1)
            fake_violation(&v->vdev, "queue_enable was written other than 1 (§4.1.4.3.2)");
        fake_vpci_enable(v);
        break;
    case QUEUE_NOTIFY_OFF:
        fake_violation(&v->vdev, "queue_notify_off was written");
        break;
    default:
        *queue_address(q, offset) = value;
    }
}

static void common_write(struct fake_vpci *v, uint64_t offset, uint32_t value)
{
    switch (offset) {
    case DEVICE_FEATURE_SELECT:
        v->device_feature_select = value;
        break;
    case DRIVER_FEATURE_SELECT:
        v->driver_feature_select = value;
        break;
    case DRIVER_FEATURE:
        driver_feature_write(v, value);
        break;
    case CONFIG_VECTOR:
        v->config_vector = fake_vpci_accept_vector(v, (uint16_t)value);
        break;
    case DEVICE_STATUS:
        fake_vpci_set_status(v, (uint8_t)value);
        break;
    case QUEUE_SELECT:
        v->queue_select = (uint16_t)value;
        break;
    case DEVICE_FEATURE:
    case NUM_QUEUES:
    case CONFIG_GENERATION:
        fake_violation(&v->vdev, "a read-only register was written (§4.1.4.3)");
        break;
    default:
        queue_write(v, offset, value);
    }
}

/* A doorbell: the write's value names the queue, and its place must be that queue's. */
static void ring(struct fake_vpci *v, uint64_t offset, unsigned bytes, uint32_t value)
{
    const uint64_t own = (uint64_t)(NOTIFY_FIRST + value) * v->setup.notify_multiplier;

    if (bytes != 2 || value >= FAKE_QUEUES || offset != own) {
        fake_violation(&v->vdev, "a notification at the wrong place, or of a wrong width");
        return;
    }
    v->vdev.transport.notify(&v->vdev.dev, (uint16_t)value);
}

static bool wrong_access(struct fake_vpci *v, uint64_t offset, unsigned bytes)
{
    if (offset < COMMON_BYTES && bytes == field_width(offset) && offset % bytes == 0)
        return false;
    fake_violation(&v->vdev, "a register was accessed in another width than its own (§4.1.3.1)");
    return true;
}

uint32_t fake_vpci_modern_read(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes)
{
    struct fake_vpci *v = fn->owner;

    switch (offset / REGION) {
    case 0:
        return wrong_access(v, offset, bytes) ? UINT32_MAX : common_read(v, offset);
    case 1:
        return fake_vpci_read_isr(v);
    case 2:
        return fake_vpci_read_config(v, offset % REGION, bytes);
    default:
        return 0;
    }
}

void fake_vpci_modern_write(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes, uint32_t value)
{
    struct fake_vpci *v = fn->owner;

    if (offset / REGION == 3)
        ring(v, offset % REGION, bytes, value);
    else if (offset / REGION != 0)
        fake_violation(&v->vdev, "the ISR or the configuration was written");
    else if (!wrong_access(v, offset, bytes))
        common_write(v, offset, value);
}
