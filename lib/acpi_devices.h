/*
 * Devices that the firmware describes in AML: which memory and which interrupt they have.
 *
 * AML is not interpreted. Device blocks are found by their opcode, and of each only the names that stand directly in it
 * are looked at: _HID, _CRS as a constant template, _CBA. That is how hypervisors write what
 * cannot change. What needs evaluation isn't found. ACPI 6.5 §6.1.5, §6.2.2, §6.4, §20.2.
 */
#ifndef LIB_ACPI_DEVICES_H
#define LIB_ACPI_DEVICES_H

#include "lib/acpi.h"
#include "lib/types.h"

enum { ACPI_RANGES_MAX = 8 };

struct acpi_range {
    uint64_t base, len; /* bytes; len > 0, base + len doesn't wrap */
};

struct acpi_device {
    struct acpi_range mem[ACPI_RANGES_MAX];
    size_t mem_count;
    bool has_irq, irq_edge, irq_low;
    uint32_t gsi;      /* the first interrupt, if has_irq */
    uint64_t ecam;     /* _CBA: configuration space of this PCI root; 0 = none */
    uint8_t bus_first; /* buses of this PCI root: 0 … 0 where it doesn't say */
    uint8_t bus_last;
};

/*
 * Every device of the DSDT with that _HID, in the table's order.
 *
 *   hid    "LNRO0005", or as "PNP0A08" is also found in its compressed form (§6.1.5)
 *
 * Returns how many were written to out (≤ max). Time is bounded by the table's length, whatever it holds.
 */
size_t acpi_find_devices(acpi_view view, const struct acpi_facts *facts, const char *hid,
                         struct acpi_device *out, size_t max);

/* An I/O APIC, from the MADT (§5.2.12.3). */
struct acpi_ioapic {
    uint32_t base; /* physical address */
    uint32_t gsi_base;
};

/* Those that the MADT lists. Returns how many were written to out (≤ max). */
size_t acpi_find_ioapics(acpi_view view, const struct acpi_facts *facts, struct acpi_ioapic *out,
                         size_t max);

/* The first entry of the MCFG (PCI Firmware 3.0 §4.1.2). */
struct acpi_ecam {
    uint64_t base; /* of bus 0 */
    uint8_t bus_first, bus_last;
};

/* False when there is none, or it makes no sense. */
bool acpi_find_ecam(acpi_view view, const struct acpi_facts *facts, struct acpi_ecam *out);

#endif
