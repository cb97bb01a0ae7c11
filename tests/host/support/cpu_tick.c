/* port/cpu.h's part for preemption, apart: a test that brings its own processor still wants these. */
#include "port/cpu.h"

/* No interrupt comes on the host: a test calls preempt_tick() itself. */
void cpu_tick_arm(uint32_t us)
{
    (void)us;
}

uint64_t cpu_halted_cycles(void)
{
    return 0;
}
