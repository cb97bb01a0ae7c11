/*
 * The few facts we need of the firmware's ACPI tables: how to power off, a second clock, what legacy parts exist.
 *
 * ACPI 6.5 §5.2. AML is not interpreted: \_S5 is found by its bytes, which is what small systems have always
 * done and what QEMU, SeaBIOS, OVMF and real boards satisfy. Tables are untrusted: signatures,
 * lengths and checksums are verified, and every read goes through `view`.
 */
#ifndef LIB_ACPI_H
#define LIB_ACPI_H

#include "lib/types.h"

/* Gives readable memory for [phys, phys + len), or NULL. */
typedef const void *(*acpi_view)(uint64_t phys, uint64_t len);

struct acpi_facts {
    bool found;                  /* a FADT was there */
    bool hw_reduced;             /* no PM1 registers: the sleep registers are used */
    uint16_t pm1a_cnt, pm1b_cnt; /* I/O ports; 0 = none */
    uint16_t smi_cmd;            /* I/O port; 0 = always in ACPI mode */
    uint8_t acpi_enable;         /* written to smi_cmd to enter ACPI mode */
    uint16_t pm_timer;           /* I/O port of the 3.579545 MHz timer; 0 = none */
    bool pm_timer_32bit;         /* else 24 bits */
    uint64_t sleep_control;      /* physical address or I/O port; 0 = none */
    bool sleep_control_is_io;
    bool no_cmos_rtc;    /* the RTC at ports 0x70/0x71 must not be touched */
    uint8_t century_reg; /* CMOS index of the century; 0 = none */
    uint64_t dsdt;       /* physical address */
    uint64_t mcfg;       /* physical address of the PCI ECAM table; 0 = none */
    uint64_t madt;       /* likewise of the interrupt controllers' */
};

/* Look for the root pointer in the EBDA and the BIOS area (§5.2.5.1). Returns its physical address or 0. */
uint64_t acpi_find_rsdp(acpi_view view);

/* Read what the tables behind that root pointer say. found = false when they make no sense. */
struct acpi_facts acpi_read(acpi_view view, uint64_t rsdp);

/*
 * The two sleep type values of state S5 (power off), from \_S5 in the DSDT.
 * Returns 0, or -ENOENT when there is no readable \_S5.
 */
int acpi_s5_types(acpi_view view, const struct acpi_facts *facts, uint8_t *type_a, uint8_t *type_b);

/* A table's bytes behind its header, if header and sum make sense: *len of them. NULL otherwise. */
const uint8_t *acpi_table_body(acpi_view view, uint64_t phys, size_t *len);

#endif
