/* Ticks of a counter to time units, without overflow for centuries: a multiplication and a shift. */
#ifndef LIB_TICK_SCALE_H
#define LIB_TICK_SCALE_H

#include "lib/types.h"

/* units = ticks × mult / 2^32. All-zero: every time is 0. */
struct tick_scale {
    uint64_t mult;
};
enum { TICK_SCALE_SHIFT = 32 };

/* From a counter of `hz` ticks a second to `per_second` units a second: hz ≥ 1, per_second < hz × 2^32. */
struct tick_scale tick_scale_make(uint64_t hz, uint64_t per_second);

static inline uint64_t tick_scale_apply(struct tick_scale scale, uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * scale.mult >> TICK_SCALE_SHIFT);
}

#endif
