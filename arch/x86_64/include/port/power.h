/* The end of the machine. */
#ifndef PORT_POWER_H
#define PORT_POWER_H

#include <stdint.h>

/*
 * Stop for good, telling whoever runs us `status`: QEMU's isa-debug-exit at port 0xf4 when there is one,
 * else power off by ACPI, else halt with interrupts off. From anywhere, in any state.
 */
_Noreturn void power_end(uint8_t status);

#endif
