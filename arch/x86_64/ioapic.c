#include "arch/x86_64/ioapic.h"

#include "arch/x86_64/firmware.h"
#include "arch/x86_64/paging.h"
#include "lib/acpi_devices.h"
#include "port/mmio.h"

enum {
    IOAPICS_MAX = 8,
    SELECT = 0x00,
    WINDOW = 0x10,
    REGISTER_BYTES = 0x20,
    REG_VERSION = 0x01,
    REG_ENTRY = 0x10, /* two for each line */
    VERSION_LAST_SHIFT = 16,
    LINES_MAX = 240,
    ENTRY_ACTIVE_LOW = 1 << 13,
    ENTRY_LEVEL = 1 << 15,
    ENTRY_MASKED = 1 << 16,
    ENTRY_LAPIC_SHIFT = 24, /* in the upper half */
};
#define DEFAULT_BASE 0xfec00000u

static struct ioapic {
    volatile uint8_t *regs;
    uint32_t gsi_base, lines;
} ioapics[IOAPICS_MAX];
static unsigned count;

static uint32_t reg_read(const struct ioapic *io, uint32_t reg)
{
    mmio_write32(io->regs + SELECT, reg);
    return mmio_read32(io->regs + WINDOW);
}

static void reg_write(const struct ioapic *io, uint32_t reg, uint32_t v)
{
    mmio_write32(io->regs + SELECT, reg);
    mmio_write32(io->regs + WINDOW, v);
}

/* Where none answers, all bits read as ones (or none), and the number of lines is out of bounds. */
static void add(uint32_t base, uint32_t gsi_base)
{
    struct ioapic *io = &ioapics[count];

    io->regs = mmio_map(base, REGISTER_BYTES);
    if (!io->regs)
        return;
    const uint32_t version = reg_read(io, REG_VERSION);
    io->gsi_base = gsi_base;
    io->lines = (version >> VERSION_LAST_SHIFT & 0xff) + 1;
    if ((version & 0xff) == 0 || io->lines > LINES_MAX)
        return;
    for (uint32_t i = 0; i < io->lines; i++)
        reg_write(io, REG_ENTRY + 2 * i, ENTRY_MASKED);
    count++;
}

void ioapic_init(void)
{
    struct acpi_ioapic listed[IOAPICS_MAX];
    const size_t n = acpi_find_ioapics(paging_view, &firmware, listed, IOAPICS_MAX);

    for (size_t i = 0; i < n; i++)
        add(listed[i].base, listed[i].gsi_base);
    if (!firmware.found)
        add(DEFAULT_BASE, 0);
}

bool ioapic_route(uint32_t gsi, uint8_t vector, uint8_t lapic, bool edge, bool active_low)
{
    for (unsigned i = 0; i < count; i++) {
        const struct ioapic *io = &ioapics[i];
        if (gsi < io->gsi_base || gsi - io->gsi_base >= io->lines)
            continue;
        const uint32_t reg = REG_ENTRY + 2 * (gsi - io->gsi_base);
        reg_write(io, reg + 1, (uint32_t)lapic << ENTRY_LAPIC_SHIFT);
        reg_write(io, reg, vector | (edge ? 0 : ENTRY_LEVEL) | (active_low ? ENTRY_ACTIVE_LOW : 0));
        return true;
    }
    return false;
}
