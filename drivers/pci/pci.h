/*
 * PCI functions: find them, read their configuration space, size their BARs. PCI Local Bus 3.0, chapter 6.
 *
 * Nothing that a function says is trusted further than its 256 bytes of configuration space reach: capability
 * lists that loop just end, BARs that make no sense don't exist. Boot only.
 */
#ifndef DRIVERS_PCI_PCI_H
#define DRIVERS_PCI_PCI_H

#include "lib/types.h"

enum { PCI_BARS = 6, PCI_CONFIG_BYTES = 256 };

enum pci_register {
    PCI_VENDOR = 0x00,
    PCI_DEVICE = 0x02,
    PCI_COMMAND = 0x04,
    PCI_STATUS = 0x06,
    PCI_REVISION = 0x08,
    PCI_CLASS = 0x0a, /* 16 bits: sub-class, base class */
    PCI_HEADER_TYPE = 0x0e,
    PCI_BAR0 = 0x10,
    PCI_BUS_NUMBERS = 0x18, /* bridges: 32 bits; primary, secondary, subordinate, timer */
    PCI_SECONDARY_BUS = 0x19,
    PCI_IO_WINDOW = 0x1c,     /* bridges: 16 bits */
    PCI_MEMORY_WINDOW = 0x20, /* bridges: 32 bits; first and last MiB, in bits 15:4 and 31:20 */
    PCI_PREFETCH_WINDOW = 0x24,
    PCI_SUBSYSTEM = 0x2e,
    PCI_CAPABILITIES = 0x34,
    PCI_INTERRUPT_LINE = 0x3c,
};

enum pci_command {
    PCI_COMMAND_IO = 1 << 0,
    PCI_COMMAND_MEMORY = 1 << 1,
    PCI_COMMAND_MASTER = 1 << 2,
    PCI_COMMAND_NO_INTX = 1 << 10,
};

enum pci_capability_id { PCI_CAP_VENDOR = 0x09, PCI_CAP_MSIX = 0x11 };

struct pci_function;

/* How configuration space is reached. offset is aligned to bytes, which is 1, 2 or 4. */
struct pci_access {
    uint32_t (*read)(const struct pci_function *fn, uint16_t offset, unsigned bytes);
    void (*write)(const struct pci_function *fn, uint16_t offset, unsigned bytes, uint32_t value);
};

/* Configuration mechanism #1: ports 0xCF8 and 0xCFC (§3.2.2.3.2). */
extern const struct pci_access pci_ports;
bool pci_ports_present(void);

/* §6.2.5.1. size 0: no such BAR (also the upper half of a 64-bit one). base 0: firmware assigned nothing. */
struct pci_bar {
    uint64_t base, size; /* bytes; size a power of two, base a multiple of it */
    bool io;             /* port space instead of memory */
};

struct pci_function {
    const struct pci_access *access;
    uint8_t bus, slot, fn;
    uint16_t vendor, device, subsystem;
    uint8_t revision;
    uint8_t irq_line;             /* as firmware routed INTx to the PICs; 255 = not */
    struct pci_bar bar[PCI_BARS]; /* after pci_size_bars() */
    char where[12];               /* "00:03.0" */
};

/*
 * Call `found` for every function but bridges, in order of bus, slot and function, bridges' secondary buses
 * (as firmware numbered them) behind the bus they hang from. Each bus is visited once, so that
 * bridges pointing in a circle end. The function is `found`'s only during the call; its BARs aren't sized.
 */
void pci_scan(const struct pci_access *access,
              void (*found)(void *arg, const struct pci_function *fn), void *arg);

/* Configuration space at natural width. offset < PCI_CONFIG_BYTES, aligned. All ones when the function is gone. */
uint8_t pci_read8(const struct pci_function *fn, uint8_t offset);
uint16_t pci_read16(const struct pci_function *fn, uint8_t offset);
uint32_t pci_read32(const struct pci_function *fn, uint8_t offset);
void pci_write8(const struct pci_function *fn, uint8_t offset, uint8_t value);
void pci_write16(const struct pci_function *fn, uint8_t offset, uint16_t value);
void pci_write32(const struct pci_function *fn, uint8_t offset, uint32_t value);

/* Set and clear bits of the command register. */
void pci_command(const struct pci_function *fn, uint16_t set, uint16_t clear);

/* Where a walk through the capabilities is. All zeros: before the first. */
struct pci_cap_walk {
    uint8_t at, steps;
};

/*
 * The offset (0x40 …, a multiple of 4) of the next capability with this id, or 0 at the end. A list takes at
 * most 48 steps, then it loops and has ended; so do pointers below 0x40 (§6.7).
 */
uint8_t pci_next_capability(const struct pci_function *fn, struct pci_cap_walk *walk, uint8_t id);

/* Fill fn->bar. The function must not be in use: it doesn't decode addresses meanwhile. */
void pci_size_bars(struct pci_function *fn);

/*
 * [offset, offset + len) of a BAR, addressable. For memory BARs only.
 * NULL when that isn't inside the BAR, the BAR has no address, or it can't be mapped.
 */
volatile void *pci_map(const struct pci_function *fn, uint8_t bar, uint64_t offset, uint64_t len);

#endif
