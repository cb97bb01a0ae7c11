#include "drivers/pci/msix.h"

#include <errno.h>

#include "lib/check.h"
#include "port/mmio.h"

enum {
    CONTROL = 2, /* message control, behind the capability's id and link */
    CONTROL_ENABLE = 1 << 15,
    CONTROL_MASK_ALL = 1 << 14,
    CONTROL_SIZE = 0x7ff, /* entries - 1 */
    TABLE = 4,            /* BAR number in bits 2:0, offset above */
    TABLE_BAR = 7,
    CAPABILITY_BYTES = 12,
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

static void set_control(struct msix *m, uint16_t bits)
{
    pci_write16(m->fn, (uint8_t)(m->cap + CONTROL), bits);
}

int msix_open(struct msix *m, const struct pci_function *fn)
{
    struct pci_cap_walk walk = {0};

    *m = (struct msix){.fn = fn};
    const uint8_t cap = pci_next_capability(fn, &walk, PCI_CAP_MSIX);
    if (cap == 0)
        return -ENOENT;
    if (cap > PCI_CONFIG_BYTES - CAPABILITY_BYTES)
        return -EINVAL;
    const uint16_t control = pci_read16(fn, (uint8_t)(cap + CONTROL));
    const uint32_t place = pci_read32(fn, (uint8_t)(cap + TABLE));

    m->count = (uint16_t)((control & CONTROL_SIZE) + 1);
    m->table = pci_map(fn, place & TABLE_BAR, place & ~(uint32_t)TABLE_BAR,
                       m->count * sizeof(struct msix_entry));
    if (!m->table)
        return -EINVAL;
    m->cap = cap;
    pci_command(fn, PCI_COMMAND_MEMORY, 0);
    msix_disable(m);
    return 0;
}

int msix_add(struct msix *m, irq_handler handler, void *arg)
{
    uint64_t address;
    uint32_t data;

    if (m->cap == 0)
        return -ENOENT;
    if (m->filled == m->count)
        return -ENOSPC;
    const int err = irq_msi_alloc(handler, arg, &address, &data);
    if (err)
        return err;

    volatile struct msix_entry *entry = &m->table[m->filled];
    mmio_write32(&entry->address_low, (uint32_t)address);
    mmio_write32(&entry->address_high, (uint32_t)(address >> 32));
    mmio_write32(&entry->data, data);
    return m->filled++;
}

void msix_enable(struct msix *m, uint16_t used)
{
    ASSERT(m->cap != 0 && used <= m->filled);
    for (unsigned i = 0; i < used; i++)
        mask_entry(m, i, false);
    pci_command(m->fn, PCI_COMMAND_NO_INTX, 0);
    set_control(m, CONTROL_ENABLE);
}

void msix_disable(struct msix *m)
{
    if (m->cap == 0)
        return;
    set_control(m, CONTROL_MASK_ALL);
    for (unsigned i = 0; i < m->count; i++)
        mask_entry(m, i, true);
}
