/* Configuration space, BARs and bridges. See fake_pci.h. */
#include "tests/fake/fake_pci.h"

#include <stdlib.h>
#include <string.h>

#include "tests/host/support/irq.h"

enum {
    PORT_ADDRESS = 0xcf8,
    PORTS = 8, /* address, then data */
    COMMAND = 4,
    COMMAND_IO = 1,
    COMMAND_MEMORY = 2,
    COMMAND_NO_INTX = 1 << 10,
    STATUS = 6,
    STATUS_CAPABILITIES = 1 << 4,
    HEADER_TYPE = 0x0e,
    BAR0 = 0x10,
    PRIMARY_BUS = 0x18,
    SECONDARY_BUS = 0x19,
    IO_WINDOW = 0x1c,
    MEMORY_WINDOW = 0x20,
    CAPABILITIES = 0x34,
    INTERRUPT_LINE = 0x3c,
    FIRST_CAPABILITY = 0x40,
};

uint16_t fake_pci_get16(const struct fake_pci_fn *fn, uint8_t offset)
{
    return (uint16_t)(fn->config[offset] | fn->config[offset + 1] << 8);
}

void fake_pci_put16(struct fake_pci_fn *fn, uint8_t offset, uint16_t v)
{
    memcpy(fn->config + offset, &v, sizeof(v));
}

void fake_pci_put32(struct fake_pci_fn *fn, uint8_t offset, uint32_t v)
{
    memcpy(fn->config + offset, &v, sizeof(v));
}

static uint32_t get32(const struct fake_pci_fn *fn, unsigned offset)
{
    uint32_t v;

    memcpy(&v, fn->config + offset, sizeof(v));
    return v;
}

void fake_pci_violation(struct fake_pci_fn *fn, const char *what)
{
    fn->machine->violations++;
    fn->machine->violation = what;
}

/* ---- BARs ------------------------------------------------------------------------------------ */

static uint32_t bar_read(void *arg, uint64_t offset, unsigned bytes)
{
    struct fake_pci_bar *bar = arg;

    return bar->read ? bar->read(bar->fn, offset, bytes) : 0;
}

static void bar_write(void *arg, uint64_t offset, unsigned bytes, uint32_t v)
{
    struct fake_pci_bar *bar = arg;

    if (bar->write)
        bar->write(bar->fn, offset, bytes, v);
}

static const struct host_bus_ops bar_ops = {bar_read, bar_write};

static uint64_t bar_base(const struct fake_pci_fn *fn, unsigned i)
{
    const struct fake_pci_bar *bar = &fn->bar[i];
    const uint64_t low = get32(fn, BAR0 + 4 * i);

    if (bar->io)
        return low & ~3ull;
    return (low & ~0xfull) | (bar->wide ? (uint64_t)get32(fn, BAR0 + 4 * (i + 1)) << 32 : 0);
}

/* A BAR answers where it stands, while its space is decoded. */
static void attach_bar(struct fake_pci_fn *fn, unsigned i)
{
    struct fake_pci_bar *bar = &fn->bar[i];
    const bool decoded =
        fake_pci_get16(fn, COMMAND) & (bar->io ? COMMAND_IO : COMMAND_MEMORY) && !fn->gone;

    if (bar->attached)
        host_bus_detach(bar);
    bar->attached = bar->size && decoded;
    if (!bar->attached)
        return;
    if (bar_base(fn, i) == 0)
        fake_pci_violation(fn, "a BAR without an address is decoded, at 0");
    host_bus_attach(bar->io, bar_base(fn, i), bar->size, &bar_ops, bar);
}

static void attach_bars(struct fake_pci_fn *fn)
{
    for (unsigned i = 0; i < FAKE_PCI_BARS; i++)
        attach_bar(fn, i);
}

void fake_pci_place_bar(struct fake_pci_fn *fn, unsigned i, uint64_t base)
{
    struct fake_pci_bar *bar = &fn->bar[i];
    const uint64_t mask = bar->io ? ~(bar->size - 1) & 0xffff : ~(bar->size - 1);
    const unsigned slots = bar->wide ? 2 : 1;
    const uint64_t value = base | (bar->io ? 1 : 0) | (bar->wide ? 4 : 0);

    bar->fn = fn;
    memcpy(fn->config + BAR0 + 4 * i, &value, 4 * slots);
    memcpy(fn->writable + BAR0 + 4 * i, &mask, 4 * slots);
}

/* ---- configuration space --------------------------------------------------------------------- */

static struct fake_pci_fn *find(const struct fake_pci *m, unsigned bus, unsigned slot,
                                unsigned function)
{
    for (unsigned i = 0; i < m->count; i++) {
        struct fake_pci_fn *fn = m->fns[i];
        if (fn->bus == bus && fn->slot == slot && fn->fn == function)
            return fn->gone ? NULL : fn;
    }
    return NULL;
}

static struct fake_pci_fn *addressed(const struct fake_pci *m)
{
    return m->address >> 31
               ? find(m, m->address >> 16 & 0xff, m->address >> 11 & 31, m->address >> 8 & 7)
               : NULL;
}

static uint32_t config_read(struct fake_pci_fn *fn, unsigned at, unsigned bytes)
{
    uint32_t v = 0;

    if (!fn->hook_read || !fn->hook_read(fn, at, bytes, &v))
        memcpy(&v, fn->config + at, bytes);
    return v;
}

static void config_write(struct fake_pci_fn *fn, unsigned at, unsigned bytes, uint32_t v)
{
    if (fn->hook_write && fn->hook_write(fn, at, bytes, v))
        return;
    const uint16_t decoding = fake_pci_get16(fn, COMMAND) & (COMMAND_IO | COMMAND_MEMORY);

    if (at >= BAR0 && at < BAR0 + 4 * FAKE_PCI_BARS && decoding &&
        !(fn->config[HEADER_TYPE] & 0x7f))
        fake_pci_violation(fn, "a BAR was written while it is decoded (§6.2.5.1)");
    for (unsigned i = 0; i < bytes; i++) {
        const uint8_t mask = fn->writable[at + i], byte = (uint8_t)(v >> 8 * i);
        fn->config[at + i] = (uint8_t)((fn->config[at + i] & ~mask) | (byte & mask));
    }
    attach_bars(fn);
}

static uint32_t port_read(void *arg, uint64_t offset, unsigned bytes)
{
    struct fake_pci *m = arg;
    struct fake_pci_fn *fn = addressed(m);

    if (offset < 4)
        return bytes == 4 ? m->address : UINT32_MAX;
    if (!fn)
        return UINT32_MAX;
    return config_read(fn, (m->address & 0xfc) + (unsigned)offset - 4, bytes);
}

static void port_write(void *arg, uint64_t offset, unsigned bytes, uint32_t v)
{
    struct fake_pci *m = arg;

    if (offset < 4) {
        if (bytes == 4)
            m->address = v;
        return;
    }
    struct fake_pci_fn *fn = addressed(m);
    if (fn)
        config_write(fn, (m->address & 0xfc) + (unsigned)offset - 4, bytes, v);
}

void fake_pci_init(struct fake_pci *machine)
{
    static const struct host_bus_ops ops = {port_read, port_write};

    *machine = (struct fake_pci){0};
    host_bus_reset();
    host_irq_reset();
    host_bus_attach(true, PORT_ADDRESS, PORTS, &ops, machine);
}

/* 1 MiB for a bus, 32 KiB for a slot, 4 KiB for a function, of which the first 256 bytes are ours. */
static struct fake_pci_fn *in_ecam(const struct fake_pci *m, uint64_t offset)
{
    return (offset & 0xfff) < 256
               ? find(m, offset >> 20 & 0xff, offset >> 15 & 31, offset >> 12 & 7)
               : NULL;
}

static uint32_t ecam_read(void *arg, uint64_t offset, unsigned bytes)
{
    struct fake_pci_fn *fn = in_ecam(arg, offset);

    return fn ? config_read(fn, offset & 0xff, bytes) : UINT32_MAX;
}

static void ecam_write(void *arg, uint64_t offset, unsigned bytes, uint32_t v)
{
    struct fake_pci_fn *fn = in_ecam(arg, offset);

    if (fn)
        config_write(fn, offset & 0xff, bytes, v);
}

void fake_pci_only_ecam(struct fake_pci *machine, uint64_t base)
{
    static const struct host_bus_ops ops = {ecam_read, ecam_write};

    host_bus_detach(machine);
    host_bus_attach(false, base, 256ull << 20, &ops, machine);
}

void fake_pci_fn_init(struct fake_pci_fn *fn, uint8_t bus, uint8_t slot, uint8_t function,
                      uint16_t vendor, uint16_t device)
{
    *fn = (struct fake_pci_fn){
        .bus = bus, .slot = slot, .fn = function, .next_free = FIRST_CAPABILITY};
    fake_pci_put16(fn, 0, vendor);
    fake_pci_put16(fn, 2, device);
    fn->config[INTERRUPT_LINE] = 11;
    fn->writable[INTERRUPT_LINE] = 0xff;
    fn->writable[COMMAND] = 0x07; /* I/O, memory, master */
    fn->writable[COMMAND + 1] = COMMAND_NO_INTX >> 8;
}

void fake_pci_make_bridge(struct fake_pci_fn *fn, uint8_t secondary)
{
    fn->config[HEADER_TYPE] = (uint8_t)((fn->config[HEADER_TYPE] & 0x80) | 1);
    fn->config[SECONDARY_BUS] = secondary;
    memset(fn->writable + PRIMARY_BUS, 0xff, 3); /* primary, secondary, subordinate */
    memset(fn->writable + IO_WINDOW, 0xf0, 2);
    for (unsigned i = MEMORY_WINDOW; i < MEMORY_WINDOW + 8; i += 2) { /* two windows' bits 15:4 */
        fn->writable[i] = 0xf0;
        fn->writable[i + 1] = 0xff;
    }
    fake_pci_put16(fn, 0x0a, 0x0604);
}

void fake_pci_add(struct fake_pci *machine, struct fake_pci_fn *fn)
{
    if (machine->count == FAKE_PCI_FUNCTIONS)
        abort();
    fn->machine = machine;
    machine->fns[machine->count++] = fn;
}

void fake_pci_unplug(struct fake_pci_fn *fn)
{
    fn->gone = true;
    attach_bars(fn);
}

uint8_t fake_pci_capability(struct fake_pci_fn *fn, uint8_t id, const void *body, uint8_t bytes)
{
    const uint8_t at = fn->next_free;

    if (at + 2 + bytes > 256)
        abort();
    fn->config[at] = id;
    memcpy(fn->config + at + 2, body, bytes);
    fn->config[fn->last_capability ? fn->last_capability + 1 : CAPABILITIES] = at;
    fn->config[STATUS] |= STATUS_CAPABILITIES;
    fn->last_capability = at;
    fn->next_free = (uint8_t)((at + 2 + bytes + 3) & ~3);
    return at;
}

unsigned fake_pci_intx(struct fake_pci_fn *fn)
{
    if (fn->gone || fake_pci_get16(fn, COMMAND) & COMMAND_NO_INTX || fake_msix_on(fn))
        return 0;
    return host_irq_line(fn->config[INTERRUPT_LINE]);
}
