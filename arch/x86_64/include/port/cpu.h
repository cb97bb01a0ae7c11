/* The processor: idling, and entropy. */
#ifndef PORT_CPU_H
#define PORT_CPU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Halt until an interrupt, at most until clock_now_us() reaches deadline_us (UINT64_MAX: no
 * deadline). `work` is evaluated with interrupts off, when everything stored before is visible to devices;
 * if it returns true the call returns at once, so an interrupt between the caller's last look and the
 * halt is not lost (sti; hlt).
 */
void cpu_idle(uint64_t deadline_us, bool (*work)(void *arg), void *arg);

/*
 * See to it that lib/preempt.h's preempt_tick() is called from a timer interrupt within `us`, once; earlier when the
 * timer is set already. Without a usable timer nothing happens. Interrupts may be on.
 */
void cpu_tick_arm(uint32_t us);

/* Cycles spent halted in cpu_idle() since boot. */
uint64_t cpu_halted_cycles(void);

/* What the running thread's %fs points to: the anchor of thread-local variables. */
void cpu_thread_pointer_set(void *pointer);

/* One hardware random word (RDSEED, else RDRAND, retried as the vendor advises). False when there is none. */
bool cpu_hw_random(uint64_t *out);

/* Raw cycle counter, for jitter entropy and measurements. */
uint64_t cpu_cycles(void);

#endif
