/*
 * Device registers in memory, on the host: every access goes to the fake machine's bus (tests/host/support/bus.h).
 *
 * A pointer from mmio_map() is the physical address itself, and must not be dereferenced: a driver that
 * forgets mmio_*() crashes or is stopped by the sanitizer.
 */
#ifndef PORT_MMIO_H
#define PORT_MMIO_H

#include <stdint.h>

uint32_t host_mmio_read(uint64_t addr, unsigned bytes);
void host_mmio_write(uint64_t addr, unsigned bytes, uint32_t v);

static inline uint8_t mmio_read8(const volatile void *p)
{
    return (uint8_t)host_mmio_read((uintptr_t)p, 1);
}
static inline uint16_t mmio_read16(const volatile void *p)
{
    return (uint16_t)host_mmio_read((uintptr_t)p, 2);
}
static inline uint32_t mmio_read32(const volatile void *p)
{
    return host_mmio_read((uintptr_t)p, 4);
}
static inline void mmio_write8(volatile void *p, uint8_t v)
{
    host_mmio_write((uintptr_t)p, 1, v);
}
static inline void mmio_write16(volatile void *p, uint16_t v)
{
    host_mmio_write((uintptr_t)p, 2, v);
}
static inline void mmio_write32(volatile void *p, uint32_t v)
{
    host_mmio_write((uintptr_t)p, 4, v);
}

/* Gives an address only where something is on the bus, or could be: host_bus_refuse_map() makes it fail. */
volatile void *mmio_map(uint64_t phys, uint64_t len);

#endif
