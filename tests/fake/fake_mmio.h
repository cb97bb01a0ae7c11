/*
 * The MMIO side of the fake virtio device: a page of registers on the host's bus and one interrupt line; what lies
 * behind them (status, features, rings, frames) is fake_vdev's. virtio 1.2 §4.2.
 *
 * Two kinds of lies, as with fake_vpci.h: fake_vdev's own in vdev.fault, those of the registers below. What breaks a
 * rule of the driver's is counted in vdev.violations.
 */
#ifndef TESTS_FAKE_MMIO_H
#define TESTS_FAKE_MMIO_H

#include "tests/fake/fake_vdev.h"

enum fake_mmio_fault {
    FAKE_MMIO_HONEST,
    FAKE_MMIO_NO_MAGIC,
    FAKE_MMIO_VERSION_0,
    FAKE_MMIO_VERSION_3,
    FAKE_MMIO_QUEUE_BUSY, /* QueueReady, or QueuePFN, isn't 0 before the driver has written it */
    FAKE_MMIO_QUEUE_NOT_READY, /* … and stays 0 afterwards */
    FAKE_MMIO_MAX_HUGE,        /* QueueNumMax has more than 16 bits, and the lower ones would do */
    FAKE_MMIO_LINE_STUCK,      /* InterruptStatus is never cleared */
    FAKE_MMIO_STATUS_ONES,     /* InterruptStatus reads as all ones */
};

#define FAKE_MMIO_BASE 0xfeb00000ull
enum { FAKE_MMIO_BYTES = 512, FAKE_MMIO_LINE = 5 };

struct fake_mmio_queue {
    uint32_t num, align, pfn;
    bool ready;
    uint32_t address[6]; /* desc, driver, device; low half first */
};

struct fake_mmio {
    struct fake_vdev vdev; /* .fault for its lies */
    enum fake_mmio_fault fault;
    uint32_t version, device_id;

    uint32_t device_features_sel, driver_features_sel, queue_sel, page_size;
    uint64_t driver_features;
    struct fake_mmio_queue queue[FAKE_QUEUES];
    uint32_t interrupt_status;
    uint64_t base;
    uint8_t line;
    unsigned interrupts; /* handlers called */
    unsigned config_reads;
};

/* Put a device on the bus, which has been reset: at FAKE_MMIO_BASE + n × FAKE_MMIO_BYTES, on line FAKE_MMIO_LINE. */
void fake_mmio_init(struct fake_mmio *m, unsigned n, uint32_t version, uint64_t features,
                    uint16_t queue_size);

/* The device's configuration has changed: bit 1 of its InterruptStatus, and its line. */
void fake_mmio_config_interrupt(struct fake_mmio *m);

#endif
