/* newlib's <sched.h>, and the one of its functions that there is. */
#ifndef RINGLET_SCHED_H
#define RINGLET_SCHED_H

#include_next <sched.h>

#ifdef __cplusplus
extern "C" {
#endif

int sched_yield(void);

#ifdef __cplusplus
}
#endif

#endif
