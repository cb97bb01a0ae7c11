/* A virtio device on the fake bus: its capabilities, vectors, and what both register layouts share. See fake_vpci.h. */
#include "tests/fake/fake_vpci.h"

#include <string.h>

enum {
    VENDOR = 0x1af4,
    CAP_VENDOR = 9,
    REGION = 0x1000, /* each of the four areas of the modern BAR */
    MODERN_BYTES = 4 * REGION,
    LEGACY_BYTES = 0x80,
    MSIX_BYTES = 0x1000,
    COMMON_BYTES = 0x38,
    CONFIG_BYTES = FAKE_CONFIG_BYTES,
};

/* ---- shared by the layouts ------------------------------------------------------------------- */

static void forget(struct fake_vpci *v)
{
    v->device_feature_select = v->driver_feature_select = 0;
    v->driver_features = 0;
    v->config_vector = FAKE_VPCI_NO_VECTOR;
    v->queue_select = 0;
    v->isr = 0;
    for (unsigned i = 0; i < FAKE_QUEUES; i++)
        v->queue[i] = (struct fake_vpci_queue){.vector = FAKE_VPCI_NO_VECTOR};
}

void fake_vpci_set_status(struct fake_vpci *v, uint8_t status)
{
    if (status == 0)
        forget(v);
    v->vdev.transport.set_status(&v->vdev.dev, status);
}

uint16_t fake_vpci_accept_vector(const struct fake_vpci *v, uint16_t vector)
{
    const unsigned most = v->setup.fault == FAKE_VECTORS_REFUSED ? 0
                          : v->setup.fault == FAKE_VECTORS_ONE   ? 1
                          : v->setup.fault == FAKE_VECTORS_TWO   ? 2
                                                                 : v->setup.vectors;

    return vector < most ? vector : FAKE_VPCI_NO_VECTOR;
}

uint8_t fake_vpci_read_isr(struct fake_vpci *v)
{
    const uint8_t isr = v->isr;

    if (fake_msix_on(&v->fn))
        fake_violation(&v->vdev, "the ISR was read while MSI-X is on (§4.1.5.4)");
    v->isr = 0;
    v->isr_reads++;
    return isr;
}

struct fake_vpci_queue *fake_vpci_selected(struct fake_vpci *v)
{
    return v->queue_select < FAKE_QUEUES ? &v->queue[v->queue_select] : NULL;
}

uint16_t fake_vpci_queue_size(struct fake_vpci *v)
{
    const struct fake_vpci_queue *q = fake_vpci_selected(v);

    return q && q->size ? q->size : v->vdev.transport.queue_max_size(&v->vdev.dev, v->queue_select);
}

uint32_t fake_vpci_read_config(struct fake_vpci *v, uint64_t offset, unsigned bytes)
{
    uint32_t value = 0;

    if (v->setup.fault == FAKE_CONFIG_TEARS)
        v->vdev.config[offset % CONFIG_BYTES]++;
    v->config_reads++;
    v->vdev.transport.config_read(&v->vdev.dev, (uint32_t)offset, &value, bytes);
    return value;
}

/* Hand the selected queue's rings to the device behind. */
void fake_vpci_enable(struct fake_vpci *v)
{
    struct fake_vpci_queue *q = fake_vpci_selected(v);

    if (v->setup.fault == FAKE_QUEUE_NOT_ENABLED)
        return;
    if (!q || q->enabled) {
        fake_violation(&v->vdev, "a queue was enabled that isn't there, or twice");
        return;
    }
    const struct virtio_queue_mem mem = {q->desc, q->driver, q->device, fake_vpci_queue_size(v)};
    q->enabled = v->vdev.transport.queue_setup(&v->vdev.dev, v->queue_select, &mem, q->vector) == 0;
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static void interrupt(struct fake_vpci *v, uint16_t vector, uint8_t isr)
{
    if (fake_msix_on(&v->fn)) {
        if (vector != FAKE_VPCI_NO_VECTOR)
            v->interrupts += fake_msix_raise(&v->fn, vector);
        return;
    }
    v->isr |= isr;
    v->interrupts += fake_pci_intx(&v->fn) != 0;
}

static void queue_interrupt(void *arg, uint16_t queue_idx)
{
    struct fake_vpci *v = arg;

    interrupt(v, v->queue[queue_idx].vector, 1);
}

void fake_vpci_config_interrupt(struct fake_vpci *v)
{
    interrupt(v, v->config_vector, 2);
}

/* ---- capabilities ---------------------------------------------------------------------------- */

struct cap {
    uint8_t len, type, bar, id, pad[2];
    uint32_t offset, length, multiplier;
} __attribute__((packed));

enum { CAP_BYTES = 16, CAP_NOTIFY = 2, CAP_NOTIFY_BYTES = 20, CAP_ISR = 3 };

static void spoil(struct fake_vpci *v, struct cap *cap)
{
    switch (v->setup.fault) {
    case FAKE_CAP_OUTSIDE_BAR:
        cap->offset = MODERN_BYTES - cap->length + 4;
        break;
    case FAKE_CAP_OFFSET_WRAPS:
        cap->offset = UINT32_MAX - 3;
        break;
    case FAKE_CAP_LENGTH_HUGE:
        cap->length = UINT32_MAX;
        break;
    case FAKE_CAP_RESERVED_BAR:
        cap->bar = 6;
        break;
    case FAKE_CAP_OTHER_BAR:
        cap->bar = FAKE_VPCI_MODERN_BAR + 1; /* the upper half */
        break;
    case FAKE_CAP_IN_PORT_BAR:
        cap->bar = FAKE_VPCI_LEGACY_BAR;
        cap->offset = 0;
        cap->length = cap->length < 0x40 ? cap->length : 0x40;
        break;
    case FAKE_CAP_TOO_SHORT:
        cap->len = cap->type == CAP_NOTIFY ? CAP_BYTES : CAP_BYTES - 4;
        break;
    case FAKE_CAP_REGION_SHORT:
        cap->length = cap->type == 1 ? COMMON_BYTES - 1 : cap->type == CAP_NOTIFY ? 1 : 0;
        break;
    case FAKE_CAP_MISALIGNED:
        cap->offset += 1;
        break;
    default:
        break;
    }
}

static void add_cap(struct fake_vpci *v, struct cap cap)
{
    const bool spoilt = v->setup.fault && cap.type == v->setup.fault_type;

    if (spoilt)
        spoil(v, &cap);
    if (spoilt && v->setup.fault == FAKE_CAP_MISSING)
        return;
    if (spoilt && v->setup.fault == FAKE_CAP_LEAVES_CONFIG)
        v->fn.next_free = 0xf4;
    uint8_t body[sizeof(cap)];
    memcpy(body, &cap, sizeof(cap));
    const uint8_t bytes = cap.type == CAP_NOTIFY ? CAP_NOTIFY_BYTES : CAP_BYTES;
    const uint8_t cut = v->fn.next_free > 256 - bytes ? (uint8_t)(256 - v->fn.next_free) : bytes;
    const uint8_t next = v->fn.next_free;
    fake_pci_capability(&v->fn, CAP_VENDOR, body, (uint8_t)(cut - 2));
    if (spoilt && v->setup.fault == FAKE_CAP_LEAVES_CONFIG)
        v->fn.next_free = (uint8_t)(next - 0x40); /* the others go before it */
}

/* What a driver must pass over: §4.1.4.1. */
static void add_decoys(struct fake_vpci *v)
{
    const uint8_t bar = FAKE_VPCI_MODERN_BAR;

    add_cap(v, (struct cap){CAP_BYTES, 0x42, bar, 0, {0}, 0, REGION, 0});  /* an unknown type */
    add_cap(v, (struct cap){CAP_BYTES, 1, 7, 0, {0}, 0, COMMON_BYTES, 0}); /* a reserved BAR */
    add_cap(v, (struct cap){CAP_BYTES, 1, bar, 0, {0}, 0, COMMON_BYTES - 1, 0});   /* too small */
    add_cap(v, (struct cap){CAP_BYTES, CAP_ISR, bar, 0, {0}, MODERN_BYTES, 1, 0}); /* outside */
}

static void add_window(struct fake_vpci *v);

static void add_caps(struct fake_vpci *v)
{
    const uint32_t multiplier = v->setup.notify_multiplier;
    const uint8_t bar = FAKE_VPCI_MODERN_BAR;

    if (v->setup.decoys)
        add_decoys(v);
    /* The second has a longer capability than we know: allowed (§4.1.4.1). */
    add_cap(v, (struct cap){CAP_BYTES, 1, bar, 0, {0}, 0, REGION, 0});
    add_cap(v, (struct cap){CAP_BYTES + 8, CAP_ISR, bar, 0, {0}, REGION, 1, 0});
    add_cap(v, (struct cap){CAP_BYTES, 4, bar, 0, {0}, 2 * REGION, CONFIG_BYTES, 0});
    add_cap(
        v, (struct cap){CAP_NOTIFY_BYTES, CAP_NOTIFY, bar, 0, {0}, 3 * REGION, REGION, multiplier});
    if (v->setup.window)
        add_window(v);
}

/* ---- the window: §4.1.4.9 --------------------------------------------------------------------- */

enum { CAP_WINDOW = 5, WINDOW_BAR = 4, WINDOW_OFFSET = 8, WINDOW_LENGTH = 12, WINDOW_DATA = 16 };

static uint32_t window_word(const struct fake_vpci *v, unsigned field)
{
    uint32_t word;

    memcpy(&word, v->fn.config + v->window_cap + field, sizeof(word));
    return word;
}

/* What the data field stands for, if this access is one of it. */
static bool in_window(struct fake_vpci *v, unsigned at, unsigned bytes)
{
    const unsigned data = v->window_cap + (unsigned)WINDOW_DATA;

    if (v->window_cap == 0 || at < data || at >= data + 4)
        return false;
    v->window_accesses++;
    if (at == data && bytes == window_word(v, WINDOW_LENGTH) &&
        window_word(v, WINDOW_OFFSET) % bytes == 0 &&
        v->fn.config[v->window_cap + WINDOW_BAR] == FAKE_VPCI_MODERN_BAR)
        return true;
    fake_violation(&v->vdev, "the window was used before it was aimed (§4.1.4.9.1)");
    return false;
}

static bool window_read(struct fake_pci_fn *fn, unsigned at, unsigned bytes, uint32_t *value)
{
    struct fake_vpci *v = fn->owner;

    if (!in_window(v, at, bytes))
        return false;
    *value = fake_vpci_modern_read(fn, window_word(v, WINDOW_OFFSET), bytes);
    return true;
}

static bool window_write(struct fake_pci_fn *fn, unsigned at, unsigned bytes, uint32_t value)
{
    struct fake_vpci *v = fn->owner;

    if (!in_window(v, at, bytes))
        return false;
    fake_vpci_modern_write(fn, window_word(v, WINDOW_OFFSET), bytes, value);
    return true;
}

static void add_window(struct fake_vpci *v)
{
    static const uint8_t body[18] = {20, CAP_WINDOW};

    v->window_cap = fake_pci_capability(&v->fn, CAP_VENDOR, body, sizeof(body));
    v->fn.writable[v->window_cap + WINDOW_BAR] = 0xff;
    memset(v->fn.writable + v->window_cap + WINDOW_OFFSET, 0xff, 8);
    v->fn.hook_read = window_read;
    v->fn.hook_write = window_write;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static uint32_t msix_bar_read(struct fake_pci_fn *fn, uint64_t offset, unsigned bytes)
{
    return fake_msix_read(fn, offset, bytes);
}

static void put_bars(struct fake_vpci *v)
{
    const struct fake_vpci_setup *s = &v->setup;
    const bool io = !s->legacy_in_memory;

    if (s->legacy) {
        v->fn.bar[FAKE_VPCI_LEGACY_BAR] = (struct fake_pci_bar){.size = LEGACY_BYTES,
                                                                .io = io,
                                                                .read = fake_vpci_legacy_read,
                                                                .write = fake_vpci_legacy_write};
        fake_pci_place_bar(&v->fn, FAKE_VPCI_LEGACY_BAR,
                           io ? FAKE_VPCI_PORT + s->slot * 0x100u : FAKE_VPCI_BASE + 0x800000);
    }
    if (s->vectors) {
        v->fn.bar[FAKE_VPCI_MSIX_BAR] = (struct fake_pci_bar){
            .size = MSIX_BYTES, .read = msix_bar_read, .write = fake_msix_write};
        fake_pci_place_bar(&v->fn, FAKE_VPCI_MSIX_BAR,
                           s->no_address ? 0 : FAKE_VPCI_BASE + 0x900000 + s->slot * 0x1000u);
    }
    if (s->modern) {
        v->fn.bar[FAKE_VPCI_MODERN_BAR] = (struct fake_pci_bar){.size = MODERN_BYTES,
                                                                .wide = true,
                                                                .read = fake_vpci_modern_read,
                                                                .write = fake_vpci_modern_write};
        const uint64_t base = s->base ? s->base : FAKE_VPCI_BASE + s->slot * 0x10000u;
        fake_pci_place_bar(&v->fn, FAKE_VPCI_MODERN_BAR, s->no_address ? 0 : base);
    }
}

void fake_vpci_init(struct fake_vpci *v, struct fake_pci *machine,
                    const struct fake_vpci_setup *setup)
{
    *v = (struct fake_vpci){.setup = *setup};
    fake_vdev_init(&v->vdev, setup->features, setup->queue_size, !setup->modern);
    v->vdev.irq = queue_interrupt;
    v->vdev.irq_arg = v;
    fake_pci_fn_init(&v->fn, 0, setup->slot, 0, VENDOR, setup->legacy ? 0x1000 : 0x1041);
    fake_pci_put16(&v->fn, 0x2e, 1);
    v->fn.config[8] = setup->legacy ? 0 : 1; /* revision */
    v->fn.owner = v;
    put_bars(v);
    if (setup->vectors)
        fake_msix_init(&v->fn, setup->vectors, FAKE_VPCI_MSIX_BAR,
                       setup->fault == FAKE_MSIX_TABLE_OUTSIDE ? MSIX_BYTES - 8 : 0);
    if (setup->modern)
        add_caps(v);
    if (setup->fault == FAKE_CAP_LOOP)
        v->fn.config[v->fn.last_capability + 1] = v->fn.config[0x34];
    forget(v);
    fake_pci_add(machine, &v->fn);
}
