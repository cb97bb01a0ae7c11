/* The legacy register layout of the fake. See fake_vpci.h. virtio 1.2 §4.1.4.10. */
#include "tests/fake/fake_vpci.h"

enum {
    DEVICE_FEATURES = 0,
    DRIVER_FEATURES = 4,
    QUEUE_ADDRESS = 8,
    QUEUE_SIZE = 12,
    QUEUE_SELECT = 14,
    QUEUE_NOTIFY = 16,
    DEVICE_STATUS = 18,
    ISR = 19,
    CONFIG_VECTOR = 20, /* only while MSI-X is on */
    QUEUE_VECTOR = 22,
    HEADER_BYTES = 20,
    HEADER_BYTES_MSIX = 24,
    PAGE = 4096,
};

static unsigned field_width(uint64_t offset)
{
    return offset < QUEUE_SIZE ? 4 : offset == DEVICE_STATUS || offset == ISR ? 1 : 2;
}

static uint64_t header_bytes(const struct fake_vpci *v)
{
    return fake_msix_on(&v->fn) ? HEADER_BYTES_MSIX : HEADER_BYTES;
}

static bool wrong_width(struct fake_vpci *v, uint64_t offset, unsigned bytes)
{
    if (bytes == field_width(offset))
        return false;
    fake_violation(&v->vdev, "a legacy register was accessed in another width than its own");
    return true;
}

uint32_t fake_vpci_legacy_read(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes)
{
    struct fake_vpci *v = fn->owner;
    struct virtio_dev *dev = &v->vdev.dev;
    const struct fake_vpci_queue *q = fake_vpci_selected(v);

    v->vdev.transport.legacy = true;
    if (offset >= header_bytes(v))
        return fake_vpci_read_config(v, offset - header_bytes(v), bytes);
    if (wrong_width(v, offset, bytes))
        return UINT32_MAX;
    switch (offset) {
    case DEVICE_FEATURES:
        return (uint32_t)v->vdev.transport.get_features(dev);
    case DRIVER_FEATURES:
        return (uint32_t)v->driver_features;
    case QUEUE_ADDRESS:
        return q ? q->page : 0;
    case QUEUE_SIZE:
        return fake_vpci_queue_size(v);
    case QUEUE_SELECT:
        return v->queue_select;
    case DEVICE_STATUS:
        return v->vdev.transport.get_status(dev);
    case ISR:
        return fake_vpci_read_isr(v);
    case CONFIG_VECTOR:
        return v->config_vector;
    case QUEUE_VECTOR:
        return q ? q->vector : FAKE_VPCI_NO_VECTOR;
    default:
        return 0;
    }
}

/* The page number says where all three parts lie (§2.7.2), and makes the queue live. */
static void queue_address_write(struct fake_vpci *v, uint32_t page)
{
    struct fake_vpci_queue *q = fake_vpci_selected(v);

    if (!q || v->setup.fault == FAKE_QUEUE_NOT_ENABLED)
        return;
    const struct vring_layout l = vring_layout(fake_vpci_queue_size(v), true);
    q->page = page;
    q->desc = (uint64_t)page * PAGE;
    q->driver = q->desc + l.avail;
    q->device = q->desc + l.used;
    fake_vpci_enable(v);
}

void fake_vpci_legacy_write(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes, uint32_t value)
{
    struct fake_vpci *v = fn->owner;
    struct virtio_dev *dev = &v->vdev.dev;

    v->vdev.transport.legacy = true;
    if (offset >= header_bytes(v)) {
        fake_violation(&v->vdev, "the configuration was written");
        return;
    }
    if (wrong_width(v, offset, bytes))
        return;
    switch (offset) {
    case DRIVER_FEATURES:
        v->driver_features = value;
        v->vdev.transport.set_features(dev, value);
        break;
    case QUEUE_ADDRESS:
        queue_address_write(v, value);
        break;
    case QUEUE_SELECT:
        v->queue_select = (uint16_t)value;
        break;
    case QUEUE_NOTIFY:
        v->vdev.transport.notify(dev, (uint16_t)value);
        break;
    case DEVICE_STATUS:
        fake_vpci_set_status(v, (uint8_t)value);
        break;
    case CONFIG_VECTOR:
        v->config_vector = fake_vpci_accept_vector(v, (uint16_t)value);
        break;
    case QUEUE_VECTOR:
        if (fake_vpci_selected(v))
            fake_vpci_selected(v)->vector = fake_vpci_accept_vector(v, (uint16_t)value);
        break;
    default:
        fake_violation(&v->vdev, "a read-only legacy register was written");
    }
}
