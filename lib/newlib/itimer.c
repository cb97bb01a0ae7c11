/* Alarms: setitimer(ITIMER_REAL) and what is made of it. SIGALRM goes to the process when it is over. */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/newlib/posix_thread.h"
#include "lib/newlib/timespec.h"
#include "lib/timer.h"
#include "port/clock.h"

static void ring(struct timer *timer);

static struct timer timer = {.fire = ring};
static uint64_t interval_us; /* 0: once */

/* From the time it was due, so that many periods don't add up what each was late; but never into the past. */
static void ring(struct timer *fired)
{
    if (interval_us != 0) {
        const uint64_t next_us = fired->due_us + interval_us, now_us = clock_now_us();

        timer_start_at(fired, next_us > now_us ? next_us : now_us + interval_us);
    }
    signal_send(SIGALRM, SI_KERNEL, (union sigval){0});
}

static struct timeval timeval_of(uint64_t us)
{
    return (struct timeval){.tv_sec = (time_t)(us / US_PER_S),
                            .tv_usec = (suseconds_t)(us % US_PER_S)};
}

/* What is left, at least a microsecond while it runs: 0 means that it doesn't. */
static uint64_t left_us(void)
{
    const uint64_t now_us = clock_now_us();

    if (!timer.running)
        return 0;
    return timer.due_us > now_us ? timer.due_us - now_us : 1;
}

static void start(uint64_t first_us, uint64_t every_us)
{
    interval_us = every_us;
    timer_stop(&timer);
    if (first_us != 0)
        timer_start_at(&timer, clock_now_us() + first_us);
}

static bool is_time(const struct timeval *tv)
{
    return tv->tv_sec >= 0 && tv->tv_usec >= 0 && tv->tv_usec < US_PER_S;
}

static uint64_t us_of(const struct timeval *tv)
{
    return (uint64_t)tv->tv_sec * US_PER_S + (uint64_t)tv->tv_usec;
}

int getitimer(int which, struct itimerval *value)
{
    if (which != ITIMER_REAL) {
        errno = EINVAL;
        return -1;
    }
    value->it_value = timeval_of(left_us());
    value->it_interval = timeval_of(interval_us);
    return 0;
}

/* ITIMER_VIRTUAL and ITIMER_PROF aren't there: EINVAL. */
int setitimer(int which, const struct itimerval *restrict value, struct itimerval *restrict old)
{
    const struct itimerval wanted = value ? *value : (struct itimerval){0};

    if (which != ITIMER_REAL || !is_time(&wanted.it_value) || !is_time(&wanted.it_interval)) {
        errno = EINVAL;
        return -1;
    }
    if (old)
        (void)getitimer(which, old);
    start(us_of(&wanted.it_value), us_of(&wanted.it_interval));
    return 0;
}

/* Returns what was left of the alarm before, rounded up, so that 0 says that there was none. */
unsigned alarm(unsigned seconds)
{
    const uint64_t before_us = left_us();

    start((uint64_t)seconds * US_PER_S, 0);
    return (unsigned)((before_us + US_PER_S - 1) / US_PER_S);
}

useconds_t ualarm(useconds_t us, useconds_t every_us)
{
    const uint64_t before_us = left_us();

    start(us, every_us);
    return (useconds_t)before_us;
}
