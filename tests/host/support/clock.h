/* The host's clock as port/clock.h: real time, which a test may set forward. */
#ifndef TESTS_HOST_SUPPORT_CLOCK_H
#define TESTS_HOST_SUPPORT_CLOCK_H

#include <stdint.h>

/* From now on the clock shows this much more: time-outs of minutes pass in no time. */
void host_clock_advance(uint64_t us);

/* From now on the clock stands still but for host_clock_advance(): what depends on it can be repeated exactly. */
void host_clock_stop(void);

#endif
