/* Finds the NICs on PCI and in memory, and starts each with the best interrupts that it and the machine have. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/virtio/mmio.h"
#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtio_pci.h"
#include "drivers/virtio_net/vnet.h"
#include "lib/log.h"

enum { QUEUES = 2 };

struct nic {
    union { /* by its bus; they live and die with their virtio_dev */
        struct virtio_pci pci;
        struct virtio_mmio mmio;
    };
    struct virtio_dev *dev; /* in there */
    struct vnet vnet;
};

struct probe {
    struct netdev **out;
    size_t count, max;
    const struct options *opt;
};

static struct nic nics[OPT_NICS_MAX];

IRQ_CONTEXT static void on_event(void *arg, bool config)
{
    vnet_interrupt(arg, config);
}

static int start_with(struct nic *n, enum virtio_irqs kind, const struct opt_vnet *opt)
{
    uint16_t vectors[QUEUES];

    int err = vnet_negotiate(&n->vnet, n->dev, opt);
    if (err)
        return err;
    err = n->dev->transport->irqs(n->dev, kind, on_event, &n->vnet, QUEUES, vectors);
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
    int kind = VIRTIO_IRQ_PER_QUEUE;

    for (; kind < VIRTIO_IRQ_KINDS; kind++) {
        err = start_with(n, (enum virtio_irqs)kind, opt);
        if (!interrupts_may_be_why(err))
            break;
    }
    if (!err && kind == VIRTIO_IRQ_NONE)
        log_warn("vnet", "%s: no interrupt reaches it: it is polled every %d ms", n->vnet.net.name,
                 NETDEV_TICK_MS);
    return err;
}

/* A place for one more NIC, or NULL. */
static struct nic *next(const struct probe *p, const char *where)
{
    if (p->count < p->max && p->count < OPT_NICS_MAX)
        return &nics[p->count];
    log_warn("vnet", "%s: one NIC more than the %zu that can be used", where, p->count);
    return NULL;
}

static void add(struct probe *p, struct nic *n, struct virtio_dev *dev)
{
    n->dev = dev;
    memset(&n->vnet, 0, sizeof(n->vnet));
    snprintf(n->vnet.net.name, sizeof(n->vnet.net.name), "net%u", (unsigned)p->count);
    n->vnet.net.vlan_id = p->opt->nic[p->count].vlan;
    const int err = start(n, &p->opt->vnet);
    if (err) {
        log_error("vnet", "%s: can't be started: %s", dev->where, strerror(-err));
        dev->transport->close(dev);
        return;
    }
    p->out[p->count++] = &n->vnet.net;
}

static void found(void *arg, const struct pci_function *fn)
{
    struct probe *p = arg;

    if (!virtio_pci_match(fn, VIRTIO_TYPE_NET))
        return;
    struct nic *n = next(p, fn->where);
    if (n && virtio_pci_open(&n->pci, fn) == 0)
        add(p, n, &n->pci.dev);
}

/* Places may be named twice, by the command line and by the firmware: the first word counts. */
static bool named_before(const struct virtio_mmio_place *places, size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (places[j].base == places[i].base)
            return true;
    }
    return false;
}

static void look_at(struct probe *p, const struct virtio_mmio_place *place)
{
    static struct virtio_mmio visitor; /* most places are empty, and take no NIC's */

    if (virtio_mmio_open(&visitor, place, VIRTIO_TYPE_NET))
        return;
    struct nic *n = next(p, visitor.dev.where);
    if (n && virtio_mmio_open(&n->mmio, place, VIRTIO_TYPE_NET) == 0)
        add(p, n, &n->mmio.dev);
}

size_t vnet_probe_all(struct netdev **out, size_t max, const struct options *opt,
                      const struct vnet_buses *buses)
{
    struct probe p = {.out = out, .max = max, .opt = opt};

    if (buses->pci)
        pci_scan(buses->pci, found, &p);
    for (size_t i = 0; i < buses->mmio_count; i++) {
        if (!named_before(buses->mmio, i))
            look_at(&p, &buses->mmio[i]);
    }
    return p.count;
}
