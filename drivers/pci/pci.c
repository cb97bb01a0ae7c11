#include "drivers/pci/pci.h"

#include <stdio.h>

#include "lib/check.h"
#include "port/mmio.h"
#include "port/pio.h"

enum {
    CONFIG_ADDRESS = 0xcf8,
    CONFIG_DATA = 0xcfc,
    BUSES = 256,
    SLOTS = 32,
    FUNCTIONS = 8,
    NO_VENDOR = 0xffff,
    CLASS_BRIDGE_PCI = 0x0604,
    HEADER_MULTIFUNCTION = 0x80,
    STATUS_CAPABILITIES = 1 << 4,
    CAPABILITY_STEPS = 48, /* (256 - 64) / 4: more would be a loop */
    CAPABILITY_FIRST = 0x40,
    BAR_IO = 1,
    BAR_TYPE_MASK = 6,
    BAR_TYPE_64 = 4,
};

/* ---- configuration space ---- */

static void select_register(const struct pci_function *fn, uint8_t offset)
{
    const uint32_t address = 1u << 31 | (uint32_t)fn->bus << 16 | (uint32_t)fn->slot << 11 |
                             (uint32_t)fn->fn << 8 | (offset & 0xfcu);

    pio_write32(CONFIG_ADDRESS, address);
}

uint8_t pci_read8(const struct pci_function *fn, uint8_t offset)
{
    select_register(fn, offset);
    return pio_read8((uint16_t)(CONFIG_DATA + (offset & 3)));
}

uint16_t pci_read16(const struct pci_function *fn, uint8_t offset)
{
    select_register(fn, offset);
    return pio_read16((uint16_t)(CONFIG_DATA + (offset & 2)));
}

uint32_t pci_read32(const struct pci_function *fn, uint8_t offset)
{
    select_register(fn, offset);
    return pio_read32(CONFIG_DATA);
}

void pci_write16(const struct pci_function *fn, uint8_t offset, uint16_t value)
{
    select_register(fn, offset);
    pio_write16((uint16_t)(CONFIG_DATA + (offset & 2)), value);
}

void pci_write32(const struct pci_function *fn, uint8_t offset, uint32_t value)
{
    select_register(fn, offset);
    pio_write32(CONFIG_DATA, value);
}

void pci_command(const struct pci_function *fn, uint16_t set, uint16_t clear)
{
    const uint16_t now = pci_read16(fn, PCI_COMMAND);

    pci_write16(fn, PCI_COMMAND, (uint16_t)((now | set) & ~clear));
}

static uint8_t next_capability(const struct pci_function *fn, uint8_t at)
{
    const uint8_t next = pci_read8(fn, at ? (uint8_t)(at + 1) : PCI_CAPABILITIES) & 0xfc;

    return next < CAPABILITY_FIRST ? 0 : next;
}

uint8_t pci_capability(const struct pci_function *fn, uint8_t id, uint8_t after)
{
    uint8_t at = after;

    if ((pci_read16(fn, PCI_STATUS) & STATUS_CAPABILITIES) == 0)
        return 0;
    for (int steps = 0; steps < CAPABILITY_STEPS; steps++) {
        at = next_capability(fn, at);
        if (at == 0)
            return 0;
        if (pci_read8(fn, at) == id)
            return at;
    }
    return 0;
}

/* ---- BARs ---- */

/* Write all ones, read which bits stick, write the old value back (§6.2.5.1). */
static uint32_t probe_bits(const struct pci_function *fn, uint8_t offset)
{
    const uint32_t before = pci_read32(fn, offset);

    pci_write32(fn, offset, UINT32_MAX);
    const uint32_t bits = pci_read32(fn, offset);
    pci_write32(fn, offset, before);
    return bits;
}

static void size_io_bar(struct pci_bar *bar, uint32_t low, uint32_t bits)
{
    bar->io = true;
    bar->base = low & ~3u;
    /* The upper half may be wired to 0: port space has 16 bits. */
    bar->size = (~((bits & ~3u) | 0xffff0000u) & 0xffffu) + 1u;
}

/* Decode BAR i; returns how many slots it takes. */
static unsigned size_bar(struct pci_function *fn, unsigned i)
{
    const uint8_t offset = (uint8_t)(PCI_BAR0 + 4 * i);
    const uint32_t low = pci_read32(fn, offset);
    const uint32_t bits = probe_bits(fn, offset);
    struct pci_bar *bar = &fn->bar[i];

    if (bits == 0 || bits == UINT32_MAX)
        return 1;
    if (bits & BAR_IO) {
        size_io_bar(bar, low, bits);
        return 1;
    }
    const bool wide = (bits & BAR_TYPE_MASK) == BAR_TYPE_64 && i + 1 < PCI_BARS;
    uint64_t mask = 0xffffffff00000000 | (bits & ~0xfu);

    bar->base = low & ~0xfu;
    if (wide) {
        const uint8_t upper = (uint8_t)(offset + 4);

        bar->base |= (uint64_t)pci_read32(fn, upper) << 32;
        mask = (uint64_t)probe_bits(fn, upper) << 32 | (bits & ~0xfu);
    }
    bar->size = ~mask + 1;
    return wide ? 2 : 1;
}

/* While a BAR holds all ones it would answer at the wrong addresses, so decoding is off. */
static void size_bars(struct pci_function *fn)
{
    const uint16_t command = pci_read16(fn, PCI_COMMAND);

    pci_command(fn, 0, PCI_COMMAND_IO | PCI_COMMAND_MEMORY);
    for (unsigned i = 0; i < PCI_BARS;)
        i += size_bar(fn, i);
    pci_write16(fn, PCI_COMMAND, command);
}

volatile void *pci_map(const struct pci_function *fn, uint8_t bar, uint64_t offset, uint64_t len)
{
    if (bar >= PCI_BARS)
        return NULL;
    const struct pci_bar *b = &fn->bar[bar];

    if (b->io || b->base == 0 || len == 0 || offset > b->size || len > b->size - offset)
        return NULL;
    return mmio_map(b->base + offset, len);
}

/* ---- enumeration ---- */

/* Buses still to visit, in the order they were found. */
struct bus_list {
    uint8_t bus[BUSES];
    unsigned count;
    bool seen[BUSES];
};

static void add_bus(struct bus_list *list, uint8_t bus)
{
    if (list->seen[bus])
        return;
    list->seen[bus] = true;
    list->bus[list->count++] = bus;
}

static void describe(struct pci_function *fn)
{
    fn->device = pci_read16(fn, PCI_DEVICE);
    fn->subsystem = pci_read16(fn, PCI_SUBSYSTEM);
    fn->revision = pci_read8(fn, PCI_REVISION);
    fn->irq_line = pci_read8(fn, PCI_INTERRUPT_LINE);
    snprintf(fn->where, sizeof(fn->where), "%02x:%02x.%x", fn->bus, fn->slot, fn->fn & 7u);
    size_bars(fn);
}

/* One function: report it, or remember the bus behind it. Returns its header type, 0xff when there is none. */
static uint8_t visit(struct pci_function *fn, struct bus_list *list,
                     void (*found)(void *arg, const struct pci_function *fn), void *arg)
{
    fn->vendor = pci_read16(fn, PCI_VENDOR);
    if (fn->vendor == NO_VENDOR || fn->vendor == 0)
        return 0xff;

    const uint8_t type = pci_read8(fn, PCI_HEADER_TYPE);
    if ((type & 0x7f) == 1 && pci_read16(fn, PCI_CLASS) == CLASS_BRIDGE_PCI) {
        add_bus(list, pci_read8(fn, PCI_SECONDARY_BUS));
    } else if ((type & 0x7f) == 0) {
        describe(fn);
        found(arg, fn);
    }
    return type;
}

static void scan_slot(uint8_t bus, uint8_t slot, struct bus_list *list,
                      void (*found)(void *arg, const struct pci_function *fn), void *arg)
{
    unsigned functions = 1;

    for (uint8_t i = 0; i < functions; i++) {
        struct pci_function fn = {.bus = bus, .slot = slot, .fn = i};
        const uint8_t type = visit(&fn, list, found, arg);

        if (i == 0 && type == 0xff)
            return;
        if (i == 0 && (type & HEADER_MULTIFUNCTION))
            functions = FUNCTIONS;
    }
}

void pci_scan(void (*found)(void *arg, const struct pci_function *fn), void *arg)
{
    struct bus_list list = {0};

    add_bus(&list, 0);
    for (unsigned i = 0; i < list.count; i++) {
        for (uint8_t slot = 0; slot < SLOTS; slot++)
            scan_slot(list.bus[i], slot, &list, found, arg);
    }
}
