/* The modern interface: registers in memory, found through vendor capabilities. virtio 1.2 §4.1.4. */
#include <errno.h>

#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtio_pci.h"
#include "lib/log.h"
#include "port/mmio.h"

/* ---- registers ---- */

/* Offset and width of a common register: §4.1.4.3. */
#define FIELD(name)                                                                                \
    (uint32_t) offsetof(struct virtio_pci_common_cfg, name),                                       \
        (unsigned)sizeof(((struct virtio_pci_common_cfg *)NULL)->name)

static uint32_t get(const struct virtio_pci *vp, uint32_t offset, unsigned bytes)
{
    return virtio_pci_read(vp, &vp->common, offset, bytes);
}

static void set(const struct virtio_pci *vp, uint32_t offset, unsigned bytes, uint32_t value)
{
    virtio_pci_write(vp, &vp->common, offset, bytes, value);
}

static uint8_t get_status(struct virtio_dev *dev)
{
    return (uint8_t)get(virtio_pci_of(dev), FIELD(device_status));
}

static void set_status(struct virtio_dev *dev, uint8_t status)
{
    set(virtio_pci_of(dev), FIELD(device_status), status);
}

static uint64_t get_features(struct virtio_dev *dev)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);

    set(vp, FIELD(device_feature_select), 0);
    const uint32_t low = get(vp, FIELD(device_feature));
    set(vp, FIELD(device_feature_select), 1);
    return low | (uint64_t)get(vp, FIELD(device_feature)) << 32;
}

static void set_features(struct virtio_dev *dev, uint64_t features)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);

    set(vp, FIELD(driver_feature_select), 0);
    set(vp, FIELD(driver_feature), (uint32_t)features);
    set(vp, FIELD(driver_feature_select), 1);
    set(vp, FIELD(driver_feature), (uint32_t)(features >> 32));
}

static uint32_t config_generation(struct virtio_dev *dev)
{
    return get(virtio_pci_of(dev), FIELD(config_generation));
}

static uint32_t read_config_field(void *arg, uint32_t offset, unsigned bytes)
{
    const struct virtio_pci *vp = arg;

    return virtio_pci_read(vp, &vp->config, offset, bytes);
}

static int config_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    struct virtio_pci *vp = virtio_pci_of(dev);

    if (offset > vp->config.len || len > vp->config.len - offset)
        return -ERANGE;
    virtio_read_fields(read_config_field, vp, offset, buf, len);
    return 0;
}

static int config_vector(struct virtio_dev *dev, uint16_t vector)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);

    set(vp, FIELD(config_msix_vector), vector);
    /* What reads back is what the device agreed to (§4.1.5.1.2.2). */
    return get(vp, FIELD(config_msix_vector)) == vector ? 0 : -EIO;
}

/* Never through the window, which the poll loop may be using: use_line() sees to it. */
IRQ_CONTEXT static uint8_t read_isr(struct virtio_dev *dev)
{
    return mmio_read8(virtio_pci_of(dev)->isr.at);
}

/* ---- queues ---- */

static uint16_t queue_max_size(struct virtio_dev *dev, uint16_t idx)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);

    if (idx >= get(vp, FIELD(num_queues)) || idx >= VIRTIO_PCI_QUEUES_MAX)
        return 0;
    set(vp, FIELD(queue_select), idx);
    return (uint16_t)get(vp, FIELD(queue_size));
}

/* §4.1.4.4: queue_notify_off × multiplier; it must lie inside the capability, and on a 16-bit boundary. */
static bool find_doorbell(const struct virtio_pci *vp, uint32_t *offset)
{
    const uint64_t at = (uint64_t)get(vp, FIELD(queue_notify_off)) * vp->notify_multiplier;

    *offset = (uint32_t)at;
    return at + 2 <= vp->notify.len && at % 2 == 0;
}

/* Two halves (§4.1.3.1). */
static void write_address(const struct virtio_pci *vp, uint32_t offset, dma_addr addr)
{
    set(vp, offset, 4, (uint32_t)addr);
    set(vp, offset + 4, 4, (uint32_t)(addr >> 32));
}

/* Only ever lowered, and what reads back is what the device works with (§4.1.4.3.2). */
static bool settle_size(const struct virtio_pci *vp, uint16_t size)
{
    const uint32_t offered = get(vp, FIELD(queue_size));

    if (size == offered)
        return true;
    if (size > offered)
        return false;
    set(vp, FIELD(queue_size), size);
    return get(vp, FIELD(queue_size)) == size;
}

static bool settle_vector(const struct virtio_pci *vp, uint16_t vector)
{
    set(vp, FIELD(queue_msix_vector), vector);
    return get(vp, FIELD(queue_msix_vector)) == vector;
}

static int queue_setup(struct virtio_dev *dev, uint16_t idx, const struct virtio_queue_mem *mem,
                       uint16_t vector)
{
    struct virtio_pci *vp = virtio_pci_of(dev);

    if (idx >= VIRTIO_PCI_QUEUES_MAX)
        return -EIO;
    set(vp, FIELD(queue_select), idx);
    if (!find_doorbell(vp, &vp->doorbell[idx])) {
        log_once(LOG_ERROR, "virtio", "%s: queue %u is notified outside the register area",
                 dev->where, idx);
        return -EIO;
    }
    if (!settle_size(vp, mem->size) || (dev->msix && !settle_vector(vp, vector)))
        return -EIO;
    write_address(vp, offsetof(struct virtio_pci_common_cfg, queue_desc), mem->desc);
    write_address(vp, offsetof(struct virtio_pci_common_cfg, queue_driver), mem->driver);
    write_address(vp, offsetof(struct virtio_pci_common_cfg, queue_device), mem->device);
    /* Last: everything else must be in place (§4.1.5.1.3). */
    set(vp, FIELD(queue_enable), 1);
    return get(vp, FIELD(queue_enable)) == 1 ? 0 : -EIO;
}

static void notify(struct virtio_dev *dev, uint16_t idx)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);

    virtio_pci_write(vp, &vp->notify, vp->doorbell[idx], 2, idx);
}

static const struct virtio_transport modern = {
    .name = "modern",
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
    .irqs = virtio_pci_irqs,
    .close = virtio_pci_close,
    .is_present = virtio_pci_is_present,
};

/* ---- capabilities ---- */

int virtio_pci_modern_open(struct virtio_pci *vp)
{
    static const struct virtio_pci_need common = {VIRTIO_PCI_CAP_COMMON, VIRTIO_PCI_CAP_BYTES,
                                                  sizeof(struct virtio_pci_common_cfg), 4};
    static const struct virtio_pci_need notifications = {VIRTIO_PCI_CAP_NOTIFY,
                                                         VIRTIO_PCI_CAP_NOTIFY_BYTES, 2, 2};
    static const struct virtio_pci_need isr = {VIRTIO_PCI_CAP_ISR, VIRTIO_PCI_CAP_BYTES, 1, 1};
    static const struct virtio_pci_need config = {VIRTIO_PCI_CAP_DEVICE, VIRTIO_PCI_CAP_BYTES, 1,
                                                  4};

    vp->common = virtio_pci_find(vp, &common);
    vp->notify = virtio_pci_find(vp, &notifications);
    vp->isr = virtio_pci_find(vp, &isr);
    vp->config = virtio_pci_find(vp, &config); /* a device without fields of its own has none */
    if (vp->common.len == 0 || vp->notify.len == 0 || vp->isr.len == 0)
        return -ENODEV;
    vp->notify_multiplier =
        pci_read32(&vp->fn, (uint8_t)(vp->notify.cap + VIRTIO_PCI_CAP_MULTIPLIER));
    vp->dev.transport = &modern;
    /* A BAR without an address mustn't be decoded: it would answer at 0. The window needs no decoding. */
    pci_command(&vp->fn, (vp->window ? 0 : PCI_COMMAND_MEMORY) | PCI_COMMAND_MASTER, 0);
    return 0;
}
