#include "tests/host/support/clock.h"

#include <stdbool.h>
#include <time.h>

#include "port/clock.h"

static uint64_t advanced_ns;

static bool stopped;
static struct timespec stopped_at;

static uint64_t read_ns(clockid_t which)
{
    struct timespec now = stopped_at;

    if (!stopped)
        clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void host_clock_stop(void)
{
    stopped = true;
    stopped_at = (struct timespec){.tv_sec = 1000000000};
}

void host_clock_advance(uint64_t us)
{
    advanced_ns += us * 1000;
}

uint64_t clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC) + advanced_ns;
}

uint64_t clock_now_us(void)
{
    return clock_now_ns() / 1000;
}

uint64_t clock_cycles_ns(uint64_t cycles)
{
    return cycles; /* support/cpu.c counts nanoseconds */
}

uint64_t clock_wall_us(void)
{
    return (read_ns(CLOCK_REALTIME) + advanced_ns) / 1000;
}

/* Nothing changes on the host while we spin, so the time just passes. */
void clock_spin_us(uint32_t us)
{
    host_clock_advance(us);
}
