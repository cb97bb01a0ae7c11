/* Counters of known rate, to measure the TSC against: ACPI's timer, PIT channel 0, the RTC's seconds. */
#ifndef ARCH_X86_64_TIME_REFS_H
#define ARCH_X86_64_TIME_REFS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/rtc_time.h"

struct time_ref {
    const char *name;
    uint32_t hz;
    uint32_t mask;          /* it wraps to 0 after this value */
    uint32_t (*read)(void); /* counts up */
};

/* The references that this machine has, by its own word: whether they count is for the caller to see. */
enum { TIME_REFS_MAX = 2 };
unsigned time_refs_find(struct time_ref refs[TIME_REFS_MAX]);

/* A reading and the TSC at that moment, the best of a few tries. */
struct time_sample {
    uint32_t count;
    uint64_t tsc;
};
struct time_sample time_ref_sample(const struct time_ref *ref);

/*
 * TSC ticks a second, from two samples less than one wrap of the reference apart. 0 when the reference stood
 * still, or when the result is no rate that a processor has (below 10 MHz, above 100 GHz).
 */
uint64_t time_ref_rate(const struct time_ref *ref, struct time_sample from, struct time_sample to);

/* The battery-backed clock. False when it isn't there or never settles. */
bool rtc_read(struct rtc_regs *regs);

/* TSC ticks in one second of the RTC; takes one to two seconds. 0 when it doesn't tick. */
uint64_t rtc_tsc_rate(void);

#endif
