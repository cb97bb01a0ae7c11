/*
 * A PCI function that says anything: configuration space, sizes of BARs and every register's value come from the input.
 * It is found, opened, negotiated, wired up, closed. It may be refused; it may not crash or hang the driver, and
 * the driver may not touch a register outside the BARs that it has sized.
 *
 * The input's first 512 bytes are configuration space and which of its bits can be written; the rest are what
 * registers read as, in order, zeros at its end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtio_pci.h"
#include "drivers/virtio/virtqueue.h"
#include "tests/host/support/bus.h"
#include "tests/host/support/irq.h"
#include "tests/host/support/net_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGES = 1024, QUEUES = 2 };
enum { PORT_ADDRESS = 0xcf8, PORT_DATA = 0xcfc };

static struct virtio_pci vp;
static uint8_t config[PCI_CONFIG_BYTES], writable[PCI_CONFIG_BYTES];
static uint32_t config_address;
static const uint8_t *script;
static size_t left;

static uint32_t next_bytes(unsigned bytes)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < bytes && left; i++, left--)
        v |= (uint32_t)*script++ << 8 * i;
    return v;
}

/* ---- the machine ---- */

/* A register access must lie inside a BAR that the driver knows. */
static void check_inside(bool io, uint64_t addr, unsigned bytes)
{
    for (unsigned i = 0; i < PCI_BARS; i++) {
        const struct pci_bar *bar = &vp.fn.bar[i];
        if (bar->io == io && bar->base && addr >= bar->base && addr - bar->base < bar->size &&
            bytes <= bar->size - (addr - bar->base))
            return;
    }
    abort();
}

static uint32_t memory_read(void *arg, uint64_t addr, unsigned bytes)
{
    (void)arg;
    check_inside(false, addr, bytes);
    return next_bytes(bytes);
}

static void memory_write(void *arg, uint64_t addr, unsigned bytes, uint32_t v)
{
    (void)arg;
    (void)v;
    check_inside(false, addr, bytes);
}

static bool only_function_addressed(void)
{
    return (config_address & 0xffffff00) == (1u << 31 | 3u << 11);
}

static uint32_t port_read(void *arg, uint64_t port, unsigned bytes)
{
    const uint64_t at = (config_address & 0xfc) + port - PORT_DATA;
    uint32_t v = 0;

    (void)arg;
    if (port < PORT_ADDRESS || port >= PORT_DATA + 4) {
        check_inside(true, port, bytes);
        return next_bytes(bytes);
    }
    if (port < PORT_DATA || !only_function_addressed())
        return UINT32_MAX;
    memcpy(&v, config + at, bytes);
    return v;
}

static void port_write(void *arg, uint64_t port, unsigned bytes, uint32_t v)
{
    (void)arg;
    if (port == PORT_ADDRESS) {
        config_address = v;
    } else if (port < PORT_ADDRESS || port >= PORT_DATA + 4) {
        check_inside(true, port, bytes);
    } else if (only_function_addressed()) {
        const uint64_t at = (config_address & 0xfc) + port - PORT_DATA;
        for (unsigned i = 0; i < bytes; i++) {
            const uint8_t mask = writable[at + i], byte = (uint8_t)(v >> 8 * i);
            config[at + i] = (uint8_t)((config[at + i] & ~mask) | (byte & mask));
        }
    }
}

static void start_machine(const uint8_t *data, size_t size)
{
    static const struct host_bus_ops memory = {memory_read, memory_write};
    static const struct host_bus_ops ports = {port_read, port_write};
    static const uint8_t net_id[4] = {0xf4, 0x1a, 0x00, 0x10};

    net_env_init(PAGES);
    host_bus_reset();
    host_irq_reset();
    host_bus_attach(false, 0, UINT64_MAX, &memory, NULL);
    host_bus_attach(true, 0, 0x10000, &ports, NULL);
    memcpy(config, data, sizeof(config));
    memcpy(writable, data + sizeof(config), sizeof(writable));
    /* A network device, or nobody looks at the rest: modern if the input says so. */
    memcpy(config, net_id, sizeof(net_id));
    config[PCI_DEVICE] = data[0] & 1 ? 0x41 : 0x00;
    config[PCI_SUBSYSTEM] = 1;
    config[PCI_SUBSYSTEM + 1] = 0;
    script = data + 2 * PCI_CONFIG_BYTES;
    left = size - 2 * PCI_CONFIG_BYTES;
}

/* ---- the driver ---- */

static void ignore_event(void *arg, bool is_config)
{
    (void)arg;
    (void)is_config;
}

static void use(void)
{
    struct virtqueue vq[QUEUES] = {{0}};
    uint16_t vectors[QUEUES];
    uint8_t bytes[VIRTIO_CONFIG_READ_MAX];

    if (virtio_negotiate(&vp.dev, UINT64_MAX, 0, NULL))
        return;
    const unsigned kind = next_bytes(1) % VIRTIO_IRQ_KINDS;
    if (virtio_pci_irqs(&vp.dev, (enum virtio_irqs)kind, ignore_event, NULL, QUEUES, vectors))
        return;
    virtio_config_read(&vp.dev, next_bytes(1), bytes, next_bytes(1) % (sizeof(bytes) + 2));
    for (uint16_t i = 0; i < QUEUES; i++) {
        if (vq_open(&vq[i], &vp.dev, i, 0, 1, vectors[i]) == 0)
            vp.dev.transport->notify(&vp.dev, i);
    }
    virtio_start(&vp.dev);
    host_irq_line(vp.fn.irq_line);
    virtio_look(&vp.dev);
    virtio_reset(&vp.dev);
    for (unsigned i = 0; i < QUEUES; i++)
        vq_close(&vq[i], NULL, NULL);
}

static void found(void *arg, const struct pci_function *fn)
{
    (void)arg;
    if (!virtio_pci_match(fn, VIRTIO_TYPE_NET) || virtio_pci_open(&vp, fn))
        return;
    use();
    virtio_pci_close(&vp.dev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 * PCI_CONFIG_BYTES)
        return 0;
    start_machine(data, size);
    pci_scan(&pci_ports, found, NULL);
    if (!net_env_clean())
        abort();
    return 0;
}
