#include "drivers/pci/pci_ecam.h"

#include "port/mmio.h"

enum { BUS_SHIFT = 20, SLOT_SHIFT = 15, FN_SHIFT = 12 };

static struct {
    uint64_t base;
    uint8_t first, last;
} ecam;

/* A bus is mapped when it is first looked at: most are empty. */
static volatile uint8_t *find(const struct pci_function *fn, uint16_t offset)
{
    if (fn->bus < ecam.first || fn->bus > ecam.last)
        return NULL;
    volatile uint8_t *bus =
        mmio_map(ecam.base + ((uint64_t)fn->bus << BUS_SHIFT), 1ull << BUS_SHIFT);

    return bus ? bus + ((uint32_t)fn->slot << SLOT_SHIFT) + ((uint32_t)fn->fn << FN_SHIFT) + offset
               : NULL;
}

static uint32_t ecam_read(const struct pci_function *fn, uint16_t offset, unsigned bytes)
{
    const volatile uint8_t *at = find(fn, offset);

    if (!at)
        return UINT32_MAX;
    return bytes == 1 ? mmio_read8(at) : bytes == 2 ? mmio_read16(at) : mmio_read32(at);
}

static void ecam_write(const struct pci_function *fn, uint16_t offset, unsigned bytes,
                       uint32_t value)
{
    volatile uint8_t *at = find(fn, offset);

    if (!at)
        return;
    if (bytes == 1)
        mmio_write8(at, (uint8_t)value);
    else if (bytes == 2)
        mmio_write16(at, (uint16_t)value);
    else
        mmio_write32(at, value);
}

static const struct pci_access access = {.read = ecam_read, .write = ecam_write};

const struct pci_access *pci_ecam_open(uint64_t base, uint8_t bus_first, uint8_t bus_last)
{
    if (!mmio_map(base + ((uint64_t)bus_first << BUS_SHIFT), 1ull << BUS_SHIFT))
        return NULL;
    ecam.base = base;
    ecam.first = bus_first;
    ecam.last = bus_last;
    return &access;
}
