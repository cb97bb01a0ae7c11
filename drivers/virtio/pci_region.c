/* Where the registers of a modern device are, and two ways to reach them. virtio 1.2 §4.1.4, §4.1.4.9. */
#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtio_pci.h"
#include "port/mmio.h"

static uint8_t cap_read8(const struct pci_function *fn, uint8_t cap, enum virtio_pci_cap_field f)
{
    return pci_read8(fn, (uint8_t)(cap + f));
}

static uint32_t cap_read32(const struct pci_function *fn, uint8_t cap, enum virtio_pci_cap_field f)
{
    return pci_read32(fn, (uint8_t)(cap + f));
}

static bool is_cap(const struct pci_function *fn, uint8_t cap, uint8_t type, uint8_t bytes)
{
    return cap <= PCI_CONFIG_BYTES - bytes && cap_read8(fn, cap, VIRTIO_PCI_CAP_TYPE) == type &&
           cap_read8(fn, cap, VIRTIO_PCI_CAP_LEN) >= bytes;
}

/* ---- capabilities ---- */

/* That BAR exists and holds the whole region, whether or not it has an address. */
static bool inside(const struct pci_function *fn, const struct virtio_pci_region *r)
{
    return r->bar < PCI_BARS && !fn->bar[r->bar].io && r->offset <= fn->bar[r->bar].size &&
           r->len <= fn->bar[r->bar].size - r->offset;
}

static struct virtio_pci_region try_cap(const struct virtio_pci *vp, uint8_t cap,
                                        const struct virtio_pci_need *need)
{
    const struct pci_function *fn = &vp->fn;

    if (!is_cap(fn, cap, need->type, need->cap_bytes))
        return (struct virtio_pci_region){0};
    struct virtio_pci_region r = {.offset = cap_read32(fn, cap, VIRTIO_PCI_CAP_OFFSET),
                                  .len = cap_read32(fn, cap, VIRTIO_PCI_CAP_LENGTH),
                                  .bar = cap_read8(fn, cap, VIRTIO_PCI_CAP_BAR),
                                  .cap = cap};
    if (r.len < need->min_bytes || r.offset % need->align != 0)
        return (struct virtio_pci_region){0};
    if (vp->window == 0)
        r.at = pci_map(fn, r.bar, r.offset, r.len);
    return r.at || (vp->window && inside(fn, &r)) ? r : (struct virtio_pci_region){0};
}

/* The device lists them as it prefers them (§4.1.4.1). */
struct virtio_pci_region virtio_pci_find(const struct virtio_pci *vp,
                                         const struct virtio_pci_need *need)
{
    struct pci_cap_walk walk = {0};
    uint8_t cap;

    while ((cap = pci_next_capability(&vp->fn, &walk, PCI_CAP_VENDOR)) != 0) {
        const struct virtio_pci_region r = try_cap(vp, cap, need);
        if (r.len)
            return r;
    }
    return (struct virtio_pci_region){0};
}

uint8_t virtio_pci_find_window(const struct pci_function *fn)
{
    struct pci_cap_walk walk = {0};
    uint8_t cap;

    while ((cap = pci_next_capability(fn, &walk, PCI_CAP_VENDOR)) != 0) {
        if (is_cap(fn, cap, VIRTIO_PCI_CAP_WINDOW, VIRTIO_PCI_CAP_WINDOW_BYTES))
            return cap;
    }
    return 0;
}

/* ---- access ---- */

/* Say which registers the data field stands for (§4.1.4.9.1). Returns that field's offset. */
static uint8_t aim(const struct virtio_pci *vp, const struct virtio_pci_region *r, uint32_t offset,
                   unsigned bytes)
{
    const uint8_t cap = vp->window;

    pci_write8(&vp->fn, (uint8_t)(cap + VIRTIO_PCI_CAP_BAR), r->bar);
    pci_write32(&vp->fn, (uint8_t)(cap + VIRTIO_PCI_CAP_OFFSET), r->offset + offset);
    pci_write32(&vp->fn, (uint8_t)(cap + VIRTIO_PCI_CAP_LENGTH), bytes);
    return (uint8_t)(cap + VIRTIO_PCI_CAP_DATA);
}

uint32_t virtio_pci_read(const struct virtio_pci *vp, const struct virtio_pci_region *region,
                         uint32_t offset, unsigned bytes)
{
    if (!region->at) {
        const uint8_t data = aim(vp, region, offset, bytes);
        return bytes == 1   ? pci_read8(&vp->fn, data)
               : bytes == 2 ? pci_read16(&vp->fn, data)
                            : pci_read32(&vp->fn, data);
    }
    const volatile uint8_t *at = region->at + offset;
    return bytes == 1 ? mmio_read8(at) : bytes == 2 ? mmio_read16(at) : mmio_read32(at);
}

static void window_write(const struct virtio_pci *vp, const struct virtio_pci_region *region,
                         uint32_t offset, unsigned bytes, uint32_t value)
{
    const uint8_t data = aim(vp, region, offset, bytes);

    if (bytes == 1)
        pci_write8(&vp->fn, data, (uint8_t)value);
    else if (bytes == 2)
        pci_write16(&vp->fn, data, (uint16_t)value);
    else
        pci_write32(&vp->fn, data, value);
}

void virtio_pci_write(const struct virtio_pci *vp, const struct virtio_pci_region *region,
                      uint32_t offset, unsigned bytes, uint32_t value)
{
    if (!region->at) {
        window_write(vp, region, offset, bytes, value);
        return;
    }
    volatile uint8_t *at = region->at + offset;
    if (bytes == 1)
        mmio_write8(at, (uint8_t)value);
    else if (bytes == 2)
        mmio_write16(at, (uint16_t)value);
    else
        mmio_write32(at, value);
}
