/* x86 I/O ports, on the host: every access goes to the fake machine's bus (tests/host/support/bus.h). */
#ifndef PORT_PIO_H
#define PORT_PIO_H

#include <stdint.h>

uint32_t host_pio_read(uint16_t port, unsigned bytes);
void host_pio_write(uint16_t port, unsigned bytes, uint32_t v);

static inline uint8_t pio_read8(uint16_t port)
{
    return (uint8_t)host_pio_read(port, 1);
}
static inline uint16_t pio_read16(uint16_t port)
{
    return (uint16_t)host_pio_read(port, 2);
}
static inline uint32_t pio_read32(uint16_t port)
{
    return host_pio_read(port, 4);
}
static inline void pio_write8(uint16_t port, uint8_t v)
{
    host_pio_write(port, 1, v);
}
static inline void pio_write16(uint16_t port, uint16_t v)
{
    host_pio_write(port, 2, v);
}
static inline void pio_write32(uint16_t port, uint32_t v)
{
    host_pio_write(port, 4, v);
}

#endif
