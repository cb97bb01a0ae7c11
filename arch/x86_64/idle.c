/* Halting until there is work: port/cpu.h's cpu_idle() over the LAPIC's one-shot timer. */
#include <stddef.h>
#include <string.h>

#include "arch/x86_64/clock.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/cpu_regs.h"
#include "arch/x86_64/idle.h"
#include "arch/x86_64/irq.h"
#include "arch/x86_64/lapic.h"
#include "lib/preempt.h"
#include "lib/tick_scale.h"
#include "port/clock.h"
#include "port/cpu.h"
#include "port/pio.h"

static struct {
    struct tick_scale counts_per_us;
    uint64_t armed_us; /* when it will fire; UINT64_MAX: not armed */
    bool usable;
} timer = {.armed_us = UINT64_MAX};

static bool fences_are_lost; /* see settle_stores() */

static uint64_t halted_cycles;

static void on_timer(void)
{
    timer.armed_us = UINT64_MAX;
    preempt_tick();
}

void idle_init(void)
{
    const uint64_t hz = clock_lapic_hz() / LAPIC_TIMER_DIVISOR;
    timer.usable = irq_has_lapic() && (cpu_facts.tsc_deadline || hz != 0);
    if (hz != 0)
        timer.counts_per_us = tick_scale_make(1000000, hz);
    irq_set_timer_handler(on_timer);
    fences_are_lost = strncmp(cpu_facts.hypervisor, "TCG", 3) == 0;
}

static void start_timer(uint64_t now_us, uint64_t deadline_us)
{
    timer.armed_us = deadline_us;
    if (cpu_facts.tsc_deadline) {
        lapic_timer_deadline(clock_tsc_at_us(deadline_us));
        return;
    }
    /* Further away than the counter reaches: it fires early, and the caller comes back. */
    uint64_t counts = tick_scale_apply(timer.counts_per_us, deadline_us - now_us) + 1;
    if (counts > UINT32_MAX)
        counts = UINT32_MAX;
    lapic_timer_start((uint32_t)counts);
}

/*
 * See to it that an interrupt comes by deadline_us. False when that is now, or can't be done.
 * A timer that is already set to fire earlier is left alone: setting it costs a trip to the
 * hypervisor, a wake-up too many once in a while costs less.
 */
static bool arm_timer(uint64_t deadline_us)
{
    if (deadline_us == UINT64_MAX || timer.armed_us <= deadline_us)
        return true;
    const uint64_t now_us = clock_now_us();
    if (!timer.usable || deadline_us <= now_us)
        return false;
    start_timer(now_us, deadline_us);
    return true;
}

void cpu_tick_arm(uint32_t us)
{
    irq_disable();
    /* The host may have taken the processor away for longer than that between two looks at the clock. */
    while (timer.usable && !arm_timer(clock_now_us() + us))
        ;
    irq_enable();
}

uint64_t cpu_halted_cycles(void)
{
    return halted_cycles;
}

/*
 * A fence in all but name. QEMU's TCG translates fences and locked instructions of a single processor to nothing, while
 * its devices run on another core of the host. A port access takes QEMU's lock, and so waits until what we
 * stored has left the store buffer. Port 0x80 belongs to nobody and is free to read.
 */
static void settle_stores(void)
{
    enum { FREE_PORT = 0x80 };
    if (fences_are_lost)
        pio_read8(FREE_PORT);
}

void cpu_idle(uint64_t deadline_us, bool (*work)(void *arg), void *arg)
{
    clock_refine();
    irq_disable();
    settle_stores();
    if ((work && work(arg)) || !arm_timer(deadline_us)) {
        irq_enable();
        return;
    }
    /* An interrupt that is pending now is taken after the instruction that follows sti: it ends the halt. */
    const uint64_t from = cpu_cycles();

    __asm__ volatile("sti; hlt" : : : "memory");
    halted_cycles += cpu_cycles() - from;
}
