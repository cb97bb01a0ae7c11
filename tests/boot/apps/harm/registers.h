/* The registers of a virtio-net-pci of QEMU on bus 0, found without the driver's help: harm that comes from outside. */
#ifndef HARM_REGISTERS_H
#define HARM_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

struct registers {
    volatile uint8_t *modern; /* NULL: legacy only */
    uint16_t port;
};

static inline void out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "d"(port));
}

static inline uint32_t in32(uint16_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "d"(port));
    return value;
}

static inline void out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "d"(port));
}

static inline uint16_t in16(uint16_t port)
{
    uint16_t value;

    __asm__ volatile("inw %1, %0" : "=a"(value) : "d"(port));
    return value;
}

static inline void out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "d"(port));
}

static inline uint8_t in8(uint16_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "d"(port));
    return value;
}

struct registers registers_of(unsigned slot);
uint8_t status_read(const struct registers *r);
void status_write(const struct registers *r, uint8_t status);

/* The avail ring's index of queue idx, in our own memory; the slots follow it. */
volatile uint16_t *avail_index(const struct registers *r, uint16_t idx);
void notify(const struct registers *r, uint16_t idx);

#endif
