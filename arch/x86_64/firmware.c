#include "arch/x86_64/firmware.h"

#include "arch/x86_64/paging.h"

struct acpi_facts firmware;

static const void *early_view(uint64_t phys, uint64_t len)
{
    (void)len; /* only low memory is asked for */
    return (const void *)(uintptr_t)phys;
}

uint64_t firmware_find_rsdp(void)
{
    return acpi_find_rsdp(early_view);
}

void firmware_init(uint64_t rsdp)
{
    firmware = acpi_read(paging_view, rsdp);
}
