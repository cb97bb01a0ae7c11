#include "tests/host/support/bus.h"

#include <stddef.h>
#include <stdlib.h>

#include "port/mmio.h"
#include "port/pio.h"

static struct range {
    uint64_t base, len;
    const struct host_bus_ops *ops;
    void *arg;
    bool ports;
} ranges[HOST_BUS_RANGES];
static unsigned range_count, strays, misaligned;
static uint64_t refuse_from = UINT64_MAX;

void host_bus_reset(void)
{
    range_count = strays = misaligned = 0;
    refuse_from = UINT64_MAX;
}

void host_bus_attach(bool ports, uint64_t base, uint64_t len, const struct host_bus_ops *ops,
                     void *arg)
{
    if (range_count == HOST_BUS_RANGES)
        abort();
    ranges[range_count++] = (struct range){base, len, ops, arg, ports};
}

void host_bus_detach(void *arg)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < range_count; i++) {
        if (ranges[i].arg != arg)
            ranges[kept++] = ranges[i];
    }
    range_count = kept;
}

void host_bus_refuse_map(uint64_t from)
{
    refuse_from = from;
}

unsigned host_bus_strays(void)
{
    return strays;
}

unsigned host_bus_misaligned(void)
{
    return misaligned;
}

static const struct range *find(bool ports, uint64_t addr, unsigned bytes)
{
    if (addr % bytes)
        misaligned++;
    for (unsigned i = 0; i < range_count; i++) {
        const struct range *r = &ranges[i];
        if (r->ports == ports && addr >= r->base && addr - r->base < r->len &&
            bytes <= r->len - (addr - r->base))
            return r;
    }
    strays++;
    return NULL;
}

static uint32_t bus_read(bool ports, uint64_t addr, unsigned bytes)
{
    const struct range *r = find(ports, addr, bytes);

    return r ? r->ops->read(r->arg, addr - r->base, bytes) : UINT32_MAX;
}

static void bus_write(bool ports, uint64_t addr, unsigned bytes, uint32_t v)
{
    const struct range *r = find(ports, addr, bytes);

    if (r)
        r->ops->write(r->arg, addr - r->base, bytes, v);
}

uint32_t host_mmio_read(uint64_t addr, unsigned bytes)
{
    return bus_read(false, addr, bytes);
}

void host_mmio_write(uint64_t addr, unsigned bytes, uint32_t v)
{
    bus_write(false, addr, bytes, v);
}

uint32_t host_pio_read(uint16_t port, unsigned bytes)
{
    return bus_read(true, port, bytes);
}

void host_pio_write(uint16_t port, unsigned bytes, uint32_t v)
{
    bus_write(true, port, bytes, v);
}

volatile void *mmio_map(uint64_t phys, uint64_t len)
{
    if (len == 0 || phys == 0 || len > UINT64_MAX - phys || phys + len > refuse_from)
        return NULL;
    return (volatile void *)(uintptr_t)phys;
}
