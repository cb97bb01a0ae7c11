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

enum {
    VIRTIO_PCI_QUEUES_MAX = 129
}; /* with MQ, the control queue stands behind 64 pairs at most */

/* Registers that a capability names (§4.1.4). */
struct virtio_pci_region {
    volatile uint8_t *at; /* NULL while the window is used */
    uint32_t offset, len; /* bytes; len 0: not there */
    uint8_t bar;
    uint8_t cap; /* offset of the capability */
};

struct virtio_pci {
    struct virtio_dev dev;
    struct pci_function fn;
    struct msix msix;
    enum virtio_irqs irqs;
    virtio_event *on_event; /* in interrupt context */
    void *on_event_arg;
    bool line_attached;
    char irqs_text[16]; /* behind dev.irqs */

    /* modern */
    struct virtio_pci_region common, isr, config, notify;
    uint32_t notify_multiplier; /* bytes */
    uint8_t
        window; /* §4.1.4.9: the capability through which registers are reached; 0 = in memory */
    uint32_t doorbell[VIRTIO_PCI_QUEUES_MAX]; /* by queue, once it is set up: from notify's start */

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

/* Access registers at `offset` of a region, by their natural width of 1, 2 or 4 bytes. */
uint32_t virtio_pci_read(const struct virtio_pci *vp, const struct virtio_pci_region *region,
                         uint32_t offset, unsigned bytes);
void virtio_pci_write(const struct virtio_pci *vp, const struct virtio_pci_region *region,
                      uint32_t offset, unsigned bytes, uint32_t value);

/*
 * Find the first usable capability of that type: cap_bytes long at least, naming min_bytes at a multiple of align, in
 * memory that can be reached, or with vp->window in any BAR there is. len 0 in the answer: there is none.
 */
struct virtio_pci_need {
    uint8_t type, cap_bytes;
    uint32_t min_bytes, align;
};
struct virtio_pci_region virtio_pci_find(const struct virtio_pci *vp,
                                         const struct virtio_pci_need *need);

/* Find the window: the configuration access capability (§4.1.4.9). 0 = none. */
uint8_t virtio_pci_find_window(const struct pci_function *fn);

/* For both interfaces: configuration space still shows the function. */
bool virtio_pci_is_present(struct virtio_dev *dev);

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
