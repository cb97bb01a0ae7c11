/* Finds the NICs on PCI and starts each with the best interrupts that it and the machine have. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtio_pci.h"
#include "drivers/virtio_net/vnet.h"
#include "lib/log.h"

enum { QUEUES = 2 };

struct nic {
    struct virtio_pci pci;
    struct vnet vnet;
};

struct probe {
    struct netdev **out;
    size_t count, max;
    const struct opt_vnet *opt;
};

static struct nic nics[OPT_NICS_MAX];

IRQ_CONTEXT static void on_event(void *arg, bool config)
{
    vnet_interrupt(arg, config);
}

static int start_with(struct nic *n, enum virtio_pci_irqs kind, const struct opt_vnet *opt)
{
    uint16_t vectors[QUEUES];

    int err = vnet_negotiate(&n->vnet, &n->pci.dev, opt);
    if (err)
        return err;
    err = virtio_pci_irqs(&n->pci, kind, on_event, &n->vnet, QUEUES, vectors);
    if (err)
        return err;
    const struct vnet_vectors v = {.rx = vectors[VNET_RXQ], .tx = vectors[VNET_TXQ]};
    return vnet_start(&n->vnet, &v);
}

/* Errors that fewer or other interrupts may cure. Memory and features are not among them. */
static bool interrupts_may_be_why(int err)
{
    return err == -EIO || err == -ENOENT || err == -ENOSPC || err == -EINVAL;
}

static int start(struct nic *n, const struct opt_vnet *opt)
{
    int err = -EIO;

    for (int kind = VIRTIO_IRQ_PER_QUEUE; kind < VIRTIO_IRQ_KINDS; kind++) {
        err = start_with(n, (enum virtio_pci_irqs)kind, opt);
        if (!interrupts_may_be_why(err))
            break;
    }
    if (!err && n->pci.irqs == VIRTIO_IRQ_NONE)
        log_warn("vnet", "%s: no interrupt reaches it: it is polled every %d ms", n->vnet.net.name,
                 NETDEV_TICK_MS);
    return err;
}

static void found(void *arg, const struct pci_function *fn)
{
    struct probe *p = arg;

    if (!virtio_pci_match(fn, VIRTIO_TYPE_NET))
        return;
    if (p->count == p->max || p->count == OPT_NICS_MAX) {
        log_warn("vnet", "%s: one NIC more than the %zu that can be used", fn->where, p->count);
        return;
    }
    struct nic *n = &nics[p->count];

    if (virtio_pci_open(&n->pci, fn))
        return;
    memset(&n->vnet, 0, sizeof(n->vnet));
    snprintf(n->vnet.net.name, sizeof(n->vnet.net.name), "net%u", (unsigned)p->count);
    const int err = start(n, p->opt);
    if (err) {
        log_error("vnet", "%s: can't be started: %s", fn->where, strerror(-err));
        virtio_pci_close(&n->pci);
        return;
    }
    p->out[p->count++] = &n->vnet.net;
}

size_t vnet_probe_all(struct netdev **out, size_t max, const struct opt_vnet *opt)
{
    struct probe p = {.out = out, .max = max, .opt = opt};

    pci_scan(&pci_ports, found, &p);
    return p.count;
}
