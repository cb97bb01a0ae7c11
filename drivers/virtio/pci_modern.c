/* The modern interface: registers in memory, found through vendor capabilities. virtio 1.2 §4.1.4. */
#include <errno.h>
#include <string.h>

#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtio_pci.h"
#include "lib/log.h"
#include "port/mmio.h"

/* ---- registers ---- */

static volatile struct virtio_pci_common_cfg *common_of(struct virtio_dev *dev)
{
    return virtio_pci_of(dev)->common;
}

static uint8_t get_status(struct virtio_dev *dev)
{
    return mmio_read8(&common_of(dev)->device_status);
}

static void set_status(struct virtio_dev *dev, uint8_t status)
{
    mmio_write8(&common_of(dev)->device_status, status);
}

static uint64_t get_features(struct virtio_dev *dev)
{
    volatile struct virtio_pci_common_cfg *c = common_of(dev);

    mmio_write32(&c->device_feature_select, 0);
    const uint32_t low = mmio_read32(&c->device_feature);
    mmio_write32(&c->device_feature_select, 1);
    return low | (uint64_t)mmio_read32(&c->device_feature) << 32;
}

static void set_features(struct virtio_dev *dev, uint64_t features)
{
    volatile struct virtio_pci_common_cfg *c = common_of(dev);

    mmio_write32(&c->driver_feature_select, 0);
    mmio_write32(&c->driver_feature, (uint32_t)features);
    mmio_write32(&c->driver_feature_select, 1);
    mmio_write32(&c->driver_feature, (uint32_t)(features >> 32));
}

static uint8_t config_generation(struct virtio_dev *dev)
{
    return mmio_read8(&common_of(dev)->config_generation);
}

static void read32_to(uint8_t *to, const volatile uint8_t *from)
{
    const uint32_t v = mmio_read32(from);

    memcpy(to, &v, sizeof(v));
}

/* Natural widths: a 16-bit field is read as one, a 64-bit field as two halves (§4.1.3.1). */
static int config_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    const struct virtio_pci *vp = virtio_pci_of(dev);
    uint8_t *to = buf;

    if (offset > vp->config_len || len > vp->config_len - offset)
        return -ERANGE;
    const volatile uint8_t *from = vp->config + offset;
    if (len == 2 && offset % 2 == 0) {
        const uint16_t v = mmio_read16(from);

        memcpy(to, &v, sizeof(v));
    } else if ((len == 4 || len == 8) && offset % 4 == 0) {
        for (uint32_t i = 0; i < len; i += 4)
            read32_to(to + i, from + i);
    } else {
        for (uint32_t i = 0; i < len; i++)
            to[i] = mmio_read8(from + i);
    }
    return 0;
}

static int config_vector(struct virtio_dev *dev, uint16_t vector)
{
    volatile struct virtio_pci_common_cfg *c = common_of(dev);

    mmio_write16(&c->config_msix_vector, vector);
    /* What reads back is what the device agreed to (§4.1.5.1.2.2). */
    return mmio_read16(&c->config_msix_vector) == vector ? 0 : -EIO;
}

IRQ_CONTEXT static uint8_t read_isr(struct virtio_dev *dev)
{
    return mmio_read8(virtio_pci_of(dev)->isr);
}

/* ---- queues ---- */

static uint16_t queue_max_size(struct virtio_dev *dev, uint16_t idx)
{
    volatile struct virtio_pci_common_cfg *c = common_of(dev);

    if (idx >= mmio_read16(&c->num_queues) || idx >= VIRTIO_PCI_QUEUES_MAX)
        return 0;
    mmio_write16(&c->queue_select, idx);
    return mmio_read16(&c->queue_size);
}

/* §4.1.4.4: base + queue_notify_off × multiplier; it must lie inside the capability, and on a 16-bit boundary. */
static volatile void *find_doorbell(const struct virtio_pci *vp)
{
    const uint64_t at =
        (uint64_t)mmio_read16(&vp->common->queue_notify_off) * vp->notify_multiplier;

    return at + 2 <= vp->notify_len && at % 2 == 0 ? vp->notify + at : NULL;
}

static void write_address(volatile le32 *lo, volatile le32 *hi, dma_addr addr)
{
    mmio_write32(lo, (uint32_t)addr);
    mmio_write32(hi, (uint32_t)(addr >> 32));
}

/* Only ever lowered, and what reads back is what the device works with (§4.1.4.3.2). */
static bool settle_size(volatile struct virtio_pci_common_cfg *c, uint16_t size)
{
    const uint16_t offered = mmio_read16(&c->queue_size);

    if (size == offered)
        return true;
    if (size > offered)
        return false;
    mmio_write16(&c->queue_size, size);
    return mmio_read16(&c->queue_size) == size;
}

static bool settle_vector(volatile struct virtio_pci_common_cfg *c, uint16_t vector)
{
    mmio_write16(&c->queue_msix_vector, vector);
    return mmio_read16(&c->queue_msix_vector) == vector;
}

static int queue_setup(struct virtio_dev *dev, uint16_t idx, const struct virtio_queue_mem *mem,
                       uint16_t vector)
{
    struct virtio_pci *vp = virtio_pci_of(dev);
    volatile struct virtio_pci_common_cfg *c = vp->common;

    if (idx >= VIRTIO_PCI_QUEUES_MAX)
        return -EIO;
    mmio_write16(&c->queue_select, idx);
    vp->doorbell[idx] = find_doorbell(vp);
    if (!vp->doorbell[idx]) {
        log_once(LOG_ERROR, "virtio", "%s: queue %u is notified outside the register area",
                 dev->where, idx);
        return -EIO;
    }
    if (!settle_size(c, mem->size) || (dev->msix && !settle_vector(c, vector)))
        return -EIO;
    write_address(&c->queue_desc.lo, &c->queue_desc.hi, mem->desc);
    write_address(&c->queue_driver.lo, &c->queue_driver.hi, mem->driver);
    write_address(&c->queue_device.lo, &c->queue_device.hi, mem->device);
    /* Last: everything else must be in place (§4.1.5.1.3). */
    mmio_write16(&c->queue_enable, 1);
    return mmio_read16(&c->queue_enable) == 1 ? 0 : -EIO;
}

static void notify(struct virtio_dev *dev, uint16_t idx)
{
    mmio_write16(virtio_pci_of(dev)->doorbell[idx], idx);
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
    .is_present = virtio_pci_is_present,
};

/* ---- capabilities ---- */

/* What a capability must be to be of use (§4.1.4). In bytes. */
struct need {
    uint8_t type, cap_bytes;
    uint32_t region_bytes, align;
};

struct region {
    volatile uint8_t *at; /* NULL: none */
    uint32_t len;
    uint8_t cap; /* offset of the capability */
};

static uint8_t cap_read8(const struct pci_function *fn, uint8_t cap, enum virtio_pci_cap_field f)
{
    return pci_read8(fn, (uint8_t)(cap + f));
}

static uint32_t cap_read32(const struct pci_function *fn, uint8_t cap, enum virtio_pci_cap_field f)
{
    return pci_read32(fn, (uint8_t)(cap + f));
}

static struct region try_cap(const struct pci_function *fn, uint8_t cap, const struct need *need)
{
    if (cap > PCI_CONFIG_BYTES - need->cap_bytes ||
        cap_read8(fn, cap, VIRTIO_PCI_CAP_TYPE) != need->type ||
        cap_read8(fn, cap, VIRTIO_PCI_CAP_LEN) < need->cap_bytes)
        return (struct region){0};

    const uint32_t offset = cap_read32(fn, cap, VIRTIO_PCI_CAP_OFFSET);
    const uint32_t len = cap_read32(fn, cap, VIRTIO_PCI_CAP_LENGTH);
    if (len < need->region_bytes || offset % need->align != 0)
        return (struct region){0};
    return (struct region){pci_map(fn, cap_read8(fn, cap, VIRTIO_PCI_CAP_BAR), offset, len), len,
                           cap};
}

/* The first capability that can be used: the device lists them as it prefers them (§4.1.4.1). */
static struct region find_region(const struct pci_function *fn, const struct need *need)
{
    struct pci_cap_walk walk = {0};
    uint8_t cap;

    while ((cap = pci_next_capability(fn, &walk, PCI_CAP_VENDOR)) != 0) {
        const struct region region = try_cap(fn, cap, need);
        if (region.at)
            return region;
    }
    return (struct region){0};
}

int virtio_pci_modern_open(struct virtio_pci *vp)
{
    static const struct need common_need = {VIRTIO_PCI_CAP_COMMON, VIRTIO_PCI_CAP_BYTES,
                                            sizeof(struct virtio_pci_common_cfg), 4};
    static const struct need notify_need = {VIRTIO_PCI_CAP_NOTIFY, VIRTIO_PCI_CAP_NOTIFY_BYTES, 2,
                                            2};
    static const struct need isr_need = {VIRTIO_PCI_CAP_ISR, VIRTIO_PCI_CAP_BYTES, 1, 1};
    static const struct need config_need = {VIRTIO_PCI_CAP_DEVICE, VIRTIO_PCI_CAP_BYTES, 1, 4};
    const struct region common = find_region(&vp->fn, &common_need);
    const struct region doorbells = find_region(&vp->fn, &notify_need);
    const struct region isr = find_region(&vp->fn, &isr_need);
    const struct region config = find_region(&vp->fn, &config_need);

    if (!common.at || !doorbells.at || !isr.at)
        return -ENODEV;
    vp->common = (volatile void *)common.at;
    vp->notify = doorbells.at;
    vp->notify_len = doorbells.len;
    vp->notify_multiplier = cap_read32(&vp->fn, doorbells.cap, VIRTIO_PCI_CAP_MULTIPLIER);
    vp->isr = isr.at;
    vp->config = config.at; /* a device without fields of its own has none */
    vp->config_len = config.len;
    vp->dev.transport = &modern;
    pci_command(&vp->fn, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
    return 0;
}
