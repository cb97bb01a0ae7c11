/* A function's MSI-X capability and table. See fake_pci.h. PCI Local Bus 3.0 §6.8.2. */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/fake_pci.h"
#include "tests/host/support/irq.h"

enum { CAP_MSIX = 0x11, CONTROL = 2, ENABLE = 0x80, MASK_ALL = 0x40, MASKED = 1 };

void fake_msix_init(struct fake_pci_fn *fn, uint16_t count, uint8_t bar, uint32_t offset)
{
    const uint32_t pba = (offset + 16u * count) | bar;
    const uint32_t table = offset | bar;
    uint8_t body[10] = {(uint8_t)(count - 1), (uint8_t)((count - 1) >> 8)};

    if (count == 0 || count > FAKE_MSIX_MAX)
        abort();
    memcpy(body + 2, &table, 4);
    memcpy(body + 6, &pba, 4);
    fn->msix_cap = fake_pci_capability(fn, CAP_MSIX, body, sizeof(body));
    fn->writable[fn->msix_cap + CONTROL + 1] = ENABLE | MASK_ALL;
    fn->msix_bar = bar;
    fn->msix_offset = offset;
    fn->msix_count = count;
    for (unsigned i = 0; i < count; i++)
        fn->msix[i].control = MASKED;
}

static uint32_t *cell(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes)
{
    const uint64_t at = offset - fn->msix_offset;

    if (offset < fn->msix_offset || at + bytes > 16u * fn->msix_count)
        return NULL;
    if (bytes != 4) {
        fake_pci_violation(fn, "the MSI-X table is accessed by words of 4 or 8 bytes (§6.8.2)");
        return NULL;
    }
    return (uint32_t *)(void *)((uint8_t *)fn->msix + at);
}

uint32_t fake_msix_read(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes)
{
    const uint32_t *at = cell(fn, offset, bytes);

    return at ? *at : 0;
}

void fake_msix_write(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes, uint32_t v)
{
    uint32_t *at = cell(fn, offset, bytes);

    if (!at)
        return;
    const uint64_t entry = (offset - fn->msix_offset) / 16;
    if ((offset & 0xc) != 0xc && !(fn->msix[entry].control & MASKED) && fake_msix_on(fn))
        fake_pci_violation(fn, "an unmasked MSI-X entry was changed (§6.8.2)");
    *at = v;
}

bool fake_msix_on(const struct fake_pci_fn *fn)
{
    return fn->msix_cap && (fn->config[fn->msix_cap + CONTROL + 1] & ENABLE);
}

bool fake_msix_raise(struct fake_pci_fn *fn, uint16_t vector)
{
    const uint8_t control = fn->msix_cap ? fn->config[fn->msix_cap + CONTROL + 1] : 0;

    if (fn->gone || !(control & ENABLE) || control & MASK_ALL || vector >= fn->msix_count)
        return false;
    const struct fake_msix_entry *e = &fn->msix[vector];
    if (e->control & MASKED)
        return false;
    return host_irq_message((uint64_t)e->address_high << 32 | e->address_low, e->data);
}
