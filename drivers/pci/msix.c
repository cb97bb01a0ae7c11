#include "drivers/pci/msix.h"

#include <errno.h>

#include "port/mmio.h"

enum {
    CONTROL = 2, /* message control, behind the capability's id and link */
    CONTROL_ENABLE = 1 << 15,
    CONTROL_MASK_ALL = 1 << 14,
    CONTROL_SIZE = 0x7ff, /* entries - 1 */
    TABLE = 4,            /* BAR number in bits 2:0, offset above */
    TABLE_BAR = 7,
    ENTRY_MASKED = 1,
};

struct msix_entry {
    uint32_t address_low, address_high, data, control;
};
static_assert(sizeof(struct msix_entry) == 16, "PCI 3.0 §6.8.2");

static void mask_entry(struct msix *m, unsigned i, bool masked)
{
    mmio_write32(&m->table[i].control, masked ? ENTRY_MASKED : 0);
}

int msix_open(struct msix *m, const struct pci_function *fn)
{
    *m = (struct msix){.fn = fn};

    const uint8_t cap = pci_capability(fn, PCI_CAP_MSIX, 0);
    if (cap == 0 || cap > PCI_CONFIG_BYTES - 12)
        return -ENOENT;
    const uint16_t control = pci_read16(fn, (uint8_t)(cap + CONTROL));
    const uint32_t place = pci_read32(fn, (uint8_t)(cap + TABLE));

    m->count = (uint16_t)((control & CONTROL_SIZE) + 1);
    m->table = pci_map(fn, place & TABLE_BAR, place & ~(uint32_t)TABLE_BAR,
                       m->count * sizeof(struct msix_entry));
    if (!m->table)
        return -EINVAL;
    m->cap = cap;
    pci_command(fn, PCI_COMMAND_MEMORY, 0);
    for (unsigned i = 0; i < m->count; i++)
        mask_entry(m, i, true);
    return 0;
}

int msix_add(struct msix *m, irq_handler handler, void *arg)
{
    uint64_t address;
    uint32_t data;

    if (m->used == m->count)
        return -ENOSPC;
    const int err = irq_msi_alloc(handler, arg, &address, &data);
    if (err)
        return err;

    volatile struct msix_entry *entry = &m->table[m->used];
    mmio_write32(&entry->address_low, (uint32_t)address);
    mmio_write32(&entry->address_high, (uint32_t)(address >> 32));
    mmio_write32(&entry->data, data);
    return m->used++;
}

void msix_enable(struct msix *m)
{
    for (unsigned i = 0; i < m->used; i++)
        mask_entry(m, i, false);
    pci_write16(m->fn, (uint8_t)(m->cap + CONTROL), CONTROL_ENABLE);
    pci_command(m->fn, PCI_COMMAND_NO_INTX, 0);
}

void msix_close(struct msix *m)
{
    if (m->cap == 0)
        return;
    pci_write16(m->fn, (uint8_t)(m->cap + CONTROL), CONTROL_MASK_ALL);
    pci_command(m->fn, 0, PCI_COMMAND_NO_INTX);
    m->cap = 0;
}
