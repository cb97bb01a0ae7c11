#include "drivers/pci/pci_place.h"

enum {
    SLOTS = 32,
    FUNCTIONS = 8,
    NO_VENDOR = 0xffff,
    HEADER_BRIDGE = 1,
    HEADER_MULTIFUNCTION = 0x80,
    BUS_LAST = 255,
    DEPTH_MAX = 8,         /* bridges behind bridges */
    WINDOW_UNIT = 1 << 20, /* of a bridge's memory window */
    BAR_TYPE_MASK = 6,
    BAR_TYPE_64 = 4,
    NO_IO_WINDOW = 0x00f0, /* it ends before it starts */
    NO_PREFETCH_WINDOW = 0x0000fff0,
};

struct place {
    const struct pci_access *access;
    uint64_t at, end; /* what is left of the window */
    uint8_t last_bus; /* the highest number given out */
    unsigned depth, count;
    bool done_before; /* some BAR has an address */
    bool dry;         /* only look whether that is so */
};

static void walk_bus(struct place *p, uint8_t bus);

/* The low 4 GiB hold the window, so the upper half of a wide BAR is 0, as it has been. */
static void place_bar(struct place *p, const struct pci_function *fn, unsigned i)
{
    const struct pci_bar *bar = &fn->bar[i];

    if (bar->size == 0 || bar->io)
        return;
    p->done_before |= bar->base != 0;
    if (p->dry)
        return;
    const uint64_t at = (p->at + bar->size - 1) & ~(bar->size - 1);
    if (at < p->at || at > p->end || bar->size > p->end - at)
        return;
    pci_write32(fn, (uint8_t)(PCI_BAR0 + 4 * i), (uint32_t)at);
    p->at = at + bar->size;
    p->count++;
}

/* Everything behind a bridge lies in one window of whole MiB, and in one run of bus numbers. */
static void walk_bridge(struct place *p, const struct pci_function *fn)
{
    if (p->depth == DEPTH_MAX || p->last_bus == BUS_LAST)
        return;
    if (p->dry) {
        const uint8_t behind = pci_read8(fn, PCI_SECONDARY_BUS);
        p->done_before |= behind != 0;
        return;
    }
    const uint8_t behind = ++p->last_bus;
    const uint64_t start = size_round_up(p->at, WINDOW_UNIT);
    pci_write32(fn, PCI_BUS_NUMBERS, fn->bus | (uint32_t)behind << 8 | (uint32_t)BUS_LAST << 16);
    p->at = start;
    p->depth++;
    walk_bus(p, behind);
    p->depth--;
    pci_write32(fn, PCI_BUS_NUMBERS, fn->bus | (uint32_t)behind << 8 | (uint32_t)p->last_bus << 16);
    pci_write16(fn, PCI_IO_WINDOW, NO_IO_WINDOW);
    pci_write32(fn, PCI_PREFETCH_WINDOW, NO_PREFETCH_WINDOW);
    if (p->at == start)
        return;
    p->at = size_round_up(p->at, WINDOW_UNIT);
    pci_write32(fn, PCI_MEMORY_WINDOW,
                (uint32_t)(start >> 16 & 0xfff0) | (uint32_t)((p->at - 1) & 0xfff00000));
    pci_command(fn, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
}

static void walk_function(struct place *p, struct pci_function *fn, uint8_t header)
{
    if (header == HEADER_BRIDGE) {
        walk_bridge(p, fn);
        return;
    }
    if (header != 0)
        return;
    pci_size_bars(fn);
    for (unsigned i = 0; i < PCI_BARS; i++)
        place_bar(p, fn, i);
}

static void walk_bus(struct place *p, uint8_t bus)
{
    for (uint8_t slot = 0; slot < SLOTS; slot++) {
        unsigned functions = 1;
        for (uint8_t i = 0; i < functions; i++) {
            struct pci_function fn = {.access = p->access, .bus = bus, .slot = slot, .fn = i};
            const uint16_t vendor = pci_read16(&fn, PCI_VENDOR);
            if (vendor == NO_VENDOR || vendor == 0)
                continue;
            const uint8_t header = pci_read8(&fn, PCI_HEADER_TYPE);
            if (i == 0 && (header & HEADER_MULTIFUNCTION))
                functions = FUNCTIONS;
            walk_function(p, &fn, header & (uint8_t)~HEADER_MULTIFUNCTION);
        }
    }
}

unsigned pci_place_bars(const struct pci_access *access, uint64_t base, uint64_t len)
{
    struct place p = {.access = access, .at = base, .end = base + len, .dry = true};

    if (base == 0 || base > UINT32_MAX || len > UINT32_MAX + 1ull - base)
        return 0;
    walk_bus(&p, 0);
    if (p.done_before)
        return 0;
    p.dry = false;
    walk_bus(&p, 0);
    return p.count;
}
