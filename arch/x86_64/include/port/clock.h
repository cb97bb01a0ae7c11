/* Time. Monotonic since boot, from the TSC; wall time from the RTC plus that. */
#ifndef PORT_CLOCK_H
#define PORT_CLOCK_H

#include <stdint.h>

uint64_t clock_now_us(void);  /* microseconds since boot; never runs backwards */
uint64_t clock_now_ns(void);  /* nanoseconds since boot */
uint64_t clock_wall_us(void); /* microseconds since 1970-01-01 UTC; RTC at boot + clock_now_us() */

/* How long so many of cpu_cycles() take, in nanoseconds. */
uint64_t clock_cycles_ns(uint64_t cycles);

/* Busy-wait; for device set-up only, ≤ 10 ms a call. */
void clock_spin_us(uint32_t us);

#endif
