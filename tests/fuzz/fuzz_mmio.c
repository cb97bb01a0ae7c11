/*
 * Any values in the registers of a virtio-mmio device: opened, negotiated, set up, interrupted, reset. Every access must be
 * aligned and inside the place, and everything must come back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/virtio/mmio.h"
#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtqueue.h"
#include "lib/check.h"
#include "tests/host/support/bus.h"
#include "tests/host/support/irq.h"
#include "tests/host/support/net_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGES = 1024, QUEUES = 2, BASE = 0x10000, BYTES = 512, LINE = 5 };

static const uint8_t *script; /* what the device says next; zeros at the end */
static size_t left;
static uint32_t version;
static struct virtio_mmio vm;

static uint32_t next_bytes(unsigned bytes)
{
    uint32_t v = 0;
    const size_t take = left < bytes ? left : bytes;

    memcpy(&v, script, take);
    script += take;
    left -= take;
    return v;
}

/* What would only end the game is told truly. Status is often what it should be. */
static uint32_t reg_read(void *arg, uint64_t offset, unsigned bytes)
{
    (void)arg;
    ASSERT(offset % bytes == 0 && (bytes == 4 || offset >= VIRTIO_MMIO_CONFIG));
    if (offset == VIRTIO_MMIO_MAGIC)
        return VIRTIO_MMIO_MAGIC_VALUE;
    if (offset == VIRTIO_MMIO_VERSION)
        return version;
    if (offset == VIRTIO_MMIO_DEVICE_ID)
        return VIRTIO_TYPE_NET;
    return next_bytes(bytes);
}

static void reg_write(void *arg, uint64_t offset, unsigned bytes, uint32_t v)
{
    (void)arg;
    (void)v;
    ASSERT(bytes == 4 && offset % 4 == 0 && offset < VIRTIO_MMIO_CONFIG);
}

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

    if (virtio_negotiate(&vm.dev, UINT64_MAX, 0, NULL) ||
        vm.dev.transport->irqs(&vm.dev, VIRTIO_IRQ_LINE, ignore_event, NULL, QUEUES, vectors))
        return;
    virtio_config_read(&vm.dev, next_bytes(1), bytes, next_bytes(1) % (sizeof(bytes) + 2));
    for (uint16_t i = 0; i < QUEUES; i++) {
        if (vq_open(&vq[i], &vm.dev, i, 0, 1, vectors[i]) == 0)
            vm.dev.transport->notify(&vm.dev, i);
    }
    virtio_start(&vm.dev);
    host_irq_line(LINE);
    virtio_reset(&vm.dev);
    for (unsigned i = 0; i < QUEUES; i++)
        vq_close(&vq[i], NULL, NULL);
    vm.dev.transport->close(&vm.dev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct host_bus_ops ops = {reg_read, reg_write};
    static const struct virtio_mmio_place place = {
        .base = BASE, .len = BYTES, .gsi = LINE, .has_irq = true};

    if (size == 0)
        return 0;
    net_env_init(PAGES);
    host_bus_reset();
    host_irq_reset();
    host_bus_attach(false, BASE, BYTES, &ops, NULL);
    version = data[0] % 4;
    script = data + 1;
    left = size - 1;
    if (virtio_mmio_open(&vm, &place, VIRTIO_TYPE_NET) == 0)
        use();
    ASSERT(host_bus_strays() == 0);
    if (!net_env_clean())
        abort();
    return 0;
}
