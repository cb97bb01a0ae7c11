/* Clocks under their POSIX names. CPU time is time since boot: nobody shares the processor with us. */
#include <errno.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "lib/types.h"
#include "port/clock.h"

enum { US_PER_S = 1000000, NS_PER_S = 1000000000 };

int gettimeofday(struct timeval *tv, void *zone)
{
    (void)zone;
    if (tv) {
        const uint64_t now_us = clock_wall_us();
        tv->tv_sec = (time_t)(now_us / US_PER_S);
        tv->tv_usec = (suseconds_t)(now_us % US_PER_S);
    }
    return 0;
}

clock_t times(struct tms *buf)
{
    const clock_t ticks = (clock_t)(clock_now_us() / (US_PER_S / CLOCKS_PER_SEC));
    if (buf)
        *buf = (struct tms){.tms_utime = ticks};
    return ticks;
}

static bool is_monotonic(clockid_t id)
{
    return id == CLOCK_MONOTONIC || id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    uint64_t ns;
    if (id == CLOCK_REALTIME) {
        ns = clock_wall_us() * 1000;
    } else if (is_monotonic(id)) {
        ns = clock_now_ns();
    } else {
        errno = EINVAL;
        return -1;
    }
    ts->tv_sec = (time_t)(ns / NS_PER_S);
    ts->tv_nsec = (long)(ns % NS_PER_S);
    return 0;
}

int clock_getres(clockid_t id, struct timespec *ts)
{
    if (id != CLOCK_REALTIME && !is_monotonic(id)) {
        errno = EINVAL;
        return -1;
    }
    if (ts)
        *ts = (struct timespec){.tv_nsec = id == CLOCK_REALTIME ? 1000 : 1};
    return 0;
}
