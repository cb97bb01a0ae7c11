/* Spans of time as POSIX's calls take them, into microseconds and deadlines (clock_now_us()). */
#ifndef LIB_NEWLIB_TIMESPEC_H
#define LIB_NEWLIB_TIMESPEC_H

#include <time.h>

#include "lib/types.h"
#include "port/clock.h"

enum { US_PER_S = 1000000, US_PER_MS = 1000, NS_PER_US = 1000, NS_PER_S = 1000000000 };

static inline bool timespec_ok(const struct timespec *ts)
{
    return ts->tv_sec >= 0 && ts->tv_nsec >= 0 && ts->tv_nsec < NS_PER_S;
}

/* Rounded up: never too early. */
static inline uint64_t timespec_us(const struct timespec *ts)
{
    return (uint64_t)ts->tv_sec * US_PER_S + ((uint64_t)ts->tv_nsec + NS_PER_US - 1) / NS_PER_US;
}

/* A time from now as a deadline; 0 stays 0, which means: don't wait. */
static inline uint64_t deadline_in(uint64_t us)
{
    return us ? clock_now_us() + us : 0;
}

#endif
