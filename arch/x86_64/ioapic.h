/* The I/O APICs: interrupt lines ("GSIs") of devices that aren't PCI. Intel 82093AA; what ACPI's MADT lists. */
#ifndef ARCH_X86_64_IOAPIC_H
#define ARCH_X86_64_IOAPIC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Find them: in ACPI, or without ACPI the one at the place that the MultiProcessor Specification 1.4 (§3.6.5) gives.
 * Every line of theirs is masked. After firmware_init().
 */
void ioapic_init(void);

/* Send that line to a vector of this processor's. False when no I/O APIC has it. */
bool ioapic_route(uint32_t gsi, uint8_t vector, uint8_t lapic, bool edge, bool active_low);

#endif
