/* Device registers in memory and in port space. Volatile, natural width, never merged. */
#ifndef PORT_MMIO_H
#define PORT_MMIO_H

#include <stdint.h>

static inline uint8_t mmio_read8(const volatile void *p)
{
    return *(const volatile uint8_t *)p;
}
static inline uint16_t mmio_read16(const volatile void *p)
{
    return *(const volatile uint16_t *)p;
}
static inline uint32_t mmio_read32(const volatile void *p)
{
    return *(const volatile uint32_t *)p;
}
static inline void mmio_write8(volatile void *p, uint8_t v)
{
    *(volatile uint8_t *)p = v;
}
static inline void mmio_write16(volatile void *p, uint16_t v)
{
    *(volatile uint16_t *)p = v;
}
static inline void mmio_write32(volatile void *p, uint32_t v)
{
    *(volatile uint32_t *)p = v;
}

/*
 * Make the physical range [phys, phys + len) addressable, uncached. Maps it if boot hasn't (BARs above 4 GiB).
 * Returns NULL when it can't be mapped (0, wraps, beyond the processor's physical width).
 */
volatile void *mmio_map(uint64_t phys, uint64_t len);

#endif
