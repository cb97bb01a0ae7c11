/*
 * Clocks under their POSIX names. The processor's time is what threads used of it: while all of them wait, the network's turns
 * included, time passes and the processor halts.
 */
#define _GNU_SOURCE /* clocks that POSIX doesn't know */
#include <errno.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "lib/newlib/pthread_impl.h"
#include "lib/newlib/result.h"
#include "lib/newlib/timespec.h"
#include "lib/page_alloc.h"
#include "lib/preempt.h"
#include "lib/thread.h"
#include "port/clock.h"
#include "port/cpu.h"

static uint64_t process_ns(void)
{
    return clock_now_ns() - clock_cycles_ns(cpu_halted_cycles());
}

/* Other threads' clocks: pthread_getcpuclockid() gives out the thread's address, which no other clock has. */
static struct thread *thread_of(clockid_t id)
{
    if (id == CLOCK_THREAD_CPUTIME_ID)
        return thread_self();
    struct thread *t = (struct thread *)(uintptr_t)id;

    return id >= PAGE_BYTES && pthread_is_alive(t) ? t : NULL;
}

int pthread_getcpuclockid(pthread_t thread, clockid_t *id)
{
    if (!pthread_is_alive(thread))
        return ESRCH;
    *id = (clockid_t)(uintptr_t)thread;
    return 0;
}

static bool clock_read(clockid_t id, uint64_t *ns)
{
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        *ns = clock_wall_us() * NS_PER_US;
        return true;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
        *ns = clock_now_ns();
        return true;
    case CLOCK_PROCESS_CPUTIME_ID:
        *ns = process_ns();
        return true;
    default: {
        struct thread *t = thread_of(id);

        *ns = t ? clock_cycles_ns(thread_cpu_cycles(t)) : 0;
        return t != NULL;
    }
    }
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    uint64_t ns;

    if (!clock_read(id, &ns))
        return failed(EINVAL);
    ts->tv_sec = (time_t)(ns / NS_PER_S);
    ts->tv_nsec = (long)(ns % NS_PER_S);
    return 0;
}

int clock_getres(clockid_t id, struct timespec *ts)
{
    uint64_t ns;

    if (!clock_read(id, &ns))
        return failed(EINVAL);
    if (ts)
        *ts = (struct timespec){.tv_nsec = id == CLOCK_REALTIME ? NS_PER_US : 1};
    return 0;
}

/* The wall clock is the RTC's; nobody sets it. */
int clock_settime(clockid_t id, const struct timespec *ts)
{
    uint64_t ns;

    (void)ts;
    return failed(clock_read(id, &ns) ? EPERM : EINVAL);
}

int clock_getcpuclockid(pid_t pid, clockid_t *id)
{
    if (pid != 0 && pid != getpid())
        return ESRCH;
    *id = CLOCK_PROCESS_CPUTIME_ID;
    return 0;
}

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

int settimeofday(const struct timeval *tv, const struct timezone *zone)
{
    (void)tv;
    (void)zone;
    return failed(EPERM);
}

/* Returns an errno. A sleep that a signal ended says how much of it is left, unless it was to a time. */
int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    uint64_t now_ns, deadline_us;

    if (!timespec_ok(wanted))
        return EINVAL;
    if ((id != CLOCK_REALTIME && id != CLOCK_MONOTONIC) || !clock_read(id, &now_ns))
        return EINVAL;
    if (!(flags & TIMER_ABSTIME))
        return nanosleep(wanted, left) ? errno : 0;
    const int err = pthread_deadline(wanted, id == CLOCK_MONOTONIC, &deadline_us);

    return err ? err : -thread_sleep_until(deadline_us);
}

/* ---- what was used ---- */

static struct timeval timeval_of(uint64_t ns)
{
    return (struct timeval){.tv_sec = (time_t)(ns / NS_PER_S),
                            .tv_usec = (suseconds_t)(ns % NS_PER_S / NS_PER_US)};
}

int getrusage(int who, struct rusage *usage)
{
    uint64_t ns = 0;

    if (who != RUSAGE_SELF && who != RUSAGE_CHILDREN && who != RUSAGE_THREAD)
        return failed(EINVAL);
    if (who != RUSAGE_CHILDREN)
        (void)clock_read(who == RUSAGE_SELF ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID,
                         &ns);
    *usage = (struct rusage){.ru_utime = timeval_of(ns)};
    usage->ru_maxrss = (long)((page_total_count() - page_free_count()) * (PAGE_BYTES / 1024));
    return 0;
}

clock_t times(struct tms *buf)
{
    enum { US_PER_TICK = US_PER_S / CLOCKS_PER_SEC };

    if (buf)
        *buf = (struct tms){.tms_utime = (clock_t)(process_ns() / NS_PER_US / US_PER_TICK)};
    return (clock_t)(clock_now_us() / US_PER_TICK);
}

/* newlib's own adds up times() since boot, halted or not. */
clock_t clock(void)
{
    return (clock_t)(process_ns() / (NS_PER_S / CLOCKS_PER_SEC));
}

/* ---- calendar ---- */

/* Days from 1970-01-01 to the first of a month, 0 … 11. Years begin in March here: then a leap day comes last. */
static long long days_before_month(long long year, int month)
{
    enum { DAYS_4_CENTURIES = 146097, DAYS_0000_03_TO_1970 = 719468 };
    const int m = (month + 10) % 12;
    const long long y = year - (month < 2), era = (y >= 0 ? y : y - 399) / 400;
    const int in_era = (int)(y - era * 400), in_year = (153 * m + 2) / 5;

    return era * DAYS_4_CENTURIES + in_era * 365 + in_era / 4 - in_era / 100 + in_year -
           DAYS_0000_03_TO_1970;
}

/* mktime() for UTC: newlib has none. Fields may lie outside their ranges, and are brought into them. */
time_t timegm(struct tm *tm)
{
    const int month = (tm->tm_mon % 12 + 12) % 12;
    const long long year = 1900ll + tm->tm_year + (tm->tm_mon - month) / 12;
    const long long days = days_before_month(year, month) + tm->tm_mday - 1;
    const time_t at = ((days * 24 + tm->tm_hour) * 60 + tm->tm_min) * 60 + tm->tm_sec;

    gmtime_r(&at, tm);
    return at;
}
