/* What the PC's battery-backed clock shows, as Unix time. MC146818 data sheet, "time, calendar, and alarm locations". */
#ifndef LIB_RTC_TIME_H
#define LIB_RTC_TIME_H

#include "lib/types.h"

struct rtc_regs {
    uint8_t second, minute, hour, day, month, year; /* as read, BCD or binary */
    uint8_t century;                                /* as read; 0 when there is no such register */
    bool binary;                                    /* register B bit 2: numbers aren't BCD */
    bool hour_24; /* register B bit 1; else bit 7 of hour says "afternoon" */
};

/*
 * Seconds since 1970-01-01 UTC, taking the clock to run on UTC. Without a century, years 70 … 99 are 19xx.
 * Returns 0 or -EINVAL when the registers hold no date.
 */
int rtc_to_unix(const struct rtc_regs *regs, uint64_t *seconds);

#endif
