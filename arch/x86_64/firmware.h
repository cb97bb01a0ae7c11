/* What ACPI said about this machine; read once at boot. */
#ifndef ARCH_X86_64_FIRMWARE_H
#define ARCH_X86_64_FIRMWARE_H

#include "lib/acpi.h"

extern struct acpi_facts firmware;

/* Find ACPI's root pointer. On the tables of entry.S: later, page 0 is gone. Returns 0 when there is none. */
uint64_t firmware_find_rsdp(void);

/* Fill `firmware`. After paging_init() and page_init(). */
void firmware_init(uint64_t rsdp);

#endif
