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

bool virtio_pci_is_present(struct virtio_dev *dev)
{
    const struct pci_function *fn = &virtio_pci_of(dev)->fn;

    return pci_read16(fn, PCI_VENDOR) == fn->vendor;
}

static uint16_t type_of(const struct pci_function *fn)
{
    return fn->device >= VIRTIO_PCI_MODERN_FIRST ? (uint16_t)(fn->device - VIRTIO_PCI_MODERN_FIRST)
                                                 : fn->subsystem;
}

static bool lacks_address(const struct pci_function *fn)
{
    for (unsigned i = 0; i < PCI_BARS; i++) {
        if (fn->bar[i].size != 0 && fn->bar[i].base == 0)
            return true;
    }
    return false;
}

/* Registers in memory, then ports, then through configuration space: slow and without INTx, but a NIC. */
static int open_registers(struct virtio_pci *vp)
{
    if (virtio_pci_modern_open(vp) == 0 || virtio_pci_legacy_open(vp) == 0)
        return 0;
    vp->window = virtio_pci_find_window(&vp->fn);
    if (vp->window == 0 || virtio_pci_modern_open(vp))
        return -ENODEV;
    log_warn("virtio", "%s: its registers are reached through configuration space only",
             vp->dev.where);
    return 0;
}

int virtio_pci_open(struct virtio_pci *vp, const struct pci_function *fn)
{
    *vp = (struct virtio_pci){.fn = *fn, .irqs = VIRTIO_IRQ_NONE};
    vp->dev.irqs = "no interrupt";
    memcpy(vp->dev.where, fn->where, sizeof(fn->where));
    vp->dev.device_id = type_of(fn);
    pci_size_bars(&vp->fn);
    pci_command(&vp->fn, PCI_COMMAND_NO_INTX, 0); /* until somebody listens */

    if (open_registers(vp)) {
        log_error("virtio", "%s: its registers can't be reached%s", fn->where,
                  lacks_address(&vp->fn) ? ": firmware gave them no address" : "");
        return -ENODEV;
    }
    if (vp->window &&
        lacks_address(&vp->fn)) /* memory must not be decoded, and so no table reached */
        return 0;
    if (msix_open(&vp->msix, &vp->fn) == -EINVAL) /* without one, msix_add() says so */
        log_warn("virtio", "%s: its MSI-X table can't be reached and isn't used", fn->where);
    return 0;
}

/* ---- interrupts: each only tells on_event(), which sets flags ---- */

IRQ_CONTEXT static void queue_event(void *arg)
{
    struct virtio_pci *vp = arg;

    vp->on_event(vp->on_event_arg, false);
}

IRQ_CONTEXT static void config_event(void *arg)
{
    struct virtio_pci *vp = arg;

    vp->on_event(vp->on_event_arg, true);
}

/*
 * Reading the ISR also lowers the line (§4.1.4.5); 0 means that another function on it called. Not to be read while
 * MSI-X is in use (§4.1.5.4): a handler once attached stays, so it looks.
 */
IRQ_CONTEXT static void line_event(void *arg)
{
    struct virtio_pci *vp = arg;

    if (vp->irqs != VIRTIO_IRQ_LINE)
        return;
    const uint8_t isr = vp->dev.transport->read_isr(&vp->dev);
    if (isr)
        vp->on_event(vp->on_event_arg, (isr & VIRTIO_ISR_CONFIG) != 0);
}

/* Entry 0 is the configuration's, or everybody's; the others are queues'. Fill those that aren't yet. */
static int fill_entries(struct virtio_pci *vp, uint16_t count)
{
    while (vp->msix.filled < count) {
        const int entry =
            msix_add(&vp->msix, vp->msix.filled == 0 ? config_event : queue_event, vp);
        if (entry < 0)
            return entry;
    }
    return vp->msix.cap ? 0 : -ENOENT;
}

static int use_msix(struct virtio_pci *vp, enum virtio_irqs kind, uint16_t queue_count,
                    uint16_t *vectors)
{
    const uint16_t count = kind == VIRTIO_IRQ_PER_QUEUE ? (uint16_t)(1 + queue_count)
                           : kind == VIRTIO_IRQ_TWO     ? 2
                                                        : 1;
    const int err = fill_entries(vp, count);

    if (err)
        return err;
    /* On first: while it is off, the legacy interface's vector registers don't exist. */
    msix_enable(&vp->msix, count);
    vp->dev.msix = true;
    for (uint16_t i = 0; i < queue_count; i++)
        vectors[i] = kind == VIRTIO_IRQ_PER_QUEUE ? (uint16_t)(1 + i) : (uint16_t)(count - 1);
    snprintf(vp->irqs_text, sizeof(vp->irqs_text), "msi-x %u", (unsigned)count);
    vp->dev.irqs = vp->irqs_text;
    return vp->dev.transport->config_vector(&vp->dev, 0);
}

static int use_line(struct virtio_pci *vp)
{
    if (vp->window) /* the ISR can't be read there without disturbing the poll loop */
        return -ENOENT;
    if (!vp->line_attached) {
        const int err = irq_line_attach(vp->fn.irq_line, line_event, vp);
        if (err)
            return err;
    }
    vp->line_attached = true;
    vp->dev.irqs = "intx";
    pci_command(&vp->fn, 0, PCI_COMMAND_NO_INTX);
    return 0;
}

static void silence(struct virtio_pci *vp)
{
    pci_command(&vp->fn, PCI_COMMAND_NO_INTX, 0);
    msix_disable(&vp->msix);
    vp->dev.msix = false;
    vp->irqs = VIRTIO_IRQ_NONE;
    vp->dev.irqs = "no interrupt";
}

int virtio_pci_irqs(struct virtio_dev *dev, enum virtio_irqs kind, virtio_event *on_event,
                    void *arg, uint16_t queue_count, uint16_t *vectors)
{
    struct virtio_pci *vp = virtio_pci_of(dev);

    silence(vp);
    vp->on_event = on_event;
    vp->on_event_arg = arg;
    vp->irqs = kind;
    for (uint16_t i = 0; i < queue_count; i++)
        vectors[i] = VIRTIO_NO_VECTOR;
    int err = 0;
    if (kind == VIRTIO_IRQ_LINE)
        err = use_line(vp);
    else if (kind != VIRTIO_IRQ_NONE)
        err = use_msix(vp, kind, queue_count, vectors);
    if (err)
        silence(vp);
    return err;
}

void virtio_pci_close(struct virtio_dev *dev)
{
    struct virtio_pci *vp = virtio_pci_of(dev);

    silence(vp);
    pci_command(&vp->fn, 0, PCI_COMMAND_MASTER);
}
