/*
 * A virtio device on PCI: choose the transport, wire up interrupts. virtio 1.2 §4.1.
 *
 * A transitional device is driven through its modern interface when that can be reached, else through the legacy one;
 * a console line says which. Boot only, except for the transport's own functions.
 */
#ifndef DRIVERS_VIRTIO_VIRTIO_PCI_H
#define DRIVERS_VIRTIO_VIRTIO_PCI_H

#include "drivers/pci/msix.h"
#include "drivers/pci/pci.h"
#include "drivers/virtio/device.h"

struct virtio_pci_common_cfg;

enum { VIRTIO_PCI_QUEUES_MAX = 8 };

/* How a device's events reach us; each next one works with less. */
enum virtio_pci_irqs {
    VIRTIO_IRQ_PER_QUEUE, /* MSI-X: configuration, and each queue its own */
    VIRTIO_IRQ_TWO,       /* MSI-X: configuration, and one for all queues */
    VIRTIO_IRQ_SHARED,    /* MSI-X: one for everything */
    VIRTIO_IRQ_LINE,      /* INTx */
    VIRTIO_IRQ_NONE,      /* nothing works: the poll loop's tick looks */
    VIRTIO_IRQ_KINDS
};

struct virtio_pci {
    struct virtio_dev dev;
    struct pci_function fn;
    struct msix msix;
    enum virtio_pci_irqs irqs;
    void (*on_event)(void *arg, bool config); /* in interrupt context */
    void *on_event_arg;
    bool line_attached;
    char irqs_text[16]; /* behind dev.irqs */

    /* modern: registers, mapped; lengths in bytes */
    volatile struct virtio_pci_common_cfg *common;
    volatile uint8_t *isr, *config, *notify;
    uint32_t config_len, notify_len, notify_multiplier;
    volatile void *doorbell[VIRTIO_PCI_QUEUES_MAX]; /* by queue, once it is set up */

    /* legacy: ports, or the same registers in memory */
    uint16_t port;
    volatile uint8_t *memory;
};

/* True for a virtio device of this type (VIRTIO_TYPE_…), whatever its interface. */
bool virtio_pci_match(const struct pci_function *fn, uint16_t type);

/*
 * Make vp->dev ready for virtio_negotiate(); no interrupts yet. Copies *fn and sizes its BARs. Returns 0; -ENODEV
 * when neither interface can be reached (one log line). vp must not move afterwards, and lives for good:
 * interrupt handlers keep its address.
 */
int virtio_pci_open(struct virtio_pci *vp, const struct pci_function *fn);

/*
 * Set up interrupts of one kind, before queue_setup(). Call after virtio_reset() or virtio_negotiate(), not before:
 * a reset forgets vectors.
 *
 *   on_event     called in interrupt context for every event; config: the configuration may have changed, too
 *   vectors      receives what queue_setup() wants for each of queue_count queues
 *
 * Returns 0; -ENOENT or -EINVAL when the function has no such kind; -ENOSPC, -EIO when the device or CPU refuses it.
 * After an error, or when queue_setup() refuses a vector, try the next kind: what was taken is used again.
 */
int virtio_pci_irqs(struct virtio_pci *vp, enum virtio_pci_irqs kind,
                    void (*on_event)(void *arg, bool config), void *arg, uint16_t queue_count,
                    uint16_t *vectors);

/* No more interrupts, no more access to memory. The device should have been reset. */
void virtio_pci_close(struct virtio_pci *vp);

/* ---- between the files of this transport ---- */

/* For both interfaces: configuration space still shows the function. */
bool virtio_pci_is_present(struct virtio_dev *dev);

/* Find and map the modern registers. 0, or -ENODEV. */
int virtio_pci_modern_open(struct virtio_pci *vp);
int virtio_pci_legacy_open(struct virtio_pci *vp);

static inline struct virtio_pci *virtio_pci_of(struct virtio_dev *dev)
{
    return CONTAINER_OF(dev, struct virtio_pci, dev);
}

#endif
