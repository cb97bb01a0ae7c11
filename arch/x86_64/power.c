#include "port/power.h"

#include "arch/x86_64/cpu.h"
#include "arch/x86_64/cpu_regs.h"
#include "arch/x86_64/firmware.h"
#include "arch/x86_64/paging.h"
#include "port/mmio.h"
#include "port/pio.h"

/* ACPI 6.5 §4.8.3.2.1 (PM1 control) and §4.8.3.7 (sleep control). */
enum {
    PM1_SCI_EN = 1 << 0,
    PM1_SLP_TYP_SHIFT = 10,
    PM1_SLP_EN = 1 << 13,
    SLEEP_TYP_SHIFT = 2,
    SLEEP_EN = 1 << 5,
    ACPI_MODE_WAIT_READS = 100000, /* the mode switch is firmware code; a read costs about 1 µs */
};
enum { QEMU_DEBUG_EXIT = 0xf4 };

/* Where virtual machines listen when their ACPI tables can't be read. Nothing else lives there. */
static const struct {
    uint16_t port, value;
} known_power_ports[] = {
    {0x604, 0x2000},  /* QEMU, pc and q35 */
    {0xb004, 0x2000}, /* Bochs, old QEMU */
    {0x4004, 0x3400}, /* VirtualBox */
};

static void enter_acpi_mode(void)
{
    if (firmware.smi_cmd == 0 || firmware.acpi_enable == 0)
        return;
    if (pio_read16(firmware.pm1a_cnt) & PM1_SCI_EN)
        return;
    pio_write8(firmware.smi_cmd, firmware.acpi_enable);
    for (int i = 0; i < ACPI_MODE_WAIT_READS; i++) {
        if (pio_read16(firmware.pm1a_cnt) & PM1_SCI_EN)
            return;
    }
}

static void power_off_pm1(uint8_t type_a, uint8_t type_b)
{
    enter_acpi_mode();
    pio_write16(firmware.pm1a_cnt, (uint16_t)((type_a & 7) << PM1_SLP_TYP_SHIFT | PM1_SLP_EN));
    if (firmware.pm1b_cnt != 0)
        pio_write16(firmware.pm1b_cnt, (uint16_t)((type_b & 7) << PM1_SLP_TYP_SHIFT | PM1_SLP_EN));
}

static void power_off_sleep_register(uint8_t type)
{
    const uint8_t value = (uint8_t)((type & 7) << SLEEP_TYP_SHIFT | SLEEP_EN);
    if (firmware.sleep_control_is_io) {
        pio_write8((uint16_t)firmware.sleep_control, value);
        return;
    }
    volatile void *reg = mmio_map(firmware.sleep_control, 1);
    if (reg)
        mmio_write8(reg, value);
}

static void power_off(void)
{
    uint8_t a, b;
    if (firmware.found && acpi_s5_types(paging_view, &firmware, &a, &b) == 0) {
        if (firmware.hw_reduced && firmware.sleep_control != 0)
            power_off_sleep_register(a);
        else if (firmware.pm1a_cnt != 0)
            power_off_pm1(a, b);
    }
    for (unsigned i = 0; i < ARRAY_COUNT(known_power_ports); i++)
        pio_write16(known_power_ports[i].port, known_power_ports[i].value);
}

/*
 * A virtual machine without ACPI has no power switch. Its hypervisor ends at a reset, or is told to (-no-reboot): by the
 * keyboard controller where there is one, else by a fault that can't be handled. Bare metal is left halted.
 */
static void end_without_acpi(void)
{
    enum { KEYBOARD_COMMAND = 0x64, KEYBOARD_RESET = 0xfe };
    const struct __attribute__((packed)) {
        uint16_t limit;
        uint64_t base;
    } no_idt = {0, 0};

    if (firmware.found || cpu_facts.hypervisor[0] == '\0')
        return;
    pio_write8(KEYBOARD_COMMAND, KEYBOARD_RESET);
    __asm__ volatile("lidt %0; ud2" : : "m"(no_idt));
}

void power_end(uint8_t status)
{
    static bool trying; /* a fault on the way must not lead here again and again */

    irq_disable();
    pio_write8(QEMU_DEBUG_EXIT, status);
    if (!trying) {
        trying = true;
        power_off();
        end_without_acpi();
    }
    for (;;)
        __asm__ volatile("hlt");
}
