#include "drivers/pci/pci.h"

#include <stdio.h>

#include "lib/log.h"
#include "port/mmio.h"

enum {
    BUSES = 256,
    SLOTS = 32,
    FUNCTIONS = 8,
    NO_VENDOR = 0xffff,
    CLASS_BRIDGE_PCI = 0x0604,
    HEADER_MULTIFUNCTION = 0x80,
    STATUS_CAPABILITIES = 1 << 4,
    CAPABILITY_STEPS = 49, /* (256 - 64) / 4, and the end: more would be a loop */
    CAPABILITY_FIRST = 0x40,
    BAR_IO = 1,
    BAR_IO_FLAGS = 3,
    BAR_MEMORY_FLAGS = 0xf,
    BAR_TYPE_MASK = 6,
    BAR_TYPE_64 = 4,
    PORTS = 0x10000,
};

/* ---- configuration space ---- */

uint8_t pci_read8(const struct pci_function *fn, uint8_t offset)
{
    return (uint8_t)fn->access->read(fn, offset, 1);
}

uint16_t pci_read16(const struct pci_function *fn, uint8_t offset)
{
    return (uint16_t)fn->access->read(fn, offset, 2);
}

uint32_t pci_read32(const struct pci_function *fn, uint8_t offset)
{
    return fn->access->read(fn, offset, 4);
}

void pci_write8(const struct pci_function *fn, uint8_t offset, uint8_t value)
{
    fn->access->write(fn, offset, 1, value);
}

void pci_write16(const struct pci_function *fn, uint8_t offset, uint16_t value)
{
    fn->access->write(fn, offset, 2, value);
}

void pci_write32(const struct pci_function *fn, uint8_t offset, uint32_t value)
{
    fn->access->write(fn, offset, 4, value);
}

void pci_command(const struct pci_function *fn, uint16_t set, uint16_t clear)
{
    const uint16_t now = pci_read16(fn, PCI_COMMAND);

    pci_write16(fn, PCI_COMMAND, (uint16_t)((now | set) & ~clear));
}

/* The low two bits of a pointer are reserved, and to be masked (§6.7). */
static uint8_t follow(const struct pci_function *fn, uint8_t pointer)
{
    const uint8_t next = pci_read8(fn, pointer) & 0xfc;

    return next < CAPABILITY_FIRST ? 0 : next;
}

uint8_t pci_next_capability(const struct pci_function *fn, struct pci_cap_walk *walk, uint8_t id)
{
    if (walk->at == 0 && (pci_read16(fn, PCI_STATUS) & STATUS_CAPABILITIES) == 0)
        return 0;
    while (walk->steps < CAPABILITY_STEPS) {
        walk->at = follow(fn, walk->at ? (uint8_t)(walk->at + 1) : PCI_CAPABILITIES);
        walk->steps = walk->at ? (uint8_t)(walk->steps + 1) : CAPABILITY_STEPS;
        if (walk->at == 0)
            return 0;
        if (pci_read8(fn, walk->at) == id)
            return walk->at;
    }
    if (walk->at)
        log_once(LOG_WARN, "pci", "%s: its list of capabilities never ends", fn->where);
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

/* A BAR takes a power of two, at a multiple of it, and ends inside its space. */
static bool makes_sense(const struct pci_bar *bar)
{
    const uint64_t last = bar->base + bar->size - 1;

    return bar->size != 0 && (bar->size & (bar->size - 1)) == 0 &&
           (bar->base & (bar->size - 1)) == 0 && (!bar->io || last < PORTS);
}

static struct pci_bar decode_io(uint32_t low, uint32_t bits)
{
    /* The upper half may be wired to 0: port space has 16 bits. */
    const uint32_t mask = (bits & ~(uint32_t)BAR_IO_FLAGS) | ~(uint32_t)(PORTS - 1);

    return (struct pci_bar){.base = low & ~(uint32_t)BAR_IO_FLAGS, .size = ~mask + 1u, .io = true};
}

static struct pci_bar decode_memory(uint64_t value, uint64_t bits)
{
    const uint64_t flags = BAR_MEMORY_FLAGS;

    return (struct pci_bar){.base = value & ~flags, .size = ~(bits & ~flags) + 1};
}

/* Decode BAR i; returns how many slots it takes. */
static unsigned size_bar(struct pci_function *fn, unsigned i)
{
    const uint8_t offset = (uint8_t)(PCI_BAR0 + 4 * i);
    const uint32_t low = pci_read32(fn, offset);
    const uint32_t low_bits = probe_bits(fn, offset);
    struct pci_bar *bar = &fn->bar[i];
    unsigned slots = 1;

    *bar = (struct pci_bar){0};
    if (low_bits == 0 || low_bits == UINT32_MAX) /* not there; the function is not there */
        return slots;
    if (low_bits & BAR_IO) {
        *bar = decode_io(low, low_bits);
    } else if ((low_bits & BAR_TYPE_MASK) != BAR_TYPE_64) {
        *bar = decode_memory(low, ~(uint64_t)UINT32_MAX | low_bits);
    } else if (i + 1 < PCI_BARS) {
        const uint8_t upper = (uint8_t)(offset + 4);
        const uint64_t high = pci_read32(fn, upper);

        *bar = decode_memory(high << 32 | low, (uint64_t)probe_bits(fn, upper) << 32 | low_bits);
        fn->bar[i + 1] = (struct pci_bar){0}; /* the upper half is no BAR of its own */
        slots = 2;
    }
    if (!makes_sense(bar))
        *bar = (struct pci_bar){0};
    return slots;
}

void pci_size_bars(struct pci_function *fn)
{
    const uint16_t command = pci_read16(fn, PCI_COMMAND);

    /* While a BAR holds all ones it would answer at the wrong addresses, so decoding is off. */
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

struct scan {
    const struct pci_access *access;
    void (*found)(void *arg, const struct pci_function *fn);
    void *arg;
    uint8_t bus[BUSES]; /* still to visit, in the order they were found */
    unsigned bus_count;
    bool seen[BUSES];
};

static void add_bus(struct scan *scan, uint8_t bus)
{
    if (scan->seen[bus])
        return;
    scan->seen[bus] = true;
    scan->bus[scan->bus_count++] = bus;
}

static void describe(struct pci_function *fn)
{
    fn->device = pci_read16(fn, PCI_DEVICE);
    fn->subsystem = pci_read16(fn, PCI_SUBSYSTEM);
    fn->revision = pci_read8(fn, PCI_REVISION);
    fn->irq_line = pci_read8(fn, PCI_INTERRUPT_LINE);
    snprintf(fn->where, sizeof(fn->where), "%02x:%02x.%x", fn->bus, fn->slot, fn->fn & 7u);
}

/* One function: report it, or remember the bus behind it. False when there is none. */
static bool visit(struct scan *scan, struct pci_function *fn, uint8_t *header_type)
{
    fn->vendor = pci_read16(fn, PCI_VENDOR);
    if (fn->vendor == NO_VENDOR || fn->vendor == 0)
        return false;

    *header_type = pci_read8(fn, PCI_HEADER_TYPE);
    const uint8_t layout = *header_type & (uint8_t)~HEADER_MULTIFUNCTION;
    if (layout == 1 && pci_read16(fn, PCI_CLASS) == CLASS_BRIDGE_PCI) {
        add_bus(scan, pci_read8(fn, PCI_SECONDARY_BUS));
    } else if (layout == 0) {
        describe(fn);
        scan->found(scan->arg, fn);
    }
    return true;
}

static void scan_slot(struct scan *scan, uint8_t bus, uint8_t slot)
{
    unsigned functions = 1;

    for (uint8_t i = 0; i < functions; i++) {
        struct pci_function fn = {.access = scan->access, .bus = bus, .slot = slot, .fn = i};
        uint8_t header_type;

        if (visit(scan, &fn, &header_type) && i == 0 && (header_type & HEADER_MULTIFUNCTION))
            functions = FUNCTIONS;
    }
}

void pci_scan(const struct pci_access *access,
              void (*found)(void *arg, const struct pci_function *fn), void *arg)
{
    struct scan scan = {.access = access, .found = found, .arg = arg};

    add_bus(&scan, 0);
    for (unsigned i = 0; i < scan.bus_count; i++) {
        for (uint8_t slot = 0; slot < SLOTS; slot++)
            scan_slot(&scan, scan.bus[i], slot);
    }
}
