/*
 * The PCI side of the fake virtio device: capabilities, registers, vectors, on a fake bus; what lies behind the
 * registers (status, features, rings, frames) is fake_vdev's. virtio 1.2 §4.1.
 *
 * Two kinds of lies: fake_vdev's own (fault in vdev.fault), and those of the registers, below. Rules that the driver
 * breaks are counted in vdev.violations and the machine's.
 */
#ifndef TESTS_FAKE_VPCI_H
#define TESTS_FAKE_VPCI_H

#include "tests/fake/fake_pci.h"
#include "tests/fake/fake_vdev.h"

enum fake_vpci_fault {
    FAKE_VPCI_HONEST,
    /* One capability, of type fault_type, can't be used: */
    FAKE_CAP_MISSING,
    FAKE_CAP_OUTSIDE_BAR,   /* its region ends behind the BAR */
    FAKE_CAP_OFFSET_WRAPS,  /* offset + length overflows 32 bits */
    FAKE_CAP_LENGTH_HUGE,   /* 4 GiB - 1 */
    FAKE_CAP_RESERVED_BAR,  /* BAR 6 */
    FAKE_CAP_OTHER_BAR,     /* one that doesn't exist */
    FAKE_CAP_IN_PORT_BAR,   /* BAR 0 in port space */
    FAKE_CAP_TOO_SHORT,     /* its own length leaves fields out */
    FAKE_CAP_REGION_SHORT,  /* the region is too small for its registers */
    FAKE_CAP_MISALIGNED,    /* at an odd offset (a fault for all but the ISR) */
    FAKE_CAP_LEAVES_CONFIG, /* the capability itself ends behind byte 255 */
    FAKE_CAP_LAST_FAULT = FAKE_CAP_LEAVES_CONFIG,
    /* Others: */
    FAKE_CAP_LOOP, /* the list has no end */
    FAKE_MSIX_TABLE_OUTSIDE,
    FAKE_VECTORS_REFUSED,   /* no vector is ever accepted */
    FAKE_VECTORS_ONE,       /* only vector 0 is */
    FAKE_VECTORS_TWO,       /* only vectors 0 and 1 are */
    FAKE_QUEUE_NOT_ENABLED, /* queue_enable, or the page number, stays 0 */
    FAKE_QUEUE_SIZE_STUCK,  /* the size can't be lowered, and doesn't say so */
    FAKE_QUEUES_FEWER,      /* num_queues is 1, whatever the queues themselves say */
    FAKE_NOTIFY_OUTSIDE,    /* queue_notify_off leads out of the register area */
    FAKE_CONFIG_TEARS,      /* legacy: the configuration differs at every read */
};

struct fake_vpci_setup {
    uint64_t features;
    uint16_t queue_size;
    bool modern, legacy; /* interfaces offered; both = transitional */
    bool legacy_in_memory;
    bool decoys;      /* unusable capabilities stand before the good ones */
    uint16_t vectors; /* MSI-X table; 0 = no MSI-X */
    uint64_t base;    /* of the modern BAR; 0 = FAKE_VPCI_BASE */
    bool no_address;  /* firmware has placed no memory BAR */
    bool window;      /* registers are reached through configuration space, too (§4.1.4.9) */
    uint32_t notify_multiplier;
    uint8_t slot;
    enum fake_vpci_fault fault;
    uint8_t fault_type; /* 1 … 4, for FAKE_CAP_* */
};

#define FAKE_VPCI_BASE 0xfe000000ull
enum {
    FAKE_VPCI_LEGACY_BAR = 0, /* I/O, or memory if asked for */
    FAKE_VPCI_MSIX_BAR = 1,
    FAKE_VPCI_MODERN_BAR =
        4, /* 64 bits, 16 KiB: registers at 0, ISR, configuration, doorbells every 4 KiB */
    FAKE_VPCI_PORT = 0xc000,
    FAKE_VPCI_NO_VECTOR = 0xffff,
};

struct fake_vpci_queue {
    uint16_t size, vector;
    bool enabled;
    uint64_t desc, driver, device;
    uint32_t page; /* legacy */
};

struct fake_vpci {
    struct fake_vdev vdev; /* what the device is, behind its registers; .fault for its lies */
    struct fake_pci_fn fn; /* and how it stands on the bus */
    struct fake_vpci_setup setup;

    uint32_t device_feature_select, driver_feature_select;
    uint64_t driver_features;
    uint16_t config_vector, queue_select;
    struct fake_vpci_queue queue[FAKE_QUEUES];
    uint8_t isr;
    unsigned isr_reads, config_reads, window_accesses;
    uint8_t window_cap;  /* 0 = none */
    unsigned interrupts; /* taken by somebody */
};

/* Put a device into a machine, at bus 0, ready for firmware's successor. */
void fake_vpci_init(struct fake_vpci *v, struct fake_pci *machine,
                    const struct fake_vpci_setup *setup);

/* The device's configuration has changed: its vector, or INTx with ISR bit 1. */
void fake_vpci_config_interrupt(struct fake_vpci *v);

/* ---- between the fake's files ---- */

uint32_t fake_vpci_modern_read(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes);
void fake_vpci_modern_write(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes, uint32_t v);
uint32_t fake_vpci_legacy_read(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes);
void fake_vpci_legacy_write(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes, uint32_t v);

void fake_vpci_set_status(struct fake_vpci *v, uint8_t status);
uint16_t fake_vpci_accept_vector(const struct fake_vpci *v, uint16_t vector);
uint8_t fake_vpci_read_isr(struct fake_vpci *v);
struct fake_vpci_queue *fake_vpci_selected(struct fake_vpci *v); /* NULL: no such queue */
uint16_t fake_vpci_queue_size(struct fake_vpci *v);
uint32_t fake_vpci_read_config(struct fake_vpci *v, uint64_t offset, unsigned bytes);
void fake_vpci_enable(struct fake_vpci *v);

#endif
