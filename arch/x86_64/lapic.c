#include "arch/x86_64/lapic.h"

#include <errno.h>

#include "arch/x86_64/cpu.h"
#include "arch/x86_64/cpu_regs.h"
#include "arch/x86_64/descriptors.h"
#include "port/mmio.h"

/* Register numbers; times 16 they are xAPIC offsets, plus 0x800 x2APIC MSRs (SDM vol. 3A, table 10-6). */
enum {
    REG_ID = 0x02,
    REG_VERSION = 0x03,
    REG_TASK_PRIORITY = 0x08,
    REG_EOI = 0x0b,
    REG_SPURIOUS = 0x0f,
    REG_LVT_TIMER = 0x32,
    REG_LVT_THERMAL = 0x33,
    REG_LVT_PERF = 0x34,
    REG_LVT_LINT0 = 0x35,
    REG_LVT_LINT1 = 0x36,
    REG_LVT_ERROR = 0x37,
    REG_TIMER_INITIAL = 0x38,
    REG_TIMER_CURRENT = 0x39,
    REG_TIMER_DIVIDE = 0x3e,
};
enum {
    MSR_APIC_BASE = 0x1b,
    MSR_X2APIC = 0x800,
    MSR_TSC_DEADLINE = 0x6e0,
    BASE_X2APIC = 1 << 10,
    BASE_ENABLE = 1 << 11,
    SPURIOUS_ENABLE = 1 << 8,
    LVT_MASKED = 1 << 16,
    LVT_EXTINT = 7 << 8,
    LVT_NMI = 4 << 8,
    LVT_TIMER_DEADLINE = 2 << 17,
    DIVIDE_BY_16 = 3,
    VERSION_LAST_LVT_SHIFT = 16,
    LAST_LVT_WITH_PERF = 4,
    LAST_LVT_WITH_THERMAL = 5,
};
#define BASE_ADDR 0x000ffffffffff000ull

static volatile uint8_t *xapic; /* NULL in x2APIC mode */

static uint32_t reg_read(unsigned reg)
{
    return xapic ? mmio_read32(xapic + reg * 16) : (uint32_t)msr_read(MSR_X2APIC + reg);
}

static void reg_write(unsigned reg, uint32_t v)
{
    if (xapic)
        mmio_write32(xapic + reg * 16, v);
    else
        msr_write(MSR_X2APIC + reg, v);
}

/* Firmware may have left x2APIC mode on: there is no way back from it but through "off". */
static int switch_on(void)
{
    const uint64_t base = msr_read(MSR_APIC_BASE);
    if (cpu_facts.x2apic) {
        msr_write(MSR_APIC_BASE, base | BASE_ENABLE); /* off → x2APIC directly is not allowed */
        msr_write(MSR_APIC_BASE, base | BASE_ENABLE | BASE_X2APIC);
        return 0;
    }
    msr_write(MSR_APIC_BASE, base | BASE_ENABLE);
    xapic = mmio_map(base & BASE_ADDR, 4096);
    return xapic ? 0 : -ENODEV;
}

int lapic_init(void)
{
    const int err = switch_on();
    if (err)
        return err;
    reg_write(REG_TASK_PRIORITY, 0);
    /* Later additions to the local vector table: writing one that isn't there faults in x2APIC mode. */
    const uint32_t last_lvt = reg_read(REG_VERSION) >> VERSION_LAST_LVT_SHIFT & 0xff;
    if (last_lvt >= LAST_LVT_WITH_PERF)
        reg_write(REG_LVT_PERF, LVT_MASKED);
    if (last_lvt >= LAST_LVT_WITH_THERMAL)
        reg_write(REG_LVT_THERMAL, LVT_MASKED);
    reg_write(REG_LVT_ERROR, VECTOR_LAPIC_ERROR);
    reg_write(REG_LVT_LINT0, LVT_EXTINT);
    reg_write(REG_LVT_LINT1, LVT_NMI);
    reg_write(REG_TIMER_DIVIDE, DIVIDE_BY_16);
    reg_write(REG_LVT_TIMER, VECTOR_TIMER | (cpu_facts.tsc_deadline ? LVT_TIMER_DEADLINE : 0));
    reg_write(REG_SPURIOUS, SPURIOUS_ENABLE | VECTOR_SPURIOUS);
    return 0;
}

uint32_t lapic_id(void)
{
    return xapic ? reg_read(REG_ID) >> 24 : reg_read(REG_ID);
}

void lapic_end_of_interrupt(void)
{
    reg_write(REG_EOI, 0);
}

void lapic_timer_start(uint32_t count)
{
    reg_write(REG_TIMER_INITIAL, count);
}

uint32_t lapic_timer_left(void)
{
    return reg_read(REG_TIMER_CURRENT);
}

void lapic_timer_deadline(uint64_t tsc)
{
    /* In xAPIC mode the LVT write above is not ordered before this one by itself (SDM §10.5.4.1). */
    if (xapic)
        __asm__ volatile("mfence" : : : "memory");
    msr_write(MSR_TSC_DEADLINE, tsc);
}
