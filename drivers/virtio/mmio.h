/*
 * A virtio device whose registers lie in memory, without a bus: as on small hypervisors. virtio 1.2 §4.2.
 *
 * Version 2 is the one of the specification, version 1 ("legacy", §4.2.4) what QEMU offers unless told otherwise. Such a device
 * can't be discovered; the command line or ACPI says where it is. It has one interrupt for everything.
 */
#ifndef DRIVERS_VIRTIO_MMIO_H
#define DRIVERS_VIRTIO_MMIO_H

#include "drivers/virtio/device.h"

struct virtio_mmio_place {
    uint64_t base, len; /* bytes */
    uint32_t gsi;
    bool has_irq;
    unsigned how; /* enum irq_how */
};

struct virtio_mmio {
    struct virtio_dev dev;
    struct virtio_mmio_place place;
    volatile uint8_t *regs;
    uint32_t config_len; /* bytes behind the registers */
    enum virtio_irqs irqs;
    virtio_event *on_event; /* in interrupt context */
    void *on_event_arg;
    bool attached; /* to its line, for good */
};

/*
 * Make vm->dev ready for virtio_negotiate() if a device of that type (VIRTIO_TYPE_…) is there.
 *
 * Returns 0; -ENOENT, silently, when the place is empty (device ID 0, §4.2.3.1.1) or holds another type; -ENODEV, in
 * one log line, when what is there is no virtio device or can't be reached. vm must not move afterwards, and lives
 * for good: the interrupt handler keeps its address.
 */
int virtio_mmio_open(struct virtio_mmio *vm, const struct virtio_mmio_place *place, uint16_t type);

#endif
