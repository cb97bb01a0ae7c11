/* The legacy interface: ten registers in BAR 0, and rings by page number. virtio 1.2 §4.1.4.10. */
#include <errno.h>

#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtio_pci.h"
#include "port/mmio.h"
#include "port/pio.h"

enum {
    REGISTER_BYTES = VIRTIO_LEGACY_CONFIG_MSIX,
    PAGE_SHIFT = 12,
};

/* ---- registers, in port space on nearly every machine ---- */

static uint8_t read8(const struct virtio_pci *vp, uint32_t reg)
{
    return vp->memory ? mmio_read8(vp->memory + reg) : pio_read8((uint16_t)(vp->port + reg));
}

static uint16_t read16(const struct virtio_pci *vp, uint32_t reg)
{
    return vp->memory ? mmio_read16(vp->memory + reg) : pio_read16((uint16_t)(vp->port + reg));
}

static uint32_t read32(const struct virtio_pci *vp, uint32_t reg)
{
    return vp->memory ? mmio_read32(vp->memory + reg) : pio_read32((uint16_t)(vp->port + reg));
}

static void write8(const struct virtio_pci *vp, uint32_t reg, uint8_t v)
{
    if (vp->memory)
        mmio_write8(vp->memory + reg, v);
    else
        pio_write8((uint16_t)(vp->port + reg), v);
}

static void write16(const struct virtio_pci *vp, uint32_t reg, uint16_t v)
{
    if (vp->memory)
        mmio_write16(vp->memory + reg, v);
    else
        pio_write16((uint16_t)(vp->port + reg), v);
}

static void write32(const struct virtio_pci *vp, uint32_t reg, uint32_t v)
{
    if (vp->memory)
        mmio_write32(vp->memory + reg, v);
    else
        pio_write32((uint16_t)(vp->port + reg), v);
}

static uint8_t get_status(struct virtio_dev *dev)
{
    return read8(virtio_pci_of(dev), VIRTIO_LEGACY_STATUS);
}

static void set_status(struct virtio_dev *dev, uint8_t status)
{
    write8(virtio_pci_of(dev), VIRTIO_LEGACY_STATUS, status);
}

static uint64_t get_features(struct virtio_dev *dev)
{
    return read32(virtio_pci_of(dev), VIRTIO_LEGACY_DEVICE_FEATURES);
}

static void set_features(struct virtio_dev *dev, uint64_t features)
{
    write32(virtio_pci_of(dev), VIRTIO_LEGACY_DRIVER_FEATURES, (uint32_t)features);
}

/* There is none: virtio_config_read() reads twice instead (§2.5.4). */
static uint32_t config_generation(struct virtio_dev *dev)
{
    (void)dev;
    return 0;
}

/* §4.1.4.10.1: byte by byte; where the configuration starts depends on MSI-X. */
static int config_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);
    const uint32_t start = dev->msix ? VIRTIO_LEGACY_CONFIG_MSIX : VIRTIO_LEGACY_CONFIG;
    const uint64_t size = vp->fn.bar[0].size;
    uint8_t *to = buf;

    if (start + (uint64_t)offset + len > size)
        return -ERANGE;
    for (uint32_t i = 0; i < len; i++)
        to[i] = read8(vp, start + offset + i);
    return 0;
}

static int config_vector(struct virtio_dev *dev, uint16_t vector)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);

    write16(vp, VIRTIO_LEGACY_CONFIG_VECTOR, vector);
    return read16(vp, VIRTIO_LEGACY_CONFIG_VECTOR) == vector ? 0 : -EIO;
}

IRQ_CONTEXT static uint8_t read_isr(struct virtio_dev *dev)
{
    return read8(virtio_pci_of(dev), VIRTIO_LEGACY_ISR);
}

/* ---- queues ---- */

static uint16_t queue_max_size(struct virtio_dev *dev, uint16_t idx)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);

    write16(vp, VIRTIO_LEGACY_QUEUE_SELECT, idx);
    return read16(vp, VIRTIO_LEGACY_QUEUE_SIZE);
}

static int queue_setup(struct virtio_dev *dev, uint16_t idx, const struct virtio_queue_mem *mem,
                       uint16_t vector)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);
    const dma_addr page = mem->desc >> PAGE_SHIFT;

    if (page == 0 || page > UINT32_MAX)
        return -ENOMEM;
    write16(vp, VIRTIO_LEGACY_QUEUE_SELECT, idx);
    if (read16(vp, VIRTIO_LEGACY_QUEUE_SIZE) != mem->size)
        return -EIO; /* it can't be chosen */
    if (dev->msix) {
        write16(vp, VIRTIO_LEGACY_QUEUE_VECTOR, vector);
        if (read16(vp, VIRTIO_LEGACY_QUEUE_VECTOR) != vector)
            return -EIO;
    }
    write32(vp, VIRTIO_LEGACY_QUEUE_ADDRESS, (uint32_t)page);
    return read32(vp, VIRTIO_LEGACY_QUEUE_ADDRESS) == page ? 0 : -EIO;
}

static void notify(struct virtio_dev *dev, uint16_t idx)
{
    write16(virtio_pci_of(dev), VIRTIO_LEGACY_QUEUE_NOTIFY, idx);
}

static const struct virtio_transport legacy = {
    .name = "legacy",
    .legacy = true,
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

int virtio_pci_legacy_open(struct virtio_pci *vp)
{
    const struct pci_bar *bar = &vp->fn.bar[0];

    /* A legacy driver must refuse other revisions and the modern device IDs (§4.1.2.3). */
    if (vp->fn.device > VIRTIO_PCI_TRANSITIONAL_LAST || vp->fn.revision != 0)
        return -ENODEV;
    if (bar->size < REGISTER_BYTES || bar->base == 0)
        return -ENODEV;
    if (bar->io)
        vp->port = (uint16_t)bar->base;
    else
        vp->memory = pci_map(&vp->fn, 0, 0, bar->size);
    if (!bar->io && !vp->memory)
        return -ENODEV;
    vp->dev.transport = &legacy;
    /* Only what BAR 0 needs: another one may have no address, and would then answer at 0. */
    pci_command(&vp->fn, (bar->io ? PCI_COMMAND_IO : PCI_COMMAND_MEMORY) | PCI_COMMAND_MASTER, 0);
    return 0;
}
