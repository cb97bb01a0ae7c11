#include "drivers/virtio/mmio.h"

#include <errno.h>
#include <stdio.h>

#include "drivers/virtio/spec.h"
#include "lib/log.h"
#include "port/irq.h"
#include "port/mmio.h"

enum {
    PAGE_BYTES_LEGACY = 4096, /* unit of QueuePFN, and what the used ring is aligned to (§2.7.2) */
    EVENT_ROUNDS = 8,
};

static struct virtio_mmio *mmio_of(struct virtio_dev *dev)
{
    return CONTAINER_OF(dev, struct virtio_mmio, dev);
}

/* §4.2.2.2: 32 bits, aligned, whatever the register. */
static uint32_t reg_read(const struct virtio_mmio *vm, enum virtio_mmio_register reg)
{
    return mmio_read32(vm->regs + reg);
}

static void reg_write(const struct virtio_mmio *vm, enum virtio_mmio_register reg, uint32_t v)
{
    mmio_write32(vm->regs + reg, v);
}

/* ---- status, features, configuration ---- */

static uint8_t get_status(struct virtio_dev *dev)
{
    return (uint8_t)reg_read(mmio_of(dev), VIRTIO_MMIO_STATUS);
}

static void set_status(struct virtio_dev *dev, uint8_t status)
{
    reg_write(mmio_of(dev), VIRTIO_MMIO_STATUS, status);
}

static uint32_t device_features(const struct virtio_mmio *vm, uint32_t which)
{
    reg_write(vm, VIRTIO_MMIO_DEVICE_FEATURES_SEL, which);
    return reg_read(vm, VIRTIO_MMIO_DEVICE_FEATURES);
}

static uint64_t get_features(struct virtio_dev *dev)
{
    const struct virtio_mmio *vm = mmio_of(dev);
    const uint32_t low = device_features(vm, 0);

    return dev->transport->legacy ? low : low | (uint64_t)device_features(vm, 1) << 32;
}

static void set_features(struct virtio_dev *dev, uint64_t features)
{
    const struct virtio_mmio *vm = mmio_of(dev);

    reg_write(vm, VIRTIO_MMIO_DRIVER_FEATURES_SEL, 0);
    reg_write(vm, VIRTIO_MMIO_DRIVER_FEATURES, (uint32_t)features);
    if (dev->transport->legacy)
        return;
    reg_write(vm, VIRTIO_MMIO_DRIVER_FEATURES_SEL, 1);
    reg_write(vm, VIRTIO_MMIO_DRIVER_FEATURES, (uint32_t)(features >> 32));
}

static uint32_t config_generation(struct virtio_dev *dev)
{
    return dev->transport->legacy ? 0 : reg_read(mmio_of(dev), VIRTIO_MMIO_CONFIG_GENERATION);
}

static uint32_t read_config_field(void *arg, uint32_t offset, unsigned bytes)
{
    const volatile uint8_t *from =
        ((const struct virtio_mmio *)arg)->regs + VIRTIO_MMIO_CONFIG + offset;

    return bytes == 1 ? mmio_read8(from) : bytes == 2 ? mmio_read16(from) : mmio_read32(from);
}

static int config_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    struct virtio_mmio *vm = mmio_of(dev);

    if (offset > vm->config_len || len > vm->config_len - offset)
        return -ERANGE;
    virtio_read_fields(read_config_field, vm, offset, buf, len);
    return 0;
}

/* ---- queues ---- */

static uint16_t queue_max_size(struct virtio_dev *dev, uint16_t idx)
{
    const struct virtio_mmio *vm = mmio_of(dev);

    reg_write(vm, VIRTIO_MMIO_QUEUE_SEL, idx);
    const uint32_t max = reg_read(vm, VIRTIO_MMIO_QUEUE_NUM_MAX);
    return max <= UINT16_MAX ? (uint16_t)max : UINT16_MAX; /* which is no power of two */
}

static void write_address(const struct virtio_mmio *vm, enum virtio_mmio_register low,
                          dma_addr addr)
{
    reg_write(vm, low, (uint32_t)addr);
    reg_write(vm, low + 4, (uint32_t)(addr >> 32));
}

/* Select queue idx, which must not be in use yet (§4.2.3.2), and tell its size. */
static int begin_queue(const struct virtio_mmio *vm, uint16_t idx, uint16_t size,
                       enum virtio_mmio_register in_use)
{
    reg_write(vm, VIRTIO_MMIO_QUEUE_SEL, idx);
    if (reg_read(vm, in_use) != 0 || size > reg_read(vm, VIRTIO_MMIO_QUEUE_NUM_MAX))
        return -EIO;
    reg_write(vm, VIRTIO_MMIO_QUEUE_NUM, size);
    return 0;
}

static int queue_setup(struct virtio_dev *dev, uint16_t idx, const struct virtio_queue_mem *mem,
                       uint16_t vector)
{
    const struct virtio_mmio *vm = mmio_of(dev);

    (void)vector; /* there are none */
    const int err = begin_queue(vm, idx, mem->size, VIRTIO_MMIO_QUEUE_READY);
    if (err)
        return err;
    write_address(vm, VIRTIO_MMIO_QUEUE_DESC, mem->desc);
    write_address(vm, VIRTIO_MMIO_QUEUE_DRIVER, mem->driver);
    write_address(vm, VIRTIO_MMIO_QUEUE_DEVICE, mem->device);
    reg_write(vm, VIRTIO_MMIO_QUEUE_READY, 1);
    return reg_read(vm, VIRTIO_MMIO_QUEUE_READY) == 1 ? 0 : -EIO;
}

static int queue_setup_legacy(struct virtio_dev *dev, uint16_t idx,
                              const struct virtio_queue_mem *mem, uint16_t vector)
{
    const struct virtio_mmio *vm = mmio_of(dev);
    const dma_addr page = mem->desc / PAGE_BYTES_LEGACY;

    (void)vector;
    if (page == 0 || page > UINT32_MAX)
        return -ENOMEM;
    /* Before any queue is used, and a reset forgets it. */
    reg_write(vm, VIRTIO_MMIO_GUEST_PAGE_SIZE, PAGE_BYTES_LEGACY);
    const int err = begin_queue(vm, idx, mem->size, VIRTIO_MMIO_QUEUE_PFN);
    if (err)
        return err;
    reg_write(vm, VIRTIO_MMIO_QUEUE_ALIGN, PAGE_BYTES_LEGACY);
    reg_write(vm, VIRTIO_MMIO_QUEUE_PFN, (uint32_t)page);
    return reg_read(vm, VIRTIO_MMIO_QUEUE_PFN) == page ? 0 : -EIO;
}

static void notify(struct virtio_dev *dev, uint16_t idx)
{
    reg_write(mmio_of(dev), VIRTIO_MMIO_QUEUE_NOTIFY, idx);
}

/* ---- its interrupt ---- */

/* Acknowledges what was seen, and nothing else (§4.2.2.2): what comes meanwhile must interrupt again. */
IRQ_CONTEXT static uint8_t read_isr(struct virtio_dev *dev)
{
    const struct virtio_mmio *vm = mmio_of(dev);
    const uint32_t seen =
        reg_read(vm, VIRTIO_MMIO_INTERRUPT_STATUS) & (VIRTIO_ISR_QUEUE | VIRTIO_ISR_CONFIG);

    if (seen)
        reg_write(vm, VIRTIO_MMIO_INTERRUPT_ACK, seen);
    return (uint8_t)seen;
}

/*
 * Until nothing is left: an edge-triggered line that stays up says nothing more. A device that never lowers
 * it is left to the next interrupt, or to the tick. Other devices may share the line.
 */
IRQ_CONTEXT static void line_event(void *arg)
{
    struct virtio_mmio *vm = arg;

    if (vm->irqs != VIRTIO_IRQ_LINE)
        return;
    for (int i = 0; i < EVENT_ROUNDS; i++) {
        const uint8_t isr = read_isr(&vm->dev);
        if (!isr)
            return;
        vm->on_event(vm->on_event_arg, (isr & VIRTIO_ISR_CONFIG) != 0);
    }
}

static int use_line(struct virtio_mmio *vm)
{
    int err = 0;

    if (!vm->attached)
        err = vm->place.has_irq ? irq_gsi_attach(vm->place.gsi, vm->place.how, line_event, vm)
                                : -ENOENT;
    vm->attached |= !err;
    return err;
}

static int irqs(struct virtio_dev *dev, enum virtio_irqs kind, virtio_event *on_event, void *arg,
                uint16_t queue_count, uint16_t *vectors)
{
    struct virtio_mmio *vm = mmio_of(dev);

    vm->irqs = VIRTIO_IRQ_NONE;
    dev->irqs = "no interrupt";
    if (kind < VIRTIO_IRQ_LINE)
        return -ENOENT;
    vm->on_event = on_event;
    vm->on_event_arg = arg;
    for (uint16_t i = 0; i < queue_count; i++)
        vectors[i] = VIRTIO_NO_VECTOR;
    const int err = kind == VIRTIO_IRQ_LINE ? use_line(vm) : 0;
    if (err)
        return err;
    vm->irqs = kind;
    if (kind == VIRTIO_IRQ_LINE)
        dev->irqs = "line";
    return 0;
}

/* Not reached by anybody: there are no vectors, as irqs() has said. */
static int config_vector(struct virtio_dev *dev, uint16_t vector)
{
    (void)dev;
    return vector == VIRTIO_NO_VECTOR ? 0 : -EIO;
}

static void close_device(struct virtio_dev *dev)
{
    mmio_of(dev)->irqs = VIRTIO_IRQ_NONE;
}

static const struct virtio_transport version2 = {
    .name = "mmio",
    .get_status = get_status,
    .set_status = set_status,
    .get_features = get_features,
    .set_features = set_features,
    .config_generation = config_generation,
    .config_read = config_read,
    .queue_max_size = queue_max_size,
    .queue_setup = queue_setup,
    .notify = notify,
    .read_isr = read_isr,
    .config_vector = config_vector,
    .irqs = irqs,
    .close = close_device,
};

static const struct virtio_transport version1 = {
    .name = "mmio legacy",
    .legacy = true,
    .get_status = get_status,
    .set_status = set_status,
    .get_features = get_features,
    .set_features = set_features,
    .config_generation = config_generation,
    .config_read = config_read,
    .queue_max_size = queue_max_size,
    .queue_setup = queue_setup_legacy,
    .notify = notify,
    .read_isr = read_isr,
    .config_vector = config_vector,
    .irqs = irqs,
    .close = close_device,
};

/* ---- finding it ---- */

static int refuse(const struct virtio_mmio *vm, const char *why, uint32_t value)
{
    log_error("virtio", "%s: %s (%#x)", vm->dev.where, why, (unsigned)value);
    return -ENODEV;
}

/* §4.2.3.1.1: magic, then version, then device ID; anything else is not to be touched. */
static int identify(struct virtio_mmio *vm, uint16_t type)
{
    const uint32_t magic = reg_read(vm, VIRTIO_MMIO_MAGIC);
    if (magic != VIRTIO_MMIO_MAGIC_VALUE)
        return refuse(vm, "no virtio device is there", magic);
    const uint32_t version = reg_read(vm, VIRTIO_MMIO_VERSION);
    if (version != 1 && version != 2)
        return refuse(vm, "a version of virtio-mmio that isn't known", version);
    vm->dev.transport = version == 2 ? &version2 : &version1;
    const uint32_t id = reg_read(vm, VIRTIO_MMIO_DEVICE_ID);
    if (id != type)
        return -ENOENT;
    vm->dev.device_id = (uint16_t)id;
    return 0;
}

int virtio_mmio_open(struct virtio_mmio *vm, const struct virtio_mmio_place *place, uint16_t type)
{
    *vm = (struct virtio_mmio){.place = *place, .irqs = VIRTIO_IRQ_NONE};
    vm->dev.irqs = "no interrupt";
    snprintf(vm->dev.where, sizeof(vm->dev.where), "%llx", (unsigned long long)place->base);
    if (place->len < VIRTIO_MMIO_CONFIG || place->len > UINT32_MAX || place->base % 4 != 0)
        return refuse(vm, "no room for virtio-mmio's registers", (uint32_t)place->len);
    vm->regs = mmio_map(place->base, place->len);
    if (!vm->regs)
        return refuse(vm, "its registers can't be reached", (uint32_t)place->len);
    vm->config_len = (uint32_t)place->len - VIRTIO_MMIO_CONFIG;
    return identify(vm, type);
}
