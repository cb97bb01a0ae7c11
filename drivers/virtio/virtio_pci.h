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

struct virtio_pci {
    struct virtio_dev dev;
    struct pci_function fn;
    struct msix msix;
    enum virtio_irqs irqs;
    virtio_event *on_event; /* in interrupt context */
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

/* ---- between the files of this transport ---- */

/* Find and map the modern registers. 0, or -ENODEV. */
int virtio_pci_modern_open(struct virtio_pci *vp);
int virtio_pci_legacy_open(struct virtio_pci *vp);

/* The transport's operations that both share: irqs and close of struct virtio_transport. */
int virtio_pci_irqs(struct virtio_dev *dev, enum virtio_irqs kind, virtio_event *on_event,
                    void *arg, uint16_t queue_count, uint16_t *vectors);
void virtio_pci_close(struct virtio_dev *dev);

static inline struct virtio_pci *virtio_pci_of(struct virtio_dev *dev)
{
    return CONTAINER_OF(dev, struct virtio_pci, dev);
}

#endif
