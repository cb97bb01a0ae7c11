/* The TSC as a clock, and how fast it runs. What others may use is port/clock.h. */
#ifndef ARCH_X86_64_CLOCK_H
#define ARCH_X86_64_CLOCK_H

#include <stdint.h>

/*
 * Find the TSC's and the LAPIC timer's rate; time starts at `boot_tsc`. Until this has run every time is 0.
 * Takes about CLOCK_WINDOW_US, unless CPUID says the rates. After irq_init() and firmware_init().
 */
enum { CLOCK_WINDOW_US = 1000 };
void clock_init(uint64_t boot_tsc);

/* Where the rate came from, "CPUID", "ACPI timer" …; and what it is. */
const char *clock_source(void);
uint64_t clock_tsc_hz(void);

/* Input rate of the LAPIC timer; 0 when there is none. */
uint64_t clock_lapic_hz(void);

/* The TSC's value at clock_now_us() == us. */
uint64_t clock_tsc_at_us(uint64_t us);

/* Measure again over a longer time, once that has passed; cheap when nothing is due. From cpu_idle(). */
void clock_refine(void);

#endif
