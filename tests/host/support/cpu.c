/* The host as port/cpu.h: idling is a short sleep, entropy the kernel's. */
#include "port/cpu.h"

#include <sys/random.h>
#include <time.h>

#include "port/clock.h"

enum { NAP_US = 200 }; /* nothing here raises interrupts, so look again soon */

void cpu_idle(uint64_t deadline_us, bool (*work)(void *arg), void *arg)
{
    const uint64_t now_us = clock_now_us();
    const struct timespec nap = {.tv_nsec = NAP_US * 1000};

    if (work && work(arg))
        return;
    if (deadline_us > now_us)
        nanosleep(&nap, NULL);
}

bool cpu_hw_random(uint64_t *out)
{
    return getrandom(out, sizeof(*out), 0) == (ssize_t)sizeof(*out);
}

uint64_t cpu_cycles(void)
{
    return clock_now_ns();
}
