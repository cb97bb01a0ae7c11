#include "drivers/virtio/virtio_pci.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/virtio/spec.h"
#include "lib/log.h"

bool virtio_pci_match(const struct pci_function *fn, uint16_t type)
{
    if (fn->vendor != VIRTIO_PCI_VENDOR)
        return false;
    if (fn->device >= VIRTIO_PCI_MODERN_FIRST && fn->device <= VIRTIO_PCI_MODERN_LAST)
        return fn->device - VIRTIO_PCI_MODERN_FIRST == type;
    return fn->device >= VIRTIO_PCI_TRANSITIONAL_FIRST &&
           fn->device <= VIRTIO_PCI_TRANSITIONAL_LAST && fn->subsystem == type;
}

int virtio_pci_open(struct virtio_pci *vp, const struct pci_function *fn)
{
    *vp = (struct virtio_pci){.fn = *fn, .irqs = VIRTIO_IRQ_NONE};
    memcpy(vp->dev.where, fn->where, sizeof(fn->where));

    if (virtio_pci_modern_open(vp) == 0)
        return 0;
    const bool transitional = fn->device <= VIRTIO_PCI_TRANSITIONAL_LAST;
    if (virtio_pci_legacy_open(vp) == 0)
        return 0;
    log_error("virtio", "%s: %s", fn->where,
              transitional ? "neither its modern nor its legacy registers can be reached"
                           : "its registers can't be reached (BAR not assigned, or out of reach)");
    return -ENODEV;
}

/* ---- interrupts: each only tells on_event(), which sets flags ---- */

static void queue_event(void *arg)
{
    struct virtio_pci *vp = arg;

    vp->on_event(vp->on_event_arg, false);
}

static void config_event(void *arg)
{
    struct virtio_pci *vp = arg;

    vp->on_event(vp->on_event_arg, true);
}

/* Reading the ISR also lowers the line (§4.1.4.5); 0 means that another function on it called. */
static void line_event(void *arg)
{
    struct virtio_pci *vp = arg;
    const uint8_t isr = vp->dev.transport->read_isr(&vp->dev);

    if (isr)
        vp->on_event(vp->on_event_arg, (isr & VIRTIO_ISR_CONFIG) != 0);
}

/* One for the configuration first (unless shared), then the queues'. */
static int add_vectors(struct virtio_pci *vp, enum virtio_pci_irqs kind, uint16_t queue_count,
                       uint16_t *vectors)
{
    int vector = msix_add(&vp->msix, config_event, vp);

    for (uint16_t i = 0; i < queue_count && vector >= 0; i++) {
        if (kind == VIRTIO_IRQ_PER_QUEUE || (kind == VIRTIO_IRQ_TWO && i == 0))
            vector = msix_add(&vp->msix, queue_event, vp);
        vectors[i] = (uint16_t)vector;
    }
    return vector < 0 ? vector : 0;
}

static int use_msix(struct virtio_pci *vp, enum virtio_pci_irqs kind, uint16_t queue_count,
                    uint16_t *vectors)
{
    int err = msix_open(&vp->msix, &vp->fn);

    if (!err)
        err = add_vectors(vp, kind, queue_count, vectors);
    if (err) {
        msix_close(&vp->msix);
        return err;
    }
    /* On first: while it is off, the legacy interface's vector registers don't exist. */
    msix_enable(&vp->msix);
    vp->dev.msix = true;
    return vp->dev.transport->config_vector(&vp->dev, 0);
}

static int use_line(struct virtio_pci *vp)
{
    int err = 0;

    if (!vp->line_attached)
        err = irq_line_attach(vp->fn.irq_line, line_event, vp);
    if (err)
        return err;
    vp->line_attached = true;
    pci_command(&vp->fn, 0, PCI_COMMAND_NO_INTX);
    return 0;
}

int virtio_pci_irqs(struct virtio_pci *vp, enum virtio_pci_irqs kind,
                    void (*on_event)(void *arg, bool config), void *arg, uint16_t queue_count,
                    uint16_t *vectors)
{
    vp->on_event = on_event;
    vp->on_event_arg = arg;
    vp->irqs = kind;
    msix_close(&vp->msix);
    vp->dev.msix = false;
    for (uint16_t i = 0; i < queue_count; i++)
        vectors[i] = VIRTIO_NO_VECTOR;
    if (kind == VIRTIO_IRQ_NONE)
        return 0;
    return kind == VIRTIO_IRQ_LINE ? use_line(vp) : use_msix(vp, kind, queue_count, vectors);
}

const char *virtio_pci_irqs_text(const struct virtio_pci *vp)
{
    static const char *const texts[VIRTIO_IRQ_KINDS] = {
        "msi-x, a vector each", "msi-x, 2 vectors", "msi-x, 1 vector", "intx",
        "no interrupt (the tick polls)"};

    return texts[vp->irqs];
}

void virtio_pci_close(struct virtio_pci *vp)
{
    msix_close(&vp->msix);
    vp->dev.msix = false;
    pci_command(&vp->fn, PCI_COMMAND_NO_INTX, PCI_COMMAND_MASTER);
}
