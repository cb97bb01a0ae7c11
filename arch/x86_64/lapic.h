/* The local APIC: message-signalled interrupts, the one-shot timer, and the way in for the 8259. SDM vol. 3A §10. */
#ifndef ARCH_X86_64_LAPIC_H
#define ARCH_X86_64_LAPIC_H

#include <stdbool.h>
#include <stdint.h>

enum { LAPIC_TIMER_DIVISOR = 16 };

/* Switch it on, x2APIC mode where there is one. Returns 0, or -ENODEV when it can't be reached. */
int lapic_init(void);

uint32_t lapic_id(void);
void lapic_end_of_interrupt(void);

/* Count down from `count` in steps of LAPIC_TIMER_DIVISOR input clocks, then raise VECTOR_TIMER. 0 stops it. */
void lapic_timer_start(uint32_t count);
uint32_t lapic_timer_left(void);

/* Raise VECTOR_TIMER when the TSC reaches `tsc`; only with cpu_facts.tsc_deadline. 0 stops it. */
void lapic_timer_deadline(uint64_t tsc);

#endif
