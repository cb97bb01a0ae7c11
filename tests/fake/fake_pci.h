/*
 * A PCI bus made of C: configuration space behind ports 0xCF8/0xCFC, BARs that answer on the host's bus (tests/host/
 * support/bus.h) where they are put and while they are decoded, bridges, MSI-X. PCI Local Bus 3.0, chapter 6.
 *
 * It obeys the specification; a test makes it lie by writing into config[] or writable[] directly. It watches the
 * driver: what breaks a rule is counted in `violations`, with the last one in words.
 */
#ifndef TESTS_FAKE_PCI_H
#define TESTS_FAKE_PCI_H

#include "lib/types.h"
#include "tests/host/support/bus.h"

enum { FAKE_PCI_FUNCTIONS = 16, FAKE_PCI_BARS = 6, FAKE_MSIX_MAX = 64 };

struct fake_pci_fn;

struct fake_pci_bar {
    uint64_t size; /* bytes, a power of two; 0 = none */
    bool io, wide; /* in port space; 64 bits, taking the next slot as well */
    uint32_t (*read)(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes);
    void (*write)(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes, uint32_t v);
    struct fake_pci_fn *fn; /* internal */
    bool attached;
};

struct fake_msix_entry {
    uint32_t address_low, address_high, data, control;
};

struct fake_pci_fn {
    uint8_t bus, slot, fn;
    uint8_t config[256];
    uint8_t writable[256]; /* bits that a write changes */
    struct fake_pci_bar bar[FAKE_PCI_BARS];
    uint8_t last_capability; /* offset of the newest; 0 = none */
    uint8_t next_free;       /* where the next one goes */
    bool gone;               /* unplugged: every read gives ones, BARs answer no more */

    uint8_t msix_cap; /* 0 = no MSI-X */
    uint8_t msix_bar;
    uint32_t msix_offset;
    struct fake_msix_entry msix[FAKE_MSIX_MAX];
    uint16_t msix_count;

    /* What else an access to configuration space does. False: nothing, it is an ordinary one. May be NULL. */
    bool (*hook_read)(struct fake_pci_fn *fn, unsigned at, unsigned bytes, uint32_t *value);
    bool (*hook_write)(struct fake_pci_fn *fn, unsigned at, unsigned bytes, uint32_t value);

    struct fake_pci *machine; /* set by fake_pci_add() */
    void *owner;              /* for the device behind the BARs */
};

struct fake_pci {
    uint32_t address; /* as last written to 0xCF8 */
    struct fake_pci_fn *fns[FAKE_PCI_FUNCTIONS];
    unsigned count;
    unsigned violations;
    const char *violation;
};

/* An empty machine: host bus, interrupts and log start afresh; the two ports answer. */
void fake_pci_init(struct fake_pci *machine);

/* The two ports answer no more, but memory at `base` does: 256 buses of configuration space (ECAM). */
void fake_pci_only_ecam(struct fake_pci *machine, uint64_t base);

/* A function with an ordinary header, not yet on a bus. */
void fake_pci_fn_init(struct fake_pci_fn *fn, uint8_t bus, uint8_t slot, uint8_t function,
                      uint16_t vendor, uint16_t device);

/* Make it a bridge to bus `secondary`; 0: nobody has numbered it yet. */
void fake_pci_make_bridge(struct fake_pci_fn *fn, uint8_t secondary);

/* Put it on the bus. */
void fake_pci_add(struct fake_pci *machine, struct fake_pci_fn *fn);

/* Pull it out. */
void fake_pci_unplug(struct fake_pci_fn *fn);

/* Firmware's part of BAR i, whose size, io, wide, read and write have been set: place it. base 0 = no address. */
void fake_pci_place_bar(struct fake_pci_fn *fn, unsigned i, uint64_t base);

/* Append a capability: id, link, then `bytes` of body. Returns its offset. */
uint8_t fake_pci_capability(struct fake_pci_fn *fn, uint8_t id, const void *body, uint8_t bytes);

/*
 * MSI-X with `count` entries in BAR `bar` at `offset`. The table is answered by fake_msix_read/write, which a BAR's
 * own functions call for offsets inside it.
 */
void fake_msix_init(struct fake_pci_fn *fn, uint16_t count, uint8_t bar, uint32_t offset);
uint32_t fake_msix_read(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes);
void fake_msix_write(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes, uint32_t v);

/* MSI-X is on. */
bool fake_msix_on(const struct fake_pci_fn *fn);

/* Raise a vector. True when an interrupt was taken: MSI-X on, entry unmasked, its message known. */
bool fake_msix_raise(struct fake_pci_fn *fn, uint16_t vector);

/* Assert INTx. Returns the number of handlers called: 0 while it is off (§6.2.2) or MSI-X on. */
unsigned fake_pci_intx(struct fake_pci_fn *fn);

uint16_t fake_pci_get16(const struct fake_pci_fn *fn, uint8_t offset);
void fake_pci_put16(struct fake_pci_fn *fn, uint8_t offset, uint16_t v);
void fake_pci_put32(struct fake_pci_fn *fn, uint8_t offset, uint32_t v);

void fake_pci_violation(struct fake_pci_fn *fn, const char *what);

#endif
