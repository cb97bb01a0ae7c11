/*
 * Any bytes as firmware tables, from the root pointer on. Sums are made right here, so that the search gets behind
 * them; every read is a copy of exactly what was asked for, so that the sanitizer sees one too many.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/acpi.h"
#include "lib/acpi_devices.h"
#include "lib/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BASE = 0x1000, RSDP_BYTES = 20, RSDP_SUM = 8, HEADER_BYTES = 36, HEADER_SUM = 9 };
enum { VIEWS_MAX = 2048, DEVICES_MAX = 4, IOAPICS_MAX = 2 };

static const uint8_t *memory;
static size_t memory_bytes;
static void *views[VIEWS_MAX];
static size_t view_count;

static void make_sum_right(uint8_t *p, size_t len, size_t where)
{
    uint8_t sum = 0;
    p[where] = 0;
    for (size_t i = 0; i < len; i++)
        sum = (uint8_t)(sum + p[i]);
    p[where] = (uint8_t)-sum;
}

static const void *view(uint64_t phys, uint64_t len)
{
    if (phys < BASE || phys - BASE > memory_bytes || len > memory_bytes - (phys - BASE) ||
        view_count == VIEWS_MAX)
        return NULL;
    uint8_t *copy = malloc(len);
    if (!copy)
        return NULL;
    memcpy(copy, memory + (phys - BASE), len);
    if (len == RSDP_BYTES)
        make_sum_right(copy, len, RSDP_SUM);
    else if (len >= HEADER_BYTES)
        make_sum_right(copy, len, HEADER_SUM);
    views[view_count++] = copy;
    return copy;
}

static void check_devices(const struct acpi_facts *facts, const char *hid)
{
    struct acpi_device list[DEVICES_MAX];
    const size_t count = acpi_find_devices(view, facts, hid, list, DEVICES_MAX);

    ASSERT(count <= DEVICES_MAX);
    for (size_t i = 0; i < count; i++) {
        ASSERT(list[i].mem_count <= ACPI_RANGES_MAX && list[i].bus_first <= list[i].bus_last);
        for (size_t j = 0; j < list[i].mem_count; j++)
            ASSERT(list[i].mem[j].len != 0 &&
                   list[i].mem[j].base <= UINT64_MAX - list[i].mem[j].len);
    }
}

static void check_tables(const struct acpi_facts *facts)
{
    struct acpi_ioapic ioapics[IOAPICS_MAX];
    struct acpi_ecam ecam;

    ASSERT(acpi_find_ioapics(view, facts, ioapics, IOAPICS_MAX) <= IOAPICS_MAX);
    if (acpi_find_ecam(view, facts, &ecam))
        ASSERT(ecam.base != 0 && ecam.bus_first <= ecam.bus_last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memory = data;
    memory_bytes = size;
    const struct acpi_facts facts = acpi_read(view, BASE);
    uint8_t a, b;
    if (acpi_s5_types(view, &facts, &a, &b) == 0)
        ASSERT(facts.dsdt != 0);
    if (facts.hw_reduced)
        ASSERT(facts.pm1a_cnt == 0 && facts.pm_timer == 0);
    check_devices(&facts, "LNRO0005");
    check_devices(&facts, "PNP0A08");
    check_tables(&facts);
    while (view_count > 0)
        free(views[--view_count]);
    return 0;
}
