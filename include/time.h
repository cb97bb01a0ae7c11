/* newlib's <time.h>, and what it doesn't declare. */
#ifndef RINGLET_TIME_H
#define RINGLET_TIME_H

#include_next <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#if __MISC_VISIBLE
time_t timegm(struct tm *tm);
#endif

#ifdef __cplusplus
}
#endif

#endif
